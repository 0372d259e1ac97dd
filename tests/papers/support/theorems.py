"""Every theorem of the papers that runs: how to call it, and a problem that it takes."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tailguard as tg
from tailguard.gate.plan import Problem

N_ROWS, N_FEATURES, DIAMETER = 4_000, 3, 2.0
GUARANTEE = tg.ApproxDP(1.0, 1e-5)
SHAPE = {"strong_convexity": 1.0, "smoothness": 2.0}
MADE = {}  # name and calibration -> theorem


@dataclass(frozen=True)
class Case:
    """A theorem's name, the moment it takes, and its own arguments."""

    name: str
    moment: Any
    arguments: dict = field(default_factory=dict)
    guarantee: Any = GUARANTEE
    constraint: Any = field(default_factory=lambda: tg.sets.L2Ball(DIAMETER / 2.0))
    prints: bool = True  # the paper prints a noise for it
    beside: dict = field(default_factory=dict)  # what is told with printed noise, besides
    unsafe: bool = False  # which does not keep its promise

    def theorem(self, n_rows=N_ROWS, n_features=N_FEATURES, guarantee=None, **options):
        """Call the theorem; tight and printed it is made once for all tests."""
        usual = n_rows is N_ROWS and n_features is N_FEATURES and guarantee is None
        if not usual or options.keys() - {"calibration"}:
            return self._called(n_rows, n_features, guarantee, options)
        key = self.name, options.get("calibration", "tight")
        if key not in MADE:
            MADE[key] = self._called(n_rows, n_features, guarantee, options)
        return MADE[key]

    def _called(self, n_rows, n_features, guarantee, options):
        paper, function = self.name.split(".")
        own = dict(self.arguments)
        if options.get("calibration") == "printed":
            own.pop("proof", None)  # printed constants take none
            own |= self.beside
        arguments = {"moment": self.moment, "diameter": DIAMETER, **own, **options}
        call = getattr(getattr(tg.papers, paper), function)
        return call(n_rows, n_features, guarantee or self.guarantee, **arguments)

    def unsized(self, **options):
        """The theorem that takes its sizes from the records."""
        return self.theorem(n_rows=None, n_features=None, **options)

    def problem(self, n_rows=N_ROWS, n_features=N_FEATURES):
        return Problem(tg.losses.Squared(), n_rows, n_features, constraint=self.constraint)


CENTRAL = tg.Moment(2.0, 1.0)
RAW = tg.Moment(2.0, 1.0, kind="raw")
ALONG = tg.Moment(2.0, 1.0, kind="directional")
NORM, NORM4 = tg.Moment(2.0, 3.0, kind="norm"), tg.Moment(4.0, 9.0, kind="norm")
SMOOTH = {"smoothness": 2.0}
ROWS = {"row_limit": 3.0}
CERTIFIED = {"schedule": "printed"}  # the printed steps are n^2 of them

# fmt: off
ALL = (
    Case("kamath2022.convex", CENTRAL),
    Case("kamath2022.convex_with_probability", CENTRAL, SMOOTH),
    Case("kamath2022.soft_convex", CENTRAL),
    Case("kamath2022.strongly_convex", CENTRAL, SHAPE),
    Case("tao2022.convex", RAW),
    Case("tao2022.strongly_convex", RAW, SHAPE),
    Case("tao2022.sparse", RAW, {**SHAPE, "n_nonzero": 1, "n_kept": 1}, constraint=None),
    Case("wang2020.smoothed_strongly_convex", RAW, SHAPE),
    Case("wang2020.smoothed_convex", RAW, SMOOTH),
    Case("wang2020.stochastic", RAW, {"batch_rows": 200}, prints=False),
    Case("wang2020.trimmed_strongly_convex", RAW, {**SHAPE, "n_steps": 4, "proof": "numerical"},
         guarantee=tg.ZCDP(4.0), unsafe=True),
    Case("wang2020.sample_aggregate", RAW, {**SHAPE, "least_rows": 40}, unsafe=True),
    Case("zhao2024.convex", ALONG, SMOOTH),
    Case("zhao2024.iterative_convex", ALONG, {**SMOOTH, "n_steps": 10}),
    Case("xu2025.localised", NORM4, ROWS, beside=CERTIFIED),
    Case("xu2025.tsybakov", NORM4, ROWS, beside=CERTIFIED),
    Case("xu2025.unknown_growth", NORM4, ROWS, beside=CERTIFIED),
    Case("xu2025.accelerated", NORM, SMOOTH, unsafe=True),
    Case("xu2025.accelerated_growth", NORM, SMOOTH, unsafe=True),
)
# fmt: on
CASES = {case.name: case for case in ALL}


def heavy_records(n_rows=N_ROWS, n_features=N_FEATURES, seed=11):
    """A regression with noise of heavy tails and far outliers on one side."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.standard_t(3.0, size=(n_rows, n_features)), -6.0, 6.0)
    y = X @ np.linspace(0.4, -0.2, n_features) + rng.standard_t(2.5, size=n_rows)
    y[: n_rows // 50] += 300.0 * X[: n_rows // 50, 0]
    return X, y
