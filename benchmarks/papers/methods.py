"""The papers' theorems as methods, each at tight and, where that is private, at printed noise."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import tailguard as tg
from tailguard.solvers.phased.localised import Localised

PAPER, TIGHT = "paper", "tight"
# Printed constants on a repaired scale: the printed scale gives no privacy.
PUBLISHED = "published"
NO_CONVEXITY = "it must be told a strong convexity, and none is known for this task"


@dataclass(frozen=True)
class Method:
    """A theorem, how it is called for a task, and why it has no printed noise, if it has none.

    ``capped`` where the number of steps is cut to the task's most, for time; ``printed_as`` is
    what its printed noise is called.
    """

    key: str
    theorem: str
    call: Callable
    strongly: bool = False
    capped: bool = False
    unprinted: str | None = None
    printed_as: str = PAPER

    def calibrations(self):
        return (TIGHT,) if self.unprinted else (self.printed_as, TIGHT)

    def suits(self, task):
        return task.known.strong_convexity is not None or not self.strongly

    def build(self, task, epsilon, calibration=TIGHT, *, n_rows=None, n_features=None):
        """Return the theorem with its parameters, for the task or the same of another size."""
        sizes = n_rows or task.n_rows, n_features or task.n_features
        options = {"calibration": calibration, "diameter": task.known.diameter}
        if self.strongly:
            options["strong_convexity"] = task.known.strong_convexity
        theorem = self.call(task.known, *sizes, task.guarantee(epsilon), options)
        if self.capped and theorem.solver.n_steps > task.most_steps:
            options["n_steps"] = task.most_steps
            theorem = self.call(task.known, *sizes, task.guarantee(epsilon), options)
        return theorem


def _descent(theorem, *, moment="raw", smooth=False, reach=True, **more):
    """Call a theorem on descent with what it wants to know."""

    def call(known, n_rows, n_features, guarantee, options):
        told = {"moment": known.moments[moment], **options, **more}
        if smooth:
            told["smoothness"] = known.smoothness
        if reach:
            told["gradient_bound"] = known.gradient_bound
        return theorem(n_rows, n_features, guarantee, **told)

    return call


def _aggregated(known, n_rows, n_features, guarantee, options):
    """Published constants on the smooth scale: with the printed one nothing is promised (E4)."""
    proof = options["calibration"]
    smooth = _descent(tg.papers.wang2020.sample_aggregate, smooth=True, proof=proof)
    return smooth(known, n_rows, n_features, guarantee, {**options, "calibration": TIGHT})


def _stochastic(known, n_rows, n_features, guarantee, options):
    """Batches of 1000 as in the paper; its step for the whole space, here scaled to the set."""
    return tg.papers.wang2020.stochastic(
        n_rows,
        n_features,
        guarantee,
        moment=known.moments["raw"],
        gradient_bound=known.gradient_bound,
        step_size=min(1.0, known.diameter / known.gradient_bound),
        **options,
    )


def _localised(theorem, **more):
    def call(known, n_rows, n_features, guarantee, options):
        told = {"moment": known.moments["fourth"], "row_limit": known.row_limit}
        told["schedule"] = "practical"  # for either noise: what is compared is the noise
        if "growth" in more:
            told[more["growth"]] = known.growth
        return theorem(n_rows, n_features, guarantee, **told, **options)

    return call


def _growing(known, n_rows, n_features, guarantee, options):
    told = {"moment": known.moments["norm"], "smoothness": known.smoothness}
    return tg.papers.xu2025.accelerated_growth(
        n_rows, n_features, guarantee, growth=known.growth, **told, **options
    )


WANG, KAMATH, TAO = tg.papers.wang2020, tg.papers.kamath2022, tg.papers.tao2022
ZHAO, XU = tg.papers.zhao2024, tg.papers.xu2025
NOT_SMOOTH = "the printed scale is not smooth and gives no privacy (E1)"
GROUPS = "pointwise"  # for either noise: what is compared is the noise
SILENT = "the paper prints no noise for its batches (E50)"
BROKEN = "the printed noise does not keep the promise (E47)"

METHODS = (
    Method(
        "W20 sample-aggregate",
        "Wang 2020, Theorem 2",
        _aggregated,
        strongly=True,
        printed_as=PUBLISHED,
    ),
    Method(
        "W20 trimmed",
        "Wang 2020, Theorem 5",
        _descent(WANG.trimmed_strongly_convex, smooth=True),
        strongly=True,
        unprinted=NOT_SMOOTH,
    ),
    Method(
        "W20 soft, strongly convex",
        "Wang 2020, Theorem 7",
        _descent(WANG.smoothed_strongly_convex, smooth=True),
        strongly=True,
        capped=True,
    ),
    Method(
        "W20 soft",
        "Wang 2020, Theorem 8",
        _descent(WANG.smoothed_convex, smooth=True),
        capped=True,
    ),
    Method("W20 soft, batches", "Wang 2020, Section 6", _stochastic, unprinted=SILENT),
    Method(
        "K22 clamped",
        "Kamath 2022, Theorem 5.2",
        _descent(KAMATH.convex, groups=GROUPS),
        capped=True,
    ),
    Method("K22 soft", "Kamath 2022, Theorem 5.5", _descent(KAMATH.soft_convex), capped=True),
    Method(
        "K22 clamped, strongly convex",
        "Kamath 2022, Theorem 5.7",
        _descent(KAMATH.strongly_convex, smooth=True),
        strongly=True,
    ),
    Method(
        "T22 truncated", "Tao 2022, Theorem 6", _descent(TAO.convex, groups=GROUPS), capped=True
    ),
    Method(
        "T22 truncated, strongly convex",
        "Tao 2022, Theorem 7",
        _descent(TAO.strongly_convex, smooth=True),
        strongly=True,
    ),
    Method(
        "Z24 clipped",
        "Zhao 2024, Theorem 4",
        _descent(ZHAO.convex, moment="directional", smooth=True, reach=False),
        capped=True,
    ),
    Method(
        "Z24 iterative",
        "Zhao 2024, Theorem 7",
        _descent(
            ZHAO.iterative_convex, moment="directional", smooth=True, reach=False, centre="median"
        ),
        capped=True,
    ),
    Method("X25 localised", "Xu 2025, Theorem 1", _localised(XU.localised)),
    Method("X25 shrinking", "Xu 2025, Theorem 2", _localised(XU.tsybakov, growth="growth")),
    Method(
        "X25 doubling",
        "Xu 2025, Theorem 3",
        _localised(XU.unknown_growth, growth="growth_bound"),
    ),
    Method(
        "X25 accelerated",
        "Xu 2025, Theorem 6",
        _descent(XU.accelerated, moment="norm", smooth=True, reach=False),
        unprinted=BROKEN,
    ),
    Method("X25 accelerated, doubling", "Xu 2025, Theorem 7", _growing, unprinted=BROKEN),
)


@dataclass(frozen=True)
class Fit:
    """The weights that a run found, and what was said of it beforehand."""

    weights: np.ndarray
    theorem: object


def fit(task, method, calibration, epsilon, X, y, seed):
    """Run a method; the noise of a seed is the same for both calibrations, up to its scale."""
    theorem = penalised(method.build(task, epsilon, calibration), task.penalty)
    solved = tg.minimize(
        task.loss,
        X,
        y,
        guarantee=theorem.guarantee,
        constraint=task.constraint,
        solver=theorem,
        random_state=seed,
        **task.labels,
    )
    return Fit(solved.coef, theorem)


def penalised(theorem, penalty):
    """Give the penalty to solvers that have a place for one, outside of the clip.

    Others minimise the risk without it, which moves the excess by less than 1e-5.
    """
    if isinstance(theorem.solver, Localised):
        return replace(theorem, solver=replace(theorem.solver, penalty=penalty))
    return theorem
