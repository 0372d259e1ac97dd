"""Constraint sets: projection, diameter, membership; one set per file.

``registry`` lists the sets by name; ``base`` defines their interface.
"""

from tailguard.checks import with_named_arguments

from .base import ConstraintSet
from .box import Box
from .intersection import Intersection
from .intersection_with_ball import IntersectionWithBall
from .l1_ball import L1Ball
from .l2_ball import L2Ball
from .simplex import Simplex
from .sparse_ball import SparseBall
from .whole_space import WholeSpace

__all__ = [
    "Box",
    "ConstraintSet",
    "Intersection",
    "IntersectionWithBall",
    "L1Ball",
    "L2Ball",
    "Simplex",
    "SparseBall",
    "WholeSpace",
]
__calls__ = [with_named_arguments(globals()[name], methods=False) for name in __all__]
