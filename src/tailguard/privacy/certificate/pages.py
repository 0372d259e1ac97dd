"""The certificate as a page, made from its JSON: plain text, or HTML that needs no other file."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import chain, groupby
from operator import itemgetter
from textwrap import wrap
from typing import Any

from tailguard.printable import html_list, notebook_table, printable, printable_lines
from tailguard.privacy.books.books import LedgerEntry

COMPOSITION = {
    "gdp": "Gaussian differential privacy: the squares of mu add up, exactly (Dong, Roth and Su "
    "2022, Corollary 3.3), converted by Balle and Wang 2018, Theorem 8",
    "gdp bound": "Gaussian differential privacy: the squares of mu add up to an upper bound (Dong, "
    "Roth and Su 2022, Corollary 3.3), converted by Balle and Wang 2018, Theorem 8",
    "zcdp": "zero-concentrated differential privacy: the rhos add up (Bun and Steinke 2016, Lemma "
    "2.3), converted by Canonne, Kamath and Steinke 2020, Proposition 12",
    "pure": "basic composition: the pure epsilons add up (Dwork and Lei 2009, Theorem 16)",
    "pld": "privacy loss distributions, discretised from above (Zhu, Dong and Wang 2022, Theorem "
    "10; Doroshenko et al. 2022)",
    "selection": "privacy profiles of the best of many tries (Koskela, Redberg and Wang 2024); "
    "beside it the squares of mu add up (Dong, Roth and Su 2022, Corollary 3.3)",
    "renyi": "Renyi differential privacy: divergences of one order add up (Mironov 2017, "
    "Proposition 1), converted by Canonne, Kamath and Steinke 2020, Proposition 12",
    "none": "no accountant proves a finite epsilon",
}

TITLE, RELEASED, REMARKS = "Privacy certificate", "Released, in this order", "Remarks"
ASSUMED = "Assumed for accuracy only; privacy does not rest on it"
CONDITIONS = "The promise holds only if"

# Terminals show 80 columns, and some of them omit the last.
WIDTH = 79
LABEL = 13


def certificate_text(data: Mapping[str, Any]) -> str:
    """Render a certificate's dictionary as plain text, for readers who are no statisticians."""
    listed = (_points(title, sentences) for title, sentences in _sections(data))
    lines = chain(_head(data), _releases_lines(data["releases"]), *listed)
    return printable_lines("\n".join(lines))


def _sections(data: Mapping[str, Any]) -> list[tuple[str, Iterable[str]]]:
    """Return the lists of sentences that a page ends with, and their titles."""
    sections = [
        (REMARKS, data["remarks"]),
        (CONDITIONS, data.get("conditions")),
        (ASSUMED, data["assumptions_for_accuracy"] or ("nothing",)),
    ]
    return [(title, sentences) for title, sentences in sections if sentences]


def printed_releases(releases: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return rows of a page: times, sensitivity, noise std, what was released, and how.

    Successive releases that are equal after rounding share a row. Only the page rounds: the cost
    follows from the exact numbers, which are in the JSON.
    """
    printed = []
    for release in releases:
        numbers = [
            "hidden" if release[name] is None else f"{release[name]:.6g}"  # None if secret
            for name in ("sensitivity", "noise_std")
        ]
        stage = f"{release['stage']}: " if release["stage"] else ""
        descriptions = printable(f"{stage}{release['name']}"), printable(_how(release))
        # If sensitivity and noise are hidden, only the parameters distinguish releases.
        distinguishing = release["parameters"] if release["sensitivity"] is None else None
        printed.append(((*numbers, *descriptions), distinguishing, release["times"]))
    return [
        (str(sum([times for *_, times in equal_rows])), *row)
        for (row, _), equal_rows in groupby(printed, key=itemgetter(0, 1))
    ]


def certificate_facts(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the promise, the totals and other facts in words, by their labels."""
    noun = "records" if data["unit"]["person"] is None else "persons"
    return {
        "mode": data["mode"],
        "promise": data["promise"],
        "protects": data["protects"],
        "neighbours": data["neighbours"],
        noun: f"n = {data['n_rows']}, public",
        "reserved": f"{_total_words(data['total'])}; {_counted(data)}",
        "released": _total_words(data["spent"]),
        "unused": _unused(data),
        "composition": data["composition"],
        "sampler": data["sampler"],
        "ledger": "; ".join(LedgerEntry(**entry).describe() for entry in data["ledger_entries"])
        or "none was charged",
        "software": f"tailguard {data['version']}",
    }


def _head(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield title, promise and totals."""
    yield TITLE
    yield "=" * len(TITLE)
    for label, text in certificate_facts(data).items():
        first, *rest = _lines(text, WIDTH - LABEL)
        yield f"{label:{LABEL}}{first}"
        yield from (" " * LABEL + line for line in rest)


def _lines(text: str, width: int) -> list[str]:
    """Wrap a text, but keep each name and its value on one line."""
    return [line.replace("\0", " ") for line in wrap(text.replace(" = ", "\0=\0"), width)]


def _total_words(total: Mapping[str, Any]) -> str:
    """Write a total in every currency that expresses it."""
    parts = []
    if total["epsilon"] is not None:
        parts.append(f"epsilon = {_shown_number(total['epsilon'])} at delta = {total['delta']:g}")
    parts += [
        f"{name} = {_shown_number(total[name])}"
        for name in ("mu", "rho")
        if total[name] is not None
    ]
    return ", ".join(parts) if parts else "no bound is known"


def _counted(data: Mapping[str, Any]) -> str:
    """Describe how much of the reserved budget counts as spent."""
    if "charged" not in data:
        return "all of it counts as spent"
    return f"the run stopped early, and the ledger counts {_total_words(data['counted'])}"


def _unused(data: Mapping[str, Any]) -> str:
    """Describe what was reserved but not released."""
    left = ", ".join(
        f"{name} {_shown_number(value)} lower" for name, value in data["unused"].items()
    )
    stages = "; ".join(data["unused_stages"])
    return "; ".join(filter(None, (f"the released total has {left}" if left else "", stages))) or (
        "nothing"
    )


def _releases_lines(releases: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of releases."""
    yield ""
    yield RELEASED
    head = f"  {'times':>5}  {'sensitivity':>11}  {'noise std':>11}  "
    yield f"{head}what"
    for times, sensitivity, noise_std, what, how in printed_releases(releases):
        numbers = f"  {times:>5}  {sensitivity:>11}  {noise_std:>11}  "
        width = WIDTH - len(numbers)
        both = f"{what} {how}"
        first, *rest = [both] if len(both) <= width else [*wrap(what, width), *wrap(how, width)]
        yield f"{numbers}{first}"
        yield from (" " * len(head) + line for line in rest)
    if not releases:
        yield "  nothing"


def _how(release: Mapping[str, Any]) -> str:
    """Name the mechanism, the query and the records of a release."""
    details = [release["mechanism"], release["kind"]]
    if release["block_map"] is not None:
        block = release["block"]
        which = "every block" if block is None else f"block {block}"
        details.append(f"{which} of {release['block_map']!r}")
    if release["mechanism"] == "sampled-gaussian":
        facts = release["parameters"]
        details.append(f"{facts['sample_rows']} of {facts['of_rows']} records, drawn afresh")
    if release["mechanism"] == "selected-gaussian":
        facts = release["parameters"]
        details.append(f"{facts['mean_tries']:g} tries expected, {facts['law']}")
    return f"({', '.join(details)})"


def _points(title: str, sentences: Iterable[str]) -> Iterator[str]:
    """Yield a title and a list of sentences."""
    yield ""
    yield title
    for sentence in sentences:
        yield from wrap(sentence, WIDTH, initial_indent="  - ", subsequent_indent="    ")


def _shown_number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


STYLE = """\
body { font: 1rem/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.8rem 0.2rem 0; }
thead th { border-bottom: 1px solid; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
"""
COLUMNS = ("times", "sensitivity", "noise std", "what")


def certificate_html(data: Mapping[str, Any]) -> str:
    """Render a certificate's dictionary as a page for a browser.

    It has the content of the plain text. Every word is escaped, and nothing is loaded from
    elsewhere: no script, font or picture.
    """
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f"<title>{escape(TITLE)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>",
        certificate_body(data),
        "</body>\n</html>",
    ]
    return "\n".join(parts) + "\n"


def certificate_body(data: Mapping[str, Any]) -> str:
    """Render a certificate's dictionary as a part of a page, such as a notebook's."""
    printed = printed_releases(data["releases"])
    releases = [(*numbers, f"{what} {how}") for *numbers, what, how in printed]
    parts = [
        f"<h1>{escape(TITLE)}</h1>",
        notebook_table(certificate_facts(data).items()),
        f"<h2>{escape(RELEASED)}</h2>",
        notebook_table(releases, COLUMNS, range(3)) if releases else "<p>nothing</p>",
    ]
    for title, sentences in _sections(data):
        parts += [f"<h2>{escape(title)}</h2>", html_list(sentences)]
    return "\n".join(parts)
