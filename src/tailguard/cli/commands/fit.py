r"""Fit a private regression to a CSV file, or to Parquet files of any size.

The promise: whatever any one row is replaced by, the chance of any model
file changes by little more than a factor of exp(epsilon). Every further fit
of the same rows spends again; what was spent adds up.

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
  tailguard fit genes.parquet --target growth --model sparse-linear \
      --keep 5 --epsilon 1 --delta 1e-6 --out model.json
  tailguard fit claims.csv --target cost --model quantile --level 0.9 \
      --epsilon 1 --delta 1e-6 --out model.json

[bold]What a cell may hold[/bold]

The header is public, the cells are not. A column is numeric unless it is
declared categorical, in CSV and Parquet alike. A row with an empty or
unreadable cell is void: it counts as a row, contributes nothing, and no message
names it; with --missing age=40 such a cell of age counts as 40
instead, in predictions too. In a categorical column, values that were not
declared share the level 'other', unless --other void makes their rows void. A
column of words or dates that is neither declared, by --categorical or --dates,
nor dropped makes every row void. So a fit first counts
usable rows privately; where these are surely fewer than half, it stops with
exit code 3, having spent little, and names the column.
"""

from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

import tailguard as tg
from tailguard.checks import InputError
from tailguard.cli import options
from tailguard.cli.arguments import candidates_of, destination, ledger_of, run_options, write_text
from tailguard.cli.declarations import column_options, declared_schema, settled_for, tell_undeclared
from tailguard.cli.model_file import make_estimator
from tailguard.cli.printing import print_coefficients, print_declared, print_notes, print_plain
from tailguard.data.readers.opening import opened_table
from tailguard.data.table import Table
from tailguard.estimators.model_file import model_name, model_text
from tailguard.progress import progress_bar

SHARED = ("epsilon", "delta", "check_records", "on_unusable", "random_state")
"""Options of ``fit`` that a search takes in the place of its models."""
OWN = ("alpha", "exposure", "keep", "level", "power", "threshold")
"""Options that only some models have."""


def fit(
    file: options.TableOption,
    *,
    target: options.TargetOption = None,
    epsilon: options.EpsilonOption,
    delta: options.DeltaOption,
    out: options.OutOption,
    model: options.ModelOption = "linear",
    features: options.FeaturesOption = None,
    categorical: options.CategoricalOption = None,
    other: options.OtherOption = None,
    dates: options.DatesOption = None,
    terms: options.TermOption = None,
    formula: options.FormulaOption = None,
    drop: options.DropOption = None,
    missing: options.MissingOption = None,
    schema: options.SchemaPathOption = None,
    exposure: options.ExposureOption = None,
    offset: options.OffsetOption = None,
    weight: options.WeightOption = None,
    weight_bound: options.WeightBoundOption = None,
    person: options.PersonOption = None,
    max_rows: options.MaxRowsOption = None,
    person_weight: options.PersonWeightOption = "person",
    row_id: options.RowIdOption = None,
    order: options.OrderOption = "file",
    classes: options.ClassesOption = None,
    threshold: options.ThresholdOption = None,
    level: options.LevelOption = None,
    power: options.PowerOption = None,
    alpha: options.AlphaOption = None,
    keep: options.KeepOption = None,
    intercept: options.InterceptOption = True,
    engine: options.EngineOption = "local",
    ledger: options.LedgerOption = None,
    ledger_name: options.LedgerNameOption = None,
    ledger_key: options.LedgerKeyOption = None,
    checkpoint: options.CheckpointOption = None,
    resume: options.ResumeOption = False,
    check_records: options.CheckRecordsOption = True,
    on_unusable: options.OnUnusableOption = "stop",
    random_state: options.RandomStateOption = None,
) -> None:
    r"""Fit a model privately and write the model file.

    Examples
    --------
    >>> import tailguard as tg
    >>> from pathlib import Path
    >>> _ = Path("claims.csv").write_text("age,cost" + 1000 * "\n30,2.5\n60,1.5")
    >>> fit(
    ...     Path("claims.csv"),
    ...     target="cost",
    ...     features="age",
    ...     epsilon=1.0,
    ...     delta=1e-6,
    ...     out=Path("model.json"),
    ... )  # doctest: +ELLIPSIS
    LinearRegression ...
    """
    given = locals()
    tg.ApproxDP(epsilon, delta)  # refuses a wrong budget before a file is opened
    declared = declared_schema(schema, **column_options(given))
    table = _opened(file, declared, engine)
    settled = settled_for(declared, table, formula)
    parameters = {"epsilon": epsilon, "delta": delta, "fit_intercept": intercept}
    estimator = _estimator(given, declared, settled, table, **parameters, **run_options(given))
    destination(out, file, schema, ledger, checkpoint)
    tell_undeclared(Console(), declared if formula is None else settled, table)
    with progress_bar():
        estimator.fit(table, order=order)
    write_text(out, model_text(estimator))
    _print_fit(Console(), estimator, out)


def _opened(file: Path, declared: tg.Schema, engine: str = "local") -> Table:
    """Open a table of at least two rows, as pairs need; with persons their number is secret."""
    return opened_table(file, engine, fewest=2 if declared.person is None else 1)


def _estimator(
    given: dict[str, Any], declared: tg.Schema, schema: tg.Schema, table: Table, **parameters: Any
) -> Any:
    """Return the estimator; refuse a CSV file whose labels are not declared: text has no types."""
    parameters |= {"schema": schema, "weight": given["person_weight"]}
    own = {"--classes": declared.classes, **{f"--{name}": given.get(name) for name in OWN}}
    estimator = make_estimator(given["model"], parameters, own_options=own)
    if hasattr(estimator, "classes") and schema.classes is None and not [*table.empties()]:
        raise InputError(
            f"--classes must be given for --model {model_name(estimator)}, such as --classes "
            f"no,yes or 0,1: a CSV file does not say that {schema.target!r} holds numbers."
        )
    return estimator


def _print_fit(console: Console, estimator: Any, out: Path) -> None:
    certificate = estimator.certificate_
    print_plain(
        console,
        f"{type(estimator).__name__} on {certificate.n_rows} {certificate.unit.noun}, mode: "
        f"{certificate.mode}\n{certificate.guarantee.describe()}, for "
        f"{certificate.unit.describe()}",
    )
    print_declared(console, estimator)
    print_coefficients(console, estimator)
    print_notes(console, estimator)
    print_plain(console, f"Wrote {out}; its certificate: tailguard certificate {out}")


def search(
    file: options.TableOption,
    *,
    tried: Annotated[
        list[str],
        options.typed(
            "NAME=A,B", "Values of a parameter to choose among; may be repeated.", "--try"
        ),
    ],
    target: options.TargetOption = None,
    epsilon: options.EpsilonOption,
    delta: options.DeltaOption,
    out: options.OutOption,
    tries: Annotated[float, options.typed("NUMBER", "How many tries are expected.")] = 10.0,
    model: options.ModelOption = "linear",
    features: options.FeaturesOption = None,
    categorical: options.CategoricalOption = None,
    other: options.OtherOption = None,
    dates: options.DatesOption = None,
    terms: options.TermOption = None,
    formula: options.FormulaOption = None,
    drop: options.DropOption = None,
    missing: options.MissingOption = None,
    schema: options.SchemaPathOption = None,
    exposure: options.ExposureOption = None,
    offset: options.OffsetOption = None,
    person: options.PersonOption = None,
    max_rows: options.MaxRowsOption = None,
    person_weight: options.PersonWeightOption = "person",
    row_id: options.RowIdOption = None,
    order: options.OrderOption = "file",
    classes: options.ClassesOption = None,
    ledger: options.LedgerOption = None,
    ledger_name: options.LedgerNameOption = None,
    ledger_key: options.LedgerKeyOption = None,
    check_records: options.CheckRecordsOption = True,
    on_unusable: options.OnUnusableOption = "stop",
    random_state: options.RandomStateOption = None,
) -> None:
    r"""Choose among settings of a model privately, and write the model file of the best.

    A secret, random number of settings is tried. The whole search has one budget, and nothing of
    any other try is shown; how long it takes tells how many tries there were.

    [bold]Examples[/bold]

    \b
      tailguard search claims.csv --target cost --try target=mean,robust \
          --try fit_intercept=true,false --epsilon 2 --delta 1e-6 \
          --out model.json

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("costs.csv").write_text("age,cost" + 2000 * "\n30,2.5\n60,1.5")
    >>> search(
    ...     Path("costs.csv"), tried=["target=mean,robust"], target="cost", features="age",
    ...     epsilon=2.0, delta=1e-6, tries=3.0, out=Path("best.json"),
    ... )  # doctest: +ELLIPSIS
    Chosen among 2 settings: target = ...
    """
    given = locals()
    declared = declared_schema(schema, **column_options(given))
    table = _opened(file, declared)
    settled = settled_for(declared, table, formula)
    estimator = _estimator(given, declared, settled, table)
    private_search = tg.PrivateSearch(
        estimator,
        candidates_of(tried),
        n_tries=tries,
        ledger=ledger_of(ledger, ledger_name, ledger_key),
        **{name: given[name] for name in SHARED},
    )
    destination(out, file, schema, ledger)
    tell_undeclared(Console(), declared if formula is None else settled, table)
    private_search.fit(table, order=order)
    write_text(out, model_text(private_search.best_estimator_))
    best = ", ".join(f"{name} = {value}" for name, value in private_search.best_params_.items())
    print_plain(Console(), f"Chosen among {len(private_search.candidates_)} settings: {best}")
    _print_fit(Console(), private_search.best_estimator_, out)
