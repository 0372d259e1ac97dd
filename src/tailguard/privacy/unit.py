"""Whose data a promise protects: one row, or one person with all of her rows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

from tailguard.checks import InputError, check_boolean, check_choice, check_integer, check_text

RowWeight: TypeAlias = Literal["person", "row"]
"""Whether each person counts once, or each used row counts once."""

MOST_ROWS = 2**20
"""The most rows of a person: more would make rounding to the lattice cost more than a statistic."""

ROWS_DIFFER = (
    "replace-one, n public: two data sets of the same public size that differ in one row, which "
    "may be replaced by any other, missing and infinite values included"
)
PERSONS_DIFFER = (
    "replace-one person, n public: two data sets with the same public number of persons, of whom "
    "each has at least one row, that differ in all rows of one person, which may be replaced by "
    "any others, more or fewer, under any key that is new"
)

PROTECTED = "protected is "
"""The beginning of the note on whom a run protects."""


@dataclass(frozen=True)
class Unit:
    """The unit of protection: a row or a person. The public number of records counts units.

    Attributes
    ----------
    person
        The name of the column of person keys. None protects one row.
    max_rows
        The largest number of rows of one person that are used; 1 if rows are protected.
    weight
        ``"person"``: each person counts once; ``"row"``: each used row counts once.
    one_row_per_person
        Whether the user states that no person has two rows, so that a row is a person.

    Examples
    --------
    >>> Unit(person="patient_id", max_rows=20).describe()
    'one person (patient_id), at most 20 rows'
    >>> Unit().describe()
    'one row, and not a person with several rows'
    """

    person: str | None = None
    max_rows: int = 1
    weight: RowWeight = "person"
    one_row_per_person: bool = False

    def __post_init__(self) -> None:
        if self.person is not None:
            check_text("person", self.person)
        check_integer("max_rows", self.max_rows, minimum=1, maximum=MOST_ROWS)
        check_choice("weight", self.weight, get_args(RowWeight))
        check_boolean("one_row_per_person", self.one_row_per_person)
        if self.person is None and (self.max_rows, self.weight) != (1, "person"):
            raise InputError("max_rows and weight must be left out where no person is named.")
        if self.person is not None and self.one_row_per_person:
            raise InputError(
                "one_row_per_person must be False where a person is named: max_rows=1 uses one row "
                "of each."
            )

    @property
    def noun(self) -> str:
        """The word for several records."""
        return "rows" if self.person is None else "persons"

    def size(self, n_rows: int) -> str:
        """Describe the number of records, and whether they are persons."""
        return f"n = {n_rows}" + (" persons" if self.person is not None else "")

    @property
    def budget(self) -> str:
        """The unit of a ledger: rows, or the persons of one column of keys."""
        return "rows" if self.person is None else f"persons by {self.person!r}"

    @property
    def neighbours(self) -> str:
        """Describe which pairs of data sets are neighbours."""
        return ROWS_DIFFER if self.person is None else PERSONS_DIFFER

    def describe(self) -> str:
        """Describe what is protected."""
        if self.person is not None:
            rows = "row" if self.max_rows == 1 else "rows"
            alike = ", each used row counting alike" if self.weight == "row" else ""
            return f"one person ({self.person}), at most {self.max_rows} {rows}{alike}"
        if self.one_row_per_person:
            return "one row; the user states that each person has one row"
        return "one row, and not a person with several rows"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for a result, if the user declared anything about persons."""
        plain = self.person is None and not self.one_row_per_person
        return () if plain else (f"{PROTECTED}{self.describe()}",)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Unit":
        """Read a unit back from plain data."""
        return cls(**data)


ROWS = Unit()
"""One row is protected."""
