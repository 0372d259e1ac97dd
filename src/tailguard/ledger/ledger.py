"""The ledger: the privacy budget of a data set, in a file that all processes share."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from tailguard.checks import BudgetError, InputError, check_integer, check_text
from tailguard.ledger.cap import Cap
from tailguard.ledger.charges import (
    cap_of,
    charges_of,
    check_held,
    check_kept,
    check_same,
    coordinates_of,
    events_of,
    key_taken,
    over_cap,
    settlement,
    standing,
    unit_of,
)
from tailguard.ledger.lines import (
    CREATED,
    RESERVED,
    RESUMED,
    SETTLED,
    Draft,
    Line,
    canonical,
    check_chain,
)
from tailguard.ledger.run import LedgerRun
from tailguard.ledger.store import Store, checked_path
from tailguard.ledger.verification import OTHERS, check_continues, check_run, exported, head_of
from tailguard.printable import notebook_table
from tailguard.privacy.accounting.total_cost import COORDINATE_DISTANCE, TotalCost, total_cost
from tailguard.privacy.books import Release, own_copy
from tailguard.privacy.books.books import LedgerEntry
from tailguard.privacy.events import Composed, Event
from tailguard.privacy.guarantees import GDP, Guarantee, resolve_guarantee
from tailguard.privacy.unit import Unit
from tailguard.version import __version__

MOST_COORDINATES = 10**11
"""Most released numbers in one charge; with more, the bound on sampled noise is useless."""
MOST_STARTS = 10**9
"""Most resumptions of one run: more than any run has, and few enough for a line."""


class Ledger:
    """The budget of a data set, in a file that outlives the process.

    Parameters
    ----------
    path
        An SQLite file on a disk of this machine. One file may hold the ledgers of several data
        sets.
    name
        The name of the data set, which the curator chooses. Use one name for all copies, extracts
        and later editions of the same records. None uses the only name in the file.
    epsilon, delta, guarantee
        The cap of a new ledger, in any guarantee. An existing ledger keeps its cap and refuses a
        different one.
    person
        For a new ledger, the column of person keys if runs protect persons; None protects rows.
        Runs with another unit are refused; charges of other tools must protect the same unit.

    Guarantee
    ---------
    A run is charged, and its charge is on the disk, before its first query reads a record. Together
    all charged runs stay within the cap, even if later runs are chosen after looking at earlier
    answers. This holds for replace-one neighbours and ideal noise; ``total()`` adds the distance of
    sampled noise from it. A charge stays, however the run ends, with one exception: if a decision
    on released numbers stops a run early, only its releases count, where ``ledger/charges.py``
    allows that.

    Edge cases
    ----------
    Processes and threads share the file and wait for one another. A pickled ledger holds its path,
    and a clone is the ledger itself, so ``GridSearchCV`` and joblib charge the same budget. A file
    that cannot be written, is damaged, was edited, has a newer format or lies on a network file
    system raises an error, and nothing is released. Anyone who can write the file
    can also replace it: see :meth:`verify`.

    Reference
    ---------
    Rogers, Roth, Ullman and Vadhan 2016 (privacy filters); the docstrings of
    ``ledger/cap.py`` and ``ledger/lines.py``.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> ledger = tg.Ledger("budget.sqlite", name="claims-2026", epsilon=4.0, delta=1e-5)
    >>> X = np.random.default_rng(0).standard_normal((2000, 2))
    >>> for _ in range(2):
    ...     model = tg.LinearRegression(epsilon=1.0, delta=1e-6, ledger=ledger).fit(X, X[:, 0])
    >>> model.certificate_.ledger_entries[0].position  # fit 2, after the cap, fit 1 and its end
    4
    >>> round(ledger.total().epsilon, 2)  # of both fits, at the cap's delta
    1.28
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        guarantee: Guarantee | None = None,
        person: str | None = None,
    ) -> None:
        self.path = checked_path(path)
        self._key: str | None = None
        cap = None
        if not (epsilon is None and delta is None and guarantee is None):
            cap = resolve_guarantee(epsilon=epsilon, delta=delta, guarantee=guarantee)
        self.name = self._only_name(cap) if name is None else check_text("name", name)
        self._open(cap, Unit(person=person))

    @staticmethod
    def names(path: str | os.PathLike[str]) -> tuple[str, ...]:
        """Return the names of the data sets whose ledgers a file holds."""
        return Store(checked_path(path)).names()

    @property
    def cap(self) -> Guarantee:
        """The most that all runs may cost together."""
        return cap_of(self.lines()).guarantee

    @property
    def unit(self) -> str:
        """The protected unit: ``"rows"``, or persons by a column of keys."""
        return unit_of(self.lines())

    @property
    def reserved(self) -> Event:
        """Everything that counts as charged, as one event."""
        return own_copy(Composed(events_of(self.lines())))

    @property
    def left(self) -> Guarantee | None:
        """The weakest guarantee that the next run may have; None if no run fits."""
        lines = self.lines()
        return cap_of(lines).left(charges_of(lines))

    def describe_left(self) -> str:
        """Describe the weakest guarantee that the next run may have."""
        lines = self.lines()
        return cap_of(lines).describe_left(charges_of(lines))

    def lines(self) -> tuple[Line, ...]:
        """Check the chain and return all lines."""
        lines = self._store.lines(self.name)
        check_chain(self.name, lines)
        return lines

    def total(self, delta: float | None = None) -> TotalCost:
        """Return the total cost of all charges, as the smallest bound of all accountants.

        It is computed at ``delta``, by default the cap's, and includes the distance of sampled from
        ideal noise. The cap is checked by a privacy filter, which allows later runs to depend on
        earlier answers; by the filter the cost is never smaller than this total.
        """
        lines = self.lines()
        cap = cap_of(lines).guarantee
        return total_cost(
            Composed(events_of(lines)),
            cap.delta if delta is None else delta,
            distance=COORDINATE_DISTANCE.times(coordinates_of(lines)),
            bound_mu=isinstance(cap, GDP),
        )

    def with_key(self, key: str) -> "Ledger":
        """Return the ledger for one run, under a key that you choose.

        A key is charged once. A job that starts a second time, after a crash or by mistake, is
        refused and pays nothing: the first one may have released its results already.

        Examples
        --------
        >>> ledger = Ledger("budget-2.sqlite", "claims", epsilon=4.0, delta=1e-5)
        >>> ledger.with_key("report of March")  # doctest: +ELLIPSIS
        Ledger('...budget-2.sqlite', name='claims', key='report of March')
        """
        check_text("key", key)
        keyed = Ledger(self.path, self.name)
        keyed._key = key
        return keyed

    def charge(self, event: Event, *, key: str, coordinates: int = 0) -> LedgerEntry:
        """Charge an event that another tool will release; return its entry.

        The same event under the same key is charged once; a different event is refused.
        ``coordinates`` is the number of noised numbers that it releases.

        Examples
        --------
        >>> from tailguard.privacy.events import Laplace
        >>> ledger = Ledger("budget-3.sqlite", "claims", epsilon=4.0, delta=1e-5)
        >>> entry = ledger.charge(Laplace(0.5), key="count of March")
        >>> entry == ledger.charge(Laplace(0.5), key="count of March")
        True
        """
        return self._write_charge(event, check_text("key", key), coordinates, again=True, by=OTHERS)

    def opened(self, run: str) -> "LedgerRun":
        """Return the books of the run with this identifier, for a gate to write."""
        return self._run(check_run(run), again=False)

    def resumed(self, run: str, *, start: int | None) -> "LedgerRun":
        """Return the books of a charged run that continues from a checkpoint.

        ``start`` is the number of this resumption, or None if the run had already released
        everything. A checkpoint that is not the latest of its run, or a copy of one, is refused:
        later numbers would be released twice.
        """
        key = self._key or run
        check_run(run)
        if start is not None:
            check_integer("start", start, minimum=0, maximum=MOST_STARTS)

        def decide(lines: tuple[Line, ...]) -> Draft | Line:
            check_chain(self.name, lines)
            charged = [line for line in lines if (line.kind, line.key) == (RESERVED, key)]
            if charged and charged[0].data()["released_by"] != run:
                raise key_taken(self.name, charged[0])
            resumed = [line.data() for line in lines if line.kind == RESUMED]
            later = any(line["run"] == key and line["start"] >= start for line in resumed)
            if later or any((line.kind, line.key) == (SETTLED, key) for line in lines):
                raise BudgetError(
                    f"checkpoint must be the latest of its run; ledger {self.name!r} knows of a "
                    "later one, and nothing more is charged or released."
                )
            return Draft(RESUMED, f"{key} ({start})", {"run": key, "start": start})

        if start is not None:
            self._store.append(self.name, decide)
        return self._run(run, again=True)

    def _run(self, run: str, *, again: bool) -> "LedgerRun":
        charge = partial(self._write_charge, again=again, by=run)
        return LedgerRun(charge, self._write_settlement, self._key or run)

    def head(self) -> dict[str, Any]:
        """Return the number and the digest of the last line."""
        return head_of(self.lines())

    def export(self) -> dict[str, Any]:
        """Return all lines and their head as plain data, to keep elsewhere."""
        return exported(self.lines())

    def verify(self, known: Any = None) -> int:
        """Check file, chain and every charge; return the number of lines.

        With ``known``, an earlier ``export()`` or ``head()``, it also checks that no line was
        rewritten or removed since then: older backups, diverged copies and re-created ledgers are
        refused. A ``Certificate`` as ``known`` must belong to a run that was charged here.

        Examples
        --------
        >>> ledger = Ledger("budget-5.sqlite", "claims", epsilon=4.0, delta=1e-5)
        >>> ledger.verify(ledger.head())
        1
        """
        self._store.check_integrity()
        lines = self.lines()
        check_kept(lines)
        if known is not None:
            check_continues(lines, known)
        return len(lines)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy a consistent snapshot of the whole file to a new file."""
        copy = checked_path(path)
        if os.path.exists(copy):
            raise InputError(f"path must be that of a new file; got {str(path)!r}.")
        self._store.backup(copy)

    @property
    def _store(self) -> Store:
        return Store(self.path)

    def _only_name(self, cap: Guarantee | None) -> str:
        names = () if cap is not None and not self._store.exists() else self._store.names()
        if len(names) != 1 or cap is not None:
            listed = ", ".join(map(repr, names)) or "none"
            raise InputError(f"name must be given; ledgers of {self.path!r}: {listed}.")
        return names[0]

    def _open(self, cap: Guarantee | None, unit: Unit) -> None:
        """Open the ledger, or create it with cap and unit."""
        if cap is None:
            exists = self._store.exists()
            names = self._store.names() if exists else ()
            if self.name not in names:
                state = f"holds {', '.join(map(repr, names))}" if exists else "does not exist"
                raise InputError(
                    f"ledger {self.name!r} must exist in {self.path!r}, which {state}; to begin "
                    "it, pass its cap to tg.Ledger, or run 'tailguard ledger create'."
                )
            if unit.person is not None:
                check_same(self.name, self.lines(), self.cap, unit)
            return
        Cap(cap)  # raises an error for a guarantee that cannot be a cap
        content = {"cap": cap.to_dict(), "software": __version__, "unit": unit.budget}
        if not self._store.exists():
            self._store.create()

        def decide(lines: tuple[Line, ...]) -> Draft | Line:
            if not lines:
                return Draft(CREATED, "", content)
            check_chain(self.name, lines)
            check_same(self.name, lines, cap, unit)
            return lines[0]

        self._store.append(self.name, decide)

    def _write_charge(
        self, event: Event, key: str, coordinates: int, *, again: bool, by: str
    ) -> LedgerEntry:
        """Write a charge if it fits; with ``again``, return an equal earlier charge."""
        numbers = check_integer("coordinates", coordinates, minimum=0)
        if numbers > MOST_COORDINATES:
            raise InputError(f"coordinates must be at most {MOST_COORDINATES}; got {numbers}.")
        first = self._store.first(self.name)
        check_chain(self.name, first)
        charge = cap_of(first).charge(own_copy(event))  # before the lock: pricing may take seconds
        content = {
            "event": charge.event.to_dict(),
            "cover": charge.cover,
            "coordinates": numbers,
            "software": __version__,
            "released_by": by,  # only this run may use a charge made by its gate
        }

        def decide(lines: tuple[Line, ...]) -> Draft | Line:
            check_chain(self.name, lines)
            earlier = [line for line in lines if (line.kind, line.key) == (RESERVED, key)]
            in_full = standing(lines).get(key) == charge
            if in_full and again and earlier[0].content == canonical(content):
                return earlier[0]
            if earlier:
                raise key_taken(self.name, earlier[0])
            cap, before = cap_of(lines), charges_of(lines)
            if not cap.admits((*before, charge)):
                raise over_cap(self.name, cap, before)
            return Draft(RESERVED, key, content)

        return self._store.append(self.name, decide).entry()

    def _write_settlement(
        self, entries: Sequence[LedgerEntry], releases: Sequence[Release], stopped_early: bool
    ) -> Line:
        """Write that a run ended, and what its charges count from now on."""
        keys = [entry.key for entry in entries]

        def decide(lines: tuple[Line, ...]) -> Draft | Line:
            check_chain(self.name, lines)
            check_held(lines, entries)
            return settlement(lines, keys, releases, stopped_early=stopped_early)

        return self._store.append(self.name, decide)

    def __sklearn_clone__(self) -> "Ledger":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.path, self.name, self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((self.path, self.name, self._key))

    def _repr_html_(self) -> str:
        """Return the table that a notebook displays."""
        rows = [("ledger", self.name), ("cap", self.cap.describe()), ("unit", self.unit)]
        return notebook_table([*rows, ("left", self.describe_left()), ("file", self.path)])

    def __repr__(self) -> str:
        key = "" if self._key is None else f", key={self._key!r}"
        return f"Ledger({self.path!r}, name={self.name!r}{key})"


def _restored(path: str, name: str, key: str | None) -> Ledger:
    """Restore a pickled ledger; the file is opened when it is charged."""
    ledger = Ledger.__new__(Ledger)
    ledger.path, ledger.name, ledger._key = path, name, key
    return ledger
