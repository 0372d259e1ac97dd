"""Commands on a folder and on a pattern of Parquet files say what they say of one file."""

import json
import shutil

import pyarrow as pa
import pytest
from pyarrow import parquet

PRIVACY = ["--epsilon", "1", "--delta", "1e-6", "--random-state", "3"]
COMMANDS = {
    "fit": ["--target", "cost", "--categorical", "region=north,south", "--drop", "ill,claims"],
    "describe": ["--columns", "age,cost"],
}


@pytest.fixture
def parts(columns, tmp_path):
    """One file, and the same rows in a folder of three."""
    table = pa.table(columns)
    parquet.write_table(table, tmp_path / "all.parquet")
    (tmp_path / "parts").mkdir()
    for number, (start, stop) in enumerate([(0, 1), (1, 250), (250, 600)]):
        parquet.write_table(table[start:stop], tmp_path / "parts" / f"part-{number}.pq")
    (tmp_path / "parts" / "_SUCCESS").write_text("")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_folders_and_patterns_are_read_as_one_table(command, parts, call):
    found = []
    for source in ("all.parquet", "parts", "parts/*.pq"):
        out = parts / "out.json"
        options = [*COMMANDS[command], *PRIVACY, "--out", out]
        answer = call(command, parts / source, *options)
        assert (answer.code, answer.err) == (0, "")
        found.append(json.loads(out.read_text()))
    assert found[0] == found[1] == found[2]


def test_rows_of_folders_and_patterns_are_predicted_in_order(parts, model_file, call):
    whole = call("predict", model_file, parts / "all.parquet")
    assert whole.code == 0
    for source in ("parts", "parts/*.pq"):
        assert call("predict", model_file, parts / source) == whole
    out = parts / "parts" / "part-0.pq"
    refused = call("predict", model_file, parts / "parts", "--out", out)
    assert refused.code == 2
    assert "--out must not be a file of" in refused.err


def test_what_is_no_table_is_one_sentence(parts, call):
    (parts / "empty").mkdir()
    shutil.copy(parts / "all.parquet", parts / "parts" / "all.txt")
    for source, words in (
        ("empty", "must be a file, a folder of Parquet files or a pattern"),
        ("nowhere/*.parquet", "must be a file, a folder of Parquet files or a pattern"),
        ("parts/*", "must match only Parquet files, named *.parquet or *.pq; it matches"),
    ):
        answer = call("fit", parts / source, *COMMANDS["fit"], *PRIVACY, "--out", "m.json")
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.count("\n") == 1
        assert words in answer.err
    (parts / "parts" / "part-3.pq").write_bytes(b"PAR1 no Parquet")
    answer = call("mean", parts / "parts", "--columns", "age,cost", *PRIVACY)
    assert (answer.code, answer.out) == (2, "")
    assert "part-3.pq must be a Parquet file; it cannot be read as one" in answer.err
