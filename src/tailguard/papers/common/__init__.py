"""What the papers share: facts, counts of groups and steps, bounds on descent, and predictions.

:mod:`~tailguard.papers.common.theorem` defines a theorem; ``CONTRIBUTING.md`` explains how to add a
paper.
"""

from tailguard.papers.common import groups, steps

__all__ = ["groups", "steps"]
