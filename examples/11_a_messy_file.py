"""
Can I fit a file as messy as mine?
==================================

A file of policies has words, dates as people write them, gaps, text in columns of numbers, and rows
that count more than others. What is declared of it is public; twelve lines lead to a saved model.
"""

import numpy as np
import pandas as pd

rng, n_rows = np.random.default_rng(0), 20_000
pd.DataFrame(
    {
        "policy": [f"P{number}" for number in range(n_rows)],
        "issued": rng.choice(["01/03/2021", "15/07/2023", "29/02/2024", ""], n_rows),
        "age": rng.choice(["unknown", *map(str, range(18, 90))], n_rows),
        "income": rng.lognormal(10, 1, n_rows).round(),
        "region": rng.choice(["north", "south", "moon", ""], n_rows),
        "years": rng.uniform(0.2, 1.0, n_rows).round(2),
        "represents": rng.integers(1, 6, n_rows),
        "claims": rng.poisson(0.4, n_rows),
    }
).to_csv("policies.csv", index=False)

# %%
# The twelve lines. A draft of the schema says what it could not know; the rest is what we do know.

import tailguard as tg

policies = pd.read_csv("policies.csv")
print(tg.Schema.from_frame(policies, target="claims").describe())
# fmt: off
schema = tg.Schema(
    dates={"issued": {"origin": "2020-01-01", "unit": "years", "format": "%d/%m/%Y"}},
    categorical={"region": ["north", "south"]}, missing={"age": 45, "issued": 2, "region": "other"},
    terms=["...", "log1p(income)", "missing(age)"], drop=["policy"], target="claims",
    exposure="years", weight="represents", weight_bound=5)
# fmt: on
model = tg.PoissonRegression(schema=schema, epsilon=2.0, delta=1e-6).fit(policies)
print(model.summary())
model.save("model.json")
print(tg.load("model.json").predict(policies[:5], exposure="years"))

# %%
# The same on the command line::
#
#     tailguard schema policies.csv --target claims --drop policy --out schema.json \
#         --dates issued=2020-01-01,years,%d/%m/%Y --categorical region=north,south \
#         --missing age=45 --missing issued=2 --missing region=other \
#         --term ... --term 'log1p(income)' --term 'missing(age)' \
#         --exposure years --weight represents --weight-bound 5
#     tailguard fit policies.csv --schema schema.json --model poisson \
#         --epsilon 2 --delta 1e-6 --out model.json
#     tailguard predict model.json policies.csv --exposure years --out predictions.csv
