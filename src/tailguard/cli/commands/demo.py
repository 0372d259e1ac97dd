r"""Fit a private regression to simulated insurance claims and print its certificate.

Nobody's records are involved, so it may show what a private fit must not:
the truth, and a fit without privacy to compare with.

[bold]Examples[/bold]

\b
  tailguard demo
  tailguard demo --epsilon 0.1
  tailguard demo --rows 10000
"""

from time import perf_counter
from typing import Annotated

from rich.console import Console
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tailguard as tg
from tailguard.checks import check_integer
from tailguard.cli import options
from tailguard.cli.printing import print_plain, print_wrapped
from tailguard.datasets.dataset import Dataset
from tailguard.estimators.summary import STD_NOTE, coefficient_cells, table_lines

COMPARED = ("truth", "coef", "std err", "[0.025", "0.975]")  # columns of the table
# The two tables that are compared hold 1.5 GB at this size.
MOST_ROWS = 10_000_000


def demo(
    epsilon: options.EpsilonOption = 1.0,
    delta: options.DeltaOption = 1e-6,
    rows: Annotated[
        int, options.typed("NUMBER", "How many policies are simulated, 100 to 10000000.")
    ] = 100_000,
) -> None:
    """Simulate, fit, compare, certify.

    Examples
    --------
    >>> demo(rows=2000)  # doctest: +ELLIPSIS
    <BLANKLINE>
    The data
    ...
    """
    tg.ApproxDP(epsilon, delta)
    check_integer("--rows", rows, minimum=100, maximum=MOST_ROWS)
    console = Console(highlight=False)
    claims = tg.datasets.insurance_claims(n_rows=rows, seed=0)
    _heading(console, "The data")
    print_wrapped(console, _describe(claims))
    _heading(console, "In Python")
    print_plain(
        console,
        f"claims = tg.datasets.insurance_claims(n_rows={rows})\n"
        f"model = tg.LinearRegression(epsilon={epsilon}, delta={delta})\n"
        "model.fit(claims.features, claims.target)",
    )
    _heading(console, "Fitting")
    model = tg.LinearRegression(epsilon=epsilon, delta=delta)
    started = perf_counter()
    with console.status("Buying locations and scales, then descending ..."):
        model.fit(claims.features, claims.target)
    releases = sum(release.times for release in model.certificate_.releases)
    console.print(
        f"{rows} rows, {claims.features.shape[1]} columns, {releases} noised releases: "
        f"{perf_counter() - started:.1f} s"
    )
    _heading(console, "Coefficients, in the units of the columns")
    truth = [*claims.coefficients, claims.intercept]
    cells = coefficient_cells(model, 4, claims.feature_names)
    for row, true in zip(cells, truth, strict=True):
        row.cells["truth"] = f"{true:.4g}"
    print_plain(console, "\n".join(table_lines(cells, COMPARED, console.width)))
    print_wrapped(console, STD_NOTE)
    _heading(console, "Explained variance of new rows")
    console.print(_comparison(claims, model))
    _heading(console, "Certificate")
    print_plain(console, model.certificate_.to_text())


def _heading(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]")


def _describe(claims: Dataset) -> str:
    return (
        f"{claims.description} Some columns have no fourth moment, two lie 50 and 170 standard "
        "deviations from zero, as dates do. Nobody's records are involved. The fit is told nothing "
        "of this: no bounds, no scales, no tuning."
    )


def _comparison(claims: Dataset, model: tg.LinearRegression) -> str:
    """Compare with least squares, which only simulated data allows."""
    new = tg.datasets.insurance_claims(n_rows=claims.target.size, seed=1)
    plain = make_pipeline(StandardScaler(), LinearRegression())
    plain.fit(claims.features, claims.target)
    private_share = r2_score(new.target, model.predict(new.features))
    plain_share = plain.score(new.features, new.target)
    return (
        f"private fit {private_share:8.1%}\n"
        f"least squares {plain_share:6.1%}   NOT PRIVATE: possible because the data are simulated"
    )
