"""The plan of all releases of the method, from public numbers and shares of the budget.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023: if costs of stages are chosen during the
run, the total is the root of the sum of their squares, for any division of that sum.
"""

import math
from dataclasses import dataclass, fields, replace

from tailguard.checks import (
    InputError,
    check_between,
    check_count,
    check_open_unit,
    check_positive,
    require,
    shown,
)
from tailguard.gate.plan import Problem
from tailguard.gate.stage import SAMPLE, WEIGHING, WEIGHT, Stage
from tailguard.losses.base import Link
from tailguard.privacy.events import Gaussian
from tailguard.queries.histograms import Bins
from tailguard.queries.view import LARGEST_FEATURE
from tailguard.scaling.columns import columns_of
from tailguard.scaling.sizes_and_locations import NEAREST_BOUND
from tailguard.scaling.units import histogram_stages

ROW_NORM_BINS = Bins("octaves", -16.0, 2.0, 64)
SLOPE_BINS = Bins("signed", -30.0, 3.0, 180)
CORRECTION_LENGTHS = Bins("octaves", -8.0, 3.0, 66)
"""Bins of lengths of rows and contributions in a metric: thirds of octaves, 2**-8 to 2**14."""
LENGTHS_OF_SQUARES = Bins("octaves", -8.0, 3.0, 38, narrow=36, wide=15.0)
"""The same for squared losses, over the root of their number of
coordinates: thirds of octaves up to 2**4, and two bins of five octaves.

One record in a thousand, hundreds of times as long as others, can decide a slope of nearly equal
columns. The lengths of such records spread over twenty thirds of octaves, each with as much noise
as a wide bin. Of the intervals of such slopes 78 % held (simulated, 20,000 and 50,000 records,
epsilon 4 and 10), 77 % with three wide bins of three octaves, and 59 % without wide bins. On 12
real tables the median width did not grow, of two it doubled at epsilon 1; with wide bins from about
2**3 on the median grew by 4 to 8 %.
"""
CORRECTION_PARTS = (0.25, 0.5, 1.0)
"""Levels at which contributions are cut, as parts of the last; their differences show the bias."""
STEERING = {
    "target location", "target scale", "typical size", "location", "fine location", "scale",
    "row norms", "whitened row norms", "early slopes", "row lengths", "curvature of rows",
    "contribution lengths", "contribution moments", "early contribution rounds",
    "choice of bounds",
}  # fmt: skip
"""Stages that read the sample if there is one; the early rounds do so too.

Stages that are listed here are released again later, or need only be approximate. The target's size
and a likelihood's first constant depend on rare events, and the shared size depends on rare
indicators, so they read all records. So do all other stages that the last rounds and the standard
errors use.
"""
HALFWAY = 2
"""Bounds of features are chosen before this phase; phases count from 0."""
DEBIASING_LEVELS = 4
"""Clip levels above the first that debiasing releases jointly to measure the clipping bias."""
# With a log link, slopes and curvatures are resolved up to this many times the mean target.
HEADROOM = 4.0
# The first bound, in scales of a column, then others to choose from. The more influence a far row
# may have, the nearer is the first bound: slopes grow exponentially with the score for a log link,
# and are bounded for log-odds. If there are too few records to choose a bound, and a fit is mostly
# noise, the nearest bound is best (41 real tables).
FEATURE_BOUNDS = {
    Link.IDENTITY: (16.0, NEAREST_BOUND, 64.0),
    Link.LOGIT: (8.0, NEAREST_BOUND, 16.0),
    Link.LOG: (NEAREST_BOUND, 16.0, 64.0),
}
CORRECTION = {
    "curvature of rows": 0.06, "row lengths again": 0.03, "curvature of rows again": 0.09,
    "contribution lengths": 0.04, "contribution moments": 0.05,
    "contribution lengths again": 0.07, "contribution moments again": 0.06,
    "contribution rounds": 0.60,
}  # fmt: skip
"""Releases of the correction by contributions, as shares of the budget ``mu**2`` for it."""
CORRECTION_OF_BOUNDED = CORRECTION | {"row lengths": 0.03, "contribution rounds": 0.57}
"""The same for bounded slopes of residuals, whose curvature is released."""
CORRECTION_OF_LIKELIHOOD = {
    "row lengths": 0.025, "curvature of rows": 0.08, "contribution lengths": 0.03,
    "early contribution rounds": 0.11,
    "row lengths again": 0.025, "curvature of rows again": 0.10,
    "contribution lengths again": 0.05, "contribution moments again": 0.08,
    "contribution rounds": 0.50,
}  # fmt: skip
"""The same releases for likelihoods: their curvature gives the first metric of contributions."""
CORRECTION_ROUNDS, CORRECTION_ROUNDS_OF_LIKELIHOOD = (0, 12), (4, 8)
"""The number of early rounds, which are approximate, and of the rounds that are averaged."""
ROUNDS_AFTER_SAMPLE = 3
"""The number of the latter where the rounds before began on a sample and ended on all records."""
ROUGH_TOTAL, TOTAL = "rough total", "total"
"""The stages that calibrate a predicted total."""
# The part of that share for the total of targets, which need only be approximate.
ROUGH_SHARE = 0.25
AFTER_ROUNDS = (
    *("debiasing", ROUGH_TOTAL, TOTAL, "debiasing curvature", "choice of fit"),
    *(CORRECTION | CORRECTION_OF_LIKELIHOOD),
)
# The share of mu**2 for the total weight. Its noise scales all means equally, so it moves no
# coefficient.
WEIGHT_SHARE = 0.01
# Rounds on the sample get this part of their share, since they need only be approximate.
EARLY_ROUNDS_SHARE = 0.1


@dataclass(frozen=True)
class Shares:
    """Shares of ``mu**2`` by purpose; the rest goes to the rounds.

    Attributes
    ----------
    target
        Typical size, location and scale of the target.
    levels
        Counts of the levels that a schema declares; indicators of levels need no other release.
    size, size_retry, shared_size, location, pair_differences
        For the other columns: the first and the second release of sizes; one size for undetected
        columns; centres; differences of pairs.
    constant, row_norms, second_moments, whitened_row_norms, slopes, curvature
        The stages of these names.
    bound_choice, debiasing, fit_choice
        The choice of bounds, both stages of debiasing, and the choice of fit.
    total
        The calibration of the constant of a log link, and of the total that it predicts.
    correction
        All stages of the correction by contributions.
    rounds
        How many rounds each phase has.
    diagnostic_phases, curvature_phases
        The phases before which clip levels are chosen anew, and the curvature is released.
    sample, early
        The number of records in the random sample, and the number of first phases that read it,
        as do the stages that steer them; 0 if there is no sample.
    balanced
        Whether a logistic loss uses the slopes of ``BalancedLogistic``.
    bound
        The first bound of features, in scales from their location.
    """

    target: float = 0.02
    levels: float = 0.0
    size: float = 0.025
    size_retry: float = 0.0
    shared_size: float = 0.01
    location: float = 0.03
    pair_differences: float = 0.03
    constant: float = 0.0
    row_norms: float = 0.01
    second_moments: float = 0.10
    whitened_row_norms: float = 0.01
    slopes: float = 0.08
    curvature: float = 0.0
    bound_choice: float = 0.0
    debiasing: float = 0.08
    fit_choice: float = 0.0
    correction: float = 0.0
    total: float = 0.0
    rounds: tuple[int, ...] = (1, 1, 2, 4)
    diagnostic_phases: tuple[int, ...] = (0, 1, 2, 3)
    curvature_phases: tuple[int, ...] = ()
    sample: int = 0
    early: int = 0
    balanced: bool = False
    bound: float = LARGEST_FEATURE

    def check(self) -> None:
        """Refuse shares of a user that make a run fail."""
        needed = {"target", "size", "location", "pair_differences"}
        needed |= {"row_norms", "second_moments", "whitened_row_norms"}
        for attribute in fields(self):
            share = getattr(self, attribute.name)
            inside = isinstance(share, float) and 0.0 < share < 1.0  # else it may be 0 or 1
            if attribute.type is float and attribute.name != "bound" and not inside:
                name = f"shares.{attribute.name}"
                if attribute.name in needed:
                    check_open_unit(name, share)
                else:
                    check_between(name, share, 0.0, 1.0)
        check_positive("shares.bound", self.bound)
        for name in ("sample", "early"):
            if getattr(self, name) != 0:  # 0: no sample
                check_count(f"shares.{name}", getattr(self, name))
        for name in ("rounds", "diagnostic_phases", "curvature_phases"):
            phases = getattr(self, name)
            if not isinstance(phases, tuple | list):
                raise InputError(
                    f"shares.{name} must be a tuple of whole numbers; got {shown(phases)}."
                )
        require(len(self.rounds) > 0, "shares.rounds must have at least one phase; got none.")
        for count in self.rounds:
            check_count("shares.rounds", count)
        require(
            self.bound_choice == 0.0 or len(self.rounds) > HALFWAY,
            "shares.bound_choice must be 0 where shares.rounds has fewer than three phases.",
        )
        require(
            self.curvature > 0.0 or not self.curvature_phases,
            "shares.curvature must be above 0 where shares.curvature_phases has phases; got 0.",
        )

    def rest(self, problem: Problem) -> float:
        """Return the share that is left to the rounds."""
        stages = stages_before(problem, self, 1.0)
        return 1.0 - sum([stage.total_mu**2 for stage in stages])

    def units_stages(self, problem: Problem, total_mu: float) -> list[Stage]:
        """Plan the histograms that give the units."""
        return histogram_stages(
            columns_of(problem),
            Gaussian(total_mu),
            size=self.size,
            location=self.location,
            size_retry=self.size_retry,
            shared_size=self.shared_size,
            pair_differences=self.pair_differences,
            target=self.target,
            levels=self.levels,
        )


def feature_bound(problem: Problem, *, few: bool = False) -> float:
    """Return the first bound of features, in scales; ``LARGEST_FEATURE`` means none.

    With ``few`` records no other bound is chosen later. Powers of the residual above two have no
    bound: their fits follow the largest residuals, and a bound of features would create such
    residuals.
    """
    loss = problem.scored
    if loss is not None and loss.link.residual and math.isinf(loss.curvature_bound()):
        return LARGEST_FEATURE
    return NEAREST_BOUND if few else FEATURE_BOUNDS[problem.link][0]


def stages_for(problem: Problem, shares: Shares, total_mu: float) -> tuple[Stage, ...]:
    """Plan every release of the method; the mu**2 of a round grows from phase to phase."""
    stages = stages_before(problem, shares, total_mu)
    purpose = "clipped gradients, for a Newton step each"
    purpose += ", slopes bounded by one half" * shares.balanced
    stages += round_stages(shares, stages, total_mu, problem.size, purpose)
    if shares.sample:
        return tuple(_of_sample(stage, problem, shares) for stage in stages)
    return tuple(stages)


def round_stages(
    shares: Shares, before: list[Stage], total_mu: float, size: int, purpose: str
) -> list[Stage]:
    """Divide the rest of the budget among the rounds, each of which releases ``size`` numbers.

    Later rounds start nearer to the fit, so they get more budget and less noise. Rounds on the
    sample get a tenth of their part.
    """
    rest = 1.0 - sum([stage.total_mu**2 for stage in before]) / total_mu**2
    require(
        rest > 0.0,
        "shares must leave some of the budget to the rounds; got shares that take "
        f"{1.0 - rest:.3g} of it before them, and less than 1 is allowed.",
    )
    weights, n_earlier = [], 0
    for phase, times in enumerate(shares.rounds):
        weight = float((n_earlier + times) ** 2 - n_earlier**2)
        weights.append(weight * (EARLY_ROUNDS_SHARE if phase < shares.early else 1.0))
        n_earlier += times
    stages = []
    for phase, (times, weight) in enumerate(zip(shares.rounds, weights, strict=True)):
        mu = total_mu * math.sqrt(rest * weight / sum(weights) / times)
        name = round_name(phase)
        stages.append(Stage(name, purpose, mu, times, size, takes_rest=True, phase=phase))
    return stages


def round_name(phase: int) -> str:
    """Return the name of the stage with the rounds of a phase; phases count from 0."""
    return f"rounds of phase {phase + 1}"


def _of_sample(stage: Stage, problem: Problem, shares: Shares) -> Stage:
    """Make a stage that only steers read the sample."""
    if stage.name not in STEERING and (stage.phase is None or stage.phase >= shares.early):
        return stage
    purpose = f"{stage.purpose} (of a random {shares.sample / problem.n_rows:.3g} of the records)"
    return replace(stage, purpose=purpose, block_map=SAMPLE)


PlannedReleases = tuple[str, str, float, int, int]
"""Name, purpose and share of ``mu**2`` of a stage; number and size of its releases."""


def planned_stages(releases: list[PlannedReleases], total_mu: float) -> list[Stage]:
    """Return the stages of the releases whose share is not zero."""
    return [
        Stage(name, purpose, total_mu * math.sqrt(share / times), times, size,
              takes_rest=name in ("debiasing", "debiasing curvature"))
        for name, purpose, share, times, size in releases
        if share > 0.0 and times > 0
    ]  # fmt: skip


def stages_before(problem: Problem, shares: Shares, total_mu: float) -> list[Stage]:
    """Plan all releases except the rounds."""
    n_columns = problem.n_features + 2  # features, constant, target
    square = problem.size * (problem.size + 1) // 2
    n_releases = len(shares.diagnostic_phases)
    curved = problem.link.curved
    canonical = problem.scored is not None and problem.scored.canonical
    added = "what predictions and targets add up to" if canonical else "the mean slope of the loss"
    rough_share = ROUGH_SHARE * canonical
    n_row_norms = n_releases if curved else 1
    directions, levels = 2, DEBIASING_LEVELS + 1  # at most the constant and the fitted score
    fitted = " and the fitted score"
    if curved:
        released = shares.curvature * len(shares.curvature_phases) > 0.0
        fitted = ", and in the fitted score once curvature is released" * released
    exposed = problem.has_offset and problem.link.log
    # If there is a sample, only the last histogram reads all records.
    n_late = 1 if shares.sample else n_releases
    slopes = shares.slopes / max(n_releases, 1)
    releases = [
        (WEIGHT, WEIGHING,
         WEIGHT_SHARE * problem.has_weights, 1, 2),
        ("constant", "the best constant, as a start",
         shares.constant * (problem.intercept or exposed), 1, 2 + exposed),
        ("row norms", "norms of rows", shares.row_norms, 1, ROW_NORM_BINS.count),
        ("second moments", "second moments of the columns",
         shares.second_moments, 1, n_columns * (n_columns + 1) // 2),
        ("whitened row norms", "norms of whitened rows",
         shares.whitened_row_norms, n_row_norms, ROW_NORM_BINS.count),
        ("early slopes", "sizes of residuals",
         slopes * (n_releases - n_late), n_releases - n_late, SLOPE_BINS.count),
        ("slopes", "sizes of residuals", slopes * n_late, n_late, SLOPE_BINS.count),
        ("curvature", "curvature of the loss",
         shares.curvature, len(shares.curvature_phases), square),
        ("choice of bounds", "within which bounds features are read from here on",
         shares.bound_choice, 1, 2),
        ("debiasing", f"bias that clipping leaves in the mean{fitted}",
         0.8 * shares.debiasing, 1, directions * levels),  # .8 and .2 by trial
        ("debiasing curvature", "curvature of the loss in these directions",
         0.2 * shares.debiasing, 1, directions * (directions + 1) // 2),
        ("choice of fit", "whether the fit, half of it or its constant is kept",
         shares.fit_choice * problem.intercept, 1, 2),
        (ROUGH_TOTAL, "what targets add up to",
         rough_share * shares.total * problem.intercept, 1, 1),
        (TOTAL, added,
         (1.0 - rough_share) * shares.total * problem.intercept, 1, 1),
    ]  # fmt: skip
    if shares.correction > 0.0:
        sampled = shares.sample > 0
        releases += correction_releases(
            problem.size,
            shares.correction,
            curved=curved,
            sampled=sampled,
            bounded=problem.scored is not None and problem.scored.bounds_slopes,
        )
    return shares.units_stages(problem, total_mu) + planned_stages(releases, total_mu)


def correction_releases(
    size: int, share: float, *, curved: bool, sampled: bool, bounded: bool = False
) -> list[PlannedReleases]:
    """List the releases of the correction by contributions of ``size`` coordinates."""
    square = size * (size + 1) // 2
    bins = (CORRECTION_LENGTHS if curved or bounded else LENGTHS_OF_SQUARES).count
    levels = len(CORRECTION_PARTS) * size
    shares, (early, late) = CORRECTION, CORRECTION_ROUNDS
    rows, contributions = "rows", "residuals times rows"
    if bounded:
        shares, rows = CORRECTION_OF_BOUNDED, "rows where the slope rises"
        contributions = "slopes times rows"
    if curved:
        shares, (early, late) = CORRECTION_OF_LIKELIHOOD, CORRECTION_ROUNDS_OF_LIKELIHOOD
        rows, contributions = "rows times the root of their curvature", "slopes times rows"
    if sampled:
        late = ROUNDS_AFTER_SAMPLE
    releases = {
        "row lengths": (f"lengths of {rows}", 1, bins),
        "curvature of rows": (f"second moments of whitened {rows}", 1, square),
        "row lengths again": ("lengths of rows in the metric of these", 1, bins),
        "curvature of rows again": ("second moments of rows in that metric", 1, square),
        "contribution lengths": (f"lengths of {contributions}", 1, bins),
        "contribution moments": ("their second moments", 1, square),
        "contribution lengths again": (f"lengths of {contributions} in a metric", 1, bins),
        "contribution moments again": ("their second moments in that metric", 1, square),
        "early contribution rounds": ("cut contributions, for a step each", early, levels),
        "contribution rounds": ("cut contributions, for a step each that counts", late, levels),
    }
    return [
        (name, purpose, share * shares.get(name, 0.0), times, size)
        for name, (purpose, times, size) in releases.items()
    ]
