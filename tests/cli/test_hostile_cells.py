"""Whatever a cell of a file holds: no command fails or speaks, and no other record is read anew."""

import json

import numpy as np
import pytest

from support.files import cells_in, numbers_in
from support.hostile_files import LINES, NO_NUMBERS, NUMBERS, csv_bytes, write_parquet

HEADER = ("age", "region", "years", "claims", "cost", "ill")
N_ROWS = 200
SEEDED = ["--epsilon", "20", "--delta", "1e-6", "--random-state", "3"]
LEVELS = ["--categorical", "region=north,south"]
# A mean, and one model for each kind of column that a command reads.
COMMANDS = {
    "mean": ["mean", "FILE", "--columns", "age,cost"],
    "linear": ["fit", "FILE", "--target", "cost", "--features", "age,region", *LEVELS],
    "poisson": [
        *("fit", "FILE", "--model", "poisson", "--target", "claims"),
        *("--features", "age", "--exposure", "years"),
    ],
    "logistic": [
        *("fit", "FILE", "--model", "logistic", "--target", "ill"),
        *("--features", "age", "--classes", "no,yes"),
    ],
}
# The columns that a command reads as numbers, and so may not tell from an empty cell.
PLACES = {
    **{"mean": ("cost",), "linear": ("age", "cost"), "logistic": ("age",)},
    "poisson": ("age", "years", "claims"),
}


@pytest.fixture(scope="module")
def rows(columns):
    cells = (columns[name][:N_ROWS].tolist() for name in HEADER)
    return [tuple(map(str, row)) for row in zip(*cells, strict=True)]


def with_cells(rows, column, cells):
    """Put one cell after the other into a column, from the second row on."""
    place, changed = HEADER.index(column), list(rows)
    for row, cell in enumerate(cells, start=1):
        changed[row] = (*rows[row][:place], cell, *rows[row][place + 1 :])
    return changed


def write(path, rows, lines=None):
    if path.suffix == ".csv":
        path.write_bytes(csv_bytes(HEADER, rows, lines))
    else:
        write_parquet(path, HEADER, rows)


def released(call, path, name):
    """What a command printed and wrote; it must have gone well, and said nothing on stderr."""
    out = path.with_suffix(".json")
    words = (path if word == "FILE" else word for word in COMMANDS[name])
    answer = call(*words, *SEEDED, "--out", out)
    assert (answer.code, answer.err) == (0, "")
    return answer.out, json.loads(out.read_text())


@pytest.fixture(params=["csv", "parquet"])
def path(request, tmp_path):
    return tmp_path / f"rows.{request.param}"


@pytest.mark.parametrize(
    ("name", "column"), [(name, column) for name in COMMANDS for column in PLACES[name]]
)
def test_every_cell_that_is_no_number_is_taken_as_an_empty_one(name, column, path, rows, call):
    found = []
    for cells in ([""] * len(NO_NUMBERS), NO_NUMBERS):
        write(path, with_cells(rows, column, cells))
        found.append(released(call, path, name))
    assert found[0] == found[1]
    assert all(found[0][1].get("coef", [1.0]))


@pytest.mark.parametrize("column", ["region", "ill"])
def test_labels_and_levels_are_void_or_other(column, path, rows, call):
    """A cell that is declared nowhere is another level; as a label it makes its record void."""
    model = {"region": "linear", "ill": "logistic"}[column]
    strange = [cell for cell in (*NO_NUMBERS, *NUMBERS) if cell]
    found = []
    for cells in (["elsewhere"] * len(strange), strange):
        write(path, with_cells(rows, column, cells))
        found.append(released(call, path, model))
    assert found[0] == found[1]


@pytest.mark.parametrize("column", ["age", "cost"])
def test_extreme_numbers_make_no_fit_speak(column, path, rows, call):
    write(path, with_cells(rows, column, NUMBERS))
    out, content = released(call, path, "linear")
    assert f"on {N_ROWS} rows" in out
    assert np.isfinite(content["coef"]).all()


@pytest.mark.parametrize("column", HEADER)
def test_no_cell_changes_another_row_s_bits(column, path, rows):
    """Predictions of other rows, and their numbers and labels as they are parsed."""
    cells = (*NO_NUMBERS, *NUMBERS)
    read = []
    for changed in (rows, with_cells(rows, column, cells)):
        write(path, changed)
        numbers = numbers_in(path, ["age", "years", "claims", "cost"])
        read.append((numbers, cells_in(path, ["region", "ill"])))
    (before, texts), (after, changed_texts) = read
    others = [0, *range(len(cells) + 1, N_ROWS)]
    assert before.shape == after.shape
    assert before[others].tobytes() == after[others].tobytes()
    for old, new in zip(texts, changed_texts, strict=True):
        assert [old[row] for row in others] == [new[row] for row in others]


def test_a_broken_line_is_a_void_record(tmp_path, rows, call):
    path, blank = tmp_path / "rows.csv", ("",) * len(HEADER)
    found = []
    for lines in (dict.fromkeys(range(1, len(LINES) + 1), ""), dict(enumerate(LINES, start=1))):
        write(path, rows, lines)
        found.append(released(call, path, "linear"))
    write(path, [rows[0], *[blank] * len(LINES), *rows[len(LINES) + 1 :]])
    found.append(released(call, path, "linear"))
    assert found[0] == found[1] == found[2]
