"""Sample and aggregate: minimise on blocks of records, and release a central one of the minimisers.

No gradient is released: every block of records has a minimiser of its own, and one of these, near
to most of the others, leaves with noise that follows how near they are. It costs one release.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, Algorithm 1 and Theorems 1 and 2; Nissim, Raskhodnikova and Smith
2007. What the paper prints for the scale of the noise is not smooth: the query has what is.
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
        How many blocks; None takes as many as the noise can use, of ``least_rows`` each.
    least_rows
        How many records a block has at least, where ``n_blocks`` is None.
    diameter
        Minimisers are moved into a ball of this diameter around the start; None takes that of the
        set.
    start
        A public start, one number for every coordinate.
    ridge
        Keeps the minimiser of a block unique.
    layout
        ``"disjoint"``, or the paper's ``"overlapping"`` blocks, of which noise needs far more;
        where no draw of these is found they are disjoint, and the plan says so.
    calibration
        ``"tight"``: proved constants. ``"numerical"``: less noise; certified, not proved.
        ``"published"``: the paper's constants, which waste half of the budget.

    Guarantee
    ---------
    The run costs at most the guarantee, which must be (epsilon, delta), for every input and loss.
    That is proved in real arithmetic, and certified numerically for ``"numerical"``.

    Edge cases
    ----------
    A minimisation that fails gives the start for its block. Other guarantees are refused: the cost
    is neither Gaussian nor concentrated.

    Reference
    ---------
    Wang, Xiao, Devadas and Xu 2020, Algorithm 1; the noise is on a scale that is smooth.

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
        """Check the public numbers; what concerns the query it checks itself."""
        check_ranges(self, calibration=PROVED, layout=LAYOUTS)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Choose blocks and noise; numbers only."""
        require(  # what could only fail after the budget is reserved
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
        kept = {"kept": public.event, "by_place": True}
        stage = Stage.of(share, "descent", purpose, 1, public.size, **kept)
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
        """Ask for the central minimiser, and put it into the set."""
        problem, stage = plan.problem, plan.stages[0]
        found = gate.ask(self._query_for(problem), None, stage)
        weights = set_of(problem).project(found)
        return solved_at(plan, weights, weights[None, :])

    def query(
        self, size: int, estimator: BlockEstimator = no_estimate, diameter: float | None = None
    ) -> SampleAggregate:
        """Return the query for ``size`` weights; its public numbers do not need the estimator."""
        reach = self.diameter or diameter
        assert reach is not None  # plans see to it
        return SampleAggregate(
            estimator,
            center=(self.start,) * size,
            diameter=reach,
            n_blocks=self.n_blocks,
            least_rows=self.least_rows,
            layout=self.layout,
            calibration=self.calibration,
        )

    def promise(self, guarantee: Guarantee, size: int) -> ApproxDP:
        """Return what the release may spend, or refuse a guarantee of another kind."""
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
