"""Warnings about privacy cost that nothing counts: fits without a ledger, scores without noise."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from tailguard.checks import warn_before_spending
from tailguard.privacy.accounting.total_cost import total_cost
from tailguard.privacy.events import Composed, Event
from tailguard.privacy.guarantees import Guarantee


def fits_with(earlier: tuple[Event, ...], event: Event, guarantee: Guarantee) -> tuple[Event, ...]:
    """Return what an object was fitted with so far, and at the second fit warn of what both cost.

    That follows from plans alone. Whether the records were the same nobody knows here.
    """
    events = (*earlier, event)
    if len(events) == 2:
        cost = total_cost(Composed(events), guarantee.delta, bound_mu=True)
        known = {"epsilon": cost.epsilon, "mu": cost.mu, "rho": cost.rho}
        name, value = next((k, v) for k, v in known.items() if v is not None)
        at = "" if cost.delta is None or name != "epsilon" else f" at delta = {cost.delta:g}"
        warn_before_spending(
            "an object is fitted a second time, and no ledger adds its fits up: if the records are "
            f"the same, both cost {name} = {value:.4g}{at} together, and each certificate states "
            "its own fit alone; pass ledger=tg.Ledger(...) to count and to cap them."
        )
    return events


def warn_of_score(model: Any) -> None:
    """Warn that a score of a private fit is not private itself."""
    check_is_fitted(model)
    if model.certificate_.mode == "private":
        warn_before_spending(
            "a score reads records and has no noise, so neither it nor a choice that is made by it "
            "is private, with or without a ledger: keep scores of private records to yourself."
        )
