"""``tailguard demo``: everything a newcomer should see, in one page."""

import re


def test_the_demo_shows_data_code_truth_and_certificate(call):
    answer = call("demo", "--rows", "20000")
    assert (answer.code, answer.err) == (0, "")
    parts = ["The data", "Nobody's records", "tg.LinearRegression(epsilon=1.0, delta=1e-06)"]
    parts += ["noised releases", "truth", "district_claims_per_km", "(intercept)"]
    parts += ["Privacy certificate", "mode         private", "epsilon = 1 and"]
    assert [part for part in parts if part not in answer.out] == []
    assert [line for line in answer.out.splitlines() if len(line) > 79] == []


def test_the_comparison_is_labelled_and_fair(call):
    out = call("demo", "--rows", "20000", "--epsilon", "10").out
    private, plain = (float(share) for share in re.findall(r"(-?[\d.]+)%", out)[:2])
    assert "NOT PRIVATE: possible because the data are simulated" in " ".join(out.split())
    assert 50 < private <= plain + 1
