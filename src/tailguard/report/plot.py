"""Plots of results with matplotlib. Each function draws on an axis and returns it.

Plots contain only released and public numbers, and a mark if these are of a simulation. They need
the extra ``tailguard[report]``.
"""

from collections.abc import Collection, Sequence
from itertools import product
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_choice
from tailguard.report.budget import stage_shares
from tailguard.report.plot_axes import (
    axes_for,
    beside,
    certificate_of,
    chosen_among,
    name_curves,
    refused,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCALES = ("own", "shared")
"""How to scale coefficients: each by the farther end of its interval, or all on one axis."""

OF_COLUMN = "value, in the unit of its column"  # the name of an axis
WIDTH = 50  # characters in a line of a label, at matplotlib's default figure size
MOST_NUMBERED = 12  # rows and columns of a table whose squares have room for numbers


def coefficients(result: Any, ax: "Axes | None" = None, *, scale: str = "own") -> "Axes":
    """Draw the estimates of a fitted model or of a mean, with their intervals.

    Parameters
    ----------
    result
        A fitted model, a fitted search, or the result of ``tg.mean``.
    ax
        Where to draw; a new figure by default.
    scale
        ``"own"`` divides each estimate by the end of its interval that is farther from zero, since
        units differ, and writes the value beside it; ``"shared"`` draws all in their units.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((2000, 2))
    >>> model = tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0).fit(X, X[:, 0])
    >>> [tick.get_text() for tick in tg.plot.coefficients(model).get_yticklabels()]
    ['x0', 'x1', '(intercept)']
    """
    check_choice("scale", scale, SCALES)
    if not hasattr(result, "report"):
        raise refused(result, "a fitted model, a search or a mean")
    ax, report = axes_for(ax, result), result.report()
    ax.axvline(0.0, color="0.6", linewidth=1.0)
    for row, estimate in enumerate(report.estimates):
        if not estimate.is_estimated:
            beside(ax, row, "not estimated", color="0.4")
            continue
        has_interval = estimate.has_interval
        ends = (estimate.low, estimate.high) if has_interval else (estimate.value, estimate.value)
        unit = max(map(abs, ends)) or 1.0 if scale == "own" else 1.0
        if has_interval:
            ax.plot([end / unit for end in ends], [row, row], color="C0", linewidth=2.5)
        fill_color = "C0" if has_interval else "none"  # an open circle has no interval
        ax.plot(estimate.value / unit, row, "o", color="C0", markerfacecolor=fill_color)
        beside(ax, row, f"{estimate.value:.4g}")
    ax.set_yticks(range(len(report.estimates)), [each.name for each in report.estimates])
    ax.set_ylim(len(report.estimates) - 0.5, -0.5)
    if scale == "own":
        ax.set_xlim(-1.1, 1.1)
        ax.set_xticks([0.0])
        ax.set_xlabel("each relative to the farther end of its interval")
    else:
        ax.set_xlabel(f"{report.quantity}, in its unit")
    ax.set_title(f"{report.subject}: {100.0 * report.level:g} % intervals")
    return ax


def budget(result: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the cost of each stage, in percent of the reserved rho.

    ``result`` is a certificate or has one. Stages without a rho are left out.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> result = tg.mean(np.arange(2000.0), guarantee=tg.GDP(1.0), random_state=0)
    >>> tg.plot.budget(result).get_yticklabels()[-1].get_text()
    'mean'
    """
    shares = [each for each in stage_shares(certificate_of(result)) if each.share is not None]
    ax = axes_for(ax, result)
    ax.barh(range(len(shares)), [100.0 * (each.share or 0.0) for each in shares], color="C0")
    ax.set_yticks(range(len(shares)), [each.stage for each in shares])
    ax.invert_yaxis()
    ax.set_xlabel("% of the reserved budget")
    return ax


def quantiles(
    result: Any, ax: "Axes | None" = None, *, columns: Collection[str] | None = None
) -> "Axes":
    """Draw quantiles with their intervals: a curve for each column, or group and column.

    ``result`` comes from ``tg.quantile`` or ``tg.describe``. Since units differ, ``columns`` may
    select some of its columns. Intervals with an infinite end are left out.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> result = tg.quantile(claims.target, [0.25, 0.5, 0.75], epsilon=1.0, delta=1e-6)
    >>> ax = tg.plot.quantiles(result)
    >>> len(ax.lines), ax.get_xlabel()
    (1, 'share of records below')
    """
    curves = _curves(result)
    selected = chosen_among({name for name, *_ in curves}, columns)
    ax = axes_for(ax, result)
    for name, label, *numbers in curves:
        if name in selected and np.isfinite(numbers[0]).any():  # else noise hid it
            value, low, high = (np.where(np.isfinite(each), each, np.nan) for each in numbers)
            (line,) = ax.plot(result.levels, value, marker="o", label=label)
            ax.fill_between(result.levels, low, high, alpha=0.25, color=line.get_color())
    ax.set_xlabel("share of records below")
    ax.set_ylabel(OF_COLUMN)
    name_curves(ax)
    return ax


def histogram(
    result: Any, ax: "Axes | None" = None, *, columns: Collection[str] | None = None
) -> "Axes":
    """Draw the bins of a histogram, with error bars of two standard deviations of the noise.

    ``result`` comes from ``tg.histogram``. Since units differ, ``columns`` may select some of its
    columns. Cells up to the first edge and beyond the last one are not drawn; the legend counts
    them.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> result = tg.histogram(claims.target, 10, epsilon=1.0, delta=1e-6)
    >>> ax = tg.plot.histogram(result)
    >>> len(ax.patches), ax.get_ylabel()
    (1, 'cells')
    """
    if not (hasattr(result, "edges") and hasattr(result, "counts")):
        raise refused(result, "what tg.histogram returned")
    selected = chosen_among({*result.names}, columns)
    ax = axes_for(ax, result)
    rows = zip(result.names, _labels(result), result.edges, result.counts, strict=True)
    for name, label, edges, counts in rows:
        if name in selected:
            bins, middles = counts[1:-1], (edges[1:] + edges[:-1]) / 2.0
            outside = f"not drawn: {counts[0]:,.0f} below, {counts[-1]:,.0f} above"
            ax.stairs(bins, edges, label=f"{label} ({outside})", fill=True, alpha=0.5)
            ax.errorbar(middles, bins, 2.0 * result.noise_std, fmt="none", ecolor="0.3")
    ax.set_xlabel(OF_COLUMN)
    ax.set_ylabel("cells")
    name_curves(ax)
    return ax


def counts(result: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw a count or the counts of one column as bars, and a table of columns as squares.

    ``result`` comes from ``tg.count`` or ``tg.crosstab``. The error bar of a count is its interval;
    that of a level is two standard deviations of the noise. In a table of two or three columns the
    levels of the last one run across, and each square shows its count.

    Examples
    --------
    >>> import pandas as pd
    >>> import tailguard as tg
    >>> table = pd.DataFrame({"region": ["north", "south"] * 500})
    >>> schema = {"categorical": {"region": ["north", "south"]}}
    >>> result = tg.crosstab(table, "region", schema=schema, epsilon=1.0, delta=1e-6)
    >>> ax = tg.plot.counts(result)
    >>> len(ax.patches), ax.get_xlabel()
    (4, 'records')
    """
    if hasattr(result, "counts") and hasattr(result, "levels"):
        *rows, column_labels = result.levels
        names = [", ".join(each) for each in product(*rows)]
        if rows:
            table = result.counts.reshape(len(names), len(column_labels))
            ax = _squares(
                result, ax, table, names, column_labels, "{:,.0f}", cmap="Blues", vmin=0.0
            )
            ax.set_title(f"records, privacy noise {result.noise_std:,.3g}")
            ax.set_xlabel(result.names[-1])
            ax.set_ylabel(", ".join(result.names[:-1]))
            return ax
        names, values, half_widths = list(column_labels), result.counts, 2.0 * result.noise_std
    elif hasattr(result, "value") and hasattr(result, "noise_std") and np.ndim(result.value) == 0:
        names, values = ["records"], np.array([result.value])
        half_widths = np.array([[result.value - result.low], [result.high - result.value]])
    else:
        raise refused(result, "what tg.count or tg.crosstab returned")
    ax = axes_for(ax, result)
    ax.barh(range(len(names)), values, xerr=half_widths, color="C0", alpha=0.5, ecolor="0.3")
    ax.set_yticks(range(len(names)), names)
    margin = 0.5 if len(names) > 1 else 2.0  # keeps a single bar narrow
    ax.set_ylim(len(names) - 1.0 + margin, -margin)
    ax.set_xlabel("records")
    return ax


def matrix(
    result: Any, ax: "Axes | None" = None, *, columns: Collection[str] | None = None
) -> "Axes":
    """Draw correlations or covariances as squares, coloured by the correlation, with the numbers.

    ``result`` comes from ``tg.correlation``, ``tg.covariance`` or ``tg.describe``. ``columns``
    selects some of its columns. Columns that noise hides stay blank.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> result = tg.correlation(claims.features[:, :3], epsilon=1.0, delta=1e-6)
    >>> [tick.get_text() for tick in tg.plot.matrix(result).get_yticklabels()]
    ['x0', 'x1', 'x2']
    """
    values: Any = getattr(result, "correlation", getattr(result, "value", None))
    if np.ndim(values) != 2 or np.shape(values) != (len(result.names),) * 2:
        raise refused(
            result,
            "what tg.correlation or tg.covariance returned, or tg.describe with correlations",
        )
    selected = chosen_among({*result.names}, columns)
    places = [place for place, name in enumerate(result.names) if name in selected]
    names, values = [result.names[place] for place in places], values[np.ix_(places, places)]
    spread = np.sqrt(np.diag(values))
    with np.errstate(all="ignore"):
        colors = values / np.outer(spread, spread)
    return _squares(
        result, ax, values, names, names, "{:.2g}", colors=colors, cmap="RdBu", vmin=-1.0, vmax=1
    )


def _squares(
    result: Any,
    ax: "Axes | None",
    values: FloatArray,
    rows: Sequence[str],
    column_labels: Sequence[str],
    number_format: str,
    *,
    colors: FloatArray | None = None,
    **options: Any,
) -> "Axes":
    """Draw a square for each value, with the number in it where there is room."""
    ax, colors = axes_for(ax, result), values if colors is None else colors
    image = ax.imshow(colors, aspect="auto", **options)
    ax.set_xticks(
        range(len(column_labels)), column_labels, rotation=45, ha="right", rotation_mode="anchor"
    )
    ax.set_yticks(range(len(rows)), rows)
    if max(values.shape) <= MOST_NUMBERED:
        for (row, column), value in np.ndenumerate(values):
            red, green, blue, _ = image.to_rgba(colors[row, column])
            dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
            text = "" if np.isnan(value) else number_format.format(value)
            ax.text(column, row, text, ha="center", va="center", color="w" if dark else "k")
    return ax


def estimates(
    result: Any, ax: "Axes | None" = None, *, columns: Collection[str] | None = None
) -> "Axes":
    """Draw ratios of totals with their intervals, or variances with their noise.

    ``result`` comes from ``tg.actual_expected`` or ``tg.variance``. ``columns`` selects some of its
    groups or columns. The line of a variance is two standard deviations of its noise either way.
    An estimate that noise hides is named so; an open circle has no interval.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> result = tg.variance(claims.features[:, :2], epsilon=1.0, delta=1e-6)
    >>> [tick.get_text() for tick in tg.plot.estimates(result).get_yticklabels()]
    ['x0', 'x1']
    """
    value: Any = getattr(result, "value", None)
    if hasattr(result, "ratio"):
        names = labels = result.groups
        numbers, quantity = (result.ratio, result.low, result.high), "actual over expected"
    elif hasattr(result, "std") and np.ndim(value) == 1:
        half_width = 2.0 * result.noise_std
        names, labels = result.names, _labels(result)
        numbers, quantity = (value, value - half_width, value + half_width), "variance"
    else:
        raise refused(result, "what tg.actual_expected or tg.variance returned")
    selected = chosen_among({*names}, columns)
    rows = [row for name, *row in zip(names, labels, *numbers, strict=True) if name in selected]
    ax = axes_for(ax, result)
    if hasattr(result, "ratio"):
        ax.axvline(1.0, color="0.6", linewidth=1.0)
    for place, (_, value, low, high) in enumerate(rows):
        if not np.isfinite(value):
            beside(ax, place, "hidden", color="0.4")
            continue
        has_interval = np.isfinite(low) and np.isfinite(high)
        if has_interval:
            ax.plot([low, high], [place, place], color="C0", linewidth=2.5)
        ax.plot(value, place, "o", color="C0", markerfacecolor="C0" if has_interval else "none")
    ax.set_yticks(range(len(rows)), [name or "all" for name, *_ in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel(quantity)
    return ax


def plan(advice: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the predicted error of each method in a plan, the recommended one first.

    ``advice`` comes from ``tg.plan``. Methods whose errors have another unit are left out.

    Examples
    --------
    >>> import tailguard as tg
    >>> advice = tg.plan("mean", n_rows=100_000, n_features=10, epsilon=1.0, delta=1e-6)
    >>> tg.plot.plan(advice).get_yticklabels()[0].get_text()
    "tg.mean(method='clipped')"
    """
    if not hasattr(advice, "candidates"):
        raise InputError(f"advice must be what tg.plan returned; got a {type(advice).__name__}.")
    unit = advice.recommended.unit
    comparable = [each for each in advice.candidates if each.unit == unit]
    ax = axes_for(ax)
    errors = [each.predicted_error for each in comparable]
    colors = ["C0" if each is advice.recommended else "0.6" for each in comparable]
    ax.scatter(errors, range(len(errors)), color=colors)
    ax.set_yticks(range(len(comparable)), [each.method for each in comparable])
    ax.invert_yaxis()
    for row, error in enumerate(errors):
        beside(ax, row, f"{error:.3g}")
    ax.set_xscale("log")
    ax.tick_params(which="minor", labelbottom=False)
    ax.set_xlabel(fill(f"predicted error, {unit}", WIDTH))
    ax.set_title(f"{advice.task}, n = {advice.n_rows}, d = {advice.n_features}")
    return ax


def _curves(result: Any) -> list[tuple[Any, ...]]:
    """Return the column, label, quantiles and both interval ends of each curve."""
    if hasattr(result, "quantiles"):
        rows = product(result.groups, result.names)
        labels = [f"{group}: {name}" if group else name for group, name in rows]
        parts = result.quantiles, result.quantiles_low, result.quantiles_high
        flat = (part.reshape(len(labels), -1) for part in parts)
        return list(zip(result.names * len(result.groups), labels, *flat, strict=True))
    if not (hasattr(result, "levels") and hasattr(result, "value")):
        raise refused(result, "what tg.quantile or tg.describe returned")
    parts = result.value, result.low, result.high
    return list(zip(result.names, _labels(result), *parts, strict=True))


def _labels(result: Any) -> list[str]:
    """Return a label for each row of a result: its column, or its group and column."""
    rows = zip(result.groups, result.names, strict=True)
    return [f"{group}: {name}" if group else name for group, name in rows]
