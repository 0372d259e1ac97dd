"""The first page: what it prints is what its code and its command print, but for noise."""

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

from docs.test_docs import FENCE, run_blocks
from tailguard.cli.app import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MOST_WORDS = 900


def blocks(tag):
    return [block["body"] for block in FENCE.finditer(README) if block["tag"].strip() == tag]


def shape(text):
    """A text in which each number is a 0, however wide: noise differs from run to run."""
    text = re.sub(r"(?<![\w.])-?<?\d[\d,.]*(e[-+]?\d+)?", "0", text)
    return [re.sub(r"[ =-]+", " ", line).strip() for line in text.strip().splitlines()]


def numbers(line):
    return [float(number.replace("<", "")) for number in line.split()[1:]]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the page's Python prints, and what its command prints after it."""
    folder, outputs = tmp_path_factory.mktemp("readme"), [io.StringIO(), io.StringIO()]
    here = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(outputs[0]):
            run_blocks(README, "README.md")
        with contextlib.redirect_stdout(outputs[1]), pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "80")
            assert run(["verify", "model.json"]) == 0
    finally:
        os.chdir(here)
    return [output.getvalue() for output in outputs]


def test_the_summary_is_what_the_code_prints(printed):
    [stated] = blocks("text")
    assert shape(stated) == shape(printed[0])


def test_the_coefficients_are_those_of_another_run_but_for_noise(printed):
    [stated] = blocks("text")
    for one, other in zip(stated.splitlines(), printed[0].splitlines(), strict=True):
        if re.match(r"age|region=(south|island)|\(intercept\)", one):
            coef, std_err, *_ = numbers(one)
            assert abs(coef - numbers(other)[0]) < 6.0 * std_err


def test_the_certificate_is_what_the_command_prints(printed):
    [stated] = blocks("console")
    command, *lines = stated.splitlines()
    assert command == "$ tailguard verify model.json | head -4"
    assert lines == printed[1].splitlines()[:4]


def test_it_is_read_in_a_minute():
    assert len(README.split()) < MOST_WORDS


def test_what_is_declared_of_columns_is_short():
    [code] = [body for body in blocks("python") if "tg.Schema(" in body]
    schema = code.partition("tg.Schema(\n")[2].partition("\n)")[0]
    assert len(schema.splitlines()) <= 5
