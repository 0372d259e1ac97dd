"""``tailguard mean``: a table on the screen, the same numbers in the file."""

import json
import re

import pytest

import tailguard as tg
from tailguard.cli.commands import mean
from tailguard.means.choice import MEANS, own_options

PRIVACY = ("--epsilon", "1", "--delta", "1e-6")


def test_it_prints_means_and_writes_them_with_their_certificate(call, csv_file, tmp_path):
    out = tmp_path / "means.json"
    privacy = ["--epsilon", "5", "--delta", "1e-6"]
    answer = call("mean", csv_file, "--columns", "cost,age", *privacy, "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert "mode: private" in answer.out
    written = json.loads(out.read_text())
    assert list(written["means"]) == ["cost", "age"]
    for name, found in written["means"].items():
        assert name in answer.out
        assert f"{found['mean']:.6g}" in answer.out
    certificate = tg.Certificate.from_dict(written["certificate"])
    assert certificate.total.epsilon <= 5.0


def test_options_reach_the_method(call, csv_file):
    answer = call(
        *("mean", csv_file, "--columns", "cost", *PRIVACY, "--method", "truncated"),
        *("--groups", "2", "--moment-order", "1.5", "--moment-bound", "100"),
        *("--moment-kind", "raw", "--explain", "--random-state", "0"),
    )
    assert answer.code == 0
    assert "NOT PRIVATE" in answer.out
    assert "groups = 2" in answer.out
    assert "E|x_j|^k of every coordinate is at most 100" in answer.out


def test_pure_privacy(call, csv_file):
    answer = call("mean", csv_file, "--columns", "cost", "--epsilon", "1", "--pure")
    assert answer.code == 0
    assert "pure differential privacy with epsilon = 1" in answer.out


def test_options_of_a_method_by_name(call, csv_file):
    answer = call(
        *("mean", csv_file, "--columns", "cost", *PRIVACY, "--method", "iterative", "--explain"),
        *("--option", "clip-norm=5000", "--option", "n_groups=7", "--option", "centre=median"),
    )
    assert (answer.code, answer.err) == (0, "")
    assert "clip norm = 5000" in answer.out
    assert "groups = 7" in answer.out


@pytest.mark.parametrize("name", MEANS)
def test_help_lists_every_option_of_every_method(name):
    line = next(line for line in mean.__doc__.splitlines() if line.split()[:1] == [name])
    assert sorted(line.replace(",", "").split()[1:]) == sorted(own_options(name))


def test_a_long_name_takes_no_number_off_a_narrow_screen(call, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    name, path = "age_of_the_policyholder_at_the_inception_of_the_contract", tmp_path / "long.csv"
    path.write_text("\n".join([name, *(f"{value}" for value in range(2_000))]))
    answer = call("mean", path, "--epsilon", "2", "--delta", "1e-6")
    assert re.search(rf"^{name}\n  mean \d\S+   privacy noise \d", answer.out, flags=re.MULTILINE)
