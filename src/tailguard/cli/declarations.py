"""What a command line declares of a file's columns, by options and a schema file, as one schema."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from rich.console import Console

from tailguard.checks import InputError
from tailguard.cli.arguments import constants_of, dates_of, labels_of, levels_of, names_of
from tailguard.cli.printing import print_wrapped
from tailguard.data.declarations import check_columns, said_of, undeclared_words
from tailguard.data.schema import Schema
from tailguard.data.table import Table
from tailguard.data.terms.formula import with_formula
from tailguard.gate.record_check import Remedies

# Examples name this many columns.
SHOWN = 2


# What to do on a command line where most records cannot be used.
REMEDIES: Remedies = {
    ("feature", False): "declare its levels (--categorical {word}=A,B) or dates (--dates "
    "{word}=ORIGIN,days), write 2,5 as 2.5, turn it into numbers, or leave it out (--drop {word})",
    ("feature", True): "declare a constant for them (--missing {word}=NUMBER) or leave it out "
    "(--drop {word})",
    ("levels", False): "turn it into text or leave it out (--drop {word})",
    ("levels", True): "declare a level for them (--missing {word}=LEVEL) or leave it out "
    "(--drop {word})",
    ("date", False): "write them as 2020-01-31, or declare their format "
    "(--dates {word}=2020-01-01,days,%d.%m.%Y)",
    ("date", True): "declare a constant for them (--missing {word}=NUMBER) or leave it out "
    "(--drop {word})",
    ("target", False): "give numbers that the model allows, or declare its labels (--classes A,B)",
    ("target", True): "fit another column (--target)",
    ("exposure", False): "give numbers above zero",
    ("exposure", True): "leave --exposure out",
    ("offset", False): "give finite numbers",
    ("offset", True): "leave --offset out",
    ("weight", False): "give numbers of at least zero",
    ("weight", True): "leave --weight out",
}


def column_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a command was given of a file's columns, for ``declared_schema``."""
    names = signature(declared_schema).parameters.keys() - {"path"}
    return {name: given[name] for name in names if name in given}


def declared_schema(
    path: Path | None = None,
    *,
    columns: str | None = None,
    features: str | None = None,
    categorical: list[str] | None = None,
    other: str | None = None,
    dates: list[str] | None = None,
    terms: list[str] | None = None,
    drop: list[str] | None = None,
    missing: list[str] | None = None,
    target: str | None = None,
    exposure: str | None = None,
    offset: str | None = None,
    weight: str | None = None,
    weight_bound: float | None = None,
    classes: str | None = None,
    row_id: str | None = None,
    person: str | None = None,
    max_rows: int | None = None,
) -> Schema:
    """Return what a schema file and the options declare; nothing may be declared by both.

    ``columns`` chooses among what the file declares.
    """
    stored = Schema() if path is None else Schema.load(path)
    if columns is not None:
        stored = _narrowed(stored, names_of("--columns", columns))
    levels = levels_of(categorical) if categorical else None
    constants = constants_of(missing, levels or stored.categorical) if missing else None
    return stored.with_declared(
        other=other,
        dates=dates_of(dates) if dates else None,
        terms=terms or None,
        features=None if features is None else names_of("--features", features),
        categorical=levels,
        drop=None if drop is None else names_of("--drop", ",".join(drop)),
        missing=constants,
        target=target,
        exposure=exposure,
        offset=offset,
        weight=weight,
        weight_bound=weight_bound,
        classes=None if classes is None else labels_of(classes),
        row_id=row_id,
        person=person,
        max_rows=max_rows,
    )


def settled_for(schema: Schema, table: Table, formula: str | None) -> Schema:
    """Return the schema with its features named; refuse columns that cannot be read as numbers."""
    if formula is not None:
        schema = with_formula(schema, formula, table.names)
    if schema.target is None:
        raise InputError(
            "--target must name the column to predict, since no schema does; got none."
        )
    beside = (schema.target, schema.exposure, schema.offset, schema.weight, schema.row_id)
    others = [name for name in (*beside, schema.person) if name]
    check_columns(others, table.names, table.where)
    schema = schema.settled(table.names, table.where)
    labels = any(isinstance(label, str) for label in schema.classes or ())
    numbers = (None if labels else schema.target, schema.exposure, schema.offset, schema.weight)
    table.check_types([*schema.numeric, *filter(None, numbers)])
    return schema


def tell_undeclared(
    console: Console,
    schema: Schema,
    table: Table,
    option: str = "--features",
    *,
    by_cell: bool = False,
) -> None:
    """Print which columns are read as numbers since nothing was declared of them, if any are."""
    if undeclared := schema.undeclared(table.names):
        path = Path(table.where)
        print_wrapped(console, undeclared_sentence(undeclared, path, option, by_cell=by_cell))


def undeclared_sentence(
    names: tuple[str, ...], path: Path, option: str = "--features", *, by_cell: bool = False
) -> str:
    """Return the note that undeclared columns are read as numbers, and how to declare them.

    It is made of the header alone.
    """
    name, some = shlex.quote(names[-1]), shlex.quote(",".join(names[:SHOWN]))
    levels = shlex.quote(f"{names[-1]}=A,B")
    begin = f"tailguard schema {shlex.quote(str(path))} --out schema.json"
    words = undeclared_words(names, by_cell=by_cell)
    return (
        f"{words[0].upper()}{words[1:]}; where that is wrong, declare levels "
        f"(--categorical {levels}), leave columns out (--drop {name}), choose them "
        f"({option} {some}) or declare all in a file (--schema schema.json, which '{begin}' "
        "begins)."
    )


def _narrowed(schema: Schema, columns: tuple[str, ...]) -> Schema:
    """Return what a schema declares of these columns, all of them as features."""
    return replace(
        schema,
        features=columns,
        terms=None,
        **said_of(schema, columns),
        target=None if schema.target in columns else schema.target,
        exposure=None if schema.exposure in columns else schema.exposure,
        offset=None if schema.offset in columns else schema.offset,
        weight=None if schema.weight in columns else schema.weight,
        weight_bound=None if schema.weight in columns else schema.weight_bound,
    )
