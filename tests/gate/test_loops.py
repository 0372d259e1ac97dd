"""No try of a search compiles a loop or loads a module: what the disk keeps tells of no try."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tailguard
from tailguard.machine_code import ROOMS

PACKAGE = Path(tailguard.__file__).parent

# A process of its own: loops are compiled, and modules loaded, once in a process.
TRIES = """
import sys
from itertools import product
import numpy as np
import tailguard as tg
from tailguard.machine_code import _compiled
from tailguard.gate.selection import SelectionGate

def state():
    ours = {name for name in sys.modules if name.partition(".")[0] == "tailguard"}
    return _compiled.cache_info().misses, ours

def watched(gate, *given):
    before = state()
    found = tried(gate, *given)
    tries.append(before[1] ^ state()[1] or state()[0] - before[0])
    return found

tried, tries = SelectionGate._try, []
SelectionGate._try = watched
rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 4))
y = X[:, 0] + rng.standard_normal(3000)
searches = {
    tg.LinearRegression(): {"alpha": [0.0, 0.1], "fit_intercept": [True, False]},
    tg.HuberRegression(): {"threshold": [0.5, 2.0]},
    tg.QuantileRegression(): {"level": [0.3, 0.5]},
    tg.LpRegression(): {"p": [2.0, 3.0]},
    tg.SparseLinearRegression(n_nonzero=1): {"n_nonzero": [1, 2]},
    tg.LogisticRegression(): {"fit_intercept": [True, False]},
    tg.PoissonRegression(): {"fit_intercept": [True, False]},
}
# Loops of single precision are others.
for dtype, (model, candidates) in product((np.float64, np.float32), searches.items()):
    kinds = {"LogisticRegression": y > 0, "PoissonRegression": np.abs(y).round()}
    target = kinds.get(type(model).__name__, y)
    search = tg.PrivateSearch(
        model, candidates, n_tries=6, law="poisson", epsilon=4.0, delta=1e-6, random_state=1
    )
    search.fit(X.astype(dtype), target)
print(len(tries), [each for each in tries if each])
"""


@pytest.mark.long
def test_a_try_compiles_nothing_and_loads_no_module():
    command = [sys.executable, "-W", "ignore", "-c", TRIES]
    ran = subprocess.run(command, capture_output=True, check=False, text=True)
    assert ran.returncode == 0, ran.stderr
    count, left_out = ran.stdout.split(maxsplit=1)
    assert int(count) > 40
    assert left_out.strip() == "[]"


def builders():
    """Whatever calls ``compiled``, with its decorators, in the rooms whose code is kept."""
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef):
                    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
                    called = {ast.unparse(each.func) for each in calls}
                    decorators = [ast.unparse(each) for each in node.decorator_list]
                    if any(each.startswith("compiled_loop(") for each in decorators):
                        yield node.name, ["builds_loop"]  # which that decorates with
                    elif "compiled" in called:
                        yield node.name, decorators


# These compile what others hand to them, who are among the rest.
FOR_OTHERS = {"compiled_loop", "decorate"}


def test_whatever_compiles_a_loop_is_known_as_such():
    found = [(name, decorators) for name, decorators in builders() if name not in FOR_OTHERS]
    assert len(found) == 27
    assert [name for name, decorators in found if decorators != ["builds_loop"]] == []
