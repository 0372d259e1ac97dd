"""Sample and aggregate: minimise on blocks of records, and release a central minimiser.

No gradient is released. Every block of records has its own minimiser. One minimiser that is near
most others is released, with noise that depends on how near they are. This costs one release.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, Algorithm 1 and Theorems 1 and 2; Nissim, Raskhodnikova and Smith
2007. The printed scale of the noise is not smooth; the query uses a smooth one.
"""

from dataclasses import dataclass

from tailguard.checks import InputError, require
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import BUDGET_MARGIN, Stage, usable_guarantee
from tailguard.privacy.arsinh import PROVED
from tailguard.privacy.events import Approximate
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.queries.block_minimiser import BlockEstimator, BlockMinimiser, no_estimate
from tailguard.queries.sample_aggregate import LAYOUTS, SampleAggregate
from tailguard.solvers.descent import check_constraint, set_of, solved_at
from tailguard.solvers.options import check_ranges


@dataclass(frozen=True, kw_only=True)
class SampleAndAggregate:
    """A central minimiser of blocks of records, for losses of one score.

    Parameters
    ----------
    n_blocks
        How many blocks; None takes as many as the noise can use, with ``least_rows`` records each.
    least_rows
        The least number of records in a block if ``n_blocks`` is None.
    diameter
        Minimisers are moved into a ball of this diameter around the start; None takes the diameter
        of the set.
    start
        A public start, one number for every coordinate.
    ridge
        Keeps the minimiser of a block unique.
    layout
        ``"disjoint"``, or the paper's ``"overlapping"`` blocks, far more of which are needed for
        the same noise. If no draw of overlapping blocks is found, the blocks are disjoint, and the
        plan says so.
    calibration
        ``"tight"``: proved constants. ``"numerical"``: less noise; certified, not proved.
        ``"published"``: the paper's constants, which waste half of the budget.

    Guarantee
    ---------
    The run costs at most the guarantee, which must be (epsilon, delta), for every input and loss.
    This is proved in real arithmetic, and certified numerically for ``"numerical"``.

    Edge cases
    ----------
    If the minimisation on a block fails, its minimiser is the start. Other guarantees are refused,
    since the cost is neither Gaussian nor concentrated.

    Reference
    ---------
    Wang, Xiao, Devadas and Xu 2020, Algorithm 1, with a smooth scale of the noise.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.Squared(), n_rows=20_000, n_features=2, constraint=tg.sets.L2Ball(2.0)
    ... )
    >>> plan = SampleAndAggregate(least_rows=50).plan(problem, tg.ApproxDP(1.0, 1e-5))
    >>> plan.settings["n_blocks"]
    400
    """

    n_blocks: int | None = None
    least_rows: int = 20
    diameter: float | None = None
    start: float = 0.0
    ridge: float = 1e-6
    layout: str = "disjoint"
    calibration: str = "tight"

    name = "sample-and-aggregate"

    def __post_init__(self) -> None:
        """Check the public numbers; the query checks its own parameters."""
        check_ranges(self, calibration=PROVED, layout=LAYOUTS)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Choose blocks and noise from public numbers."""
        require(  # checked here, since a run would fail after the budget is reserved
            problem.scored is not None and not problem.has_offset,
            f"solver {self.name!r} must be given a loss of one score, and no offset; got "
            f"{type(problem.loss).__name__}.",
        )
        check_constraint(problem, self.diameter or set_of(problem).diameter())
        promise = self.promise(guarantee, problem.size)
        query = self._query_for(problem)
        share = Approximate(promise.epsilon, promise.delta)
        public = query.calibrate_event(problem.n_rows, problem.n_features, share)
        purpose = f"{query.name}, with noise that follows the records"
        parts = {"kept": public.event, "by_place": True}
        stage = Stage.of(share, "descent", purpose, 1, public.size, **parts)
        return Plan(
            solver=self.name,
            problem=problem,
            guarantee=guarantee,
            stages=(stage,),
            settings={
                "n_blocks": int(public.facts["n_blocks"]),
                "layout": public.facts["layout"],
                "overlap": int(public.facts["overlap"]),
                "diameter": query.diameter,
                "smoothness": public.smoothness,
                "shift": public.shift,
                "calibration": self.calibration,
            },
            assumptions=(
                "most blocks have minimisers near the minimiser of the mean loss",
                "the minimiser is within half the diameter of the start",
            ),
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release the central minimiser, and project it onto the set."""
        problem, stage = plan.problem, plan.stages[0]
        minimiser = gate.ask(self._query_for(problem), None, stage)
        weights = set_of(problem).project(minimiser)
        return solved_at(plan, weights, weights[None, :])

    def query(
        self, size: int, estimator: BlockEstimator = no_estimate, diameter: float | None = None
    ) -> SampleAggregate:
        """Return the query for ``size`` weights; its public numbers do not need the estimator."""
        ball_diameter = self.diameter or diameter
        assert ball_diameter is not None  # checked by the plan
        return SampleAggregate(
            estimator,
            center=(self.start,) * size,
            diameter=ball_diameter,
            n_blocks=self.n_blocks,
            least_rows=self.least_rows,
            layout=self.layout,
            calibration=self.calibration,
        )

    def promise(self, guarantee: Guarantee, size: int) -> ApproxDP:
        """Return the guarantee that the release may spend; refuse other kinds of guarantee."""
        promise = usable_guarantee(guarantee, size)
        if not isinstance(promise, ApproxDP):
            raise InputError(
                f"guarantee must be ApproxDP for solver {self.name!r}, whose cost is neither "
                f"Gaussian, concentrated nor pure; got {guarantee!r}."
            )
        return ApproxDP(promise.epsilon * (1.0 - BUDGET_MARGIN), promise.delta)

    def _query_for(self, problem: Problem) -> SampleAggregate:
        assert problem.scored is not None
        fit = BlockMinimiser(problem.scored, problem.intercept, self.ridge)
        return self.query(problem.size, fit, set_of(problem).diameter())
