"""The figure of an experiment in the axes of its paper: printed noise dashed, tight noise solid."""

import math
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import Any

from tailguard.checks import InputError
from tailguard.papers.reproduce.experiment import Axes, Experiment
from tailguard.papers.reproduce.results import Results

# Okabe and Ito 2008: every kind of colour vision distinguishes these colours; so do the markers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
MARKERS = ("o", "s", "^", "D", "v", "P", "x", "*")
STYLES = ("-", "--", "-.", ":")  # one each time colours begin again
MOST_COLUMNS = 3  # of panels: with more, their text is too small
PANEL_SIZE = (4.4, 3.1)  # inches
LEAST_WIDTH = 7.5  # inches
LEGEND_LINE = 0.2  # inches of one line of the legend or the title
TITLE_LETTERS = 13  # per inch, at 9 points; 14 letters of the widest title fill an inch
ALONG = {"n": "records n", "d": "columns d", "mu": "budget mu", "epsilon": "epsilon"}
"""The labels of horizontal axes, by what follows "along" in a panel's title."""
COINCIDE = 0.02  # of a panel's height, two widths of a line: closer curves look like one
LINES: dict[str, dict[str, Any]] = {
    "-": {"linestyle": ":"},
    "printed": {"linestyle": "--", "linewidth": 1.0, "markerfacecolor": "none"},
    "tight": {"linestyle": "-"},
}
"""Noise -> its style of lines, in a figure that has noises; ``"-"`` is a curve without noise."""

Looks = dict[str, dict[str, Any]]
"""Curve -> its style of lines and its marker."""


def draw_figure(path: Path, experiment: Experiment, results: Results) -> None:
    """Draw all panels, with a curve for every method and noise."""
    plt = _pyplot()
    panels = results.panels
    looks = _looks(dict.fromkeys(curve for _, curve, _ in results.keys))
    panel_rows = math.ceil(len(panels) / MOST_COLUMNS)
    n_columns = math.ceil(len(panels) / panel_rows)
    n_legend = math.ceil(len(looks) / n_columns)
    width, height = max(PANEL_SIZE[0] * n_columns, LEAST_WIDTH), PANEL_SIZE[1] * panel_rows
    margin = LEGEND_LINE * (n_legend + 0.5)
    source = wrap(f"{experiment.source}: {experiment.title}", int(TITLE_LETTERS * width))
    title = [*source, _caption(experiment, results)]
    above = LEGEND_LINE * (len(title) + 1)
    total = height + margin + above
    figure, grid = plt.subplots(panel_rows, n_columns, figsize=(width, total), squeeze=False)
    for subplot, panel in zip(grid.flat, panels, strict=False):
        _draw_panel(subplot, experiment.axes, results, panel, looks)
    for subplot in list(grid.flat)[len(panels) :]:
        subplot.axis("off")
    figure.suptitle("\n".join(title), fontsize=9, y=1.0 - 0.25 * above / total)
    figure.tight_layout(rect=(0, margin / total, 1, 1))
    named: dict[str, Any] = {}
    for subplot in grid.flat:
        for handle, name in zip(*subplot.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    named = {name: named[name] for name in looks if name in named}
    figure.legend(
        named.values(), named, loc="lower center", ncols=n_columns, fontsize=8, frameon=False
    )
    _save(figure, path)
    plt.close(figure)


def _caption(experiment: Experiment, results: Results) -> str:
    """Describe the curves and bands."""
    n_seeds = results.n_seeds
    if n_seeds == 1:
        return "One value a place. Non-private simulation."
    # With fewer than six seeds the interval of order statistics is the range.
    extremes = experiment.axes.band == "extremes" or n_seeds < 6
    band = "worst to best seed" if extremes else "95 % interval of the median"
    dashed = " Dashed: printed noise." if any(key[-1] == "printed" for key in results.keys) else ""
    return f"Medians over {n_seeds} seeds, band: {band}.{dashed} Non-private simulation."


def _pyplot() -> Any:
    """Import matplotlib, which nothing else needs."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - only to draw a figure
    except ImportError:
        raise InputError(
            "matplotlib must be installed to draw figures, such as by pip install "
            "'tailguard[report]'; it is not."
        ) from None
    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt


def _save(figure: Any, path: Path) -> None:
    """Write a PNG of 256 colours, a third as large as one of all colours."""
    from PIL import Image  # noqa: PLC0415 - comes with matplotlib

    with BytesIO() as drawn:
        figure.savefig(drawn, dpi=80)
        with Image.open(drawn) as image:  # by the method that keeps the colours of thin lines
            few = image.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE)
            few.save(path, optimize=True)


def _draw_panel(subplot: Any, axes: Axes, results: Results, panel: str, looks: Looks) -> None:
    """Draw the curves of one panel."""
    noises = {noise for *_, noise in results.keys}
    for key_panel, name, noise in results.keys:
        if key_panel == panel:
            in_legend = noise != "printed" or (panel, name, "tight") not in results.keys
            label = name if in_legend else f"_{name}"  # which no legend shows
            points = results.summaries(panel, name, noise)
            line = LINES[noise] if noises != {"-"} else {}
            _draw_curve(subplot, axes, points, label, looks[name] | line)
    subplot.set_title(panel, fontsize=9)
    note = wrap(_note(results, panel, log=axes.log_y), width=64)
    along = ALONG.get(panel.rpartition("along ")[2], axes.x)
    subplot.set_xlabel("\n".join((along, *note)), fontsize=8)
    subplot.set_ylabel(axes.y, fontsize=8)
    subplot.set(xscale="log" if axes.log_x else "linear", yscale="log" if axes.log_y else "linear")
    _label_between_powers(subplot.xaxis, log=axes.log_x)
    subplot.tick_params(labelsize=7, which="both")
    subplot.grid(color="#eeeeee")


def _label_between_powers(axis: Any, *, log: bool) -> None:
    """Label 2 and 5 between powers of ten, and beyond two decades only these powers."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator  # noqa: PLC0415

    if log:
        axis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        axis.set_minor_formatter(LogFormatterSciNotation(minor_thresholds=(2.0, math.inf)))


def _looks(curves: Iterable[str]) -> Looks:
    """Return colour and marker of every curve; curves of one paper are adjacent, in one colour.

    A curve belongs to a paper if its name begins with the paper's name and a dot. If colours
    repeat, markers and styles of lines differ.
    """
    papers: dict[str, list[str]] = {}
    for curve in curves:
        paper, dot, _ = curve.partition(".")
        papers.setdefault(paper if dot and paper.isidentifier() else curve, []).append(curve)
    looks = {}
    for place, names in enumerate(papers.values()):
        turn, colour = divmod(place, len(COLOURS))
        for step, name in enumerate(names):
            marker = MARKERS[(place + turn + step) % len(MARKERS)]
            looks[name] = {"color": COLOURS[colour], "linewidth": 1.6, "marker": marker}
            looks[name]["linestyle"] = STYLES[turn % len(STYLES)]
    return looks


def _note(results: Results, panel: str, *, log: bool = True) -> str:
    """Name a panel's curves that are one point, or that coincide: see :data:`COINCIDE`."""
    lines = {
        f"{name}, printed" if noise == "printed" else name: {
            each.x: math.log(each.median) if log and each.median > 0.0 else each.median
            for each in results.summaries(panel, name, noise)
        }
        for key_panel, name, noise in results.keys
        if key_panel == panel
    }
    heights = [height for line in lines.values() for height in line.values()]
    near = COINCIDE * (max(heights, default=0.0) - min(heights, default=0.0))
    groups: list[list[str]] = []
    for name, line in lines.items():
        for names in groups:
            other = lines[names[0]]
            if line.keys() == other.keys() and all(abs(line[x] - other[x]) <= near for x in line):
                names.append(name)
                break
        else:
            groups.append([name])
    most = max(map(len, lines.values()), default=0)
    alike = [" / ".join(names) for names in groups if len(names) > 1]
    alone = [f"{name} at {min(x):g}" for name, x in lines.items() if len(x) == 1 < most]
    kinds = {"one line": alike, "one point": alone}
    return "; ".join(f"{what}: {'; '.join(names)}" for what, names in kinds.items() if names)


def _draw_curve(
    subplot: Any, axes: Axes, points: list[Any], label: str, look: dict[str, Any]
) -> None:
    """Draw medians and their band."""
    xs = [each.x for each in points]
    step = max(1, math.ceil(len(xs) / 12))  # more markers would cover the curve
    middles = [each.median for each in points]
    subplot.plot(xs, middles, label=label, markersize=4, markevery=step, **look)
    extremes = axes.band == "extremes"
    low = [each.least if extremes else each.low for each in points]
    high = [each.most if extremes else each.high for each in points]
    subplot.fill_between(xs, low, high, color=look["color"], alpha=0.12, linewidth=0)
