"""Certificates word by word: as data, as a page of text and of HTML; and what is not read."""

from dataclasses import replace

import pytest

from support.known import outcome
from support.releases import MEAN, RELEASES
from tailguard.privacy.accounting.distance import EXACT, Distance
from tailguard.privacy.books.composed_releases import spent_event
from tailguard.privacy.books.entries import LedgerEntry
from tailguard.privacy.certificate import Certificate, text
from tailguard.privacy.certificate import certificate as words
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    Gaussian,
    Laplace,
    Nothing,
    Pure,
    Repeated,
    Shuffled,
    ZeroConcentrated,
)
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, Unprotected

PROMISE = ApproxDP(5.0, 1e-6)
FAR = Distance(2e-9, 3e-20)
ENTRY = LedgerEntry("claims <&>", 7, "3f", "9b1d" * 16)
LONG = "an assumption of so many words that it does not fit one line of the page at all, = 3"


def made(planned, releases=(), guarantee=PROMISE, **facts):
    return Certificate(guarantee, 1000, planned, tuple(releases), **facts)


CERTIFICATES = {
    "nothing": made(Nothing()),
    "gaussian": made(Repeated(Gaussian(0.25), 2), [MEAN, MEAN], sampler_distance=FAR),
    "unused": made(
        Repeated(Gaussian(0.25), 4),
        [replace(MEAN, stage="first"), replace(MEAN, times=2, stage="second")],
        unused_stages=("refinement: the first stage was precise", "search: skipped"),
        assumptions_for_accuracy=("finite moments", LONG),
        ledger_entries=(ENTRY, replace(ENTRY, position=8)),
    ),
    "mu": made(Gaussian(0.5), [MEAN], GDP(1.0)),
    "mu of a range": made(BoundedRange(0.5), (), GDP(1.0)),
    "mu of pure": made(Composed((Pure(0.1), Laplace(0.1), Gaussian(0.1))), (), GDP(1.0)),
    "rho": made(ZeroConcentrated(0.2), (), ZCDP(0.5)),
    "pure": made(Laplace(0.5), [RELEASES["laplace"]], PureDP(1.0)),
    "failing": made(Approximate(0.1, 1e-7), ()),
    "shuffled": made(Shuffled(0.25, 4), [RELEASES["secret"]]),
    "unprotected": made(Gaussian(1.0), (), Unprotected(PROMISE), mode="reproduction: NOT PRIVATE"),
    "simulation": made(Gaussian(0.25), [MEAN], mode="simulation: NOT PRIVATE"),
    **{f"of {name}": made(spent_event([RELEASES[name]]), [RELEASES[name]]) for name in RELEASES},
}
CERTIFICATES["of sampled"] = replace(CERTIFICATES["of sampled"], n_rows=12)
CERTIFICATES["of paper"] = replace(
    CERTIFICATES["of paper"], guarantee=Unprotected(PROMISE), mode="reproduction: NOT PRIVATE"
)
CERTIFICATES = {name: replace(each, version="1.2") for name, each in CERTIFICATES.items()}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_words(known, name):
    certificate = CERTIFICATES[name]
    page = certificate.to_html()
    known(
        [certificate.to_dict(), certificate.to_text().splitlines(), page.splitlines()[14:]],
        rel=1e-9,
    )
    assert str(certificate) == certificate.to_text()
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_style(known):
    page = CERTIFICATES["nothing"].to_html().splitlines()[:14]
    known([page, text.COMPOSITION, text.WIDTH, text.LABEL, words.NEIGHBOURS, words.KEY,
           words.VERSION, words.ROUNDING_MARGIN])  # fmt: skip


CHANGES = [
    *({words.KEY: bad} for bad in (0, 1, 2, 3, True, None, "2", 1.5)),
    *({"n_rows": bad} for bad in (0, 1, 1.5, None)),
    *({"mode": bad} for bad in ("public", None)),
    *({"guarantee": bad} for bad in (None, {"kind": "rdp"}, {"kind": "gdp", "mu": -1.0})),
    *({"planned": bad} for bad in (None, {"kind": "nothing"}, {"kind": "rdp"})),
    *({"releases": bad} for bad in (None, [3], [{}])),
    *({"sampler_total_variation": bad} for bad in (-1.0, 1.0, None)),
    *({"sampler_log_ratio": bad} for bad in (-1.0, 1.0, None)),
    *({"ledger_entries": bad} for bad in ([{}], [ENTRY.to_dict()], 3)),
    *({"assumptions_for_accuracy": bad} for bad in (None, [3], ["more"])),
    *({"unused_stages": bad} for bad in (None, [3], ["more"])),
    *({"version": bad} for bad in (None, 3)),
    {},
]


def test_what_is_read(known):
    written = CERTIFICATES["gaussian"].to_dict()
    found = [outcome(Certificate.from_dict, written | change) for change in CHANGES]
    found += [outcome(Certificate.from_dict, {k: v for k, v in written.items() if k != name})
              for name in written]  # fmt: skip
    found += [outcome(Certificate.from_json, bad) for bad in ("", "3", "[]", "{", "null")]
    known([each if isinstance(each, Exception) else type(each).__name__ for each in found])


def test_what_is_made(known):
    known(
        [
            *(outcome(Certificate, PROMISE, bad, Nothing()) for bad in (0, -1, 1.5, None)),
            outcome(Certificate, PROMISE, 1, Nothing(), mode="public"),
            *(
                words._mode(guarantee, private=private)
                for guarantee in (PROMISE, Unprotected(PROMISE))
                for private in (True, False)
            ),
            [
                made(planned, [MEAN], guarantee, sampler_distance=EXACT).unused
                for guarantee in (PROMISE, GDP(1.0), ZCDP(0.5))
                for planned in (Gaussian(0.25), Gaussian(0.25 * (1.0 + 3e-9)), Gaussian(0.3))
            ],
        ]
    )


def test_tables(known):
    lines = [
        {"name": "mean", "kind": "Mean", "mechanism": "gaussian", "block_map": None, "stage": "",
         "sensitivity": s, "noise_std": 2.0, "times": n, "parameters": {"a": s}}
        for s, n in ((1.0, 1), (1.0 + 1e-9, 2), (None, 1), (None, 1), (1.0, 1), (1.001, 1))
    ]  # fmt: skip
    known(text.printed_releases(lines))
