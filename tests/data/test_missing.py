"""Public constants for missing cells: one record at a time; the user's arrays stay untouched."""

import numpy as np
import pytest

import tailguard as tg
from support.count_below import CountBelow
from support.loops import loop
from tailguard.checks import InputError
from tailguard.data.missing import filled, missing_constants
from tailguard.data.rows import arrays
from tailguard.data.rows.arrays import make_rows

MISSING = {"age": 40.0, 1: -1.0}
NAMES = ("age", "km", "cost")
CONSTANTS = missing_constants(MISSING, 3, NAMES)


def records(n_rows=5_000, dtype=np.float64):
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_rows, 3)).astype(dtype)
    features[rng.random(features.shape) < 0.2] = np.nan
    features[rng.random(features.shape) < 0.01] = np.inf
    return features


def filled_beforehand(features):
    expected = features.copy()
    for column, constant in enumerate((40.0, -1.0)):
        expected[np.isnan(features[:, column]), column] = constant
    return expected


def counts(rows, n_threads=1):
    kernel = loop(CountBelow((0, 1, 2)), [0.0, 0.0, 0.0])
    return rows.reduce(kernel, n_threads).tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_filled_rows_are_the_rows_filled_beforehand(dtype, n_threads, monkeypatch):
    monkeypatch.setattr(arrays, "NUMBERS_AT_ONCE", 1_000)
    monkeypatch.setattr(arrays, "NUMBERS_WORTH_A_THREAD", 1_000)
    features = records(dtype=dtype)
    rows = make_rows(features, missing=CONSTANTS)
    assert counts(rows, n_threads) == counts(make_rows(filled_beforehand(features)))
    assert counts(rows, n_threads) != counts(make_rows(features))
    places = np.array([7, 3, 4_000])
    assert counts(rows.restricted(places)) == counts(make_rows(filled_beforehand(features)[places]))


def test_what_the_user_brought_is_not_touched_and_not_copied():
    features = records()
    before = features.copy()
    rows = make_rows(features, missing=CONSTANTS)
    counts(rows)
    np.testing.assert_array_equal(features, before)
    assert np.shares_memory(rows._records.features, features)


def test_a_filled_record_depends_on_that_record_alone():
    features = records()
    whole = filled(features, CONSTANTS)
    alone = [filled(features[[place]], CONSTANTS)[0] for place in range(50)]
    np.testing.assert_array_equal(whole[:50], alone)


@pytest.mark.parametrize(
    ("missing", "word"),
    [
        ("mean", "no budget covers"),
        ({0: "median"}, "no budget covers"),
        (np.nanmean, "no budget covers"),
        ({0: np.nanmean}, "no budget covers"),
        ([40.0], "a dict"),
        (40.0, "a dict"),
        ({"height": 1.0}, "'height'"),
        ({3: 1.0}, "0 to 2"),
        ({-1: 1.0}, "0 to 2"),
        ({True: 1.0}, "0 to 2"),
        ({0: np.nan}, "finite"),
        ({0: np.inf}, "finite"),
        ({0: None}, "finite"),
        ({0: 1.0, "age": 2.0}, "once"),
    ],
)
def test_what_is_no_public_constant_is_refused_in_one_sentence(missing, word):
    with pytest.raises(InputError, match=word) as refused:
        missing_constants(missing, 3, NAMES)
    assert str(refused.value).startswith("missing")
    assert str(refused.value).endswith(".")
    assert str(refused.value).count(". ") == 0


def test_a_constant_is_the_same_whatever_the_type_of_the_features():
    features = np.array([[np.nan, 0.5]], np.float32)
    for constant in (0.1, 1e300):
        for held in (features, features.astype(np.float64)):
            assert filled(held, {0: constant}).tolist() == [[constant, 0.5]]


@pytest.mark.parametrize("constant", [False, True, np.False_])
def test_a_boolean_is_told_what_to_write_for_each_of_its_meanings(constant):
    said = []
    for refused in (
        lambda: missing_constants({"age": constant}, 3, NAMES),
        lambda: tg.Schema(missing={"age": constant}),
    ):
        with pytest.raises(InputError) as caught:
            refused()
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert f"got {bool(constant)}: write 0 or 1 to fill a column of booleans" in said[0]
    assert "do not declare column 'age', and records without it are void; in" in said[0]
    assert "terms=['...', 'missing(age)'] adds an indicator" in said[0]
    with pytest.raises(InputError, match=r"declare column 0, and records without it are void\.$"):
        missing_constants({0: constant}, 3, None)
