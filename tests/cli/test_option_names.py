"""Errors name options as they are typed, whatever Python calls the parameter: in all commands."""

import re

import pytest
from typer.main import get_command

from tailguard.cli.app import COMMANDS, app, options_of, with_options

P = ("--epsilon", "1", "--delta", "1e-6")
FIT = ("FILE", "--target", "cost", "--features", "age", *P, "--out", "made.json")
COMPLETE = {
    "fit": FIT,
    "search": (*FIT, "--try", "fit_intercept=true,false"),
    "predict": ("MODEL", "FILE", "--out", "made.csv"),
    "score": ("MODEL", "FILE", *P),
    "schema": ("FILE", "--out", "made.json"),
    "mean": ("FILE", "--columns", "age", *P),
    "describe": ("FILE", "--columns", "age", *P),
    "plan": ("mean", "--rows", "1000", "--columns", "2", *P),
    "report": ("MODEL", "--out", "made.html"),
    "verify": ("MODEL",),
    "audit": (),
}
BAD = {"NUMBER": "-1", "COUNT": "-1", "SEED": "-1", "PATH": "no/where"}
# Whatever their words, these are never wrong by themselves.
FREE = {"--dataset", "--date", "--curator", "--moment-kind", "--moment-order", "--ledger-key"}
COMMAND = get_command(app)


def asked_wrongly():
    for name, words in COMPLETE.items():
        for option in COMMAND.commands[name].params:
            typed = option.opts[0]
            free = typed in FREE or (name, typed) == ("plan", "--out")  # which is not written
            if typed.startswith("--") and not option.is_flag and not free:
                yield name, words, typed, BAD.get(option.metavar, "x=y")
    yield from (
        ("mean", COMPLETE["mean"], f"--moment-{what}", f"{wrong} --moment-{other} 2")
        for what, wrong, other in (("order", "0.5", "bound"), ("bound", "-1", "order"))
    )
    persons = ("--person", "age", "--max-rows", "3")
    for name in ("fit", "search", "score"):
        yield name, (*COMPLETE[name], *persons), "--person-weight", "x"
        yield name, (*COMPLETE[name], *persons), "--max-rows", "0"


@pytest.mark.parametrize(("name", "words", "option", "wrong"), [*asked_wrongly()])
def test_what_is_wrong_with_an_option_is_said_of_it(
    call, csv_file, model_file, tmp_path, monkeypatch, name, words, option, wrong
):
    monkeypatch.chdir(tmp_path)
    typed = [str({"FILE": csv_file, "MODEL": model_file}.get(word, word)) for word in words]
    if option in typed:
        del typed[typed.index(option) : typed.index(option) + 2]
    answer = call(name, *typed, option, *wrong.split())
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    said = answer.err.removeprefix("Error: ")
    values = f"{csv_file} must have a column", f"ledger '{tmp_path}", "x must be given with"
    assert said.startswith(("--", f"Invalid value for '{option}'", *values))
    bare = re.sub(r"'[^']*'|fit_intercept=true", "", said.replace(str(csv_file), ""))
    python = "|".join(each.name for each in COMMAND.commands[name].params)
    assert not re.search(rf"[a-z]_[a-z]|(?<!-)\b({python})=", bare)


def test_no_command_with_options_of_python_is_left_out():
    assert set(COMPLETE) >= set(COMMANDS) - {"demo", "certificate", "reproduce"}


OPTIONS = {
    "max_rows": "--max-rows",
    "person": "--person",
    "order": "--order",
    "categorical": "--categorical",
    "no_intercept": "--no-intercept",
}


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("max_rows must be 'max_rows'.", "--max-rows must be 'max_rows'."),
        ("person and max_rows must be.", "--person and --max-rows must be."),
        ("person 'a' must be: the person.", "person 'a' must be: the person."),
        ("person=: max_rows=3, order='any'", "--person: --max-rows=3, --order='any'"),
        ("max_rows.csv must have order", "max_rows.csv must have order"),
        ("fit_intercept=False must not be.", "--no-intercept must not be."),
        ("set fit_intercept=False, not", "set --no-intercept, not"),
        ("in order to order, it must be", "in order to order, it must be"),
        ("the --max-rows of a person", "the --max-rows of a person"),
        ("kind must be one of 'raw'", "kind must be one of 'raw'"),
        ("or schema={'categorical': {'a b': [...]}}.", "or --categorical 'a b'=A,B."),
        ("schema={'categorical': {name: [levels]}}.", "--categorical COLUMN=A,B."),
    ],
)
def test_words_and_what_was_typed_stay(sentence, told):
    assert with_options(sentence, OPTIONS) == told
    assert with_options(sentence, {}) == sentence


def test_a_command_of_commands_has_the_options_of_the_one_that_was_called():
    found = options_of(COMMAND, ["ledger", "create", "budget.sqlite"])
    assert found["pure"] == "--pure"
    assert "ledger" not in found  # an argument without a name
    assert options_of(COMMAND, ["nothing"])["version"] == "--version"
