"""Plans for a task: every method once, honest figures, and nothing that could read a record."""

import inspect
import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import tailguard as tg
from support.planned import FACTS, GUARANTEE, MOMENT, advice
from support.registered import ESTIMATORS
from tailguard import planning
from tailguard.estimators.registry import ESTIMATORS as PLACES
from tailguard.losses.registry import LOSSES, make_loss
from tailguard.means.choice import MEANS
from tailguard.planning import TASKS


def test_nothing_that_holds_records_can_be_passed():
    names = {*inspect.signature(tg.plan).parameters}
    assert not names & {"X", "y", "gate", "rows", "data"}
    assert not re.search(
        r"tailguard\.gate(\.gate| import Gate|\.engine)", inspect.getsource(planning)
    )


def by_default(name):
    """Whether the default method fits a loss."""
    loss = make_loss(name)
    return loss.link.residual or loss.quasi_likelihood


FITTED = sorted(filter(by_default, LOSSES))


@pytest.mark.parametrize("model", PLACES)
def test_a_plan_takes_the_words_of_fit(model):
    """``linear`` was refused: there its word was ``squared``."""
    name = f"tg.{PLACES[model].partition(':')[2]}"
    facts = {"n_nonzero": 3} if "sparse" in model else {}
    assert model in TASKS, (
        f"name the estimator {model!r} after its loss, with hyphens for underscores, or add a line "
        "to TASK_OF_MODEL in estimators/predictions.py"
    )
    assert advice(model, **facts).recommended.method == name


@pytest.mark.parametrize("task", ["mean", "sparse", *FITTED])
def test_every_task_has_a_recommended_method_and_a_table(task):
    facts = {} if task == "mean" else FACTS
    found = advice(task, **facts)
    text = str(found)
    assert text.count("\n* ") == 2  # the row, and what the mark means
    for candidate in found.candidates:
        assert candidate.predicted_error > 0.0
        assert candidate.n_passes >= 1
        assert candidate.noise_std > 0.0 or math.isnan(candidate.noise_std)
        assert candidate.method in text
    assert json.loads(found.to_json())["recommended"] == found.recommended.method


@pytest.mark.parametrize("task", FITTED)
def test_few_records_have_a_plan_or_one_sentence(task):
    """A fit of a constant alone, and one that is refused, are no candidates."""
    sizes = itertools.product((1, 1000), (1, 50), (0.1, 8))
    answers = [answer_or_refusal(task, *size) for size in sizes]
    refused = [answer for answer in answers if isinstance(answer, str)]
    assert 0 < len(refused) < len(answers)
    for sentence in refused:
        assert re.fullmatch(r"n_rows or the budget must be larger: [^\n]*\.", sentence)


def answer_or_refusal(task, n_rows, n_features, epsilon):
    try:
        return tg.plan(task, n_rows=n_rows, n_features=n_features, epsilon=epsilon, delta=1e-6)
    except tg.InputError as error:
        return str(error)


def test_means_are_those_of_the_public_mean():
    found = advice("mean")
    names = [each.method for each in found.candidates] + [name for name, _ in found.refusals]
    assert sorted(names) == sorted(f"tg.mean(method={name!r})" for name in MEANS)


def test_the_recommended_mean_is_the_one_that_auto_takes():
    result = tg.mean(np.eye(2_000)[:, :2], guarantee=GUARANTEE, random_state=0)
    found = advice("mean", n_rows=2_000, n_features=2)
    assert found.recommended.method.split("'")[1] in result.explain()


def test_losses_are_fitted_by_default_without_any_public_bound():
    for name in FITTED:
        found = advice(name)
        assert len(found.candidates) == 1
        method = found.recommended.method
        if not method.startswith("tg.minimize("):
            model = ESTIMATORS[method.removeprefix("tg.")]
            assert model()._loss() == make_loss(name)


def test_a_loss_that_the_default_refuses_has_no_plan_but_its_sentence():
    assert set(LOSSES) - set(FITTED) == {"balanced_logistic"}
    with pytest.raises(tg.InputError, match="BalancedLogistic is neither: use solver='noisy-grad"):
        advice("balanced_logistic")


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_defaults_are_planned_as_the_estimators_run_them(name):
    found = advice(name, n_rows=2_000, n_features=4).recommended
    model = getattr(tg, found.method.removeprefix("tg."))(guarantee=GUARANTEE, random_state=0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 4))
    y = X[:, 0] + rng.standard_normal(2_000)
    certificate = model.fit(X, y if name == "squared" else y > 0.0).certificate_
    assert 1 <= sum(release.times for release in certificate.releases) <= found.n_passes


def test_plan_and_warning_say_the_same_number_of_records():
    """How many a fit needs to beat a constant: one answer, also in the README and two pages."""
    few = advice("squared", n_rows=300, n_features=4)
    assert few.notes[0].startswith(f"below about {few.useful_rows:,} records the default fit is")
    assert few.to_dict()["useful_rows"] == few.useful_rows
    enough = advice("squared", n_rows=few.useful_rows, n_features=4)
    assert not enough.notes
    assert f"beat a constant from about {few.useful_rows:,} records" in enough.to_text()
    rng = np.random.default_rng(0)
    with pytest.warns(tg.BudgetWarning) as caught:
        tg.LinearRegression(guarantee=GUARANTEE, random_state=0).fit(
            rng.standard_normal((150, 3)), rng.standard_normal(150)
        )
    assert f"about {few.useful_rows:,} records" in str(caught[0].message)
    at_one = tg.plan("squared", n_rows=9_999, n_features=4, epsilon=1.0, delta=1e-6).useful_rows
    root = Path(__file__).parents[1]
    for page in ("README.md", "docs/quickstart.md", "docs/how-much-budget.md"):
        assert f"{at_one}" in (root / page).read_text()


def test_the_table_of_records_is_what_plan_says_and_its_benchmark_measured():
    root = Path(__file__).parents[1]
    page = (root / "docs/how-much-budget.md").read_text()
    for epsilon in (0.3, 1.0, 3.0):
        told = [
            tg.plan("squared", n_rows=9_999, n_features=k + 1, epsilon=epsilon, delta=1e-6)
            for k in (3, 5, 20)
        ]
        cells = " | ".join(f"{each.useful_rows:,}" for each in told)
        assert f"| {epsilon:g} | {cells} |" in page
    rows = json.loads((root / "benchmarks/results/useful_rows.json").read_text())

    def beat(multiple):
        some = [row for row in rows if row["multiple"] == multiple]
        return f"{sum(row['beat'] for row in some)} of {sum(row['fits'] for row in some)}"

    prose = " ".join(page.split())
    assert f"{beat(2)} beat a constant at that number, {beat(1)} at half of it" in prose
    assert f"{beat(3)} at one and a half times" in prose


def test_more_budget_predicts_less_error():
    small, large = (
        tg.plan("squared", n_rows=10_000, n_features=5, epsilon=epsilon, delta=1e-6).recommended
        for epsilon in (0.5, 2.0)
    )
    assert large.predicted_error < small.predicted_error


@pytest.mark.parametrize(
    ("task", "facts", "sentence"),
    [
        ("forest", {}, "task must be one of"),
        ("convex", {"diameter": 2.0}, "moment= and diameter= must be given for task 'convex'"),
        ("convex", {**FACTS, "colour": 1.0}, "colour must not be given"),
        ("convex", {**FACTS, "smoothness": -1.0}, "smoothness must be"),
        ("mean", {"moment": 2.0}, "moment must be a tg.Moment; got 2.0"),
        ("convex", {**FACTS, "moment": np.zeros(2)}, "moment must be a tg.Moment; got ndarray"),
        ("squared", {"moment": "second"}, "moment must be a tg.Moment; got 'second'"),
        ("sparse", {"n_nonzero": 0}, "n_nonzero must be"),
        ("sparse", {}, "n_nonzero=, or moment= and diameter= must be given for task 'sparse'"),
    ],
)
def test_bad_questions_are_refused_in_one_sentence(task, facts, sentence):
    with pytest.raises(tg.InputError, match=sentence):
        advice(task, **facts)


def test_theorems_are_refused_in_one_sentence_where_the_papers_are_not_installed(monkeypatch):
    monkeypatch.setattr(planning, "wing", lambda module: None)
    with pytest.raises(tg.InputError, match=r"theorems are in tailguard\.papers, which is not"):
        advice("convex", **FACTS)
    (found,) = advice("squared", **FACTS).candidates
    assert found.method == "tg.LinearRegression"


def test_an_error_asks_for_the_fewest_records_that_reach_it():
    sizes = {"n_features": 5, "epsilon": 1.0, "delta": 1e-6}
    for task, error in (("squared", 0.001), ("mean", 0.01)):
        answer = tg.plan(task, error=error, **sizes)
        assert answer.recommended.predicted_error <= error
        fewer = int(0.98 * answer.n_rows)
        assert tg.plan(task, n_rows=fewer, **sizes).recommended.predicted_error > error
        assert answer.notes[0] == (
            f"n_rows = {answer.n_rows:,} is needed for a predicted error of at most {error}"
        )
        assert answer.notes[0] in answer.to_text()


@pytest.mark.parametrize(
    ("given", "answer"), [({"n_rows": 10_000}, "epsilon"), ({"epsilon": 0.02}, "n_rows")]
)
def test_no_answer_is_a_budget_at_which_a_fit_is_little_more_than_a_constant(given, answer):
    sizes = {"n_features": 5, "delta": 1e-6, **given}
    found = tg.plan("squared", error=0.01, **sizes)
    assert found.n_rows >= found.useful_rows
    (note,) = found.notes
    assert re.fullmatch(
        rf"{answer} = [\d.,]+ is needed for a fit that beats a constant; a predicted error of at "
        "most 0.01 needs less",
        note,
    )
    value = found.n_rows if answer == "n_rows" else found.guarantee.epsilon
    less = tg.plan("squared", **sizes, **{answer: type(value)(0.98 * value)})
    assert less.recommended.predicted_error <= 0.01
    assert "little more than a constant" in less.notes[0]


def test_an_error_asks_for_the_least_epsilon_that_reaches_it():
    sizes = {"n_features": 5, "n_rows": 100_000, "delta": 1e-6}
    answer = tg.plan("logistic", error=1e-4, **sizes)
    assert answer.recommended.predicted_error <= 1e-4
    less = 0.98 * answer.guarantee.epsilon
    assert tg.plan("logistic", epsilon=less, **sizes).recommended.predicted_error > 1e-4
    assert f"{answer.guarantee.epsilon:.3g}" == f"{answer.guarantee.epsilon:g}"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_rows": 100, "epsilon": 1.0}, "error must be given with n_rows= or epsilon="),
        ({}, "error must be given with n_rows= or epsilon=.* got neither"),
        ({"n_rows": 100}, "error must be at least .* which epsilon = .* reaches; got 1e-09"),
        (
            {"n_rows": 50, "error": 0.01},
            "n_rows must be larger: below about .* little more than a const",
        ),
        ({"epsilon": 1.0, "diameter": 2.0}, "error must not be given with facts for theorems"),
        ({"epsilon": 1.0, "n_features": 0}, "n_features must be a whole number"),
        ({"epsilon": 1.0, "error": 0.0}, "error must be a finite number above 0"),
    ],
    ids=str,
)
def test_an_error_that_no_size_can_answer_is_refused(given, words):
    with pytest.raises(tg.InputError, match=words):
        tg.plan("squared", **{"n_features": 5, "delta": 1e-6, "error": 1e-9, **given})


# Persons ----------------------------------------------------------------------------------------

PERSONS = {"persons": 20_000, "n_features": 4, "epsilon": 2.0, "delta": 1e-6}


@pytest.mark.parametrize("task", ["mean", "squared", "logistic", "poisson"])
def test_more_rows_of_a_person_take_sampling_error_away_and_add_no_noise(task):
    found = tg.plan(task, rows_per_person=[1, 4, 30], **PERSONS)
    assert [each.max_rows for each in found.by_max_rows] == [1, 2, 5, 10, 20, 30]
    assert len({each.noise for each in found.by_max_rows}) == 1
    for place in range(2):  # unlike rows, and half alike
        errors = [each.sampling[place] for each in found.by_max_rows]
        assert errors == sorted(errors, reverse=True)
        assert errors[0] > errors[-1]
    assert len({each.sampling[2] for each in found.by_max_rows}) == 1  # one row says all
    groups = [each.group_noise for each in found.by_max_rows]
    # Group privacy divides by the most rows, and gains the mean number.
    assert groups == sorted(groups)
    assert groups[0] == pytest.approx(found.by_max_rows[0].noise)
    assert groups[-1] > 1.8 * found.by_max_rows[0].noise


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_the_predicted_sampling_error_of_a_mean_is_that_of_simulated_persons(correlation):
    counts, n_features, rng = [1, 4, 30], 3, np.random.default_rng(0)
    sizes = {"persons": 900, "n_features": n_features, "guarantee": tg.GDP(1.0)}
    found = tg.plan("mean", rows_per_person=counts, **sizes)
    place = [0.0, 0.5, 1.0].index(correlation)
    for used in found.by_max_rows:
        kept = np.minimum(np.tile(counts, 300), used.max_rows)
        errors = []
        for _ in range(300):
            own, rest = rng.standard_normal((2, 900, n_features))
            means = math.sqrt(correlation) * own
            means += math.sqrt(1.0 - correlation) * rest / np.sqrt(kept)[:, None]
            errors.append((means.mean(axis=0) ** 2).sum())
        assert used.sampling[place] == pytest.approx(math.sqrt(np.mean(errors)), rel=0.15)


def test_a_plan_of_persons_recommends_what_takes_them_and_shows_its_table():
    found = tg.plan("mean", rows_per_person=7, **PERSONS)
    assert found.recommended.method == "tg.mean(method='clipped')"
    assert found.refusals == ()
    text = found.to_text()
    assert "n = 20000 persons" in text
    assert [line.split()[0] for line in text.splitlines() if line.strip()[:1].isdigit()] == [
        *("1", "2", "5", "7")
    ]
    told = json.loads(found.to_json())["by_max_rows"]
    assert told == [each.to_dict() for each in found.by_max_rows]
    assert tg.plan("squared", n_rows=100, n_features=4, epsilon=2.0, delta=1e-6).by_max_rows == ()
    sizes = {"persons": 20_000, "n_features": 4, "guarantee": tg.ZCDP(2e-6)}
    few = tg.plan("squared", rows_per_person=10**6, **sizes)
    assert math.isnan(few.by_max_rows[-1].group_noise)  # a row's rho is no promise
    assert few.to_dict()["by_max_rows"][-1]["group_noise"] is None


@pytest.mark.parametrize(
    ("task", "given", "words"),
    [
        ("squared", {}, "rows_per_person must be"),
        ("squared", {"rows_per_person": []}, "rows_per_person must be a number, or a list"),
        ("squared", {"rows_per_person": 0.5}, "rows_per_person must be"),
        ("squared", {"rows_per_person": 3, "n_rows": 9}, "persons must be given instead of"),
        ("squared", {"rows_per_person": 3, "error": 0.1}, "persons must be given instead of"),
        ("convex", {"rows_per_person": 3}, "persons must be given instead of n_rows, for"),
        ("mean", {"rows_per_person": 3, "moment": MOMENT}, "persons must be given instead"),
        ("mean", {"rows_per_person": 3, "persons": None}, "persons must be"),
        ("mean", {"rows_per_person": 3, "persons": 0}, "persons must be"),
    ],
    ids=str,
)
def test_a_plan_of_persons_that_says_too_much_or_too_little_is_refused(task, given, words):
    with pytest.raises(tg.InputError, match=words):
        tg.plan(task, **{**PERSONS, **given})
