"""In which order persons are read, and how far that is from a random one."""

import numpy as np

from tailguard.queries.loop import LatticeSum

STRANGE = 6.0  # a random order is stranger than this once in some ten million reads


def strangeness(order, n_persons):
    """How far persons, by their ranks below ``n_persons``, are from a random order of some of them.

    It is the largest of three numbers of deviations: the correlation of ranks and places, how often
    persons who are read one after the other are as far apart as others are (each distance comes
    about once by chance), and how often neighbours are both read or both not (Wald and Wolfowitz
    1940).
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
    """Different values in the order in which they come."""
    return list(dict.fromkeys(np.asarray(values).tolist()))


class HeardReads:
    """What queries read: which records together, and the first cells of the rows as they come."""

    def __init__(self, monkeypatch):
        self.reads, sum_block = [], LatticeSum.sum_block

        def heard(kernel, block):
            if not kernel.reads_cells and block.person is not None:
                self.reads.append((kernel.together, block.features[:, 0].tolist()))
            return sum_block(kernel, block)

        monkeypatch.setattr(LatticeSum, "sum_block", heard)
