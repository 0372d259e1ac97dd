"""What audits need and no user can have: a gate that answers any object that looks like a query."""

import pytest


@pytest.fixture
def any_query(monkeypatch):
    """Let attackers listen in, and let queries be asked that are wrong on purpose."""
    monkeypatch.setattr("tailguard.queries.admission.check_admitted", lambda query: None)
