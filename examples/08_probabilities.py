"""
Are private probabilities honest?
=================================

A private logistic regression predicts probabilities. Among records with a predicted probability
near p, a share of p should have the label.
"""

import matplotlib.pyplot as plt
import numpy as np

import tailguard as tg

data = tg.datasets.heavy_tailed_logistic(n_rows=60_000, n_features=5, seed=2)
X, y = data.features, data.target
model = tg.LogisticRegression(classes=(0, 1), epsilon=1.0, delta=1e-6, random_state=0)
model.fit(X[:40_000], y[:40_000])
probability = model.predict_proba(X[40_000:])[:, 1]
label = y[40_000:]

# %%
# Twenty groups of equal size, by predicted probability; the diagonal is perfect.

groups = np.array_split(np.argsort(probability), 20)
figure, axes = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
axes.plot([0, 1], [0, 1], color="gray", linewidth=1)
axes.plot([probability[g].mean() for g in groups], [label[g].mean() for g in groups], "o")
axes.set_title("Probabilities and shares of the label")
axes.set_xlabel("predicted probability")
axes.set_ylabel("share with the label")
plt.show()
