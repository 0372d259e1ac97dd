"""Selection among candidates under one budget: :class:`PrivateSearch`."""

from tailguard.estimators.search.private_search import PrivateSearch

__all__ = ["PrivateSearch"]
