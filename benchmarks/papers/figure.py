"""The plot: excess risk against epsilon, a panel a task and paper, printed noise dashed."""

import math

from papers import rivals
from papers.methods import METHODS, PAPER, PUBLISHED, TIGHT

PAPERS = {"W20": "Wang 2020", "K22": "Kamath 2022", "T22": "Tao 2022"}
PAPERS |= {"Z24": "Zhao 2024", "X25": "Xu 2025"}
# Okabe and Ito's colours, told apart by every kind of colour vision; markers say the same.
LOOKS = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"))
SHARED = {
    rivals.DP_SGD: {"color": "black", "marker": "x", "linestyle": "-", "linewidth": 1.2},
    rivals.DESCENT: {"color": "#777777", "marker": "+", "linestyle": "-", "linewidth": 1.0},
}
LOWEST = 1e-5  # an excess below is drawn there
LEVELS = {rivals.OPTIMUM: ":", rivals.ROBUST: "-."}


def draw(cells, path):
    """Draw a row a task and a column a paper."""
    import matplotlib as mpl  # noqa: PLC0415 - only where a plot is wanted

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    tasks = list(dict.fromkeys(cell.task for cell in cells))
    plot, axes = plt.subplots(
        len(tasks), len(PAPERS), figsize=(16, 2.7 * len(tasks) + 1.8), squeeze=False, sharey="row"
    )
    for row, task in zip(axes, tasks, strict=True):
        own = [cell for cell in cells if cell.task == task]
        for axis, prefix in zip(row, PAPERS, strict=True):
            _panel(axis, own, prefix)
        row[0].set_ylabel(f"{task}\nexcess risk", fontsize=8)
    for axis, title in zip(axes[0], PAPERS.values(), strict=True):
        axis.set_title(title, fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("epsilon", fontsize=8)
    height = 2.7 * len(tasks) + 2.1
    plot.suptitle(
        "Excess risk against epsilon: medians over seeds, band: 95 % interval of the median. "
        "Solid: tight noise; dashed: noise as printed.",
        fontsize=10,
        y=1.0 - 0.1 / height,
        va="top",
    )
    plot.tight_layout(rect=(0, 1.65 / height, 1, 1 - 0.35 / height))
    for column, prefix in enumerate(PAPERS):
        box = axes[-1][column].get_position()
        handles = _named(axes[:, column])
        plot.legend(
            handles.values(),
            [name.removeprefix(f"{prefix} ") for name in handles],
            loc="upper center",
            bbox_to_anchor=(box.x0 + box.width / 2, 1.6 / height),
            fontsize=7,
            frameon=False,
        )
    plot.savefig(path, dpi=110)
    plt.close(plot)


def _panel(axis, cells, prefix):
    keys = [method.key for method in METHODS if method.key.startswith(prefix)]
    styles = dict(SHARED)
    for key, (color, marker) in zip(keys, LOOKS, strict=False):
        styles[key] = {"color": color, "marker": marker, "linewidth": 1.8}
    for name, style in styles.items():
        for calibration in (PAPER, PUBLISHED, TIGHT, "-"):
            points = [c for c in cells if (c.method, c.calibration) == (name, calibration)]
            points = [c for c in points if c.excess]
            if points:
                _curve(axis, points, name, style, printed=calibration in (PAPER, PUBLISHED))
    for name, dashes in LEVELS.items():
        levels = [c.median for c in cells if c.method == name and c.excess]
        if levels and levels[0] > LOWEST:
            axis.axhline(levels[0], color="black", linestyle=dashes, linewidth=1, label=name)
    axis.set(xscale="log", yscale="log")
    ticks = sorted({cell.epsilon for cell in cells})
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.tick_params(labelsize=8)
    axis.grid(axis="y", color="#eeeeee")


def _curve(axis, cells, name, style, *, printed):
    epsilons = [cell.epsilon for cell in cells]
    middle, low, high = (
        [max(x, LOWEST) if math.isfinite(x) else x for x in values]
        for values in zip(*((c.median, *c.interval) for c in cells), strict=True)
    )
    look = {"markersize": 4, **style, **({"linestyle": "--", "linewidth": 1.0} if printed else {})}
    axis.plot(epsilons, middle, label=None if printed else name, **look)
    if not printed:
        axis.fill_between(epsilons, low, high, color=style["color"], alpha=0.12, lw=0)


def _named(axes):
    found = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    return found
