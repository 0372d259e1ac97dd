"""Descent in pure DP: Kamath's framework on the coordinate-wise means with Laplace noise. Ours.

Kamath, Liu and Zhang (2022) state descents for zCDP, and for pure DP a mean (Theorem 4.1) and lower
bounds (Lemma 6.3, Theorem B.7). Their Algorithm 1 takes any mean.

*Needed for privacy.* Nothing of the data. The query proves the l1 sensitivity of a mean, so Laplace
noise of scale sensitivity over epsilon is epsilon-DP. Steps on all records add up, and share
epsilon equally. Steps on disjoint blocks cost as much as one of them, and each has all of epsilon.

*Needed for accuracy.* Central moments of every coordinate of the gradient, as in
:mod:`tailguard.papers.kamath2022.theorems`.

*Strongly convex losses.* Blocks have ``n / T`` records and T is logarithmic in n: Theorem 3.2 with
the error of the pure mean of a block gives the square of the lower bound, up to logarithms.

*Convex losses.* Theorem 3.1 with steps of ``D / (R sqrt(T))``: noise for ``epsilon / T`` is
``tau d T / (n epsilon)`` in each coordinate. It reaches the mean gradient R in l2 norm at
``T = n epsilon / (tau d^(3/2))``. The excess is then ``D / sqrt(T)`` plus the bias
``D sqrt(d) tau^(1-k)``. At ``tau = (n epsilon / sqrt(d))^(1/(2k-1))`` both are
``D sqrt(d) (sqrt(d) / (n epsilon))^((k-1)/(2k-1))``: slower than the lower bound, since over steps
epsilon adds up in pure DP, but mu^2 in zCDP.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithm 1, Theorems 3.1, 3.2 and 4.1; Dwork and Roth 2014, Theorem
3.16 (composition); McSherry 2009, Theorem 4 (disjoint blocks).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from tailguard.checks import check_choice, check_positive, require
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import Stage, usable_guarantee
from tailguard.means.base import usable_share
from tailguard.means.formulas import checked, group_count, moment_scale, tail_power, whole_groups
from tailguard.moments import Moment
from tailguard.papers.common.steps import settled_steps, strongly_convex_step_size, whole_steps
from tailguard.papers.kamath2022 import bounds, parameters
from tailguard.privacy.events import Laplace
from tailguard.privacy.guarantees import Guarantee, PureDP
from tailguard.queries.units import Units
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle, make_oracle


@dataclass(frozen=True, kw_only=True)
class PureDescent:
    """Projected descent on a private mean of gradients with Laplace noise.

    Parameters
    ----------
    n_steps, step_size
        The number of steps and their size.
    oracle
        ``tg.solvers.make_oracle("clamped" | "truncated" | "soft", ...)``: a mean with a pure form.
    schedule
        ``"full"``: every step reads all records and has its part of epsilon. ``"disjoint"``: every
        step reads its own block of records and has all of epsilon.

    Guarantee
    ---------
    Epsilon-DP for every input. The run spends exactly the plan's event.

    Edge cases
    ----------
    Other guarantees and oracles without a pure form are refused.

    Reference
    ---------
    Kamath, Liu and Zhang 2022, Algorithm 1 on the pure mean of Theorem 4.1.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.Logistic(), n_rows=20_000, n_features=3, constraint=tg.sets.L2Ball(1.0)
    ... )
    >>> clamped = make_oracle("clamped", threshold=3.0, n_groups=22)
    >>> solver = PureDescent(n_steps=4, step_size=0.5, oracle=clamped)
    >>> solver.plan(problem, tg.PureDP(2.0)).stages[0].asked.epsilon < 0.5
    True
    """

    n_steps: int
    step_size: float
    oracle: Oracle
    schedule: str = "full"

    name: ClassVar[str] = "pure-descent"

    def __post_init__(self) -> None:
        """Check the public numbers."""
        check_choice("schedule", self.schedule, ("full", "disjoint"))
        check_positive("step_size", self.step_size)
        _ = self._descent

    @property
    def _descent(self) -> NoisyGradientDescent:
        """The same steps: the average of points for full steps, the last point for blocks."""
        iterate = "last" if self.schedule == "disjoint" else "average"
        known: dict[str, Any] = {"schedule": self.schedule, "iterate": iterate}
        return NoisyGradientDescent(
            self.n_steps, oracle=self.oracle, step_size=self.step_size, **known
        )

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Split epsilon, from public numbers only."""
        require(problem.scored is not None, f"solver {self.name!r} needs a loss of one score.")
        require(
            isinstance(guarantee, PureDP),
            f"guarantee must be tg.PureDP(epsilon) for solver {self.name!r}; got {guarantee!r}: "
            "other noise does better there, by solver='noisy-gradient-descent'.",
        )
        batches = self._descent.batches
        units = Units.raw(problem.n_features, intercept=problem.intercept)
        query: Any = self.oracle.query(problem.scored, units)
        promise = usable_guarantee(guarantee, self.n_steps * problem.size)
        whole = usable_share(promise, coordinates=self.n_steps * problem.size)
        assert isinstance(whole, Laplace)
        share = Laplace(whole.epsilon / batches.n_passes)
        rows = batches.rows_per_step(problem.n_rows)
        query.calibrate_pure(rows, problem.n_features, share.epsilon)  # what it refuses, it refuses
        stage = Stage.of(
            share,
            "descent",
            f"the {query.name} of gradients, with Laplace noise",
            batches.n_passes,
            problem.size,
            by_place=query.by_place,
            block_map=batches.block_map,
            n_blocks=batches.n_blocks,
        )
        return Plan(
            solver=self.name,
            problem=problem,
            guarantee=guarantee,
            stages=(stage,),
            settings={
                "oracle": self.oracle.describe(),
                "step_size": self.step_size,
                "schedule": self.schedule,
            },
            assumptions=("the loss is convex", "few entries of gradients exceed the threshold"),
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Descend."""
        return self._descent.run(plan, gate)


@checked
def convex_threshold(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Threshold of full steps, ``s (n epsilon / sqrt(d))^(1/(2k-1))`` for the moment's root ``s``.

    *Reference.* The module's head.

    Examples
    --------
    >>> round(convex_threshold(n_rows=10**5, n_features=4, moment_order=2.0, epsilon=1.0), 3)
    36.84
    """
    ratio = n_rows * epsilon / math.sqrt(n_features)
    power = 1.0 / (2.0 * moment_order - 1.0)
    return moment_scale(moment_bound, moment_order) * math.pow(ratio, power)


@checked
def convex_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    diameter: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk of full steps.

    ``D (d / sqrt(n) + sqrt(d) (sqrt(d) / (n epsilon))^((k-1)/(2k-1)))``.

    *Constants.* Hidden ones, logarithms and the bound on the gradient are set to 1.

    *Reference.* The module's head; Kamath, Liu and Zhang 2022, Theorem 5.2, has the first term.

    Examples
    --------
    >>> sizes = {"n_rows": 10**6, "n_features": 4, "moment_order": 2.0}
    >>> round(convex_bound(**sizes, epsilon=1.0, diameter=2.0), 5)
    0.0584
    """
    cost = math.sqrt(n_features) / (n_rows * epsilon)
    power = (moment_order - 1.0) / (2.0 * moment_order - 1.0)
    private = math.sqrt(n_features) * math.pow(cost, power)
    scale = moment_scale(moment_bound, moment_order)
    return diameter * scale * (n_features / math.sqrt(n_rows) + private)


@checked
def strongly_convex_bound(
    *,
    n_rows: int,
    n_features: int,
    moment_order: float,
    epsilon: float,
    diameter: float,
    strong_convexity: float,
    smoothness: float,
    moment_bound: float = 1.0,
) -> float:
    """Excess risk of steps on blocks.

    ``((D + 1)^2 (a + b)^2 / (a^2 b)) (d/n + d (d / (n epsilon))^(2(k-1)/k))``.

    *Constants.* Hidden ones and logarithms are set to 1.

    *Reference.* The module's head; the shape is that of Kamath, Liu and Zhang 2022, Theorem 5.7.

    Examples
    --------
    >>> sizes = {"n_rows": 10**6, "n_features": 4, "moment_order": 2.0, "epsilon": 1.0}
    >>> shape = {"diameter": 2.0, "strong_convexity": 1.0, "smoothness": 1.0}
    >>> round(strongly_convex_bound(**sizes, **shape), 6)
    0.00072
    """
    rate = tail_power(n_features / (n_rows * epsilon), moment_order) ** 2
    shape = ((diameter + 1.0) * (1.0 + smoothness / strong_convexity)) ** 2 / smoothness
    scale = moment_scale(moment_bound, moment_order) ** 2
    return shape * scale * n_features * (1.0 / n_rows + rate)


def convex_descent(
    n_rows: int,
    n_features: int,
    guarantee: PureDP,
    *,
    moment: Moment,
    diameter: float,
    gradient_bound: float = 1.0,
) -> PureDescent:
    """Choose the threshold and the number of full steps for convex losses.

    The steps are those at which the noise of a step reaches ``gradient_bound``, at most 1000.

    *Reference.* The module's head.

    Examples
    --------
    >>> import tailguard as tg
    >>> known = {"moment": tg.Moment(2.0, 1.0), "diameter": 2.0}
    >>> convex_descent(10**6, 4, tg.PureDP(1.0), **known).n_steps
    20
    """
    facts: dict[str, Any] = {"n_rows": n_rows, "n_features": n_features}
    facts |= {"moment_order": moment.order, "moment_bound": moment.bound}
    threshold = max(gradient_bound, convex_threshold(**facts, epsilon=guarantee.epsilon))
    oracle = _clamped(threshold, n_rows, n_features)
    query = oracle.query(None, Units.raw(n_features, intercept=False))
    one = query.calibrate_pure(n_rows, n_features, guarantee.epsilon).noise_std
    root = math.sqrt(n_features)
    n_steps = whole_steps(gradient_bound / (root * one))
    reach = math.hypot(gradient_bound, root * one * n_steps)
    step_size = diameter / (reach * math.sqrt(2.0 * n_steps))
    return PureDescent(n_steps=n_steps, step_size=step_size, oracle=oracle)


def strongly_convex_descent(
    n_rows: int,
    n_features: int,
    guarantee: PureDP,
    *,
    moment: Moment,
    strong_convexity: float,
    smoothness: float,
    gradient_bound: float = 1.0,
) -> PureDescent:
    """Choose the threshold and the number of blocks for strongly convex losses.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 3.2, with the pure mean of a block.

    Examples
    --------
    >>> import tailguard as tg
    >>> known = {"moment": tg.Moment(2.0, 1.0), "strong_convexity": 1.0, "smoothness": 2.0}
    >>> strongly_convex_descent(10**6, 4, tg.PureDP(1.0), **known).schedule
    'disjoint'
    """
    known: dict[str, Any] = {"n_features": n_features, "epsilon": guarantee.epsilon}
    known |= {"moment_order": moment.order, "moment_bound": moment.bound}
    shape = {"strong_convexity": strong_convexity, "smoothness": smoothness}
    most = n_rows // (2 * math.ceil(group_count(n_features=n_features)))

    def error(n_steps: int) -> float:
        return bounds.mean_bound_pure(n_rows=n_rows // n_steps, **known)

    n_steps = settled_steps(error, maximum=max(1, most), **shape)
    block = n_rows // n_steps
    threshold = parameters.mean_threshold_pure(n_rows=block, **known)
    oracle = _clamped(max(gradient_bound, threshold), block, n_features)
    size = strongly_convex_step_size(**shape)
    return PureDescent(n_steps=n_steps, step_size=size, oracle=oracle, schedule="disjoint")


def _clamped(threshold: float, n_rows: int, n_features: int) -> Oracle:
    """Return the clamped median of means with enough groups for one point."""
    groups = whole_groups(group_count(n_features=n_features), n_rows=n_rows)
    return make_oracle("clamped", threshold=threshold, n_groups=groups)
