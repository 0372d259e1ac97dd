"""The benchmark of private scores compares them with the scores that they estimate."""

import numpy as np
import pytest

import bench_score
import tailguard as tg


@pytest.mark.long
@pytest.mark.parametrize("law", ["labels", "three classes"])
def test_the_truth_is_what_a_score_with_little_noise_finds(law):
    rng = np.random.default_rng(0)
    table = bench_score.draw(law, 20_000, rng)
    model = bench_score.LAWS[law](guarantee=tg.GDP(4.0), random_state=0).fit(*table)
    explained, second = bench_score.truth_of(model, *table)
    found = model.private_score(*table, guarantee=tg.GDP(60.0), random_state=1)
    assert found.explained.value == pytest.approx(explained, abs=0.005)
    other = found.auc or found.accuracy
    assert other.value == pytest.approx(second, abs=0.005)
    told = bench_score.row(law, 4.0, model, (explained, second), [table])
    assert {"area held", "accuracy held"} & {*told} == {
        "accuracy held" if law == "three classes" else "area held"
    }
