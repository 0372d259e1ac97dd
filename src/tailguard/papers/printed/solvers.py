"""Solvers of ``tailguard.solvers`` with the noise that a paper prints for them.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, Algorithms 1 and 3; Tao, Wu, Cheng and Wang 2022, Algorithm 4; Zhao
and others 2024, Algorithm 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import Stage
from tailguard.losses.base import Loss
from tailguard.means.base import amount_of
from tailguard.papers.printed.queries import PrintedSampleAggregate, PrintedTrimmedMean
from tailguard.papers.printed.terms import printed_in, share_with_rounding
from tailguard.privacy.calibration import share_factor
from tailguard.privacy.events import Laplace
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.block_minimiser import BlockEstimator, no_estimate
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.units import Units
from tailguard.solvers.descent import set_of, solved_at
from tailguard.solvers.hard_thresholding import HardThresholding
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle
from tailguard.solvers.sample_and_aggregate import SampleAndAggregate


@dataclass(frozen=True)
class PrintedTrimmedOracle(Oracle):
    """The oracle of Wang and others, Algorithm 3, with the printed scale."""

    def query(self, loss: Loss | None, units: Units) -> Any:
        """Return the query for gradients of ``loss`` of records read in ``units``."""
        return PrintedTrimmedMean(loss, units, **self.parameters)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class PrintedSampleAndAggregate(SampleAndAggregate):
    """Sample and aggregate with the printed scale, and overlapping blocks if a draw succeeds."""

    layout: str = "overlapping"
    calibration: str = "published"  # the printed constants

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Choose blocks and noise from public numbers only."""
        plan = super().plan(problem, guarantee)
        return replace(plan, settings={**plan.settings, "calibration": "printed"}, printed=True)

    def query(
        self, size: int, estimator: BlockEstimator = no_estimate, diameter: float | None = None
    ) -> PrintedSampleAggregate:
        """Return the query for ``size`` weights."""
        proved = super().query(size, estimator, diameter)
        return PrintedSampleAggregate(**vars(proved))


@dataclass(frozen=True)
class FromTheStart(NoisyGradientDescent):
    """Descent that averages the points of its gradients: the start and all points but the last."""

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Average again; this reads only released points."""
        points = super().run(plan, gate).trace
        start = set_of(plan.problem).project(np.full(plan.problem.size, self.start))
        return solved_at(plan, np.vstack([start, points[:-1]]).mean(axis=0), points)


@dataclass(frozen=True)
class PrintedHardThresholding(HardThresholding):
    """Hard thresholding with Laplace noise of ``4 sqrt(2 s log(1/delta)) / epsilon``.

    Attributes
    ----------
    asked
        The guarantee as its user states it. ``form`` gets less: plans first subtract what imperfect
        samplers cost.
    """

    asked: Guarantee | None = None
    choice_share: float = 0.0  # the paper compares no fits

    def form(
        self, promise: Guarantee, earlier: Sequence[Stage], n_selected: int, n_free: int
    ) -> tuple[str, float]:
        """Return the paper's form, and its ratio with the rounding of an entry."""
        form, ratio = printed_form(self.asked or promise, n_selected, n_free)
        step = PeeledStep(None, Units.raw(2, intercept=False), 1.0, 1.0, 1)
        share = share_with_rounding(step, 1, 2, Laplace(ratio * share_factor(form, 1)))
        return form, amount_of(share) / share_factor(form, 1)


def printed_form(guarantee: Guarantee, n_selected: int, n_free: int) -> tuple[str, float]:
    """Return the paper's form and its ratio: Laplace of ``4 sqrt(2 s log(1/delta)) / epsilon``.

    *Guarantee.* The noise exceeds what the guarantee needs: about 0.57 of epsilon is spent.

    *Reference.* Tao, Wu, Cheng and Wang 2022, Algorithm 4; valid for any delta up to 1/2.
    """
    terms = printed_in(guarantee)
    nats = -(n_selected + n_free) * math.log(terms.delta)
    return "peeled-laplace", terms.epsilon / (4.0 * math.sqrt(2.0 * nats))
