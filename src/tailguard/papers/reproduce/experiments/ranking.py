"""The theorems on optimisation side by side, on the tasks of Wang and others (2020).

They are those that ``tg.plan`` ranks, and curves have their names in ``tg.papers``. What a theorem
is told is public: it follows from the law of the records. Printed noise is run where it keeps its
promise.

Reference
---------
Wang and others 2020; Kamath, Liu and Zhang 2022; Tao and others 2022; Zhao and others 2024; Xu and
others 2025.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import signature
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import require
from tailguard.gate.engine import Solver
from tailguard.moments import Moment
from tailguard.papers.baselines import DpSgd, robust_gradient_descent
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.ranking import THEOREMS, theorem_called
from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment, Setup
from tailguard.papers.reproduce.judges import above, below, saves
from tailguard.papers.reproduce.results import Noise, Point
from tailguard.papers.reproduce.tasks import wang
from tailguard.papers.reproduce.tasks.fits import PlannedFit, Task
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.guarantees import ApproxDP
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent

N_ROWS, N_QUICK_ROWS = 100_000, 10_000
EPSILONS = (0.1, 1.0)  # the ends of what Wang and others take
MOST_STEPS = 100  # over all records, for time: theorems ask for up to 1000
FAMILIES = {each.replace("-", " "): THEOREMS[each] for each in ("convex", "strongly-convex")}
# For either noise, so that it is the noise that is compared. The centre is as private.
ALIKE = {"groups": "pointwise", "schedule": "practical", "centre": "median"}
TUNED, DEFAULT = "DP-SGD, tuned", "tg.minimize, default"
ROBUST, ROBUST_STEPS = "robust descent, no privacy", 10
# DP-SGD: rows of a batch, passes, and clip norms over the root mean square of a gradient's norm. Of
# one or two passes, and of the last point, the mean of all or of the later half, two and the later
# half have the least median risk of two seeds at three of the four places.
BATCH_ROWS, N_PASSES, CLIPS = 500, 2, (0.1, 0.3, 1.0)

Answer = Callable[[FloatArray, FloatArray, int], FloatArray]  # from records and a seed to weights


@dataclass(frozen=True)
class Known:
    """What is publicly known of a task.

    Attributes
    ----------
    second_moment
        Of a coordinate of the gradient: of ridge the bound v of the paper, below the true 34.5 of
        the noise, which costs accuracy and never privacy.
    shape
        Of the risk on the ball, as theorems name it.
    """

    second_moment: float
    shape: dict[str, float]

    @property
    def norm(self) -> float:
        """Root mean square of the norm of a gradient."""
        return math.sqrt(wang.N_FEATURES * self.second_moment)

    @property
    def curvature(self) -> float:
        """Of the model by which theorems are ranked."""
        return math.sqrt(self.shape["strong_convexity"] * self.shape["smoothness"])

    def moment_for(self, name: str) -> Moment:
        """Return the moment in the kind and of the order that a theorem asks for."""
        asked = vars(theorem_called(name))
        kind, order = asked["moment_kind"], 4.0 if asked["doubled"] else 2.0
        if kind == "norm":
            return Moment(order, self.norm**order, kind=kind)
        # Raw moments bound central ones.
        return Moment(2.0, self.second_moment, kind="raw" if kind == "central" else kind)


# Rows are 1.6 times as long as their root mean square. On the ball a residual's mean slope is at
# most |w - w*|, which is 3; the logistic curvature at its edge is E s'(2g) g^2 = 0.056.
KNOWN = {
    "ridge": Known(
        wang.MOMENT.bound,
        {"gradient_bound": 3.0, "smoothness": 1.0, "strong_convexity": 1.0, "row_limit": 5.0},
    ),
    "logistic": Known(
        1.0, {"gradient_bound": 1.0, "smoothness": 0.25, "strong_convexity": 0.05, "row_limit": 5.0}
    ),
}


@dataclass(frozen=True)
class Place:
    """A task, how many records it has, and an epsilon; delta is one over the records."""

    task: Task
    n_rows: int
    epsilon: float

    @property
    def known(self) -> Known:
        """What is known of the task."""
        return KNOWN[self.task.name]

    @property
    def sizes(self) -> tuple[int, int, ApproxDP]:
        """Records, columns and promise."""
        return self.n_rows, wang.N_FEATURES, ApproxDP(self.epsilon, 1.0 / self.n_rows)

    def theorem(self, name: str, **how: Any) -> Theorem:
        """Return a theorem with what it is told of the task, and with few enough steps."""
        call = theorem_called(name)
        diameter, shape = 2.0 * wang.RADIUS, self.known.shape
        # The paper's step on batches is for the whole space.
        step = min(1.0, diameter / shape["gradient_bound"])
        facts = {"diameter": diameter, "step_size": step, **shape, **ALIKE}
        told = {each: facts[each] for each in facts.keys() & signature(call).parameters.keys()}
        moment = self.known.moment_for(name)
        make: Callable[..., Theorem] = partial(call, *self.sizes, moment=moment, **told, **how)
        theorem = make()
        return make(n_steps=MOST_STEPS) if theorem.n_passes > MOST_STEPS else theorem

    def cell(
        self, curve: str, noise: Noise, answers: Sequence[Answer], families: Sequence[str]
    ) -> Cell:
        """Return a cell of the least excess risk of some answers, in the panels of families."""

        def measure(seed: int) -> list[Point]:
            data = wang.draw(self.task.name, self.n_rows, wang.N_FEATURES, seed)
            records = data.features, data.target.astype(np.float64)
            least = min(wang.excess(self.task, data, answer(*records, seed)) for answer in answers)
            panels = [f"{self.task.name}, {family}" for family in families]
            return [Point(panel, curve, noise, self.epsilon, least) for panel in panels]

        where = f"epsilon = {self.epsilon:g}, n = {self.n_rows}"
        return Cell(f"{self.task.name}, {curve}, {noise}, {where}", measure)


def _cells(setup: Setup) -> list[Cell]:
    n_rows, epsilons = (N_QUICK_ROWS, EPSILONS[-1:]) if setup.quick else (N_ROWS, EPSILONS)
    cells = []
    for task in (wang.RIDGE, wang.LOGISTIC):
        for epsilon in epsilons:
            place = Place(task, n_rows, epsilon)
            cells += _rivals(place)
            for family, names in FAMILIES.items():
                cells += [cell for name in names for cell in _both_noises(place, family, name)]
    return cells


def _both_noises(place: Place, family: str, name: str) -> list[Cell]:
    noises: dict[Noise, dict[str, Any]] = {"tight": {}, "printed": wang.AS_PRINTED}

    def fit(how: dict[str, Any]) -> PlannedFit:
        found = PlannedFit.of_theorem(place.task, place.theorem(name, **how))
        _, plan = found.plan
        require(
            not plan.printed or satisfies(plan.event, plan.guarantee),
            f"calibration must be 'tight' for {name} here: its printed noise breaks its promise.",
        )
        return found

    return [
        place.cell(name, noise, [_answer(partial(fit, how))], [family])
        for noise, how in noises.items()
    ]


def _answer(make: Callable[[], PlannedFit]) -> Answer:
    """Return what runs a fit that is made once, and not before it is run: it may be refused."""
    made = cache(make)
    return lambda X, y, seed: made().run(X, y, seed=seed).coef


def _rivals(place: Place) -> list[Cell]:
    """Run what the theorems are compared with: DP-SGD, the library's descent, and no privacy."""
    known, task = place.known, place.task
    how: dict[str, Any] = {"n_passes": N_PASSES, "sampling": "fresh", "iterate": "tail"}
    clipped = [DpSgd(clip_norm=share * known.norm, batch_rows=BATCH_ROWS, **how) for share in CLIPS]
    solvers: list[Solver] = [*clipped, NoisyGradientDescent()]
    *tuned, default = (
        _answer(partial(PlannedFit, task, solver, *place.sizes)) for solver in solvers
    )

    def robust(X: FloatArray, y: FloatArray, _seed: int) -> FloatArray:
        told: dict[str, Any] = {"n_steps": ROBUST_STEPS, "constraint": task.constraint}
        told |= {"step_size": 1.0 / known.shape["smoothness"], "moment_bound": known.second_moment}
        return robust_gradient_descent(task.loss, X, y, **told).coef

    curves: dict[str, list[Answer]] = {TUNED: tuned, DEFAULT: [default], ROBUST: [robust]}
    return [place.cell(curve, "-", answers, [*FAMILIES]) for curve, answers in curves.items()]


def _beats(name: str, rival: str, says: str, reason: str = "", **options: Any) -> Claim:
    return Claim(f"{name} against {rival}", says, below(name, rival, **options), reason)


def _saving(paper: str) -> Claim:
    """Return the claim that exact noise helps a paper's theorems."""
    names = [name for names in FAMILIES.values() for name in names if name.startswith(paper)]
    says = "Of ours: the least noise that keeps the promise leaves less risk than the printed one."
    why_not = "one step ends at the edge of the ball with either noise"
    return Claim(f"{paper}, tight noise", says, saves(*names), why_not, "ours")


def _ours(name: str) -> Claim:
    """Return the claim that a theorem keeps up with the usual method."""
    says = "Of ours: made for heavy tails, it leaves less than DP-SGD."
    claim = _beats(name, TUNED, says, "columns are normal: clipping loses little")
    return replace(claim, kind="ours")


TRIMMED, SOFT = "wang2020.trimmed_strongly_convex", "wang2020.smoothed_strongly_convex"
WANG, AGGREGATE = "wang2020.smoothed_convex", "wang2020.sample_aggregate"
MEDIAN, STRONG = "kamath2022.convex", "kamath2022.strongly_convex"
TRUNCATED, CLIPPED = "kamath2022.soft_convex", "zhao2024.convex"
GROUPS = "medians of groups need noise for one group, which is a small part of the records"
REPAIRED = "the repaired trimmed mean needs less noise than soft truncation at its printed scale"
UPDATED = "Zhao: where epsilon is not small, the iterative mean improves on clipping."
CLAIMS = (
    _beats(SOFT, AGGREGATE, "Wang: descent on soft truncation improves on sample and aggregate."),
    Claim(
        f"{TRIMMED} is poor",
        "Of ours: trimmed means with a smooth scale do worse than soft truncation.",
        above(TRIMMED, SOFT),
        REPAIRED,
        "ours",
    ),
    _beats(TRUNCATED, WANG, "Kamath: Theorem 5.5 improves on Wang."),
    _beats(MEDIAN, WANG, "Kamath: Theorem 5.2 improves on Wang.", GROUPS),
    _beats(STRONG, SOFT, "Kamath: Theorem 5.7 improves on Wang.", GROUPS),
    _beats(CLIPPED, MEDIAN, "Zhao: clipping improves on Kamath."),
    _beats("zhao2024.iterative_convex", CLIPPED, UPDATED, GROUPS, at="last"),
    replace(
        _beats("xu2025.localised", MEDIAN, "Of ours: Theorem 1 of Xu improves on Kamath's 5.2."),
        kind="ours",
    ),
    *map(_ours, (TRUNCATED, TRIMMED)),
    *map(_saving, ("wang2020", "kamath2022", "tao2022", "zhao2024", "xu2025")),
)


def experiments() -> tuple[Experiment, ...]:
    """List the one experiment on how theorems rank."""
    return (
        Experiment(
            "ranking",
            "The papers",
            f"their theorems, a colour each, on the tasks of Wang and others 2020, n = {N_ROWS:,}",
            Axes("epsilon", "excess risk", log_x=True),
            _cells,
            CLAIMS,
        ),
    )
