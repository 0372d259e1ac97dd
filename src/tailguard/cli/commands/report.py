r"""Write a report: one page for the person responsible for privacy.

FILE is a model file, a file that 'tailguard mean', 'describe' or 'score'
wrote, or a certificate as JSON. The page states the promise and whom it
protects, what an attacker can learn, the results with their intervals, and
the use of the budget. When it is opened, it recomputes the totals, and loads
no other file. It contains only public and released facts. --form registry
writes a draft of a record for OpenDP's deployments registry; --form nist
writes the fields that NIST SP 800-226 requires of a claim, as JSON.

[bold]Examples[/bold]

\b
  tailguard report model.json
  tailguard report model.json --dataset "Claims of 2026" --date 2026-11-26 \
      --curator "Example Insurance" --out report.html
  tailguard report model.json --form registry
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

from tailguard.checks import InputError, check_choice
from tailguard.cli import options
from tailguard.cli.arguments import destination, write_text
from tailguard.cli.model_file import load_model
from tailguard.cli.printing import print_plain
from tailguard.estimators.model_file import KEY as MODEL
from tailguard.estimators.reports import mean_report, model_report
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.certificate.certificate import read_json
from tailguard.report.content import KEY as REPORT
from tailguard.report.content import Report, Stated
from tailguard.report.page import page_text
from tailguard.summaries.results import reported_table

NOTHING_STATED = Stated()
REQUIREMENT = (
    "FILE must be a model file, what 'tailguard mean', 'describe' or 'score' wrote, a certificate "
    "as JSON or a report; got {path!r}"
)


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


FORMS: dict[str, tuple[str, Callable[[Report], str]]] = {
    "page": (".html", Report.to_html),
    "registry": (".registry.json", lambda report: _json(report.to_registry())),
    "nist": (".nist.json", lambda report: _json(report.to_nist())),
}
"""Form -> the ending of its file, and the function that returns its text."""


def report(
    file: Annotated[
        Path,
        options.existing("FILE", "A model file, another result, or a certificate as JSON."),
    ],
    out: Annotated[
        Path | None, options.typed("PATH", "Where to write it; beside FILE by default.")
    ] = None,
    dataset: Annotated[
        str | None, options.typed("TEXT", "What the data are, in your words.")
    ] = None,
    date: Annotated[str | None, options.typed("TEXT", "When it was made or published.")] = None,
    curator: Annotated[str | None, options.typed("TEXT", "Who answers for the data.")] = None,
    form: Annotated[
        str, options.typed("NAME", f"What is written: one of {', '.join(FORMS)}.")
    ] = "page",
) -> None:
    """Write the page.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> result = tg.mean(np.arange(1000.0), epsilon=1.0, delta=1e-6)
    >>> _ = Path("certificate.json").write_text(result.certificate.to_json())
    >>> report(Path("certificate.json"))
    certificate.html
    """
    if is_page(file):
        raise InputError(f"FILE must not be a report already; got {str(file)!r}.")
    ending, text_of = FORMS[check_choice("--form", form, FORMS)]
    out = destination(file.with_suffix(ending) if out is None else out, file)
    content = read_report(file, Stated(dataset=dataset, date=date, curator=curator))
    write_text(out, text_of(content))
    print_plain(Console(), str(out))


def read_report(path: Path, stated: Stated = NOTHING_STATED) -> Report:
    """Return the content of the report of a file, after checking its certificate.

    Examples
    --------
    >>> _ = Path("other.json").write_text("{}")
    >>> read_report(Path("other.json"))
    Traceback (most recent call last):
    tailguard.checks.InputError: FILE must be a model file, what 'tailguard mean', 'describe' \
or 'score' wrote, a certificate as JSON or a report; got 'other.json'.
    """
    requirement = REQUIREMENT.format(path=str(path))
    try:
        content: Any = read_json(_data_text(path))
    except InputError as error:
        raise InputError(f"{requirement}: {error}") from None
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not {"certificate", "guarantee"} & {*content}:
        raise InputError(f"{requirement}.")
    if MODEL in content:
        return model_report(load_model(path, "FILE"), stated)
    try:
        if REPORT in content:
            return Report.from_dict(content)
        certificate = Certificate.from_dict(content.get("certificate", content))
        if "tables" in content:
            tables = (reported_table(**table) for table in content["tables"])
            return Report(
                subject=str(content["title"]),
                certificate=certificate,
                tables=tuple(tables),
                notes=tuple(map(str, content["notes"])),
                stated=stated,
            )
        if "means" not in content:
            return Report(subject="certificate", certificate=certificate, stated=stated)
        rows = [(name, *_numbers(column)) for name, column in content["means"].items()]
        notes = tuple(map(str, content["notes"]))
        return mean_report(str(content["method"]), rows, certificate, stated, notes)
    except InputError as error:
        raise InputError(f"{requirement}: {error}") from None
    except (AttributeError, LookupError, TypeError, ValueError):
        raise InputError(f"{requirement}.") from None


def is_page(path: Path) -> bool:
    """Whether a file is an HTML page, not JSON."""
    return path.suffix.lower() in {".html", ".htm"}


def _data_text(path: Path) -> str:
    """Return the JSON of a file; if it is a page, the JSON within it."""
    if not path.is_file():  # reading some devices never ends
        raise ValueError
    text = path.read_text(encoding="utf-8")
    return page_text(text) if is_page(path) else text


def _numbers(column: dict[str, float | None]) -> list[float]:
    """Return mean, noise and interval of one column; NaN where unknown."""
    others = (column["privacy_noise"], column.get("low"), column.get("high"))
    return [float(column["mean"] or 0.0), *(float("nan" if x is None else x) for x in others)]
