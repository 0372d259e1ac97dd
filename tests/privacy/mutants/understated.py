"""A query on a smooth scale that hands a smaller one to the noise."""

import dataclasses


class Understated:
    """All that the query is, with its scale divided by ``factor``."""

    def __init__(self, query, factor):
        self._query, self._factor = query, factor

    def __getattr__(self, name):
        return getattr(self._query, name)

    def answer(self, rows, state, calibration):
        found = self._query.answer(rows, state, calibration)
        return dataclasses.replace(found, scale=found.scale / self._factor)
