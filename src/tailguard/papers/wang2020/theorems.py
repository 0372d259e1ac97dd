"""The theorems of Wang, Xiao, Devadas and Xu (2020) for optimisation, each as a solver.

*Needed for privacy.* Nothing of the data. Theorems 2 and 5 hold for the repaired algorithms: the
scales that the paper prints for them are not smooth, and give no privacy.

*Needed for accuracy.* Second raw moments of every coordinate of the gradient at every point of the
set (Theorem 5: sub-exponential coordinates whose means lie in a known range); a smooth risk whose
gradient vanishes at the minimiser; a bounded set.

``options`` of every theorem: ``gradient_bound`` (1), ``n_steps`` in the place of the theorem's,
``calibration`` (``"tight"``, or ``"paper"`` for the printed noise) and ``unsafe_reproduction``.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from tailguard.checks import InputError, check_choice, check_integer, check_positive
from tailguard.moments import Moment
from tailguard.papers.convex_theorem import Step, convex_theorem
from tailguard.papers.descent_theorem import (
    Facts,
    Statement,
    needed_of_batches,
    noise_of,
    resolve_spend,
    strongly_convex_theorem,
    theorem_of,
)
from tailguard.papers.facts import check_facts
from tailguard.papers.kamath2022 import bounds as kamath_bounds
from tailguard.papers.parameters import wang2020 as parameters
from tailguard.papers.theorem import Assumptions, Theorem
from tailguard.papers.wang2020 import bounds
from tailguard.plans.budget import usable_guarantee
from tailguard.privacy.accounting.concentrated import rho_of_simple
from tailguard.privacy.guarantees import Guarantee
from tailguard.solvers.batches import Batches
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle, make_oracle

__all__ = ["smoothed_convex", "smoothed_strongly_convex", "stochastic"]

PAPER = "Wang, Xiao, Devadas and Xu 2020"
NOTHING = ("nothing: records, gradients and moments may be anything",)
ASSUMPTIONS = Assumptions(
    for_privacy=NOTHING,
    for_accuracy=(
        "the risk is convex and smooth, and its gradient vanishes at a minimiser in the set",
        "every coordinate of the gradient has the stated second raw moment at every point of the "
        "set",
    ),
)
TIGHT = "noise at the exact bound of the truncation and of exact composition (E11)"
UNIFORM = "the bound has the power of d that holds at all points at once (E9)"
WHOLE = "the number of steps is whole, and their hidden constants are 1 (E36)"
SCALES = ("printed", "balanced")
# A round figure: the paper states no batch size.
USUAL_BATCH_ROWS = 1000


def smoothed_strongly_convex(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    strong_convexity: float,
    smoothness: float,
    failure_probability: float = 0.01,
    scale: str = "printed",
    **options: Any,
) -> Theorem:
    """Descent on the smoothed soft truncation, for strongly convex losses.

    ``scale="balanced"`` takes the truncation scale that counts the noise, which the printed one
    ignores.

    *Reference.* Wang and others 2020, Theorem 7 and Algorithm 4.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = smoothed_strongly_convex(
    ...     100_000, 10, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 5.0, kind="raw"),
    ...     diameter=2.0, strong_convexity=1.0, smoothness=4.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.step_size, theorem.solver.oracle.describe()
    (47, 0.25, 'soft (scale = 232.995, smoothing = 4.60517)')
    """
    setting = _Setting.of(Facts(n_rows, n_features, guarantee, diameter, **options), moment, scale)
    facts = setting.facts
    shape: dict[str, Any] = {"strong_convexity": strong_convexity, "smoothness": smoothness}
    n_steps = facts.steps(
        math.ceil(parameters.strongly_convex_steps(n_rows=n_rows, **shape)), maximum=10_000
    )
    setting = setting.with_steps(n_steps, failure_probability)
    epsilon, delta = facts.terms
    statement = Statement(
        f"{PAPER}, Theorem 7",
        bounds.strongly_convex_bound(
            **setting.printed, **shape, epsilon=epsilon, delta=delta, diameter=diameter
        ),
        kamath_bounds.strongly_convex_lower_bound(
            **setting.sizes, rho=facts.rho, strong_convexity=strong_convexity
        ),
        ASSUMPTIONS,
        (UNIFORM, WHOLE),
        (TIGHT,),
    )
    return strongly_convex_theorem(
        facts,
        statement,
        oracle=setting.oracle,
        n_steps=n_steps,
        bias=setting.error,
        sampling=0.0,  # counted in the error of the truncation
        typical_sampling=setting.typical_sampling,
        printed_mu=setting.printed_mu,
        disjoint=False,
        step_size=1.0 / smoothness,
        **shape,
    )


def smoothed_convex(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    smoothness: float,
    failure_probability: float = 0.01,
    scale: str = "printed",
    **options: Any,
) -> Theorem:
    """Descent on the smoothed soft truncation, for convex losses; its last point.

    *Reference.* Wang and others 2020, Theorem 8 and Algorithm 4.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = smoothed_convex(
    ...     100_000, 10, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 5.0, kind="raw"),
    ...     diameter=2.0, smoothness=1.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.iterate
    (5, 'last')
    """
    setting = _Setting.of(Facts(n_rows, n_features, guarantee, diameter, **options), moment, scale)
    facts = setting.facts
    check_facts(smoothness=smoothness)
    rho = rho_of_simple(*facts.printed_terms) if facts.prints else facts.rho
    sizes: dict[str, Any] = {"n_rows": n_rows, "n_features": n_features, "rho": rho}
    count = round(parameters.convex_steps(**sizes, diameter=diameter))

    def step_of(n_steps: int) -> Step:
        own = setting.with_steps(n_steps, failure_probability)
        return Step(
            own.oracle,
            1.0 / smoothness,
            bias=own.error,
            sampling=0.0,  # counted in the error of the truncation
            typical_sampling=own.typical_sampling,
            printed_mu=own.printed_mu,
        )

    statement = setting.with_steps(1, failure_probability).convex_statement(
        "Theorem 8", UNIFORM, WHOLE
    )
    statement = replace(statement, noise_deviations=(TIGHT,))
    return convex_theorem(facts, statement, count, step_of, smoothness=smoothness)


def stochastic(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    batch_rows: int | None = None,
    n_passes: int = 1,
    step_size: float = 1.0,
    failure_probability: float = 0.01,
    scale: str = "printed",
    **options: Any,
) -> Theorem:
    """Descent on batches with steps of ``step_size / sqrt(t)``, for convex losses; its average.

    The paper says nothing of the privacy of its batches: here they are a random partition, a fresh
    and secret one for every pass where that makes the noise less. Where ``batch_rows`` is None it
    is 1000, or all records where there are fewer.

    *Reference.* Wang and others 2020, Section 6 (stochastic Algorithm 4).

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = stochastic(
    ...     100_000, 10, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 5.0, kind="raw"),
    ...     diameter=2.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.schedule, theorem.solver.decay
    (100, 'shuffled', 'root')
    """
    setting = _Setting.of(Facts(n_rows, n_features, guarantee, diameter, **options), moment, scale)
    facts = setting.facts
    check_integer("n_passes", n_passes, minimum=1)
    check_positive("step_size", step_size)
    if batch_rows is None:
        batch_rows = min(USUAL_BATCH_ROWS, n_rows)
    n_batches = n_rows // check_integer("batch_rows", batch_rows, minimum=1, maximum=n_rows)
    batch_rows, n_steps = n_rows // n_batches, n_passes * n_batches  # batches share the remainder
    if facts.n_steps not in (None, n_steps):
        raise InputError("n_steps must be None here: batch_rows and n_passes say how many.")
    promise, spent = resolve_spend(facts)
    usable = usable_guarantee(spent, n_steps * n_features)
    batches = Batches("shuffled", n_steps, n_batches)
    stage = batches.stage(usable, 0.0, n_rows, n_features)
    setting = setting.with_steps(n_steps, failure_probability, n_rows=batch_rows, step_mu=stage.mu)
    noise = noise_of(setting.oracle, facts, n_rows=batch_rows, mu=stage.mu)
    error = facts.root_size * math.hypot(setting.error, noise)
    # Steps of c / sqrt(t), on average: D^2 / (2 c sqrt(T)) + 2 c (R^2 + G^2) / sqrt(T) + D B.
    reach = diameter**2 / (2.0 * step_size) + 2.0 * step_size * (facts.gradient_bound**2 + error**2)
    bias = diameter * facts.root_size * setting.bias
    solver = NoisyGradientDescent(
        n_steps,
        step_size=step_size,
        oracle=setting.oracle,
        schedule="shuffled",
        n_batches=n_batches,
        decay="root",
    )
    priced = "the batches are priced, as disjoint ones or as a secret shuffle (E50)"
    bound = "no bound is stated for batches; that of Theorem 8 is shown"
    shared = "batches share the records that are left over; their scale is that of their real size"
    statement = setting.convex_statement("Section 6", priced, bound, shared, UNIFORM, WHOLE)
    needed = replace(ASSUMPTIONS, for_privacy=(needed_of_batches(stage),))
    return theorem_of(
        facts,
        replace(statement, assumptions=needed),
        solver,
        promise,
        spent,
        reach / math.sqrt(n_steps) + bias,
        course=facts.descent(solver, noise=math.hypot(noise, setting.typical_sampling), error=0.0),
        noise_std=noise,
        n_passes=n_passes,
    )


@dataclass(frozen=True)
class _Setting:
    """Facts, the second raw moment, and the soft truncation that follows from them."""

    facts: Facts
    moment: Moment
    scale_rule: str
    failure_probability: float = 0.01
    n_steps: int = 1
    n_rows: int = 1
    step_mu: float | None = None

    @classmethod
    def of(cls, facts: Facts, moment: Moment, scale: str) -> "_Setting":
        check_choice("scale", scale, SCALES)
        if scale != "printed" and facts.prints:
            raise InputError("scale must be 'printed' for calibration='paper'.")
        raw = moment.convert("raw", n_features=facts.n_features).at_order(2.0)
        return cls(facts, raw, scale, n_rows=facts.n_rows)

    def with_steps(
        self,
        n_steps: int,
        failure_probability: float,
        n_rows: int | None = None,
        step_mu: float | None = None,
    ) -> "_Setting":
        check_facts(failure_probability=failure_probability)
        rows = n_rows or self.facts.n_rows
        rule = self.scale_rule
        return _Setting(self.facts, self.moment, rule, failure_probability, n_steps, rows, step_mu)

    @property
    def sizes(self) -> dict[str, Any]:
        """Sizes and moments, as the lower bounds name them."""
        return {
            "n_rows": self.facts.n_rows,
            "n_features": self.facts.n_features,
            "moment_order": 2.0,
            "moment_bound": self.moment.bound,
        }

    @property
    def printed(self) -> dict[str, Any]:
        """Sizes and moments, as the paper's formulas name them."""
        sizes = {name: value for name, value in self.sizes.items() if name != "moment_order"}
        return {**sizes, "failure_probability": self.failure_probability}

    @property
    def smoothing(self) -> float:
        return parameters.printed_smoothing(failure_probability=self.failure_probability)

    @property
    def scale(self) -> float:
        """Where the truncation sets in."""
        if self.scale_rule == "printed":
            sizes = {name: self.printed[name] for name in ("moment_bound", "failure_probability")}
            return parameters.printed_scale(n_rows=self.n_rows, **sizes)
        # A budget of all steps, each of which has what it has on records of its own.
        whole = self.facts.mu
        if self.step_mu is not None:
            whole = self.step_mu * math.sqrt(self.n_steps)
        facts = {**self.printed, "n_rows": self.n_rows}
        return parameters.noise_aware_scale(**facts, n_steps=self.n_steps, mu=whole)

    @property
    def oracle(self) -> Oracle:
        return make_oracle("soft", scale=self.scale, smoothing=self.smoothing)

    @property
    def error(self) -> float:
        """Bias and sampling error of one coordinate."""
        return bounds.smoothed_mean_error(
            n_rows=self.n_rows,
            moment_bound=self.moment.bound,
            scale=self.scale,
            smoothing=self.smoothing,
            failure_probability=self.failure_probability,
        )

    @property
    def bias(self) -> float:
        """The part of the error that no averaging over batches takes away."""
        return self.moment.bound * (1.0 + 1.0 / self.smoothing) / (2.0 * self.scale)

    @property
    def typical_sampling(self) -> float:
        """Sampling error of one coordinate as it usually is."""
        return self.moment.scale / math.sqrt(self.n_rows)

    @property
    def printed_mu(self) -> float | None:
        """What all steps cost with the printed noise; None where it is not asked for."""
        facts = self.facts
        if not facts.prints:
            return None
        epsilon, delta = facts.printed_terms
        printed = parameters.printed_noise_std(
            **self.printed, n_steps=self.n_steps, epsilon=epsilon, delta=delta
        )
        move = parameters.sensitivity(
            n_rows=facts.n_rows,
            n_features=facts.n_features,
            scale=self.scale,
            smoothing=self.smoothing,
        )
        return move * math.sqrt(self.n_steps) / printed

    def convex_statement(self, theorem: str, *deviations: str) -> Statement:
        """Return what a theorem for convex losses says."""
        facts, (epsilon, delta) = self.facts, self.facts.terms
        bound = bounds.convex_bound(
            n_rows=facts.n_rows,
            n_features=facts.n_features,
            epsilon=epsilon,
            delta=delta,
            failure_probability=self.failure_probability,
        )
        lower = kamath_bounds.convex_lower_bound(
            **self.sizes, rho=facts.rho, diameter=facts.diameter
        )
        return Statement(f"{PAPER}, {theorem}", bound, lower, ASSUMPTIONS, deviations)
