"""The allocation of the budget to stages, from public numbers alone.

``REGIMES`` chooses all shares except those of rounds and of the units of columns. Each regime
states the losses and budgets for which it overrides earlier regimes, and why. Shares were chosen by
trial on the training family and on former evaluation families of ``benchmarks/accuracy``; its
laboratory tasks were seen as well. They are not proved to be optimal. ``docs/accuracy.md`` states
their accuracy on tasks on which they were not chosen.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023: any shares keep the guarantee.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tailguard.gate.plan import Problem
from tailguard.queries.view import LARGEST_FEATURE
from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.scaling.sizes_and_locations import SIZE_WINDOW
from tailguard.solvers.newton.schedule import Shares, feature_bound


@dataclass(frozen=True)
class Regime:
    """Shares for some losses, if ``n * mu`` lies within limits.

    Attributes
    ----------
    losses
        Words of ``_facts`` that must all be true of the problem.
    shares
        The fields of ``Shares`` that the regime sets; ``correction`` is a part of what they leave.
    below, above
        Limits of ``n * mu``, as multiples of the sizes of ``_sizes``. All must hold.
    """

    losses: str
    shares: Mapping[str, Any]
    below: Mapping[str, float] = field(default_factory=dict)
    above: Mapping[str, float] = field(default_factory=dict)

    def holds(self, facts: set[str], budget: float, sizes: Mapping[str, float]) -> bool:
        """Whether the regime applies to these facts at this ``budget = n * mu``."""
        return (
            facts >= {*self.losses.split()}
            and all(budget < limit * sizes[name] for name, limit in self.below.items())
            and all(budget >= limit * sizes[name] for name, limit in self.above.items())
        )


def _sizes(problem: Problem) -> dict[str, float]:
    """Return the sizes by which limits of ``n * mu`` are multiplied."""
    size, height = problem.size, problem.n_features + 2  # height: features, constant and target
    return {"fixed": 1.0, "size": size, "size**1.5": size**1.5, "height**1.5": height**1.5}


# Below this n * mu a histogram with .3 % of mu**2 shows only noise: its own n * mu is about 20.
FEW = 350.0
# Below this n * mu a fit may be mostly noise, and noise hides the effect of bounds on features.
MOSTLY_NOISE = 500.0
# To pay for a correction, likelihoods give up their last phase and part of the histograms.
BEFORE_CORRECTION: dict[str, Any] = {
    "curvature": 0.03, "second_moments": 0.04, "whitened_row_norms": 0.02,
    "rounds": (4, 4, 8), "diagnostic_phases": (0, 2), "curvature_phases": (2,),
}  # fmt: skip
# Later regimes override earlier ones. Names are for readers and tests.
REGIMES = {
    # Clipping bias is corrected later, so rounds clip low and skip one of their histograms.
    "conditional mean": Regime("residual corrected", {
        "second_moments": 0.06, "slopes": 0.06, "debiasing": 0.12, "diagnostic_phases": (0, 2, 3),
    }),
    # Clipping bias is kept, or slopes are bounded anyway.
    "kept bias": Regime("residual kept", {"debiasing": 0.0}),
    # Curvature varies and is released; the constant gives its first value.
    "likelihood": Regime("likelihood", {
        "constant": 0.01, "second_moments": 0.06, "whitened_row_norms": 0.04, "slopes": 0.0,
        "curvature": 0.09, "debiasing": 0.0, "diagnostic_phases": (0, 2), "curvature_phases": (2,),
    }),
    # There is one histogram of residuals, with a larger share.
    "few records": Regime("residual", {
        "row_norms": 0.03, "whitened_row_norms": 0.05, "slopes": 0.1, "diagnostic_phases": (0,),
    }, below={"fixed": FEW}),
    # Rounds on a sample only have to come close to the fit. So the last four or six rounds, which
    # read all records, get nearly all of the budget.
    "sample": Regime("residual sampled", {"rounds": (4, 4, 8, 6), "early": 3}),
    # Slopes of counts are unbounded: they are clipped, and the bias is corrected.
    "log link": Regime("log", {"slopes": 0.04, "debiasing": 0.06}),
    # Second moments show only the strongest directions: they serve whitening alone, and nothing is
    # debiased. A likelihood's curvature is weighted, so it has more noise (training family: T41,
    # T19, T23, T47).
    "whitening only": Regime("residual", {
        "debiasing": 0.0,
    }, below={"height**1.5": 4.2}),
    "whitening only of a likelihood": Regime("likelihood", {
        "curvature": 0.0, "debiasing": 0.0, "curvature_phases": (),
    }, below={"height**1.5": 16.0}),
    # Clipping of skewed counts biases the constant most, and one number is cheap to correct.
    "constant of counts": Regime("log", {"debiasing": 0.06},
                                 above={"fixed": FEW}, below={"height**1.5": 16.0}),
    # Predicted counts should add up to the total; slopes of others should average zero.
    "total of counts": Regime("log", {"total": 0.05}, above={"fixed": FEW}),
    # The fit is compared with its constant.
    "choice of fit": Regime("", {"fit_choice": 0.05},
                            below={"fixed": MOSTLY_NOISE}),
    # With more budget, bounds of features are chosen anew, if there are any.
    "choice of bounds": Regime("within-bounds", {"bound_choice": 0.03},
                               above={"fixed": MOSTLY_NOISE}),
    # With fewer records outcomes lose by a larger correction: with .7 .141 of the constant's excess
    # in the mean of 20 real tables at epsilon 1, with .4 .106 (docs/trials.md).
    "correction of outcomes": Regime("outcomes", {
        "correction": 0.4, **BEFORE_CORRECTION,
    }, above={"fixed": 1000.0, "size**1.5": 13.0}),
    # If curvature stands out clearly, a correction replaces the last phase. Exposures and weights
    # need it most (benchmarks/bench_exposures.py).
    "correction of a likelihood": Regime("likelihood", {
        "correction": 0.7, "debiasing": 0.0, **BEFORE_CORRECTION,
    }, above={"fixed": 2000.0, "size**1.5": 40.0}),
    # Counts are corrected with fewer records than other likelihoods, but not with exposures or
    # weights: fits at epsilon 1 lost .15 in the mean in place of .09 (simulated, exposures of up to
    # a year, 5,000 to 100,000 records).
    # Debiasing stays, since rounds need it if events are rare (mean excess with
    # 93 % zeros at n * mu of 1,800: .53 with it, .88 without; tests/solvers/newton/
    # test_wild_fits.py).
    "correction of counts": Regime("counts alike", {
        "correction": 0.7, **BEFORE_CORRECTION,
    }, above={"fixed": 1000.0, "size**1.5": 13.0}),
    # Curvatures read all records too: after three rounds with curvatures of the sample, fits with
    # rare indicators had not settled (simulated, 4e5 records of 20 columns).
    "sample of a likelihood": Regime("likelihood sampled", {
        "rounds": (2, 2, 4), "diagnostic_phases": (0, 2), "curvature_phases": (2,), "early": 2,
    }),
    # Second moments of contributions have to be at least about as large as their noise.
    # Rounds only have to come close to the fit, and each is a pass over the records. Half as many
    # rounds lose nothing (docs/trials.md). With a sample there are as many last rounds as without:
    # with six last rounds 3 of 60 fits (simulated, 2e5 records of 10 columns) ended 2.3 to 2.7
    # times their stated noise from the best fit.
    "correction": Regime("settled corrected", {
        "correction": 0.6, "debiasing": 0.04, "rounds": (4, 4, 8, 16),
    }, above={"fixed": 2000.0, "size**1.5": 9.0}),
    # Bounded slopes of residuals need no correction for predictions, but for intervals. More would
    # make predictions of quantiles worse, and less makes intervals of medians wider (12 real
    # tables).
    "correction of bounded slopes": Regime("settled bounded", {
        "correction": 0.4,
    }, above={"fixed": 2000.0, "size**1.5": 9.0}),
    # With many records rounds come close to the fit with little budget, and intervals are shorter
    # the more is left to the correction. With fewer, noisier rounds lose up to two thirds
    # more (former families). Rare outcomes and counts need their rounds (docs/trials.md).
    "correction with many records": Regime("amounts", {
        "correction": 0.9,
    }, above={"fixed": 2000.0, "size**1.5": 320.0}),
}  # fmt: skip
# A unit of n * mu and the largest number of rounds, for residuals and for likelihoods. There are
# 8 * (n * mu / (unit * size))**2 rounds, and at least 8. Many cheap rounds come nearer to the
# optimum than a few costly ones, above all if noise hides directions and steps are short. Their
# average has the same noise, unless noise makes some of them diverge.
ROUNDS, ROUNDS_OF_LIKELIHOOD = (2.5, 64), (7.0, 24)
# If there are at least twice this many records, stages that only steer read a random sample: a
# tenth of the records, or this many if that is more. The n * mu of the sample must be above the
# limits in SAMPLE_SUFFICES. A person counts as max_rows records, and at most as the second number,
# since rare columns need many persons.
SMALLEST_SAMPLE, MOST_ROWS_COUNTED = 100_000, 10
SAMPLE_SUFFICES = {"size**1.5": 40.0, "fixed": 3000.0}
SAMPLE_FOR_EVENTS = 0.3  # if events are rare, a sample counts as its events divided by this
# Slopes are balanced if n * mu**2 is below this many times size: then noise costs more than the
# bias of balanced slopes. From 40 on, balancing is better or worse by task: F15, F01 and F09 gain,
# T2 and T4 (another link, long tails) lose.
BALANCED_BELOW = 80.0
# The precision of a likelihood's first constant, n times the mu of its stage; its largest share.
CONSTANT_SIGNIFICANCE, LARGEST_CONSTANT = 40.0, 0.2
# With few columns and skewed residuals, the noise of rounds is the smallest error. So the share of
# debiasing is the first number divided by the number of coefficients. It is at most the second
# number, and leaves at least that much to the rounds.
DEBIASING_FACTOR, LARGEST_DEBIASING = 4.0, 0.3
# A typical column should exceed the threshold of detection by this factor.
SIZE_MARGIN = 1.3
# For each histogram of columns: its share, as a multiple of the share at which columns stand out,
# and its largest share.
DETECTING = {
    # Without it only a constant is fitted. With a factor of 5, one of ten fits of 900 real records
    # at epsilon 1 missed the target's location: its scale and noise were six times too large.
    "target": (10.0, 0.16),
    "target of a log link": (10.0, 0.08),  # its constant takes up to .2
    "levels": (30.0, 0.12),  # a level of a fourteenth of the records, by trial
    # If columns are many, detecting all of them costs too much.
    "size": (1.0, 0.12), "size_retry": (1.0, 0.2), "shared_size": (1.0, 0.05),
    # There are half as many pairs as records. If differences would need more than the largest
    # share, they get the default share, and serve the few columns whose centres stay coarse.
    "pair_differences": (8.0, 0.12),
    # Locations have fewer windows than sizes; likelihoods have more budget left for them.
    "location": (0.6, 0.12), "location of likelihoods": (1.5, 0.12),
}  # fmt: skip
# The least share of a second release of sizes; the share left to rounds by it and by locations.
LEAST_RETRY, LEAST_ROUNDS = 0.015, 0.2
LEAST_LEVELS = 0.02  # the least share of counts of levels: the default share of a target
ROUNDING = 1e-9  # smaller remainders are rounding errors, which depend on the version of Python


def shares_for(problem: Problem, mu: float, *, robust: bool = False) -> Shares:
    """Choose shares by the loss and the budget."""
    budget, sample = problem.n_rows * mu, _sample_for(problem, mu)
    few = budget < MOSTLY_NOISE
    unit, most = ROUNDS if problem.link.residual else ROUNDS_OF_LIKELIHOOD
    shares = Shares(
        rounds=rounds_for(problem.size, budget, unit, most),
        sample=sample,
        bound=feature_bound(problem, few=few),
    )
    facts = _facts(problem, robust=robust, sampled=sample > 0)
    facts |= {"within-bounds"} if shares.bound < LARGEST_FEATURE else set()
    chosen: dict[str, Any] = {}
    sizes = _sizes(problem)
    for regime in REGIMES.values():
        if regime.holds(facts, budget, sizes):
            chosen |= regime.shares
    if "outcomes" in facts:
        chosen["balanced"] = problem.n_rows * mu**2 < BALANCED_BELOW * problem.size
    if "likelihood" in facts:
        constant = max((CONSTANT_SIGNIFICANCE / budget) ** 2, chosen.get("constant", 0.0))
        chosen["constant"] = min(constant, LARGEST_CONSTANT)
    # The correction takes a part of what is left to rounds, and nothing from the units.
    part = chosen.pop("correction", 0.0)
    shares = _with_units(replace(shares, **chosen), problem, mu)
    shares = replace(shares, correction=part * shares.rest(problem))
    return _with_debiasing(shares, problem, budget)


def corrected_from(problem: Problem, *, robust: bool) -> float:
    """Return the ``n * mu`` from which the correction by contributions runs; infinity if never."""
    facts, sizes = _facts(problem, robust=robust, sampled=False), _sizes(problem)
    least = math.inf
    for regime in REGIMES.values():
        if "correction" in regime.shares and facts >= {*regime.losses.split()}:
            least = min(least, max(limit * sizes[name] for name, limit in regime.above.items()))
    return least


def _facts(problem: Problem, *, robust: bool, sampled: bool) -> set[str]:
    """Return the words, as used in ``Regime.losses``, that are true of the loss and the plan."""
    link = problem.link
    bounded = problem.scored is not None and problem.scored.bounds_slopes
    settled = link.residual and settles(problem, robust=robust)
    counts = link.log and problem.scored is not None and problem.scored.canonical
    facts = {
        "residual": link.residual,
        "bounded": bounded,
        "settled": settled,
        "corrected": not robust and not bounded,
        "kept": robust or bounded,
        "likelihood": link.curved,
        "log": link.log,
        "counts": counts,
        "amounts": (settled and not bounded)
        or (link.log and problem.scored is not None and not counts),
        "outcomes": not link.scaled,
        "alike": not (problem.has_offset or problem.has_weights),
        "sampled": sampled,
    }
    return {word for word, holds in facts.items() if holds}


def settles(problem: Problem, *, robust: bool) -> bool:
    """Whether what a fit of residuals converges to does not depend on clip levels.

    Noise moves these, so other fits, such as those of powers above two, have no intervals.
    """
    loss = problem.scored
    return not robust and loss is not None and math.isfinite(loss.curvature_bound())


def rounds_for(size: int, budget: float, unit: float, most: int) -> tuple[int, ...]:
    """Return how many rounds each phase has; a larger ``budget = n * mu`` gives more."""
    factor = int(min(max((budget / (unit * size)) ** 2, 1.0), most / 8))
    return factor, factor, 2 * factor, 4 * factor


def _sample_for(problem: Problem, mu: float) -> int:
    """Return how many records the sample has, or 0 if all stages read all records."""
    smallest: float = SMALLEST_SAMPLE
    if problem.max_rows is not None:
        counted = min(problem.max_rows, MOST_ROWS_COUNTED)
        smallest = max(smallest // counted, _sufficient(problem) / mu + 1.0)
    if problem.n_rows < 2.0 * smallest:
        return 0
    sample = max(problem.n_rows // 10, math.floor(smallest))
    return sample if sample_suffices(problem, sample, mu) else 0


def sample_suffices(problem: Problem, n_rows: float, mu: float) -> bool:
    """Whether a sample of this size is enough for the stages that steer."""
    return n_rows * mu > _sufficient(problem)


def _sufficient(problem: Problem) -> float:
    """Return the n * mu above which a sample suffices."""
    sizes = _sizes(problem)
    return max(limit * sizes[name] for name, limit in SAMPLE_SUFFICES.items())


def _with_debiasing(shares: Shares, problem: Problem, budget: float) -> Shares:
    """Give debiasing of few columns more budget, unless a regime has reduced its share."""
    planned = REGIMES["conditional mean"].shares["debiasing"]
    if shares.debiasing < planned or budget < FEW or shares.correction > 0.0:
        return shares
    desired = min(DEBIASING_FACTOR / problem.size, LARGEST_DEBIASING)
    available = shares.debiasing + shares.rest(problem) - LARGEST_DEBIASING
    return replace(shares, debiasing=max(min(desired, available), shares.debiasing))


def _with_units(shares: Shares, problem: Problem, mu: float) -> Shares:
    """Give histograms the share at which columns stand out, but leave enough to the rounds."""
    residual, n_categorical = problem.link.residual, len(problem.levels)
    n_measured = problem.n_features - sum(map(len, problem.levels))
    for_one = _share_to_detect(1, problem, mu)
    for_measured = _share_to_detect(n_measured, problem, mu)
    for_levels = _share_to_detect(n_categorical, problem, mu)

    def limited_share(name: str, least: float, share: float = for_measured) -> float:
        factor, largest = DETECTING[name]
        return min(max(factor * share, least), largest)

    name = "target" if residual else "target of a log link"
    pairs = DETECTING["pair_differences"][0] * for_measured
    if pairs >= DETECTING["pair_differences"][1]:
        pairs = 0.0  # they keep the default share
    shares = replace(
        shares,
        pair_differences=max(pairs, shares.pair_differences),
        levels=limited_share("levels", LEAST_LEVELS, for_levels) * (n_categorical > 0),
        size=limited_share("size", shares.size),
        target=limited_share(name, shares.target, for_one),
        shared_size=limited_share("shared_size", shares.shared_size, for_one),
    )
    available = shares.rest(problem) - LEAST_ROUNDS
    available = available if available > ROUNDING else 0.0
    size_retry = max(min(limited_share("size_retry", LEAST_RETRY), available / 2.0), 0.0)
    location = limited_share("location" if residual else "location of likelihoods", shares.location)
    largest = shares.location + max(available - size_retry, 0.0)
    return replace(shares, size_retry=size_retry, location=min(location, largest))


def _share_to_detect(columns: int, problem: Problem, mu: float) -> float:
    """Return the share of ``mu**2`` at which the sizes of typical columns stand out."""
    if columns == 0:
        return 0.0
    needed = SIZE_MARGIN * detection_threshold(columns) * math.sqrt(2.0 * columns)
    return (needed / (SIZE_WINDOW * problem.n_rows * mu)) ** 2
