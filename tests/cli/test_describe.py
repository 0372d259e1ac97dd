"""``tailguard describe``: the tables on the screen, the same numbers in the file."""

import json

import pytest

import tailguard as tg

PRIVACY = ("--epsilon", "5", "--delta", "1e-6")
SEED = ("--random-state", "0")


def test_it_prints_tables_and_writes_them_with_their_certificate(call, csv_file, tmp_path):
    out = tmp_path / "description.json"
    answer = call(
        "describe", csv_file, "--columns", "cost,age", *PRIVACY, "--explain", "--out", out
    )
    assert (answer.code, answer.err) == (0, "")
    assert "private description" in answer.out
    assert "mode: private" in answer.out
    assert "budget by statistic" in answer.out
    written = json.loads(out.read_text())
    columns, intervals, correlations = written["tables"]
    assert intervals["title"] == "95% intervals of quantiles"
    for table in (columns, intervals):
        assert [row[0] for row in table["rows"]] == ["cost", "age"]
    assert correlations["title"] == "correlations"
    assert tg.Certificate.from_dict(written["certificate"]).total.epsilon <= 5.0


def test_groups_quantiles_and_shares_of_the_budget(call, csv_file):
    answer = call(
        *("describe", csv_file, "--columns", "cost", "--categorical", "region=north,south"),
        *(*PRIVACY, "--by", "region", "--quantiles", "0.5,0.9", "--spend", "quantiles=2"),
        *("--no-correlations", "--random-state", "0"),
    )
    assert answer.code == 0
    assert "region=north" in answer.out
    assert "90%" in answer.out
    assert "NOT PRIVATE" in answer.out


@pytest.mark.parametrize("width", [60, 100])
def test_a_table_wider_than_the_screen_is_folded_and_loses_nothing(
    call, csv_file, monkeypatch, width
):
    told = ("--categorical", "region=north,south", "--quantiles", "0.1,0.25,0.5,0.75,0.9,0.99")
    asked = ("describe", csv_file, "--columns", "cost,age,region", *told, *PRIVACY, *SEED)
    cells = []
    for columns in (1000, width):
        monkeypatch.setenv("COLUMNS", str(columns))
        out = call(*asked, "--explain").out
        assert max(map(len, out.splitlines())) <= columns
        wide = out.partition("the result rests on")[0]
        ages = [line.split()[1:] for line in wide.splitlines() if line.startswith("age")]
        cells.append([cell for line in ages for cell in line])
        for low, high in (("95% from", " to"), ("90% low", "90% high")):
            (ends,) = (line for line in wide.splitlines() if low in line)
            assert high in ends
    assert len(ages) > 2
    assert cells[1] == cells[0]
