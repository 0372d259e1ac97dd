"""The content of a report as plain data: estimates, notes and a certificate.

A model, a mean or a summary builds a ``Report`` from released numbers and declarations. The page
shows nothing else.
"""

import json
import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

from tailguard.checks import InputError, check_version, shown
from tailguard.printable import printable
from tailguard.privacy.certificate import Certificate
from tailguard.report.budget import stage_shares
from tailguard.report.exports import nist_fields, registry_record
from tailguard.report.page import report_page

KEY = "tailguard_report"
"""The key that identifies the data of a report; its value is the version of the format."""
VERSION = 1
"""The version of the format. Increase it if the meaning of a field or the page changes."""
NOT_A_REPORT = "FILE must hold the data of a report, as tailguard wrote them; it does not."


@dataclass(frozen=True)
class ReportedEstimate:
    """One released number and its error; NaN where unknown."""

    name: str
    value: float
    noise_std: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reason: str = ""

    @property
    def is_estimated(self) -> bool:
        """Whether the number is known."""
        return not math.isnan(self.value)

    @property
    def has_interval(self) -> bool:
        """Whether the number has a confidence interval."""
        return self.is_estimated and self.low < self.high


@dataclass(frozen=True)
class ReportTable:
    """A table of released numbers as text: a title, headers, and rows of cells."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Stated:
    """Facts that only the curator can state, as texts; None means not stated."""

    dataset: str | None = None
    date: str | None = None
    curator: str | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (value is None or isinstance(value, str)):
                raise InputError(f"{name} must be a text or None; got {shown(value)}.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Report:
    """The content of a report.

    Parameters
    ----------
    subject
        The result, such as ``LinearRegression`` or ``mean (clipped)``.
    certificate
        What was promised, spent, released and assumed.
    quantity
        The kind of the estimates, such as ``coefficient``.
    estimates, level
        Released numbers with their intervals, and the confidence level.
    tables
        Further released numbers.
    notes
        Sentences that readers of the result need.
    facts
        Declarations about the data, by label.
    stated
        Facts that only the curator can state.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian
    >>> from tailguard.privacy.guarantees import GDP
    >>> certificate = Certificate(GDP(1.0), n_rows=1000, planned=Gaussian(mu=1.0))
    >>> report = Report(subject="mean", certificate=certificate, stated=Stated(dataset="<2026>"))
    >>> "&lt;2026&gt;" in report.to_html()
    True
    """

    subject: str
    certificate: Certificate
    quantity: str = "estimate"
    estimates: tuple[ReportedEstimate, ...] = ()
    level: float = 0.95
    tables: tuple[ReportTable, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, str] | None = None
    stated: Stated = Stated()

    def __repr__(self) -> str:
        """Name the report in one line: notebooks show what the last line of a cell returns."""
        mode = self.certificate.mode
        return f"<Report of {printable(self.subject)}, mode: {mode}; save(path) writes the page>"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, in which an unknown number is None."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        content["facts"] = dict(self.facts or {})
        content["estimates"] = [_without_nan(asdict(each)) for each in self.estimates]
        content["tables"] = [asdict(each) for each in self.tables]
        content["stated"] = asdict(self.stated)
        content["certificate"] = self.certificate.to_dict()
        return {KEY: VERSION, **content}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Report":
        """Read a report from plain data; refuse a certificate that fails recomputation."""
        try:
            check_version("report", data[KEY], newest=VERSION)
            content = {name: value for name, value in data.items() if name != KEY}
            content["certificate"] = Certificate.from_dict(content["certificate"])
            content["estimates"] = tuple(map(_read_estimate, content["estimates"]))
            content["tables"] = tuple(map(_read_table, content["tables"]))
            content["notes"] = tuple(content["notes"])
            content["stated"] = Stated(**content["stated"])
            report = cls(**content)
            report.to_html()  # raises if a field has another type than the page needs
            return report
        except InputError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError):
            raise InputError(NOT_A_REPORT) from None

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_registry(self) -> dict[str, Any]:
        """Return a draft of a record for OpenDP's deployments registry."""
        return registry_record(self.to_dict())

    def to_nist(self) -> dict[str, Any]:
        """Return the fields that NIST SP 800-226 requires of a claim."""
        return nist_fields(self.to_dict())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file."""
        write_file(path, self.to_html())

    def to_html(self) -> str:
        """Return the report as one HTML page that loads no other file."""
        return report_page(
            self.to_dict(), stage_shares(self.certificate), self.certificate.unproven()
        )


class Reported:
    """Mixin of results with a report; the method ``_report`` of a class builds it."""

    def report(
        self,
        path: str | PathLike[str] | None = None,
        *,
        dataset: str | None = None,
        date: str | None = None,
        curator: str | None = None,
    ) -> Report:
        """Return the report; with a ``path``, also write it there as one HTML page.

        It contains only released numbers, the promise and declarations. ``dataset``,
        ``date`` and ``curator`` are your own words; without them the page has "not stated".
        """
        report = self._report(Stated(dataset=dataset, date=date, curator=curator))
        if path is not None:
            report.save(path)
        return report

    @abstractmethod
    def _report(self, stated: Stated) -> Report:
        """Return the report, with the curator's statements."""


def _without_nan(estimate: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in estimate.items()
    }


def _read_estimate(data: Mapping[str, Any]) -> ReportedEstimate:
    known: dict[str, Any] = {
        name: math.nan if value is None else value for name, value in data.items()
    }
    return ReportedEstimate(**known)


def _read_table(data: Mapping[str, Any]) -> ReportTable:
    rows = tuple(map(tuple, data["rows"]))
    return ReportTable(data["title"], tuple(data["headers"]), rows, data["note"])


def write_file(path: object, text: str) -> None:
    """Write a text file; if that fails, raise an ``InputError``."""
    requirement = "path must be that of a file that can be written"
    try:
        file = Path(path)  # type: ignore[arg-type]
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise ValueError  # a device
        file.write_text(text, encoding="utf-8")
    except (TypeError, ValueError):
        raise InputError(f"{requirement}; got {shown(path)}.") from None
    except OSError as error:
        raise InputError(f"{requirement}; {str(path)!r} was not: {error.strerror}.") from None
