"""``tailguard reproduce``: what it writes, what it refuses, and a word on what it is not."""

import builtins
import csv

import pytest

from papers.reproduce.toys import toys as listed
from tailguard.papers.reproduce import command, runner


@pytest.fixture
def toys(monkeypatch):
    """Only toys are registered."""
    monkeypatch.setattr(runner, "by_paper", lambda: {"nobody1900": listed()})


def test_it_writes_numbers_a_figure_and_verdicts(call, toys, tmp_path):
    out = tmp_path / "figures"
    answer = call("reproduce", "toy", "--quick", "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert "does not hold" in answer.out
    assert "NON-PRIVATE simulation" in answer.out
    assert [line for line in answer.out.splitlines() if len(line) > 80 and " " in line] == []
    with (out / "toy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["curve"] for row in rows] == ["new"] * 4 + ["old"] * 2
    assert (out / "toy.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "claims.md").read_text()
    for words in ("## toy", "**does not hold**: 1.5 times", "It is noisier.", "[png](toy.png)"):
        assert words in page
    assert "a toy. Not run." in page  # needy


def test_more_seeds_go_on_where_fewer_stopped(call, toys, tmp_path):
    for n_seeds, told in ((1, "1 seed,"), (3, "3 seeds,")):
        answer = call("reproduce", "toy", "--seeds", str(n_seeds), "--out", tmp_path)
        assert f"toy: {told}" in " ".join(answer.out.split())
        page = (tmp_path / "claims.md").read_text()
        assert f". {told} `tailguard reproduce toy --seeds {n_seeds}`" in page
    lines = (tmp_path / "lines" / "toy.jsonl").read_text().split("\n")
    assert len([line for line in lines if line]) == 3 * 4


def test_all_leaves_out_what_has_no_data_and_writes_the_table_where_it_is_told(
    call, toys, tmp_path
):
    page = tmp_path / "docs.md"
    answer = call("reproduce", "all", "--quick", "--out", tmp_path / "out", "--table", page)
    assert answer.code == 0
    assert "Not run: --data must be a folder with a8a.parquet" in answer.out
    assert "[png](out/toy.png)" in page.read_text()


def test_without_matplotlib_the_numbers_are_written(call, toys, tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    answer = call("reproduce", "toy", "--quick", "--out", tmp_path)
    assert answer.code == 0
    assert "No figure: matplotlib must be installed" in answer.out
    assert (tmp_path / "toy.csv").exists()
    assert not (tmp_path / "toy.png").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tois",), "EXPERIMENT must be all, or a name that --list shows, such as toy"),
        ((), "EXPERIMENT must be all"),
        (("needy",), "--data must be a folder with a8a.parquet for needy; got none"),
        (("needy", "--data", "nowhere"), "--data must be a folder; got 'nowhere'"),
        (("toy", "--jobs", "0"), "--jobs"),
        (("toy", "--table", "none/claims.md"), "--out must be a file in a writable directory"),
    ],
)
def test_bad_input_is_one_sentence(call, toys, tmp_path, arguments, words):
    answer = call("reproduce", *arguments, *(("--out", tmp_path) if arguments else ()))
    assert answer.code == 2
    assert answer.err.startswith("Error: ")
    assert answer.err.count("\n") == 1
    assert words in answer.err
    assert "Traceback" not in answer.err


def test_the_real_list_is_shown_in_80_columns(call):
    answer = call("reproduce", "--list")
    assert "rates" in answer.out
    assert all(len(line) <= 80 for line in answer.out.splitlines())
    assert command.__doc__.split(".")[0] in call("reproduce", "--help").out
