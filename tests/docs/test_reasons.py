"""Every reason why a fit gives no number, or no interval, stands on the page that explains them."""

import ast
import inspect
from pathlib import Path

import pytest

from tailguard.estimators.summary import NO_RECORDS
from tailguard.solvers.newton import covariance, outlook

PAGE = (Path(__file__).parents[2] / "docs" / "read-your-summary.md").read_text()
FEWEST_WORDS = 5  # a shorter text in the code is a name


def sentences(source):
    """The texts of a module that are sentences, without docstrings and parts of others."""
    nodes = [*ast.walk(ast.parse(source))]
    apart = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    apart |= {id(p) for node in nodes if isinstance(node, ast.JoinedStr) for p in node.values}
    texts = [n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [n.value for n in texts if id(n) not in apart and len(n.value.split()) >= FEWEST_WORDS]


BY_PUBLIC_NUMBERS = [outlook.LITTLE, outlook.NOT_CORRECTED, outlook.CLIPPED]
OF_COVARIANCE = sentences(inspect.getsource(covariance))
REASONS = [*OF_COVARIANCE, *BY_PUBLIC_NUMBERS, NO_RECORDS]


def test_reasons_are_found():
    assert len(REASONS) >= 10
    assert covariance.UNSEEN_COLUMN in REASONS


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_is_explained(reason):
    assert f"{reason}* |" in PAGE
