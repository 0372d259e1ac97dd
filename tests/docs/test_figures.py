"""The figures that the pages state follow from the code."""

import math
from pathlib import Path

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.solvers.newton.solver import WhitenedNewton

SMALLEST = 110  # of the method's page, times the root of all columns over mu
WINDOW, BULK_LEVEL = 4, 0.75  # octaves that hold most values of a typical column, and their share


@pytest.mark.parametrize(
    ("page", "stated"),
    [
        ("docs/default-method.md", f"| below about `{SMALLEST} sqrt(k)`"),
        ("CHANGELOG.md", f"`{SMALLEST} * sqrt(k) / mu`"),
    ],
)
def test_the_pages_state_from_where_all_scales_are_seen(page, stated):
    """How many records beat a constant is another number: ``tests/test_planning.py`` has it."""
    assert stated in Path(__file__).parents[2].joinpath(page).read_text()


@pytest.mark.parametrize("n_features", [1, 8, 50])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_smallest_number_of_records_is_the_one_of_the_methods_page(n_features, epsilon):
    guarantee = tg.ApproxDP(epsilon, 1e-6)
    stated = SMALLEST * math.sqrt(n_features + 1) / guarantee.gaussian_mu()
    # The stated number is twice that at which the values in its window stand out from the noise.
    barely = Problem(tg.losses.Squared(), round(stated / 2), n_features, intercept=True)
    plan = WhitenedNewton().plan(barely, guarantee)
    needed = [
        detection_threshold(columns)
        * math.sqrt(2 * columns * WINDOW)
        / plan.stage(stage).mu
        / BULK_LEVEL
        for columns, stage in ((n_features, "typical size"), (1, "target typical size"))
    ]
    # A single column is seen a little sooner, since the target gets more than its part.
    assert 0.85 < stated / 2 / max(needed) < (1.25 if n_features == 1 else 1.15)


@pytest.mark.filterwarnings("ignore::tailguard.BudgetWarning")
@pytest.mark.parametrize(("share", "told"), [(0.15, False), (2.0, True)])
def test_far_below_it_the_answer_is_a_constant(share, told):
    """A column of millions predicts well only when its scale was bought."""
    n_rows = round(share * SMALLEST * math.sqrt(2) / tg.GDP(1.0).gaussian_mu())
    x = np.array([[5e6 + 1e6 * math.sin(i)] for i in range(n_rows)])
    y = [1e-6 * row[0] for row in x]
    model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0).fit(x, y)
    assert (model.score(x, y) > 0.5) == told


PARTS = {  # of the method's page, by the beginnings of stages' names
    "units take": ("target", "typical size", "shared size", "location", "fine location", "scale"),
    "whitening": ("row norms", "second moments", "whitened row norms"),
    "rounds": ("rounds",),
    "the correction": ("curvature of rows", "row lengths", "contribution", "far", "early"),
}


def test_the_methods_page_says_how_its_example_shares_the_budget():
    example = Problem(tg.losses.Squared(), 20_000, 8, intercept=True)
    plan = WhitenedNewton().plan(example, tg.ApproxDP(1.0, 1e-6))
    spent = {stage.name: stage.times * stage.mu**2 for stage in plan.stages}
    page = " ".join(
        Path(__file__).parents[2].joinpath("docs/default-method.md").read_text().split()
    )
    for part, names in PARTS.items():
        share = sum(cost for name, cost in spent.items() if name.startswith(names))
        assert f"{part} {100 * share / sum(spent.values()):.0f} %" in page
