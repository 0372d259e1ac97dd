"""The certificate as a page of plain text, made from the same dictionary as its JSON."""

from collections.abc import Iterator, Mapping
from itertools import chain
from textwrap import wrap
from typing import Any

__all__ = ["COMPOSITION", "WIDTH", "certificate_text"]

COMPOSITION = {
    "gdp": "Gaussian differential privacy: the squares of mu add up, exactly (Dong, Roth and Su "
    "2022, Corollary 3.3), converted by Balle and Wang 2018, Theorem 8",
    "zcdp": "zero-concentrated differential privacy: the rhos add up (Bun and Steinke 2016, Lemma "
    "2.3), converted by Canonne, Kamath and Steinke 2020, Proposition 12",
    "pure": "basic composition: the pure epsilons add up (Dwork and Lei 2009, Theorem 16)",
    "pld": "privacy loss distributions, discretised from above (Zhu, Dong and Wang 2022, Theorem "
    "10; Doroshenko et al. 2022)",
    "none": "no accountant proves a finite epsilon",
}

# A terminal shows 80 columns, and some leave out the last.
WIDTH = 79
LABEL = 13


def certificate_text(data: Mapping[str, Any]) -> str:
    """Render a certificate's dictionary for a reader who is no statistician.

    Examples
    --------
    >>> from tailguard.privacy.certificate import Certificate
    >>> from tailguard.privacy.events import Gaussian
    >>> from tailguard.privacy.guarantees import GDP
    >>> page = certificate_text(Certificate(GDP(1.0), 1000, planned=Gaussian(1.0)).to_dict())
    >>> print(page.splitlines()[0])
    Privacy certificate
    """
    parts = (_head(data), _releases(data["releases"]), _remarks(data["remarks"]))
    return "\n".join([*chain(*parts), *_assumptions(data)])


def _head(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield title, promise and totals."""
    yield "Privacy certificate"
    yield "==================="
    facts = {
        "mode": data["mode"],
        "promise": data["promise"],
        "neighbours": data["neighbours"],
        "records": f"n = {data['n_rows']}, public",
        "set aside": f"{_total(data['total'])}; all of it counts as spent",
        "released": _total(data["spent"]),
        "unused": _unused(data),
        "composition": data["composition"],
        "sampler": data["sampler"],
        "software": f"tailguard {data['version']}",
    }
    for label, text in facts.items():
        first, *rest = _lines(text, WIDTH - LABEL)
        yield f"{label:{LABEL}}{first}"
        yield from (" " * LABEL + line for line in rest)


def _lines(text: str, width: int) -> list[str]:
    """Wrap a text, but never between a name and its value."""
    return [line.replace("\0", " ") for line in wrap(text.replace(" = ", "\0=\0"), width)]


def _total(total: Mapping[str, Any]) -> str:
    """Say a total in every currency that expresses it."""
    parts = []
    if total["epsilon"] is not None:
        parts.append(f"epsilon = {_number(total['epsilon'])} at delta = {total['delta']:g}")
    parts += [
        f"{name} = {_number(total[name])}" for name in ("mu", "rho") if total[name] is not None
    ]
    return ", ".join(parts) if parts else "no bound is known"


def _unused(data: Mapping[str, Any]) -> str:
    """Say what was set aside and not released."""
    left = ", ".join(f"{name} {_number(value)} lower" for name, value in data["unused"].items())
    stages = "; ".join(data["unused_stages"])
    return "; ".join(filter(None, (f"the released total has {left}" if left else "", stages))) or (
        "nothing"
    )


def _releases(releases: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of releases."""
    yield ""
    yield "Released, in this order"
    head = f"  {'times':>5}  {'sensitivity':>11}  {'noise std':>11}  "
    yield f"{head}what"
    for r in releases:
        numbers = f"  {r['times']:>5}  {_column(r['sensitivity'])}  {_column(r['noise_std'])}  "
        first, *rest = _what(r, WIDTH - len(numbers))
        yield f"{numbers}{first}"
        yield from (" " * len(head) + line for line in rest)
    if not releases:
        yield "  nothing"


def _column(value: float | None) -> str:
    """Fill a column; what follows the records is not shown."""
    return f"{'hidden':>11}" if value is None else f"{value:>11.6g}"


def _remarks(remarks: list[str]) -> Iterator[str]:
    """Yield what a reader must know beyond the numbers, if anything."""
    if remarks:
        yield ""
        yield "Remarks"
    for remark in remarks:
        yield from wrap(remark, WIDTH, initial_indent="  - ", subsequent_indent="    ")


def _what(release: Mapping[str, Any], width: int) -> list[str]:
    """Say what a release was, by which mechanism and query; on one line where that fits."""
    details = [release["mechanism"], release["kind"]]
    if release["block_map"] is not None:
        block = release["block"]
        which = "every block" if block is None else f"block {block}"
        details.append(f"{which} of {release['block_map']!r}")
    if release["mechanism"] == "sampled-gaussian":
        drawn = release["parameters"]
        details.append(f"{drawn['sample_rows']} of {drawn['of_rows']} records, drawn afresh")
    name, by = release["name"], f"({', '.join(details)})"
    whole = f"{name} {by}"
    return [whole] if len(whole) <= width else [*wrap(name, width), *wrap(by, width)]


def _assumptions(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield what accuracy rests on, and privacy does not."""
    yield ""
    yield "Assumed for accuracy only; privacy does not rest on it"
    for assumption in data["assumptions_for_accuracy"] or ("nothing",):
        yield from wrap(assumption, WIDTH, initial_indent="  - ", subsequent_indent="    ")


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
