"""The theorems of Wang and others (2020) whose noise follows the records, each as a solver.

*Needed for privacy.* Nothing of the data, for the repaired algorithms. The scale of the noise that
the paper prints for both is an upper bound on the local sensitivity and not smooth: it tells a
record from another, and the guarantee is void. What runs here has scales that are smooth.

*Needed for accuracy.* As in :mod:`tailguard.papers.wang2020.theorems`, and more; each says what.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, Theorems 2 and 5; Nissim, Raskhodnikova and Smith 2007.
"""

import math
from typing import Any

from tailguard.checks import check_choice, check_positive
from tailguard.moments import Moment
from tailguard.papers.descent import strongly_convex_descent_bound
from tailguard.papers.descent_theorem import Facts, Statement, paid, theorem_of
from tailguard.papers.facts import check_facts
from tailguard.papers.kamath2022 import bounds as kamath_bounds
from tailguard.papers.parameters import wang2020 as parameters
from tailguard.papers.theorem import Assumptions, Theorem
from tailguard.papers.typical import Release
from tailguard.papers.wang2020 import bounds
from tailguard.privacy.events import Approximate, ZeroConcentrated
from tailguard.privacy.guarantees import Guarantee, Unprotected
from tailguard.queries.units import Units
from tailguard.solvers.base import usable_guarantee
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle, make_oracle
from tailguard.solvers.sample_and_aggregate import SampleAndAggregate
from tailguard.solvers.smooth_stage import concentrated_budget

__all__ = ["sample_aggregate", "trimmed_strongly_convex"]

PAPER = "Wang, Xiao, Devadas and Xu 2020"
NOTHING = ("nothing: records, gradients and moments may be anything",)
CONVEX = "the risk is strongly convex and smooth, and its gradient vanishes at the minimiser"
TRIMMED_ASSUMPTIONS = Assumptions(
    NOTHING,
    (
        CONVEX,
        "coordinates of the gradient are sub-exponential, and nearly symmetric: what is trimmed is "
        "a bias that more records do not take away",
        "their means lie within mean_range of zero",
    ),
)
TRIMMED_DEVIATIONS = (
    "the scale of the noise is smooth; with the printed one there is no privacy (E1)",
    "constants are solved for the noise, where the printed ones make it useless (E2, E3)",
    "the number of trimmed records follows from the smoothness (E35)",
)
AGGREGATE_ASSUMPTIONS = Assumptions(
    NOTHING,
    (
        CONVEX,
        "every single loss is smooth and not negative, which the paper uses and does not state "
        "(E7)",
        "epsilon exceeds 2 d over the root of the number of blocks (E7)",
    ),
)
AGGREGATE_DEVIATIONS = (
    "the scale is an order statistic, which is smooth; the printed mean is not (E4)",
    "blocks are disjoint unless asked for; overlapping ones are hardly ever drawn if few (E5)",
    "radii hold with the stated chance for a factor of 12 (E6)",
)
PROOFS = ("tight", "numerical", "published")
ARSINH_STD = 1.7873  # of sinh(Y), Y normal: sqrt((e^2 - 1) / 2)


def trimmed_strongly_convex(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    strong_convexity: float,
    smoothness: float,
    mean_range: float | None = None,
    proof: str = "tight",
    **options: Any,
) -> Theorem:
    """Descent on coordinate-wise trimmed means, for strongly convex losses.

    The root of ``moment`` is taken for the scale of sub-exponential coordinates. Means of
    coordinates lie within ``mean_range`` of zero (``gradient_bound`` if None); ``proof`` is what
    the noise rests on, as in ``make_oracle("trimmed", calibration=...)``. ``calibration="paper"``
    reproduces the printed scale, which promises nothing: it is run on a gate that says so.

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
    facts = Facts(n_rows, n_features, guarantee, diameter, **options)
    scale = moment.convert("raw", n_features=n_features).at_order(2.0).scale
    check_choice("proof", proof, PROOFS)
    reach = check_positive("mean_range", mean_range or facts.gradient_bound)
    shape: dict[str, Any] = {"strong_convexity": strong_convexity, "smoothness": smoothness}
    n_steps = facts.steps(math.ceil(parameters.strongly_convex_steps(n_rows=n_rows, **shape)))
    step_size = 1.0 / smoothness
    promise: Guarantee = Unprotected(guarantee) if facts.prints else guarantee
    oracle = _trimmed_oracle(facts, reach, proof)
    noise, sampling, bias = _trimmed_errors(facts, oracle, scale, n_steps)
    predicted = strongly_convex_descent_bound(
        diameter=diameter,
        n_steps=n_steps,
        gradient_error=facts.root_size * math.hypot(noise, sampling, bias),
        step_size=step_size,
        **shape,
    )
    epsilon, delta = facts.terms
    statement = Statement(
        f"{PAPER}, Theorem 5",
        bounds.trimmed_strongly_convex_bound(
            n_rows=n_rows,
            n_features=n_features,
            epsilon=epsilon,
            delta=delta,
            tail_scale=scale,
            diameter=diameter,
            **shape,
        ),
        _lower_bound(facts, scale**2, strong_convexity),
        TRIMMED_ASSUMPTIONS,
        TRIMMED_DEVIATIONS,
    )
    solver = NoisyGradientDescent(n_steps, step_size=step_size, oracle=oracle, iterate="last")
    return theorem_of(
        facts,
        statement,
        solver,
        promise,
        promise,
        predicted,
        course=facts.descent(solver, noise=noise, error=sampling),
        noise_std=math.nan,
        n_passes=n_steps,
    )


def sample_aggregate(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    strong_convexity: float,
    smoothness: float,
    least_risk: float | None = None,
    n_blocks: int | None = None,
    least_rows: int = 20,
    layout: str = "disjoint",
    proof: str = "tight",
    **options: Any,
) -> Theorem:
    """Sample and aggregate minimisers of blocks, for strongly convex losses.

    ``least_risk`` is the risk of the minimiser, for the bound; None takes ``d v / (4 b)``, the
    least that its argument allows for gradients of the stated moment. ``layout`` and ``proof``, on
    which the noise rests, are those of :class:`SampleAndAggregate`; ``proof="published"`` takes the
    printed constants on the smooth scale. ``calibration="paper"`` reproduces the printed scale,
    which promises nothing: it is run on a gate that says so.

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
    facts = Facts(n_rows, n_features, guarantee, diameter, **options)
    variance = moment.convert("raw", n_features=n_features).at_order(2.0).bound * n_features
    check_facts(strong_convexity=strong_convexity, smoothness=smoothness)
    solver = _central(facts, proof, n_blocks=n_blocks, least_rows=least_rows, layout=layout)
    usable = solver.promise(guarantee, n_features)
    share = Approximate(usable.epsilon, usable.delta)
    public = solver.query(n_features).calibrate_event(n_rows, n_features, share)
    blocks = int(public.facts["n_blocks"])
    radius = math.sqrt(48.0 * blocks * variance / n_rows) / strong_convexity
    radius = min(radius, diameter / 4.0)  # minimisers lie in the ball
    noise = 4.0 * radius / public.shift
    promise: Guarantee = Unprotected(guarantee) if facts.prints else guarantee
    statement = Statement(
        f"{PAPER}, Theorem 2",
        bounds.sample_aggregate_bound(
            n_rows=n_rows,
            n_features=n_features,
            epsilon=usable.epsilon,
            least_risk=least_risk or variance / (4.0 * smoothness),
            smoothness=smoothness,
            strong_convexity=strong_convexity,
        ),
        _lower_bound(facts, variance / n_features, strong_convexity),
        AGGREGATE_ASSUMPTIONS,
        AGGREGATE_DEVIATIONS,
    )
    squared = 4.0 * radius**2 + n_features * noise**2
    return theorem_of(
        facts,
        statement,
        solver,
        promise,
        promise,
        smoothness / 2.0 * squared,
        course=Release(math.sqrt(squared)),
        noise_std=math.nan,
        n_passes=1,
    )


def _lower_bound(facts: Facts, moment_bound: float, strong_convexity: float) -> float:
    """Return that of Kamath, Liu and Zhang for second moments; the paper has none."""
    return kamath_bounds.strongly_convex_lower_bound(
        n_rows=facts.n_rows,
        n_features=facts.n_features,
        moment_order=2.0,
        moment_bound=moment_bound,
        rho=facts.rho,
        strong_convexity=strong_convexity,
    )


def _trimmed_oracle(facts: Facts, reach: float, proof: str) -> Oracle:
    """Return the trimmed mean; the printed one, which needs to be asked for twice."""
    stated: dict[str, Any] = {"calibration": proof}
    if facts.prints:
        stated = {"calibration": "paper", "unsafe_reproduction": facts.unsafe_reproduction}
    else:
        paid(facts)  # refuses another calibration
    return make_oracle("trimmed", low=-reach, high=reach, **stated)


def _central(facts: Facts, proof: str, **shape: Any) -> SampleAndAggregate:
    """Return the solver, whose noise rests on what ``proof`` says, or is as printed."""
    check_choice("proof", proof, PROOFS)
    if not facts.prints:
        paid(facts)  # refuses another calibration
    return SampleAndAggregate(
        diameter=facts.diameter,
        calibration="paper" if facts.prints else proof,
        unsafe_reproduction=facts.unsafe_reproduction,
        **shape,
    )


def _trimmed_errors(
    facts: Facts, oracle: Oracle, scale: float, n_steps: int
) -> tuple[float, float, float]:
    """Predict noise, sampling error and bias of a coordinate with exponential tails.

    They end at about ``scale * log(n / m)``, and order statistics lie that far apart there.
    """
    n_rows, query = facts.n_rows, oracle.query(None, Units.raw(facts.n_features, intercept=False))
    usable = usable_guarantee(facts.guarantee, n_steps * facts.n_features)
    share = ZeroConcentrated(concentrated_budget(usable) / n_steps)
    public = query.calibrate_event(n_rows, facts.n_features, share)
    n_trimmed = int(public.facts["n_trimmed"])
    tail = scale * math.log(n_rows / n_trimmed)
    noise = ARSINH_STD * max(tail / (n_rows - 2 * n_trimmed), 1e-3 / n_rows) / public.shift
    sampling, bias = scale / math.sqrt(n_rows), tail * n_trimmed / n_rows
    return noise, sampling, bias
