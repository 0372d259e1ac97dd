"""Check that the totals and sentences of a stored certificate follow from its parts.

A certificate states its parts (promise, plan, every release) and values derived from them: totals,
unused reserves, rules and remarks. Derived values are recomputed and compared, so a file with one
changed number is refused if a derived value depends on it. Someone who changes all numbers
consistently writes another certificate; nobody can detect that from a file alone. ``unproven``
lists the statements that the file cannot prove.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from tailguard.checks import InputError, require, shown
from tailguard.privacy.accounting.total_cost import TotalCost
from tailguard.privacy.books.releases import covers
from tailguard.privacy.flat_events import flatten
from tailguard.privacy.guarantees import Guarantee, check_guarantee

ACCURACY = 1e-9
"""Allowed relative difference of closed forms. Differences between machines are smaller: tests
compare known values with the same accuracy."""
NUMERICAL, NUMERICAL_ACCURACY = ("pld", "renyi", "selection"), 1e-6
"""Accountants that convolve and search on grids, and the allowed difference of their totals: sums
depend on the order in which a processor adds."""

DIGEST = re.compile(r"[0-9a-f]{64}")
FIRST_CHARGE = 2  # the first line of a ledger is its cap

CURRENCIES = ("epsilon", "mu", "rho")
NOTHING_PROMISED = "reproduction: NOT PRIVATE"


def check_agreement(data: Mapping[str, Any], certificate: Any) -> None:
    """Refuse data that differs from what its parts, the ``certificate``, give."""
    _check_parts(certificate)
    recomputed = certificate.to_dict()
    _compare("", dict(data), recomputed, _margins(recomputed))


def _check_parts(certificate: Any) -> None:
    """Refuse combinations of parts that no run can have."""
    require(
        isinstance(certificate.version, str),
        f"version must be a text; got {shown(certificate.version)}.",
    )
    require(
        certificate.mode == NOTHING_PROMISED or kept_by(certificate.guarantee, certificate.total),
        "certificate must plan for no more than it promises; what was reserved costs more.",
    )
    for release in certificate.releases:
        of_rows = release.parameters.get("of_rows", certificate.n_rows)
        require(
            of_rows == certificate.n_rows,
            f"certificate must sample from its n_rows = {certificate.n_rows} records; release "
            f"{release.name!r} is of {shown(of_rows)}.",
        )
    _check_entries(certificate)
    _check_charged(certificate)


def _check_charged(certificate: Any) -> None:
    """Refuse a charge after an early stop that no ledger would count."""
    charged = certificate.charged
    require(
        charged is None
        or (
            bool(certificate.ledger_entries)
            and flatten(certificate.planned).covers(flatten(charged))
            and covers(charged, certificate.releases)
        ),
        "certificate must state what a ledger counts after an early stop: at most the plan, and at "
        "least the releases; it states something else.",
    )


def _check_entries(certificate: Any) -> None:
    """Refuse entries that no ledger would make."""
    entries = certificate.ledger_entries
    places = {(entry.ledger, entry.position) for entry in entries}
    require(
        not (entries and certificate.mode.startswith("simulation")),
        "certificate must name no ledger in a simulation, which no ledger takes.",
    )
    require(
        len(places) == len(entries)
        and all(DIGEST.fullmatch(each.digest) for each in entries)
        and all(each.position >= FIRST_CHARGE and each.ledger and each.key for each in entries),
        "certificate must name lines of a ledger, each once, by key and digest; it does not.",
    )


def kept_by(guarantee: Guarantee, total: TotalCost) -> bool:
    """Whether a total keeps a promise, up to the accuracy of recomputed numbers."""
    currency, promised = check_guarantee(guarantee).strength
    cost: float | None = getattr(total, currency)
    return cost is not None and cost <= promised * (1.0 + _accuracy(total.accountant))


def _accuracy(accountant: str) -> float:
    return NUMERICAL_ACCURACY if accountant in NUMERICAL else ACCURACY


def _margins(recomputed: Mapping[str, Any]) -> dict[str, float]:
    """Return the allowed difference of each number by its path; other values must be equal."""
    margins = {}
    for name in {"total", "spent", "counted"} & {*recomputed}:
        accuracy = _accuracy(recomputed[name]["accountant"])
        for currency in CURRENCIES:
            value = recomputed[name][currency]
            if isinstance(value, float):
                margins[f"{name}.{currency}"] = accuracy * value
    for currency in CURRENCIES:  # a difference has the margins of both terms
        both = [margins.get(f"{name}.{currency}", 0.0) for name in ("total", "spent")]
        margins[f"unused.{currency}"] = sum(both)
    return margins


def _compare(place: str, stated: Any, recomputed: Any, margins: Mapping[str, float]) -> None:
    """Refuse data that differs from the recomputed data, and name the first difference."""
    if isinstance(recomputed, dict) and isinstance(stated, dict):
        if place == "unused":  # a difference within rounding may be listed or not
            names = {*stated, *recomputed} & {*CURRENCIES}
            stated = dict.fromkeys(names, 0.0) | stated
            recomputed = dict.fromkeys(names, 0.0) | recomputed
        for name in [*recomputed, *stated]:
            inner = f"{place}.{name}" if place else str(name)
            if name not in recomputed or name not in stated:
                raise InputError(
                    "certificate must hold what to_dict wrote; it "
                    f"{'lacks' if name in recomputed else 'has also'} {shown(inner)}."
                )
            _compare(inner, stated[name], recomputed[name], margins)
    elif isinstance(recomputed, list) and isinstance(stated, list):
        if len(stated) != len(recomputed):
            raise _differing(place, stated, recomputed)
        for number, pair in enumerate(zip(stated, recomputed, strict=True)):
            _compare(f"{place}[{number}]", *pair, margins)
    elif not _is_alike(stated, recomputed, margins.get(place, 0.0)):
        raise _differing(place, stated, recomputed)


def _is_alike(stated: Any, recomputed: Any, margin: float) -> bool:
    """Whether two values are the same; numbers may differ by the margin."""
    if _is_number(stated) and _is_number(recomputed):
        return bool(abs(stated - recomputed) <= margin)
    return type(stated) is type(recomputed) and bool(stated == recomputed)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _differing(place: str, stated: Any, recomputed: Any) -> InputError:
    return InputError(
        f"certificate must state what follows from its parts; {place} is {shown(stated)}, and they "
        f"give {shown(recomputed)}."
    )


def unproven(certificate: Any, settled: bool | None = None) -> tuple[str, ...]:
    """Return a sentence for each statement that must be taken on trust.

    ``settled`` states whether the ledger lists the run's releases in addition to its charges. It is
    None if the certificate was not checked against a ledger.
    """
    private, unit = certificate.mode == "private", certificate.unit
    alone = settled is None
    entries = "; ".join(entry.describe() for entry in certificate.ledger_entries)
    statements = (
        (private and alone, "The mode: that noise was drawn in secret, and from no seed."),
        (not settled, "That the releases are all that left, and that their numbers are true."),
        (entries and alone, f"That a ledger holds its charge, {entries}."),
        (
            True,
            "That each sensitivity is that of its query, for any records; the library proves and "
            "tests that of its own queries.",
        ),
        (True, f"The number of {unit.noun}, n = {certificate.n_rows}, and whose data they are."),
        (unit.person is not None, f"That {unit.person!r} tells persons apart."),
        (unit.one_row_per_person, "That each person has one row, as the user states."),
        (bool(certificate.conditions), "That its conditions hold: facts beside the run."),
        (True, "Words: names of releases and stages, assumptions for accuracy."),
        (alone, f"That tailguard {certificate.version} wrote it: it is not signed."),
        (alone, "What other runs on the same records cost: a certificate speaks of one."),
        (not alone, "What runs that this ledger was not charged with cost on the same records."),
    )
    return tuple(sentence for applies, sentence in statements if applies)
