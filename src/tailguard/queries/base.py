"""Base classes of queries: a query maps records to a lattice vector and states its sensitivity.

A query is calibrated from public numbers before any record is read, answers with integers on the
calibrated lattice, and turns the noised numbers into the answer without seeing records again. The
sensitivity is stated for *every* input: NaN, infinities and values near the float limits included.

A query declares which ``places`` its records must have. If it pairs or groups records, their places
must be random: the gate then passes all records, or those of a block, in a secret random order. The
order costs no privacy. It depends only on the number of records, so it has the same distribution
for neighbours. Given the order, a replaced record keeps its place, and the sensitivity is stated
for this case. So order and answer together cost as much as the answer given the order, and dropping
the order is post-processing. For records in a file the random order only helps accuracy, since
close records of a sorted file are alike. Records without an order of their own get their places
from it (``rows/unordered.py``).

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Definition 3 (sensitivity); Dwork and Roth 2014, Proposition
2.1 (post-processing).
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, TypeAlias

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock, Rows, Together, summation_slack
from tailguard.data.rows.threads import one_blas_thread
from tailguard.noise.lattice import lattice_calibration, with_roundings
from tailguard.noise.smooth import SmoothAnswer
from tailguard.privacy.books import Release
from tailguard.privacy.books.blocks import Blocks
from tailguard.privacy.calibration import Calibration, Norm, Sensitivity, SmoothCalibration
from tailguard.privacy.events import Event, Gaussian, Laplace
from tailguard.queries.loop import LatticeSum

Places: TypeAlias = Literal["none", "any", "random"]
"""Which places records must have: none, if each adds to sums on its own; any, if some are read
together and it does not matter which; random, if pairs or groups are formed by places."""


class Query(ABC):
    """Maps records to a vector, and bounds how far one record can move it.

    ``answer`` reads the records once; everything after it, such as ``finish``, sees only noised
    numbers.
    """

    reads_cells: ClassVar[bool] = False
    """Whether it reads marks of cells (number, missing, other) instead of their numbers."""

    takes_weights: ClassVar[bool] = False
    """Whether a record's contribution is multiplied by its weight, or does not depend on it.

    Let ``K`` be the set of contributions of one record, zero included. Weights lie in [0, 1], so a
    weighted contribution lies in the convex hull of ``K``. In any norm the hull is as wide as
    ``K``, since a distance is convex in either end and so largest at extreme points. So replacing a
    record and its weight moves the sum by no more than the sensitivity without weights.
    """

    takes_persons: ClassVar[bool] = False
    """Whether records may be persons of several rows, whose shares add up to at most one.

    A row's contribution is multiplied by its weight, or the rows of a person are added up before
    they are bounded. Either way a person contributes a point of the hull of ``K``;
    ``rows/persons.py`` has the proof.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The release's name in the books."""

    @property
    @abstractmethod
    def places(self) -> Places:
        """Which places records must have; each query defines its own."""

    @property
    def by_place(self) -> bool:
        """Whether it depends on the places of records; a sum over all of them does not."""
        return self.places != "none"

    @property
    def together(self) -> Together:
        """Whether its loop reads records together: only if it depends on their places."""
        return "none" if self.places == "none" else "some"

    def calibrate(self, n_rows: int, n_features: int, mu: float) -> Calibration:
        """Choose lattice and noise so that the release spends at most ``mu``, or refuse."""
        raise InputError(f"{type(self).__name__} has no cost in mu: request it with event.")

    def calibrate_pure(self, n_rows: int, n_features: int, epsilon: float) -> Calibration:
        """Choose lattice and Laplace noise so that the release is ``epsilon``-DP, or refuse."""
        raise InputError(f"{type(self).__name__} has no pure cost: request it with event.")

    def calibrate_event(self, n_rows: int, n_features: int, event: Event) -> SmoothCalibration:
        """Choose noise that depends on the records, for a release at cost ``event``, or refuse."""
        raise InputError(
            f"event needs a query whose noise follows the records, such as the trimmed mean; "
            f"{type(self).__name__} is asked with mu or epsilon."
        )

    def with_roundings(self, calibration: Any, roundings: int, share: float) -> Calibration:
        """Return the calibration for records rounded to the lattice ``roundings`` times.

        ``share`` is what the release may cost: a mu or an epsilon, as for ``calibration``.
        """
        return with_roundings(calibration, roundings, share)

    @abstractmethod
    def answer(self, rows: Rows, state: Any, calibration: Any) -> Any:
        """Read the records once and return the input of the calibrated mechanism."""

    @abstractmethod
    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers that a reader of the books needs to recompute the sensitivity."""

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Turn the noised vector into the answer, by default unchanged; never sees records."""
        return noised


class GaussianQuery(Query):
    """Base of queries that are released with Gaussian noise on the lattice.

    A query whose answer is a sum over records adds up one block in ``sum_block``.
    """

    @abstractmethod
    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far replacing one record moves the vector; each query defines its own."""

    def calibrate(self, n_rows: int, n_features: int, mu: float) -> Calibration:
        """Choose lattice and noise so that the release spends at most ``mu``."""
        return lattice_calibration("gaussian", self.sensitivity(n_rows, n_features), mu)

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the vector moves in l1 norm; refuse if it has no epsilon-DP form."""
        raise InputError(
            f"epsilon needs a query with a pure form, such as the coordinate-wise means; "
            f"{type(self).__name__} has none: ask with mu."
        )

    def calibrate_pure(self, n_rows: int, n_features: int, epsilon: float) -> Calibration:
        """Choose lattice and Laplace noise so that the release is ``epsilon``-DP, or refuse."""
        sensitivity = self.pure_sensitivity(n_rows, n_features)
        return lattice_calibration("laplace", sensitivity, epsilon)

    def read_state(self, state: Any) -> Any:
        """Return the state as the loop needs it, or refuse it; reads no record."""
        return state

    def answer(self, rows: Rows, state: Any, calibration: Calibration) -> IntArray:
        """Read the records once and return integers on the calibrated lattice."""
        loop = LatticeSum(self, self.read_state(state), calibration.grid, calibration.size)
        with one_blas_thread():
            return rows.reduce(loop)

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Add up one block of records on a lattice, at the state that ``read_state`` returned."""
        raise TypeError(f"{type(self).__name__} must define sum_block.")


class SumQuery(GaussianQuery):
    """Base of queries that add up contributions of records, whose proofs cover weights and persons.

    ``takes_weights`` and ``takes_persons`` state what ``sum_block`` must do with these.
    """

    places: ClassVar[Places] = "none"
    takes_weights = True
    takes_persons = True


class SmoothQuery(Query):
    """Base of queries whose noise depends on the records: they return a value and a noise scale.

    Guarantee
    ---------
    For replace-one neighbours the values differ by at most the smaller of the two scales, and the
    logarithms of the scales by at most ``calibration.smoothness``, as computed, float errors
    included. Only the mechanism sees the scale.

    Edge cases
    ----------
    All records are read at once; sizes beyond ``queries.gather.MOST_NUMBERS`` are refused when the
    noise is chosen, before anything is spent. The cost is zCDP or (epsilon, delta), never Gaussian
    or pure, and is requested as an event.

    Reference
    ---------
    Nissim, Raskhodnikova and Smith 2007, Definition 2.1 (smooth upper bounds).
    """

    places: ClassVar[Places] = "any"
    """Most sort the records; those that cut them into blocks need random places."""

    together: ClassVar[Together] = "all"
    """They gather all records in memory."""

    @abstractmethod
    def calibrate_event(self, n_rows: int, n_features: int, event: Event) -> SmoothCalibration:
        """Choose noise that depends on the records, for a release at cost ``event``."""

    @abstractmethod
    def answer(self, rows: Rows, state: Any, calibration: SmoothCalibration) -> SmoothAnswer:
        """Read all records and return the value with the scale of its noise."""


def calibration_for(
    query: Query, n_rows: int, n_features: int, asked: Event, roundings: int = 1
) -> Calibration | SmoothCalibration:
    """Choose noise so that a release costs at most ``asked``, or refuse; no record is read.

    A ``Gaussian`` event requests the query's form in mu, a ``Laplace`` event its pure form, and any
    other event noise that depends on the records. ``roundings`` is the number of rows of one record
    that are rounded to the lattice.
    """
    if isinstance(asked, Gaussian):
        share, calibration = asked.mu, query.calibrate(n_rows, n_features, asked.mu)
    elif isinstance(asked, Laplace):
        share = asked.epsilon
        calibration = query.calibrate_pure(n_rows, n_features, asked.epsilon)
    else:
        return query.calibrate_event(n_rows, n_features, asked)
    return calibration if roundings == 1 else query.with_roundings(calibration, roundings, share)


def sum_sensitivity(
    norm_limit: float, size: int, n_rows: int, *, move: float | None = None, norm: Norm = "l2"
) -> Sensitivity:
    """State the sensitivity of a chunk-wise sum of vectors of norm at most ``norm_limit``.

    One record moves the exact sum by ``move``, by default ``2 * norm_limit``. Neighbours differ in
    one record, hence in one chunk: the float error of that chunk alone is charged on top. The float
    error of a single vector is far below it.
    """
    ideal = 2.0 * norm_limit if move is None else move
    return Sensitivity(
        norm=norm,
        ideal=ideal,
        computed=ideal + summation_slack(norm_limit),
        size=size,
        largest_partial=min(CHUNK_ROWS, n_rows) * norm_limit,
        largest_total=n_rows * norm_limit,
    )


def count_sensitivity(
    move: float, size: int, n_rows: int, *, norm: Norm = "l2", per_record: int = 1
) -> Sensitivity:
    """State the sensitivity of exact counts, which one record moves by ``move``.

    One record is counted at most ``per_record`` times. Counts are whole numbers, so no rounding
    is charged.
    """
    return Sensitivity(
        norm=norm,
        ideal=move,
        computed=move,
        size=size,
        largest_partial=min(CHUNK_ROWS, n_rows) * per_record,
        largest_total=n_rows * per_record,
        integer=True,
    )


def release_record(
    query: Query,
    calibration: Calibration | SmoothCalibration,
    stage: str,
    *,
    blocks: Blocks | None = None,
    index: int | None = None,
    sample: tuple[int, int] | None = None,
) -> Release:
    """Build the record of a release: of all records, of one block or every block, or of a sample.

    ``index`` is that of the block. ``sample`` is the number of records drawn, and the number from
    which they were drawn.
    """
    drawn = {} if sample is None else {"sample_rows": sample[0], "of_rows": sample[1]}
    return Release(
        name=query.name,
        kind=type(query).__name__,
        mechanism=f"sampled-{calibration.mechanism}" if drawn else calibration.mechanism,
        norm=calibration.norm,
        sensitivity=calibration.charged,
        noise_std=calibration.noise_std,
        block_map=None if blocks is None else blocks.name,
        block=index,
        parameters={
            **query.parameters(),
            **calibration.parameters(),
            **({} if blocks is None else blocks.facts()),
            **drawn,
        },
        stage=stage,
    )
