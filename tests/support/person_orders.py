"""The order in which persons are read, and its deviation from a random one."""

import numpy as np

from tailguard.queries.loop import LatticeSum

STRANGE = 6.0  # a random order exceeds this about once in ten million reads


def strangeness(order, n_persons):
    """Deviation of a sequence of persons, by ranks below ``n_persons``, from a random order.

    It is the largest of three statistics in standard deviations: the correlation of ranks and
    places; the largest number of equal distances between consecutive persons (each distance occurs
    about once by chance); and the number of neighbours that are both read or both not read (Wald
    and Wolfowitz 1940).
    """
    order, n_read = np.asarray(order), len(order)
    places = np.argsort(np.argsort(order))
    told = abs(np.corrcoef(places, np.arange(n_read))[0, 1]) * np.sqrt(n_read - 1.0)
    beside = (np.unique(np.diff(order), return_counts=True)[1].max() - 2.0) / 2.0
    if n_read == n_persons:
        return max(told, beside)
    within = np.isin(np.arange(n_persons), order)
    runs = 1.0 + np.count_nonzero(within[1:] != within[:-1])
    expected = 2.0 * n_read * (n_persons - n_read) / n_persons
    variance = expected * (expected - 1.0) / (n_persons - 1.0)
    return max(told, beside, abs(runs - 1.0 - expected) / np.sqrt(variance))


def first_seen(values):
    """Distinct values in order of first occurrence."""
    return list(dict.fromkeys(np.asarray(values).tolist()))


class HeardReads:
    """A log of queries' reads: the records read together, and the first cells of rows in order."""

    def __init__(self, monkeypatch):
        self.reads, sum_block = [], LatticeSum.sum_block

        def heard(kernel, block):
            if not kernel.reads_cells and block.person is not None:
                self.reads.append((kernel.together, block.features[:, 0].tolist()))
            return sum_block(kernel, block)

        monkeypatch.setattr(LatticeSum, "sum_block", heard)
