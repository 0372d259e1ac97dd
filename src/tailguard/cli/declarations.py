"""The schema of a file's columns, from the options of a command and a schema file."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from tailguard.checks import InputError
from tailguard.cli.arguments import constants_of, dates_of, labels_of, levels_of, names_of
from tailguard.cli.printing import print_wrapped
from tailguard.data.declarations import check_columns, restricted, undeclared_words
from tailguard.data.schema import Schema
from tailguard.data.table import Table
from tailguard.data.terms.formula import with_formula
from tailguard.gate.record_check import Remedies

AS_GIVEN = ("exposure", "max_rows", "offset", "other", "person", "row_id", "weight", "weight_bound")
"""Options that the schema takes unchanged."""

# What to type if most records cannot be used.
REMEDIES: Remedies = {
    ("feature", False): "declare its levels (--categorical {word}=A,B) or dates (--dates "
    "{word}=ORIGIN,days), write 2,5 as 2.5 and 1,000 as 1000, turn it into numbers, or leave it "
    "out (--drop {word})",
    ("feature", True): "declare a constant for them (--missing {word}=NUMBER) or leave it out "
    "(--drop {word})",
    ("levels", False): "turn it into text or leave it out (--drop {word})",
    ("levels", True): "declare a level for them (--missing {word}=LEVEL) or leave it out "
    "(--drop {word})",
    ("date", False): "write them as 2020-01-31, or declare their format "
    "(--dates {word}=2020-01-01,days,%d.%m.%Y)",
    ("date", True): "declare a constant for them (--missing {word}=NUMBER) or leave it out "
    "(--drop {word})",
    ("target", False): "give numbers that the model allows (gamma: above 0; poisson and tweedie: "
    "at least 0), or fit labels (--model logistic --classes A,B)",
    ("target", True): "fit another column (--target)",
    ("labels", False): "declare its labels as they are written, in capitals or not (--classes A,B; "
    "by default 0 and 1)",
    ("labels", True): "fit another column (--target)",
    ("exposure", False): "give numbers above zero",
    ("exposure", True): "leave --exposure out",
    ("offset", False): "give finite numbers",
    ("offset", True): "leave --offset out",
    ("weight", False): "give numbers of at least zero",
    ("weight", True): "leave --weight out",
}


def declared_schema(given: Mapping[str, Any]) -> Schema:
    """Return the schema of a schema file and the options, which must not declare the same thing.

    ``given`` has options by name. Its ``columns`` selects columns that the file declares, and
    ``groups`` has the names of those that make groups.
    """
    path, columns = given.get("schema"), given.get("columns")
    features, drop, classes = given.get("features"), given.get("drop"), given.get("classes")
    stored = Schema() if path is None else Schema.load(path)
    if columns is not None:
        chosen = (*names_of("--columns", columns), *given.get("groups", ()))
        stored = restricted(stored, tuple(dict.fromkeys(chosen)))
    levels = levels_of(given.get("categorical") or []) or None
    constants = constants_of(given.get("missing") or [], levels or stored.categorical) or None
    return stored.with_declared(
        target=given.get("target"),
        dates=dates_of(given.get("dates") or []) or None,
        terms=given.get("terms") or None,
        features=None if features is None else names_of("--features", features),
        categorical=levels,
        drop=None if drop is None else names_of("--drop", ",".join(drop)),
        missing=constants,
        classes=None if classes is None else labels_of(classes),
        **{name: given.get(name) for name in AS_GIVEN},
    )


def settled_for(schema: Schema, table: Table, formula: str | None) -> Schema:
    """Return the schema with its features listed; refuse columns of a type that is not numeric."""
    if formula is not None:
        schema = with_formula(schema, formula, table.names)
    if schema.target is None:
        raise InputError(
            "--target must name the column to predict, since no schema does; got none."
        )
    check_columns(filter(None, schema.other_roles), table.names, table.where)
    schema = schema.settled(table.names, table.where)
    has_text_labels = any(isinstance(label, str) for label in schema.classes or ())
    target = None if has_text_labels else schema.target
    numeric_roles = filter(None, (target, schema.exposure, schema.offset, schema.weight))
    table.check_types([*schema.numeric, *numeric_roles])
    return schema


def print_undeclared(
    schema: Schema,
    table: Table,
    option: str = "--features",
    *,
    by_cell: bool = False,
    json: bool = False,
) -> None:
    """Print the undeclared columns, which are read as numbers; to stderr if stdout is JSON."""
    if undeclared := schema.undeclared(table.names):
        sentence = undeclared_sentence(undeclared, Path(table.where), option, by_cell=by_cell)
        print_wrapped(Console(stderr=json), sentence)


def undeclared_sentence(
    names: tuple[str, ...], path: Path, option: str = "--features", *, by_cell: bool = False
) -> str:
    """Return the note that undeclared columns are read as numbers, and how to declare them.

    It depends only on the header.
    """
    name, first_names = shlex.quote(names[-1]), shlex.quote(",".join(names[:2]))
    levels = shlex.quote(f"{names[-1]}=A,B")
    schema_command = f"tailguard schema {shlex.quote(str(path))} --out schema.json"
    words = undeclared_words(names, by_cell=by_cell)
    return (
        f"{words[0].upper()}{words[1:]}; where that is wrong, declare levels "
        f"(--categorical {levels}), leave columns out (--drop {name}), choose them "
        f"({option} {first_names}) or declare all in a file (--schema schema.json, which "
        f"'{schema_command}' begins)."
    )
