"""Noise and costs that are worked out in decimals do not follow the user's decimal context."""

from decimal import ROUND_UP, Context, Inexact, getcontext, localcontext

import numpy as np
import pytest

from support.sources import ScriptedSource
from tailguard.noise.discrete_gaussian import gaussian_table
from tailguard.noise.discrete_laplace import binary_digits
from tailguard.noise.peeling import gumbel_top
from tailguard.privacy import selection
from tailguard.privacy.decimals import decimals
from tailguard.privacy.tries import NumberOfTries

CONTEXTS = {
    "few digits": Context(prec=1, rounding=ROUND_UP),
    "a small range": Context(prec=9, Emax=9, Emin=-9, clamp=1),
    "traps": Context(traps=[Inexact]),
}


def undecided():
    """A peeling whose keys further digits decide."""
    script = ScriptedSource([2**63] * 3 + [5, 0, 0, 0, 7, 0, 0, 0, 6, 9, 0, 0])
    return gumbel_top(np.array([10, 10, 10]), 1, 2.0**26, script).tolist()


WORKED_OUT = {
    "table": lambda: [part.tolist() for part in gaussian_table.__wrapped__()],
    "digits": lambda: binary_digits(lambda: getcontext().create_decimal(2).exp() / 10, 300),
    "peeling": undecided,
    "tries": lambda: selection._number_chances.__wrapped__(NumberOfTries(10.0, "logarithmic")),
}


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", WORKED_OUT)
def test_the_users_context_decides_nothing(name, context):
    expected = WORKED_OUT[name]()
    with localcontext(CONTEXTS[context]):
        assert WORKED_OUT[name]() == expected


def test_a_context_is_entered_and_left():
    before = getcontext().prec
    with decimals(7) as own:
        assert getcontext().prec == own.prec == 7
        assert not own.traps[Inexact]
    assert getcontext().prec == before
