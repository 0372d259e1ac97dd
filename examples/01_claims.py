"""
Which slopes of a claims file can I publish?
============================================

Motor insurance claims: eight heavy-tailed columns in units from 1e-6 to 1e6. Nobody states a bound.
The fit spends epsilon = 2 and finds its own units, bounds and intervals.
"""

import matplotlib.pyplot as plt

import tailguard as tg

claims = tg.datasets.insurance_claims(n_rows=50_000, seed=0)
model = tg.LinearRegression(epsilon=2.0, delta=1e-6, random_state=0)
model.fit(claims.features, claims.target)
print(model.summary())

# %%
# Columns differ in units. So the picture shows what moving a feature between the bounds within
# which it was read does to the prediction. The bounds are released too.

low, high = model.feature_bounds_.T
frame = model.coef_frame().iloc[:-1]
effect = frame[["coefficient", "low", "high"]].mul(high - low, axis=0)
places = range(len(effect))

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.hlines(places, effect["low"], effect["high"], linewidth=3)
axes.plot(effect["coefficient"], places, "o")
axes.axvline(0.0, color="gray", linewidth=1)
axes.set_yticks(list(places), [str(name) for name in effect.index])
axes.set_title("Coefficients of the private fit, with 95 % intervals")
axes.set_xlabel("change of the predicted claim, with 95 % interval")
plt.show()
