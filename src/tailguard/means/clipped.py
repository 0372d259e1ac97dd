"""The l2-clipped mean, in private units by default.

With an assumed moment, or a clip norm, it is the papers' estimator: rows are clipped at a fixed
norm.

Without either, a centre and a scale of every column are released, then a histogram of the rows'
norms about the centre. The largest clip level is put where the tail that it cuts off and its noise
balance, and shells below it come for nothing. Which clip level to believe is decided from the
released shells. Each level ``R`` is corrected for how a clip shrinks towards the centre: moving the
centre by ``h`` moves the clipped mean by ``(1 - g) h`` only, with the mean slope
``g = P(r <= R) + (1 - 1/d) E(R / r; r > R)``, read off the histogram. Dividing by ``g`` is one step
of Newton's method, exact to first order for rows whose direction does not depend on their norm.

Reference
---------
Zhao et al. 2024, Algorithm 2 and Theorem 2; Xu et al. 2025, Algorithm 1; Huang, Liang and Yi 2021.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.gate import Gate
from tailguard.gate.budget import Share
from tailguard.gate.plan import Plan
from tailguard.gate.solution import Solution
from tailguard.gate.stage import Stage
from tailguard.means.base import (
    Expected,
    MeanExample,
    MeanFacts,
    MeanPlan,
    found_mean,
)
from tailguard.means.budget import amount_of
from tailguard.means.levels import (
    Level,
    LevelMethod,
    clipping_bias,
    directional_level,
    gradient_clip_norm,
    mean_clip_norm,
)
from tailguard.means.mixtures import least_error_weights
from tailguard.means.private_units import PrivateUnits, ReleasedUnits
from tailguard.moments import Moment
from tailguard.queries.means.shells import ClippedShells
from tailguard.queries.units import Units

# One or two columns say little about which clip level is right; they get one level to fall back to.
MOST_SHELLS, SHELL_RATIO = 4, 2.0
FEW_COLUMNS, FEW_SHELLS, FEW_SHELLS_RATIO = 2, 2, 3.0


@dataclass(frozen=True)
class Clipped(LevelMethod):
    """Mean of rows clipped at an l2 norm.

    Attributes
    ----------
    clip_norm
        A public clip norm, in the units of the data; no scale is released then.

    Guarantee
    ---------
    Gaussian noise on every release, for every input. Pure DP is refused: the sensitivity is in the
    l2 norm.

    Reference
    ---------
    Zhao et al. 2024, Algorithm 2.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate.problem import Problem
    >>> plan = Clipped(clip_norm=3.0).plan(Problem(None, 1000, 2), tg.GDP(1.0))
    >>> plan.settings
    {'clip norm': 3.0}
    """

    clip_norm: float | None = None

    name = "clipped"
    option, few = "clip_norm", "few rows exceed the clip norm"
    example = MeanExample(
        {"clip_norm": 50.0},
        Moment(2.0, 4.0, kind="directional"),
        distance=1e-6,
        shown={"clip_norm": 1.0},
    )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Ask, and put the shells together."""
        stage = plan.stage("mean")
        if len(plan.stages) == 1:
            units = Units.raw(gate.n_features, intercept=False)
            query = ClippedShells(units, (float(plan.settings["clip norm"]),))
            value = gate.ask(query, None, stage)[0]
            noise_std = query.noise_stds(gate.n_rows, stage.mu)[0]
            return found_mean(plan, value, np.full(gate.n_features, noise_std))
        return _from_shells(plan, gate, PrivateUnits.planned(plan, "norm").release(gate))

    def private_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan to release shells of several clip norms."""
        units_plan, left = PrivateUnits.of(facts, "norm")
        d = facts.n_features
        stage = Stage.of(left, "mean", "the clipped mean", 1, MOST_SHELLS * d)
        unit_noise = _noise_per_unit(facts.n_rows, d, stage.mu)
        expected = units_plan.expected_of_clip(facts, unit_noise)
        return self.planned(facts, (*units_plan.stages, stage), expected)

    def public_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan with one clip norm."""
        budget, d = self.spent(facts), facts.n_features
        level = self.chosen_level(facts, budget)
        stage = Stage.of(budget, "mean", "the clipped mean", 1, d)
        noise = 2.0 * level.value * math.sqrt(d) / (facts.n_rows * stage.mu)
        expected = Expected(noise, level.bias, level.sampling)
        return self.planned(facts, (stage,), expected, {"clip norm": level.value})

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the cards' clip norm."""
        mu, moment = amount_of(budget), facts.moment
        assert moment is not None
        if moment.kind == "norm":
            clip_norm = facts.into(gradient_clip_norm, moment, mu=mu)
            # A bound on the norm counts all directions at once.
            told = {"clip_norm": clip_norm, "n_features": 1}
            bias = facts.into(clipping_bias, moment, **told)
            return Level(clip_norm, bias, facts.sampling * math.sqrt(facts.n_features))
        return directional_level(facts, mean_clip_norm, rho=mu**2 / 2.0)


def _noise_per_unit(n_rows: int, n_features: int, mu: float) -> float:
    """Return the noise, in l2, per unit of the radius."""
    return 2.0 * math.sqrt(n_features) / (n_rows * mu)


def _from_shells(plan: Plan, gate: Gate, released: ReleasedUnits) -> Solution:
    """Release the shells and return their mixture of least estimated error."""
    d, stage = gate.n_features, plan.stage("mean")
    largest = released.distribution.radius(_noise_per_unit(gate.n_rows, d, stage.mu))
    most, ratio = MOST_SHELLS, SHELL_RATIO
    if d <= FEW_COLUMNS:
        most, ratio = FEW_SHELLS, FEW_SHELLS_RATIO
    room = math.log(max(largest / released.distribution.quantile(0.5), 1.0), ratio)
    count = 1 + min(most - 1, int(room))
    radii = largest * ratio ** -np.arange(count - 1.0, -1.0, -1.0)
    query = ClippedShells(released.units, tuple(radii.tolist()))
    shells = gate.ask(query, None, stage)
    slopes = np.array([released.mean_slope(radius) for radius in radii])
    sums = np.tril(np.ones((count, count))) / slopes[:, None]
    means, noise = sums @ shells, sums * query.noise_stds(gate.n_rows, stage.mu)
    weights = least_error_weights(means, noise)
    scale = released.units.scale
    return found_mean(
        plan,
        released.units.center + scale * (weights @ means),
        scale * float(np.linalg.norm(weights @ noise)),
        {"largest clip norm": float(largest), "believed clip norm": float(weights @ radii)},
    )
