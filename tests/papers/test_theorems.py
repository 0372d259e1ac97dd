"""Every theorem as a solver: plans without records, honest books, printed noise, its own output."""

import math

import numpy as np
import pytest

import tailguard as tg
from papers.support.theorems import CASES, DIAMETER, GUARANTEE, N_FEATURES, N_ROWS, heavy_records
from support.spy import run_over
from tailguard.gate.described import described
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.ranking import PAPERS
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.events import Approximate
from tailguard.solvers.registry import plan_for

every_theorem = pytest.mark.parametrize("name", CASES)
safe = [name for name, case in CASES.items() if case.prints and not case.unsafe]


def test_every_theorem_of_the_papers_is_tested():
    found = set()
    for paper, module in PAPERS.items():
        for name in module.__all__:
            function = getattr(module, name)
            if function.__annotations__.get("return") in (Theorem, "Theorem"):
                found.add(f"{paper}.{name}")
    assert found == set(CASES)


@every_theorem
def test_a_plan_needs_public_numbers_and_says_what_it_rests_on(name):
    case = CASES[name]
    theorem = case.theorem()
    plan = theorem.plan(case.problem(), theorem.guarantee)
    assert satisfies(plan.event, plan.guarantee)
    for forecast in (theorem.bound, theorem.predicted_excess(), theorem.predicted_excess(0.3)):
        assert math.isfinite(forecast)
        assert forecast > 0.0
    assert 0.0 <= theorem.lower_bound < math.inf
    assert theorem.n_passes >= 1
    assert theorem.for_privacy
    text = theorem.explain()
    for line in (*theorem.for_accuracy, *theorem.deviations, theorem.statement):
        assert line in text
    assert theorem.statement in plan.explain()


@every_theorem
def test_what_is_spent_is_what_was_planned(name):
    case, theorem = CASES[name], CASES[name].theorem()
    solution, gate, plan = run_over(
        theorem, case.problem(), *heavy_records(), theorem.guarantee, seed=5
    )
    certificate = gate.certificate()
    if isinstance(plan.guarantee, tg.ZCDP):
        assert certificate.spent.rho == pytest.approx(certificate.total.rho, rel=1e-6)
        assert 0.99 * plan.guarantee.rho <= certificate.total.rho <= plan.guarantee.rho
    else:
        assert certificate.spent.epsilon == pytest.approx(certificate.total.epsilon, rel=1e-6)
        # Peeling is priced in steps that leave a little over.
        assert 0.95 * GUARANTEE.epsilon <= certificate.total.epsilon <= GUARANTEE.epsilon
    assert np.isfinite(solution.coef).all()
    if case.constraint is not None:
        assert case.constraint.contains(solution.coef)


@every_theorem
def test_a_checkpoint_says_name_and_numbers_of_a_theorem_with_its_sizes_or_without(name):
    case = CASES[name]
    for theorem in (case.theorem(), case.unsized()):
        told = described(plan_for(theorem, case.problem(), case.guarantee))
        assert name.split(".")[1] in told or case.theorem().statement in told


@pytest.mark.parametrize("name", safe)
def test_printed_noise_is_never_less_than_tight_noise(name):
    case = CASES[name]
    tight, paper = case.theorem(), case.theorem(calibration="printed")
    assert paper.guarantee == tight.guarantee
    plans = [each.plan(case.problem(), GUARANTEE) for each in (tight, paper)]
    assert plans[0].total_mu >= plans[1].total_mu
    if math.isfinite(tight.noise_std):
        n_steps = getattr(paper.solver, "n_steps", None)
        if n_steps != getattr(tight.solver, "n_steps", None):  # more, which have less of the budget
            tight_alike = case.theorem(n_steps=n_steps)
            assert tight_alike.noise_std <= paper.noise_std * (1.0 + 1e-9)
        else:
            assert tight.noise_std <= paper.noise_std * (1.0 + 1e-9)
    assert tight.bound <= paper.bound * (1.0 + 1e-9)


def test_sample_and_aggregate_hands_on_blocks_and_proof():
    case = CASES["wang2020.sample_aggregate"]
    tight, numerical, published = (
        case.theorem(proof=proof, n_blocks=100, layout="overlapping")
        for proof in ("tight", "numerical", "published")
    )
    assert numerical.bound < tight.bound < published.bound
    for theorem in (tight, numerical, published):
        settings = theorem.plan(case.problem(), GUARANTEE).settings
        assert settings["overlap"] == 10
        assert settings["calibration"] == theorem.solver.calibration
    with pytest.raises(tg.InputError, match="proof"):
        case.theorem(proof="printed")
    with pytest.raises(tg.InputError, match="calibration must be one of 'tight', 'printed'"):
        case.theorem(calibration="numerical")
    with pytest.raises(tg.InputError, match="n_steps must be None"):
        case.theorem(n_steps=7)


@pytest.mark.parametrize("name", ["trimmed_strongly_convex", "sample_aggregate"])
@pytest.mark.parametrize("proof", ["numerical", "published"])
def test_the_printed_scale_takes_no_proof(name, proof):
    case = CASES[f"wang2020.{name}"]
    with pytest.raises(tg.InputError, match="proof must be left out with calibration='printed'"):
        case.theorem(calibration="printed", proof=proof)


def test_blocks_that_agree_have_the_noise_of_the_least_scale():
    """With 4 blocks and hardly any spread the scale is that of the ball."""
    theorem = CASES["wang2020.sample_aggregate"].theorem
    tiny = {"moment": tg.Moment(2.0, 1e-12, kind="raw"), "n_blocks": 4}
    found = theorem(**tiny)
    public = found.solver.query(N_FEATURES).calibrate_event(
        N_ROWS, N_FEATURES, Approximate(GUARANTEE.epsilon, GUARANTEE.delta)
    )
    noise = DIAMETER / public.shift  # no record can change without the centre
    expected = N_FEATURES * noise**2  # half of the smoothness, which is 2
    for forecast in (found.bound, found.predicted_excess(curvature=2.0)):
        assert forecast == pytest.approx(expected, rel=1e-6)
    assert theorem(**{**tiny, "n_blocks": 40}).bound < 0.9 * expected


@pytest.mark.parametrize(
    "name", ["tao2022.convex", "xu2025.localised", "zhao2024.iterative_convex"]
)
def test_noise_printed_in_epsilon_and_delta_needs_them(name):
    with pytest.raises(tg.InputError, match="unless epsilon and delta are promised"):
        CASES[name].theorem(guarantee=tg.GDP(0.3), calibration="printed")


def test_the_noise_of_zhao_is_printed_in_rho_to_which_epsilon_and_delta_are_converted():
    rho = tg.papers.zhao2024.parameters.printed_rho(epsilon=1.0, delta=1e-5)
    by_rho, by_pair = (
        CASES["zhao2024.convex"].theorem(guarantee=each, calibration="printed")
        for each in (tg.ZCDP(rho), tg.ApproxDP(1.0, 1e-5))
    )
    assert by_rho.noise_std == pytest.approx(by_pair.noise_std, rel=1e-9)
    assert by_rho.solver.n_steps == by_pair.solver.n_steps
    norms = [each.solver.oracle.parameters["clip_norm"] for each in (by_rho, by_pair)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-9)


def test_other_sizes_and_promises_than_the_theorem_was_told_are_refused():
    case = CASES["kamath2022.convex"]
    theorem = case.theorem()
    with pytest.raises(tg.InputError, match=f"n_rows must be {N_ROWS - 1}"):
        theorem.plan(case.problem(n_rows=N_ROWS - 1), theorem.guarantee)
    with pytest.raises(tg.InputError, match="guarantee must be"):
        theorem.plan(case.problem(), tg.ApproxDP(0.5, 1e-5))


@every_theorem
@pytest.mark.parametrize("guarantee", [tg.ZCDP(4.0), tg.GDP(0.5), tg.PureDP(1.0)])
def test_other_promises_are_kept_or_refused_in_one_sentence(name, guarantee):
    case = CASES[name]
    smooth = name in ("wang2020.trimmed_strongly_convex", "wang2020.sample_aggregate")
    concentrated = name == "wang2020.trimmed_strongly_convex" and isinstance(guarantee, tg.ZCDP)
    pure = name != "tao2022.sparse" and isinstance(guarantee, tg.PureDP)
    if pure or (smooth and not concentrated):
        with pytest.raises(tg.InputError, match="guarantee must"):
            case.theorem(guarantee=guarantee)
        return
    theorem = case.theorem(guarantee=guarantee)
    plan = theorem.plan(case.problem(), guarantee)
    assert satisfies(plan.event, guarantee)


def test_a_moment_of_the_wrong_kind_is_refused():
    with pytest.raises(tg.InputError, match="moment must be of kind 'directional'"):
        CASES["zhao2024.convex"].theorem(moment=tg.Moment(2.0, 1.0, kind="raw"))


@pytest.mark.parametrize("name", CASES)
def test_what_is_told_in_another_type_is_refused_by_name(name):
    for told in (
        *({"moment": 2.0}, {"moment": None}, {"n_features": np.zeros(2)}, {"n_features": 10**400}),
        *({"calibration": 1.0}, {"calibration": None}, {"n_rows": 10**400}),
    ):
        with pytest.raises(tg.InputError, match=f"{next(iter(told))} must be"):
            CASES[name].theorem(**told)
    arguments = {"moment": CASES[name].moment, **CASES[name].arguments, "constraint": 2.0}
    call = getattr(getattr(tg.papers, name.split(".")[0]), name.split(".")[1])
    with pytest.raises(tg.InputError, match=r"constraint must be a set of tg\.sets, .*; got 2\.0"):
        call(**arguments)


def test_numbers_beyond_the_floats_are_refused_in_one_sentence():
    shape = {"strong_convexity": 1e-308, "smoothness": 1.0}
    with pytest.raises(tg.InputError, match="that computations overflow; got"):
        CASES["tao2022.strongly_convex"].theorem(**shape)
    with pytest.raises(tg.InputError, match="that computations overflow; got"):
        tg.papers.zhao2024.clipping_bias(
            n_features=3, moment_order=1e308, moment_bound=1.0, clip_norm=1e3
        )
