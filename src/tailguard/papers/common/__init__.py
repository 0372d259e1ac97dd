"""What the papers share: facts, counts of groups and steps, bounds on descent, and predictions.

:mod:`~tailguard.papers.common.theorem` has what a theorem is; how a paper is added is said in
``CONTRIBUTING.md``.
"""

from tailguard.papers.common import groups, steps

__all__ = ["groups", "steps"]
