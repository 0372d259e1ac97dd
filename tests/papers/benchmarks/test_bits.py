"""The table of bits: it sees one bit of a number, and no word."""

import numpy as np
import pytest

import bits
import tailguard as tg
from papers.support.theorems import CASES
from support.solvers import SOLVERS
from tailguard.estimators.registry import ESTIMATORS
from tailguard.means.choice import MEANS
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


SETS_CALLED = [place.partition(":")[2] for name, place in SETS.items() if name != "whole_space"]
ROWS = [
    *(f"{name}, 200 of 2" for name in bits.MODELS),
    *(f"mean {name}, epsilon 1, known" for name in MEANS),
    *(f"minimize {name}" for name in SOLVERS),
    *(f"minimize over {name}" for name in SETS_CALLED),
    *CASES,
]


@pytest.fixture(scope="module")
def calls():
    """The calls of registered things; those of solvers and sets on few records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "CALLS", {})
        for add in (bits.default_fits, bits.other_fits, bits.means, bits.theorems):
            add()
        bits.minimisers(n_rows=400)
        yield bits.CALLS


@pytest.mark.parametrize("row", ROWS)
def test_what_is_registered_has_a_row(calls, row):
    assert any(name.startswith(row) for name in calls), (
        f"benchmarks/bits.py calls nothing whose name begins with {row!r}; what is called of a "
        "registry is in benchmarks/bits_tried.py"
    )


def test_estimators_of_a_set_have_rows_of_their_own(calls):
    others = [name.replace("-", " ") for name in ESTIMATORS if name not in bits.MODELS]
    missing = [row for row in others if not any(name.startswith(row) for name in calls)]
    assert missing == [], "bits.other_fits calls each on a table that it takes"


@pytest.mark.parametrize("row", [row for row in ROWS if row.startswith(("mean", "minimize"))])
def test_a_mean_a_solver_and_a_set_have_an_answer_in_their_row(calls, row):
    """A refusal would be hashed, and be alike whatever the bits are."""
    assert b"'refused'" not in [*bits.numbers(calls[row]())], (
        f"{row!r} is refused: benchmarks/bits_tried.py has what it is called with"
    )
