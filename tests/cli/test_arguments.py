"""What the user typed, read the one way it can be meant."""

import errno
from pathlib import Path

import pytest
from rich.console import Console

from tailguard.checks import InputError
from tailguard.cli.arguments import destination, kept, labels_of, levels_of, names_of


def test_quotes_protect_commas():
    assert names_of("--features", '"cost, net",age') == ("cost, net", "age")


def test_numeric_labels_are_numbers():
    assert labels_of("0,1.0") == (0.0, 1.0)
    assert labels_of("0,one") == ("0", "one")


def test_the_first_equals_sign_ends_the_column():
    assert levels_of(["size=<=3,>3", "region=a"]) == {"size": ("<=3", ">3"), "region": ("a",)}


@pytest.mark.parametrize("text", ["", ",", "a,,b", "a,a", " "])
def test_names_are_different_and_not_empty(text):
    with pytest.raises(InputError, match="--features must be different names"):
        names_of("--features", text)


def test_an_existing_file_may_be_replaced(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    assert destination(path) == path


@pytest.mark.parametrize("name", ["a.parquet", "./a.parquet", "linked.parquet"])
@pytest.mark.parametrize("used", ["a.parquet", "*.parquet", "."])
def test_what_a_command_uses_is_not_written_over(tmp_path, monkeypatch, name, used):
    monkeypatch.chdir(tmp_path)
    for file in ("a.parquet", "model.json"):
        Path(file).write_text("")
    Path("linked.parquet").symlink_to("a.parquet")
    with pytest.raises(InputError, match="--out must not be a file of"):
        destination(Path(name), Path("model.json"), None, Path(used))
    # What lies beside the tables of a folder is none of them.
    for other in map(Path, ("model.json", "new.csv")):
        assert destination(other, Path(used)) == other


def test_an_answer_neither_printed_nor_written_is_told_as_paid_for(tmp_path):
    out, told = tmp_path / "missing" / "answer.json", "is spent, and its answer is not printed"
    with pytest.raises(InputError, match=told), kept(out, "{}"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_what_cannot_be_printed_is_one_sentence(call, monkeypatch):
    def unprinted(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Console, "print", unprinted)
    answer = call(
        "plan", "mean", "--rows", "1000", "--columns", "2", "--epsilon", "1", "--delta", "1e-6"
    )
    assert answer.code == 2
    assert answer.err.startswith("Error: the output must go where it can be printed; it was not")
    assert answer.err.count("\n") == 1
