"""A moment says of what kind it is, and becomes another kind only by proof."""

import numpy as np
import pytest

import tailguard as tg

KINDS = ("central", "raw", "directional", "norm")
PROVED = {
    *(("norm", "directional"), ("norm", "raw"), ("directional", "raw")),
    *((kind, kind) for kind in KINDS),
}


@pytest.mark.parametrize("old", KINDS)
@pytest.mark.parametrize("new", KINDS)
def test_kinds_convert_by_proof_and_are_refused_without_one(old, new):
    moment = tg.Moment(3.0, 8.0, kind=old)
    if (old, new) in PROVED:
        assert moment.convert(new, n_features=5) == tg.Moment(3.0, 8.0, kind=new)
        return
    with pytest.raises(tg.InputError, match=f"{new!r} here; a bound of kind {old!r}"):
        moment.convert(new, n_features=5)


@pytest.mark.parametrize("kind", KINDS)
def test_every_second_moment_bounds_the_variance(kind):
    assert tg.Moment(2.0, 9.0, kind=kind).convert("central", n_features=3).kind == "central"


def test_with_one_column_raw_directional_and_norm_are_the_same():
    for old in KINDS[1:]:
        for new in KINDS[1:]:
            assert tg.Moment(3.0, 1.0, kind=old).convert(new, n_features=1).kind == new
    with pytest.raises(tg.InputError):
        tg.Moment(3.0, 1.0).convert("raw", n_features=1)


@pytest.mark.parametrize(("order", "lower"), [(4.0, 2.0), (3.0, 1.5), (2.0, 2.0)])
def test_lower_orders_hold_for_data(order, lower):
    x = np.abs(np.random.default_rng(0).standard_t(5, 1_000))
    moment = tg.Moment(order, float((x**order).mean()), kind="raw")
    assert (x**lower).mean() <= moment.at_order(lower).bound * (1 + 1e-12)


def test_a_higher_order_is_refused():
    with pytest.raises(tg.InputError, match="order must be at most 2"):
        tg.Moment(2.0, 1.0).at_order(3.0)


def test_a_mean_turns_a_variance_into_a_raw_moment():
    x = 3.0 + np.random.default_rng(1).standard_normal(1_000)
    raw = tg.Moment(2.0, float(x.var())).with_mean(float(abs(x.mean())))
    assert raw.bound == pytest.approx((x**2).mean())
    for wrong in (tg.Moment(3.0, 1.0), tg.Moment(2.0, 1.0, kind="norm")):
        with pytest.raises(tg.InputError, match="of kind 'central' and order 2"):
            wrong.with_mean(1.0)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        *(((order, 1.0), "order") for order in (1.0, np.inf, np.nan, None, "2", 10**400)),
        *(((2.0, bound), "bound") for bound in (0.0, -1)),
    ],
)
def test_what_is_no_moment_is_refused(arguments, named):
    with pytest.raises(tg.InputError, match=named):
        tg.Moment(*arguments)
    with pytest.raises(tg.InputError, match="kind must be one of"):
        tg.Moment(2.0, 1.0, kind="cubic")


def test_a_mean_whose_square_is_no_float_is_refused():
    with pytest.raises(tg.InputError, match="mean_bound must be a number from -1e"):
        tg.Moment(2.0, 1.0).with_mean(1e308)
