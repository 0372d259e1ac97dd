r"""Predict every row of a CSV file, or of Parquet files, with a model file.

FILE needs the model's columns, in any order. Predictions are written as CSV,
one line per row, in the same order; files of a folder follow their paths. A row
with an empty or unreadable cell has no prediction; the last sentence counts
these rows by column. A logistic model adds the probability of the second class
or, with more than two classes, of each class. A model that was fitted with
exposures predicts rates, for an exposure of 1; with --exposure it predicts
counts for that column's exposures. --offset works alike.

--interval mean adds columns low and high: the 95 % interval of the expected
target of each row or, of two classes, of the probability. It covers sampling and
privacy noise of the fit. --interval new adds those of a new record's target, for
linear, huber, quantile and lp models. --level 0.9 changes the level.

As in the fit, a feature beyond its bound counts as the bound; the model file
lists the bounds. --extrapolate linear uses such features unchanged.

The model is private for the rows that it was fitted on. Predictions show
the rows that they are made for: guard them as you guard FILE.

[bold]Examples[/bold]

\b
  tailguard predict model.json new_claims.csv
  tailguard predict model.json new_claims.parquet --out predictions.csv
  tailguard predict model.json 'new_claims/*.parquet' --out predictions.csv
  tailguard predict counts.json new_claims.csv --exposure years
  tailguard predict model.json new_claims.csv --interval mean --level 0.9
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from tailguard.checks import InputError, check_choice
from tailguard.cli import options
from tailguard.cli.arguments import destination, kept, promise_of, run_options, write_texts
from tailguard.cli.model_file import load_model, takers
from tailguard.cli.printing import print_plain, print_summary, print_wrapped, tables_as_json
from tailguard.data.declarations import OTHER, check_columns, listing
from tailguard.data.design import (
    Offset,
    column_of,
    feature_cells,
    feature_marks,
    numbers_of_predictions,
)
from tailguard.data.readers.opening import opened_path, opened_table
from tailguard.data.readers.parquet import is_parquet
from tailguard.data.table import Piece, Table
from tailguard.estimators.model_file import model_name
from tailguard.estimators.summary import NO_RECORDS
from tailguard.printable import printable
from tailguard.progress import progress_bar

# Rows that are read, predicted and written at a time.
ROWS_AT_ONCE = 100_000


def predict(
    model: options.ModelPathOption,
    file: options.TableOption,
    exposure: Annotated[
        str | None,
        options.typed("COLUMN", "poisson, gamma, tweedie: predict for this exposure, not for 1."),
    ] = None,
    offset: Annotated[
        str | None, options.typed("COLUMN", "Predict with this offset instead of 0.")
    ] = None,
    extrapolate: Annotated[
        str | None, options.typed("bounded|linear", "Whether features count as their bounds.")
    ] = None,
    interval: Annotated[
        str | None, options.typed("mean|new", "Add both ends of an interval of each row.")
    ] = None,
    level: Annotated[
        float | None, options.typed("NUMBER", "The level of --interval; 0.95 by default.")
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
    fitted = _load_table_model(model)
    if exposure is not None and not fitted.takes_exposure:
        raise InputError(
            f"--exposure belongs to a {takers('--exposure')} model; got a {model_name(fitted)} one."
        )
    if extrapolate is not None:
        from tailguard.estimators.base import EXTRAPOLATIONS  # noqa: PLC0415 (loads scikit-learn)

        fitted.extrapolate = check_choice("--extrapolate", extrapolate, EXTRAPOLATIONS)
    asked = _asked_interval(fitted, interval, level)
    if out is not None:
        destination(out, model, file)
        if is_parquet(out):
            raise InputError(
                f"--out must be a CSV file, as predictions are written; got {str(out)!r}."
            )
    table = opened_path(file)
    named = {"exposure": exposure, "offset": offset}
    observed = {role: name for role, name in named.items() if name is not None}
    names = tuple(dict.fromkeys([*fitted.schema_.features, *observed.values()]))
    check_columns(names, table.names, table.where)
    unpredicted = _MissingPredictions(fitted, observed)
    tables = (Piece(table, names, frame) for frame in table.batches(names, ROWS_AT_ONCE))
    texts = _csv_texts(fitted, tables, observed, asked, unpredicted)
    if out is None:
        for text, _ in texts:
            typer.echo(text, nl=False)
    else:
        n_rows = write_texts(out, texts)
        print_plain(Console(), f"Wrote {n_rows} predictions to {out}.")
    mode = fitted.certificate_.mode
    marks = () if mode == "private" else (f"MODEL is of a {mode}. So are its predictions.",)
    for sentence in (*marks, *_rates(fitted, observed), *unpredicted.sentences()):
        print_wrapped(Console(stderr=True), sentence)


def _rates(fitted: Any, observed: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence if the fit had an exposure and these predictions have none."""
    exposure = fitted.schema_.exposure
    if observed or exposure is None:
        return ()
    return (
        f"Predictions are rates, for an exposure of 1: --exposure {exposure} predicts the target "
        "of each row.",
    )


def _load_table_model(path: Path) -> Any:
    """Load a model, and refuse one that was fitted to a matrix without column names."""
    fitted = load_model(path)
    if fitted.schema_ is None:
        raise InputError(
            "MODEL must be of a table whose columns have names to look for; got one of a matrix."
        )
    return fitted


def _asked_interval(fitted: Any, interval: str | None, level: float | None) -> dict[str, Any]:
    """Return the arguments of an interval, or none; refuse what the model cannot have."""
    from tailguard.estimators.wald import check_interval  # noqa: PLC0415 (loads SciPy)

    if interval is None:
        if level is not None:
            raise InputError("--level must be given with --interval mean or new.")
        return {}
    if len(getattr(fitted, "classes_", ())) > 2 or fitted.coef_std_ is None:
        raise InputError(
            "--interval must be for a model with intervals, of numbers or of two classes; got "
            f"a {model_name(fitted)} one without."
        )
    level = 0.95 if level is None else level
    check_interval(fitted, interval, level)
    return {"interval": interval, "level": level}


class _MissingPredictions:
    """Counts rows without a prediction or interval, their unusable cells and unfitted levels."""

    def __init__(self, estimator: Any, observed: dict[str, str]) -> None:
        schema, reasons = estimator.schema_, estimator.reasons_
        reason_of_name = zip(schema.coefficient_names, reasons, strict=False)
        unseen = {name for name, reason in reason_of_name if reason == NO_RECORDS}
        self.schema, self.observed = schema, observed
        self.unseen = [name for name in schema.categorical if f"{name}={OTHER}" in unseen]
        self.n_rows = self.n_without_interval = 0
        self.cells: Counter[str] = Counter()
        self.others: Counter[str] = Counter()

    def see(self, piece: Table, n_unpredicted: int, n_without_interval: int) -> None:
        """Count the unusable cells of a piece with ``n_unpredicted`` rows without a prediction.

        ``n_without_interval`` more rows have a prediction, but no interval.
        """
        self.n_rows += n_unpredicted
        self.n_without_interval += n_without_interval
        for frame in piece.batches(self.schema.features or (), piece.n_rows):
            if n_unpredicted:
                unusable = ~np.isfinite(feature_marks(frame, self.schema))
                self.cells.update(_counts(self.schema.features or (), unusable))
                self.cells.update(_unusable_beside(piece, self.observed))
            if self.unseen:
                cells = feature_cells(frame, self.schema)
                others = np.column_stack([cells[name][1][:, -1] == 1.0 for name in self.unseen])
                self.others.update(_counts(self.unseen, others))

    def sentences(self) -> Iterator[str]:
        """Yield one sentence for each count."""
        if self.n_rows:
            cells = [f"{name} ({count})" for name, count in self.cells.items()]
            where = f"in columns of the model: {listing(cells)}" if cells else "beside the features"
            subject = "1 row has" if self.n_rows == 1 else f"{self.n_rows} rows have"
            exposures = ", or exposures below 0 or infinite," if "exposure" in self.observed else ""
            yield (
                f"{subject} no prediction, since cells are empty, unreadable or of void levels"
                f"{exposures} {where}."
            )
        if count := self.n_without_interval:
            subject = "1 row has" if count == 1 else f"{count} rows have"
            they_need = "it needs" if count == 1 else "they need"
            yield (
                f"{subject} a prediction but no interval, since a coefficient that {they_need} has "
                "none; tailguard report names the reasons."
            )
        for name, count in self.others.items():
            subject = "1 row has" if count == 1 else f"{count} rows have"
            yield (
                f"{subject} an undeclared level of {printable(name)} and the prediction of its "
                "baseline, since no records with undeclared levels were counted in the fit."
            )


def _unusable_beside(piece: Table, observed: dict[str, str]) -> dict[str, int]:
    """Return how many exposures or offsets of a piece cannot be used, by column."""
    counts = {}
    for role, name in observed.items():
        kind: Any = role
        numbers = numbers_of_predictions(Offset(kind, name, column_of(piece, name)), piece.n_rows)
        counts[name] = int(np.isnan(numbers).sum())
    return counts


def _counts(names: Iterable[str], columns: NDArray[np.bool_]) -> dict[str, int]:
    """Return how many rows are true in each column; columns without any are left out."""
    counts = zip(names, columns.sum(axis=0).tolist(), strict=True)
    return {name: count for name, count in counts if count}


def _csv_texts(
    fitted: Any,
    tables: Iterable[Table],
    observed: dict[str, str],
    asked: dict[str, Any],
    unpredicted: _MissingPredictions,
) -> Iterator[tuple[str, int]]:
    """Yield the file of predictions piece by piece, each with its number of rows."""
    for number, piece in enumerate(tables):
        columns = _predicted_columns(fitted, piece, observed)
        n_without_interval = 0
        if asked:
            columns |= _interval_columns(fitted, piece, {**observed, **asked})
            both = zip(columns["prediction"], columns["low"], strict=True)
            n_without_interval = sum(cell is not None and low is None for cell, low in both)
        unpredicted.see(piece, columns["prediction"].count(None), n_without_interval)
        yield _csv_text(columns, header=number == 0), piece.n_rows


def _interval_columns(fitted: Any, table: Table, asked: dict[str, Any]) -> dict[str, list[Any]]:
    """Return both ends of each row's interval; None if it has none."""
    predict = fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.predict
    ends = predict(table, **asked)
    known = ~np.isnan(ends).any(axis=1)
    return {
        name: _without_unknown(values, known)
        for name, values in zip(("low", "high"), ends.T, strict=True)
    }


def _predicted_columns(fitted: Any, table: Table, observed: dict[str, str]) -> dict[str, list[Any]]:
    """Return the cells by header; the cell of a row without a prediction is None."""
    predictions = fitted.predict(table, **observed)
    if not hasattr(fitted, "predict_proba"):
        return {"prediction": _without_unknown(predictions, np.isfinite(predictions))}
    probabilities = fitted.predict_proba(table, **observed).T
    has_prediction, labels = np.isfinite(probabilities[1]), fitted.classes_.tolist()
    probability_columns = {"probability": probabilities[1]}
    if len(labels) > 2:
        probability_columns = {
            f"probability of {label}": column
            for label, column in zip(labels, probabilities, strict=True)
        }
    cells = {"prediction": predictions, **probability_columns}
    return {name: _without_unknown(values, has_prediction) for name, values in cells.items()}


def _without_unknown(values: NDArray[Any], has_prediction: NDArray[np.bool_]) -> list[Any]:
    """Return the values as a list, with None for rows without a prediction."""
    return [
        value if is_known else None
        for value, is_known in zip(values.tolist(), has_prediction, strict=True)
    ]


def _csv_text(columns: dict[str, list[Any]], *, header: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


@options.takes(
    options.WeightOptions, options.PersonOptions, options.CheckpointOptions, options.ChargeOptions
)
def score(
    model: options.ModelPathOption,
    file: options.TableOption,
    *,
    epsilon: options.EpsilonOption,
    delta: options.OptionalDeltaOption = None,
    pure: options.PureOption = False,
    target: Annotated[
        str | None, options.columns("COLUMN", "The column to predict; that of the fit by default.")
    ] = None,
    exposure: options.ExposureOption = None,
    offset: options.OffsetOption = None,
    person_weight: Annotated[
        str | None,
        options.columns(
            "person|row", "Whether each person counts once, or each row; by default as in the fit."
        ),
    ] = None,
    json: options.JsonOption = False,
    out: Annotated[
        Path | None, options.typed("PATH", "Where to write table and certificate (JSON).")
    ] = None,
    **given: Any,
) -> None:
    r"""Measure privately how well a model file predicts the rows of a file.

    It prints the explained share of the deviance (R2 or D2), the mean squared error
    or deviance and, for two labels, the area under the curve or, for more, the
    accuracy. Errors without a bound have no interval; the others have one of 95 %.

    FILE needs the model's columns and its target. If the model was fitted with
    exposures, offsets, weights or persons, they are read too. If the fit used the same
    rows or persons, the costs of both add up, and the model looks better than it is;
    a ledger counts both costs.

    [bold]Examples[/bold]

    \b
      tailguard score model.json new_claims.csv --epsilon 1 --delta 1e-6
      tailguard score model.json new_visits.parquet --person patient \
          --max-rows 10 --epsilon 1 --delta 1e-6 --out score.json
      tailguard score model.json new_claims.csv --target cost --epsilon 1 --pure

    Examples
    --------
    >>> from tailguard.cli.app import run
    >>> run(["score", "--help"])  # doctest: +ELLIPSIS
    <BLANKLINE>
     Usage: tailguard score [OPTIONS] ...
    """
    guarantee = promise_of(epsilon, delta, pure=pure)
    fitted = _load_table_model(model)
    schema = fitted.schema_
    target = schema.target if target is None else target
    if target is None:
        raise InputError(
            "--target must name the column to predict, since MODEL does not; got none."
        )
    if exposure is None and offset is None:
        exposure, offset = schema.exposure if fitted.takes_exposure else None, schema.offset
    table = opened_table(file)
    check_columns([*schema.features, target], table.names, table.where)
    if out is not None:
        destination(out, model, file, given["ledger"], given["checkpoint"])
    with progress_bar():
        result = fitted.private_score(
            table,
            column_of(table, target),
            exposure=exposure,
            offset=offset,
            sample_weight=given["weight"],
            weight_bound=given["weight_bound"],
            person=given["person"],
            max_rows=given["max_rows"],
            weight=person_weight,
            guarantee=guarantee,
            **run_options(given),
        )
    with kept(out, tables_as_json(result) + "\n"):
        print_summary(result, json=json)
