import pytest

from tailguard.checks import InputError
from tailguard.sets import Box, make_set


def test_makes_sets_with_their_parameters():
    assert make_set("box", low=0.0, high=1.0) == Box(0.0, 1.0)


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(InputError, match=r"name must be one of .*'box', .*; got 'ball'"):
        make_set("ball")
