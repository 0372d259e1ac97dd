"""
Where does the budget go?
=========================

A plan is made before any record is read. It lists every stage of a fit, and the share of the budget
that the stage may spend.
"""

import matplotlib.pyplot as plt

import tailguard as tg

claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0)
model.fit(claims.features, claims.target)
print(model.explain())

# %%
# Squares of mu add up, so shares are shares of mu squared.

plan = model.plan_
shares = {stage.name: stage.total_mu**2 / plan.total_mu**2 for stage in plan.stages}
figure, axes = plt.subplots(figsize=(7, 6.5), layout="constrained")
axes.barh(list(shares)[::-1], list(shares.values())[::-1])
axes.set_title("What each stage of a fit may spend")
axes.set_xlabel("share of the budget")
plt.show()
