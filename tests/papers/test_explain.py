"""What a theorem says of itself: noise that is released, every deviation, what privacy needs."""

import math
import re
from pathlib import Path

import pytest

import tailguard as tg
from papers.support.theorems import CASES, N_FEATURES, N_ROWS, heavy_records
from support.spy import gate_over
from tailguard.queries.units import Units

PAGE = (Path(__file__).parents[2] / "docs" / "papers.md").read_text()
FOLLOWS = ("wang2020.trimmed_strongly_convex", "wang2020.sample_aggregate")
every_theorem = pytest.mark.parametrize("name", CASES)


def first_release(name, theorem):
    plan = theorem.plan(CASES[name].problem(), theorem.guarantee)
    gate, _ = gate_over(plan.problem, *heavy_records(), plan.guarantee, seed=5)
    gate.reserve(plan.event, coordinates=plan.coordinates, unprotected=plan.printed)
    theorem.run(plan, gate)
    return gate.certificate().releases[0], plan


def noise_of_a_mean(release, theorem, plan):
    """The noise in a coordinate of a step's gradient, where a sum or a step is released."""
    stage = plan.stages[-1] if plan.stages[0].within is None else plan.stages[0]
    n_rows = N_ROWS
    if stage.within is not None:
        n_rows = theorem.solver.pass_sizes(plan.problem)[0]
    if stage.block_map is not None:
        n_rows //= stage.n_blocks
    kind = release.kind
    if kind == "MeanClippedGradient":
        return release.noise_std / n_rows
    if kind == "IterativeMean":  # the centre of as many means has about the noise of a median
        n_groups = release.parameters["n_groups"]
        mean = release.noise_std / (n_rows / n_groups)
        return mean * math.sqrt(math.pi / 2.0 / n_groups)
    if kind == "PeeledStep":
        return release.noise_std / theorem.solver.step_size
    return release.noise_std


@pytest.mark.long
@pytest.mark.parametrize("calibration", ["tight", "printed"])
@pytest.mark.parametrize("name", sorted(set(CASES) - set(FOLLOWS)))
def test_the_noise_that_is_told_is_that_of_the_first_release(name, calibration):
    if calibration == "printed" and not CASES[name].prints:
        with pytest.raises(tg.InputError, match="the paper prints no noise"):
            CASES[name].theorem(calibration=calibration)
        return
    theorem = CASES[name].theorem(calibration=calibration)
    release, plan = first_release(name, theorem)
    assert theorem.noise_std == pytest.approx(noise_of_a_mean(release, theorem, plan), rel=1e-9)
    assert f"noise {theorem.noise_std:.3g} on every coordinate" in theorem.explain()


@pytest.mark.parametrize("n_rows", [1999, 2311])
@pytest.mark.parametrize("name", ["wang2020.stochastic", "xu2025.unknown_growth"])
def test_rows_that_no_block_divides_are_counted_as_they_are(name, n_rows):
    case = CASES[name]
    theorem = case.theorem(n_rows=n_rows)
    plan = theorem.plan(case.problem(n_rows=n_rows), theorem.guarantee)
    if name == "xu2025.unknown_growth":
        assert theorem.noise_std == pytest.approx(plan.settings["first_noise_std"], rel=1e-9)
    else:
        query = theorem.solver.oracle.query(None, Units.raw(N_FEATURES, intercept=False))
        rows, mu = n_rows // plan.stages[0].n_blocks, plan.stages[0].mu
        assert rows > 200  # the batch that was asked for
        assert theorem.noise_std == pytest.approx(query.calibrate(rows, N_FEATURES, mu).noise_std)


@pytest.mark.parametrize("name", FOLLOWS)
def test_noise_that_follows_the_records_is_said_to_and_priced_in_its_own_unit(name):
    theorem = CASES[name].theorem()
    text = theorem.explain()
    assert "noise follows the records" in text
    assert "nan" not in text
    plan = theorem.plan(CASES[name].problem(), theorem.guarantee).explain()
    assert "total mu" not in plan
    assert ("total rho = 4" if "trimmed" in name else "total cost epsilon = 1,") in plan


def numbers(text):
    found = re.findall(r"\((E\d+(?:, E\d+)*)\)", " ".join(text.split()))
    return {number for group in found for number in group.split(", ")}


def section_of(name):
    """The text of the section of the page that calls the theorem."""
    parts = re.split(r"^##+ .+$", PAGE, flags=re.MULTILINE)
    parts = [part for part in parts if "*Differs.*" in part and f"tg.papers.{name}(" in part]
    assert parts, f"docs/papers.md has a section that calls tg.papers.{name} and says *Differs.*"
    return parts[-1]


@every_theorem
def test_every_erratum_of_a_section_is_listed_by_the_theorem(name):
    assert numbers(section_of(name)) <= numbers(CASES[name].theorem().explain())


def test_sections_name_errata():
    assert all(numbers(section_of(name)) for name in ("tao2022.sparse", "wang2020.stochastic"))


@pytest.mark.parametrize(("paper", "erratum"), [("kamath2022", "E22"), ("tao2022", "E23")])
def test_corrected_lower_bounds_are_listed(paper, erratum):
    for name in CASES:
        if name.startswith(paper) and name != "kamath2022.strongly_convex":
            assert erratum in numbers(CASES[name].theorem().explain())


@pytest.mark.parametrize("name", ["xu2025.accelerated", "wang2020.stochastic"])
def test_a_shuffle_needs_its_partition_to_stay_secret(name):
    more = {"n_steps": 100} if name == "xu2025.accelerated" else {"batch_rows": 40}
    hidden = CASES[name].theorem(guarantee=tg.ApproxDP(0.1, 1e-5), **more)
    plan = hidden.plan(CASES[name].problem(), hidden.guarantee)
    assert plan.stages[0].shuffled
    assert "needed for privacy: the gate's partition stays secret" in hidden.explain()
    assert "proof 'groups'" in hidden.explain()
    disjoint = CASES[name].theorem(guarantee=tg.ApproxDP(8.0, 1e-5), **more)
    assert not disjoint.plan(CASES[name].problem(), disjoint.guarantee).stages[0].shuffled
    assert "partition stays secret" not in disjoint.explain()
    assert "proof 'parallel'" in disjoint.explain()


@pytest.mark.parametrize(
    "name", ["kamath2022.strongly_convex", "tao2022.strongly_convex", "tao2022.sparse"]
)
def test_more_steps_than_records_are_refused_in_one_sentence(name):
    with pytest.raises(tg.InputError, match="n_steps must be at most n_rows = 10, since every"):
        CASES[name].theorem(n_rows=10, n_steps=11)


# Words of a deviation that speaks of noise below, or otherwise than, the printed one.
OF_LESS_NOISE = re.compile(
    r"noise (at|of|over)|less (noise|than printed)|least noise|exact (composition|sensitivity)"
    r"|spends all|number of steps lies between"
)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.prints])
def test_no_deviation_speaks_of_less_noise_where_the_printed_one_is_added(name):
    case = CASES[name]
    printed = case.theorem(calibration="printed")
    assert printed.deviations
    assert [line for line in printed.deviations if OF_LESS_NOISE.search(line)] == []
    tight = case.theorem().deviations
    if case.name not in FOLLOWS:
        assert [line for line in tight if OF_LESS_NOISE.search(line)]
        assert [x for x in printed.deviations if x not in tight and "printed" not in x] == []


@pytest.mark.parametrize("name", FOLLOWS)
def test_the_printed_scale_is_not_said_to_be_smooth_nor_private(name):
    options = {"calibration": "printed"}
    printed, tight = CASES[name].theorem(**options), CASES[name].theorem()
    assert "needed for privacy: nothing" in tight.explain()
    assert re.search(r"differs from the paper: the scale .* is .*smooth", tight.explain())
    text = printed.explain()
    assert "needed for privacy: more than any assumption gives: the printed scale" in text
    assert not any("scale" in line or "constants" in line for line in printed.deviations)
    assert {"E6"} <= numbers(text) or {"E35"} <= numbers(text)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.prints])
def test_what_printed_noise_costs_is_said_and_where_it_is_more_than_promised(name):
    case = CASES[name]
    printed, tight = case.theorem(calibration="printed"), case.theorem()
    assert ("MORE than promised" in printed.explain()) == case.unsafe
    assert "MORE than promised" not in tight.explain()
    assert ("spends: no finite amount" in printed.explain()) == (name in FOLLOWS)
    if "localised" in name:  # less than a third of what is promised
        (epsilon,) = re.findall(r"spends: epsilon = ([0-9.]+), delta = 1e-05", printed.explain())
        assert 0.1 < float(epsilon) < 0.3
