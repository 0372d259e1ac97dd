"""A disk that fills up while rows are put in order is named, and nothing else is."""

import errno
import os
import tempfile
import traceback

import numpy as np
import polars as pl
import pytest

import tailguard as tg
from support.batched import arrow_table, small_memory
from tailguard.cli.app import run
from tailguard.data.rows import streams, unordered

__all__ = ["small_memory"]
X = np.random.default_rng(0).standard_normal((9000, 2))
TABLE = pl.from_arrow(arrow_table(X, y=X[:, 0])).with_columns(id=pl.int_range(9000)).lazy()
PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
SENTENCE = r"the disk of temporary files in '{}', where .*, is full; .* in the variable TMPDIR\.$"


@pytest.fixture(params=["random order", "identifiers"])
def told(request, small_memory, monkeypatch):
    """What makes a fit bring its rows to their places in a file."""
    monkeypatch.setattr(streams, "NUMBERS_KEPT", 0)
    monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
    return {"row_id": "id"} if request.param == "identifiers" else {"columns": ["x0", "x1"]}


def filling_up(monkeypatch, code, room):
    """A system whose disk has room for so many bytes, and writes as much of a text as it can."""
    honest, left = os.pwrite, [room]

    def pwrite(file, text, place):
        if left[0] == 0:
            raise OSError(code, "the record 0.123456789 did not fit")
        written = honest(file, text[: left[0]], place)
        left[0] -= written
        return written

    monkeypatch.setattr(os, "pwrite", pwrite)


@pytest.mark.parametrize(
    ("code", "room", "seed"), [(errno.ENOSPC, 0, None), (errno.EDQUOT, 100_001, 0)]
)
def test_a_full_disk_is_named_with_a_remedy(told, code, room, seed, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    filling_up(monkeypatch, code, room)
    with pytest.raises(tg.ReleaseError, match=SENTENCE.format(tmp_path)) as caught:
        tg.LinearRegression(**PRIVACY, random_state=seed).fit(TABLE, target="y", **told)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "0.123456789" not in "".join(traceback.format_exception(caught.value))
    assert list(tmp_path.iterdir()) == []


def test_another_fault_of_the_disk_says_nothing(told, monkeypatch):
    filling_up(monkeypatch, errno.EIO, 0)
    with pytest.raises(tg.ReleaseError, match="it failed while records were read") as caught:
        tg.LinearRegression(**PRIVACY).fit(TABLE, target="y", **told)
    assert "full" not in str(caught.value)


def test_the_command_line_says_it_in_one_line(small_memory, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    TABLE.collect().write_parquet("rows.parquet")
    monkeypatch.setattr(streams, "NUMBERS_KEPT", 0)
    monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
    filling_up(monkeypatch, errno.ENOSPC, 0)
    asked = ["fit", "rows.parquet", "--target", "y", "--row-id", "id", "--out", "model.json"]
    assert run([*asked, "--epsilon", "1", "--delta", "1e-6"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Error")]
    assert len(lines) == 1
    assert "is full" in lines[0]
    assert "TMPDIR" in lines[0]
