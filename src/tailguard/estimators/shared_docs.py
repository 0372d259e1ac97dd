"""The docstrings of estimators: each says its own, and takes the rest from their base's."""

import re
from inspect import cleandoc

SHARED = """{shared_parameters}

Attributes
----------
{shared_attributes}

Notes
-----
*Guarantee.* As for ``LinearRegression``."""
"""What ``{shared}`` stands for after the parameters that an estimator has alone."""


def with_shared(doc: str, base: str) -> str:
    """Fill in what all estimators take and hold, from the docstring of their base."""
    sections = {
        name.lower(): text.strip()
        for name, text in re.findall(r"(?ms)^(\w+)\n-+\n(.*?)(?=^\w+\n-+$|\Z)", cleandoc(base))
    }
    doc = cleandoc(doc).replace("{shared}", SHARED)
    for name, text in sections.items():
        doc = doc.replace(f"{{shared_{name}}}", text)
    return doc
