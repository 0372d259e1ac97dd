"""The theorems of Wang and others (2020) whose noise follows the records, each as a solver.

*Needed for privacy.* Nothing of the data, for the repaired algorithms. The scale of the noise that
the paper prints for both is an upper bound on the local sensitivity and not smooth: it tells a
record from another, and the guarantee is void. What runs here has scales that are smooth, unless
``calibration="paper"`` asks for the printed ones; ``tg.minimize(guarantee=theorem.guarantee)`` then
runs them, and the certificate states an infinite cost.

*Needed for accuracy.* As in :mod:`tailguard.papers.wang2020.theorems`, and more; each says what.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, Theorems 2 and 5; Nissim, Raskhodnikova and Smith 2007.
"""

import math
from dataclasses import replace
from typing import Any

from tailguard.checks import InputError, check_choice, check_positive, shown
from tailguard.moments import Moment
from tailguard.papers.descent import strongly_convex_descent_bound
from tailguard.papers.descent_theorem import Facts, Statement, resolve_spend, theorem_of
from tailguard.papers.facts import check_facts
from tailguard.papers.kamath2022 import bounds as kamath_bounds
from tailguard.papers.parameters import wang2020 as parameters
from tailguard.papers.theorem import Assumptions, Theorem
from tailguard.papers.typical import ReleasedOnce
from tailguard.papers.wang2020 import bounds
from tailguard.plans.budget import concentrated_budget, usable_guarantee
from tailguard.privacy.events import Approximate, ZeroConcentrated
from tailguard.privacy.events.smooth_calibration import SmoothCalibration
from tailguard.privacy.guarantees import Guarantee, Unprotected
from tailguard.queries.sample_aggregate import least_scale
from tailguard.queries.units import Units
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle, make_oracle
from tailguard.solvers.sample_and_aggregate import SampleAndAggregate

__all__ = ["sample_aggregate", "trimmed_strongly_convex"]

PAPER = "Wang, Xiao, Devadas and Xu 2020"
NOTHING = ("nothing: records, gradients and moments may be anything",)
VOID = (
    "more than any assumption gives: the printed scale of the noise is not smooth, there is no "
    "privacy, and the certificate states an infinite cost",
)
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
TRIMMED_DEVIATIONS = ("the number of trimmed records follows from the smoothness (E35)",)
TRIMMED_NOISE = (
    "the scale of the noise is smooth; with the printed one there is no privacy (E1)",
    "constants are solved for the noise, where the printed ones make it useless (E2, E3)",
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
AGGREGATE_DEVIATIONS = ("radii hold with the stated chance for a factor of 12 (E6)",)
AGGREGATE_NOISE = (
    "the scale is an order statistic, which is smooth; the printed mean is not (E4)",
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
    shape: dict[str, Any] = {"strong_convexity": strong_convexity, "smoothness": smoothness}
    n_steps = facts.steps(math.ceil(parameters.strongly_convex_steps(n_rows=n_rows, **shape)))
    step_size = 1.0 / smoothness
    promise, needed = _promised(facts)
    oracle = _trimmed_oracle(facts, mean_range, proof)
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
        replace(TRIMMED_ASSUMPTIONS, for_privacy=needed),
        TRIMMED_DEVIATIONS,
        TRIMMED_NOISE,
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
    layout: str | None = None,
    proof: str = "tight",
    **options: Any,
) -> Theorem:
    """Sample and aggregate minimisers of blocks, for strongly convex losses.

    ``least_risk`` is the risk of the minimiser, for the bound; None takes ``d v / (4 b)``, the
    least that its argument allows for gradients of the stated moment. ``layout`` and ``proof``, on
    which the noise rests, are those of :class:`SampleAndAggregate`; ``proof="published"`` takes the
    printed constants on the smooth scale. ``calibration="paper"`` reproduces the printed scale and
    blocks, which promise nothing: they are run on a gate that says so.

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
    if facts.n_steps is not None:
        raise InputError(f"n_steps must be None here: nothing descends; got {facts.n_steps!r}.")
    variance = moment.convert("raw", n_features=n_features).at_order(2.0).bound * n_features
    check_facts(strong_convexity=strong_convexity, smoothness=smoothness)
    solver = _central(facts, proof, n_blocks=n_blocks, least_rows=least_rows, layout=layout)
    usable = solver.promise(guarantee, n_features)
    share = Approximate(usable.epsilon, usable.delta)
    public = solver.query(n_features).calibrate_event(n_rows, n_features, share)
    blocks = int(public.facts["n_blocks"])
    radius = math.sqrt(48.0 * blocks * variance / n_rows) / strong_convexity
    radius = min(radius, diameter / 4.0)  # minimisers lie in the ball
    noise = max(4.0 * radius, _least_scale(facts, public)) / public.shift
    promise, needed = _promised(facts)
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
        replace(AGGREGATE_ASSUMPTIONS, for_privacy=needed),
        (_blocks_in_words(solver, public), *AGGREGATE_DEVIATIONS),
        AGGREGATE_NOISE,
    )
    squared = 4.0 * radius**2 + n_features * noise**2
    return theorem_of(
        facts,
        statement,
        solver,
        promise,
        promise,
        smoothness / 2.0 * squared,
        course=ReleasedOnce(math.sqrt(squared)),
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


def _promised(facts: Facts) -> tuple[Guarantee, tuple[str, ...]]:
    """Return what is promised, and what that needs: the printed scales promise nothing."""
    if facts.prints:
        return Unprotected(facts.guarantee), VOID
    return facts.guarantee, NOTHING


def _check_proof(facts: Facts, proof: str) -> None:
    """Refuse what would be ignored, and a proof in the place of a calibration."""
    check_choice("proof", proof, PROOFS)
    if facts.prints and proof != PROOFS[0]:
        raise InputError(
            "proof must be left out with calibration='paper', which takes the printed constants "
            f"and proves nothing; got {shown(proof)}."
        )
    if facts.calibration in PROOFS[1:]:
        raise InputError(
            "calibration must be 'tight' or 'paper', and what the noise rests on is told as "
            f"proof={facts.calibration!r}; got calibration={facts.calibration!r}."
        )


def _least_scale(facts: Facts, public: SmoothCalibration) -> float:
    """Return the scale of blocks whose minimisers coincide; the printed one is twice as large."""
    n_blocks, overlap = (int(public.facts[name]) for name in ("n_blocks", "overlap"))
    least = least_scale(n_blocks, facts.diameter, public.smoothness, overlap)
    return 2.0 * least if facts.prints else least


def _blocks_in_words(solver: SampleAndAggregate, public: SmoothCalibration) -> str:
    """Say which blocks are used, and why they are no others."""
    if public.facts["layout"] == "overlapping":
        return (
            f"blocks overlap as printed, a record being in at most {public.facts['overlap']} of "
            f"{public.facts['n_blocks']}; they would be disjoint had 50 draws found none (E5)"
        )
    why = "unless asked for; overlapping ones are hardly ever drawn if few"
    if solver.blocks == "overlapping":
        why = "as no draw of overlapping ones was found, with a record in few enough of them"
    return f"the {public.facts['n_blocks']} blocks are disjoint, {why} (E5)"


def _trimmed_oracle(facts: Facts, mean_range: float | None, proof: str) -> Oracle:
    """Return the trimmed mean; the printed one, which needs to be asked for twice."""
    _check_proof(facts, proof)
    reach = check_positive("mean_range", mean_range or facts.gradient_bound)
    stated: dict[str, Any] = {"calibration": proof}
    if facts.prints:
        stated = {"calibration": "paper", "unsafe_reproduction": facts.unsafe_reproduction}
    else:
        resolve_spend(facts)  # refuses another calibration
    return make_oracle("trimmed", low=-reach, high=reach, **stated)


def _central(facts: Facts, proof: str, **shape: Any) -> SampleAndAggregate:
    """Return the solver, whose noise rests on what ``proof`` says, or is as printed."""
    _check_proof(facts, proof)
    if not facts.prints:
        resolve_spend(facts)  # refuses another calibration
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
