"""Tables of pages that are computed and not measured are computed again: ``make numbers``."""

import math
import re
from importlib.util import find_spec

import pytest
from scipy.stats import norm

import tailguard as tg
from docs.test_numbers import prose, text
from tailguard.audit.bounds import audit_power, gaussian_claim, runs_for
from tailguard.audit.cases import FALSE_ALARM, PLANNED_POWER
from tailguard.audit.gates import MUTANTS, NOISE
from tailguard.audit.of_runs import MU, SEEN
from tailguard.privacy.accounting.cover import covering_mu
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.total_cost import smallest_epsilon
from tailguard.privacy.events import Selected
from tailguard.privacy.selection import mu_of_a_try
from tailguard.privacy.tries import NumberOfTries

with_the_wing = pytest.mark.skipif(
    find_spec("tailguard.papers") is None, reason="the page counts the rows of the wing, too"
)
LAWS = ("geometric", "logarithmic", "poisson")
TRY = tg.ApproxDP(1.0, 1e-6)


def cost(mean, law):
    """Epsilon of a search whose tries keep ``TRY``."""
    return smallest_epsilon(Selected(TRY.gaussian_mu(), float(mean), law), TRY.delta).epsilon


def chance(share):
    """Whole per cent; a digit more between 0 and 1."""
    return f"{100 * share:.1f} %" if 0.0005 <= share < 0.01 else f"{100 * share:.0f} %"


@pytest.mark.parametrize("mean", [3, 10, 30, 100])
def test_what_a_search_costs_is_computed_anew(mean):
    cells = []
    for law in LAWS:
        never = NumberOfTries(mean, law).never(1 / 5)
        cells.append(f"{cost(mean, law):.2f}, never {chance(never)}")
    assert f"| {mean} | {' | '.join(cells)} |" in text("docs/counted-search.md")


def of_fits(epsilon, mean, beside):
    """Return epsilon of a search over that of the fit of a try, and the mu of its cover."""
    whole = tg.ApproxDP(epsilon, 1e-6)
    mu = mu_of_a_try(whole, NumberOfTries(mean), beside)
    cover, _ = covering_mu(Selected(mu, float(mean)))
    return epsilon / epsilon_of(mu * 0.9**0.5, whole.delta), cover / whole.gaussian_mu()


def test_ten_tries_cost_less_than_twice_one_fit():
    shares = [of_fits(epsilon, 10, 0.05**0.5)[0] for epsilon in (0.5, 1.0, 2.0)]
    low, high = min(shares), max(shares)
    assert f"expected tries cost about {high:.1f} times the epsilon" in prose(
        "docs/counted-search.md"
    )
    page = prose("docs/mechanisms/best-of-tries.md")
    assert f"Ten expected tries cost {low:.2f} to {high:.1f} times the epsilon" in page
    assert cost(50, "geometric") < cost(10, "poisson") < cost(70, "geometric")
    said = "at the cost of ten Poisson tries the geometric distribution makes more than fifty"
    assert said in page
    covers = [of_fits(1.0, mean, 0.0)[1] for mean in (3, 10)]
    said = "from {:.1f} times the mu of a fit of the same epsilon for 3 expected tries to {:.1f}"
    assert said.format(*covers) in prose("docs/counted-search.md")


def test_what_speaks_for_one_table_and_what_an_attacker_learns():
    held, share = 0.2, 0.1  # of the records held out; of the squared mu of a try, for its score
    noise = [1 / (1 - held), (1 - share) ** -0.5, 1 / held, share**-0.5]
    said = "{:.2f} times that with all records, against {:.2f} times with nine tenths of the "
    said += "squared mu, and the noise of scores {:.0f} against {:.1f} times"
    assert said.format(*noise) in prose("docs/mechanisms/best-of-tries.md")
    odds = math.exp(1.0)
    for said in (f"{100 * odds / (1 + odds):.0f} %", f"{odds:.1f} %"):
        assert f"; {said} at epsilon = 1" in prose("docs/report.md")


def test_what_three_runs_cost_together_is_computed_anew():
    mus = [tg.ApproxDP(epsilon, 1e-6).gaussian_mu() for epsilon in (1.0, 2.0, 0.5)]
    together = epsilon_of(math.hypot(*mus), 1e-5)
    said = f"1, 2 and 0.5, and together cost {together:.2f} at `delta=1e-5`"
    assert said in prose("docs/one-ledger.md")


N_ROWS = 100  # the page plans for as many, so that a new row changes none of its numbers


def even(mu, factor=1.0 / NOISE):
    """Errors of a threshold halfway where noise is too small by a factor."""
    return (float(norm.sf(mu * factor / 2.0)),) * 2


def planned(mu, factor, *, summed=True, of_claim=1.0):
    return runs_for(
        gaussian_claim(mu),
        rates=even(of_claim * mu, factor),
        false_alarm=FALSE_ALARM / N_ROWS,
        power=PLANNED_POWER,
        summed=summed,
    )


@with_the_wing
def test_runs_of_an_audit_are_planned_anew():
    page, plain, mus = text("docs/audits.md"), prose("docs/audits.md"), (1.0, 1.5, 2.0, 2.5, 3.0)
    faults = {"noise of 0.8 times the scale": 1.0 / NOISE, "half the sensitivity": 2.0}
    assert {gate.factor for gate in MUTANTS.values()} == {*faults.values()}
    runs = {name: [planned(mu, factor) for mu in mus] for name, factor in faults.items()}
    for name, row in runs.items():
        assert f"| {name} | {' | '.join(map(str, row))} |" in page
    apart = [planned(mu, 1.0 / NOISE, summed=False) for mu in mus]
    saved = {round(a / b, 2) for a, b in zip(runs[next(iter(faults))], apart, strict=True)}
    assert f"It takes {min(saved)} to {max(saved)} times as many runs" in plain
    assert f"take some more: {planned(MU, 1.0 / NOISE, of_claim=SEEN)}." in plain


@with_the_wing
def test_power_of_audits_is_computed_anew():
    page = prose("docs/audits.md")
    assert f"{FALSE_ALARM} over the number of rows (Bonferroni), such as 1e-5 for {N_ROWS}" in page
    mutants = N_ROWS * len(MUTANTS)
    said = f"{mutants} mutants, two of each of {N_ROWS} rows, are all seen with probability"
    assert f"{said} {PLANNED_POWER**mutants:.1f} over" in page

    def power(mu, n_runs):
        """As ``tg.audit`` counts both errors by themselves."""
        return audit_power(gaussian_claim(mu), n_runs, rates=even(mu), false_alarm=FALSE_ALARM)

    assert min(power(mu, 1_500) for mu in (1.5, 2.0, 3.0)) > 0.99
    said = "with power above 0.99 for mu from 1.5 to 3, and {:.2f} at mu = 1, where 2 300 runs"
    assert f"{said.format(power(1.0, 1_500))} reach {power(1.0, 2_300):.2f} (computed)" in page


def test_the_fair_share_of_seeded_faults_is_that_of_its_sample():
    """The last fresh sample over all rooms, and what the page makes of it."""
    page, table = prose("docs/audits.md"), text("benchmarks/results/mutants.md")
    row = re.search(r"^\| from the 1050th on.*$", table, re.M)[0].split(" | ")
    share, limits, without, of_these = row[4], row[5], row[7], row[8].removesuffix(" |")
    assert f"**{share} ({limits})**" in page
    assert f"or {without} ({of_these}) of those that do harm" in page
