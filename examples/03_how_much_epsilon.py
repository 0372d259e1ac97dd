"""
How much epsilon does a regression need?
========================================

The same claims are fitted at growing budgets. Excess risk is 0 for least squares without privacy
and 1 for the best constant.
"""

import matplotlib.pyplot as plt
import numpy as np

import tailguard as tg

claims = tg.datasets.insurance_claims(n_rows=60_000, seed=3)
X, y = claims.features, claims.target
train, test = slice(0, 10_000), slice(10_000, None)


def risk(prediction):
    """Return the mean squared error on records that no fit saw."""
    return np.mean((y[test] - prediction) ** 2)


ones = np.column_stack([np.ones(len(y)), X / X.std(axis=0)])
best = risk(ones[test] @ np.linalg.lstsq(ones[train], y[train], rcond=None)[0])
constant = risk(y[train].mean())
budgets = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
excess = np.empty((len(budgets), 5))
for row, epsilon in enumerate(budgets):
    for seed in range(5):
        model = tg.LinearRegression(epsilon=epsilon, delta=1e-6, random_state=seed)
        private = risk(model.fit(X[train], y[train]).predict(X[test]))
        excess[row, seed] = (private - best) / (constant - best)
for epsilon, found in zip(budgets, np.median(excess, axis=1), strict=True):
    print(f"epsilon {epsilon:4g}: excess {found:.4f}")

# %%
# The line is the median of five fits, and the band holds all of them. These columns tell a lot of
# the claim, so ten thousand records are enough from epsilon = 0.2 on.

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.fill_between(budgets, excess.min(axis=1), excess.max(axis=1), alpha=0.25)
axes.plot(budgets, np.median(excess, axis=1), "o-")
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_title("Excess risk of fits: median and range")
axes.set_xlabel("epsilon, at delta = 1e-6")
axes.set_ylabel("excess risk")
plt.show()
