r"""Predict with a model file for every row of a CSV or Parquet file.

FILE needs the model's columns, in any order. Predictions are written as CSV,
one line a row, in order; a row with an empty or unreadable cell gets an
empty one. A logistic model adds the probability of the second class. A model
that was fitted with exposures predicts rates, for an exposure of 1 each, or
counts for the exposures that --exposure names; --offset likewise.

A feature far from where most rows were counts as its bound, as in the fit:
the model file lists the bounds. --extrapolate linear reads it as it is.

The model is private for the rows that it was fitted on. Predictions show
the rows that they are made for: guard them as you guard FILE.

[bold]Examples[/bold]

\b
  tailguard predict model.json new_claims.csv
  tailguard predict model.json new_claims.parquet --out predictions.csv
  tailguard predict counts.json new_claims.csv --exposure years
"""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from tailguard.checks import InputError, check_choice
from tailguard.cli import options
from tailguard.cli.arguments import destination, write_texts
from tailguard.cli.model_file import ModelFile, load_model, takers
from tailguard.cli.printing import print_plain
from tailguard.data.declarations import check_columns
from tailguard.data.readers.csv import existing_file
from tailguard.data.readers.opening import opened_path
from tailguard.data.table import Table, pieces
from tailguard.estimators.base import EXTRAPOLATIONS

# So many rows are read, predicted and written at a time, whatever the file's size.
ROWS_AT_ONCE = 100_000


def predict(
    model: options.ModelPathOption,
    file: options.FileOption,
    exposure: Annotated[
        str | None,
        options.typed("COLUMN", "poisson, gamma, tweedie: predict for this exposure, not for 1."),
    ] = None,
    offset: Annotated[
        str | None, options.typed("COLUMN", "Predict with this offset instead of 0.")
    ] = None,
    extrapolate: Annotated[
        str | None, options.typed("bounded|linear", "Hold features within the model's bounds?")
    ] = None,
    out: Annotated[
        Path | None, options.typed("PATH", "Where to write them (CSV); the screen by default.")
    ] = None,
) -> None:
    """Write one prediction per row.

    Examples
    --------
    >>> from tailguard.cli.app import run
    >>> run(["predict", "--help"])  # doctest: +ELLIPSIS
    <BLANKLINE>
     Usage: tailguard predict [OPTIONS] ...
    """
    fitted = load_model(model)
    if exposure is not None and not fitted.estimator.takes_exposure:
        raise InputError(
            f"--exposure belongs to a {takers('--exposure')} model; got a {fitted.model} one."
        )
    if extrapolate is not None:
        fitted.estimator.extrapolate = check_choice("--extrapolate", extrapolate, EXTRAPOLATIONS)
    if out is not None:
        destination(out, model, file)
    columns = opened_path(existing_file(file))
    named = {"exposure": exposure, "offset": offset}
    observed = {role: name for role, name in named.items() if name is not None}
    names = tuple(dict.fromkeys([*fitted.estimator.schema_.features, *observed.values()]))
    check_columns(names, columns.names, columns.where)
    texts = _csv_texts(fitted, pieces(columns, names, ROWS_AT_ONCE), observed)
    if out is None:
        for text, _ in texts:
            typer.echo(text, nl=False)
    else:
        n_rows = write_texts(out, texts)
        print_plain(Console(), f"Wrote {n_rows} predictions to {out}.")


def _csv_texts(
    fitted: ModelFile, read: Iterable[Table], observed: dict[str, str]
) -> Iterator[tuple[str, int]]:
    """Yield the file of predictions piece by piece, each with its number of rows."""
    for place, piece in enumerate(read):
        predicted = _predicted_columns(fitted, piece, observed)
        yield _csv_text(predicted, header=place == 0), piece.n_rows


def _predicted_columns(
    fitted: ModelFile, columns: Table, observed: dict[str, str]
) -> dict[str, list[Any]]:
    """Return header -> cells; None where there is nothing to predict from."""
    estimator = fitted.estimator
    predictions = estimator.predict(columns, **observed)
    if not hasattr(estimator, "predict_proba"):
        return {"prediction": _blanked(predictions, np.isfinite(predictions))}
    chances = estimator.predict_proba(columns, **observed)[:, 1]
    known = np.isfinite(chances)
    return {
        "prediction": _blanked(predictions, known),
        "probability": _blanked(chances, known),
    }


def _blanked(values: NDArray[Any], known: NDArray[np.bool_]) -> list[Any]:
    return [value if seen else None for value, seen in zip(values.tolist(), known, strict=True)]


def _csv_text(columns: dict[str, list[Any]], *, header: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
