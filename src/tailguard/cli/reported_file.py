"""Files with a certificate: models, means, certificates as JSON, and pages of reports."""

from pathlib import Path
from typing import Any

from tailguard.checks import InputError
from tailguard.cli.model_file import load_model
from tailguard.estimators.model_file import KEY as MODEL
from tailguard.estimators.reports import mean_report, model_report
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.certificate.certificate import read_json
from tailguard.report.content import KEY as REPORT
from tailguard.report.content import Report, Stated
from tailguard.report.page import page_text
from tailguard.summaries.results import reported_table
from tailguard.version import __version__

NOTHING_STATED = Stated()
WANTED = (
    "FILE must be a model file, what 'tailguard mean' or 'tailguard describe' wrote, a certificate "
    "as JSON or a report; got {path!r}"
)


def read_report(path: Path, stated: Stated = NOTHING_STATED) -> Report:
    """Return what a report of a file says, whose certificate agrees with its parts.

    Examples
    --------
    >>> _ = Path("other.json").write_text("{}")
    >>> read_report(Path("other.json"))
    Traceback (most recent call last):
    tailguard.checks.InputError: FILE must be a model file, what 'tailguard mean' or 'tailguard \
describe' wrote, a certificate as JSON or a report; got 'other.json'.
    """
    wanted = WANTED.format(path=str(path))
    try:
        content: Any = read_json(_data_text(path))
    except InputError as error:
        raise InputError(f"{wanted}: {error}") from None
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not {"certificate", "guarantee"} & {*content}:
        raise InputError(f"{wanted}.")
    if MODEL in content:
        return model_report(load_model(path).estimator, stated)
    if REPORT in content:
        return Report.from_dict(content)
    certificate = Certificate.from_dict(content.get("certificate", content))
    try:
        if "tables" in content:
            tables = (reported_table(**table) for table in content["tables"])
            return Report(
                subject="private description",
                certificate=certificate,
                tables=tuple(tables),
                notes=tuple(map(str, content["notes"])),
                stated=stated,
            )
        if "means" not in content:
            return Report(subject="certificate", certificate=certificate, stated=stated)
        rows = [(name, *_numbers(found)) for name, found in content["means"].items()]
        notes = tuple(map(str, content["notes"]))
        return mean_report(str(content["method"]), rows, certificate, stated, notes)
    except (AttributeError, LookupError, TypeError, ValueError):
        raise InputError(f"{wanted}.") from None


def is_page(path: Path) -> bool:
    """Whether a file is a page, and no JSON."""
    return path.suffix.lower() in {".html", ".htm"}


def page_verdict(path: Path, report: Report) -> str:
    """Say whether a page says what its data give; refuse one that says something else."""
    made_by = report.certificate.version
    if made_by != __version__:
        return f"The page is not compared with its data: tailguard {made_by} wrote it."
    if report.to_html() != path.read_text(encoding="utf-8"):
        raise InputError("FILE must say what its data give; the words of this page are others.")
    return "The page says what its data give, word by word."


def _data_text(path: Path) -> str:
    """Return the JSON of a file, or of the page that it is."""
    if not path.is_file():  # some devices are read for ever
        raise ValueError
    text = path.read_text(encoding="utf-8")
    return page_text(text) if is_page(path) else text


def _numbers(found: dict[str, float | None]) -> tuple[float, float]:
    """Return mean and noise of one column, NaN where the noise is not told."""
    mean, noise = found["mean"], found["privacy_noise"]
    return float(mean or 0.0), float("nan") if noise is None else float(noise)
