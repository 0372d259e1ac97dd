"""What is planned at which budget, from public numbers alone."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.solvers.newton.allocation import (
    DEBIASING_FACTOR,
    LARGEST_DEBIASING,
    LEAST_RETRY,
    REGIMES,
    shares_for,
)
from tailguard.solvers.newton.schedule import (
    CORRECTION,
    CORRECTION_OF_BOUNDED,
    CORRECTION_OF_LIKELIHOOD,
    stages_for,
)

PLANNED = REGIMES["conditional mean"].shares["debiasing"]
FEW = REGIMES["few records"].below["fixed"]
LOSSES = {
    "squared": tg.losses.Squared(),
    "huber": tg.losses.Huber(1.345),
    "logistic": tg.losses.Logistic(),
    "poisson": tg.losses.Poisson(),
}
N_FEATURES = 30
every_loss = pytest.mark.parametrize("name", LOSSES)
every_budget = pytest.mark.parametrize("budget", [5.0, 50.0, 500.0, 5e3, 5e4, 5e6])


def plan(name, budget, *, intercept=True, n_features=N_FEATURES):
    """Shares and stages at ``n * mu = budget``."""
    mu = budget / 10_000
    problem = Problem(LOSSES[name], 10_000, n_features, intercept)
    shares = shares_for(problem, mu)
    return shares, {
        stage.name: stage.total_mu**2 / mu**2 for stage in stages_for(problem, shares, mu)
    }


@every_loss
@every_budget
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_features", [1, 5, 100])
def test_stages_spend_exactly_the_budget_and_rounds_a_sixth_of_it(
    name, budget, intercept, n_features
):
    """Or a tenth beside a correction; with many records a tenth of what both share."""
    shares, spent = plan(name, budget, intercept=intercept, n_features=n_features)
    assert sum(spent.values()) == pytest.approx(1.0)
    rounds = sum(share for stage, share in spent.items() if stage.startswith("rounds of"))
    many = name == "squared" and budget >= from_on("correction with many records", n_features)
    assert rounds >= (0.06 if many else 1 / 10 if shares.correction else 1 / 6)
    assert rounds > 0.099 * (rounds + shares.correction)
    assert min(spent.values()) > 0.0


@every_loss
def test_a_faint_plan_asks_for_no_second_moments_but_those_that_whiten(name):
    bends = name in ("logistic", "poisson")
    regime = REGIMES["whitening only" + " of a likelihood" * bends]
    border = regime.below["height**1.5"] * (N_FEATURES + 2) ** 1.5
    if bends:
        regime = "correction of counts" if name == "poisson" else "correction of outcomes"
        border = min(border, from_on(regime, N_FEATURES))
    shares, faint = plan(name, 0.99 * border)
    counts = {"debiasing", "debiasing curvature"}  # of a constant alone, which is one number
    dropped = {"curvature"} | (set() if name == "poisson" else counts)
    assert not dropped & faint.keys()
    assert (counts <= faint.keys()) == (name == "poisson")
    assert not counts & plan(name, 0.99 * REGIMES["constant of counts"].above["fixed"])[1].keys()
    assert shares.curvature_phases == ()
    assert "second moments" in faint
    shares, above = plan(name, 1.01 * border)
    assert (shares.correction > 0.0) == bends
    assert ("curvature" in above) == bends
    assert ("debiasing" in above) == (name in ("squared", "poisson"))


@every_loss
def test_units_get_less_of_a_larger_budget(name):
    found = [plan(name, budget)[0] for budget in (200.0, 2e3, 2e4, 2e5, 2e6)]
    for stage in ("size", "location", "target"):
        assert (np.diff([getattr(shares, stage) for shares in found]) <= 0.0).all()
    # With the least one sizes leave no room for more.
    assert (np.diff([shares.size_retry for shares in found[1:]]) <= 0.0).all()
    assert found[-1].size_retry == LEAST_RETRY


def test_nothing_is_placed_without_an_intercept_and_classes_have_no_units():
    assert (
        not {"location", "fine location", "scale"} & plan("squared", 5e4, intercept=False)[1].keys()
    )
    assert {"target typical size", "typical size"} <= plan("squared", 5e4, intercept=False)[
        1
    ].keys()
    assert not any(stage.startswith("target") for stage in plan("logistic", 5e4)[1])
    assert [s for s in plan("poisson", 5e4)[1] if s.startswith("target")] == ["target typical size"]


def corrected(n_features, budget=1e5, *, loss=LOSSES["squared"], n_rows=10_000, robust=False):
    """What correcting gets of the budget, and what is left to the rounds."""
    problem = Problem(loss, n_rows, n_features, intercept=True)
    shares = shares_for(problem, budget / n_rows, robust=robust)
    return shares.debiasing, shares.rest(problem)


@pytest.mark.parametrize("n_features", [16, 19, 60, 100])
def test_correcting_gets_a_share_over_the_number_of_columns(n_features):
    from_on = REGIMES["correction"].above
    budget = 0.99 * max(from_on["fixed"], from_on["size**1.5"] * (n_features + 1) ** 1.5)
    share, _ = corrected(n_features, budget)
    assert share == pytest.approx(max(DEBIASING_FACTOR / (n_features + 1), PLANNED))


@pytest.mark.parametrize("n_features", [3, 16, 100])
@pytest.mark.parametrize("budget", [2_100.0, 1e4, 1e6])
def test_contributions_are_corrected_where_curvature_stands_out(n_features, budget):
    shares, spent = plan("squared", budget, n_features=n_features)
    assert (shares.correction > 0.0) == (budget >= 9.0 * (n_features + 1) ** 1.5)
    assert sum(spent.get(stage, 0.0) for stage in CORRECTION) == pytest.approx(shares.correction)


def test_outcomes_leave_less_to_a_correction_of_few_records():
    limit = from_on("correction of a likelihood", 3)
    few, many = (plan("logistic", part * limit, n_features=3) for part in (0.99, 1.01))
    for (shares, spent), part in ((few, 0.4), (many, 0.7)):
        rounds = sum(share for stage, share in spent.items() if stage.startswith("rounds of"))
        assert shares.correction == pytest.approx(part * (shares.correction + rounds))


def test_the_correction_of_contributions_spends_its_whole_share():
    assert sum(CORRECTION.values()) == pytest.approx(1.0)
    assert sum(CORRECTION_OF_LIKELIHOOD.values()) == pytest.approx(1.0)
    assert sum(CORRECTION_OF_BOUNDED.values()) == pytest.approx(1.0)


def test_bounded_slopes_keep_more_than_half_of_the_rest_for_their_rounds():
    """Others leave nine tenths to the correction, which removes what clipping residuals biases."""
    limit = from_on("correction of bounded slopes", N_FEATURES)
    assert plan("huber", 0.99 * limit)[0].correction == 0.0
    shares, spent = plan("huber", 1e6)
    rounds = sum(share for stage, share in spent.items() if stage.startswith("rounds of"))
    assert shares.correction == pytest.approx(0.4 * (shares.correction + rounds))


def from_on(regime, n_features):
    """From which ``n * mu`` on a regime holds."""
    above = REGIMES[regime].above
    return max(above["fixed"], above["size**1.5"] * (n_features + 1) ** 1.5)


@pytest.mark.parametrize(("name", "regime"), [
    ("logistic", "correction of outcomes"), ("poisson", "correction of counts"),
])  # fmt: skip
def test_likelihoods_leave_their_last_phase_to_the_correction_from_a_budget_on(name, regime):
    limit = from_on(regime, 3)
    below, above = (plan(name, part * limit, n_features=3)[0] for part in (0.99, 1.01))
    assert below.correction == 0.0 < above.correction
    assert (len(below.rounds), len(above.rounds)) == (4, 3)


def test_amounts_are_corrected_from_more_records_on_than_outcomes_and_counts():
    for part in (0.99, 1.01):
        mu = part * from_on("correction of a likelihood", 3) / 10_000
        shares = shares_for(Problem(tg.losses.Gamma(), 10_000, 3, intercept=True), mu)
        assert (shares.correction > 0.0) == (part > 1.0)


@pytest.mark.parametrize(("loss", "part"), [
    (tg.losses.Squared(), 0.9), (tg.losses.Gamma(), 0.9),
    (tg.losses.Poisson(), 0.7), (tg.losses.Logistic(), 0.7),
])  # fmt: skip
def test_levels_and_weights_take_from_correction_and_rounds_alike(loss, part):
    plain = Problem(loss, 20_000, 6, intercept=True)
    levels = replace(plain, levels=((0, 1, 2), (3, 4)))
    weighed = replace(plain, has_weights=True)
    for problem in (plain, levels, weighed):
        shares = shares_for(problem, 1.0)
        left = shares.rest(problem)
        assert shares.correction == pytest.approx(part * (shares.correction + left))


@pytest.mark.parametrize("beside", ["has_offset", "has_weights"])
def test_counts_with_exposures_or_weights_are_corrected_from_more_records_on(beside):
    plain = Problem(tg.losses.Poisson(), 10_000, 3, intercept=True)
    for problem, least in [(plain, 1_000.0), (replace(plain, **{beside: True}), 2_000.0)]:
        shares = [shares_for(problem, part * least / 10_000) for part in (0.99, 1.01)]
        assert [each.correction > 0.0 for each in shares] == [False, True]


@pytest.mark.parametrize("budget", [1e3, 1.9e3])
def test_correcting_few_columns_gets_the_more_the_fewer_there_are(budget):
    shares, left = np.transpose([corrected(n_features, budget) for n_features in range(1, 16)])
    assert (np.diff(shares) <= 0.0).all()
    assert shares[0] > 1.5 * PLANNED
    assert shares[0] <= LARGEST_DEBIASING
    assert (shares >= PLANNED).all()
    assert (left > 0.25).all()


def test_correcting_few_columns_gets_more_from_a_budget_on():
    budgets = (part * FEW for part in (0.999, 1.001, 2.0))
    below, above, far_above = (corrected(3, budget)[0] for budget in budgets)
    assert below == PLANNED < above
    assert far_above > 1.1 * below


def test_correcting_gets_no_more_where_clipping_bias_is_kept_or_curvature_varies():
    assert corrected(3, robust=True)[0] == 0.0
    for loss in (LOSSES["huber"], tg.losses.Quantile(0.8)):
        assert corrected(3, loss=loss)[0] == 0.0
    poisson = LOSSES["poisson"]
    few, many = (corrected(n_features, 1.9e3, loss=poisson)[0] for n_features in (3, 100))
    assert 0.0 < few == many < PLANNED


def test_residuals_are_looked_at_less_often_of_few_records_and_at_a_larger_share():
    few, more = (plan("squared", part * FEW, n_features=2)[0] for part in (0.99, 1.01))
    assert few.diagnostic_phases == (0,)
    assert more.diagnostic_phases == (0, 2, 3)
    assert few.slopes > 4.0 * more.slopes / len(more.diagnostic_phases)
    few, more = (plan("huber", part * FEW, n_features=2)[0] for part in (0.99, 1.01))
    assert few.diagnostic_phases == (0,)
    assert more.diagnostic_phases == (0, 1, 2, 3)


def test_more_rounds_are_taken_where_noise_hides_directions_but_not_of_likelihoods():
    for reached, squared, logistic in [(2.4, 8, 8), (5.1, 32, 8), (7.1, 64, 8), (10.1, 64, 16)]:
        for loss, rounds in [(tg.losses.Squared(), squared), (tg.losses.Logistic(), logistic)]:
            problem = Problem(loss, 10_000, 49, intercept=True)
            found = shares_for(problem, mu=reached * problem.size / problem.n_rows)
            assert sum(found.rounds) == rounds


def problems():
    """Problems of every kind of loss, with budgets of every size."""
    others = tg.losses.Quantile(0.8), tg.losses.LpLoss(4.0), tg.losses.Gamma()
    for loss in [*LOSSES.values(), *others]:
        for n_rows in (10_000, 3_000_000):
            for n_features in (2, 40):
                for budget in (20.0, 300.0, 450.0, 1.5e3, 2e3, 2e4, 2e6):
                    yield Problem(loss, n_rows, n_features, intercept=True), budget / n_rows
    # Counts are corrected from fewer records on than other likelihoods.
    yield Problem(tg.losses.Poisson(), 10_000, 2, intercept=True), 0.15


def test_every_regime_holds_somewhere_and_changes_something(monkeypatch):
    plans = [(problem, mu, shares_for(problem, mu)) for problem, mu in problems()]
    for name, regime in [*REGIMES.items()]:
        with monkeypatch.context() as patch:
            patch.setitem(REGIMES, name, replace(regime, losses="none"))
            assert any(shares_for(problem, mu) != shares for problem, mu, shares in plans), name


def test_chosen_shares_pass_the_check_of_shares_that_a_user_gives():
    for problem, mu in problems():
        shares_for(problem, mu).check()
