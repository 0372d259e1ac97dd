"""The figure of an experiment in the axes of its paper: printed noise dashed, tight noise solid."""

import math
from io import BytesIO
from pathlib import Path
from typing import Any

from tailguard.checks import InputError
from tailguard.papers.reproduce.experiment import Axes, Experiment
from tailguard.papers.reproduce.results import Results

# Okabe and Ito 2008: colours told apart by every kind of colour vision; markers say the same.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
MARKERS = ("o", "s", "^", "D", "v", "P", "x", "*")
MOST_COLUMNS = 3  # of panels, so that their text can be read
PANEL_SIZE = (4.4, 3.1)  # inches
LEAST_WIDTH = 7.5  # inches: a title has a hundred letters
LEGEND_LINE = 0.2  # inches of one line of the legend
TITLE_SPACE = 0.6  # inches above the panels, for two lines
LABELLED = (2.0, 5.0)  # between powers of ten: what else there is overlaps
ALONG = {"n": "records n", "d": "columns d", "mu": "budget mu", "epsilon": "epsilon"}
"""What panels are along, by the last word of their titles."""
MOST_DECADES = 2.0  # with more, powers of ten alone
FEWEST_FOR_INTERVAL = 6  # seeds: with fewer, the interval of order statistics is the range
MOST_MARKED = 12  # places on a curve: with more, markers cover it
DOTS_PER_INCH = 80  # the text can be read, and no figure is above 150 kB
N_COLOURS = 200  # of a file: with fewer, curves of another colour become grey


def draw_figure(path: Path, experiment: Experiment, results: Results) -> None:
    """Draw a panel each, with a curve for every method and noise."""
    plt = _pyplot()
    panels = results.panels
    curves = list(dict.fromkeys(curve for _, curve, _ in results.keys))
    n_lines = math.ceil(len(panels) / MOST_COLUMNS)
    n_columns = math.ceil(len(panels) / n_lines)
    n_legend = math.ceil(len(curves) / n_columns)
    width, height = max(PANEL_SIZE[0] * n_columns, LEAST_WIDTH), PANEL_SIZE[1] * n_lines
    margin = LEGEND_LINE * (n_legend + 0.5)
    total = height + margin + TITLE_SPACE
    plot, axes = plt.subplots(n_lines, n_columns, figsize=(width, total), squeeze=False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        _draw_panel(axis, experiment.axes, results, panel, curves)
    for axis in list(axes.flat)[len(panels) :]:
        axis.axis("off")
    plot.suptitle(
        f"{experiment.source}: {experiment.title}\n{_told(experiment, results)}",
        fontsize=9,
        y=1.0 - 0.25 * TITLE_SPACE / total,
    )
    plot.tight_layout(rect=(0, margin / total, 1, 1))
    named: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    plot.legend(
        named.values(), named, loc="lower center", ncols=n_columns, fontsize=8, frameon=False
    )
    _save(plot, path)
    plt.close(plot)


def _told(experiment: Experiment, results: Results) -> str:
    """Say what curves and bands are."""
    n_seeds = results.n_seeds
    if n_seeds == 1:
        return "One value a place. Non-private simulation."
    extremes = experiment.axes.band == "extremes" or n_seeds < FEWEST_FOR_INTERVAL
    band = "worst to best seed" if extremes else "95 % interval of the median"
    dashed = " Dashed: printed noise." if any(key[-1] == "printed" for key in results.keys) else ""
    return f"Medians over {n_seeds} seeds, band: {band}.{dashed} Non-private simulation."


def _pyplot() -> Any:
    """Import matplotlib, which nothing else needs."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - only where a figure is drawn
    except ImportError:
        raise InputError(
            "matplotlib must be installed to draw figures, such as by pip install "
            "'tailguard[report]'; it is not."
        ) from None
    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt


def _save(plot: Any, path: Path) -> None:
    """Write a PNG of few colours, a third as large as one of all."""
    from PIL import Image  # noqa: PLC0415 - comes with matplotlib

    with BytesIO() as drawn:
        plot.savefig(drawn, dpi=DOTS_PER_INCH)
        with Image.open(drawn) as image:
            image.convert("RGB").quantize(N_COLOURS).save(path, optimize=True)


def _draw_panel(axis: Any, axes: Axes, results: Results, panel: str, curves: list[str]) -> None:
    """Draw the curves of one panel."""
    for own, name, noise in results.keys:
        if own == panel:
            look = _look(curves.index(name), noise)
            alone = noise != "printed" or (panel, name, "tight") not in results.keys
            label = name if alone else f"_{name}"  # which no legend shows
            _draw_curve(axis, axes, results.summaries(own, name, noise), label, look)
    axis.set_title(panel, fontsize=9)
    axis.set_xlabel(ALONG.get(panel.rpartition("along ")[2], axes.x), fontsize=8)
    axis.set_ylabel(axes.y, fontsize=8)
    axis.set(xscale="log" if axes.log_x else "linear", yscale="log" if axes.log_y else "linear")
    _label_between_powers(axis.xaxis, log=axes.log_x)
    axis.tick_params(labelsize=7, which="both")
    axis.grid(color="#eeeeee")


def _label_between_powers(axis: Any, *, log: bool) -> None:
    """Label few enough places of a logarithmic axis that they stand apart."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator  # noqa: PLC0415

    if log:
        axis.set_minor_locator(LogLocator(subs=LABELLED))
        axis.set_minor_formatter(LogFormatterSciNotation(minor_thresholds=(MOST_DECADES, math.inf)))


def _look(place: int, noise: str) -> dict[str, Any]:
    """Return colour, marker and line of a curve; where colours begin again, markers are others."""
    turn = place // len(COLOURS)
    look: dict[str, Any] = {"color": COLOURS[place % len(COLOURS)], "linewidth": 1.6}
    look["marker"] = MARKERS[(place + turn) % len(MARKERS)]
    if noise == "-":
        look["linestyle"] = ":"
    elif noise == "printed":
        look |= {"linestyle": "--", "linewidth": 1.0, "markerfacecolor": "none"}
    return look


def _draw_curve(axis: Any, axes: Axes, found: list[Any], label: str, look: dict[str, Any]) -> None:
    """Draw medians and their band."""
    places = [each.x for each in found]
    every = max(1, math.ceil(len(places) / MOST_MARKED))
    middles = [each.median for each in found]
    axis.plot(places, middles, label=label, markersize=4, markevery=every, **look)
    extremes = axes.band == "extremes"
    low = [each.least if extremes else each.low for each in found]
    high = [each.most if extremes else each.high for each in found]
    axis.fill_between(places, low, high, color=look["color"], alpha=0.12, linewidth=0)
