"""The solver of the tutorial, as printed, in the registry.

``python -m pytest -p support.tutorial -k heavy-ball tests/contracts`` runs the contracts over it.
"""

import re
import sys
from pathlib import Path
from types import ModuleType

from tailguard.solvers.registry import SOLVERS

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial-solver.md").read_text()
FILE = re.search(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
NAME, PLACE = re.search(r'^    "([\w-]+)": "([\w.:]+)",$', PAGE, re.MULTILINE).groups()


def module():
    """The page's file, compiled under its own name."""
    made = ModuleType(PLACE.partition(":")[0])
    sys.modules[made.__name__] = made  # a dataclass looks up its module
    exec(compile(FILE, "tutorial-solver.md", "exec"), vars(made))
    return made


def pytest_configure():
    """Register the solver, before any test is collected."""
    module()
    SOLVERS[NAME] = PLACE
