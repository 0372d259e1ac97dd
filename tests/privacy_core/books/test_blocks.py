"""Public facts of partitions, where a release read, and the names of maps in lasting books."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailguard.checks import InputError
from tailguard.privacy.books.blocks import Blocks, block_sizes
from tailguard.privacy.books.releases import Release, namespaced_event, namespaced_release
from tailguard.privacy.events import Composed, Gaussian, Parallel, Repeated


@given(n_rows=st.integers(1, 10_000), data=st.data(), equal=st.booleans())
def test_sizes_are_as_even_as_they_can_be(n_rows, data, equal):
    n_blocks = data.draw(st.integers(1, n_rows))
    sizes = block_sizes(n_rows, n_blocks, None, equal=equal)
    assert len(sizes) == n_blocks
    assert min(sizes) == n_rows // n_blocks
    assert max(sizes) - min(sizes) <= (0 if equal else 1)
    assert n_rows - sum(sizes) == (n_rows % n_blocks if equal else 0)


@pytest.mark.parametrize("n_blocks", [0, 11, 2.5])
def test_numbers_of_blocks_that_cannot_be(n_blocks):
    with pytest.raises(InputError, match="n_blocks must be a whole number"):
        block_sizes(10, n_blocks, None, equal=False)


@pytest.mark.parametrize("sizes", [(), (6, 5), (0, 5), (-1, 5), (3, 4)])
def test_sizes_that_cannot_be(sizes):
    with pytest.raises(InputError, match="sizes must"):
        block_sizes(10, None, sizes, equal=True)


def test_blocks_are_given_by_their_number_or_by_their_sizes():
    for both in ((None, None), (2, (5, 5))):
        with pytest.raises(InputError, match="n_blocks or sizes, one of the two"):
            block_sizes(10, *both, equal=False)


def test_blocks_are_a_sequence_of_frozen_facts():
    blocks = Blocks("m", (3, 4, 5))
    assert [block.n_rows for block in blocks] == [3, 4, 5]
    assert blocks[-1] == blocks[2]
    assert [block.index for block in blocks[1:]] == [1, 2]
    assert pickle.loads(pickle.dumps(blocks[1])) == blocks[1]
    with pytest.raises(IndexError):
        blocks[3]
    with pytest.raises(AttributeError):
        blocks.name = "other"
    assert {str(word) for word in vars(blocks[0])} == {"blocks", "index"}


def release(**facts):
    return Release("mean", "Mean", "gaussian", "l2", sensitivity=1.0, noise_std=2.0, **facts)


@pytest.mark.parametrize(
    ("block_map", "block", "parameters"),
    [
        (None, 1, {}),
        ("m", None, {}),
        ("m", None, {"map_blocks": 0}),
        ("m", 0, {"map_order": "sorted"}),
        ("m", 0, {"map_blocks": -1}),
    ],
)
def test_places_that_cannot_be(block_map, block, parameters):
    with pytest.raises(InputError):
        release(block_map=block_map, block=block, parameters=parameters)


def test_a_release_says_which_blocks_it_read():
    one = release(block_map="m", block=1)
    assert one.event() == Parallel("m", 1, Gaussian(0.5))
    every = release(block_map="m", parameters={"map_blocks": 2})
    assert every.event() == Composed(tuple(Parallel("m", j, Gaussian(0.5)) for j in (0, 1)))
    inner = release(block_map="m", block=1, parameters={"outer_map": "n", "outer_block": 3})
    assert inner.event() == Parallel("n", 3, Parallel("m", 1, Gaussian(0.5)))
    assert Release(**inner.to_dict()) == inner


def test_lasting_books_see_two_maps_of_one_name_as_two():
    tree = Composed((Repeated(Parallel("m", 0, Parallel("n", 1, Gaussian(1.0))), 2), Gaussian(1.0)))
    scoped = namespaced_event(tree, "a")
    inner = Parallel("a/m", 0, Parallel("a/n", 1, Gaussian(1.0)))
    assert scoped == Composed((Repeated(inner, 2), Gaussian(1.0)))
    nested = release(block_map="n", block=1, parameters={"outer_map": "m", "outer_block": 0})
    assert namespaced_release(nested, "a").event() == namespaced_event(nested.event(), "a")
    assert namespaced_release(release(), "a") == release()


def test_facts_name_the_order_and_the_block_that_is_cut():
    outer = Blocks("m", (5, 5), amplified=True)
    inner = Blocks("n", (2, 3), within=outer[1])
    assert outer.facts() == {"map_blocks": 2, "map_order": "shuffled"}
    place = {"outer_map": "m", "outer_block": 1}
    assert inner.facts() == {"map_blocks": 2, "map_order": "disjoint", **place}
    assert block_sizes(10, None, (4, 4), equal=True) == (4, 4)
