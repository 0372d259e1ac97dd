"""
Does the noise hold what it promises?
=====================================

An audit runs a method on two tables that differ in one record, and guesses which one it was. The
rate of right guesses bounds from below what the method gives away.
"""

import matplotlib.pyplot as plt
import numpy as np

import tailguard as tg

records = np.zeros((60, 1))
other = records.copy()
records[0], other[0] = -5.0, 5.0
budgets = [1.5, 2.0, 2.5]
results = []
for mu in budgets:

    def released(X, *, seed, mu=mu):
        """Return the private mean of one table."""
        return tg.mean(
            X, guarantee=tg.GDP(mu), method="clipped", clip_norm=1.0, random_state=seed
        ).value

    results.append(
        tg.audit(
            lambda seed, released=released: lambda X: released(X, seed=seed),
            worst_case=(records, other),
            claim=tg.GDP(mu),
            n_runs=400,
        )
    )
    print(results[-1])

# %%
# What is shown stays below what is claimed: three quarters of it, from 400 runs on each side. They
# would notice noise of 0.8 times the scale once in six to eight times, hence "low power".

figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
axes.plot(budgets, [each.claimed for each in results], "o-", label="claimed")
axes.plot(budgets, [each.shown for each in results], "s-", label="shown by the attack")
axes.set_title("Claimed loss, and what the attack shows")
axes.set_xlabel("budget mu")
axes.set_ylabel("mu")
axes.legend()
plt.show()
