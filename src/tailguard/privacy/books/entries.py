"""Where a durable ledger wrote a run down, so that a certificate can name the place."""

from dataclasses import asdict, dataclass
from typing import Any

from tailguard.checks import InputError, check_integer, shown


@dataclass(frozen=True)
class LedgerEntry:
    """One line of a ledger.

    Attributes
    ----------
    ledger
        The name of the data set that was charged.
    position
        The line's number in the ledger of that data set, from 1.
    key
        What tells this charge from every other one.
    digest
        The line's digest, which follows from it and from all lines before.

    Examples
    --------
    >>> LedgerEntry("claims-2026", 7, "3f", "9b1d" * 16).describe()
    "entry 7 of 'claims-2026' (9b1d9b1d9b1d9b1d)"
    """

    ledger: str
    position: int
    key: str
    digest: str

    def __post_init__(self) -> None:
        check_integer("position", self.position, minimum=1)
        for name in ("ledger", "key", "digest"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"{name} must be a text; got {shown(getattr(self, name))}.")

    def describe(self) -> str:
        """Name the entry, with the beginning of its digest."""
        return f"entry {self.position} of {self.ledger!r} ({self.digest[:16]})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; ``LedgerEntry(**data)`` reads it back."""
        return asdict(self)
