"""DP-SGD, the competitor of the papers: clipped gradients of random batches with Gaussian noise.

Batches here are those of secret random partitions, a fresh one for every pass, which the gate can
draw and forget. They are priced as a shuffle or as disjoint blocks, whichever costs less. What
batches that are drawn afresh for every step would need is :func:`sampled_noise_over_sensitivity`.

Reference
---------
Abadi et al. 2016, Algorithm 1; Song, Chaudhuri and Sarwate 2013.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from tailguard.checks import check_choice, check_integer, check_positive
from tailguard.gate import Gate
from tailguard.privacy.events import Repeated, Sampled
from tailguard.privacy.guarantees import Guarantee
from tailguard.privacy.solve import calibrate
from tailguard.solvers.base import Plan, Problem, Solution, require
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent

__all__ = ["DpSgd", "sampled_noise_over_sensitivity"]


@dataclass(frozen=True, kw_only=True)
class DpSgd:
    """Noisy clipped descent over random batches, in the user's own units; private.

    Parameters
    ----------
    clip_norm
        The bound on one record's gradient; a public number that DP-SGD is usually tuned for. None
        buys one with a tenth of the budget.
    batch_rows
        How many records a batch has.
    n_passes
        How often the records are gone through, each time in batches of a fresh partition.
    step_size
        The first step; steps shrink with the root of their number if ``decay`` is ``"root"``. None
        takes the diameter of the set over the length of a noised gradient.
    iterate, decay, start
        As for :class:`tailguard.solvers.NoisyGradientDescent`.

    Guarantee
    ---------
    The run spends exactly the plan's event, whose total is at most the guarantee, for every input
    and every loss.

    Edge cases
    ----------
    Records that batches of equal size leave over are not used in that pass.

    Reference
    ---------
    Abadi et al. 2016, Algorithm 1, with a partition in the place of Poisson samples.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.Logistic(), n_rows=10_000, n_features=3, constraint=tg.sets.L2Ball(1.0)
    ... )
    >>> plan = DpSgd(clip_norm=1.0, batch_rows=100).plan(problem, tg.ApproxDP(1.0, 1e-5))
    >>> plan.stage("descent").n_blocks
    100
    """

    clip_norm: float | None = None
    batch_rows: int = 100
    n_passes: int = 1
    step_size: float | None = None
    iterate: str = "average"
    decay: str = "none"
    start: float = 0.0

    name: ClassVar[str] = "dp-sgd"

    def __post_init__(self) -> None:
        """Check the public numbers; what concerns the descent it checks itself."""
        if self.clip_norm is not None:
            check_positive("clip_norm", self.clip_norm)
        check_integer("batch_rows", self.batch_rows, minimum=1)
        check_integer("n_passes", self.n_passes, minimum=1)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Cut the records into batches and set their noise; numbers only."""
        require(
            self.batch_rows <= problem.n_rows,
            f"batch_rows must be at most n_rows = {problem.n_rows}; got {self.batch_rows}.",
        )
        planned = self._descent(problem).plan(problem, guarantee)
        return replace(planned, solver=self.name)

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Go through the batches."""
        return self._descent(plan.problem).run(plan, gate)

    def _descent(self, problem: Problem) -> NoisyGradientDescent:
        n_batches = problem.n_rows // self.batch_rows
        return NoisyGradientDescent(
            n_batches * self.n_passes,
            clip_norm=self.clip_norm,
            step_size=self.step_size,
            iterate=self.iterate,
            start=self.start,
            schedule="shuffled",
            n_batches=n_batches,
            decay=self.decay,
        )


def sampled_noise_over_sensitivity(
    guarantee: Guarantee,
    *,
    n_rows: int,
    batch_rows: int,
    n_steps: int,
    scheme: str = "fixed-size",
) -> float:
    """Noise that DP-SGD needs with a fresh secret sample for every step, over the sensitivity.

    The sensitivity is the one of replacing a record that was drawn: ``2 C`` for a sum of gradients
    clipped to ``C``. Accountants for adding or removing a record state half of it, and are not to
    be compared. ``scheme`` is ``"fixed-size"`` or ``"poisson"``. For comparison: the gate draws no
    such samples.

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
