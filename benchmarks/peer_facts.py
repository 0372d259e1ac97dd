"""Check the statements of docs/statement-of-need.md about other tools: ``make peer-facts``.

Each fact is a few lines that anybody can run, and their output. They run in the environment of
``make bench-accuracy-peers``, which does not contain tailguard. For tools that bring Spark or
another PyTorch, only the installed files are read; nothing is run.
"""

import argparse
import contextlib
import io
import json
import warnings
from pathlib import Path

RECORDS = """
import numpy as np
random = np.random.default_rng(0)
X = np.abs(random.standard_t(2.5, size=(5000, 3)))
y = X @ [1.0, 2.0, 3.0] + random.standard_t(2.2, size=5000)
gap = X.copy()
gap[0, 0] = np.nan
"""
SOURCES = """
import ast
from importlib.metadata import files
def classes_of(package, ending):
    [file] = [file for file in files(package) if str(file).endswith(ending)]
    nodes = ast.parse(file.locate().read_text()).body
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
def functions_of(node):
    return {inner.name: inner for inner in node.body if isinstance(inner, ast.FunctionDef)}
"""
# What is claimed, and the lines that show it.
FACTS = {
    "diffprivlib 0.6.6: models": """
import diffprivlib.models as models
print(*sorted(name for name in vars(models) if name[0].isupper()))
""",
    "diffprivlib 0.6.6: a linear fit without bounds": """
from diffprivlib.models import LinearRegression
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    LinearRegression(epsilon=1).fit(X, y)
print(*{warning.category.__name__ for warning in caught})
""",
    "diffprivlib 0.6.6: what a linear fit knows": """
from diffprivlib.models import LinearRegression
model = LinearRegression(epsilon=1, bounds_X=(-9, 9), bounds_y=(-99, 99)).fit(X, y)
print(*sorted(name for name in vars(model) if name.endswith("_")))
""",
    "diffprivlib 0.6.6: a missing value": """
from diffprivlib.models import LinearRegression
LinearRegression(epsilon=1, bounds_X=(-9, 9), bounds_y=(-99, 99)).fit(gap, y)
""",
    "diffprivlib 0.6.6: noise on the diagonal of second moments, bounds (0, 20), no intercept": """
from diffprivlib.models import LinearRegression
kept = np.clip(X, 0, 20)
model = LinearRegression(epsilon=1, bounds_X=(0, 20), bounds_y=(-99, 99), fit_intercept=False)
model.fit(kept, np.clip(y, -99, 99))
print(abs(np.diag(model._obj_coefs[2]) - (kept**2).sum(axis=0)).max())
""",
    "OpenDP 0.16.0: regression of three columns": """
import opendp.prelude as dp
dp.enable_features("contrib")
from opendp.extras.sklearn import linear_model
print(*linear_model.__all__)
bounds = {"x_bounds": [(0.0, 9.0)] * 3, "y_bounds": (0.0, 99.0)}
linear_model.LinearRegression(dp.max_divergence(), scale=1.0, **bounds)
""",
    "Opacus 1.6.0: a missing value": """
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset
records = TensorDataset(torch.tensor(gap).float(), torch.tensor(y).float()[:, None])
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, loader = PrivacyEngine().make_private(
    module=model, optimizer=optimizer, data_loader=DataLoader(records, batch_size=256),
    noise_multiplier=1.0, max_grad_norm=1.0)
for _ in range(15):
    for rows, targets in loader:
        optimizer.zero_grad()
        torch.nn.MSELoss()(model(rows), targets).backward()
        optimizer.step()
print(*next(model.parameters()).detach().ravel().tolist())
""",
    "Tumult Analytics 0.21.0: what a query may ask of numbers": """
builder = classes_of("tmlt-analytics", "analytics/query_builder.py")["GroupedQueryBuilder"]
print(*(name for name in functions_of(builder) if not name.startswith("_")))
""",
    "Tumult Analytics 0.21.0: whom it protects": """
print(*classes_of("tmlt-analytics", "analytics/protected_change.py"))
""",
    "SmartNoise Synthesizers 1.0.8: what its linear regression is told": """
model = classes_of("smartnoise-synth", "models/linear_regression.py")["DPLinearRegression"]
print(*(argument.arg for argument in functions_of(model)["fit"].args.args))
""",
}


def answer(lines):
    """What some lines print, or the error that ends them."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(RECORDS + SOURCES + lines, {"warnings": warnings})
        except Exception as error:  # whatever a tool says is the answer
            print(f"{type(error).__name__}: {error}".partition("\n")[0])
    return shown.getvalue().strip().replace("\n", "; ")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="keep the answers in this file")
    options = parser.parse_args()
    answers = {}
    for claim, lines in FACTS.items():
        answers[claim] = answer(lines)
        print(f"{claim}\n    {answers[claim]}", flush=True)
    if options.out:
        options.out.write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
