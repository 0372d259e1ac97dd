"""
How many records do I need?
===========================

Columns of a table need scales before they need slopes. With fewer than about 110 sqrt(k) / mu
records, for k columns, noise may hide some; mu is the budget on the scale of Gaussian noise. With
three times as many a fit explains nearly all that it could.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import tailguard as tg

warnings.simplefilter("ignore", tg.BudgetWarning)  # of fits of 500 records
guarantee = tg.ApproxDP(1.0, 1e-6)
claims = tg.datasets.insurance_claims(n_rows=100_000, seed=4)
X, y = claims.features, claims.target
test = slice(50_000, None)
needed = 110 * np.sqrt(X.shape[1] + 1) / guarantee.gaussian_mu()
ones = np.column_stack([np.ones(len(y)), X / X.std(axis=0)])
sizes = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000]
share = np.empty((len(sizes), 5))
for row, n_rows in enumerate(sizes):
    for seed in range(5):
        train = slice(seed * 3_000, seed * 3_000 + n_rows)
        model = tg.LinearRegression(guarantee=guarantee, random_state=seed).fit(X[train], y[train])
        weights = np.linalg.lstsq(ones[train], y[train], rcond=None)[0]
        guesses = model.predict(X[test]), ones[test] @ weights, y[train].mean()
        private, best, constant = (np.mean((y[test] - guess) ** 2) for guess in guesses)
        share[row, seed] = (constant - private) / (constant - best)
for n_rows, found in zip(sizes, np.median(share, axis=1), strict=True):
    print(f"{n_rows:6,} records: {found:.3f}")

# %%
# The share of what least squares explains that the private fit explains too: 1 is all of it, 0 is
# what a constant explains. Points below -0.2 are drawn there. The dashed line is 110 sqrt(k) / mu.

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(sizes, np.clip(share, -0.2, None), ".", color="tab:blue", alpha=0.5)
axes.plot(sizes, np.median(share, axis=1), "-", color="tab:blue")
axes.axvline(needed, color="gray", linestyle="--", label="110 sqrt(k) / mu")
axes.set_xscale("log")
axes.legend(loc="lower right")
axes.set_title("What private fits explain, of what least squares does")
axes.set_xlabel("records, at epsilon = 1")
axes.set_ylabel("explained share")
plt.show()
