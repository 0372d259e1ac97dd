import numpy as np
import pytest

import tailguard as tg
from tailguard.checks import InputError
from tailguard.losses import Multinomial, Quantile, make_loss
from tailguard.losses.registry import LOSSES, RECORD_LOSSES


def test_makes_losses_with_their_parameters():
    assert make_loss("quantile", level=0.9) == Quantile(level=0.9)
    assert make_loss("multinomial", n_classes=3) == Multinomial(3)


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(InputError, match=r"name must be one of .*'huber', .*; got 'hinge'"):
        make_loss("hinge")


def test_a_misspelt_parameter_is_an_error():
    with pytest.raises(TypeError, match="treshold"):
        make_loss("huber", treshold=1.0)


@pytest.mark.parametrize("name", sorted(LOSSES | RECORD_LOSSES))
def test_labels_are_the_first_so_many_whole_numbers(name):
    options = {"multinomial": {"n_classes": 3}, "record_gradient": {"function": lambda w, x, y: x}}
    loss = make_loss(name, **options.get(name, {}))
    valid = loss.valid_target(np.array([0.0, 1.0, 2.0, 3.0, 0.5]))
    counted = int(np.argmin(valid)) if not valid[3] else None
    assert loss.n_classes == counted


def test_a_loss_of_somebodys_own_is_refused_before_it_is_asked_for_anything():
    class Own:
        def valid_target(self, target):
            raise AssertionError

    with pytest.raises(InputError, match=r"loss must be one of tg\.losses"):
        tg.minimize(Own(), np.zeros((50, 1)), np.zeros(50), epsilon=1.0, delta=1e-6)
