"""Records in memory."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.data.design.cells import Cells, Marks, TargetRule
from tailguard.data.missing import Fill
from tailguard.data.rows.base import CHUNK_ROWS, Kernel, RecordBlock
from tailguard.data.rows.threads import added, resolve_threads
from tailguard.data.tables import (
    SparseFeatures,
    column_names,
    encode_labels,
    to_features,
    to_vector,
)
from tailguard.data.tables.sparse_features import NUMBERS_AT_ONCE
from tailguard.noise.orders import Order

ValidTarget = Callable[[FloatArray], NDArray[np.bool_]]

# Below this many numbers a thread costs more than it saves (some 0.1 ms against 4 MB of reading).
NUMBERS_WORTH_A_THREAD = 500_000


class ArrayRows:
    """Records in arrays or tables.

    Float32 features stay float32 and C-contiguous float arrays are not copied; nothing of the
    user's is ever modified. Sparse records are made dense as they are read, a piece at a time.

    Parameters
    ----------
    features
        A NumPy array, a sparse matrix of SciPy, or a pandas, polars or pyarrow table, of numbers.
    target, offset
        A column each, or None.
    valid_target
        Says which targets are valid; a record with another one is void.
    feature_names
        Names of the columns; by default those of the table.
    missing
        Column -> the public constant that stands for its missing cells; other columns keep theirs.
    marks
        Yields marks of the cells that the numbers were read from; None takes those of the numbers.

    Edge cases
    ----------
    Missing values become NaN, and so make their records void, unless a constant stands for them.
    What is refused is refused by shape and dtype only.

    Examples
    --------
    >>> from tailguard.queries.kernels.counts import BelowCount
    >>> rows = ArrayRows(np.array([[1.0], [2.0], [np.nan]]))
    >>> rows.reduce(BelowCount(thresholds=[1.5], columns=(0,), paired=False, multiplier=1))
    array([1])
    """

    def __init__(
        self,
        features: Any,
        target: Any = None,
        offset: Any = None,
        valid_target: ValidTarget | None = None,
        feature_names: tuple[str, ...] | None = None,
        missing: Any = None,
        marks: Callable[[], Iterable[Marks]] | None = None,
    ) -> None:
        resolve_threads()  # refuses a wrong setting before anything is spent
        matrix = to_features(features)
        self.n_rows, self.n_features = matrix.shape
        self.feature_names = column_names(features) if feature_names is None else feature_names
        self._fill = Fill.of(missing, self.n_features, self.feature_names)
        target_values = self._column("y", target)
        if target_values is not None and valid_target is not None:
            with np.errstate(all="ignore"):
                target_values = np.where(valid_target(target_values), target_values, np.nan)
        vectors = target_values, self._column("offset", offset)
        self._sparse = isinstance(matrix, SparseFeatures)
        self._records = RecordBlock(cast(Features, matrix), *vectors)
        self.has_target, self.has_offset = (values is not None for values in vectors)
        self._marks = marks
        self._order: Order | None = None
        self._alone = False

    @classmethod
    def of_block(cls, block: RecordBlock, feature_names: tuple[str, ...] | None) -> "ArrayRows":
        """Wrap records that were read."""
        return cls(block.features, block.target, block.offset, feature_names=feature_names)

    def _column(self, name: str, values: Any) -> FloatArray | None:
        return None if values is None else to_vector(values, name, n_rows=self.n_rows)

    def __repr__(self) -> str:
        return f"ArrayRows(n_rows={self.n_rows}, n_features={self.n_features})"

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records: the same bits for any ``n_threads``."""
        n_threads = resolve_threads(n_threads)
        if kernel.reads_cells and self._marks is not None:
            blocks = (RecordBlock(*marks) for marks in self._marks())
            return added(kernel.size, kernel.sum_block, blocks, n_threads=1)
        if kernel.together == "all":
            return kernel.sum_block(self.block())
        worthwhile = self.n_rows * self.n_features // NUMBERS_WORTH_A_THREAD
        n_threads = min(n_threads, max(1, worthwhile))
        if n_threads == 1 and not self._copies:
            return kernel.sum_block(self.block())
        # A few pieces per thread, so that a thread that is held up holds up little.
        length = self._piece_rows(2 * n_threads)
        return added(
            kernel.size,
            lambda first: kernel.sum_block(self._piece(first, first + length)),
            range(0, self.n_rows, length),
            n_threads,
        )

    def block(self) -> RecordBlock:
        """Return all records in their order, with constants for missing cells."""
        return self._piece(0, self.n_rows)

    @property
    def _copies(self) -> bool:
        """Whether records are copied, piece by piece, to be read."""
        return bool(self._fill.constants) or self._order is not None or self._sparse

    def _piece_rows(self, count: int) -> int:
        """Return the length of about ``count`` pieces of whole chunks, of more to be copied.

        Records are copied to be read if cells are missing, the order is another or they are sparse.
        """
        if self._copies:
            count = max(count, self.n_rows * self.n_features // NUMBERS_AT_ONCE)
        n_chunks: int = -(-self.n_rows // CHUNK_ROWS)
        return -(-n_chunks // count) * CHUNK_ROWS

    def _piece(self, start: int, stop: int) -> RecordBlock:
        """Return some records in their order, with constants for missing cells."""
        if self._order is None:
            piece = self._records.rows(start, stop)
        else:
            piece = self._records.at(self._order[start:stop], start)
        first = None if self._alone else piece.first
        return replace(piece, features=self._fill.filled(piece.features), first=first)

    def restricted(self, places: Order) -> "ArrayRows":
        """Return the records at these places alone, in this order; dense ones are copied."""
        if self._sparse:
            return self.in_order(places)
        places = places[:]
        kept = self._records.at(places if self._order is None else self._order[places])
        kept = replace(kept, features=self._fill.filled(kept.features))
        return ArrayRows.of_block(kept, self.feature_names)

    def in_order(self, order: Order) -> "ArrayRows":
        """Return the records at these places, gathered piece by piece as they are read."""
        rows = copy(self)
        rows._order = order if self._order is None else self._order[order[:]]
        rows._marks = None  # they are of all records as they lie
        rows._alone = False
        rows.n_rows = len(order)
        return rows

    def without_order(self) -> "ArrayRows":
        """Return the same records, each of which is rounded to the lattice by itself."""
        rows = copy(self)
        rows._alone = True
        return rows


def make_rows(
    X: Any,
    y: Any = None,
    *,
    exposure: Any = None,
    loss: Any = None,
    classes: Any = None,
    missing: Any = None,
    cells: Cells | None = None,
) -> ArrayRows:
    """Wrap what a user brought.

    ``loss`` says which targets are valid. ``classes`` declares labels: a target is then its place
    among them, and anything undeclared is void. ``exposure`` enters the score as its logarithm, so
    a record with an exposure that is not positive is void. ``missing`` declares constants for
    missing cells of columns. ``cells`` are those that all of these were read from, if any were.

    Examples
    --------
    >>> make_rows(np.zeros((5, 2)), ["no", "yes", "no", "?", "no"], classes=("no", "yes"))
    ArrayRows(n_rows=5, n_features=2)
    """
    rule, target = TargetRule(loss=loss, classes=classes), y
    if y is not None and classes is not None:
        y = encode_labels(y, classes)
    features, offset = to_features(X), None
    if exposure is not None:
        observed = to_vector(exposure, "exposure", n_rows=len(features))
        with np.errstate(all="ignore"):
            offset = np.log(observed)
    valid_target = None if loss is None else loss.valid_target
    if cells is None:
        filled = Fill.of(missing, features.shape[1], column_names(X)).constants
        cells = Cells(table=X, target=target, exposure=exposure, filled=filled.keys())
    marks = partial(cells.marks, rule)
    return ArrayRows(features, y, offset, valid_target, column_names(X), missing, marks)
