"""What a run that is stopped says of its columns: those to blame, and what to do."""

import math

import numpy as np

from tailguard.data.design import TableColumn
from tailguard.gate.record_check import (
    NAMED,
    REMEDIES,
    WHAT,
    about,
    blamed_columns,
    unusable_sentence,
)

COLUMNS = tuple(TableColumn("feature", f"x{j}") for j in range(4))


def test_the_worst_columns_are_named_in_order_and_others_are_not():
    n_rows, noise = 10_000, 20.0
    rng = np.random.default_rng(0)
    truth = np.array([[9_900, 100, 0], [0, 0, 10_000], [3_000, 7_000, 0], [10_000, 0, 0]])
    for _ in range(200):
        found = blamed_columns(COLUMNS, truth + noise * rng.standard_normal((4, 3)), noise, n_rows)
        assert [each.column.name for each in found] == ["x1", "x2"]
        assert [each.empty for each in found] == [False, True]


def test_noise_alone_blames_a_column_less_than_once_in_a_thousand_times():
    rng, n_columns, noise = np.random.default_rng(1), 5, 100.0
    columns = [TableColumn("feature", j) for j in range(n_columns)]
    clean = np.tile([1000.0, 0.0, 0.0], (n_columns, 1))
    blamed = sum(
        len(
            blamed_columns(
                columns, clean + noise * rng.standard_normal((n_columns, 3)), noise, 1000
            )
        )
        for _ in range(4000)
    )
    assert blamed <= 20  # 3.2 are expected


def test_a_column_of_no_usable_cells_is_missed_no_more_often_than_stated():
    n_rows, noise = 1_000, 100.0
    # Of three cells that add up to n, each keeps two thirds of the variance of its noise.
    deviation = noise * math.sqrt(2.0 / 3.0)
    for amiss, named in ((NAMED - 0.01, []), (NAMED + 0.01, [COLUMNS[0]])):
        counts = np.array([[n_rows - amiss * deviation, amiss * deviation, 0.0]])
        found = blamed_columns(COLUMNS[:1], counts, noise, n_rows)
        assert [each.column for each in found] == named
    # Void columns lie 7.2 deviations off, and clean ones at zero.
    for distance in (7.2 - NAMED, NAMED):
        assert math.erfc(distance / math.sqrt(2.0)) / 2.0 < 1.6e-4


def test_sentences_say_what_to_do_for_every_role_and_kind():
    assert set(REMEDIES) == {(role, empty) for role in WHAT for empty in (False, True)}
    for (role, empty), remedy in REMEDIES.items():
        column = TableColumn(role, "my column")
        blamed = blamed_columns([column], np.array([[0.0, 900.0 * empty, 900.0 * (not empty)]]),
                                1.0, 900)  # fmt: skip
        sentence = unusable_sentence("about 0 of 900 records", blamed)
        assert sentence.startswith("About 0 of 900 records can be used. ")
        assert "'my column' holds about 900 " in sentence
        assert sentence.endswith(f": {remedy.format(name='my column', word='')}.")
        assert ("empty cells" in sentence) == empty
    many = [each._replace(column=TableColumn("feature", j)) for j, each in enumerate(6 * blamed)]
    assert unusable_sentence("about 0 of 900 records", many).endswith(
        "3 more columns are to blame."
    )
    assert unusable_sentence("about 0 of 900 records", []).endswith(
        "The budget is too small to tell which column is to blame."
    )


def test_counts_are_told_in_the_digits_that_their_noise_leaves():
    assert [about(value, 60.0, 163_212) for value in (-80.0, 49.0, 81_649.0, 163_260.0)] == [
        "0", "0", "81,600", "163,212",
    ]  # fmt: skip
    assert about(12.4, 0.2, 100) == "12"
    assert about(1_234_567.0, 2_000.0, 10**9) == "1,230,000"
