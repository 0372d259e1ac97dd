"""DP-SGD, the competitor of the papers: clipped gradients of random batches with Gaussian noise.

Batches are secret samples of fixed size, drawn anew for every step. Their cost is computed as such,
for neighbours that replace a record: a formula for Poisson samples would claim several times less
than they cost. Alternatively each pass has a new secret partition, which costs as much as a shuffle
or as disjoint blocks, whichever is less. Promises other than (epsilon, delta) need partitions. For
one pass at a large epsilon partitions need less noise.

Reference
---------
Abadi et al. 2016, Algorithm 1; Song, Chaudhuri and Sarwate 2013; Balle, Barthe and Gaboardi 2018
(sampling without replacement); Lebeda, Regehr, Kamath and Steinke 2024 (why not Poisson samples).
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from tailguard.checks import InputError, check_choice, check_integer, require
from tailguard.gate import Gate
from tailguard.gate.engine import SolverExample
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.privacy.accounting.total_cost import calibrate
from tailguard.privacy.events import Repeated, Sampled
from tailguard.privacy.guarantees import Guarantee
from tailguard.solvers.descent import DECAYS, ITERATES
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.options import check_ranges


@dataclass(frozen=True, kw_only=True)
class DpSgd:
    """Noisy clipped descent over random batches, in the user's own units; private.

    Parameters
    ----------
    clip_norm
        The bound on one record's gradient; a public number that DP-SGD is usually tuned for. None
        releases one with a tenth of the budget.
    batch_rows
        How many records a batch has.
    n_passes
        How many passes over the records; with samples, as many steps as these would take.
    step_size
        The size of the first step; step t is divided by the root of t if ``decay`` is ``"root"``.
        None takes the diameter of the set over the length of a noised gradient.
    iterate, decay, start
        As for :class:`tailguard.solvers.NoisyGradientDescent`.
    sampling
        ``"fresh"``: a new sample for every step, drawn without replacement; needs a promise of
        epsilon with a delta of at least 1e-10. ``"partition"``: a new partition into batches for
        every pass. ``"auto"``: whichever needs less noise for a record's gradient.

    Guarantee
    ---------
    The run spends exactly the plan's event, whose total is at most the guarantee, for every input
    and every loss.

    Edge cases
    ----------
    A partition has ``n_rows // batch_rows`` batches of equal size, which may be somewhat larger
    than ``batch_rows``. A pass does not use the remaining records.

    Reference
    ---------
    Abadi et al. 2016, Algorithm 1, with samples of fixed size in place of Poisson samples.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.Logistic(), n_rows=10_000, n_features=3, constraint=tg.sets.L2Ball(1.0)
    ... )
    >>> plan = DpSgd(clip_norm=1.0, batch_rows=100).plan(problem, tg.ApproxDP(1.0, 1e-5))
    >>> print(plan.stage("descent").releases)
    100 releases of fresh samples of 0.01 of all at mu = 1.091
    """

    clip_norm: float | None = None
    batch_rows: int = 100
    n_passes: int = 1
    step_size: float | None = None
    iterate: str = "average"
    decay: str = "none"
    start: float = 0.0
    sampling: str = "auto"

    name: ClassVar[str] = "dp-sgd"
    example: ClassVar[SolverExample] = SolverExample(
        shown={"clip_norm": 1.0, "batch_rows": 60, "n_passes": 3, "step_size": 1.0}
    )

    def __post_init__(self) -> None:
        """Check the public numbers."""
        words = {"iterate": ITERATES, "decay": DECAYS, "sampling": ("auto", "fresh", "partition")}
        check_ranges(self, **words)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Cut the records into batches and set their noise, from public numbers only."""
        require(
            self.batch_rows <= problem.n_rows,
            f"batch_rows must be at most n_rows = {problem.n_rows}; got {self.batch_rows}.",
        )
        planned = self._planned(problem, guarantee)
        return replace(planned, solver=self.name)

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Go through the batches."""
        fresh = plan.stage("descent").sampled is not None
        return self._descent(plan.problem, fresh=fresh).run(plan, gate)

    def _planned(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Plan the requested way of sampling, or the one that needs less noise."""
        if self.sampling == "fresh":
            return self._descent(problem, fresh=True).plan(problem, guarantee)
        parted = self._descent(problem, fresh=False)
        plan = parted.plan(problem, guarantee)
        if self.sampling == "partition":
            return plan
        try:
            fresh = self._descent(problem, fresh=True).plan(problem, guarantee)
        except InputError:  # for this promise the cost of samples is not known
            return plan
        # The noise of a batch's mean is inversely proportional to these.
        shares = (
            self.batch_rows * fresh.stage("descent").mu,
            parted.batches.rows_per_step(problem.n_rows) * plan.stage("descent").mu,
        )
        return fresh if shares[0] > shares[1] else plan

    def _descent(self, problem: Problem, *, fresh: bool) -> NoisyGradientDescent:
        n_batches = problem.n_rows // self.batch_rows
        return NoisyGradientDescent(
            n_batches * self.n_passes,
            clip_norm=self.clip_norm,
            step_size=self.step_size,
            iterate=self.iterate,
            start=self.start,
            schedule="sampled" if fresh else "shuffled",
            n_batches=None if fresh else n_batches,
            decay=self.decay,
            batch_rows=self.batch_rows if fresh else None,
        )


def sampled_noise_over_sensitivity(
    guarantee: Guarantee, *, n_rows: int, batch_rows: int, n_steps: int, scheme: str = "fixed-size"
) -> float:
    """Noise over sensitivity that DP-SGD needs with a new secret sample for every step.

    The sensitivity is that of replacing a drawn record: ``2 C`` for a sum of gradients clipped to
    ``C``. Accountants for adding or removing a record use half of it, so their numbers are not
    comparable. ``scheme`` is ``"fixed-size"``, as in ``DpSgd``, or ``"poisson"``, for comparison
    only: the gate draws no such samples.

    *Reference.* Abadi et al. 2016; Balle, Barthe and Gaboardi 2018, Theorems 2 and 11.

    Examples
    --------
    >>> import tailguard as tg
    >>> guarantee = tg.ApproxDP(1.4, 1e4**-1.1)
    >>> batches = {"n_rows": 10_000, "batch_rows": 100, "n_steps": 500}
    >>> round(sampled_noise_over_sensitivity(guarantee, **batches), 2)
    0.99
    """
    check_integer("n_rows", n_rows, minimum=1)
    check_integer("batch_rows", batch_rows, minimum=1, maximum=n_rows)
    check_integer("n_steps", n_steps, minimum=1)
    check_choice("scheme", scheme, ("fixed-size", "poisson"))
    rate = batch_rows / n_rows
    mu = calibrate(
        lambda share: Repeated(Sampled(share, rate, scheme), n_steps), guarantee, accuracy=1e-3
    )
    return 1.0 / mu
