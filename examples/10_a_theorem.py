"""
What does a paper's theorem give in practice?
=============================================

Every theorem of five papers is one call. Here: Theorem 6 of Tao, Wu, Cheng and Wang (2022) for
convex losses, beside the default method that has no constants to choose.
"""

import matplotlib.pyplot as plt
import numpy as np

import tailguard as tg

guarantee = tg.ApproxDP(1.0, 1e-6)
sizes = [2_000, 8_000, 32_000]
errors = {"theorem": [], "default": []}
for n_rows in sizes:
    data = tg.datasets.heavy_tailed_linear(
        n_rows, 3, units=(1.0, 1.0), offset=0.0, noise="student", seed=1
    )
    X, y = data.features, data.target - 10.0
    theorem = tg.papers.tao2022.convex(
        guarantee=guarantee, moment=tg.Moment(2.0, 1.0, kind="raw"), constraint=tg.sets.L2Ball(2.0)
    )
    solved = theorem.minimize(tg.losses.Huber(1.0), X, y, random_state=0)
    model = tg.HuberRegression(guarantee=guarantee, random_state=0).fit(X, y)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0][:3]
    errors["theorem"].append(np.linalg.norm(solved.coef[:3] - exact))
    errors["default"].append(np.linalg.norm(model.coef_ - exact))
print(theorem.sized(sizes[-1], 3).explain())

# %%
# Distance of the coefficients from least squares without privacy. Rates hide constants: at these
# sizes the noise of the theorem leaves little, and the default method is what to use.

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, found in errors.items():
    axes.loglog(sizes, found, "o-", label=name)
axes.set_xticks(sizes, [f"{n_rows:,}" for n_rows in sizes])
axes.minorticks_off()
axes.axhline(np.linalg.norm(exact), color="gray", linestyle="--", label="all coefficients zero")
axes.set_title("Error of the coefficients, by method")
axes.set_xlabel("records, at epsilon = 1")
axes.set_ylabel("error of the coefficients")
axes.legend()
plt.show()
