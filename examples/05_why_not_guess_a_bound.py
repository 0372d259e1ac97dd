"""
Why not clip at a guess?
========================

A private mean of bounded values needs bounds. A guess that is too low biases the mean, one that is
too high drowns it in noise. ``tg.mean`` needs none.
"""

import matplotlib.pyplot as plt
import numpy as np

import tailguard as tg

rng = np.random.default_rng(0)
costs = 2_000.0 * rng.pareto(2.2, size=(20_000, 1))
true = costs.mean()
epsilon, repeats = 0.5, 200

bounds = np.logspace(2, 7, 26)
errors = [
    np.median(
        np.abs(
            np.minimum(costs, b).mean() + rng.laplace(0, b / len(costs) / epsilon, repeats) - true
        )
    )
    for b in bounds
]
ours = [
    abs(tg.mean(costs, epsilon=epsilon, delta=1e-6, random_state=seed).value[0] - true)
    for seed in range(20)
]

# %%
# The best bound is unknown, and looking for it in the records is not private. An error below that
# of sampling buys nothing.

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.loglog(bounds, np.array(errors) / true, label="clipped at a guessed bound")
axes.axhline(np.median(ours) / true, color="tab:orange", label="tg.mean, no bound")
sampling = costs.std() / len(costs) ** 0.5
axes.axhline(sampling / true, color="gray", linestyle=":", label="sampling error")
axes.set_title("Error of the mean, with a guessed bound and without")
axes.set_xlabel("guessed upper bound")
axes.set_ylabel("median relative error")
axes.legend()
plt.show()
