"""Replace the names of Python's parameters in errors by the names of options."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

RENAMED = {
    "bound": "moment_bound",
    "candidates": "tried",
    "fit_intercept=False": "no_intercept",
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
"""Parameter in Python -> parameter of a command that does not have Python's name."""
SENTENCES = {
    r"^weight(?= must be (?:left out without person=|one of 'person'))": "person_weight",
    r"^order(?= must be (?!one of))": "moment_order",
}
"""Beginning of an error -> parameter of a command, for names that have two meanings in Python."""
DECLARED_LEVELS = re.compile(r"schema=\{'categorical': \{(name|'[^']*'): \[(?:levels|\.\.\.)\]\}\}")
"""How errors write the declaration of levels in Python, with the column's name or ``name``."""
QUOTED, MATCHES_NOTHING = r"(?<!\w)'[^']*'(?!\w)", r"(?!)"


def _for_a_shell(column: str) -> str:
    """Return a quoted column as a user types it; the placeholder ``name`` becomes COLUMN."""
    return "COLUMN" if column == "name" else shlex.quote(column.strip("'"))


def options_of(command: Any, arguments: Sequence[str]) -> dict[str, str]:
    """Return the options of the called command, by the names of its parameters."""
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    longest = {option.name: max(option.opts, key=len) for option in command.params}
    return {name: option for name, option in longest.items() if option.startswith("--")}


def with_options(sentence: str, options: Mapping[str, str]) -> str:
    """Return an error with options in place of Python's parameters.

    A name of several words is replaced everywhere. A single word may be plain English, so it is
    replaced only at the beginning of a sentence or before a value. Quoted texts stay unchanged.

    Examples
    --------
    >>> options = {"max_rows": "--max-rows", "person": "--person"}
    >>> with_options("max_rows must be given beside person=: 'max_rows' is none.", options)
    "--max-rows must be given beside --person: 'max_rows' is none."
    """
    for beginning, parameter in SENTENCES.items():
        if parameter in options:
            sentence = re.sub(beginning, options[parameter], sentence)
    option_of = {name: options[own] for name, own in RENAMED.items() if own in options}
    option_of |= options
    if "categorical" in options:
        sentence = DECLARED_LEVELS.sub(
            lambda match: f"{options['categorical']} {_for_a_shell(match[1])}=A,B", sentence
        )
    names = "|".join(sorted(option_of, key=len, reverse=True)) or MATCHES_NOTHING
    subject = re.match(rf"(?:(?:{names})(?:, | and | or )?)+(?= must )", sentence)
    end = subject.end() if subject else 0

    def renamed(match: re.Match[str]) -> str:
        name, value, bare = match["name"], match["value"], match["bare"]
        is_word = name is not None and "_" not in name
        if name is None or (is_word and not value + bare and match.end() > end):
            return match[0]
        return option_of[name] + value

    value = r"(?P<value>(?:=(?=[\w'\"]))?)(?P<bare>=?)"
    whole = rf"(?<![\w./-])(?P<name>{names})(?![\w/-]|\.\w){value}"
    return re.sub(f"{QUOTED}|{whole}", renamed, sentence)
