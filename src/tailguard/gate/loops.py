"""All loops, compiled before a search makes its first try.

A loop is compiled when it first runs, and its machine code is kept on the disk. So the loops that
are there after a search would tell which candidates were tried, and which turns their runs took.
That is secret, so all loops are compiled before the first try, whatever the candidates are.
"""

from importlib import import_module
from inspect import signature
from pkgutil import iter_modules

import numpy as np

from tailguard import losses, noise
from tailguard.checks import class_called
from tailguard.losses.compiled import compile_slopes
from tailguard.losses.registry import EXPECTED_SLOPES, LOSSES
from tailguard.machine_code import BUILDERS
from tailguard.queries import kernels

STORED = np.dtype(np.float64), np.dtype(np.float32)
"""The types that features are stored as."""


def compile_all_loops() -> None:
    """Compile every loop that any run may ask for, or load its machine code.

    A user's own gradient is compiled where its loss is made, and kept nowhere.
    """
    for room in (kernels, losses, noise):
        for module in iter_modules(room.__path__):
            import_module(f"{room.__name__}.{module.name}")
    for build in BUILDERS:
        for types in [(each,) for each in STORED] if signature(build).parameters else [()]:
            build(*types)
    known = LOSSES | EXPECTED_SLOPES
    for name in known:
        compile_slopes(class_called(name, known).one_slope)
