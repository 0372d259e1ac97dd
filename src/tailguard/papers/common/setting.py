"""The public facts that theorems need, in the form that their formulas use.

Reference
---------
Bun and Steinke 2016, Proposition 1.3 (epsilon and delta of a promise that has none).
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

from tailguard.checks import InputError, check_choice, check_integer
from tailguard.means.formulas import LARGEST_COUNT, check_facts, evaluate
from tailguard.moments import Moment
from tailguard.papers.common.steps import whole_steps
from tailguard.papers.printed.terms import CALIBRATIONS, printed_in
from tailguard.privacy.accounting.zcdp import rho_of_simple
from tailguard.privacy.guarantees import ApproxDP, Guarantee, PureDP

Value = TypeVar("Value")


def mean_curvature(known: Collection[float], fallback: float) -> float:
    """Return the geometric mean of the known bounds on the curvature, or the fallback."""
    return float(math.prod(known) ** (1.0 / len(known))) if known else fallback


@dataclass(frozen=True)
class Facts:
    """Public facts about a problem, and options of a theorem.

    Attributes
    ----------
    n_rows, n_features, guarantee
        Public sizes (an intercept counts as a feature) and the promise.
    moment
        A bound on a moment of the gradients, of the kind that the paper assumes.
    diameter
        The diameter of the constraint set.
    strong_convexity, smoothness
        Those of the risk, if the theorem needs them.
    gradient_bound
        A bound on the mean gradient on the set.
    n_steps
        If given, it replaces the theorem's number of steps.
    calibration
        ``"tight"``, or ``"printed"`` for noise, thresholds, sizes and steps as printed, which may
        be less private than the promise.
    doubled
        Whether the moment is of twice the order of the rate.
    """

    n_rows: int
    n_features: int
    guarantee: Guarantee
    moment: Moment
    diameter: float
    strong_convexity: float | None = None
    smoothness: float | None = None
    gradient_bound: float = 1.0
    n_steps: int | None = None
    calibration: str = "tight"

    doubled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_facts(**self.sizes, diameter=self.diameter, gradient_bound=self.gradient_bound)
        check_facts(**self.shape)
        if self.n_steps is not None:
            check_integer("n_steps", self.n_steps, minimum=1)
        check_choice("calibration", self.calibration, CALIBRATIONS)

    @property
    def mu(self) -> float:
        """The mu that all Gaussian releases may spend together."""
        return self.guarantee.gaussian_mu()

    @property
    def rho(self) -> float:
        """The rho of zCDP that they may spend: half of mu squared."""
        return self.mu**2 / 2.0

    @property
    def terms(self) -> tuple[float, float]:
        """Epsilon and delta for formulas that are printed in them.

        For a promise without delta they have ``rho = epsilon^2 / (4 log(1/delta))`` and
        ``log(1/delta) = 1``, as Bun and Steinke 2016 convert for small rho.
        """
        if isinstance(self.guarantee, ApproxDP):
            return self.guarantee.epsilon, self.guarantee.delta
        if isinstance(self.guarantee, PureDP):
            return self.guarantee.epsilon, math.exp(-1.0)
        return 2.0 * math.sqrt(self.rho), math.exp(-1.0)

    @property
    def printed_terms(self) -> tuple[float, float]:
        """Epsilon and delta for printed noise, which is stated only for them."""
        asked = printed_in(self.guarantee)
        return asked.epsilon, asked.delta

    @property
    def prints(self) -> bool:
        """Whether noise, thresholds, sizes and steps are to be as printed."""
        return self.calibration == "printed"

    def as_printed(self) -> Self:
        """Return the facts for thresholds of papers that set the moment to 1.

        With tight noise the moment is not set to 1: the facts are returned as they are.
        """
        return replace(self, moment=replace(self.moment, bound=1.0)) if self.prints else self

    @property
    def root_size(self) -> float:
        """The root of the number of coordinates: converts an error of each to the l2 norm."""
        return math.sqrt(self.n_features)

    @property
    def sizes(self) -> dict[str, Any]:
        """The sizes, by their names in formulas."""
        return {"n_rows": self.n_rows, "n_features": self.n_features}

    @property
    def shape(self) -> dict[str, Any]:
        """The stated bounds on the risk's curvature, by their names in formulas."""
        known = {"strong_convexity": self.strong_convexity, "smoothness": self.smoothness}
        return {name: value for name, value in known.items() if value is not None}

    def into(self, formula: Callable[..., Value], **others: Any) -> Value:
        """Call a formula with the facts that its parameters name; ``others`` override them."""
        known = {"moment_order": self.moment.order, "moment_bound": self.moment.bound}
        known |= dict(zip(("epsilon", "delta"), self.terms, strict=True))
        return evaluate(formula, lambda name: known.get(name, getattr(self, name, None)), **others)

    @property
    def curvature(self) -> float:
        """The geometric mean of its stated bounds, or the gradient bound over the diameter."""
        return mean_curvature(self.shape.values(), self.gradient_bound / self.diameter)

    def sampling(self, n_rows: int | None = None) -> float:
        """Return the typical error of a coordinate of the mean of ``n_rows`` records, or of all."""
        return self.moment.scale / math.sqrt(n_rows or self.n_rows)

    def steps(self, count: float, *, maximum: int = 1000) -> int:
        """Return the user's number of steps, or the theorem's, rounded to a whole number.

        With printed noise ``maximum`` does not apply.
        """
        return self.n_steps or whole_steps(count, maximum=LARGEST_COUNT if self.prints else maximum)

    def block_rows(self, n_steps: int) -> int:
        """Return how many records each step has if every step reads its own, or refuse."""
        if n_steps > self.n_rows:
            raise InputError(
                f"n_steps must be at most n_rows = {self.n_rows}, since every step reads records "
                f"of its own; got {n_steps}."
            )
        return self.n_rows // n_steps

    def spent(self) -> Guarantee:
        """Return what a run with tight noise spends: the guarantee; refuse printed noise."""
        if self.prints:
            raise InputError("calibration must be 'tight' here: the paper prints no noise.")
        return self.guarantee


@dataclass(frozen=True)
class Concentrated(Facts):
    """The facts of a theorem for zCDP, to which its paper converts epsilon and delta itself."""

    @property
    def mu(self) -> float:
        """The mu of the guarantee or, with printed noise, of the textbook's conversion."""
        if self.prints and isinstance(self.guarantee, ApproxDP):
            return math.sqrt(2.0 * rho_of_simple(*self.terms))
        return self.guarantee.gaussian_mu()
