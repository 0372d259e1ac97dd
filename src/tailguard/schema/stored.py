"""The schema as JSON, version 1: ``{"tailguard_schema": 1, "features": [...], ...}``."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from tailguard.checks import InputError, check_version, shown

KEY = "tailguard_schema"
"""The key that says what the file is; its value is the version of the format."""
VERSION = 1
DECLARATIONS = (
    *("features", "categorical", "drop", "missing", "target", "exposure", "classes", "row_id"),
)


def to_dict(schema: Any) -> dict[str, Any]:
    """Return a schema as plain data.

    Examples
    --------
    >>> from tailguard.schema.schema import Schema
    >>> to_dict(Schema(target="cost"))["tailguard_schema"]
    1
    """
    return {
        KEY: VERSION,
        "features": None if schema.features is None else list(schema.features),
        "categorical": {column: list(levels) for column, levels in schema.categorical.items()},
        "drop": list(schema.drop),
        "missing": dict(schema.missing),
        "target": schema.target,
        "exposure": schema.exposure,
        "classes": None if schema.classes is None else list(schema.classes),
        **({} if schema.row_id is None else {"row_id": schema.row_id}),
    }


def declarations(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a schema's content declares, if its version and its keys are known.

    Examples
    --------
    >>> declarations({"tailguard_schema": 1, "drop": ["id"]})
    {'drop': ['id']}
    """
    if not isinstance(content, Mapping) or KEY not in content:
        raise InputError(f'schema must be a JSON object that starts with "{KEY}": {VERSION}.')
    check_version("schema", content[KEY], newest=VERSION)
    for key in content:
        if key not in (KEY, *DECLARATIONS):
            raise InputError(f"schema must declare {', '.join(DECLARATIONS)} only; got {key!r}.")
    return {key: content[key] for key in content if key != KEY}


def to_json(content: Mapping[str, Any]) -> str:
    """Return a schema's content as JSON, one declaration a line.

    Examples
    --------
    >>> print(to_json({"tailguard_schema": 1, "drop": ["id"]}), end="")
    {
      "tailguard_schema": 1,
      "drop": ["id"]
    }
    """
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def content_of(text: str) -> Any:
    """Read JSON in which no key comes twice.

    Examples
    --------
    >>> content_of('{"tailguard_schema": 1, "drop": ["id"]}')
    {'tailguard_schema': 1, 'drop': ['id']}
    """
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("schema must be JSON, which it is not.") from None


def text_of(path: str | PathLike[str]) -> str:
    """Read the text of a file.

    Examples
    --------
    >>> text_of("nowhere.json")
    Traceback (most recent call last):
    tailguard.checks.InputError: schema must be a JSON file; 'nowhere.json' cannot be read as one.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise InputError(
            f"schema must be a JSON file; {shown(str(path))} cannot be read as one."
        ) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"schema must declare everything once; got {repeated!r} twice.")
    return content
