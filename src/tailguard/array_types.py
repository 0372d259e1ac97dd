"""Types of arrays, by the type of their cells."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
IndexArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
Features: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
"""A matrix of records, in either precision."""
