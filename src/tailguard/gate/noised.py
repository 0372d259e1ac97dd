"""An answer with its noise, and what is said where there is none."""

import tempfile
from collections.abc import Callable
from typing import Any

from tailguard.array_types import IntArray
from tailguard.checks import ReleaseError, RoomError
from tailguard.data.rows.base import Rows
from tailguard.data.rows.watched import WatchedRows
from tailguard.noise.mechanisms import make_mechanism
from tailguard.noise.sources import Source
from tailguard.quiet import quietly


def noised_answer(
    query: Any, state: Any, calibration: Any, read: Callable[[], Rows], source: Source
) -> IntArray:
    """Read and add noise. What goes wrong once records are read is told to nobody.

    Before that, an error speaks of the question, hence of public and released numbers.
    """
    cause: BaseException | None = None
    full = False
    rows: WatchedRows | None = None  # a block or sample that cannot be copied was read, too
    try:
        rows = WatchedRows(read())
        with quietly():
            answer = query.answer(rows, state, calibration)
        noised: IntArray = make_mechanism(calibration.mechanism).release(
            answer, calibration, source
        )
        return noised
    except KeyboardInterrupt:
        raise
    except RoomError:
        full = True
    except BaseException as error:  # SystemExit too
        if rows is not None and not rows.read:
            raise
        if not source.private:
            cause = error
    # Raised out here, where the error above is no longer its context.
    if full:
        # How long the file gets is public, and so is what others leave of the disk.
        raise RoomError(
            f"release {query.name!r} must be repeated: the disk of temporary files in "
            f"{tempfile.gettempdir()!r}, where rows are put in order, is full; it stays charged, "
            "and nothing of it leaves: name another folder in the variable TMPDIR."
        )
    raise ReleaseError(
        f"release {query.name!r} must be repeated: it failed while records were read, stays "
        "charged, and nothing of it leaves; with random_state=<int>, a simulation, the cause "
        "is shown."
    ) from cause
