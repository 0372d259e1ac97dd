"""What the books are told of a release: its query, its noise and whom it read."""

from tailguard.privacy.books import Release
from tailguard.privacy.books.blocks import Blocks
from tailguard.privacy.calibration import Calibration, SmoothCalibration
from tailguard.queries.base import AnyQuery


def release_of(
    query: AnyQuery,
    calibration: Calibration | SmoothCalibration,
    stage: str,
    *,
    blocks: Blocks | None = None,
    index: int | None = None,
    sample: tuple[int, int] | None = None,
) -> Release:
    """Return the line of a release: of all records, of one block or every block, or of a sample.

    ``sample`` is how many records were drawn, and of how many.
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
