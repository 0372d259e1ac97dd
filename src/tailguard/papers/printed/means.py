"""Private means with the noise that their papers print.

Reference
---------
Kamath, Liu and Zhang 2022; Tao, Wu, Cheng and Wang 2022; Wang, Xiao, Devadas and Xu 2020; Zhao et
al. 2024: ``means.py`` of each paper cites the printed formulas.
"""

from dataclasses import dataclass, replace
from typing import Any

from tailguard.checks import InputError, check_choice
from tailguard.estimators.mean import MeanResult, mean
from tailguard.gate.plan import Problem
from tailguard.gate.stage import Share
from tailguard.means.base import MeanFacts, MeanMethod, MeanPlan
from tailguard.means.choice import make_method, own_options
from tailguard.means.clamped import ClampedMean
from tailguard.papers.common.statement import select_sentences, sentences
from tailguard.papers.printed.terms import CALIBRATIONS, share_with_rounding
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.units import Units

UNIT = {"moment_bound": 1.0}
"""For thresholds of papers that use units in which the moment is 1, and do not print it."""


@dataclass(frozen=True)
class Printed(MeanMethod):
    """Mixin that marks a mean's plan as printed; it precedes the method among the base classes."""

    def plan(self, problem: Problem, guarantee: Guarantee) -> MeanPlan:
        """Plan with the printed noise, whatever it costs."""
        return replace(super().plan(problem, guarantee), printed=True)


@dataclass(frozen=True)
class PrintedLevel(Printed, MeanMethod):
    """Mixin for a mean that bounds records at a level, which is public in the paper."""

    def printed_spend(self, facts: MeanFacts, level: float, groups: int) -> float:
        """Return the ideal sensitivity over the printed noise: a mu, or an epsilon if Laplace."""
        raise TypeError(f"{type(self).__name__} must define printed_spend.")

    def spent(self, facts: MeanFacts, level: float = 0.0, groups: int = 1) -> Share:
        """Return the share that a release at a public level spends."""
        amount = self.printed_spend(facts, level, groups)
        return with_rounding(facts, Laplace(amount) if facts.pure else Gaussian(amount))

    def private_plan(self, facts: MeanFacts) -> MeanPlan:
        """Refuse: the papers have no private scale."""
        raise InputError(
            f"calibration='printed' needs moment= or {self.option}= with the {self.name} mean: the "
            "paper has no private scale."
        )


def with_rounding(facts: MeanFacts, share: Share) -> Share:
    """Return the cost of a mean whose noise is its ideal sensitivity over ``share``.

    Rounding costs the same for every mean of these columns, so the cost of one is computed.
    """
    query = ClampedMean(None, Units.raw(facts.n_features, intercept=False), 1.0, n_groups=1)
    roundings = facts.problem.max_rows or 1
    return share_with_rounding(query, facts.n_rows, facts.n_features, share, roundings)


def mean_of_paper(
    X: Any, name: str, printed: type[MeanMethod], *, calibration: str, **options: Any
) -> MeanResult:
    """Estimate means by a method of ``tg.mean``, with its own noise or the printed one."""
    check_choice("calibration", calibration, CALIBRATIONS)
    own = {each: options.pop(each) for each in own_options(name) if each in options}
    method = printed(**own) if calibration == "printed" else make_method(name, **own)
    result = mean(X, method=method, **options)
    paper, plan = printed.__module__.split(".")[2], result.choice.plan
    lines = select_sentences(sentences("means")[f"{paper}.{name}_mean"], (calibration,), {})
    remarks = (*plan.remarks, *(f"differs from the paper: {line}" for line in lines))
    return replace(result, choice=replace(result.choice, plan=replace(plan, remarks=remarks)))
