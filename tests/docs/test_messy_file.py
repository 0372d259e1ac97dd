"""The example of a messy file: in an empty folder it runs as it stands, and its commands do too."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from tailguard.cli.app import run

EXAMPLE = Path(__file__).parents[2] / "examples" / "11_a_messy_file.py"
TEXT = EXAMPLE.read_text()
PARTS = TEXT.split("# %%\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands():
    """The commands of the example, as a shell would split them."""
    text = re.sub(r"^#( {4})?", "", PARTS[2], flags=re.MULTILINE).replace("\\\n", " ")
    return [shlex.split(line) for line in text.splitlines() if line.startswith(" tailguard ")]


def test_it_takes_twelve_lines():
    lines = [line for line in PARTS[1].splitlines() if line.strip() and line[0] != "#"]
    assert len(lines) == 12
    assert len(commands()) == 3


@pytest.mark.long
def test_the_example_and_its_commands_give_one_kind_of_model(folder, capsys):
    names: dict[str, object] = {}
    exec(compile(TEXT, str(EXAMPLE), "exec"), names)
    shown = capsys.readouterr().out
    assert "left out: policy, issued, age, region" in shown
    model = names["model"]
    assert not np.isnan(model.predict(names["policies"])).any()
    loaded = tg.load(folder / "model.json")
    np.testing.assert_array_equal(
        loaded.predict(names["policies"]), model.predict(names["policies"])
    )
    for command in commands():
        assert run(command[1:]) == 0, capsys.readouterr().err
    capsys.readouterr()
    again = tg.load(folder / "model.json")
    assert again.schema_ == model.schema_
    predicted = pd.read_csv(folder / "predictions.csv")["prediction"]
    assert predicted.notna().all()
    years = names["policies"]["years"]
    np.testing.assert_allclose(predicted, again.predict(names["policies"], exposure=years))
