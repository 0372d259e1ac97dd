"""Plans for a task with all facts that any kind of plan reads."""

import tailguard as tg

GUARANTEE = tg.ApproxDP(1.0, 1e-6)
MOMENT = tg.Moment(4.0, 25.0, kind="norm")
FACTS = {
    "moment": MOMENT,
    "diameter": 2.0,
    "smoothness": 1.0,
    "strong_convexity": 0.5,
    "row_limit": 4.0,
    "growth_constant": 0.25,
    "n_nonzero": 3,
}


def advice(task, n_rows=200_000, n_features=5, **facts):
    return tg.plan(task, n_rows=n_rows, n_features=n_features, guarantee=GUARANTEE, **facts)
