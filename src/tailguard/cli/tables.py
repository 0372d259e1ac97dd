"""What the commands print: coefficients beside their privacy noise, and long texts unwrapped."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["NOISE_NOTE", "coefficient_table", "print_plain"]

NOISE_NOTE = (
    "privacy noise: predicted standard deviation of the added noise alone; sampling error and the "
    "bias of clipping come on top"
)
"""What the column of that name leaves out."""


def coefficient_table(
    names: Sequence[str], estimator: Any, truth: Sequence[float] | None = None
) -> Table:
    """Return coefficients, their privacy noise and, for simulated data, the truth.

    Examples
    --------
    >>> import tailguard as tg
    >>> model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0)
    >>> model = model.fit([[0.0], [1.0]] * 50, [0.0, 1.0] * 50)
    >>> coefficient_table(["age"], model).row_count
    2
    """
    rows = list(zip(names, estimator.coef_, estimator.coef_noise_std_, strict=True))
    if estimator.fit_intercept:
        rows.append(("(intercept)", estimator.intercept_, estimator.intercept_noise_std_))
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    table.add_column("coefficient", justify="right")
    table.add_column("privacy noise", justify="right")
    if truth is not None:
        table.add_column("truth", justify="right")
    for index, (name, value, noise) in enumerate(rows):
        known = [] if truth is None else [f"{truth[index]:.4g}"]
        table.add_row(escape(name), f"{value:.4g}", f"{noise:.2g}", *known)
    return table


def print_plain(console: Console, text: str) -> None:
    """Print a text as it is: no markup, no colours, no new line breaks.

    Examples
    --------
    >>> print_plain(Console(), "delta = [1e-6]")
    delta = [1e-6]
    """
    console.print(text, markup=False, highlight=False, soft_wrap=True)
