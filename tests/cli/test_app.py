"""The application itself: help that teaches, the version, and internal errors that say nothing."""

from io import BytesIO, TextIOWrapper

import pytest

import tailguard as tg
from tailguard.cli import app
from tailguard.cli.app import main


@pytest.mark.parametrize("command", ["demo", "fit", "predict", "certificate"])
def test_every_help_shows_examples(command, call):
    answer = call(command, "--help")
    assert (answer.code, answer.err) == (0, "")
    assert f"\n   tailguard {command}" in answer.out


def test_the_bare_command_is_help(call):
    assert call() == call("--help") == call("-h")
    assert "tailguard demo" in call().out


@pytest.mark.parametrize(
    ("typed", "guess"),
    [("--epsilonn", "--epsilon"), ("--eps", "--epsilon"), ("--random_state", "--random-state")],
)
def test_a_near_option_is_suggested(call, typed, guess):
    err = call("fit", __file__, typed, "1").err
    assert f"{typed} (Possible options: {guess});" in err


@pytest.mark.parametrize("typed", ["--bounds", "--seed"])
def test_a_far_option_is_not_suggested(call, typed):
    assert call("fit", __file__, typed, "1").err == (
        f"Error: No such option: {typed}; see tailguard fit --help.\n"
    )


@pytest.mark.parametrize(
    ("typed", "end"),
    [
        (["fitt"], "'fitt' (Possible commands: fit); see tailguard --help.\n"),
        (["FIT"], "'FIT' (Possible commands: fit); see tailguard --help.\n"),
        (["ledger", "shwo"], "'shwo' (Possible commands: show); see tailguard ledger --help.\n"),
        (["xyzzy"], "'xyzzy'; see tailguard --help.\n"),
    ],
)
def test_a_near_command_is_suggested(call, typed, end):
    assert call(*typed).err == f"Error: No such command {end}"


def test_a_missing_command_is_one_sentence(call):
    assert call("ledger").err == "Error: Missing command; see tailguard ledger --help.\n"


def test_delta_is_not_called_a_chance_of_failure(call):
    page = " ".join(call("fit", "--help").out.replace("│", " ").split())
    assert "Slack in probability beyond epsilon; choose it far below 1/rows." in page
    assert "fails" not in page


def test_the_version_is_the_package_s(call):
    assert call("--version").out == f"tailguard {tg.__version__}\n"


def test_an_internal_error_is_constant(call, monkeypatch, model_file):
    def fail(path):
        raise RuntimeError(f"record 7 of {path} is 42")

    monkeypatch.setattr("tailguard.cli.commands.certificate.read_report", fail)
    answer = call("certificate", model_file)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == f"Error: {app.INTERNAL_ERROR}\n"
    monkeypatch.setenv("TAILGUARD_DEBUG", "1")
    with pytest.raises(RuntimeError, match="record 7"):
        call("certificate", model_file)


def test_an_interruption_is_no_error_of_ours(call, monkeypatch, model_file):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("tailguard.cli.commands.certificate.read_report", interrupt)
    answer = call("certificate", model_file)
    assert (answer.code, answer.out) == (130, "")
    assert answer.err.startswith("Interrupted: a charge in a ledger stays, ")


def test_main_exits_with_the_code(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["tailguard", "--nonsense"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2


def test_letters_that_a_screen_lacks_lose_no_answer(tmp_path, monkeypatch):
    file, screen = tmp_path / "sizes.csv", TextIOWrapper(BytesIO(), encoding="ascii")
    file.write_text("größe\n" + 500 * "2.5\n1.5\n", encoding="utf-8")
    command = ["mean", str(file), "--columns", "größe", "--epsilon", "1", "--delta", "1e-6"]
    monkeypatch.setattr("sys.argv", ["tailguard", *command])
    monkeypatch.setattr("sys.stdout", screen)
    with pytest.raises(SystemExit) as ended:
        main()
    screen.seek(0)
    assert ended.value.code == 0
    assert r"gr\xf6\xdfe" in screen.read()
