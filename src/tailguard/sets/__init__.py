"""Constraint sets: project, diameter, linear minimisation; one set a file.

``registry`` lists the sets by name; ``base`` says what a set must offer.
"""

from .base import BoundedSet, ConstraintSet
from .box import Box
from .intersection import Intersection
from .intersection_with_ball import IntersectionWithBall
from .l1_ball import L1Ball
from .l2_ball import L2Ball
from .registry import make_set
from .simplex import Simplex
from .sparse_ball import SparseBall
from .whole_space import WholeSpace

__all__ = [
    "BoundedSet",
    "Box",
    "ConstraintSet",
    "Intersection",
    "IntersectionWithBall",
    "L1Ball",
    "L2Ball",
    "Simplex",
    "SparseBall",
    "WholeSpace",
    "make_set",
]
