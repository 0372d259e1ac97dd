"""
My table has words, gaps and an exposure. What now?
===================================================

Declare them by name, once. A level outside the list becomes "other", a gap becomes the constant
that you state, and a record that still holds no number is left out without a trace.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import tailguard as tg

rng = np.random.default_rng(0)
n_rows = 40_000
table = pd.DataFrame(
    {
        "region": rng.choice(["north", "south", "coast", "hills"], n_rows, p=[0.4, 0.3, 0.2, 0.1]),
        "age": np.where(rng.random(n_rows) < 0.1, np.nan, rng.gamma(6.0, 7.0, n_rows)),
        "years": rng.uniform(0.1, 1.0, n_rows),
    }
)
true = {"north": 0.0, "south": 0.3, "coast": 0.6, "hills": -0.3}
rate = 0.4 * np.exp(table["region"].map(true) - 0.01 * table["age"].fillna(40.0))
table["claims"] = rng.poisson(rate * table["years"])

schema = {
    "categorical": {"region": ["north", "south", "coast", "hills"]},
    "missing": {"age": 40.0},
    "exposure": "years",
    "target": "claims",
}
model = tg.PoissonRegression(schema=schema, epsilon=2.0, delta=1e-6, random_state=0).fit(table)
print(model.summary())

# %%
# Rates of each region over those of the baseline, with 95 % intervals, beside the true ones.

frame = model.coef_frame()
rows = [
    name for name in frame.index if str(name).startswith("region=") and "other" not in str(name)
]
shown = np.exp(frame.loc[rows, ["coefficient", "low", "high"]])
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hlines(rows, shown["low"], shown["high"], linewidth=3)
axes.plot(shown["coefficient"], rows, "o", label="private")
axes.plot([np.exp(true[name.split("=")[1]]) for name in rows], rows, "k|", ms=14, label="true")
axes.axvline(1.0, color="gray", linewidth=1)
axes.margins(y=0.2)
axes.set_title("Claim rates by region: private, with intervals, and true")
axes.set_xlabel("claim rate over that of the north")
axes.legend()
plt.show()
