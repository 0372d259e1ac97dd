"""Which records a kernel reads together, and which places a query needs: said by every one, and so.

Where rows have no order, a kernel that says it reads none together sums them where they lie.
"""

import numpy as np
import pytest

from support.attack import calibrated
from support.examples import query_examples
from support.smooth import smooth_examples
from tailguard.checks import InputError, class_called
from tailguard.data.rows.arrays import ArrayRows, make_rows
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock
from tailguard.queries.base import GaussianQuery, SmoothQuery
from tailguard.queries.registry import QUERIES, SMOOTH_QUERIES


def all_queries():
    """Map each name to a class that defines a loop over a block."""
    registry = QUERIES | SMOOTH_QUERIES
    found = [class_called(name, registry) for name in registry]
    plain = GaussianQuery.sum_block
    return {kind.__name__: kind for kind in found if getattr(kind, "sum_block", plain) is not plain}


class Overheard(ArrayRows):
    """Records that log the kernels they sum, and whether places were requested."""

    def overhear(self):
        self.asked, self.by_place = [], False
        return self

    def reduce(self, kernel, n_threads=None):
        self.asked.append(kernel)
        return super().reduce(kernel, n_threads)

    def restricted(self, places):
        self.by_place = True
        return super().restricted(places)


def overheard(rows):
    rows.__class__ = Overheard
    return rows.overhear()


def examples():
    """Name -> query, and a function that runs it on records, which log the requests."""
    found = {}
    for example in query_examples():
        found[example.name] = example.query, example.width, asker(example)
    for example in smooth_examples():
        found[example.name] = example.query, example.width, smooth_asker(example)
    return found


def asker(example):
    def ask(data):
        rows = overheard(example.read(data))
        example.query.answer(rows, example.state, calibrated(example, len(data)))
        return rows

    return ask


def smooth_asker(example):
    def ask(data):
        data = data[: example.n_rows]
        rows = overheard(make_rows(data[:, :-1].copy(), data[:, -1].copy(), loss=example.loss))
        with np.errstate(all="ignore"):
            example.query.answer(rows, example.state, example.calibration())
        return rows

    return ask


EXAMPLES = examples()
N_ROWS = 300
every_example = pytest.mark.parametrize("name", EXAMPLES)


def records(width):
    rng = np.random.default_rng(0)
    return np.abs(rng.standard_t(3, (N_ROWS, width)))  # exposures are positive


def asked(name):
    """The records of an example after its query was answered, and the query."""
    query, width, ask = EXAMPLES[name]
    return ask(records(width)), query


def is_the_same_in_any_order(kernel, block):
    """Whether a kernel has the same whole numbers for permuted records, cut anywhere."""
    rng = np.random.default_rng(1)
    try:
        expected = kernel.sum_block(block)
        for sizes in ((1, 2, 3), (7, 16, 61)):
            order, start, total = rng.permutation(block.n_rows), 0, np.zeros_like(expected)
            while start < block.n_rows:
                some = order[start : start + int(rng.choice(sizes))]
                total += kernel.sum_block(block.at(some, first=None))
                start += len(some)
            if (total != expected).any():
                return False
    except InputError:
        return False
    return True


@every_example
def test_of_kernels_that_read_none_together_the_sum_is_one_and_of_others_it_is_not(name):
    rows, _ = asked(name)
    assert rows.asked or rows.by_place
    for kernel in rows.asked:
        block = rows.without_order().block()
        alone = kernel.together == "none"
        assert is_the_same_in_any_order(kernel, block) == alone


@every_example
def test_a_query_that_needs_no_places_asks_for_no_kernel_and_no_rows_that_do(name):
    rows, query = asked(name)
    needed = rows.by_place or any(kernel.together != "none" for kernel in rows.asked)
    assert query.by_place or not needed
    assert query.by_place or query.places != "random"


def test_the_loop_of_every_query_is_asked_for_by_some_example():
    asked_for = [kernel for name in EXAMPLES for kernel in asked(name)[0].asked]
    found = {type(getattr(kernel, "query", kernel)).__name__ for kernel in asked_for}
    assert found >= set(all_queries())


class PairedSum:
    """Adds up differences of neighbours, and says that it reads none together."""

    together = "none"

    def sum_block(self, block):
        even = block.features[: block.n_rows // 2 * 2, 0]
        return np.array([int(np.rint(1e3 * np.abs(even[::2] - even[1::2])).sum())])


def test_one_that_pairs_and_says_that_it_reads_none_together_is_found_out():
    features = np.random.default_rng(2).standard_normal((CHUNK_ROWS, 1))
    assert not is_the_same_in_any_order(PairedSum(), RecordBlock(features, first=None))


class SilentQuery(GaussianQuery):
    """States all but the places it needs."""

    name = "silent"
    parameters = sensitivity = None


def test_a_query_that_does_not_say_which_places_it_needs_cannot_be_made():
    with pytest.raises(TypeError, match=r"method '?places'?$"):
        SilentQuery()


def test_what_sorts_or_cuts_is_by_place_unless_it_says_otherwise():
    assert SmoothQuery.places == "any"
