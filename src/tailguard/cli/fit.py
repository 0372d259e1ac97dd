"""``tailguard fit``: from a file to a model file with its certificate."""

from pathlib import Path
from typing import Any

from rich.console import Console

import tailguard as tg
from tailguard.checks import InputError
from tailguard.cli import options
from tailguard.cli.arguments import constants_of, destination, labels_of, levels_of, names_of
from tailguard.cli.design import declare_design
from tailguard.cli.model_file import ModelFile
from tailguard.cli.models import make_estimator
from tailguard.cli.printing import coefficient_table, print_findings, print_plain
from tailguard.rows.files import column_names, read_columns, read_texts

__all__ = ["HELP", "fit"]

HELP = """
Fit a private regression to a CSV or Parquet file.

The promise: whatever any one row is replaced by, the chance of any model
file changes by little more than a factor of exp(epsilon). Every further fit
of the same rows spends again; what was spent adds up.

[bold]Examples[/bold]

\b
  tailguard fit claims.csv --target cost --epsilon 1 --delta 1e-6 \\
      --out model.json
  tailguard fit claims.parquet --target claims --exposure years \\
      --model poisson --features age,power,region \\
      --categorical region=north,south,west \\
      --epsilon 1 --delta 1e-6 --out model.json
  tailguard fit patients.csv --target ill --model logistic \\
      --classes no,yes --epsilon 0.5 --delta 1e-7 --out model.json
  tailguard fit genes.parquet --target growth --model sparse-linear \\
      --keep 5 --epsilon 1 --delta 1e-6 --out model.json
  tailguard fit claims.csv --target cost --model quantile --level 0.9 \\
      --epsilon 1 --delta 1e-6 --out model.json

[bold]What a cell may hold[/bold]

The header is public, the cells are not. A column is numeric unless it is
declared categorical. A row with an empty or unreadable cell is void: it
counts as a row, contributes nothing, and nothing is said about it; with
--missing age=40 such a cell of age counts as 40 instead, in predictions too.
So declare or leave out a CSV column of words, or else every row is void. In a
categorical column, values that were not declared share the level 'other'.
"""
# The private spread of a column is measured on pairs of rows.
FEWEST_ROWS = 2


def fit(
    file: options.File,
    *,
    target: options.Target,
    epsilon: options.Epsilon,
    delta: options.Delta,
    out: options.Out,
    model: options.Model = "linear",
    features: options.Features = None,
    categorical: options.Categorical = None,
    missing: options.Missing = None,
    exposure: options.Exposure = None,
    classes: options.Classes = None,
    threshold: options.Threshold = None,
    level: options.Level = None,
    power: options.Power = None,
    keep: options.Keep = None,
    intercept: options.Intercept = True,
    random_state: options.RandomState = None,
) -> None:
    r"""Fit a model privately and write the model file.

    Examples
    --------
    >>> import tailguard as tg
    >>> from pathlib import Path
    >>> _ = Path("claims.csv").write_text("age,cost" + 100 * "\n30,2.5" + 100 * "\n60,1.5")
    >>> fit(
    ...     Path("claims.csv"), target="cost", epsilon=1.0, delta=1e-6, out=Path("model.json")
    ... )  # doctest: +ELLIPSIS
    LinearRegression ...
    """
    tg.ApproxDP(epsilon, delta)
    labels = None if classes is None else labels_of(classes)
    shared = {"epsilon": epsilon, "delta": delta, "fit_intercept": intercept}
    estimator = make_estimator(
        model,
        {**shared, "random_state": random_state},
        own_options={
            "--classes": labels,
            "--exposure": exposure,
            "--keep": keep,
            "--level": level,
            "--power": power,
            "--threshold": threshold,
        },
    )
    design = declare_design(
        column_names(file),
        features=None if features is None else names_of("--features", features),
        categorical=levels_of(categorical or []),
        reserved={"--target": target} | ({} if exposure is None else {"--exposure": exposure}),
    )
    constants = constants_of(missing or [])
    if constants:
        estimator.set_params(missing=design.constants(constants))
    destination(out)
    matrix = design.read(file)
    if len(matrix) < FEWEST_ROWS:
        raise InputError(f"FILE must have at least {FEWEST_ROWS} rows; got {len(matrix)}.")
    observed = {} if exposure is None else {"exposure": read_columns(file, [exposure])[:, 0]}
    estimator.fit(matrix, _read_target(file, target, labels), **observed)
    fitted = ModelFile(model, estimator, design, target, exposure)
    fitted.save(out)
    _report(fitted, out)


def _read_target(file: Path, target: str, labels: tuple[Any, ...] | None) -> Any:
    """Read numbers, or cells of text where the declared labels are text."""
    if labels is not None and isinstance(labels[0], str):
        return read_texts(file, [target])[0]
    return read_columns(file, [target])[:, 0]


def _report(fitted: ModelFile, out: Path) -> None:
    estimator, certificate = fitted.estimator, fitted.estimator.certificate_
    console = Console()
    print_plain(
        console,
        f"{type(estimator).__name__} on {certificate.n_rows} rows, mode: {certificate.mode}\n"
        f"{certificate.guarantee.describe()}",
    )
    console.print(coefficient_table(fitted.design.feature_names, estimator))
    print_findings(console, estimator)
    print_plain(console, f"Wrote {out}; its certificate: tailguard certificate {out}")
