"""The command line on arguments of any kind: an exit code and one sentence, whatever cells hold.

Two files of one schema differ in their values. Nothing on stderr, and no exit code, may tell which
was read.
"""

import csv

import numpy as np
import pytest
from hypothesis import strategies as st

from support.fuzzing import NUMBERS, TEXTS, how_often, often
from tailguard.cli.app import run

COMMANDS = {
    "fit": ("--target", "--epsilon", "--delta", "--features", "--categorical", "--bounds",
            "--loss", "--model", "--exposure", "--classes", "--random-state", "--out", "--json"),
    "mean": ("--columns", "--epsilon", "--delta", "--method", "--random-state", "--json"),
    "plan": ("--rows", "--columns", "--epsilon", "--delta", "--moment-bound", "--diameter"),
    "predict": ("--out", "--json"),
    "certificate": ("--json",),
    "schema": ("--out", "--target"),
    "ledger": ("--name", "--epsilon", "--delta", "--out", "--against"),
    "audit": ("--only", "--jobs"),
}  # fmt: skip
GOOD = {
    "--target": "cost",
    "--epsilon": "1",
    "--delta": "1e-6",
    "--features": "age",
    "--columns": "age,cost",
    "--random-state": "0",
    "--rows": "1000",
    "--only": "no such row",
}
VALUES = st.one_of(
    TEXTS, NUMBERS.map(str), st.sampled_from(["age", "cost", "age,cost", "yes=1", "convex", "mean"])
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two files of one schema, whose values have nothing in common."""
    folder, paths = tmp_path_factory.mktemp("fuzz"), []
    for seed in (0, 1):
        generator = np.random.default_rng(seed)
        paths.append(folder / str(seed) / "claims.csv")
        paths[-1].parent.mkdir()
        with paths[-1].open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["age", "cost"])
            writer.writerows((generator.standard_t(1, (60, 2)) * 10.0 ** (8 * seed)).tolist())
    return paths


@st.composite
def calls(draw):
    """A command with some of its options, most of them with a value that is good."""
    command = draw(st.sampled_from([*COMMANDS]))
    arguments = [command] if draw(st.integers(0, 19)) else [draw(TEXTS)]
    if command == "ledger":
        arguments.append(draw(st.sampled_from(["create", "show", "history", "verify", "export"])))
    if command == "plan":
        arguments.append(draw(VALUES))
    elif command != "audit":
        arguments.append("FILE")
    for option in draw(st.permutations(COMMANDS[command]))[: draw(st.integers(0, 6))]:
        good = GOOD.get(option)
        value = good if good and draw(st.booleans()) else draw(VALUES)
        arguments += [option] if option == "--json" else [option, value]
    return arguments


@how_often
def test_any_call_ends_in_a_code_and_one_sentence_that_no_value_changes(
    files, tmp_path, monkeypatch, capsys, count
):
    def answer(call, file, number):
        folder = tmp_path / str(number)
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        monkeypatch.chdir(folder)
        (folder / "claims.csv").write_bytes(file.read_bytes())
        code = run([part if part != "FILE" else "claims.csv" for part in call])
        return code, capsys.readouterr().err

    def check(call):
        code, said = answer(call, files[0], 0)
        assert code in (0, 1, 2) if call[0] == "audit" else code in (0, 2), said
        assert "Traceback" not in said
        if code == 2:
            assert [line for line in said.splitlines() if line.startswith("Error: ")]
        assert (code, said) == answer(call, files[1], 1)

    often(count, check, call=calls())
