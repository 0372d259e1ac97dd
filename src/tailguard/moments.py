"""Assumptions on tails: a bound on a moment, and the kind of the moment.

The papers mean different things by "bounded moments of order k". Without a proof, a bound on one
kind of moment says nothing about another kind, so the kind is part of the statement. A wrong bound
costs accuracy and never privacy.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tailguard.checks import (
    InputError,
    check_between,
    check_choice,
    check_finite,
    check_positive,
    shown,
)

MomentKind: TypeAlias = Literal["central", "raw", "directional", "norm"]

KINDS: tuple[MomentKind, ...] = ("central", "raw", "directional", "norm")
MEANINGS = {
    "central": "E|x_j - E x_j|^k of every coordinate",
    "raw": "E|x_j|^k of every coordinate",
    "directional": "E|<u, x>|^k of every unit vector u",
    "norm": "E||x||^k of the whole vector",
}
# Cauchy and Schwarz: ||x|| >= |<u, x>| >= |x_j| for the unit vector u along coordinate j.
STRONGER = {"norm": ("directional", "raw"), "directional": ("raw",)}

LARGEST_MEAN = 1e150  # its square is in the range of floats


@dataclass(frozen=True)
class Moment:
    """A bound ``E|.|^order <= bound``, in the units of the data to the power ``order``.

    ``kind`` names the quantity: ``"central"``, each coordinate about its mean; ``"raw"``, each
    coordinate about zero; ``"directional"``, the projection on any unit vector; ``"norm"``, the l2
    norm.

    Examples
    --------
    >>> Moment(2.0, 9.0, kind="raw").describe()
    'E|x_j|^k of every coordinate is at most 9 for k = 2'
    """

    order: float
    bound: float
    kind: MomentKind = "central"

    def __post_init__(self) -> None:
        _check_order(self.order)
        check_positive("bound", self.bound)
        check_choice("kind", self.kind, KINDS)

    @property
    def scale(self) -> float:
        """The bound to the power ``1 / order``, in the units of the data."""
        return float(self.bound ** (1.0 / self.order))

    def describe(self) -> str:
        """Describe the moment in words."""
        return f"{MEANINGS[self.kind]} is at most {self.bound:g} for k = {self.order:g}"

    def at_order(self, order: float) -> "Moment":
        """Return the implied bound of a lower order: ``bound ** (order / self.order)``.

        *Reference.* Lyapunov's inequality (Jensen 1906).

        Examples
        --------
        >>> Moment(4.0, 16.0).at_order(2.0).bound
        4.0
        """
        if _check_order(order) > self.order:
            raise InputError(
                f"order must be at most {self.order:g}, the order of the moment; got {order:g}."
            )
        return replace(self, order=order, bound=self.bound ** (order / self.order))

    def convert(self, kind: MomentKind, *, n_features: int | None = None) -> "Moment":
        """Return the implied bound of another kind if there is a proof; else raise ``InputError``.

        A norm bounds every projection, and projections bound every coordinate. With one column,
        raw, directional and norm moments are equal. The variance is at most the second raw moment.

        *Reference.* Zhao et al. 2024, proof of Theorem 2: ``Var <u, x> <= E <u, x>^2``.

        Examples
        --------
        >>> Moment(2.0, 9.0, kind="norm").convert("raw")
        Moment(order=2.0, bound=9.0, kind='raw')
        >>> Moment(3.0, 9.0, kind="central").convert("raw")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        tailguard.checks.InputError: moment must be of kind 'raw' here; a bound of kind ...
        """
        check_choice("kind", kind, KINDS)
        same_in_one_column = n_features == 1 and "central" not in (self.kind, kind)
        bounds_variance = self.order == 2.0 and kind == "central"
        if (
            kind == self.kind
            or same_in_one_column
            or bounds_variance
            or kind in STRONGER.get(self.kind, ())
        ):
            return replace(self, kind=kind)
        raise InputError(
            f"moment must be of kind {kind!r} here; a bound of kind {self.kind!r} and order "
            f"{self.order:g} does not imply one."
        )

    def with_mean(self, mean_bound: float) -> "Moment":
        """Turn a central second moment into a raw one, given a bound on every coordinate's mean.

        *Reference.* Kamath, Liu and Zhang 2022, Appendix B.5: ``E x^2 = Var x + (E x)^2``.

        Examples
        --------
        >>> Moment(2.0, 4.0).with_mean(3.0)
        Moment(order=2.0, bound=13.0, kind='raw')
        """
        if self.kind != "central" or self.order != 2.0:
            raise InputError(
                "moment must be of kind 'central' and order 2 to become one of kind 'raw'; got "
                f"kind {self.kind!r} and order {self.order:g}."
            )
        mean = check_between("mean_bound", mean_bound, -LARGEST_MEAN, LARGEST_MEAN)
        return Moment(2.0, self.bound + mean**2, kind="raw")


def check_moment(name: str, moment: object) -> Moment:
    """Return a moment, and refuse anything else."""
    if not isinstance(moment, Moment):
        raise InputError(f"{name} must be a tg.Moment; got {shown(moment)}.")
    return moment


def _check_order(order: object) -> float:
    number = check_finite("order", order)
    if number <= 1.0:
        raise InputError(f"order must be a finite number above 1; got {shown(order)}.")
    return number
