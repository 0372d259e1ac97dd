"""``tailguard schema``: a file to edit, made of names and types of columns."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

import tailguard as tg

HEADER = "id,age,region,cost"


def test_it_declares_every_column_a_number_until_it_is_edited(tmp_path, call):
    file, out = tmp_path / "claims.csv", tmp_path / "schema.json"
    file.write_text(f"{HEADER}\n1,40,north,2.5\n")
    answer = call("schema", file, "--target", "cost", "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert " ".join(answer.out.split()) == (
        f"Wrote {out}: id, age, region are numbers in it; list levels of text columns under "
        '"categorical", origin and unit of dates under "dates", or move columns to "drop", then '
        "pass the file as --schema."
    )
    assert tg.Schema.load(out) == tg.Schema(features=["id", "age", "region"], target="cost")
    assert next(iter(json.loads(out.read_text()))) == "tailguard_schema"


def test_options_begin_it_further(tmp_path, call):
    file, out = tmp_path / "claims.csv", tmp_path / "schema.json"
    file.write_text(f"{HEADER}\n")
    options = ["--drop", "id", "--categorical", "region=north,south", "--missing", "age=40"]
    assert call("schema", file, "--target", "cost", *options, "--out", out).code == 0
    assert tg.Schema.load(out) == tg.Schema(
        features=["age", "region"],
        categorical={"region": ["north", "south"]},
        drop=["id"],
        missing={"age": 40.0},
        target="cost",
    )


@pytest.mark.parametrize("sign", [";", "\t"])
def test_a_file_without_commas_is_said_to_need_them(sign, tmp_path, call):
    file, out = tmp_path / "claims.csv", tmp_path / "out.json"
    file.write_text("\n".join([HEADER, *["1,40,north,2.5"] * 1_000]).replace(",", sign))
    privacy = ("--epsilon", "1", "--delta", "1e-6")
    for command, *more in (("schema",), ("fit", *privacy), ("mean", *privacy, "--columns", "cost")):
        target = () if command == "mean" else ("--target", "cost")
        answer = call(command, file, *target, *more, "--out", out)
        assert (answer.code, out.exists()) == (2, False)
        assert "Cells of a CSV file must be separated by commas" in " ".join(answer.err.split())


@pytest.mark.parametrize("body", ["", "1,2,3,4\n", '"\n', "a,b\n\0,\n", "x" * 200_000])
def test_no_cell_is_read(body, tmp_path, call):
    file, out = tmp_path / "claims.csv", tmp_path / "schema.json"
    file.write_text(f"{HEADER}\n{body}")
    answer = call("schema", file, "--out", out)
    assert answer.code == 0
    assert tg.Schema.load(out).features == tuple(HEADER.split(","))


def test_parquet_states_dates_and_categories(tmp_path, call):
    """Of categories not even the levels count, which a file stores beside its type."""
    days, file, out = pa.array([0, 9], pa.date32()), tmp_path / "claims.parquet", tmp_path / "out"
    numbers = {"age": [41, 50], "ok": [True, False], "cost": [2.5, 3.5]}
    written = []
    for levels in (["north", "south"], ["moon", None]):
        table = {**numbers, "day": days, "region": pa.array(levels).dictionary_encode()}
        parquet.write_table(pa.table({**table, "note": ["a", "b"]}), file)
        said = " ".join(call("schema", file, "--target", "cost", "--out", out).out.split())
        written.append(out.read_text())
    assert written[0] == written[1]
    assert tg.Schema.load(out) == tg.Schema(
        features=["age", "ok", "day", "note"],
        dates={"day": {"origin": "2000-01-01", "unit": "days"}},
        drop=["region"],
        target="cost",
    )
    assert "age, ok, note are numbers in it, day days after 2000-01-01; region is left" in said


def test_types_that_one_cell_decides_are_not_read(tmp_path, call):
    written = []
    for age in (pa.array([40.0]), pa.array(["forty"]), pa.nulls(1)):
        parquet.write_table(pa.table({"age": age, "cost": [2.5]}), tmp_path / "claims.parquet")
        out = tmp_path / "schema.json"
        said = call("schema", tmp_path / "claims.parquet", "--out", out).out
        written.append((said, out.read_text()))
    assert written[0] == written[1] == written[2]


def test_columns_are_left_out_by_one_option_or_by_several(csv_file, tmp_path, call):
    """Of several options the last one alone counted, without a word."""
    out = tmp_path / "schema.json"
    for given in (["--drop", "age", "--drop", "power"], ["--drop", "age,power"]):
        answer = call("schema", csv_file, "--target", "cost", *given, "--out", out)
        assert answer.code == 0, answer.err
        assert tg.Schema.load(out).drop == ("age", "power")
