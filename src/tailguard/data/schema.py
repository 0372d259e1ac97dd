"""The schema: a user's declarations about the columns of a table.

They come from Python, a command line or a file. All are public, and none comes from a cell.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from tailguard.checks import InputError, check_arguments, check_version, shown
from tailguard.data import declarations
from tailguard.data.draft import drafted
from tailguard.data.readers.opening import opened
from tailguard.data.table import as_table
from tailguard.data.terms.dates import checked_dates
from tailguard.data.terms.term import REST, Factor, Term, term_of
from tailguard.printable import json_words, notebook_table
from tailguard.report.content import write_file

Label: TypeAlias = str | int | float | bool

KEY = "tailguard_schema"
"""The key that identifies a schema file; its value is the version of the format."""
NOT_LOOKED_AT = (
    "not checked: the cells. Numeric codes may be levels, columns that are left out may have "
    "levels or dates to declare, and missing cells make a row void unless a constant is declared"
)
"""The last lines of ``describe``."""
VERSION = 1
"""The version of the JSON format: ``{"tailguard_schema": 1, "features": [...], ...}``."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Schema:
    """Declarations of a table's columns, each by its name.

    Parameters
    ----------
    features
        The feature columns, including categorical ones, in the order of their coefficients. None
        takes all columns that have no other role here; they are numeric unless declared.
    categorical
        Column -> its levels, the baseline first: text or whole numbers, known without the table.
        All other cells of the column share the level ``other``.
    other
        ``"level"``, or ``"void"``: a record with an undeclared level is void. A dict sets it by
        column.
    dates
        Column -> its public origin and unit: ``{"origin": "2020-01-01", "unit": "days"}``, and
        ``"format": "%d/%m/%Y"`` for text that is not ISO 8601.
    terms
        The terms of the model: columns, functions such as ``log1p(income)`` and products such as
        ``age:region``; ``...`` stands for each column that no other one-column term reads. None
        makes each feature a term.
    drop
        Columns to ignore.
    missing
        Column -> a public constant for its missing cells: a number, or a level.
    target
        The column to predict.
    exposure, offset
        The column with the duration of observation, whose logarithm is added to scores, or the
        column that is added to scores unchanged. At most one of them is declared.
    weight, weight_bound
        The column of row weights, and their upper bound, known without the table: larger weights
        are cut to it. They are declared together.
    classes
        The labels of the target, for models of labels.
    row_id
        A column of whole numbers, text or UUIDs that differs in every row. With it the rows of a
        table need no order: a secret key orders them, wherever they are stored.
    person, max_rows
        A column of keys that identify persons, and the most rows of one person that are used. All
        rows of a person are protected together. They are declared together.

    Notes
    -----
    *Edge cases.* The constructor refuses contradictions, such as a column with two roles. Columns
    that the table lacks are refused when it is read. Other columns are ignored, so a table may have
    more of them, in any order.

    Examples
    --------
    >>> import pandas as pd
    >>> import tailguard as tg
    >>> schema = tg.Schema(categorical={"region": ["north", "south"]}, target="cost")
    >>> table = pd.DataFrame(
    ...     {"age": [30, 60] * 500, "region": ["north", "south"] * 500, "cost": [1.0, 2.0] * 500}
    ... )
    >>> model = tg.LinearRegression(schema=schema, epsilon=1.0, delta=1e-6).fit(table)
    >>> model.schema_.coefficient_names
    ('age', 'region=south', 'region=other')
    """

    features: Sequence[str] | None = None
    categorical: Mapping[str, Sequence[str | int]] = field(default_factory=dict)
    other: str | Mapping[str, str] = "level"
    dates: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    terms: Sequence[str] | None = None
    drop: Sequence[str] = ()
    missing: Mapping[str, float | str] = field(default_factory=dict)
    target: str | None = None
    exposure: str | None = None
    offset: str | None = None
    weight: str | None = None
    weight_bound: float | None = None
    classes: Sequence[Label] | None = None
    row_id: str | None = None
    person: str | None = None
    max_rows: int | None = None

    def __new__(cls, **declared: Any) -> "Schema":
        """Refuse unknown declarations, and suggest similar names."""
        check_arguments("Schema", declared, cls.__dataclass_fields__)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        levels = declarations.levels(self.categorical)
        other = declarations.others(self.other, levels)
        void = declarations.void_columns(other, levels)
        checked = {
            "features": declarations.names("features", self.features, optional=True),
            "categorical": levels,
            "other": other,
            "dates": checked_dates(self.dates),
            "terms": declarations.terms(self.terms),
            "drop": declarations.names("drop", self.drop),
            "missing": declarations.constants(self.missing, levels, void),
            "target": declarations.name("target", self.target),
            "exposure": declarations.name("exposure", self.exposure),
            "offset": declarations.name("offset", self.offset),
            "weight": declarations.name("weight", self.weight),
            "classes": declarations.labels(self.classes),
            "row_id": declarations.name("row_id", self.row_id),
            "person": declarations.name("person", self.person),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        declarations.check_places(self)
        declarations.check_weight_bound("weight", self.weight, self.weight_bound)
        declarations.check_max_rows(self.person, self.max_rows)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The features that are read as numbers; empty if ``features`` is None."""
        declared = {*self.categorical, *self.dates}
        return tuple(name for name in self.features or () if name not in declared)

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The columns of a record: features, target, offset and weight."""
        beside = (self.target, self.exposure, self.offset, self.weight)
        return (*(self.features or ()), *(name for name in beside if name is not None))

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of each categorical column as text."""
        return {column: tuple(map(str, levels)) for column, levels in self.categorical.items()}

    @property
    def void_columns(self) -> tuple[str, ...]:
        """The columns of levels in which an undeclared level makes the record void."""
        return declarations.void_columns(self.other, self.categorical)

    @property
    def model_terms(self) -> tuple[Term, ...]:
        """The terms of the model; complete once ``settled`` has named the features."""
        if self.terms is None:
            return tuple(Term((Factor(name),)) for name in self.features or ())
        return tuple(term_of(text) for text in self.terms if text != REST)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """One name per coefficient of the named features."""
        indicators = self._indicators
        return tuple(name for term in self.model_terms for name in term.names(indicators))

    @property
    def places_of_terms(self) -> dict[str, tuple[int, ...]]:
        """Term name -> the positions of its coefficients."""
        indicators, places, first = self._indicators, {}, 0
        for term in self.model_terms:
            stop = first + len(term.names(indicators))
            places[term.name] = tuple(range(first, stop))
            first = stop
        return places

    @property
    def level_columns(self) -> tuple[tuple[int, ...], ...]:
        """The positions of the coefficients of each term with levels."""
        places, levels = self.places_of_terms, self.levels
        return tuple(places[term.name] for term in self.model_terms if term.are_indicators(levels))

    @property
    def _indicators(self) -> dict[str, tuple[str, ...]]:
        """The names of the indicators of each column of levels."""
        void = self.void_columns
        return {
            column: declarations.indicator_names(column, levels, void=column in void)
            for column, levels in self.levels.items()
        }

    def undeclared(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Return the columns that are features by default, because no declaration names them."""
        columns = declarations.columns_of_a_table(columns)
        if self.features is not None or (self.terms is not None and REST not in self.terms):
            return ()
        declared = (*self.categorical, *self.dates, *self.drop, *self.missing)
        named = {*declared, *self.other_roles, *self._term_columns()}
        return tuple(name for name in columns if name not in named)

    def settled(self, columns: Sequence[str], where: str = "X") -> "Schema":
        """Return the schema for a table with these columns: features named, ``...`` replaced."""
        columns = declarations.columns_of_a_table(columns)
        in_terms, terms = self._term_columns(), self.terms
        features = self.features
        if features is None:
            features = [name for name in columns if name not in (*self.drop, *self.other_roles)]
            if terms is not None and REST not in terms:
                features = in_terms
        if terms is not None:
            alone = {term.columns[0] for term in self.model_terms if term.reads_one_column}
            rest = [str(Factor(name)) for name in features if name not in alone]
            terms = [each for text in terms for each in (rest if text == REST else [text])]
        if not features:
            raise InputError(
                f"{where} must have a column that is a feature; its columns are "
                f"{declarations.listing(columns, repr)}."
            )
        named = (*features, *self.categorical, *self.dates, *self.drop, *self.missing, *in_terms)
        declarations.check_columns(named, columns, where)
        settled = replace(self, features=features, terms=terms)
        declarations.check_gaps(settled)
        return settled

    @property
    def other_roles(self) -> tuple[str | None, ...]:
        """The columns with other roles than features; None for a role that is not declared."""
        return (self.target, self.exposure, self.offset, self.weight, self.row_id, self.person)

    def _term_columns(self) -> list[str]:
        """Return the columns that terms read, in their order."""
        if self.terms is None:
            return []
        return [*dict.fromkeys(column for term in self.model_terms for column in term.columns)]

    def with_declared(self, **given: Any) -> "Schema":
        """Return the schema with more declarations, each at most once; None declares nothing."""
        more = {name: value for name, value in given.items() if value is not None}
        for name in more:
            if _declares(name, getattr(self, name)):
                raise InputError(
                    f"{name} must be declared once; it is given beside a schema that declares it."
                )
        return replace(self, **more)

    @classmethod
    def from_frame(cls, X: Any, **declared: Any) -> "Schema":
        """Return a draft schema from the names and types of a table's columns; no cell is read.

        Columns of numbers are features, and so are columns of a date type, as days after
        2000-01-01. Columns of other types are listed in ``drop`` until you declare levels for them.
        A type that a reader inferred from cells may tell of a cell.
        A CSV file has no types, so all its columns are features. ``describe()`` lists what to
        check.

        Parameters
        ----------
        X
            A table, or other data with column names that ``fit`` accepts.
        declared
            Declarations that you already know, such as ``target="cost"``.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [41], "region": ["north"], "cost": [2.5]})
        >>> Schema.from_frame(table, target="cost").drop
        ('region',)
        """
        table, given = as_table(opened(X)), cls(**declared)
        return drafted(given, table, keep_cells=False)

    def describe(self) -> str:
        """Describe the role of each column, and what a draft cannot check."""
        roles = declarations.columns_by_role(self).items()
        return "\n".join([*(f"{role}: {columns}" for role, columns in roles), NOT_LOOKED_AT])

    def __repr__(self) -> str:
        declared = {each.name: getattr(self, each.name) for each in fields(self)}
        words = (f"{k}={v!r}" for k, v in declared.items() if _declares(k, v))
        return f"Schema({', '.join(words)})"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return notebook_table(declarations.columns_by_role(self).items(), ("role", "columns"))

    @classmethod
    def of(cls, schema: Any) -> "Schema":
        """Return a schema, given as one, as a dict of declarations, or as the path of a file."""
        if isinstance(schema, cls):
            return schema
        if isinstance(schema, Mapping):
            return cls.from_dict({KEY: VERSION, **schema})
        if isinstance(schema, str | PathLike):
            return cls.load(schema)
        raise InputError(
            "schema must be a tg.Schema, a dict, the path of a JSON file or None; got "
            f"{type(schema).__name__}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data, with the version of the format."""
        declared = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in declared.items()}
        plain["categorical"] = {column: list(v) for column, v in self.categorical.items()}
        plain["missing"] = dict(self.missing)
        plain["dates"] = {column: dict(v) for column, v in self.dates.items()}
        return {KEY: VERSION, **plain}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Schema":
        """Read the output of ``to_dict``; a missing entry declares nothing."""
        if not isinstance(content, Mapping) or KEY not in content:
            raise InputError(f'schema must be a JSON object that starts with "{KEY}": {VERSION}.')
        check_version("schema", content[KEY], newest=VERSION)
        known = [each.name for each in fields(cls)]
        for key in content:
            if key not in (KEY, *known):
                names = ", ".join(map(repr, known))
                raise InputError(f"schema must declare {names} only; got {shown(key)}.")
        return cls(**{key: content[key] for key in content if key != KEY})

    def to_json(self) -> str:
        """Return the schema as JSON, one declaration per line, for ``from_json``."""
        content = self.to_dict().items()
        lines = [f"  {json_words(key)}: {json_words(value)}" for key, value in content]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> "Schema":
        """Read the output of ``to_json``; refuse repeated keys."""
        try:
            content = json.loads(text, object_pairs_hook=_without_repeats)
        except InputError:
            raise
        except (TypeError, ValueError, RecursionError):
            raise InputError("schema must be JSON; it cannot be parsed.") from None
        return cls.from_dict(content)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the schema to a JSON file."""
        write_file(path, self.to_json())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Schema":
        """Read a schema from a JSON file."""
        try:
            if not Path(path).is_file():  # reading a device may never end
                raise ValueError
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, TypeError, ValueError):
            named = str(path) if isinstance(path, str | PathLike) else path
            raise InputError(
                f"schema must be a JSON file; {shown(named)} cannot be read as one."
            ) from None
        try:
            return cls.from_json(text)
        except InputError as error:
            raise InputError(f"{str(error).rstrip('.')}: see {str(path)!r}.") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"schema must declare everything once; got {repeated!r} twice.")
    return content


Declared: TypeAlias = Schema | Mapping[str, Any] | str | PathLike[str]
"""A schema, or anything that ``Schema.of`` accepts."""


def _declares(name: str, value: Any) -> bool:
    """Whether a schema's attribute of this name and value declares anything."""
    return bool(value != declarations.OTHERS[0] if name == "other" else value not in (None, (), {}))
