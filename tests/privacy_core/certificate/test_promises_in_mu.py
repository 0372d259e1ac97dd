"""What a certificate says in mu: recomputed from its file, by the formulas that it cites."""

import json
import math
from collections import defaultdict

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from support.certificates import certify
from tailguard import SparseLinearRegression
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.certificate.pages import COMPOSITION
from tailguard.privacy.events import (
    BoundedRange,
    Composed,
    Gaussian,
    Laplace,
    Repeated,
    event_from_dict,
)
from tailguard.privacy.flat_events import flatten
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP


def mu_from(event):
    """Add up a planned event as JSON has it, by the formulas that the certificate cites."""
    if event["kind"] == "composed":
        blocks = defaultdict(lambda: defaultdict(list))
        for part in event["events"]:
            blocks[part.get("block_map")][part.get("block")].append(mu_from(part))
        return math.hypot(*(max(math.hypot(*m) for m in b.values()) for b in blocks.values()))
    if event["kind"] == "parallel":
        return mu_from(event["event"])
    if event["kind"] == "repeated":
        return math.sqrt(event["times"]) * mu_from(event["event"])
    if event["kind"] == "gaussian":
        return event["mu"]
    half = {"bounded_range": 0.5, "laplace": 1.0}[event["kind"]]
    return -2.0 * norm.ppf(expit(-half * next(v for v in event.values() if v != event["kind"])))


@pytest.mark.parametrize(
    ("other", "cited"),
    [
        (BoundedRange(eta=0.2), "Dong, Durfee and Rogers 2020, Section 3"),
        (Laplace(epsilon=0.1), "Dong, Roth and Su 2022, Proposition 2.10"),
    ],
)
def test_a_promise_in_mu_states_the_mu_that_was_checked_and_how(other, cited):
    planned = Composed((Repeated(other, 3), Gaussian(0.2)))
    certificate = certify(planned, [], guarantee=GDP(0.3))
    data = json.loads(certificate.to_json())
    assert satisfies(planned, GDP(data["total"]["mu"] * (1 + 1e-9)))
    assert not satisfies(planned, GDP(data["total"]["mu"] * (1 - 1e-9)))
    assert data["total"]["mu"] == pytest.approx(mu_from(data["planned"]), rel=1e-9)
    assert data["total"]["accountant"] == "gdp"
    assert data["composition"].startswith(COMPOSITION["gdp bound"])
    assert cited in data["composition"]
    for cited_without_cause in ("exactly", "Proposition 12", "zero-concentrated"):
        assert cited_without_cause not in data["composition"]
    assert "mu = " in certificate.to_text()


def test_a_sparse_fit_under_a_promise_in_mu_states_it():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 3))
    model = SparseLinearRegression(guarantee=GDP(0.5), n_nonzero=2, random_state=0)
    data = json.loads(model.fit(X, X[:, 0]).certificate_.to_json())
    assert BoundedRange in flatten(event_from_dict(data["planned"])).kinds
    assert data["total"]["mu"] == pytest.approx(mu_from(data["planned"]), rel=1e-9)
    assert data["spent"]["mu"] <= data["total"]["mu"] <= 0.5
    assert "Dong, Durfee and Rogers 2020" in data["composition"]


@pytest.mark.parametrize("guarantee", [ZCDP(0.5), ApproxDP(5.0, 1e-6), PureDP(5.0)])
def test_other_promises_state_no_bound_in_mu(guarantee):
    assert certify(BoundedRange(eta=0.2), [], guarantee=guarantee).total.mu is None


@pytest.mark.parametrize(
    ("event", "guarantee", "rule"),
    [
        (Gaussian(0.1), GDP(1.0), "gdp"),
        (Laplace(0.5), PureDP(1.0), "pure"),
        (Laplace(0.5), ZCDP(0.5), "zcdp"),
    ],
)
def test_a_rule_is_a_bound_in_mu_only_where_mu_adds_up_what_is_not_gaussian(event, guarantee, rule):
    data = certify(event, [], guarantee).to_dict()
    assert data["composition"].startswith(COMPOSITION[rule])
