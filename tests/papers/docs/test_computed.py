"""What plans of theorems save in noise is computed again: ``docs/papers.md``."""

import re
from itertools import product

import pytest

import tailguard as tg
from docs.test_numbers import text
from tailguard.papers.common import steps

PAPERS = tg.papers
CLASSIC = [tg.ApproxDP(0.1, 1e-6), tg.ApproxDP(1.0, 1e-5), tg.ApproxDP(8.0, 1e-5)]
CONCENTRATED = [tg.ZCDP(rho) for rho in (0.005, 0.5, 5.0)]
LESS_NOISE = {
    PAPERS.kamath2022.convex: ("central", {}, "exact sensitivity: {} to {}"),
    PAPERS.kamath2022.convex_with_probability: ("central", {"smoothness": 1.0}, "same: {} to {}"),
    PAPERS.kamath2022.soft_convex: ("central", {}, "what its noise spends: {}"),
    PAPERS.tao2022.convex: ("raw", {}, "sensitivity: {} to {}; {} to {} for zCDP"),
    PAPERS.zhao2024.iterative_convex: (
        "directional",
        {"smoothness": 1.0},
        "(E40): {} to {}; {} to {} for zCDP",
    ),
}


@pytest.mark.parametrize("call", LESS_NOISE, ids=lambda call: call.__module__ + call.__name__)
def test_how_much_less_noise_is_used_than_printed_follows_from_plans(call, monkeypatch):
    """The ratios by which plans of theorems multiply their printed steps, on the page's grid."""
    (kind, shape, said), ratios, told = LESS_NOISE[call], [], []

    def kept(excess_of, *, printed, noise_ratio):
        ratios.append(noise_ratio)
        return steps.whole_steps(printed)

    monkeypatch.setattr(steps, "worthwhile_steps", kept)
    moment, page = tg.Moment(2.0, 1.0, kind=kind), text("docs/papers.md")
    for promises in (CLASSIC, CONCENTRATED):
        ratios.clear()
        sizes = (20_000, 1_000_000), (1, 10, 100), promises, (0.2, 2.0, 20.0)
        for *facts, diameter in product(*sizes):
            call(*facts, moment=moment, diameter=diameter, **shape)
        assert len(ratios) == 54
        told += [f"{float(f'{each:.2g}'):g}" for each in (min(ratios), max(ratios))]
    if "zCDP" not in said:
        assert told[:2] == told[2:]
    row = re.search(rf"^.*{re.escape(said.format(*told))} \|.*$", page, re.M)
    assert row, told
    if most := re.search(r"up to ([\d.]+) times", row[0]):
        assert most[1] == f"{max(ratios) ** 2:.2g}"
