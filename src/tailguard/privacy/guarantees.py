"""Privacy guarantees: four ways to state a promise.

All of them are about replace-one neighbours: two data sets of the same public size in which one
record differs; any record may replace it.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, TypeAlias

from tailguard.checks import InputError, check_choice, check_open_unit, check_positive, shown
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.privacy.roots import down

# Promises beyond either limit are useless, and their noise does not fit into floats.
WEAKEST, STRONGEST = 1e15, 1e-15


@dataclass(frozen=True)
class _Promise:
    """Base of the four guarantees, whose numbers are checked and put into words."""

    kind: ClassVar[str]
    words: ClassVar[str]

    def __post_init__(self) -> None:
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if name == "delta":
                check_open_unit(name, value)
            elif not STRONGEST <= check_positive(name, value) <= WEAKEST:
                raise InputError(
                    f"{name} must lie between {STRONGEST:g} and {WEAKEST:g}; got {shown(value)}."
                )

    @property
    def strength(self) -> tuple[str, float]:
        """Name and value of the first number, with which costs are compared."""
        name = fields(self)[0].name
        return name, getattr(self, name)

    def describe(self) -> str:
        """Describe it in plain words."""
        numbers = " and ".join([f"{name} = {value:g}" for name, value in asdict(self).items()])
        return f"{self.words} with {numbers}"

    def to_dict(self) -> dict[str, float | str]:
        """Return it as plain data."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class ApproxDP(_Promise):
    """(``epsilon``, ``delta``) differential privacy.

    *Guarantee.* Whatever the outcome, replacing one record multiplies its probability by at most
    exp(epsilon), up to an extra probability of ``delta``.

    *Reference.* Dwork, Kenthapadi, McSherry, Mironov and Naor 2006, Definition 1.

    Examples
    --------
    >>> ApproxDP(epsilon=1.0, delta=1e-6).describe()
    '(epsilon, delta)-differential privacy with epsilon = 1 and delta = 1e-06'
    """

    epsilon: float
    delta: float
    kind: ClassVar[str] = "approx"
    words: ClassVar[str] = "(epsilon, delta)-differential privacy"

    def gaussian_mu(self) -> float:
        """Return the largest total mu of Gaussian releases that keeps the promise, rounded down."""
        return mu_of(self.epsilon, self.delta)

    def of_one_row(self, n_rows: int) -> "ApproxDP":
        """Return the guarantee of a row that implies this one for ``n_rows`` together.

        This is group privacy for data sets of one public size that differ in ``n_rows`` rows. The
        deltas of single rows add up to ``(e^epsilon - 1) / (e^each - 1)`` times the delta of one
        row, where ``each`` is the epsilon of one row (Vadhan 2017, Lemma 2.2).
        """
        each, total = down(self.epsilon / n_rows), self.epsilon
        delta_factor = math.exp(each - total) * math.expm1(-each) / math.expm1(-total)
        return ApproxDP(each, down(self.delta * delta_factor))


@dataclass(frozen=True)
class PureDP(_Promise):
    """Pure ``epsilon`` differential privacy, which Gaussian noise cannot give.

    *Guarantee.* Whatever the outcome, replacing one record multiplies its probability by at most
    exp(epsilon).

    *Reference.* Dwork, McSherry, Nissim and Smith 2006, Definition 1.

    Examples
    --------
    >>> PureDP(1.0).describe()
    'pure differential privacy with epsilon = 1'
    """

    epsilon: float
    kind: ClassVar[str] = "pure"
    words: ClassVar[str] = "pure differential privacy"
    delta: ClassVar[float] = 0.0

    def gaussian_mu(self) -> float:
        """Refuse: no Gaussian release is pure DP."""
        raise InputError(
            "guarantee must not be PureDP here: pure DP needs a method with a pure mechanism, and "
            "this one adds Gaussian noise; pass ApproxDP, ZCDP or GDP."
        )

    def of_one_row(self, n_rows: int) -> "PureDP":
        """Return the guarantee of a row that implies this one for ``n_rows`` together.

        *Reference.* Dwork and Roth 2014, Theorem 2.2.
        """
        return PureDP(down(self.epsilon / n_rows))


@dataclass(frozen=True)
class ZCDP(_Promise):
    """Zero-concentrated differential privacy with parameter ``rho``; no delta is part of it.

    *Guarantee.* Replacing one record moves the outcome's distribution by a Renyi divergence of at
    most ``rho`` times the order, for every order above 1.

    *Reference.* Bun and Steinke 2016, Definition 1.1.

    Examples
    --------
    >>> round(ZCDP(rho=0.5).gaussian_mu(), 9)
    1.0
    """

    rho: float
    kind: ClassVar[str] = "zcdp"
    words: ClassVar[str] = "zero-concentrated differential privacy"
    delta: ClassVar[None] = None

    def gaussian_mu(self) -> float:
        """Return the largest total mu of Gaussian releases that keeps it, rounded down."""
        return down(math.sqrt(2.0 * self.rho))

    def of_one_row(self, n_rows: int) -> "ZCDP":
        """Return the guarantee of a row that implies this one for ``n_rows`` together.

        *Reference.* Bun and Steinke 2016, Proposition 1.9.
        """
        return ZCDP(down(self.rho / n_rows**2))


@dataclass(frozen=True)
class GDP(_Promise):
    """Gaussian differential privacy with parameter ``mu``; no delta is part of it.

    *Guarantee.* Telling two neighbours apart is at least as hard as telling N(0, 1) from N(mu, 1).

    *Reference.* Dong, Roth and Su 2022, Definition 2.6.

    Examples
    --------
    >>> GDP(mu=1.0).describe()
    'Gaussian differential privacy with mu = 1'
    """

    mu: float
    kind: ClassVar[str] = "gdp"
    words: ClassVar[str] = "Gaussian differential privacy"
    delta: ClassVar[None] = None

    def gaussian_mu(self) -> float:
        """Return the largest total mu of Gaussian releases that keeps it, rounded down."""
        return down(self.mu)

    def of_one_row(self, n_rows: int) -> "GDP":
        """Return the guarantee of a row that implies this one for ``n_rows`` together.

        *Reference.* Dong, Roth and Su 2022, Theorem 2.14.
        """
        return GDP(down(self.mu / n_rows))


Guarantee: TypeAlias = ApproxDP | PureDP | ZCDP | GDP

KINDS: dict[str, type[Guarantee]] = {each.kind: each for each in (ApproxDP, PureDP, ZCDP, GDP)}


def check_guarantee(guarantee: object) -> Guarantee:
    """Return a guarantee of one of the four classes; a subclass could mean anything."""
    if type(guarantee) not in KINDS.values():
        raise InputError(
            f"guarantee must be an ApproxDP, PureDP, ZCDP or GDP; got {shown(guarantee)}."
        )
    return guarantee  # type: ignore[return-value]


def guarantee_from_dict(data: Mapping[str, Any]) -> Guarantee:
    """Read a guarantee back from its dictionary."""
    numbers = {name: value for name, value in data.items() if name != "kind"}
    return KINDS[check_choice("kind", str(data.get("kind")), KINDS)](**numbers)


def resolve_guarantee(
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    guarantee: Guarantee | None = None,
) -> Guarantee:
    """Turn a user's arguments into a guarantee; there is no default privacy.

    *Edge cases.* Pass either ``epsilon`` and ``delta``, or ``guarantee``; not both.

    Examples
    --------
    >>> resolve_guarantee(epsilon=1.0, delta=1e-6)
    ApproxDP(epsilon=1.0, delta=1e-06)
    """
    if guarantee is not None:
        if epsilon is not None or delta is not None:
            raise InputError("Pass either guarantee=, or epsilon= and delta=; not both.")
        return check_guarantee(guarantee)
    if epsilon is None and delta is None:
        raise InputError(
            "Privacy parameters are missing: pass epsilon= and delta=, or guarantee= "
            "(for example guarantee=tailguard.ZCDP(0.5)); there is no default privacy."
        )
    if delta is None:
        raise InputError(
            f"delta is missing beside epsilon={shown(epsilon)}: pass delta= (for example 1e-6), or "
            "guarantee=tailguard.PureDP(epsilon) with a method that has a pure mechanism."
        )
    if epsilon is None:
        raise InputError(f"epsilon is missing beside delta={shown(delta)}: pass epsilon=.")
    return ApproxDP(epsilon, delta)


LARGE_EPSILON = 20.0  # beyond it odds may rise by a factor above 5e8, which protects nobody


def weak_promise(guarantee: Guarantee, n_rows: int) -> tuple[str, ...]:
    """Return warnings if a promise is too weak to mean much, from public numbers.

    *Reference.* Dwork and Roth 2014, Section 2.3: with ``delta`` of ``1 / n`` a mechanism that
    publishes one record in full keeps the promise.
    """
    warnings = []
    epsilon, delta = getattr(guarantee, "epsilon", 0.0), guarantee.delta or 0.0
    if epsilon > LARGE_EPSILON:
        warnings.append(
            f"epsilon should be about 1, and at most {LARGE_EPSILON:g}; got {epsilon:g}, at which "
            "an attacker's odds of a right guess about one record may rise by a factor of "
            f"{math.exp(min(epsilon, 700.0)):.2g}."
        )
    if delta * n_rows >= 1.0:
        warnings.append(
            f"delta should be far below 1 / n = {1.0 / n_rows:.3g}; got {delta:g}, at which "
            "publishing a whole record would keep the promise."
        )
    return tuple(warnings)
