"""Algorithms on the laws in the proofs of three papers' lower bounds, compared with both bounds.

The lower bounds are Fano's with all constants, on average over the laws of a packing. The
experiment runs a few of these laws, which differ only in the order or the signs of columns. The
loss ``|w - x|^2 / 2`` is not a loss of one score. So each record is reduced to one random column:
the mean loss is the same, and an algorithm that is private for columns is private for records, so
the lower bound holds.

Reference
---------
Kamath, Liu and Zhang 2022, Theorems 1.4, 6.1, 6.4 and B.7; Tao and others 2022, Theorems 2, 8, 9
and 11; Xu and others 2025, Theorems 4 and 5; constants of :mod:`tailguard.papers.fano`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.estimators.mean import mean
from tailguard.losses.squared import Squared
from tailguard.moments import Moment
from tailguard.papers import fano, instances, kamath2022, tao2022, xu2025
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.instances.hard_instances import SpikeLaw
from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment, Setup
from tailguard.papers.reproduce.judges import above, below
from tailguard.papers.reproduce.results import Point
from tailguard.papers.reproduce.risk_cases import QUADRATIC, linear_risk
from tailguard.papers.reproduce.tasks.fits import seed_of_size
from tailguard.privacy.guarantees import ZCDP, PureDP

D, N_LAWS = 32, 2  # columns, and laws of the packing: they differ in the order of columns alone
N_NONZERO = 4  # of sparse means
RHO, EPSILON = 2.0, 2.0  # of the promises
PROMISE = {"epsilon": EPSILON, "delta": 1e-6}
SCALAR = {"moment_order": 1.5, "moment_bound": 1.0, **PROMISE}
ROWS = (2_000, 16_000)  # of hard instances: they are drawn anew for each
GROWTH = {"smoothness": 1.0, "growth_constant": 0.5}  # the same as a growth of 2
LEAST, MOST = "lower bound, with constants", "upper bound of the analysis"
LARGEST, CENTRE = "largest risk on the set", "centre of the set"

Laws = Callable[[int], Sequence[Any]]  # by the number of records


@dataclass(frozen=True)
class HardCase:
    """One lower bound: its laws by the number of records, and the algorithms run on them.

    Attributes
    ----------
    name
        Paper and theorem.
    laws
        A few laws of the packing, by the number of records.
    least
        The lower bound with constants.
    theorems
        Curve -> a theorem by the number of records: on ``-<w, x>`` if that is the risk, else on
        ``|w - x|^2 / 2`` with records reduced to one column.
    means
        Curve -> options of a private mean; for a linear loss only its direction counts.
    risk
        A function from a point and a law to a risk.
    most
        The upper bound; None takes that of the first theorem.
    radius
        The radius of the set, a ball.
    """

    name: str
    laws: Laws
    least: Callable[[int], float]
    theorems: Mapping[str, Callable[[int], Theorem]] = field(default_factory=dict)
    means: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    risk: Callable[[Any, Any], float] = instances.squared_excess
    most: Callable[[int], float] | None = None
    radius: Callable[[int], float] = lambda n_rows: 1.0

    @property
    def curves(self) -> tuple[str, ...]:
        """The algorithms."""
        return (*self.theorems, *self.means)

    def upper_bound(self, n_rows: int) -> float:
        """Return the upper bound of the theorem that is run."""
        if self.most is not None:
            return self.most(n_rows)
        return next(iter(self.theorems.values()))(n_rows).bound

    def answer(self, curve: str, n_rows: int, law: Any, seed: int) -> FloatArray:
        """Run one algorithm on records of a law."""
        drawn = seed_of_size(seed, n_rows, law.mean.size)
        linear = self.risk is instances.linear_excess
        rows = law.sample(n_rows, seed=drawn)
        if curve in self.means:
            value = np.atleast_1d(mean(rows, random_state=drawn, **self.means[curve]).value)
            return value / np.linalg.norm(value) if linear else value
        theorem = self.theorems[curve](n_rows)
        if linear:
            return linear_risk(theorem, rows, seed)
        features, target = instances.one_column_each(rows, seed=drawn + 1)
        return np.asarray(theorem.minimize(Squared(), features, target, random_state=drawn).coef)

    def points(self, n_rows: int, seed: int) -> list[Point]:
        """Measure the worst law of each algorithm; add both bounds and an answer without data."""
        laws, place = self.laws(n_rows), float(n_rows)
        risks = {
            curve: max(self.risk(law, self.answer(curve, n_rows, law, seed)) for law in laws)
            for curve in self.curves
        }
        radius = self.radius(n_rows)
        far = [law.mean * (-radius / max(float(np.linalg.norm(law.mean)), 1e-300)) for law in laws]
        drawn = {
            LEAST: self.least(n_rows),
            MOST: self.upper_bound(n_rows),
            LARGEST: max(self.risk(law, point) for law, point in zip(laws, far, strict=True)),
            CENTRE: max(self.risk(law, np.zeros(law.mean.size)) for law in laws),
        }
        return [Point(self.name, curve, "tight", place, x) for curve, x in risks.items()] + [
            Point(self.name, curve, "-", place, x) for curve, x in drawn.items()
        ]


def _means(order: float, n_rows: int) -> Sequence[Any]:
    chance = instances.zcdp_chance(n_rows, D, rho=RHO)
    return instances.hard_means(D, N_LAWS, chance=chance, moment_order=order)


def _means_pure(n_rows: int) -> Sequence[Any]:
    chance = instances.pure_chance(n_rows, WORDS, epsilon=EPSILON)
    return instances.hard_means(D, N_LAWS, chance=chance, moment_order=2.0)


def _sparse_means(n_rows: int) -> Sequence[Any]:
    chance = instances.zcdp_chance(n_rows, SPARSE_WORDS, rho=RHO)
    return instances.hard_sparse_means(D, N_NONZERO, N_LAWS, chance=chance, moment_order=2.0)


def _scalars(n_rows: int) -> Sequence[Any]:
    """Return a scalar spike, and the law of zeros from which to distinguish it."""
    hard = instances.hard_scalar_mean(n_rows=n_rows, moment_order=1.5, epsilon=EPSILON)
    return hard, SpikeLaw(np.zeros(1), chance=1.0)


def _growing(n_rows: int) -> Sequence[Any]:
    known: dict[str, Any] = {"rho": RHO, "growth": 2.0, "moment_order": 2.0}
    return instances.hard_tsybakov(D, N_LAWS, n_rows=n_rows, **known)


def _fair_signs(n_rows: int) -> Sequence[Any]:
    return instances.hard_tsybakov_sampling(D, N_LAWS, n_rows=n_rows, growth=2.0)


def _laws_of(growing: Laws, n_rows: int) -> Sequence[Any]:
    return [instance.law for instance in growing(n_rows)]


def _fano(
    law: SpikeLaw, separation: float, log_n_laws: float, n_rows: int, *, pure: bool = False
) -> float:
    """Return Fano's bound on the squared distance between spikes."""
    facts: dict[str, Any] = {"log_n_laws": log_n_laws, "n_rows": n_rows, "power": 2.0}
    facts |= {"separation": separation, "total_variation": law.chance}
    if pure:
        return fano.fano_bound_pure(epsilon=EPSILON, **facts)
    return fano.fano_bound(rho=RHO, **facts)


def _least(
    laws: Laws, log_n_laws: float, places: float, n_rows: int, *, per_place: float = 1.0
) -> float:
    """Return half of the squared distance of spikes along words of a packing.

    They differ in at least ``places`` entries, by ``per_place`` times the spike in each.
    """
    law = laws(n_rows)[0]
    apart = law.chance * float(np.abs(law.point).max()) * per_place * math.sqrt(places)
    return 0.5 * _fano(law, apart, log_n_laws, n_rows)


def _least_linear(laws: Laws, n_rows: int, *, pure: bool = False) -> float:
    """Fano's bound on the excess of a linear loss on the unit ball.

    For a unit vector v along the mean and w in the ball, ``|w - v|^2 <= 2 (1 - <w, v>)``: the
    excess is at least half of the mean's norm times the squared distance from v.
    """
    law, apart = laws(n_rows)[0], math.sqrt(2.0 * PLACES / D)
    squared = _fano(law, apart, WORDS, n_rows, pure=pure)
    return float(np.linalg.norm(law.mean)) / 2.0 * squared


def _least_sampling(n_rows: int) -> float:
    """Fano's bound for nearly unbiased signs, which holds without privacy."""
    law = _fair_signs(n_rows)[0].law
    apart = 2.0 * law.bias * law.size * math.sqrt(NEAR)
    known: dict[str, Any] = {"log_n_laws": SIGN_WORDS, "divergence": law.divergence(D)}
    known |= {"separation": apart, "total_variation": 1.0, "power": 2.0}
    return 0.5 * fano.fano_bound(n_rows=n_rows, rho=RHO, **known)


def _on_zcdp(call: Callable[..., Any], moment: Moment, **facts: Any) -> Callable[[int], Theorem]:
    """Return a theorem as a function of the number of records."""
    facts.setdefault("diameter", 2.0)
    return lambda n_rows: call(n_rows, D, ZCDP(RHO), moment=moment, **facts)


def _growth_case(name: str, growing: Laws, least: Callable[[int], float]) -> HardCase:
    """Return a case of a risk that grows, in a ball whose radius depends on the number of records.

    Records are reduced to one column, which has D times the moment of the norm.
    """

    def radius(n_rows: int) -> float:
        return float(growing(n_rows)[0].radius)

    def theorem(n_rows: int) -> Theorem:
        moment, diameter = Moment(2.0, float(D), kind="norm"), 2.0 * radius(n_rows)
        return _on_zcdp(xu2025.accelerated_growth, moment, diameter=diameter, **GROWTH)(n_rows)

    return HardCase(name, partial(_laws_of, growing), least, {"Xu 7": theorem}, radius=radius)


WORDS, PLACES = fano.log_packing_size(D), fano.least_distance(D)
# Of sparse words: Raskutti, Wainwright and Yu 2011.
SPARSE_WORDS = N_NONZERO / 2.0 * math.log(2.0 * (D - N_NONZERO) / N_NONZERO)
# A lower bound on the number of words of signs at the distance of sign_words: Gilbert 1952.
NEAR = math.ceil(D / 8)
SIGN_WORDS = D * math.log(2.0) - math.log(sum(math.comb(D, i) for i in range(NEAR)))
SQUARES, HEAVIER = partial(_means, 2.0), partial(_means, 1.5)  # by the order of their moments
CLAMPED = {"method": "clamped", "moment": Moment(2.0, 1.0)}
TRUNCATED = {"method": "truncated", "moment": Moment(1.5, 1.0, kind="raw")}
SPARSE = {"n_nonzero": N_NONZERO, "n_kept": 8}

# Lower bounds with the upper bound of their paper; papers-bounds.md has their table. A record
# reduced to one of D columns, times the root of D, has D^(k-1) times the moment.
# fmt: off
ROWS_OF_TABLE = (
    HardCase(
        "Kamath 6.1", SQUARES, partial(_least, SQUARES, WORDS, PLACES),
        {"Kamath 5.7": _on_zcdp(kamath2022.strongly_convex, Moment(2.0, float(D)), **QUADRATIC)},
        {"Kamath 4.2, the mean": {"guarantee": ZCDP(RHO), **CLAMPED}},
    ),
    HardCase(
        "Kamath 6.4", SQUARES, partial(_least_linear, SQUARES),
        {"Kamath 5.2": _on_zcdp(kamath2022.convex, Moment(2.0, 1.0))},
        risk=instances.linear_excess,
    ),
    HardCase(
        "Kamath B.7", _means_pure, partial(_least_linear, _means_pure, pure=True),
        means={"Kamath 4.2, the pure mean's direction": {"guarantee": PureDP(EPSILON), **CLAMPED}},
        risk=instances.linear_excess,
        most=lambda n_rows: 2.0 * kamath2022.mean_bound_pure(
            n_rows=n_rows, n_features=D, moment_order=2.0, epsilon=EPSILON),
    ),
    HardCase(
        "Tao 2", _scalars, lambda n_rows: tao2022.scalar_lower_bound(n_rows=n_rows, **SCALAR),
        means={"Tao 1, the mean": {**PROMISE, **TRUNCATED}},
        risk=lambda law, point: float(np.linalg.norm(point - law.mean)),
        most=lambda n_rows: tao2022.scalar_mean_bound(
            n_rows=n_rows, failure_probability=0.1, **SCALAR),
    ),
    HardCase(
        "Tao 8", HEAVIER, partial(_least, HEAVIER, WORDS, PLACES),
        {"Tao 7": _on_zcdp(tao2022.strongly_convex, Moment(1.5, D**0.5, kind="raw"), **QUADRATIC)},
    ),
    HardCase(
        "Tao 9", HEAVIER, partial(_least_linear, HEAVIER),
        {"Tao 6": _on_zcdp(tao2022.convex, Moment(1.5, 1.0, kind="raw"))},
        risk=instances.linear_excess,
    ),
    HardCase(
        "Tao 11", _sparse_means, partial(_least, _sparse_means, SPARSE_WORDS, N_NONZERO / 2.0),
        {"Tao 10": _on_zcdp(tao2022.sparse, Moment(2.0, float(D), kind="raw"), **SPARSE,
                            **QUADRATIC)},
    ),
    _growth_case("Xu 4", _growing,
                 partial(_least, partial(_laws_of, _growing), SIGN_WORDS, NEAR, per_place=2.0)),
    _growth_case("Xu 5", _fair_signs, _least_sampling),
)
# fmt: on

CASES = {case.name: case for case in ROWS_OF_TABLE}
"""Lower bound -> the case with its laws and algorithms."""


def _cells(setup: Setup) -> Sequence[Cell]:
    counts = ROWS[:1] if setup.quick else ROWS
    return [
        Cell(f"{case.name}, n = {n_rows}", partial(case.points, n_rows))
        for case in CASES.values()
        for n_rows in counts
    ]


_check = partial(Claim, kind="check")
VACUOUS = (
    "The upper bound is vacuous here: with its constants it is above the risk of every point of "
    "the set."
)


def _between(name: str, curve: str) -> list[Claim]:
    least = "No algorithm of that privacy risks less than the lower bound."
    most = "The algorithm risks at most what its theorem says."
    return [
        _check(f"{name}, {curve}, from below", least, above(curve, LEAST, panels=[name])),
        _check(f"{name}, {curve}, from above", most, below(curve, MOST, panels=[name])),
    ]


def _meaning(name: str) -> Claim:
    says = "The upper bound says more than that answers lie in the set."
    return _check(f"{name}, upper bound", says, below(MOST, LARGEST, panels=[name]), VACUOUS)


def experiments() -> tuple[Experiment, ...]:
    """List the one experiment on lower bounds."""
    places = ((name, curve) for name, case in CASES.items() for curve in case.curves)
    between = [claim for place in places for claim in _between(*place)]
    source = "Kamath, Tao and Xu, lower bounds"
    title = "risk of the papers' algorithms on the hard instances, between both bounds"
    axes = Axes("records", "excess risk (Tao 2: error)", log_x=True)
    claims = (*between, *map(_meaning, CASES))
    return (Experiment("lower-bounds", source, title, axes, _cells, claims),)
