"""The use of a budget: the share of each stage in the reserved cost.

Costs are compared in rho, which adds up for every mechanism (Bun and Steinke 2016, Lemma 2.3). For
Gaussian releases a share of rho is a share of the total's squared mu, as in plans.
"""

from dataclasses import dataclass

from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.books.releases import Release, spent_event
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Event


@dataclass(frozen=True)
class StageShare:
    """The releases of one stage, their number, and their share of the reserved cost.

    If a mechanism has no rho, the share is None.
    """

    stage: str
    what: str
    n_releases: int
    share: float | None


def stage_shares(certificate: Certificate) -> tuple[StageShare, ...]:
    """Return the shares of all stages, in the order of their first releases."""
    stages: dict[str, list[Release]] = {}
    for release in certificate.releases:
        stages.setdefault(release.stage or release.name, []).append(release)
    reserved = _rho(certificate.planned)
    shares = []
    for stage, releases in stages.items():
        cost = _rho(spent_event(releases))
        share = None if not reserved or cost is None else cost / reserved
        what = "; ".join(dict.fromkeys(release.name for release in releases))
        shares.append(StageShare(stage, what, sum(each.times for each in releases), share))
    return tuple(shares)


def _rho(event: Event) -> float | None:
    """Return the rho of an event; None if a part of it has no rho, or has a failure probability."""
    accountant = ZcdpAccountant.of(event)
    return None if accountant is None or accountant.failure else accountant.rho
