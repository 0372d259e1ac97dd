r"""Fit a private regression to simulated insurance claims and write its report.

The records are simulated, so the demo may also show the truth, and a fit
without privacy for comparison.

[bold]Examples[/bold]

\b
  tailguard demo
  tailguard demo --epsilon 0.1
  tailguard demo --rows 10000 --out demo.html
"""

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated

from rich.console import Console

import tailguard as tg
from tailguard.checks import check_integer
from tailguard.cli import options
from tailguard.cli.arguments import destination, write_text
from tailguard.cli.printing import print_plain, print_wrapped
from tailguard.datasets.dataset import Dataset
from tailguard.estimators.summary import coefficient_cells, table_lines
from tailguard.privacy.certificate.pages import certificate_facts
from tailguard.report.content import Report

PICTURE = "interval, | truth"
# Letters of a picture: on each side of the truth, and in half an interval.
LETTERS_PER_SIDE, LETTERS_PER_HALF_INTERVAL = 11, 5
# The tables of both fits then take 1.5 GB.
MOST_ROWS = 10_000_000


def demo(
    epsilon: options.EpsilonOption = 1.0,
    delta: options.DeltaOption = 1e-6,
    rows: Annotated[
        int, options.typed("NUMBER", "How many policies are simulated, 100 to 10000000.")
    ] = 100_000,
    out: Annotated[Path, options.typed("PATH", "Where to write the report.")] = Path(
        "demo-report.html"
    ),
) -> None:
    """Simulate, fit, compare, report.

    Examples
    --------
    >>> demo(rows=2000)  # doctest: +ELLIPSIS
    <BLANKLINE>
    The data
    ...
    """
    tg.ApproxDP(epsilon, delta)  # refuses a wrong budget before records are simulated
    check_integer("--rows", rows, minimum=100, maximum=MOST_ROWS)
    out = destination(out)
    console = Console(highlight=False)
    claims = tg.datasets.insurance_claims(n_rows=rows, seed=0)
    _heading(console, "The data")
    print_wrapped(console, _describe(claims))
    _heading(console, "In Python")
    print_plain(
        console,
        f"claims = tg.datasets.insurance_claims(n_rows={rows})\n"
        f"model = tg.LinearRegression(epsilon={epsilon}, delta={delta})\n"
        "model.fit(claims.features, claims.target)\n"
        f'model.report("{out}")',
    )
    _heading(console, "Fitting")
    model = tg.LinearRegression(epsilon=epsilon, delta=delta)
    start_time = perf_counter()
    with console.status("Releasing locations and scales, then coefficients ..."):
        model.fit(claims.features, claims.target)
    releases = sum(release.times for release in model.certificate_.releases)
    console.print(
        f"{rows} rows, {claims.features.shape[1]} columns, {releases} noised releases: "
        f"{perf_counter() - start_time:.1f} s"
    )
    _heading(console, "Coefficients, in the units of the columns")
    print_plain(console, "\n".join(_table(claims, model, console.width)))
    print_wrapped(console, "95 % intervals; they and std err count sampling and privacy noise")
    _heading(console, "Explained variance of new rows")
    console.print(_comparison(claims, model))
    _heading(console, "Certificate")
    facts = certificate_facts(model.certificate_.to_dict())
    print_wrapped(console, f"promise: {facts['promise']}")
    print_wrapped(console, f"released: {facts['released']}")
    write_text(out, _report(claims, model).to_html())
    print_plain(console, f"report: {out}; check it by tailguard verify {out}")


def _table(claims: Dataset, model: "tg.LinearRegression", width: int) -> list[str]:
    """Return the lines of a table of coefficients, with their simulated true values."""
    truth = [*claims.coefficients, claims.intercept]
    rows = coefficient_cells(model, claims.feature_names)
    for row, true_value, estimate in zip(rows, truth, model.report().estimates, strict=True):
        row.cells["truth"] = f"{true_value:.4g}"
        if estimate.has_interval:
            row.cells[PICTURE] = picture(true_value, estimate.value, estimate.low, estimate.high)
    return table_lines(rows, ("truth", "coef", "std err", PICTURE), width)


def picture(truth: float, value: float, low: float, high: float) -> str:
    """Draw an interval in letters, with the truth in the middle.

    Examples
    --------
    >>> picture(truth=1.0, value=1.2, low=0.7, high=1.7)
    '        [--|-o----]    '
    """
    letters = [" "] * (2 * LETTERS_PER_SIDE + 1)
    unit = (high - low) / (2 * LETTERS_PER_HALF_INTERVAL)
    places = [LETTERS_PER_SIDE + round((end - truth) / unit) for end in (low, value, high)]
    left, middle, right = (min(max(place, 0), 2 * LETTERS_PER_SIDE) for place in places)
    letters[left : right + 1] = "-" * (right + 1 - left)
    letters[left], letters[right], letters[middle], letters[LETTERS_PER_SIDE] = "[", "]", "o", "|"
    return "".join(letters)


def _report(claims: Dataset, model: "tg.LinearRegression") -> Report:
    """Return the report of the fit, with the columns' names."""
    report = model.report(dataset="simulated motor claims", curator="nobody: they are simulated")
    names = [*claims.feature_names, *(each.name for each in report.estimates[len(model.coef_) :])]
    named = [replace(each, name=name) for each, name in zip(report.estimates, names, strict=True)]
    return replace(report, estimates=tuple(named))


def _heading(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]")


def _describe(claims: Dataset) -> str:
    return (
        f"{claims.description} Some columns have no fourth moment, two lie 50 and 170 standard "
        "deviations from zero, as dates do. Nobody's records are involved. The fit gets none "
        "of these facts: no bounds, no scales, no tuning."
    )


def _comparison(claims: Dataset, model: "tg.LinearRegression") -> str:
    """Compare with least squares without privacy, which only simulated data allow."""
    # scikit-learn is slow to load, and other commands start without it.
    from sklearn.linear_model import LinearRegression  # noqa: PLC0415
    from sklearn.metrics import r2_score  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    new_rows = tg.datasets.insurance_claims(n_rows=claims.target.size, seed=1)
    least_squares = make_pipeline(StandardScaler(), LinearRegression())
    least_squares.fit(claims.features, claims.target)
    private_share = r2_score(new_rows.target, model.predict(new_rows.features))
    least_squares_share = least_squares.score(new_rows.features, new_rows.target)
    return (
        f"private fit {private_share:8.1%}\n"
        f"least squares {least_squares_share:6.1%}   NOT PRIVATE: possible because the data are "
        "simulated"
    )
