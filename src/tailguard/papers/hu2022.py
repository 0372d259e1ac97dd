"""Frank-Wolfe on the l1 ball for heavy-tailed gradients, after Hu, Ni, Xiao and Wang (2022).

A step goes from the weights towards the vertex ``r sign(-g_j) e_j`` of the ball with the steepest
descent for the mean gradient ``g``. The choice of the vertex is private, so noise grows only with
the logarithm of the number of columns. Each step adds at most one nonzero weight.

*Published.* For a smooth loss whose gradient has a bounded second moment in every coordinate, an
epsilon-DP algorithm over a polytope has an excess risk of ``log(d) / (n epsilon)^(1/3)``, up to
logarithms of n. Only this statement was available. The algorithm, its constants and the bound below
are ours, and have the same rate; the paper's LASSO and its sparse methods are not implemented.

*Needed for privacy.* Nothing of the data. A step releases the largest entry of the mean gradient;
an entry of a record counts as zero beyond ``threshold``. Replacing any record moves every entry by
at most ``2 threshold / m`` for m records. :mod:`tailguard.queries.peeling` proves the cost of
choosing an entry by noise and of noising it; there is no other query. Vertices, weights and signs
follow from released numbers. Blocks are disjoint: each has the whole budget.

*Needed for accuracy.* A convex loss whose mean is smooth: its gradient moves by at most
``smoothness |w - u|_1`` in every coordinate. Raw second moments ``v`` of every coordinate of the
gradient at every point of the ball.

*Other polytopes.* The hull of ``v_1`` to ``v_m`` and their opposites is the l1 ball of ``u`` for
weights ``V'u``: run this on the columns ``X V'``, whose scores at u are those of X at ``V'u``.

*Derivation*, for T blocks of m records, noise of scale b and ``L = log(6 d T / beta)``. Weights do
not depend on the next block. So with a probability of at least ``1 - beta`` this holds at every
step: truncated means err by at most ``v / tau + sqrt(2 v L / m) + 2 tau L / (3 m)`` in every
coordinate (Markov's and Bernstein's inequalities); the chosen entry is at most ``2 b L`` below the
largest; and its noise, which can flip its sign, is at most ``b L``. A vertex is then worse than the
best one by at most ``x = 2 r (v / tau + sqrt(2 v L / m) + 2 tau L / (3 m) + 2 b L)``. With steps of
``2 / (t + 2)`` and a curvature of ``C = 4 smoothness r^2``, induction over the steps gives an
excess of ``2 C / (T + 2) + x``.

Reference
---------
Hu, Ni, Xiao and Wang 2022 (the setting and the rate); Talwar, Thakurta and Zhang 2015 (private
Frank-Wolfe); Jaggi 2013, Theorem 1 (its induction); McSherry 2009, Theorem 4 (disjoint blocks).
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tailguard.checks import check_open_unit, check_positive, require
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import usable_guarantee
from tailguard.means.formulas import FAILURE_PROBABILITY, checked
from tailguard.moments import Moment, check_moment
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.units import Units
from tailguard.solvers.descent import Batches, set_of, solved_at
from tailguard.solvers.hard_thresholding import best_form, peeling_stage

MOST_STEPS = 1000  # as for the theorems of the papers
# The step size of the query, in radii over thresholds. The query releases an entry of
# ``w - step_size * g``. With this size, w moves the entry of g by at most ``2**-60`` thresholds.
LONG = 2.0**60


@dataclass(frozen=True, kw_only=True)
class FrankWolfe:
    """Frank-Wolfe on ``tg.sets.L1Ball``, with a privately chosen vertex at every step.

    Parameters
    ----------
    n_steps
        The number of steps; each reads its own block of records.
    threshold
        Larger entries of a record's gradient count as zero.

    Guarantee
    ---------
    The run spends exactly the plan's event, whose total is at most the guarantee, for every input
    and every loss of one score.

    Edge cases
    ----------
    An intercept is refused: it would be a weight of the ball. Void records count as zero.

    Reference
    ---------
    Hu, Ni, Xiao and Wang 2022; Talwar, Thakurta and Zhang 2015.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.Huber(1.0), n_rows=20_000, n_features=500, constraint=tg.sets.L1Ball(1.0)
    ... )
    >>> plan = FrankWolfe(n_steps=10, threshold=5.0).plan(problem, tg.PureDP(1.0))
    >>> plan.stages[0].n_blocks, plan.settings["noise"]
    (10, 'peeled-laplace')
    """

    n_steps: int
    threshold: float

    name: ClassVar[str] = "frank-wolfe"

    def __post_init__(self) -> None:
        """Check the public numbers."""
        check_positive("threshold", self.threshold)
        _ = self._batches  # refuses an invalid number of steps

    @property
    def _batches(self) -> Batches:
        return Batches("disjoint", self.n_steps)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Choose the noise of a vertex from public numbers only."""
        query, batches = self._query(problem), self._batches
        rows = batches.rows_per_step(problem.n_rows)
        promise = usable_guarantee(guarantee, self.n_steps * problem.size)
        counts = query.n_selected, query.n_free
        form, ratio = best_form(promise, (), *counts)
        stage = peeling_stage(form, ratio, *counts, n_blocks=self.n_steps, size=problem.size)
        stage = replace(stage, block_map=batches.block_map)
        # A stage with a share skips this check that the lattice has room for the noise.
        replace(stage, share=None).check(problem.n_rows, guarantee)
        return Plan(
            solver=self.name,
            problem=problem,
            guarantee=guarantee,
            stages=(stage,),
            settings={
                "radius": _radius(problem),
                "threshold": self.threshold,
                "noise": form,
                "noise_scale": 2.0 * self.threshold / (rows * ratio),
            },
            assumptions=("the loss is convex", "few entries of gradients exceed the threshold"),
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Move towards the vertex of each step t by ``2 / (t + 2)``."""
        problem, stage = plan.problem, plan.stages[0]
        query, radius = self._query(problem), _radius(problem)
        points = np.zeros((self.n_steps + 1, problem.size))
        for step, block in enumerate(self._batches.blocks(stage, gate)):
            released = gate.ask(query, points[step], stage, block=block)
            vertex, chosen = np.zeros(problem.size), int(np.argmax(np.abs(released)))
            vertex[chosen] = math.copysign(radius, released[chosen])
            points[step + 1] = points[step] + 2.0 / (step + 2.0) * (vertex - points[step])
        return solved_at(plan, set_of(problem).project(points[-1]), points[1:])

    def _query(self, problem: Problem) -> PeeledStep:
        """Return the query for the largest entry of a step; refuse unsupported problems."""
        require(problem.scored is not None, f"solver {self.name!r} needs a loss of one score.")
        require(
            not problem.intercept,
            f"intercept must be False for solver {self.name!r}: it would count as a weight of the "
            "ball; centre the columns, or add one of ones.",
        )
        units = Units.raw(problem.n_features, intercept=False)
        length = LONG * _radius(problem) / self.threshold
        return PeeledStep(problem.scored, units, self.threshold, length, n_nonzero=1)


def _radius(problem: Problem) -> float:
    """Return the radius of the l1 ball, or refuse another set."""
    ball: Any = problem.constraint
    is_l1_ball = getattr(ball, "name", None) == "l1_ball"
    require(is_l1_ball, f"constraint must be a tg.sets.L1Ball for Frank-Wolfe; got {ball!r}.")
    return float(ball.radius)


@checked
def excess_bound(
    *,
    n_rows: int,
    n_features: int,
    n_steps: int,
    threshold: float,
    noise_scale: float,
    diameter: float,
    smoothness: float,
    moment_bound: float,
    failure_probability: float = FAILURE_PROBABILITY,
) -> float:
    """Excess risk of Frank-Wolfe on blocks, with all constants, up to the failure probability.

    ``2 D^2 s / (T + 2) + D (v / tau + sqrt(2 v L / m) + 2 tau L / (3 m) + 2 b L)`` for the l1
    diameter ``D`` of the ball, twice its radius. ``noise_scale`` is that of a choice.

    *Reference.* The module's derivation.

    Examples
    --------
    >>> sizes = {"n_rows": 10**6, "n_features": 1000, "n_steps": 10, "threshold": 40.0}
    >>> risk = {"diameter": 2.0, "smoothness": 1.0, "moment_bound": 1.0}
    >>> round(excess_bound(**sizes, noise_scale=2.4e-3, **risk), 3)
    0.884
    """
    block = n_rows // n_steps
    nats = math.log(6.0 * n_features * n_steps / failure_probability)
    sampling = math.sqrt(2.0 * moment_bound * nats / block) + 2.0 * threshold * nats / (3.0 * block)
    error = moment_bound / threshold + sampling + 2.0 * noise_scale * nats
    return 2.0 * diameter**2 * smoothness / (n_steps + 2.0) + diameter * error


def frank_wolfe(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    radius: float,
    smoothness: float,
    failure_probability: float = FAILURE_PROBABILITY,
) -> FrankWolfe:
    """Choose the steps and the threshold of least :func:`excess_bound`.

    ``smoothness`` is that of a coordinate of the gradient over the l1 distance: for the squared
    loss the largest mean square of a column. The number of steps is at most 1000 and half the
    records.

    *Reference.* The module's derivation.

    Examples
    --------
    >>> import tailguard as tg
    >>> options = {"moment": tg.Moment(2.0, 1.0, kind="raw"), "radius": 1.0, "smoothness": 1.0}
    >>> solver = frank_wolfe(10**6, 1000, tg.PureDP(1.0), **options)
    >>> solver.n_steps, round(solver.threshold, 1)
    (35, 12.4)
    """
    raw = check_moment("moment", moment).convert("raw", n_features=n_features).at_order(2.0)
    check_open_unit("failure_probability", failure_probability)
    check_positive("radius", radius)
    facts: dict[str, Any] = {"n_rows": n_rows, "n_features": n_features, "smoothness": smoothness}
    facts |= {"moment_bound": raw.bound, "diameter": 2.0 * radius}
    facts["failure_probability"] = failure_probability
    counts = (1, 0) if n_features > 1 else (0, 1)  # entries chosen, and released without a choice
    _, ratio = best_form(guarantee, (), *counts)

    def bound_with(n_steps: int) -> tuple[float, int, float]:
        block = n_rows // n_steps
        nats = math.log(6.0 * n_features * n_steps / failure_probability)
        threshold = math.sqrt(raw.bound * block / (nats * (2.0 / 3.0 + 4.0 / ratio)))
        scale = 2.0 * threshold / (block * ratio)
        noise: dict[str, Any] = {"threshold": threshold, "noise_scale": scale}
        return excess_bound(**facts, **noise, n_steps=n_steps), n_steps, threshold

    most = min(MOST_STEPS, max(1, n_rows // 2))
    _, n_steps, threshold = min(bound_with(count) for count in range(1, most + 1))
    return FrankWolfe(n_steps=n_steps, threshold=threshold)
