"""Render a plan as one HTML page with sliders over precomputed predictions.

The page loads no other file. The only script that may run is ``planner.js``, identified by its
digest.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tailguard.printable import html_words
from tailguard.report.odds import odds_of, percent
from tailguard.report.page import asset, captioned_table, html_head, safe_json

AXES = {
    "n_features": "Columns, with the intercept",
    "n_rows": "Records",
    "epsilon": "Epsilon",
}
WORDS = {
    "nothing": "No method fits here: the budget is too small for so few records.",
    "hidden": "With so little, the default fit is little more than a constant.",
}
NO_SCRIPT = (
    "The sliders need a script, which did not run. The table has predictions for their start."
)
DELTA = (
    "Delta times the number of records is 0.1 or more. At one over the number of records the "
    "definition allows publishing a whole record: choose a smaller delta."
)


def plan_page(grid: Mapping[str, Any]) -> str:
    """Render the predictions of ``tailguard.planning.prediction_grid`` as one page of HTML."""
    script, start, axes = asset("planner.js"), grid["start"], grid["axes"]
    shown_cells = [row[start["epsilon"]] for row in grid["cells"][start["n_features"]]]
    odds = [_odds(grid["guarantee"], epsilon) for epsilon in axes["epsilon"]]
    cells = (cell for block in grid["cells"] for row in block for cell in row if cell)
    errors = [cell[0] for cell in cells if cell[0] > 0.0]
    error_range = [min(errors, default=1.0), max(errors, default=1.0)]
    delta = grid["guarantee"].get("delta", 0.0)
    data = {**grid, "words": WORDS, "odds": odds, "range": error_range, "delta": delta}
    title = f"Plan: {grid['task']}" + (f", delta = {delta:g}" if delta else ", delta = 0")
    parts = [
        *html_head(title, script),
        f"<header>\n<h1>{html_words(title)}</h1>",
        "<p>No record was read. Errors are predictions of what is typical, not bounds.</p>",
        f"<noscript><p>{NO_SCRIPT}</p></noscript>\n</header>\n<main>",
        *_sliders(axes, start),
        '<div class="panel" role="status">',
        f'<p id="prediction">{html_words(_sentence(grid, shown_cells[start["n_rows"]]))}</p>',
        f'<p id="odds">{html_words(odds[start["epsilon"]])}</p>',
        f'<p id="delta-warning" hidden>{DELTA}</p>\n</div>',
        f"<p>Unit of the error: {html_words(grid['unit'])}.</p>",
        *_curve(axes["n_rows"], error_range),
        *_errors(axes["n_rows"], shown_cells),
        "</main>",
        f'<script type="application/json" id="plan-data">{safe_json(data)}</script>',
        f"<script>{script}</script>\n</body>\n</html>",
    ]
    return "\n".join(parts) + "\n"


def _odds(guarantee: Mapping[str, Any], epsilon: float) -> str:
    right_guesses = odds_of({**guarantee, "epsilon": epsilon}).right_guesses
    return (
        f"Epsilon {epsilon:g}: an attacker who knows all other records guesses which of two "
        f"versions a record has. At most {percent(right_guesses)} of such guesses are right; "
        "a coin toss is right in 50 %."
    )


def _sentence(grid: Mapping[str, Any], cell: Sequence[Any] | None) -> str:
    """Describe the prediction of a cell, in the words of the script."""
    if cell is None:
        return WORDS["nothing"]
    start = f"{grid['methods'][cell[1]]}: predicted error {cell[0]:.3g}."
    return f"{start} {WORDS['hidden']}" if cell[2] else start


def _sliders(axes: Mapping[str, Sequence[float]], start: Mapping[str, int]) -> Iterator[str]:
    """Yield a slider for each axis, at its start; the script enables the sliders."""
    for name, label in AXES.items():
        value, last = f"{axes[name][start[name]]:,}", len(axes[name]) - 1
        yield (
            f'<p class="slider"><label for="{name}">{label}</label>: '
            f'<output id="{name}-value" for="{name}">{value}</output><br>\n'
            f'<input type="range" id="{name}" min="0" max="{last}" step="1" '
            f'value="{start[name]}" aria-valuetext="{value}" disabled></p>'
        )


def _curve(n_rows: Sequence[float], error_range: Sequence[float]) -> Iterator[str]:
    """Yield the curve of the errors, with its axes; the table also has its numbers."""
    low, high = error_range
    yield '<div aria-hidden="true">'
    yield f'<p class="quiet">Predicted error, {low:.3g} to {high:.3g}, logarithmic</p>'
    yield '<svg class="curve" viewBox="0 0 600 200" aria-hidden="true">'
    yield '<path class="axis" d="M10 10V190H590" fill="none"/>'
    yield '<polyline id="curve" class="interval" fill="none" points=""/>'
    yield '<circle id="here" class="point" r="6" visibility="hidden"/>\n</svg>'
    yield (
        f'<p class="quiet ends"><span>{n_rows[0]:,}</span> <span>Records, logarithmic</span> '
        f"<span>{n_rows[-1]:,}</span></p>\n</div>"
    )


def _errors(n_rows: Sequence[int], cells: Sequence[Sequence[Any] | None]) -> Iterator[str]:
    rows = (
        (f"{count:,}", "none" if cell is None else f"{cell[0]:.3g}")
        for count, cell in zip(n_rows, cells, strict=True)
    )
    caption = "Predicted error by records, for the columns and the epsilon above"
    yield from captioned_table(caption, ("records", "error"), rows, (1,), key="errors")
