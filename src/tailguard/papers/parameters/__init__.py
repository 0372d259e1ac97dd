"""The papers' own thresholds, step counts, group counts and noise scales, one file a paper.

``printed_...`` is what a paper prints where a better or a valid form is known; the plain name is
the form to use. Nothing here reads a record: every number is worked out from public facts.
"""

from tailguard.papers.parameters import (
    groups,
    kamath2022,
    steps,
    tao2022,
    wang2020,
    xu2025,
    zhao2024,
)

__all__ = ["groups", "kamath2022", "steps", "tao2022", "wang2020", "xu2025", "zhao2024"]
