"""Plans by theorems: every one serves a task, and they are ranked by one model."""

import math

import pytest

import tailguard as tg
from papers.support.theorems import CASES
from support.planned import FACTS, GUARANTEE, MOMENT, advice
from tailguard.papers.ranking import THEOREMS


@pytest.mark.parametrize("task", THEOREMS)
def test_every_kind_of_risk_has_a_recommended_method_and_a_table(task):
    found = advice(task, **FACTS)
    for candidate in found.candidates:
        assert candidate.predicted_error > 0.0
        assert candidate.n_passes >= 1
        assert candidate.noise_std > 0.0 or math.isnan(candidate.noise_std)
        assert candidate.method in str(found)


def test_every_theorem_serves_a_task():
    assert {name for names in THEOREMS.values() for name in names} == {*CASES}


def test_theorems_are_ranked_where_the_default_fits_a_constant_alone():
    found = advice("squared", n_rows=100, n_features=50, **FACTS)
    assert all(candidate.method.startswith("tg.papers.") for candidate in found.candidates)
    refused = dict(found.refusals)["tg.LinearRegression"]
    assert "records the default fit is little more than a constant" in refused


@pytest.mark.parametrize("task", ["convex", "strongly-convex"])
def test_candidates_are_theorems_in_the_order_of_their_predictions(task):
    found = advice(task, **FACTS)
    errors = [candidate.predicted_error for candidate in found.candidates]
    assert errors == sorted(errors)
    theorems = THEOREMS[task]
    listed = [each.method for each in found.candidates] + [name for name, _ in found.refusals]
    assert sorted(listed) == sorted(f"tg.papers.{name}" for name in theorems)
    assert not found.refusals


def test_a_figure_is_that_of_the_theorem():
    found = {each.method: each for each in advice("convex", **FACTS).candidates}
    theorem = tg.papers.zhao2024.convex(
        200_000, 5, GUARANTEE, moment=MOMENT, diameter=2.0, smoothness=1.0
    )
    listed = found["tg.papers.zhao2024.convex"]
    assert listed.predicted_error == theorem.predicted_excess(curvature=math.sqrt(0.5))
    assert listed.noise_std == theorem.noise_std
    assert listed.n_passes == theorem.n_passes


def test_what_is_missing_is_said_of_each_method():
    facts = {"moment": MOMENT, "diameter": 2.0}
    refusals = dict(advice("convex", **facts).refusals)
    assert refusals["tg.papers.zhao2024.convex"] == "smoothness must be given."
    assert refusals["tg.papers.xu2025.localised"] == "row_limit must be given."


@pytest.mark.long
def test_predictions_that_beat_no_point_without_records_are_said_to_be_so():
    facts = {**FACTS, "moment": tg.Moment(2.0, 1.0, kind="norm"), "n_rows": 60}
    few, many = advice("convex", **facts), advice("convex", **{**facts, "n_rows": 10**6})
    centre = math.sqrt(0.5) / 2.0  # curvature / 2, at half a diameter
    assert few.recommended.predicted_error > centre / 2.0 > many.recommended.predicted_error
    assert few.notes[0].endswith(f"the centre of the set has {centre:.3g} in the model.")
    assert few.notes[0] in str(few)
    assert few.to_dict()["notes"] == list(few.notes)
    assert not any("without records" in note for note in many.notes)


def test_no_prediction_exceeds_what_no_point_exceeds():
    facts = {**FACTS, "n_rows": 60}
    for bound, most in ((100.0, 2.0), (0.25, 0.5)):  # smoothness 1 / 2 * 2^2, and 0.25 * 2
        errors = [
            each.predicted_error
            for each in advice("convex", **facts, gradient_bound=bound).candidates
        ]
        assert max(errors) == most


def test_what_ranks_is_said():
    theorems = advice("convex", **FACTS)
    assert "ranked by one model, a quadratic risk of curvature 0.707" in str(theorems)
    facts = {each: FACTS[each] for each in ("moment", "diameter", "smoothness")}
    both = advice("logistic", **facts)
    assert any("in other units" in note for note in both.notes)
    assert "curvature 1 " in both.notes[-1]


def test_a_task_without_any_method_says_why():
    with pytest.raises(tg.InputError, match=r"has none; .*pure"):
        tg.plan(
            "convex",
            n_rows=100,
            n_features=2,
            guarantee=tg.PureDP(1.0),
            moment=MOMENT,
            diameter=2.0,
        )
