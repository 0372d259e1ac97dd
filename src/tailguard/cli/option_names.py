"""The names of options in errors, which name parameters as Python calls them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

RENAMED = {
    "bound": "moment_bound",
    "candidates": "tried",
    "fit_intercept": "intercept",
    "kind": "moment_kind",
    "moment": "moment_bound",
    "n_features": "columns",
    "n_groups": "groups",
    "n_nonzero": "keep",
    "n_rows": "rows",
    "n_tries": "tries",
    "q": "quantiles",
    "sample_weight": "weight",
    "weight": "person_weight",
}
"""Python's name -> the name in commands that have no parameter of the first one."""
SENTENCES = {
    r"^weight(?= must be (?:left out without person=|one of 'person'))": "person_weight",
    r"^order(?= must be (?!one of))": "moment_order",
}
"""Beginnings of sentences -> the parameter that they speak of, where its name has two senses."""
LEVELS = "schema={'categorical': {name: [levels]}}"
QUOTED, NOTHING = r"(?<!\w)'[^']*'(?!\w)", r"(?!)"


def options_of(command: Any, arguments: Sequence[str]) -> dict[str, str]:
    """Return the options of the command that was called, by the names of its parameters."""
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    longest = {option.name: max(option.opts, key=len) for option in command.params}
    return {name: option for name, option in longest.items() if option.startswith("--")}


def with_options(sentence: str, options: Mapping[str, str]) -> str:
    """Return an error that names options in the place of the parameters of Python.

    A name of several words is replaced wherever it stands; one of a single word, which may be plain
    English, where a sentence begins with it or a value follows. What is quoted stays.

    Examples
    --------
    >>> options = {"max_rows": "--max-rows", "person": "--person"}
    >>> with_options("max_rows must be given beside person=: 'max_rows' is none.", options)
    "--max-rows must be given beside --person: 'max_rows' is none."
    """
    for beginning, parameter in SENTENCES.items():
        if parameter in options:
            sentence = re.sub(beginning, options[parameter], sentence)
    spoken = {name: options[own] for name, own in RENAMED.items() if own in options}
    spoken |= options
    if "categorical" in options:
        sentence = sentence.replace(LEVELS, f"{options['categorical']} COLUMN=A,B")
    names = "|".join(sorted(spoken, key=len, reverse=True)) or NOTHING
    subject = re.match(rf"(?:(?:{names})(?:, | and | or )?)+(?= must )", sentence)
    end = subject.end() if subject else 0

    def renamed(found: re.Match[str]) -> str:
        name, value, bare = found["name"], found["value"], found["bare"]
        is_word = name is not None and "_" not in name
        if name is None or (is_word and not value + bare and found.end() > end):
            return found[0]
        return spoken[name] + value

    value = r"(?P<value>(?:=(?=[\w'\"]))?)(?P<bare>=?)"
    whole = rf"(?<![\w./-])(?P<name>{names})(?![\w/-]|\.\w){value}"
    return re.sub(f"{QUOTED}|{whole}", renamed, sentence)
