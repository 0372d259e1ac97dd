"""A target that the loss does not allow, and one that it does."""

from support.query_example import Example
from tailguard.losses.poisson import Poisson
from tailguard.queries.usable_records import UsableRecords


def examples():
    allowed, refused = (0.0, 0.0, 0.0, 2.0), (0.0, 0.0, 0.0, -1.0)
    yield Example("usable-records/poisson", UsableRecords(), None, allowed, refused, Poisson())
