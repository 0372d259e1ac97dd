"""Parsing of command-line values: numbers, lists of names, declared levels, and output paths."""

import csv
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from glob import glob
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from tailguard.checks import InputError
from tailguard.data.readers.parquet import parquet_files_in
from tailguard.data.rows.record_file import FULL_DISK_ERRORS
from tailguard.ledger import Ledger
from tailguard.ledger.store import SIDE_FILES, check_no_side_file, check_regular_file
from tailguard.privacy.guarantees import ApproxDP, PureDP

Value = TypeVar("Value")
SPENT = (
    "; the budget of the run is spent, and its answer is {}: a run with --checkpoint can write it "
    "again at no cost, by --resume"
)


def names_of(option: str, text: str) -> tuple[str, ...]:
    """Read distinct names separated by commas; a name with a comma needs quotes."""
    names = tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))
    if not names or "" in names or len(set(names)) < len(names):
        raise InputError(
            f"{option} must be different names separated by commas, such as a,b; got {text!r}."
        )
    return names


def numbers_of(option: str, text: str, allowed: str) -> list[float]:
    """Read numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} must be {allowed}; got {text!r}.") from None


def labels_of(text: str) -> tuple[float, ...] | tuple[str, ...]:
    """Read two or more labels, as numbers if all of them are numbers, else as text."""
    labels = names_of("--classes", text)
    if len(labels) < 2:
        raise InputError(
            f"--classes must be different labels, two at least, such as no,yes; got {text!r}."
        )
    try:
        return tuple(float(label) for label in labels)
    except ValueError:
        return labels


def levels_of(declarations: list[str]) -> dict[str, tuple[str, ...]]:
    """Read declarations of the form ``column=first,second``."""
    refusal = "--categorical must declare each column once, such as region=north,south"
    return _pairs(declarations, refusal, partial(names_of, "--categorical"))


def constants_of(declarations: list[str], columns_of_levels: Iterable[str]) -> dict[str, Any]:
    """Read declarations of the form ``column=number``, or ``column=level``."""
    refusal = "--missing must give each column one constant known without the file, such as age=40"
    categorical = {*columns_of_levels}
    levels = [text for text in declarations if text.rpartition("=")[0] in categorical]
    numbers = [text for text in declarations if text not in levels]
    constants: dict[str, Any] = _pairs(numbers, refusal, _finite_number, split=str.rpartition)
    return constants | _pairs(levels, refusal, _plain_value, split=str.rpartition)


def dates_of(declarations: list[str]) -> dict[str, dict[str, str]]:
    """Read declarations of the form ``column=origin,unit`` or ``column=origin,unit,format``."""
    refusal = "--dates must declare each column once, such as issued=2020-01-01,days"

    def declared(text: str) -> dict[str, str] | None:
        origin, _, rest = text.partition(",")
        unit, _, pattern = rest.partition(",")
        parts = {"origin": origin.strip(), "unit": unit.strip(), "format": pattern.strip()}
        return {key: value for key, value in parts.items() if value} if unit else None

    return _pairs(declarations, refusal, declared)


def options_of(declarations: list[str]) -> dict[str, int | float | str]:
    """Read declarations of the form ``name=value``; the library checks the values."""
    refusal = "--option must give each option once, such as clip_norm=2.5"
    return _pairs(declarations, refusal, _plain_value, split=_option)


def candidates_of(declarations: list[str]) -> dict[str, list[int | float | str | bool]]:
    """Read declarations of the form ``name=value,value``; the library checks the values."""
    refusal = "--try must give each parameter its values once, such as fit_intercept=true,false"
    values = _pairs(declarations, refusal, partial(names_of, "--try"), split=_option)
    return {name: [*map(_parameter_value, texts)] for name, texts in values.items()}


def _parameter_value(text: str) -> int | float | str | bool:
    value = {"true": True, "false": False}.get(text.lower(), _plain_value(text))
    return text if value is None else value


def _option(text: str, equals: str) -> tuple[str, str, str]:
    """Split an option at the equals sign; hyphens in its name become underscores."""
    name, equals_sign, value = text.partition(equals)
    return name.strip().replace("-", "_"), equals_sign, value


def _pairs(
    declarations: list[str],
    refusal: str,
    read: Callable[[str], Value | None],
    *,
    split: Callable[[str, str], tuple[str, str, str]] = str.partition,
) -> dict[str, Value]:
    """Read distinct names, each with a value; refuse a value for which ``read`` returns None."""
    declared: dict[str, Value] = {}
    for text in declarations:
        name, equals, value = split(text, "=")
        parsed = read(value) if name and equals and name not in declared else None
        if parsed is None:
            raise InputError(f"{refusal}; got {text!r}.")
        declared[name] = parsed
    return declared


def _finite_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _plain_value(text: str) -> int | float | str | None:
    """Return an int, a float or the text; None for blank text."""
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def promise_of(epsilon: float, delta: float | None, *, pure: bool) -> ApproxDP | PureDP:
    """Return the guarantee that ``--epsilon``, ``--delta`` and ``--pure`` state."""
    if pure:
        if delta is not None:
            raise InputError(f"--delta must not be given with --pure; got {delta:g}.")
        return PureDP(epsilon)
    if delta is None:
        raise InputError("--delta must be given, such as 1e-6, or --pure in its place; got none.")
    return ApproxDP(epsilon, delta)


def check_explain(explain: bool, *, json: bool) -> None:
    """Refuse ``--explain`` beside ``--json``, whose output is one object."""
    if explain and json:
        raise InputError("--explain must be left out with --json; got both.")


def ledger_of(path: Path | None, name: str | None, key: str | None) -> Ledger | None:
    """Open the ledger of a run; return None without a path."""
    if path is None:
        if name is not None or key is not None:
            raise InputError(
                "--ledger-name and --ledger-key must be given with --ledger; it is not."
            )
        return None
    check_regular_file("--ledger", path)
    ledger = Ledger(path, name)
    return ledger if key is None else ledger.with_key(key)


def checkpoint_of(path: Path | None, *, resume: bool) -> Path | None:
    """Return the path of a new checkpoint or, with ``resume``, of a stopped run's checkpoint."""
    if path is None:
        if resume:
            raise InputError("--resume must be given with --checkpoint; it is not.")
        return None
    if resume and not os.path.exists(path):
        raise InputError(f"--checkpoint must be a file of a stopped run to resume; got {path}.")
    if not resume and os.path.exists(path):
        raise InputError(
            f"--checkpoint must be a new file, or be given with --resume to go on with its run; "
            f"{path} exists."
        )
    check_regular_file("--checkpoint", path)
    check_no_side_file("--checkpoint", path)
    if not _writable(path):
        raise InputError(f"--checkpoint must be a file in a writable directory; got {str(path)!r}.")
    return path


def run_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that commands pass on to a run, such as its ledger and checkpoint."""
    run = {name: given[name] for name in ("on_unusable", "random_state") if name in given}
    if "no_check_records" in given:
        run["check_records"] = not given["no_check_records"]
    run["ledger"] = ledger_of(given["ledger"], given["ledger_name"], given["ledger_key"])
    if "checkpoint" in given:
        run["checkpoint"] = checkpoint_of(given["checkpoint"], resume=given["resume"])
    return run


def destination(path: Path, *others: Path | None) -> Path:
    """Return ``path``; refuse it if it cannot be written or is another file of the command.

    Commands call this before they spend any budget.
    """
    for other in others:
        if other is not None and any(_is_same_file(path, each) for each in _files_of(other)):
            raise InputError(
                f"--out must not be a file of {str(other)!r}, which the command uses; got "
                f"{str(path)!r}."
            )
    if str(path) == "-":
        raise InputError("--out must be the path of a file; got '-', which names none.")
    if os.path.isdir(path) or not _writable(path):
        raise InputError(f"--out must be a file in a writable directory; got {str(path)!r}.")
    check_regular_file("--out", path)
    check_no_side_file("--out", path)
    return path


def _is_same_file(path: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, which need not exist; links are followed."""
    if os.path.exists(path) and os.path.exists(other):
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def _files_of(path: Path) -> list[Path]:
    """List a file and its side files of SQLite, or the files of a folder or a pattern."""
    if os.path.isdir(path):
        return parquet_files_in(path)
    side_files = [Path(f"{os.path.realpath(path)}{ending}") for ending in SIDE_FILES]
    return [path, *filter(os.path.exists, side_files), *map(Path, glob(str(path), recursive=True))]


def _writable(path: Path) -> bool:
    try:
        path.stat()  # from Python 3.14 on, exists() is False for a name that is too long
    except FileNotFoundError:
        return os.access(path.parent, os.W_OK)
    except OSError:
        return False
    return os.access(path, os.W_OK)


def write_text(path: Path, text: str, *, advice: str = "") -> None:
    """Write a file; if that fails, raise an ``InputError`` that ends with ``advice``."""
    with _written(path, advice):
        path.write_text(text, encoding="utf-8")


@contextmanager
def kept(path: Path | None, text: str) -> Iterator[None]:
    """Within ``with``, print an answer that was paid for; then write it, printed or not."""
    whereabouts = "not printed either"
    try:
        yield
        whereabouts = "printed above"
    finally:  # the screen may be a closed pipe or a full disk
        if path is not None:
            write_text(path, text, advice=SPENT.format(whereabouts))


@contextmanager
def _written(path: Path, advice: str = "") -> Iterator[None]:
    """Name a file that could not be written; remove it if a full disk left a part of it."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL_DISK_ERRORS:
            with suppress(OSError):
                os.unlink(os.path.realpath(path))
        raise InputError(
            f"--out must be a file that can be written; {str(path)!r} was not: "
            f"{error.strerror}{advice}."
        ) from None


def write_texts(path: Path, parts: Iterable[tuple[str, int]]) -> int:
    """Write parts, each a text and its number of rows, to a file; return the total of rows."""
    total = 0
    parts = iter(parts)
    first = next(parts, ("", 0))  # the source may raise: create the file afterwards
    with _written(path), path.open("w", encoding="utf-8", newline="") as file:
        for text, n_rows in chain([first], parts):
            file.write(text)
            total += n_rows
    return total
