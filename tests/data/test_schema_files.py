"""The JSON of a schema: nothing is lost on the way, and nothing else passes for one."""

import pytest

import tailguard as tg

SCHEMA = tg.Schema(
    features=["age", "region"],
    categorical={"region": ["north", "south"]},
    drop=["id"],
    missing={"age": 40.0},
    target="ill",
    classes=["no", "yes"],
)
OTHER = tg.Schema(
    dates={"issued": {"origin": "2020-01-01", "unit": "years"}},
    terms=["...", "log1p(income)"],
    categorical={"region": ["north", "south"]},
    other="void",
    target="cost",
    exposure="years",
    weight="w",
    weight_bound=4.0,
    person="key",
    max_rows=8,
)
ROW_ID = tg.Schema(row_id="policy", offset="off")
NO_SCHEMAS = {
    "no JSON": ("{", "schema must be JSON"),
    "a thousand brackets": ("[" * 100_000, "schema must be JSON"),
    "a list": ("[1]", 'that starts with "tailguard_schema"'),
    "no version": ('{"drop": ["id"]}', 'that starts with "tailguard_schema"'),
    "a newer version": ('{"tailguard_schema": 2}', "version 2, which a newer tailguard wrote"),
    "version 0": ('{"tailguard_schema": 0}', "must have format version 1; got 0"),
    "a version of text": ('{"tailguard_schema": "1"}', "must have format version 1; got '1'"),
    "a version that is true": ('{"tailguard_schema": true}', "must have format version 1"),
    "an unknown key": ('{"tailguard_schema": 1, "columns": []}', "only; got 'columns'"),
    "a declaration twice": ('{"tailguard_schema": 1, "drop": [], "drop": []}', "'drop' twice"),
    "a column twice": (
        '{"tailguard_schema": 1, "categorical": {"a": ["x"], "a": ["y"]}}',
        "got 'a' twice",
    ),
    "a wrong type": ('{"tailguard_schema": 1, "features": 3}', "features must be a list"),
    "null for a list": ('{"tailguard_schema": 1, "drop": null}', "drop must be a list"),
    "no number": ('{"tailguard_schema": 1, "missing": {"a": NaN}}', "must be a finite number"),
}


@pytest.mark.parametrize("schema", [SCHEMA, OTHER, ROW_ID, tg.Schema()])
def test_a_round_trip_loses_nothing(schema, tmp_path):
    assert tg.Schema.from_json(schema.to_json()) == schema
    assert tg.Schema.from_dict(schema.to_dict()) == schema
    schema.save(tmp_path / "schema.json")
    assert tg.Schema.load(tmp_path / "schema.json") == schema


def test_letters_of_all_languages_are_written_as_they_are(tmp_path):
    names = ["größe", "年齢", "\ud83d", "a\u202eb", "c\nd", "😀"]
    schema = tg.Schema(features=names, categorical={"größe": ["größer als 2 m", "klein"]})
    schema.save(tmp_path / "schema.json")
    text = (tmp_path / "schema.json").read_text(encoding="utf-8")
    assert all(word in text for word in ("größer als 2 m", "年齢", "😀", r"\ud83d", r"a\u202eb"))
    assert tg.Schema.load(tmp_path / "schema.json") == schema
    escaped = text.encode("ascii", "backslashreplace").decode()
    escaped = escaped.replace(r"\xf6", r"\u00f6").replace(r"\xdf", r"\u00df")
    escaped = escaped.replace(r"\U0001f600", r"\ud83d\ude00")
    assert tg.Schema.from_json(escaped) == schema


@pytest.mark.parametrize("case", NO_SCHEMAS)
def test_what_is_no_schema_is_refused_in_one_sentence(case):
    text, words = NO_SCHEMAS[case]
    with pytest.raises(tg.InputError) as caught:
        tg.Schema.from_json(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["nowhere.json", ".", "bytes.json"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name):
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(
        tg.InputError, match=r"schema must be a JSON file; .* cannot be read as one"
    ):
        tg.Schema.load(tmp_path / name)


@pytest.mark.parametrize("given", [None, 7, 0.5, [], {"a": 1}, b"\xff"])
def test_what_is_no_path_and_no_text_is_refused(given):
    with pytest.raises(tg.InputError, match="cannot be read as one"):
        tg.Schema.load(given)
    with pytest.raises(tg.InputError, match="path must be that of a file that can be written"):
        tg.Schema(target="y").save(given)
    for read in (tg.Schema.from_json, tg.Certificate.from_json):
        with pytest.raises(tg.InputError, match="must be JSON"):
            read(given)


def test_what_keeps_a_file_from_being_written_is_told(tmp_path):
    for place, reason in ((tmp_path, "Is a directory"), (tmp_path / "no" / "x", "No such file")):
        with pytest.raises(tg.InputError) as caught:
            SCHEMA.save(place)
        assert f"can be written; {str(place)!r} was not: {reason}" in str(caught.value)


def test_a_schema_that_is_no_json_is_no_fault_of_the_path(tmp_path, monkeypatch):
    def no_json(self):
        raise tg.InputError("schema must be what JSON holds.")

    monkeypatch.setattr(tg.Schema, "to_json", no_json)
    with pytest.raises(tg.InputError, match=r"schema must be what JSON holds\."):
        SCHEMA.save(tmp_path / "schema.json")
    assert not (tmp_path / "schema.json").exists()


def test_an_error_in_a_file_names_the_file(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("age,cost\n1,2\n")
    with pytest.raises(tg.InputError, match=r"^schema must be JSON; it .*: see '.*claims.csv'\.$"):
        tg.Schema.load(path)
