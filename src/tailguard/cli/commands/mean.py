r"""Estimate the means of a file's columns privately, however heavy their tails.

You need to know nothing about the columns: part of the budget first buys a
scale and a centre for each. If you know a bound on a moment, state it with
--moment-order and --moment-bound; a wrong one costs accuracy, never privacy.

[bold]Examples[/bold]

\b
  tailguard mean claims.csv --columns cost --epsilon 1 --delta 1e-6
  tailguard mean claims.parquet --columns cost,years --method soft \
      --epsilon 1 --delta 1e-6 --explain --out means.json
  tailguard mean claims.csv --columns cost --epsilon 1 --pure
  tailguard mean survey.csv --columns income --weight w --weight-bound 5 \
      --epsilon 1 --delta 1e-6
  tailguard mean claims.csv --columns cost --method truncated --groups 1 \
      --moment-order 1.5 --moment-bound 100 --moment-kind raw \
      --epsilon 1 --delta 1e-6
  tailguard mean claims.csv --columns cost --method clipped \
      --option clip_norm=2000 --epsilon 1 --delta 1e-6

Options by method; choose their values without looking at the same file:

\b
{methods}

A row with an empty or unreadable cell is void: it counts as a row,
contributes nothing, and no message names it. To keep such rows, declare a
constant for the empty or unreadable cells of a column: --missing age=40. The
means of a categorical column are the shares of its levels, without the first.
Every further mean of the same rows spends budget again.
"""

from functools import partial
from json import dumps
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import tailguard as tg
from tailguard.checks import InputError, check_choice
from tailguard.cli import options
from tailguard.cli.arguments import (
    check_explain,
    destination,
    kept,
    options_of,
    promise_of,
    run_options,
)
from tailguard.cli.declarations import declared_schema, print_undeclared
from tailguard.cli.printing import print_folded, print_plain, print_wrapped
from tailguard.data.readers.opening import opened_table
from tailguard.estimators.mean import INTERVAL_NOTE
from tailguard.means.choice import MEANS, check_options, own_options
from tailguard.progress import progress_bar

METHODS = "\n".join(f"  {name:10} {', '.join(own_options(name))}" for name in MEANS)
__doc__ = (__doc__ or "").replace("{methods}", METHODS)

of_method = partial(options.typed, panel="Method")


class MomentOptions:
    """The options that state a bound on a moment."""

    moment_order: Annotated[
        float | None, of_method("NUMBER", "The order of a moment that you can bound.")
    ] = None
    moment_bound: Annotated[
        float | None,
        of_method("NUMBER", "Its bound, in the data's units to the power of the order."),
    ] = None
    moment_kind: Annotated[str, of_method("KIND", "One of central, raw, directional, norm.")] = (
        "central"
    )


@options.takes(MomentOptions, *options.RUN_ON_A_TABLE)
def estimate_means(
    file: options.TableOption,
    *,
    epsilon: options.EpsilonOption,
    delta: options.OptionalDeltaOption = None,
    pure: options.PureOption = False,
    columns: options.ColumnsOption = None,
    method: Annotated[str, of_method("NAME", f"One of auto, {', '.join(MEANS)}.")] = "auto",
    groups: Annotated[
        int | None, of_method("COUNT", "clamped, truncated, iterative: how many groups of rows.")
    ] = None,
    option: Annotated[
        list[str] | None,
        of_method("NAME=VALUE", "An option of the method, such as clip_norm=2.5; may be repeated."),
    ] = None,
    engine: options.EngineOption = "local",
    explain: options.ExplainOption = False,
    json: options.JsonOption = False,
    out: Annotated[
        Path | None, options.typed("PATH", "Where to write means and certificate (JSON).")
    ] = None,
    **given: Any,
) -> None:
    r"""Print private means; with ``out`` write them with their certificate.

    Examples
    --------
    >>> _ = Path("claims.csv").write_text("cost" + 500 * "\n2.5\n1.5")
    >>> from tailguard.cli.app import run
    >>> budget = "--epsilon 1 --delta 1e-6"
    >>> run(f"mean claims.csv --columns cost {budget}".split())  # doctest: +ELLIPSIS
    private mean (...), n = 1000, mode: private
    ...
    """
    guarantee = promise_of(epsilon, delta, pure=pure)
    check_explain(explain, json=json)
    table = opened_table(file, engine)
    declared = declared_schema({**given, "columns": columns})
    schema = declared.settled(table.names, table.where)
    table.check_types(schema.numeric)
    if out is not None:
        destination(out, file, given["schema"], given["ledger"], given["checkpoint"])
    print_undeclared(declared, table, "--columns", json=json)
    moment = _moment(given["moment_order"], given["moment_bound"], given["moment_kind"])
    with progress_bar():
        result = tg.mean(
            table,
            schema=schema,
            order=given["order"],
            guarantee=guarantee,
            method=method,
            moment=moment,
            **run_options(given),
            **_method_options(method, groups, option or []),
        )
    text = dumps(_result_as_json(result), indent=2)
    with kept(out, text + "\n"):
        if json:
            typer.echo(text)
        else:
            _print_means(Console(), result, explain=explain)


def _method_options(method: str, groups: int | None, texts: list[str]) -> dict[str, Any]:
    """Parse the options of the method; refuse an unknown name before the file is read."""
    check_choice("--method", method, ("auto", *MEANS))
    if groups is not None and (method == "auto" or "n_groups" not in own_options(method)):
        raise InputError(
            f"--groups must be given with a method that has groups; got --method {method}."
        )
    group_option = [] if groups is None else [f"n_groups={groups}"]
    chosen: dict[str, Any] = options_of([*group_option, *texts])
    if method != "auto":
        check_options(method, chosen)
    elif chosen:
        raise InputError(
            "--option must be given with a --method by name, since auto chooses every option "
            f"itself; got {next(iter(chosen))}."
        )
    return chosen


def _moment(order: float | None, bound: float | None, kind: str) -> tg.Moment | None:
    if (order is None) != (bound is None):
        raise InputError("--moment-order and --moment-bound must be given together; got one.")
    if order is None or bound is None:
        return None
    return tg.Moment(order, bound, kind=kind)  # type: ignore[arg-type]


def _result_as_json(result: tg.MeanResult) -> dict[str, Any]:
    """Return the result as plain data; JSON has no NaN."""
    keys = ("mean", "privacy_noise", "low", "high")
    return {
        "method": result.method,
        "means": {
            name: {
                key: number if isfinite(number) else None
                for key, number in zip(keys, numbers, strict=True)
            }
            for name, *numbers in result.rows()
        },
        "notes": list(result.notes),
        "certificate": result.certificate.to_dict(),
    }


def _print_means(console: Console, result: tg.MeanResult, *, explain: bool) -> None:
    certificate = result.certificate
    print_plain(
        console,
        f"private mean ({result.method}), {certificate.unit.size(certificate.n_rows)}, mode: "
        f"{certificate.mode}\n"
        f"{certificate.guarantee.describe()}",
    )
    print_plain(console, "\n".join(["", *result.table(console.width), ""]))
    print_wrapped(
        console,
        "privacy noise: predicted standard deviation of the added noise alone; nan if that depends "
        "on the records and is not released",
    )
    print_wrapped(console, INTERVAL_NOTE)
    for note in result.notes:
        print_wrapped(console, note)
    if explain:
        print_folded(console, result.explain())
