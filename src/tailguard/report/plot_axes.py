"""The axis of a picture: its mark, labels and names of curves, and what it refuses to draw."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from tailguard.checks import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_INSIDE = 6  # names of curves that stand in a picture


def axes_for(ax: "Axes | None", result: Any = None) -> "Axes":
    """Return the given axis, or that of a new figure, with one mark if a result is not private."""
    if ax is None:
        try:
            from matplotlib import pyplot  # noqa: PLC0415 (an extra, and slow to load)
        except ImportError:
            raise InputError("tg.plot needs matplotlib: pip install 'tailguard[report]'.") from None
        ax = pyplot.subplots(layout="constrained")[1]
    mode = "private" if result is None else certificate_of(result).mode
    if mode != "private" and mode not in {text.get_text() for text in ax.texts}:
        watermark: dict[str, Any] = {
            "fontsize": "x-large",
            "rotation": 20.0,
            "color": "C3",
            "alpha": 0.4,
        }
        middle: dict[str, Any] = {"xycoords": "axes fraction", "ha": "center", "va": "center"}
        ax.annotate(mode, (0.5, 0.5), **middle, **watermark)
    return ax


def beside(ax: "Axes", row: int, text: str, color: str = "k") -> None:
    """Write a text to the right of a row."""
    ax.annotate(text, (1.02, row), xycoords=("axes fraction", "data"), va="center", color=color)


def name_curves(ax: "Axes") -> None:
    """Name the curves: in the picture or, if they are many, beside it."""
    many = len(ax.get_legend_handles_labels()[1]) > MOST_INSIDE
    outside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "fontsize": "xx-small"}
    ax.legend(**(outside if many else {}))


def chosen_among(names: set[str], columns: Collection[str] | None) -> set[str]:
    """Return the columns to draw; refuse columns that the result lacks."""
    chosen = names if columns is None else {*columns}
    if not chosen <= names:
        raise InputError(f"columns must be of {sorted(names)}; got {sorted(chosen - names)}.")
    return chosen


def refused(result: Any, wanted: str) -> InputError:
    """Return the error for a result that a function does not draw."""
    return InputError(f"result must be {wanted}; got a {type(result).__name__}.")


def certificate_of(result: Any) -> Any:
    """Return the certificate of a result; a certificate is returned unchanged."""
    for name in ("certificate_", "certificate"):
        if hasattr(result, name):
            return getattr(result, name)
    if not hasattr(result, "releases"):
        raise refused(result, "a certificate, or have one")
    return result
