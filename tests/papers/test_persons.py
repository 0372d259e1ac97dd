"""Theorems and means of the papers take persons where their proof allows, else refuse them."""

import numpy as np
import pytest

import tailguard as tg
from papers.support.theorems import CASES, N_ROWS, heavy_records

PERSONS = {"person": np.arange(N_ROWS) // 2, "max_rows": 2}
N_PERSONS = N_ROWS // 2
TAKES = {
    *("kamath2022.convex", "kamath2022.convex_with_probability", "kamath2022.strongly_convex"),
    *("kamath2022.soft_convex", "tao2022.convex", "tao2022.sparse", "tao2022.strongly_convex"),
    *("wang2020.smoothed_convex", "wang2020.smoothed_strongly_convex", "wang2020.stochastic"),
    *("wang2020.trimmed_strongly_convex", "zhao2024.convex", "zhao2024.iterative_convex"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_theorem_takes_persons_or_refuses_them_in_a_sentence(name):
    case, (X, y) = CASES[name], heavy_records()
    theorem = case.unsized()
    told = {"random_state": 0, **PERSONS}
    if name not in TAKES:
        with pytest.raises(tg.InputError, match=r"^person must be None for \w+ with these options"):
            theorem.minimize(tg.losses.Squared(), X, y, **told)
        return
    certificate = theorem.minimize(tg.losses.Squared(), X, y, **told).certificate
    assert certificate.unit.person == "person"
    assert certificate.n_rows == N_PERSONS


def test_a_theorem_of_other_sizes_than_persons_is_refused():
    case, (X, y) = CASES["zhao2024.convex"], heavy_records()
    with pytest.raises(tg.InputError, match=f"n_rows must be {N_PERSONS}, as in the data"):
        case.theorem().minimize(tg.losses.Squared(), X, y, random_state=0, **PERSONS)


@pytest.mark.parametrize(
    ("mean", "options"),
    [
        (tg.papers.kamath2022.clamped_mean, {"n_groups": 1, "threshold": 9.0}),
        (tg.papers.kamath2022.soft_mean, {"threshold": 9.0}),
        (tg.papers.zhao2024.clipped_mean, {"clip_norm": 9.0}),
        (tg.papers.zhao2024.iterative_mean, {"clip_norm": 9.0}),
        (tg.papers.kamath2022.clamped_mean, {"threshold": 9.0}),
    ],
)
def test_means_take_persons(mean, options):
    X, _ = heavy_records()
    told = {"guarantee": tg.ZCDP(0.5), "random_state": 0, **PERSONS, **options}
    found = mean(X, **told)
    assert found.certificate.unit.person == "person"
    assert found.certificate.n_rows == N_PERSONS
