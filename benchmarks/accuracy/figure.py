"""The plot: risk against epsilon, a panel a task; families as one panel a loss."""

import math
from dataclasses import dataclass

import numpy as np

from accuracy.cells import NON_PRIVATE, OURS, RIVAL

# Okabe and Ito's colours, told apart by every kind of colour vision; markers and dashes say the
# same without colour.
STYLES = {
    OURS: {"color": "#0072B2", "marker": "o", "linewidth": 2.4, "markersize": 6, "zorder": 5},
    RIVAL: {"color": "#D55E00", "marker": "s", "linestyle": "-"},
    "AdaSSP, oracle-tuned": {"color": "#009E73", "marker": "^", "linestyle": "-"},
    "BoostedAdaSSP, oracle-tuned": {"color": "#CC79A7", "marker": "D", "linestyle": "-"},
    "objective perturbation, oracle-tuned": {"color": "#E69F00", "marker": "v", "linestyle": "-"},
    "DP-GD, given scales": {"color": "#D55E00", "marker": "s", "linestyle": ":"},
    "AdaSSP, given scales": {"color": "#009E73", "marker": "^", "linestyle": ":"},
    "DP-GD, untuned": {"color": "#777777", "marker": "x", "linestyle": "--"},
    NON_PRIVATE: {"color": "black", "linestyle": (0, (1, 1)), "linewidth": 1.4},
}
ORACLE_STYLE = {"color": "#56B4E9", "linestyle": "-.", "linewidth": 1.6}
DEFAULT = {"linewidth": 1.3, "markersize": 4}
HIGHEST = 10.0  # times what a constant loses; worse is drawn there
LOWEST = 1e-6  # an excess at or below zero is drawn there
COLUMNS = 4
CAPTION = (
    "Excess risk as a share of what a constant loses (grey line), against epsilon. Means over "
    "seeds; families: medians over tasks. Band: quartiles of ours. Drawn at 10 where worse."
)


@dataclass
class Panel:
    """A title, and for each method its (epsilon, low, middle, high) as shares of the gap."""

    title: str
    curves: dict
    oracle: list


def task_panel(cells):
    """One task: mean over seeds, quartiles as a band for ours."""
    first = cells[0]
    curves = {
        method: [
            (cell.epsilon, *_shares(cell.excess[method], cell.gap, np.mean))
            for cell in cells
            if method in cell.excess
        ]
        for method in STYLES
    }
    if not any(cell.mean(NON_PRIVATE) > 0 for cell in cells):
        curves[NON_PRIVATE] = []  # it is the zero of this panel's axis
    oracle = [(cell.epsilon, cell.oracle / cell.gap) for cell in cells if cell.oracle]
    title = f"{first.task}: {first.loss}, n={first.n:,}, d={first.d}"
    return Panel(title, curves, oracle)


def family_panel(suite, loss, cells):
    """Many tasks: median over tasks of each task's mean, quartiles as a band for ours."""
    curves = {}
    for method in STYLES:
        by_epsilon = {}
        for cell in cells:
            if method in cell.excess:
                by_epsilon.setdefault(cell.epsilon, []).append(cell.mean(method) / cell.gap)
        curves[method] = [
            (epsilon, *_shares(np.array(values), 1.0, np.median))
            for epsilon, values in sorted(by_epsilon.items())
        ]
    n_tasks = len({cell.task for cell in cells})
    return Panel(f"{suite} family: {loss}, {n_tasks} tasks (median)", curves, [])


def _shares(values, gap, middle):
    """Low quartile, middle and high quartile, kept inside what is drawn."""
    low, high = np.quantile(values, [0.25, 0.75], method="lower")
    return tuple(np.clip(np.array([low, middle(values), high]) / gap, LOWEST, HIGHEST))


def panels(cells):
    """All panels, in the order of the suites."""
    found = []
    for suite in ("public", "laboratory", "consistency", "real"):
        names = dict.fromkeys(cell.task for cell in cells if cell.suite == suite)
        for name in names:
            own = [cell for cell in cells if (cell.suite, cell.task) == (suite, name)]
            found.append(task_panel(sorted(own, key=lambda cell: cell.epsilon)))
    for suite in ("evaluation", "former", "training"):
        for loss in ("squared", "logistic", "poisson"):
            own = [cell for cell in cells if (cell.suite, cell.loss) == (suite, loss)]
            if own:
                found.append(family_panel(suite, loss, own))
    return found


def draw(cells, path):
    """Draw the panels to a PNG; nothing where there are no cells."""
    import matplotlib as mpl  # noqa: PLC0415 - only where a plot is wanted

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    found = panels(cells)
    if not found:
        return
    columns = min(COLUMNS, len(found))
    rows = math.ceil(len(found) / columns)
    height = 3.1 * rows + 1.2  # inches; the caption takes 0.3 of them and the legend 0.9
    plot, axes = plt.subplots(rows, columns, figsize=(4.1 * columns, height), squeeze=False)
    for axis, panel in zip(axes.flat, found, strict=False):
        _draw_panel(axis, panel)
    for axis in list(axes.flat)[len(found) :]:
        axis.axis("off")
    for row in axes:
        row[0].set_ylabel("excess risk / excess of a constant", fontsize=8)
    handles = _legend(axes.flat)
    plot.legend(handles.values(), handles.keys(), loc="lower center", ncols=columns, fontsize=8)
    plot.suptitle(CAPTION, fontsize=9, y=1 - 0.1 / height)
    plot.tight_layout(rect=(0, 0.9 / height, 1, 1 - 0.3 / height))
    plot.savefig(path, dpi=130)
    plt.close(plot)


def _draw_panel(axis, panel):
    for method, points in panel.curves.items():
        if not points:
            continue
        epsilon, low, middle, high = np.array(points).T
        axis.plot(epsilon, middle, label=method, **(DEFAULT | STYLES[method]))
        if method == OURS:
            axis.fill_between(epsilon, low, high, color=STYLES[OURS]["color"], alpha=0.15, lw=0)
    if panel.oracle:
        axis.plot(*np.array(panel.oracle).T, label="local asymptotic oracle", **ORACLE_STYLE)
    axis.axhline(1.0, color="#bbbbbb", linewidth=0.8, zorder=0)
    axis.set(xscale="log", yscale="log")
    ticks = sorted({point[0] for points in panel.curves.values() for point in points})
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_title(panel.title, fontsize=9)
    axis.set_xlabel("epsilon", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.grid(axis="y", color="#eeeeee")


def _legend(axes):
    handles = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    order = [*STYLES, "local asymptotic oracle"]
    return {label: handles[label] for label in order if label in handles}
