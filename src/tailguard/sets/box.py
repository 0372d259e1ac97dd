"""An interval for each coordinate."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_cost, shown

from .base import as_entries, as_numbers, as_point, length


@dataclass(frozen=True)
class Box:
    """Points with every coordinate between ``low`` and ``high``.

    Parameters
    ----------
    low, high
        Vectors, or one number for all coordinates. Infinite bounds are allowed:
        ``Box(0, float("inf"))`` holds the vectors without negative entries.

    Edge cases
    ----------
    A box given by two numbers does not know how many coordinates it has, so its diameter is
    infinite.

    Examples
    --------
    >>> Box([0.0, 0.0], [1.0, 2.0]).project([-1.0, 5.0])
    array([0., 2.])
    """

    name: ClassVar[str] = "box"
    # arguments that the contract tests try
    contract_examples = (([-1, 0, 2], [1, 10, 2]), (-0.1, 1.0), (0.0, math.inf))
