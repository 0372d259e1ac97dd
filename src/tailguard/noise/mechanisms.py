"""Tables of mechanisms: each adds noise to integers on a lattice and states what a release costs.

``ALL_MECHANISMS`` lists them by name. The contract tests run for every name in these tables.
"""

from typing import TypeAlias

from tailguard.noise.lattice import LatticeMechanism
from tailguard.noise.peeling import Peeling
from tailguard.noise.smooth import SMOOTH_NOISE, SmoothMechanism
from tailguard.privacy.calibration import PEELINGS

MECHANISMS = {name: LatticeMechanism(name) for name in ("gaussian", "laplace")}
"""Mechanisms that add noise to every coordinate, by name."""

PEELING_MECHANISMS = {name: Peeling(name) for name in PEELINGS}
"""Mechanisms that choose some entries and release their noised values, by name."""

SMOOTH_MECHANISMS = {name: SmoothMechanism(name) for name in SMOOTH_NOISE}
"""Mechanisms whose noise has a secret scale, which comes with the answer, by name."""

Mechanism: TypeAlias = LatticeMechanism | Peeling | SmoothMechanism
"""States the event of a calibration, draws the noise, and bounds how inexact the draw is."""

ALL_MECHANISMS: dict[str, Mechanism] = {**MECHANISMS, **PEELING_MECHANISMS, **SMOOTH_MECHANISMS}
"""Every mechanism, by its name in calibrations."""
