"""The table of bits: it sees one bit of a number, and no word."""

import numpy as np

import bits
import tailguard as tg
from support.theorems import CASES
from tailguard.sets.registry import SETS


def test_one_bit_is_seen_and_words_are_not():
    coef = np.array([1.0, 2.0])
    near = np.nextafter(coef, 3.0)
    assert list(bits.numbers([coef, 0.5])) == list(bits.numbers([coef.copy(), 0.5]))
    assert list(bits.numbers([coef, 0.5])) != list(bits.numbers([near, 0.5]))
    assert list(bits.numbers([coef, 0.5])) != list(bits.numbers([coef, np.nextafter(0.5, 1.0)]))
    assert list(bits.numbers({"mu": 1.0, "stage": "a"})) == list(bits.numbers({"rho": 1.0}))


def test_a_refusal_is_no_missing_number():
    X = np.ones((50, 2))
    pure = {"guarantee": tg.PureDP(1.0), "method": "clipped"}
    assert list(bits.numbers(bits.answer_of(X, **pure))) == [b"'refused'"]


def test_the_releases_of_a_fit_are_hashed():
    X, y = bits.records("linear", 300, 2)
    quiet, other = (
        tg.LinearRegression(guarantee=tg.GDP(mu), random_state=0).fit(X, y).certificate_
        for mu in (1.0, 1.0 + 1e-9)
    )
    assert list(bits.numbers(quiet)) != list(bits.numbers(other))


def test_every_estimator_solver_set_and_theorem_is_called(monkeypatch):
    monkeypatch.setattr(bits, "CALLS", {})
    for add in (bits.default_fits, bits.other_fits, bits.minimisers, bits.theorems):
        add()
    names = " ".join(bits.CALLS)
    wanted = [*tg.solvers.registry.SOLVERS, *CASES, *bits.MODELS, "sparse linear"]
    wanted += [place.partition(":")[2] for place in SETS.values()]
    wanted.remove("WholeSpace")  # which is what no constraint stands for
    assert [name for name in wanted if name not in names] == []
    assert len(bits.CALLS) > 60
