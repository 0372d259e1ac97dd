import pytest

from tailguard.checks import InputError
from tailguard.losses import Multinomial, Quantile, make_loss


def test_makes_losses_with_their_parameters():
    assert make_loss("quantile", level=0.9) == Quantile(level=0.9)
    assert make_loss("multinomial", n_classes=3) == Multinomial(3)


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(InputError, match=r"name must be one of .*'huber', .*; got 'hinge'"):
        make_loss("hinge")


def test_a_misspelt_parameter_is_an_error():
    with pytest.raises(TypeError, match="treshold"):
        make_loss("huber", treshold=1.0)
