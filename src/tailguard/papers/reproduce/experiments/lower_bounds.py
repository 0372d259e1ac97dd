"""The lower bounds of three papers: their laws, their constants, and the algorithms run on them.

Reference
---------
Kamath, Liu and Zhang 2022, Theorems 1.4, 6.1, 6.4 and B.7; Tao and others 2022, Theorems 2, 8, 9
and 11; Xu and others 2025, Theorems 4 and 5; constants as :mod:`tailguard.papers.fano` has them.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.moments import Moment
from tailguard.papers import fano, kamath2022, tao2022, xu2025
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.instances.hard_instances import (
    hard_means,
    hard_scalar_mean,
    hard_sparse_means,
    linear_excess,
    pure_chance,
    zcdp_chance,
)
from tailguard.papers.instances.hard_laws import SpikeLaw
from tailguard.papers.instances.tsybakov import (
    TsybakovInstance,
    hard_tsybakov,
    hard_tsybakov_sampling,
)
from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment, Setup
from tailguard.papers.reproduce.judges import above, below
from tailguard.papers.reproduce.risk_rates.cases import QUADRATIC
from tailguard.papers.reproduce.risk_rates.hard import LARGEST, LEAST, MOST, HardCase
from tailguard.privacy.guarantees import ZCDP, PureDP

D, N_LAWS = 32, 2  # columns, and laws of the packing: they differ in the order of columns alone
N_NONZERO = 4  # of sparse means
RHO, EPSILON = 2.0, 2.0  # of the promises
PROMISE = {"epsilon": EPSILON, "delta": 1e-6}
SCALAR = {"moment_order": 1.5, "moment_bound": 1.0, **PROMISE}
ROWS = (2_000, 16_000)  # of hard instances: they are drawn anew for each
GROWTH = {"smoothness": 1.0, "growth_constant": 0.5}  # the same as a growth of 2
ZERO = SpikeLaw(np.zeros(1), chance=1.0)  # against which a scalar spike has to be seen

Laws = Callable[[int], Sequence[SpikeLaw]]


def _means(order: float, n_rows: int) -> Sequence[SpikeLaw]:
    return hard_means(D, N_LAWS, chance=zcdp_chance(n_rows, D, rho=RHO), moment_order=order)


def _means_pure(n_rows: int) -> Sequence[SpikeLaw]:
    chance = pure_chance(n_rows, fano.log_packing_size(D), epsilon=EPSILON)
    return hard_means(D, N_LAWS, chance=chance, moment_order=2.0)


def _sparse_means(n_rows: int) -> Sequence[SpikeLaw]:
    chance = zcdp_chance(n_rows, _log_sparse_words(), rho=RHO)
    return hard_sparse_means(D, N_NONZERO, N_LAWS, chance=chance, moment_order=2.0)


def _scalars(n_rows: int) -> Sequence[SpikeLaw]:
    return hard_scalar_mean(n_rows=n_rows, moment_order=1.5, epsilon=EPSILON), ZERO


def _growing(n_rows: int) -> Sequence[TsybakovInstance]:
    return hard_tsybakov(D, N_LAWS, n_rows=n_rows, rho=RHO, growth=2.0, moment_order=2.0)


def _fair_signs(n_rows: int) -> Sequence[TsybakovInstance]:
    return hard_tsybakov_sampling(D, N_LAWS, n_rows=n_rows, growth=2.0)


def _laws_of(instances: Callable[[int], Sequence[TsybakovInstance]], n_rows: int) -> list[Any]:
    return [instance.law for instance in instances(n_rows)]


def _log_sparse_words() -> float:
    """Say how many sparse words there are: Raskutti, Wainwright and Yu 2011."""
    return N_NONZERO / 2.0 * math.log(2.0 * (D - N_NONZERO) / N_NONZERO)


def _log_sign_words() -> float:
    """Say how many words of signs there are at least, as far apart as sign_words has them.

    Gilbert 1952.
    """
    near = sum(math.comb(D, i) for i in range(math.ceil(D / 8)))
    return D * math.log(2.0) - math.log(near)


def _least(laws: Laws, log_n_laws: float, places: float, per_place: float, n_rows: int) -> float:
    """Fano's bound on half of the squared distance, for spikes along words of a packing.

    They differ in at least ``places`` entries, by ``per_place`` times the spike in each.
    """
    law = laws(n_rows)[0]
    apart = law.chance * float(np.abs(law.point).max()) * per_place * math.sqrt(places)
    facts: dict[str, Any] = {"log_n_laws": log_n_laws, "n_rows": n_rows, "rho": RHO, "power": 2.0}
    return 0.5 * fano.fano_bound(separation=apart, total_variation=law.chance, **facts)


def _least_linear(laws: Laws, n_rows: int, *, pure: bool = False) -> float:
    """Fano's bound on the excess of a linear loss on the unit ball.

    For a unit vector v along the mean and w in the ball, ``|w - v|^2 <= 2 (1 - <w, v>)``: the
    excess is at least half of the mean's norm times the squared distance from v.
    """
    law = laws(n_rows)[0]
    facts: dict[str, Any] = {"log_n_laws": fano.log_packing_size(D), "n_rows": n_rows, "power": 2.0}
    facts |= {"separation": math.sqrt(2.0 * fano.least_distance(D) / D)}
    facts |= {"total_variation": law.chance}
    if pure:
        squared = fano.fano_bound_pure(epsilon=EPSILON, **facts)
    else:
        squared = fano.fano_bound(rho=RHO, **facts)
    return float(np.linalg.norm(law.mean)) / 2.0 * squared


def _least_sampling(n_rows: int) -> float:
    """Fano's bound for signs that are hardly biased, which holds without privacy."""
    law: Any = _fair_signs(n_rows)[0].law
    apart = 2.0 * law.bias * law.size * math.sqrt(math.ceil(D / 8))
    told: dict[str, Any] = {"log_n_laws": _log_sign_words(), "divergence": law.divergence(D)}
    told |= {"separation": apart, "total_variation": 1.0, "power": 2.0}
    return 0.5 * fano.fano_bound(n_rows=n_rows, rho=RHO, **told)


def _on_zcdp(call: Callable[..., Any], moment: Moment, **facts: Any) -> Callable[[int], Theorem]:
    """Return a theorem as a function of the number of records."""
    facts.setdefault("diameter", 2.0)

    def theorem(n_rows: int) -> Theorem:
        found: Theorem = call(n_rows, D, ZCDP(RHO), moment=moment, **facts)
        return found

    return theorem


def _growth_theorem(instances: Callable[[int], Sequence[TsybakovInstance]], n_rows: int) -> Theorem:
    """Return Xu 7 for records that show one column: D times the moment of the norm."""
    diameter = 2.0 * instances(n_rows)[0].radius
    moment = Moment(2.0, float(D), kind="norm")
    return _on_zcdp(xu2025.accelerated_growth, moment, diameter=diameter, **GROWTH)(n_rows)


def _distance(law: SpikeLaw, point: FloatArray) -> float:
    return float(np.linalg.norm(point - law.mean))


def _growth_case(
    name: str, instances: Callable[[int], Sequence[TsybakovInstance]], least: Callable[[int], float]
) -> HardCase:
    """Return a case of a risk that grows, in a ball that follows the records."""
    theorem = partial(_growth_theorem, instances)
    return HardCase(
        name,
        partial(_laws_of, instances),
        least,
        {"Xu 7": theorem},
        radius=lambda n_rows: instances(n_rows)[0].radius,
    )


WORDS, PLACES = fano.log_packing_size(D), fano.least_distance(D)
SQUARES, HEAVIER = partial(_means, 2.0), partial(_means, 1.5)  # by the order of their moments
CLAMPED = {"method": "clamped", "moment": Moment(2.0, 1.0)}

# Lower bounds with the upper bound of their paper: papers-bounds.md has their table. A record that
# shows one of D columns, times the root of D, has D^(k-1) times the moment.
ROWS_OF_TABLE = (
    HardCase(
        "Kamath 6.1",
        SQUARES,
        partial(_least, SQUARES, WORDS, PLACES, 1.0),
        {"Kamath 5.7": _on_zcdp(kamath2022.strongly_convex, Moment(2.0, float(D)), **QUADRATIC)},
        {"Kamath 4.2, the mean": {"guarantee": ZCDP(RHO), **CLAMPED}},
    ),
    HardCase(
        "Kamath 6.4",
        SQUARES,
        partial(_least_linear, SQUARES),
        {"Kamath 5.2": _on_zcdp(kamath2022.convex, Moment(2.0, 1.0))},
        risk=linear_excess,
    ),
    HardCase(
        "Kamath B.7",
        _means_pure,
        partial(_least_linear, _means_pure, pure=True),
        means={"Kamath 4.2, the pure mean's direction": {"guarantee": PureDP(EPSILON), **CLAMPED}},
        risk=linear_excess,
        most=lambda n_rows: (
            2.0
            * kamath2022.mean_bound_pure(
                n_rows=n_rows, n_features=D, moment_order=2.0, epsilon=EPSILON
            )
        ),
    ),
    HardCase(
        "Tao 2",
        _scalars,
        lambda n_rows: tao2022.scalar_lower_bound(n_rows=n_rows, **SCALAR),
        means={
            "Tao 1, the mean": {
                **PROMISE,
                "method": "truncated",
                "moment": Moment(1.5, 1.0, kind="raw"),
            }
        },
        risk=_distance,
        most=lambda n_rows: tao2022.scalar_mean_bound(
            n_rows=n_rows, failure_probability=0.1, **SCALAR
        ),
    ),
    HardCase(
        "Tao 8",
        HEAVIER,
        partial(_least, HEAVIER, WORDS, PLACES, 1.0),
        {"Tao 7": _on_zcdp(tao2022.strongly_convex, Moment(1.5, D**0.5, kind="raw"), **QUADRATIC)},
    ),
    HardCase(
        "Tao 9",
        HEAVIER,
        partial(_least_linear, HEAVIER),
        {"Tao 6": _on_zcdp(tao2022.convex, Moment(1.5, 1.0, kind="raw"))},
        risk=linear_excess,
    ),
    HardCase(
        "Tao 11",
        _sparse_means,
        partial(_least, _sparse_means, _log_sparse_words(), N_NONZERO / 2.0, 1.0),
        {
            "Tao 10": _on_zcdp(
                tao2022.sparse,
                Moment(2.0, float(D), kind="raw"),
                n_nonzero=N_NONZERO,
                n_kept=8,
                **QUADRATIC,
            )
        },
    ),
    _growth_case(
        "Xu 4",
        _growing,
        partial(_least, partial(_laws_of, _growing), _log_sign_words(), math.ceil(D / 8), 2.0),
    ),
    _growth_case("Xu 5", _fair_signs, _least_sampling),
)

CASES = {case.name: case for case in ROWS_OF_TABLE}
"""Lower bound -> what is run on its laws."""


def _cells(setup: Setup) -> Sequence[Cell]:
    return [
        case.cell(n_rows)
        for case in CASES.values()
        for n_rows in ROWS[: 1 if setup.quick else None]
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
    found = Experiment(
        name="lower-bounds",
        source="Kamath, Tao and Xu, lower bounds",
        title="risk of public algorithms on the hard instances, between both bounds",
        axes=Axes("records", "excess risk (Tao 2: error)", log_x=True),
        cells=_cells,
        claims=(*between, *map(_meaning, CASES)),
    )
    return (found,)
