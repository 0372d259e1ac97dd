"""The one place where numbers leave: a query's answer, noise, and a line in the books.

A solver holds a gate and asks it queries; what it gets back is noised. The gate refuses a spend
beyond the reserved plan before it draws or reads anything, and writes the books before the answer
exists, so that a crash costs budget and never privacy.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3 (adaptive composition of Gaussian mechanisms).
"""

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import BudgetError, InputError, check_methods
from tailguard.losses.registry import check_known
from tailguard.noise.registry import make_mechanism
from tailguard.noise.sources import Source, make_source
from tailguard.privacy.books import Books, MemoryBooks, Release
from tailguard.privacy.calibration import COORDINATE_VARIATION, Calibration
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Composed, Event
from tailguard.privacy.guarantees import Guarantee
from tailguard.privacy.solve import satisfies
from tailguard.queries.base import Query
from tailguard.rows.arrays import make_rows
from tailguard.rows.base import Rows

__all__ = ["Gate"]

FloatArray = NDArray[np.float64]


class Gate:
    """Holds the records and the books; answers queries with noise.

    Guarantee
    ---------
    Everything that ``ask`` returned so far costs, together, at most the reserved event, and the
    reserved event costs at most the guarantee, for replace-one neighbours with public ``n_rows``.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.privacy.guarantees import GDP
    >>> from tailguard.privacy.events import Gaussian
    >>> from tailguard.queries.counts import CountBelow
    >>> gate = Gate.over(np.zeros((100, 1)), guarantee=GDP(1.0))
    >>> gate.reserve(Gaussian(mu=1.0))
    >>> below = gate.ask(CountBelow(columns=(0,)), np.array([1.0]), mu=1.0)
    >>> below.shape
    (1,)
    """

    def __init__(
        self, rows: Rows, *, guarantee: Guarantee, source: Source, ledger: Books | None = None
    ) -> None:
        if ledger is not None:
            check_methods("ledger", ledger, ("reserve", "record"), "an object that keeps books")
        if ledger is not None and not source.private:
            raise BudgetError(
                "random_state must be None when a ledger is given: a simulation is not private "
                "and cannot be charged to a budget."
            )
        self._rows = rows
        self._guarantee = guarantee
        self._source = source
        self._ledger = ledger
        self._books = MemoryBooks()
        self._lock = Lock()
        self._reserved_coordinates = 0
        self._coordinates = 0
        self._variation = 0.0

    @classmethod
    def over(
        cls,
        X: Any,
        y: Any = None,
        *,
        guarantee: Guarantee,
        exposure: Any = None,
        loss: Any = None,
        classes: Any = None,
        ledger: Books | None = None,
        random_state: int | None = None,
    ) -> "Gate":
        """Wrap whatever the user brought: arrays, or pandas, polars and pyarrow tables.

        ``loss`` says which targets are valid; records with another one are void. ``classes``
        declares the labels. ``exposure`` enters the score as its logarithm. A ``ledger`` is charged
        beside the gate's own books.
        """
        if loss is not None:
            check_known(loss)
        rows = make_rows(X, y, exposure=exposure, loss=loss, classes=classes)
        return cls(rows, guarantee=guarantee, source=make_source(random_state), ledger=ledger)

    @property
    def books(self) -> MemoryBooks:
        """What this gate reserved and released."""
        return self._books

    @property
    def n_rows(self) -> int:
        """The public number of records."""
        return self._rows.n_rows

    @property
    def n_features(self) -> int:
        """The public number of feature columns."""
        return self._rows.n_features

    def reserve(self, event: Event, *, coordinates: int = 1000) -> None:
        """Set the planned event aside, refusing one that costs more than the guarantee.

        ``coordinates`` says how many numbers may be released against it: each adds the distance of
        sampled from ideal noise, which counts towards delta.
        """
        with self._lock:
            coordinates += self._reserved_coordinates
            total = Composed((self._books.reserved, event))
            variation = coordinates * COORDINATE_VARIATION
            if not satisfies(total, self._guarantee, variation=variation):
                raise BudgetError(
                    f"the plan must cost at most {self._guarantee.describe()}; it costs more."
                )
            if self._ledger is not None:
                self._ledger.reserve(event)
            self._books.reserve(event)
            self._reserved_coordinates = coordinates

    def ask(
        self, query: Query, state: Any, *, mu: float | None = None, epsilon: float | None = None
    ) -> FloatArray:
        """Answer one query: calibrate, book, read, draw, finish.

        It costs at most ``mu``, with Gaussian noise, or at most ``epsilon`` in pure DP, with
        Laplace noise, where the query has such a form. Give one of the two.
        """
        calibration = self._calibrate(query, mu, epsilon)
        mechanism = make_mechanism(calibration.mechanism)
        self._record(
            Release(
                name=query.name,
                kind=type(query).__name__,
                mechanism=calibration.mechanism,
                norm=calibration.sensitivity.norm,
                sensitivity=calibration.charged,
                noise_std=calibration.noise_std,
                parameters=query.parameters(),
            ),
            calibration.sensitivity.size,
            mechanism.total_variation(calibration),
        )
        with np.errstate(all="ignore"):
            lattice = query.answer(self._rows, state, calibration)
        noised = mechanism.release(lattice, calibration, self._source)
        return query.finish(noised.astype(np.float64) * calibration.grid, self.n_rows)

    def _calibrate(self, query: Query, mu: float | None, epsilon: float | None) -> Calibration:
        if mu is not None and epsilon is None:
            return query.calibrate(self.n_rows, self.n_features, mu)
        if epsilon is not None and mu is None:
            return query.calibrate_pure(self.n_rows, self.n_features, epsilon)
        raise InputError(f"ask needs mu or epsilon, one of the two; got {mu!r} and {epsilon!r}.")

    def _record(self, release: Release, size: int, variation: float) -> None:
        """Write a release down, or refuse it: first for good, then in the gate's own books."""
        with self._lock:
            if self._coordinates + size > self._reserved_coordinates:
                raise BudgetError(
                    f"release {release.name!r} must be among the numbers that were reserved; more "
                    "were released than planned."
                )
            self._books.check(release)
            if self._ledger is not None:
                self._ledger.record(release)
            self._books.record(release)
            self._coordinates += size
            self._variation += variation

    def certificate(self, *, assumptions: tuple[str, ...] = ()) -> Certificate:
        """State what was promised, reserved, released and assumed."""
        return Certificate.of(
            guarantee=self._guarantee,
            books=self._books,
            n_rows=self.n_rows,
            assumptions_for_accuracy=assumptions,
            private=self._source.private,
            sampler_total_variation=self._variation,
        )
