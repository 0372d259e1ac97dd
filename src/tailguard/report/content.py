"""What a report is about: estimates, notes and a certificate, as plain data.

A model, a mean or a summary makes a ``Report`` of what it released and of what was declared; the
page is made of nothing else.
"""

import json
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from os import PathLike
from typing import Any

from tailguard.checks import InputError, check_version, shown, write_file
from tailguard.privacy.certificate import Certificate
from tailguard.report.budget import stage_shares
from tailguard.report.exports import nist_fields, registry_record
from tailguard.report.page import report_page

KEY = "tailguard_report"
"""The key that says what the data are; its value is the version of the format."""
VERSION = 1
"""A change of meaning, or of the page that is made of it, takes a new number."""
WANTED = "FILE must hold the data of a report, as tailguard wrote them; it does not."


@dataclass(frozen=True)
class ReportedEstimate:
    """One released number, with what is known of its error; NaN where it is not known."""

    name: str
    value: float
    noise_std: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reason: str = ""

    @property
    def is_estimated(self) -> bool:
        """Whether there is a number."""
        return not math.isnan(self.value)

    @property
    def has_interval(self) -> bool:
        """Whether an interval says how far off it may be."""
        return self.is_estimated and self.low < self.high


@dataclass(frozen=True)
class ReportTable:
    """A table of released numbers, already in words: a title, headers, and rows of cells."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What only the curator knows, in her own words; None is not stated."""

    dataset: str | None = None
    date: str | None = None
    curator: str | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (value is None or isinstance(value, str)):
                raise InputError(f"{name} must be a text or None; got {shown(value)}.")


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that a report says.

    Parameters
    ----------
    subject
        What was made, such as ``LinearRegression`` or ``mean (clipped)``.
    certificate
        What was promised, spent, released and assumed.
    quantity
        What an estimate is called.
    estimates, level
        Released numbers with their intervals, and how often an interval should hold.
    tables
        Further released numbers.
    notes
        What a reader must know of the result, in sentences.
    facts
        What was declared of the data, by its label.
    stated
        What only the curator knows.

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

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; a number that is not known is None."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        content["facts"] = dict(self.facts or {})
        content["estimates"] = [_written(asdict(each)) for each in self.estimates]
        content["tables"] = [asdict(each) for each in self.tables]
        content["stated"] = asdict(self.stated)
        content["certificate"] = self.certificate.to_dict()
        return {KEY: VERSION, **content}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Report":
        """Read it back; its certificate is worked out anew, and refused if it does not agree."""
        try:
            check_version("report", data[KEY], newest=VERSION)
            content = {name: value for name, value in data.items() if name != KEY}
            certificate = Certificate.from_dict(content.pop("certificate"))
            estimates = [ReportedEstimate(**_read(each)) for each in content.pop("estimates")]
            tables = [_table_read(each) for each in content.pop("tables")]
            content["notes"] = tuple(content["notes"])
            content["stated"] = Stated(**content["stated"])
            found = cls(
                certificate=certificate,
                estimates=tuple(estimates),
                tables=tuple(tables),
                **content,
            )
            found.to_html()  # of numbers that are none there is no page
            return found
        except InputError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError):
            raise InputError(WANTED) from None

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_registry(self) -> dict[str, Any]:
        """Return a draft of a record for OpenDP's deployments registry."""
        return registry_record(self.to_dict())

    def to_nist(self) -> dict[str, Any]:
        """Return what NIST SP 800-226 asks of a claim, field by field."""
        return nist_fields(self.to_dict())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file."""
        write_file(path, self.to_html())

    def to_html(self) -> str:
        """Return it as one page of HTML that needs no other file and asks for none."""
        return report_page(
            self.to_dict(), stage_shares(self.certificate), self.certificate.unproven()
        )


class Reported:
    """Mixin of results that have a report, which their class makes in ``_report``."""

    def report(
        self,
        path: str | PathLike[str] | None = None,
        *,
        dataset: str | None = None,
        date: str | None = None,
        curator: str | None = None,
    ) -> Report:
        """Return the report, one page of HTML, and write it to a path if there is one.

        It holds what was released, promised and declared, and nothing else; ``dataset``, ``date``
        and ``curator`` are words of yours, and are "not stated" without.
        """
        made = self._report(Stated(dataset=dataset, date=date, curator=curator))
        if path is not None:
            made.save(path)
        return made

    @abstractmethod
    def _report(self, stated: Stated) -> Report:
        """Return the report, with what was stated of the data."""


def _written(estimate: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in estimate.items()
    }


def _read(estimate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in estimate.items()}


def _table_read(data: Mapping[str, Any]) -> ReportTable:
    rows: Sequence[Sequence[str]] = data["rows"]
    headers = tuple(data["headers"])
    return ReportTable(data["title"], headers, tuple(map(tuple, rows)), data["note"])
