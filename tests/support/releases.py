"""A release of every mechanism, and of every place in which one can read."""

from dataclasses import replace

from tailguard.privacy.books import Release

MEAN = Release("mean", "Mean", "gaussian", "l2", 1.0, 4.0)
SMOOTH = {"smoothness": 0.01, "shift": 0.1, "calibration": "tight", "coordinates": 2}
RELEASES = {
    "gaussian": MEAN,
    "three times": replace(MEAN, times=3),
    "laplace": Release("count", "Count", "laplace", "l1", 1.0, 4.0, stage="counts"),
    "sampled": replace(
        MEAN, mechanism="sampled-gaussian", parameters={"sample_rows": 3, "of_rows": 12}
    ),
    "selected": replace(
        MEAN, mechanism="selected-gaussian", parameters={"law": "poisson", "mean_tries": 5.0}
    ),
    "peeled gaussian": Release(
        *("step", "Step", "peeled-gaussian", "linf", 1.0, 4.0),
        parameters={"n_selected": 3, "n_free": 1},
    ),
    "peeled laplace": Release(
        *("step", "Step", "peeled-laplace", "linf", 1.0, 4.0),
        parameters={"n_selected": 3, "n_free": 1},
    ),
    "arsinh": Release("trimmed", "Mean", "arsinh-normal", "linf", None, None, parameters=SMOOTH),
    "paper": Release(
        *("trimmed", "Mean", "arsinh-normal", "linf", None, None),
        parameters=SMOOTH | {"calibration": "paper"},
    ),
    "smooth gaussian": Release(
        *("centre", "Aggregate", "smooth-gaussian", "l2", None, None),
        parameters=SMOOTH | {"delta": 1e-6, "n_blocks": 9, "layout": "disjoint", "overlap": 1},
    ),
    "block": replace(MEAN, block_map="halves", block=1),
    "inner block": replace(
        MEAN,
        block_map="halves",
        block=1,
        parameters={"map_blocks": 2, "outer_map": "thirds", "outer_block": 2},
    ),
    "every block": replace(MEAN, block_map="halves", parameters={"map_blocks": 2}),
    "secret": replace(
        MEAN, block_map="secret", block=0, parameters={"map_blocks": 4, "map_order": "shuffled"}
    ),
    "whole pass": replace(
        MEAN, block_map="whole", parameters={"map_blocks": 4, "map_order": "shuffled"}
    ),
}
