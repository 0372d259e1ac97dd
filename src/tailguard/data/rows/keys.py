"""The persons of a table: rows with the same key belong to the same person.

A key is a whole number or a text. A text that spells a whole number is that number, so a key is the
same in every file format. A row without a key, or with a blank one, belongs to no person and adds
nothing. The number of persons is the number of different keys, and is public.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError, check_integer, require
from tailguard.data.columns import identifiers_of
from tailguard.data.declarations import check_columns
from tailguard.data.design import Offset, column_of
from tailguard.data.frames import frame_column, is_column
from tailguard.data.matrices import one_column
from tailguard.data.readers.lazy import silenced
from tailguard.data.schema import Schema
from tailguard.data.table import CHANGED, Table, check_same, names_in
from tailguard.noise.keyed_hash import Identifiers, number_in
from tailguard.privacy.unit import MOST_ROWS, ROWS, Unit

NOBODY = -1
"""The number of the person of a row without a key."""
# Keys to read at a time from a table in batches: 8 MB of whole numbers.
KEYS_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class PersonRule:
    """How rows belong to persons, as a user declares it.

    Attributes
    ----------
    keys
        The name of a column, or a key per row beside X; None protects rows.
    unit
        What is protected. Its ``person`` is the name of the keys.
    """

    keys: Any = None
    unit: Unit = ROWS

    @classmethod
    def of(
        cls,
        keys: Any = None,
        *,
        schema: Schema | None = None,
        max_rows: int | None = None,
        weight: str = "person",
        one_row_per_person: bool = False,
    ) -> "PersonRule":
        """Check the user's declaration of persons, or else the schema's."""
        if schema is not None and schema.person is not None:
            if max_rows is not None or not (
                keys is None or (isinstance(keys, str) and keys == schema.person)
            ):
                raise InputError(
                    "person and max_rows must be declared once; they are given beside a schema "
                    "that declares them."
                )
            keys, max_rows = schema.person, schema.max_rows
        if keys is None:
            if max_rows is not None or weight != "person":
                name, got = ("max_rows", max_rows) if max_rows is not None else ("weight", weight)
                rows = "" if name == "max_rows" else "; fit takes sample weights of rows"
                raise InputError(
                    f"{name} must be left out without person=, the column or the array of keys "
                    f"that identify persons{rows}; got {got!r}."
                )
            plain = one_row_per_person is False
            return cls() if plain else cls(None, Unit(one_row_per_person=one_row_per_person))
        if max_rows is None:
            raise InputError(
                "max_rows must be given beside person=: how many rows of a person are used at "
                "most, chosen without looking at the rows; got None."
            )
        most = check_integer("max_rows", max_rows, minimum=1, maximum=MOST_ROWS)
        key_name: Any = keys if isinstance(keys, str) else getattr(keys, "name", None)
        person = key_name if isinstance(key_name, str) and key_name.strip() else "person"
        options: dict[str, Any] = {"weight": weight, "one_row_per_person": one_row_per_person}
        return cls(keys, Unit(person=person, max_rows=most, **options))

    @classmethod
    def declared(cls, given: Mapping[str, Any] | None, schema: Schema | None) -> "PersonRule":
        """Read the arguments of ``of``; without any, refuse a schema that names persons."""
        if given is None and schema is not None and schema.person is not None:
            raise InputError(
                "person must not be declared in the schema here, where each row is protected by "
                f"itself; got {schema.person!r}: use an estimator or tg.mean."
            )
        return cls.of(schema=schema, **(given or {}))

    @classmethod
    def of_score(
        cls,
        fitted: Unit,
        X: Any,
        beside: Mapping[str, Any],
        *,
        person: Any,
        max_rows: int | None,
        weight: str | None,
    ) -> "PersonRule":
        """Return the rule for scoring a model; by default it protects what the fit protects."""
        if fitted.person is not None:
            if person is None and fitted.person not in names_in(X):
                raise InputError(
                    "person must be given to score a model that protects persons, since X has no "
                    f"column {fitted.person!r}: a key per row, or the name of another column; got "
                    "None."
                )
            person = fitted.person if person is None else person
            max_rows = fitted.max_rows if max_rows is None else max_rows
            weight = weight or fitted.weight
        rule = cls.of(person, max_rows=max_rows, weight=weight or "person")
        rule.check_axes(X, may_be_vector=False, **beside)
        return rule if rule.column is None else replace(rule, keys=column_of(X, rule.column))

    @property
    def column(self) -> str | None:
        """The name of the column of keys; None if X does not contain the keys."""
        return self.keys if isinstance(self.keys, str) else None

    def read(self, column: Any, n_rows: int | None, **beside: Any) -> "Persons | None":
        """Return the persons of ``n_rows`` rows (None: any number), or None if rows are protected.

        ``column`` holds the keys if X has them. Keys and columns ``beside`` X that are longer or
        shorter than X are refused, and no error reveals its number of rows.
        """
        if self.keys is None:
            return None
        for name, given in _by_argument(beside):
            values = getattr(given, "column", given)
            if values is not None and not isinstance(values, str):
                require(
                    len(one_column(values, name)[1]) == n_rows,
                    f"{name} must have one entry per row of X; it has more or fewer.",
                )
        keys = self.keys if column is None else column
        if not (is_column(keys) or isinstance(keys, list)):
            keys = one_column(keys, "person")[1]
        if n_rows is not None and len(keys) != n_rows:
            raise InputError("person must have one key per row of X; it has more or fewer.")
        return Persons.of(identifiers_of(keys), self.unit)

    def counted(self, table: Table) -> "PersonKeys | None":
        """Read the keys of a table in batches; return its persons, or None if rows are protected.

        No error reveals the number of rows, or a key.
        """
        if self.keys is None:
            return None
        name = self.column
        if name is None:
            raise InputError(
                f"person must be a column of {table.where}, which is read in batches: give its "
                "name, as person='...'."
            )
        check_columns([name], table.names, table.where)
        # First read the column like any other, so that a failing cell gives the usual error.
        list(table.try_reading([name], KEYS_AT_ONCE))
        frames = table.batches([name], KEYS_AT_ONCE)
        columns = (identifiers_of(frame_column(frame, name)) for frame in frames)
        return silenced(lambda: PersonKeys.of(columns, self.unit))

    def check_axes(self, X: Any, *, may_be_vector: bool, **beside: Any) -> None:
        """Refuse arrays of other shapes; the error does not reveal the number of rows."""
        if self.keys is None:
            return
        axes = (1, 2) if may_be_vector and not hasattr(X, "tocsr") else (2,)
        shape = _shape_of(X)
        require(
            shape is None or (len(shape) in axes and 0 not in shape[1:]),
            "X must be a matrix of rows by features, with at least one feature; it is not.",
        )
        for name, given in (*_by_argument(beside), ("person", self.keys)):
            shape = _shape_of(getattr(given, "column", given))
            is_vector = shape is None or shape[1:] in ((), (1,))
            require(is_vector, f"{name} must be a vector, one entry per row of X; it is not.")


@dataclass(frozen=True, eq=False)
class Persons:
    """The person of each row.

    Attributes
    ----------
    unit
        What is protected.
    keys
        The key of each row; None if it has none.
    numbers
        The number of each row's person, in the order of the keys; -1 without a key.
    count
        The number of persons.

    Examples
    --------
    >>> persons = Persons.of(["b", "7", None, 7, " "], Unit(person="key", max_rows=2))
    >>> persons.count, persons.numbers
    (2, array([ 1,  0, -1,  0, -1]))
    """

    unit: Unit
    keys: Identifiers
    numbers: IntArray
    count: int

    @classmethod
    def of(cls, keys: Identifiers, unit: Unit) -> "Persons":
        """Assign numbers to persons; at least one row must have a key."""
        persons = PersonKeys.of([keys], unit)
        return cls(unit, keys, persons.numbers(keys), persons.count)


@dataclass(frozen=True, eq=False)
class PersonKeys:
    """The keys of all persons, in their order: whole numbers, and then texts.

    They need about one word of memory per person, however many rows there are.

    Attributes
    ----------
    unit
        What is protected.
    whole, texts
        The keys that are whole numbers, and the other keys, in rising order.
    n_rows
        The number of rows of each person, which is secret.

    Examples
    --------
    >>> keys = PersonKeys.of([["b", "7", None], np.array([7, 3])], Unit(person="key", max_rows=2))
    >>> keys.count, keys.numbers(["7", "", "b"])
    (3, array([ 1, -1,  2]))
    """

    unit: Unit
    whole: IntArray
    texts: tuple[str, ...]
    n_rows: IntArray

    @classmethod
    def of(cls, columns: Iterable[Identifiers], unit: Unit) -> "PersonKeys":
        """Collect the keys of a column that comes in parts; at least one row must have a key."""
        whole = n_rows = np.zeros(0, dtype=np.int64)
        texts: Counter[str] = Counter()
        waiting, length = [whole], 0
        for column in columns:
            numbers, more_texts = _split_keys(column)
            texts.update(more_texts)
            waiting.append(numbers)
            length += len(numbers)
            if length > max(len(whole), KEYS_AT_ONCE):
                whole, n_rows = _with_more(whole, n_rows, waiting)
                waiting, length = [], 0
        whole, n_rows = _with_more(whole, n_rows, waiting)
        sorted_texts = sorted(texts)
        if not (len(whole) or sorted_texts):
            raise InputError(
                f"{unit.person} must hold a key, a whole number or a text, in at least one row; "
                "it holds none."
            )
        of_texts = np.array([texts[text] for text in sorted_texts], dtype=np.int64)
        return cls(unit, whole, tuple(sorted_texts), np.append(n_rows, of_texts))

    @property
    def count(self) -> int:
        """The public number of persons."""
        return len(self.n_rows)

    @cached_property
    def _places(self) -> dict[int | str | None, int]:
        return {text: place for place, text in enumerate(self.texts, len(self.whole))}

    def numbers(self, keys: Identifiers) -> IntArray:
        """Return the number of each row's person, given the key of each row; -1 without a key."""
        if isinstance(keys, np.ndarray):
            return self._of_whole(keys)
        parsed = [_key_in(key) for key in keys]
        numbers = np.array([self._places.get(key, NOBODY) for key in parsed], dtype=np.int64)
        is_whole = np.array([isinstance(key, int) for key in parsed], dtype=np.bool_)
        whole_keys = np.array([key for key in parsed if isinstance(key, int)], dtype=np.int64)
        numbers[is_whole] = self._of_whole(whole_keys)
        check_same((numbers == NOBODY).sum(), parsed.count(None))
        return numbers

    def _of_whole(self, keys: IntArray) -> IntArray:
        """Return the numbers of persons whose keys are whole numbers."""
        places = np.searchsorted(self.whole, keys)
        if len(keys) and not np.array_equal(self.whole.take(places, mode="clip"), keys):
            raise InputError(CHANGED)
        return places


def _shape_of(given: Any) -> tuple[int, ...] | None:
    """Return the shape of an array, a table or a column; None for anything else."""
    if is_column(given):  # columns of Arrow have no shape
        return (len(given),)
    shape = getattr(given, "shape", None)
    if shape is None and hasattr(given, "__array__"):
        with suppress(Exception):  # refused later
            shape = np.asarray(given).shape
    return shape if isinstance(shape, tuple) else None


def _by_argument(beside: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield the name and the value of each argument beside X."""
    for name, given in beside.items():
        role = given.role if isinstance(given, Offset) else name
        yield "sample_weight" if role == "weight" else role, given


def _split_keys(column: Identifiers) -> tuple[IntArray, list[str]]:
    """Return the keys that are whole numbers, and the keys that are other texts."""
    if isinstance(column, np.ndarray):
        return column, []
    parsed = [_key_in(key) for key in column]
    whole = np.array([key for key in parsed if isinstance(key, int)], dtype=np.int64)
    return whole, [key for key in parsed if isinstance(key, str)]


def _with_more(keys: IntArray, n_rows: IntArray, more: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Merge more keys into sorted distinct keys and their counts."""
    joined = np.concatenate([keys, *more])
    distinct, places = np.unique(joined, return_inverse=True)
    # Counts are exact as floats: there are fewer than 2**53 rows.
    times = np.append(n_rows, np.ones(len(joined) - len(keys)))
    return distinct, np.bincount(places.ravel(), times, len(distinct)).astype(np.int64)


def _key_in(cell: int | str | None) -> int | str | None:
    """Return the whole number or the text in a cell; None if it is blank."""
    if isinstance(cell, str) and not cell.strip():
        return None
    number = number_in(cell)
    return cell if number is None else number
