r"""Fit a private regression to a CSV file, or to Parquet files of any size.

The promise: if any one row is replaced, the probability of any model file
changes by little more than a factor of exp(epsilon). Each fit of the same
rows costs budget, and these costs add up.

[bold]Examples[/bold]

\b
  tailguard fit claims.csv --target cost --epsilon 1 --delta 1e-6 \
      --out model.json
  tailguard fit claims.parquet --target claims --exposure years \
      --model poisson --features age,power,region \
      --categorical region=north,south,west \
      --epsilon 1 --delta 1e-6 --out model.json
  tailguard fit 'claims/*.parquet' --target cost --epsilon 1 --delta 1e-6 \
      --out model.json
  tailguard fit patients.csv --target ill --model logistic \
      --classes no,yes --epsilon 0.5 --delta 1e-7 --out model.json
  tailguard fit claims.csv --target cost --model quantile --level 0.9 \
      --epsilon 1 --delta 1e-6 --out model.json

[bold]What a cell may hold[/bold]

The header is public, the cells are not. A column is numeric unless --categorical
or --dates declare it, in CSV and Parquet alike. A row with an empty or unreadable
cell is void: it counts as a row, contributes nothing, and no message names it.
With --missing age=40, such a cell of age counts as 40, in predictions too.
Undeclared values of a categorical column share the level 'other', unless
--other void makes their rows void. A fit first counts usable rows privately. If
they are surely fewer than half, as with a column of words that nothing declares,
it stops with exit code 3, has spent little, and names the column.
"""

from functools import partial
from inspect import get_annotations
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import tailguard as tg
from tailguard.checks import InputError
from tailguard.cli import options
from tailguard.cli.arguments import candidates_of, destination, kept, run_options
from tailguard.cli.declarations import declared_schema, print_undeclared, settled_for
from tailguard.cli.model_file import make_estimator
from tailguard.cli.printing import (
    print_coefficients,
    print_declared,
    print_notes,
    print_plain,
    print_wrapped,
)
from tailguard.data.readers.opening import opened_table
from tailguard.data.table import Table
from tailguard.estimators.model_file import model_name, model_text
from tailguard.estimators.registry import ESTIMATORS
from tailguard.estimators.summary import title_of
from tailguard.progress import progress_bar

of_model = partial(options.typed, panel="Model")


class ModelOptions:
    """Options that only the commands fit and search have."""

    model: Annotated[str, of_model("NAME", f"One of {', '.join(ESTIMATORS)}.")] = "linear"
    formula: Annotated[
        str | None,
        options.columns(
            "FORMULA", "Target and terms, such as 'cost ~ age + C(region)'; needs formulaic."
        ),
    ] = None
    person_weight: Annotated[
        str, options.columns("person|row", "Whether each person counts once, or each used row.")
    ] = "person"


class OwnOptions:
    """Options that only some models have."""

    threshold: Annotated[
        float | None,
        of_model(
            "NUMBER",
            "huber: the residual above which the loss is absolute, in scales of the target; 1.345 "
            "by default.",
        ),
    ] = None
    level: Annotated[
        float | None, of_model("NUMBER", "quantile: its level; 0.5, the median, by default.")
    ] = None
    power: Annotated[
        float | None,
        of_model(
            "NUMBER",
            "lp: the power of the residual, from 2 to 16; 4 by default. tweedie: the power of the "
            "mean in the variance, from 1 to 2; 1.5 by default.",
        ),
    ] = None
    alpha: Annotated[
        float | None,
        of_model(
            "NUMBER",
            "linear, logistic, poisson, gamma, tweedie: the ridge penalty, times half the squared "
            "coefficients; none by default.",
        ),
    ] = None
    keep: Annotated[
        int | None,
        of_model(
            "COUNT", "sparse-linear, sparse-logistic: how many columns are kept; 10 by default."
        ),
    ] = None


@options.takes(ModelOptions, OwnOptions, options.RoleOptions, *options.RUN_ON_A_TABLE)
def fit(
    file: options.TableOption,
    *,
    epsilon: options.EpsilonOption,
    delta: options.DeltaOption,
    out: options.OutOption,
    no_intercept: Annotated[bool, of_model(None, "Fit no constant.", "--no-intercept")] = False,
    engine: options.EngineOption = "local",
    json: options.JsonOption = False,
    **given: Any,
) -> None:
    r"""Fit a model privately and write the model file.

    Examples
    --------
    >>> from tailguard.cli.app import run
    >>> _ = Path("claims.csv").write_text("age,cost" + 1000 * "\n30,2.5\n60,1.5")
    >>> options = "--target cost --epsilon 1 --delta 1e-6 --out model.json"
    >>> run(f"fit claims.csv {options}".split())  # doctest: +ELLIPSIS
    Nothing is declared of age, ...
    """
    tg.ApproxDP(epsilon, delta)  # refuses a wrong budget before a file is opened
    declared, table, schema = _read(file, given, engine)
    own_options = {f"--{name}": given[name] for name in get_annotations(OwnOptions)}
    own_options["--classes"] = declared.classes
    parameters = {"epsilon": epsilon, "delta": delta, "fit_intercept": not no_intercept}
    parameters |= run_options(given)
    estimator = _estimator(given, schema, table, own_options, parameters)
    destination(out, file, given["schema"], given["ledger"], given["checkpoint"])
    print_undeclared(declared if given["formula"] is None else schema, table, json=json)
    with progress_bar():
        estimator.fit(table, order=given["order"])
    _print_and_write(estimator, out, json=json)


def _read(
    file: Path, given: dict[str, Any], engine: str = "local"
) -> tuple[tg.Schema, Table, tg.Schema]:
    """Return what is declared of a table, the table, and the schema of its fit."""
    declared = declared_schema(given)
    # If persons make the number of rows secret, only an empty table is refused.
    table = opened_table(file, engine, fewest=2 if declared.person is None else 1)
    return declared, table, settled_for(declared, table, given["formula"])


def _estimator(
    given: dict[str, Any],
    schema: tg.Schema,
    table: Table,
    own_options: dict[str, Any],
    parameters: dict[str, Any],
) -> Any:
    """Return the estimator; refuse undeclared labels in a CSV file, which has no types.

    ``own_options`` are options that only some models have.
    """
    own_options["--exposure"] = given["exposure"]
    parameters |= {"schema": schema, "weight": given["person_weight"]}
    estimator = make_estimator(given["model"], parameters, own_options=own_options)
    if hasattr(estimator, "classes") and schema.classes is None and not [*table.without_rows()]:
        raise InputError(
            f"--classes must be given for --model {model_name(estimator)}, such as --classes "
            f"no,yes or 0,1: a CSV file does not say that {schema.target!r} holds numbers."
        )
    return estimator


def _print_and_write(estimator: Any, out: Path, *, json: bool, chosen: str = "") -> None:
    """Print a fit, then write its model file: neither a full disk nor a closed pipe loses it."""
    text = model_text(estimator)
    with kept(out, text):
        if chosen:
            print_plain(Console(stderr=json), chosen)
        if json:
            typer.echo(text, nl=False)
        else:
            _print_fit(Console(), estimator)
    print_plain(Console(stderr=json), f"Wrote {out}; its certificate: tailguard certificate {out}")


def _print_fit(console: Console, estimator: Any) -> None:
    """Print the promise of a fit, its coefficients, and notes."""
    certificate = estimator.certificate_
    print_plain(
        console,
        f"{title_of(estimator)} on {certificate.n_rows} {certificate.unit.noun}, mode: "
        f"{certificate.mode}",
    )
    print_wrapped(console, f"{certificate.guarantee.describe()}, for {certificate.unit.describe()}")
    print_declared(console, estimator)
    print_coefficients(console, estimator)
    print_notes(console, estimator)


@options.takes(
    ModelOptions,
    options.RoleOptions,
    options.CellOptions,
    options.PersonOptions,
    options.RowOptions,
    options.CheckOptions,
    options.ChargeOptions,
)
def search(
    file: options.TableOption,
    *,
    tried: Annotated[
        list[str],
        options.typed(
            "NAME=A,B", "Values of a parameter to choose among; may be repeated.", "--try"
        ),
    ],
    epsilon: options.EpsilonOption,
    delta: options.DeltaOption,
    out: options.OutOption,
    tries: Annotated[float, options.typed("NUMBER", "How many tries are expected.")] = 10.0,
    json: options.JsonOption = False,
    **given: Any,
) -> None:
    r"""Choose among settings of a model privately, and write the model file of the best.

    A secret, random number of settings is tried. The whole search has one budget, and shows only
    the best try. Its running time reveals the number of tries.

    [bold]Examples[/bold]

    \b
      tailguard search claims.csv --target cost --try alpha=0,0.1 \
          --try fit_intercept=true,false --epsilon 2 --delta 1e-6 \
          --out model.json

    Examples
    --------
    >>> from tailguard.cli.app import run
    >>> _ = Path("costs.csv").write_text("age,cost" + 2000 * "\n30,2.5\n60,1.5")
    >>> options = "--target cost --epsilon 2 --delta 1e-6 --tries 3 --out best.json"
    >>> run(f"search costs.csv --try alpha=0,0.1 {options}".split())  # doctest: +ELLIPSIS
    Nothing is declared of age, ...
    """
    declared, table, schema = _read(file, given)
    estimator = _estimator(given, schema, table, {"--classes": declared.classes}, {})
    private_search = tg.PrivateSearch(
        estimator,
        candidates_of(tried),
        n_tries=tries,
        epsilon=epsilon,
        delta=delta,
        **run_options(given),
    )
    destination(out, file, given["schema"], given["ledger"])
    print_undeclared(declared if given["formula"] is None else schema, table, json=json)
    private_search.fit(table, order=given["order"])
    best = ", ".join(f"{name} = {value}" for name, value in private_search.best_params_.items())
    chosen = f"Chosen among {len(private_search.candidates_)} settings: {best}"
    _print_and_write(private_search.best_estimator_, out, json=json, chosen=chosen)
