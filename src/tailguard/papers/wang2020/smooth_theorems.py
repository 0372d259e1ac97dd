"""The theorems of Wang and others (2020) whose noise depends on the records, each as a solver.

*Needed for privacy.* Nothing of the data, for the repaired algorithms. The noise scale that the
paper prints for both is an upper bound on the local sensitivity, but it is not smooth: it reveals
records, and the guarantee is void. The solvers here have smooth scales.
``calibration="printed"`` takes the printed scales: such runs are simulations, with
``random_state``, and the certificate states an infinite cost.

*Needed for accuracy.* As in :mod:`tailguard.papers.wang2020.theorems`, and more, which each theorem
states.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, Theorems 2 and 5; Nissim, Raskhodnikova and Smith 2007.
"""

import math
from functools import partial
from typing import Any

from tailguard.checks import InputError, check_choice, check_integer, check_positive, shown
from tailguard.gate.stage import concentrated_budget, usable_guarantee
from tailguard.papers.common import descent
from tailguard.papers.common.prediction import released_excess
from tailguard.papers.common.setting import Concentrated, Facts
from tailguard.papers.common.statement import statement_of, theorem_of
from tailguard.papers.common.theorem import Theorem, theorem_on
from tailguard.papers.printed.solvers import PrintedSampleAndAggregate, PrintedTrimmedOracle
from tailguard.papers.wang2020 import parameters
from tailguard.papers.wang2020.theorems import SECOND, least_of
from tailguard.privacy.calibration import SmoothCalibration
from tailguard.privacy.events import Approximate, Unbounded, ZeroConcentrated
from tailguard.privacy.guarantees import ZCDP, ApproxDP, Guarantee
from tailguard.queries.sample_aggregate import least_scale
from tailguard.queries.units import Units
from tailguard.solvers.oracles import Oracle, make_oracle
from tailguard.solvers.sample_and_aggregate import SampleAndAggregate

PROOFS = ("tight", "numerical", "published")
ARSINH_STD = math.sqrt(math.expm1(2.0) / 2.0)  # of sinh(Y), Y standard normal


@theorem_on("raw", "strong_convexity", "smoothness", of=Concentrated, orders=SECOND)
def trimmed_strongly_convex(
    facts: Facts,
    *,
    mean_range: float | None = None,
    n_trimmed: int | None = None,
    proof: str = "tight",
) -> Theorem:
    """Descent on coordinate-wise trimmed means, for strongly convex losses.

    The root of ``moment`` is the scale of sub-exponential coordinates. Means of coordinates lie
    within ``mean_range`` of zero (``gradient_bound`` if None). ``proof`` is the proof behind the
    noise, as in ``make_oracle("trimmed", calibration=...)``. The mean trims ``n_trimmed`` values of
    every coordinate at either end; None takes as many as the noise needs.

    ``calibration="printed"`` reproduces Algorithm 3: its scale, which gives no privacy, its
    constants, the textbook's conversion of epsilon and delta, and one value in 20 trimmed at either
    end, as in the paper's experiments.

    *Reference.* Wang and others 2020, Theorem 5 and Algorithm 3, with a smooth scale.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = trimmed_strongly_convex(
    ...     200_000, 2, tg.ZCDP(0.5), moment=tg.Moment(2.0, 1.0, kind="raw"), diameter=2.0,
    ...     strong_convexity=1.0, smoothness=1.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.oracle.describe()
    (13, 'trimmed (low = -1, high = 1, calibration = tight)')
    """
    count = facts.into(parameters.strongly_convex_steps)
    n_steps, step_size = facts.steps(math.ceil(count)), 1.0 / facts.shape["smoothness"]
    converts = facts.prints and isinstance(facts.guarantee, ApproxDP)  # as the textbook does
    spent = ZCDP(facts.rho) if converts else facts.guarantee
    oracle = _trimmed_oracle(facts, mean_range, n_trimmed, proof)
    noise, sampling, bias = _trimmed_errors(facts, oracle, n_steps, spent)
    lower_bound = least_of(facts, facts.moment.scale**2)
    statement = statement_of("wang2020.trimmed_strongly_convex", facts, lower_bound)
    step = descent.Step(oracle, bias, sampling, size=step_size)
    return descent.strongly_convex_theorem(
        facts, statement, step, n_steps, disjoint=False, following=(noise, spent)
    )


@theorem_on("raw", "strong_convexity", "smoothness", orders=SECOND)
def sample_aggregate(
    facts: Facts,
    *,
    n_blocks: int | None = None,
    least_rows: int = 20,
    layout: str | None = None,
    proof: str = "tight",
) -> Theorem:
    """Sample and aggregate minimisers of blocks, for strongly convex losses.

    ``layout`` and ``proof``, the proof behind the noise, are those of :class:`SampleAndAggregate`;
    ``proof="published"`` takes the printed constants with the smooth scale.
    ``calibration="printed"`` reproduces the printed scale and blocks, which give no privacy.

    *Reference.* Wang and others 2020, Theorem 2 and Algorithm 1.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = sample_aggregate(
    ...     100_000, 2, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 1.0, kind="raw"),
    ...     diameter=2.0, strong_convexity=1.0, smoothness=1.0,
    ... )
    >>> type(theorem.solver).__name__, theorem.n_passes
    ('SampleAndAggregate', 1.0)
    """
    if facts.n_steps is not None:
        raise InputError(f"n_steps must be None here: nothing descends; got {facts.n_steps!r}.")
    n_features, variance = facts.n_features, facts.moment.bound * facts.n_features
    solver = _solver(facts, proof, n_blocks=n_blocks, least_rows=least_rows, layout=layout)
    usable = solver.promise(facts.guarantee, n_features)
    share = Approximate(usable.epsilon, usable.delta)
    public = solver.query(n_features).calibrate_event(facts.n_rows, n_features, share)
    blocks = int(public.facts["n_blocks"])
    radius = math.sqrt(48.0 * blocks * variance / facts.n_rows) / facts.shape["strong_convexity"]
    # Minimisers lie in the ball, so none is farther from another than its diameter.
    noise = max(min(4.0 * radius, facts.diameter), _least_scale(facts, public)) / public.shift
    stated_layout = solver.layout if public.facts["layout"] == solver.layout else "none found"
    lower_bound = least_of(facts, variance / n_features)
    options = {name: public.facts[name] for name in ("n_blocks", "overlap")}
    statement = statement_of(
        "wang2020.sample_aggregate", facts, lower_bound, stated_layout, **options
    )
    squared_distance = min(2.0 * radius, facts.diameter) ** 2 + n_features * noise**2
    return theorem_of(
        facts,
        statement,
        solver,
        facts.shape["smoothness"] / 2.0 * squared_distance,
        partial(released_excess, error=math.sqrt(squared_distance)),
        noise_std=math.nan,
        n_passes=1,
        cost=Unbounded(),
    )


def _check_proof(facts: Facts, proof: str) -> None:
    """Refuse an unknown proof, or one that ``calibration="printed"`` would ignore."""
    check_choice("proof", proof, PROOFS)
    if facts.prints and proof != PROOFS[0]:
        raise InputError(
            "proof must be left out with calibration='printed', which takes the printed constants "
            f"and proves nothing; got {shown(proof)}."
        )


def _least_scale(facts: Facts, public: SmoothCalibration) -> float:
    """Return the scale of blocks whose minimisers coincide; the printed one is twice as large."""
    n_blocks, overlap = (int(public.facts[name]) for name in ("n_blocks", "overlap"))
    least = least_scale(n_blocks, facts.diameter, public.smoothness, overlap)
    return 2.0 * least if facts.prints else least


def _trimmed_oracle(
    facts: Facts, mean_range: float | None, n_trimmed: int | None, proof: str
) -> Oracle:
    """Return the trimmed mean, with the noise of this ``proof`` or the printed noise."""
    _check_proof(facts, proof)
    reach = facts.gradient_bound if mean_range is None else mean_range
    check_positive("mean_range", reach)
    stated: dict[str, Any] = {"low": -reach, "high": reach}
    if n_trimmed is not None:
        stated["n_trimmed"] = check_integer("n_trimmed", n_trimmed, minimum=1)
    if facts.prints:
        return PrintedTrimmedOracle("trimmed", stated)
    return make_oracle("trimmed", **stated, calibration=proof)


def _solver(facts: Facts, proof: str, **settings: Any) -> SampleAndAggregate:
    """Return the solver, with the noise of this ``proof`` or the printed noise."""
    _check_proof(facts, proof)
    stated = {name: value for name, value in settings.items() if value is not None}
    if facts.prints:
        return PrintedSampleAndAggregate(diameter=facts.diameter, **stated)
    return SampleAndAggregate(diameter=facts.diameter, calibration=proof, **stated)


def _trimmed_errors(
    facts: Facts, oracle: Oracle, n_steps: int, spent: Guarantee
) -> tuple[float, float, float]:
    """Predict noise, sampling error and bias of a coordinate with exponential tails.

    Kept values end at about ``scale * log(n / m)`` if m are trimmed. The noise follows their range,
    which is taken to be as large.
    """
    n_rows, scale = facts.n_rows, facts.moment.scale
    query = oracle.query(None, Units.raw(facts.n_features, intercept=False))
    usable = usable_guarantee(spent, n_steps * facts.n_features)
    share = ZeroConcentrated(concentrated_budget(usable) / n_steps)
    public = query.calibrate_event(n_rows, facts.n_features, share)
    n_trimmed = int(public.facts["n_trimmed"])
    n_kept, tail = n_rows - 2 * n_trimmed, scale * math.log(n_rows / n_trimmed)
    expected = max(tail / n_kept, 1e-3 / n_rows)
    if facts.prints:  # Algorithm 2: the range of all values, or the declared width, discounted
        discounted = query.width * math.exp(-n_trimmed * public.smoothness)
        expected = max(2.0 * scale * math.log(n_rows) / n_kept, discounted)
    noise = ARSINH_STD * expected / public.shift
    sampling, bias = scale / math.sqrt(n_rows), tail * n_trimmed / n_rows
    return noise, sampling, bias
