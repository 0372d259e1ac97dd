"""What a certificate states and its file cannot prove, in words for whoever relies on it."""

from typing import Any


def unproven(certificate: Any, settled: bool | None = None) -> tuple[str, ...]:
    """Return a sentence for each thing that must be taken on trust.

    ``settled`` says what a ledger adds: None where there is none, else whether it lists what the
    run released beside what the run was charged.
    """
    private, charged = certificate.mode == "private", settled is not None
    entries = "; ".join(entry.describe() for entry in certificate.ledger_entries)
    doubts = (
        (private and not charged, "The mode: that noise was drawn in secret, and from no seed."),
        (not settled, "That the releases are all that left, and that their numbers are true."),
        (entries and not charged, f"That a ledger holds its charge, {entries}."),
        (
            True,
            "That each sensitivity is that of its query, for any records; the library proves and "
            "tests that of its own queries.",
        ),
        (True, f"The number of records, n = {certificate.n_rows}, and whose records they are."),
        (True, "Words: names of releases and stages, assumptions for accuracy."),
        (not charged, f"That tailguard {certificate.version} wrote it: it is not signed."),
        (not charged, "What other runs on the same records cost: a certificate speaks of one."),
        (charged, "What runs that this ledger was not charged with cost on the same records."),
    )
    return tuple(sentence for holds, sentence in doubts if holds)
