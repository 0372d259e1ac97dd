"""Pictures show the numbers of the result, on the axis that was given."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import tailguard as tg
from support.certificates import certify, gaussian
from tailguard.checks import InputError
from tailguard.privacy.events import Gaussian


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(20_000), np.zeros(20_000)])
    y = 3.0 * X[:, 0] - 1.0 + rng.standard_normal(20_000)
    return tg.LinearRegression(guarantee=tg.GDP(2.0), random_state=0).fit(X, y)


def words(ax):
    """The texts in a picture of a simulation, which begin with its mark."""
    mark, *others = [text.get_text() for text in ax.texts]
    assert mark == "simulation: NOT PRIVATE"
    return others


def lines(ax):
    return [line.get_xdata().tolist() for line in ax.lines[1:]]  # the first is zero


def test_coefficients_on_their_own_scale(model, ax):
    assert tg.plot.coefficients(model, ax) is ax
    (low, high), _, (low_1, high_1) = model.conf_int()
    centre, centre_1 = model.interval_center_[[0, 2]]
    first, point, last, last_point = lines(ax)
    assert first == pytest.approx([low / high, 1.0])
    assert point == pytest.approx([centre / high])
    assert last == pytest.approx([-1.0, high_1 / -low_1])
    assert last_point == pytest.approx([centre_1 / -low_1])
    said = words(ax)
    assert said == [f"{centre:.4g}", "not estimated", f"{centre_1:.4g}"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["x0", "x1", "(intercept)"]
    assert ax.get_title() == "LinearRegression: 95 % intervals"
    assert ax.get_xlabel() == "each relative to the farther end of its interval"


def test_coefficients_on_one_scale(model, ax):
    tg.plot.coefficients(model, ax, scale="shared")
    first, point, *_ = lines(ax)
    assert first == pytest.approx(model.conf_int()[0].tolist())
    assert point == pytest.approx([model.interval_center_[0]])
    assert ax.get_xlabel() == "coefficient, in its unit"


@pytest.mark.parametrize("method", ["auto", "clamped"])
def test_a_mean_has_intervals_where_its_method_gives_some(method, ax):
    X = np.column_stack([np.arange(2000.0), -np.arange(2000.0)])
    result = tg.mean(X, method=method, guarantee=tg.GDP(2.0), random_state=0)
    tg.plot.coefficients(result, ax)
    given = np.isfinite(result.low)
    assert given.all() == (method == "auto")
    assert [len(line) for line in lines(ax)].count(2) == given.sum()


def test_the_budget_is_that_of_the_certificate(model, ax):
    assert tg.plot.budget(model, ax) is ax
    certificate = model.certificate_
    stages = {}
    for release in certificate.releases:
        cost = release.times * (release.sensitivity / release.noise_std) ** 2
        stages[release.stage] = stages.get(release.stage, 0.0) + cost
    widths = [bar.get_width() for bar in ax.patches]
    expected = [100.0 * cost / certificate.total.mu**2 for cost in stages.values()]
    assert widths == pytest.approx(expected)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [*stages]


def test_a_certificate_and_a_search_have_a_budget(ax):
    certificate = certify(Gaussian(0.5), [gaussian(0.25, stage="one")])
    tg.plot.budget(certificate, ax)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([25.0])


def bands(ax):
    """Low and high of each band, by level."""
    found = []
    for band in ax.collections:
        edges = {}
        for x, y in band.get_paths()[0].vertices:
            edges.setdefault(float(x), []).append(float(y))
        found.append({x: (min(ys), max(ys)) for x, ys in edges.items()})
    return found


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    region = rng.choice(["north", "south"], 20_000)
    return pd.DataFrame({"age": rng.normal(40.0, 9.0, 20_000), "region": region})


SCHEMA = {"categorical": {"region": ["north", "south"]}}


def test_quantiles_are_those_of_the_result(frame, ax):
    found = tg.quantile(frame[["age"]], [0.25, 0.5, 0.75], guarantee=tg.GDP(1.0), random_state=0)
    assert tg.plot.quantiles(found, ax) is ax
    assert ax.get_ylabel() == "value, in the unit of its column"
    [line] = ax.lines
    assert line.get_xdata().tolist() == [0.25, 0.5, 0.75]
    assert line.get_ydata().tolist() == found.value[0].tolist()
    [band] = bands(ax)
    for level, low, high in zip(found.levels, found.low[0], found.high[0], strict=True):
        assert band[level] == (low, high)


def test_quantiles_of_groups_have_a_curve_each(frame, ax):
    options = {"guarantee": tg.GDP(2.0), "schema": SCHEMA, "by": "region", "random_state": 0}
    found = tg.describe(frame, **options)
    tg.plot.quantiles(found, ax, columns=["age"])
    seen = np.flatnonzero(~found.suppressed[:, 0])
    assert len(seen) == 2  # nobody lives elsewhere
    curves = [line.get_ydata().tolist() for line in ax.lines]
    assert curves == found.quantiles[seen, 0].tolist()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"{found.groups[group]}: age" for group in seen]
    with pytest.raises(InputError, match=r"^columns must be of \['age'\]; got \['fee'\]\.$"):
        tg.plot.quantiles(found, ax, columns=["fee"])


def test_a_histogram_is_that_of_the_result(frame, ax):
    data = frame[["age"]].assign(fee=1.0)
    found = tg.histogram(data, edges=[20.0, 40.0, 50.0], guarantee=tg.GDP(1.0), random_state=0)
    assert tg.plot.histogram(found, ax, columns=["age"]) is ax
    assert ax.get_xlabel() == "value, in the unit of its column"
    [stairs] = ax.patches
    values, edges, _ = stairs.get_data()
    assert values.tolist() == found.counts[0, 1:-1].tolist()
    assert edges.tolist() == [20.0, 40.0, 50.0]
    below, *_, above = found.counts[0]
    (label,) = ax.get_legend_handles_labels()[1]
    assert label == f"age (not drawn: {below:,.0f} below, {above:,.0f} above)"
    [noise] = ax.collections
    ends = [[low[1], high[1]] for low, high in noise.get_segments()]
    expected = [[count - 2.0 * found.noise_std, count + 2.0 * found.noise_std] for count in values]
    np.testing.assert_allclose(ends, expected)
    with pytest.raises(InputError, match=r"^columns must be of \['age', 'fee'\]; got \['sex'\]\.$"):
        tg.plot.histogram(found, ax, columns=["sex"])


LEVELS = {"categorical": {"region": ["north", "south"], "ill": ["no", "yes"]}}


@pytest.fixture(scope="module")
def levels(frame):
    return frame.assign(ill=np.where(np.arange(len(frame)) % 4, "no", "yes"))


def test_a_table_of_one_column_has_a_bar_a_level(levels, ax):
    found = tg.crosstab(levels, "ill", schema=LEVELS, guarantee=tg.GDP(1.0), random_state=0)
    assert found.plot(ax) is ax
    assert [bar.get_width() for bar in ax.patches] == found.counts.tolist()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["no", "yes", "other", "missing"]
    [noise] = ax.collections
    ends = [[low[0], high[0]] for low, high in noise.get_segments()]
    apart = 2.0 * found.noise_std
    np.testing.assert_allclose(ends, [[each - apart, each + apart] for each in found.counts])


def test_a_table_of_two_columns_has_a_square_a_pair(levels, ax):
    found = tg.crosstab(
        levels, ["region", "ill"], schema=LEVELS, guarantee=tg.GDP(1.0), random_state=0
    )
    found.plot(ax)
    np.testing.assert_array_equal(ax.images[0].get_array(), found.counts)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["no", "yes", "other", "missing"]
    said = words(ax)
    assert said == [f"{count:,.0f}" for count in found.counts.ravel()]
    assert f"{found.noise_std:,.3g}" in ax.get_title()
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("region", "ill")


def test_a_count_has_one_bar_and_its_interval(levels, ax):
    found = tg.count(levels, {"ill": "yes"}, schema=LEVELS, guarantee=tg.GDP(1.0), random_state=0)
    found.plot(ax)
    assert [bar.get_width() for bar in ax.patches] == [found.value]
    [(low, high)] = ax.collections[0].get_segments()
    np.testing.assert_allclose([low[0], high[0]], [found.low, found.high])
    with pytest.raises(
        InputError, match=r"^result must be what tg\.count or tg\.crosstab returned"
    ):
        tg.plot.counts(found.certificate, Figure().subplots())


def test_a_matrix_has_the_correlations_as_colours(frame, ax):
    data = frame[["age"]].assign(fee=lambda told: 1e3 * told["age"], other=np.arange(len(frame)))
    options = {"guarantee": tg.GDP(2.0), "random_state": 0}
    found, described = tg.covariance(data, **options), tg.describe(data, **options)
    assert found.plot(ax, columns=["age", "fee"]) is ax
    shown = ax.images[0].get_array()
    assert shown.shape == (2, 2)
    assert shown[0, 1] > 0.9
    assert words(ax)[0] == f"{found.value[0, 0]:.2g}"
    other = Figure().subplots()
    tg.plot.matrix(described, other)
    np.testing.assert_allclose(other.images[0].get_array(), described.correlation)
    with pytest.raises(InputError, match=r"^result must be what tg\.correlation"):
        tg.plot.matrix(tg.quantile(data, **options), Figure().subplots())


def test_ratios_have_their_intervals_and_hidden_groups_none(ax):
    rng = np.random.default_rng(1)
    told = pd.DataFrame({"expected": rng.uniform(1.0, 3.0, 5_000), "region": "south"})
    told["actual"] = 1.2 * told["expected"]
    options = {"guarantee": tg.GDP(1.0), "random_state": 0, "by": "region", "schema": SCHEMA}
    found = tg.actual_expected(told, "actual", "expected", **options)
    place = found.groups.index("region=south")
    assert found.plot(ax) is ax
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(found.groups)
    ends = [list(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2]
    assert ends == [[1.0, 1.0], [found.low[place], found.high[place]]]
    assert found.ratio[place] in [line.get_xdata()[0] for line in ax.lines]
    assert words(ax) == ["hidden"] * np.isnan(found.ratio).sum()


def test_variances_have_two_deviations_of_their_noise(frame, ax):
    data = frame[["age"]].assign(fee=lambda told: 2.0 * told["age"])
    found = tg.variance(data, guarantee=tg.GDP(1.0), random_state=0)
    assert found.plot(ax, columns=["fee"]) is ax
    line, point = (each.get_xdata().tolist() for each in ax.lines)
    assert point == [found.value[1]]
    np.testing.assert_allclose(np.ptp(line), 4.0 * found.noise_std[1])


def test_summaries_draw_themselves(frame, ax):
    options = {"guarantee": tg.GDP(1.0), "random_state": 0}
    histogram = tg.histogram(frame[["age"]], 5, **options)
    assert histogram.plot(ax) is ax
    assert len(ax.patches) == 1
    for call in (tg.quantile, tg.describe):
        other = Figure().subplots()
        assert call(frame[["age"]], q=[0.25, 0.5], **options).plot(other, columns=["age"]) is other
        assert other.lines[0].get_xdata().tolist() == [0.25, 0.5]


def test_a_plan_is_drawn_from_the_best_method_on(ax):
    advice = tg.plan("mean", n_rows=100_000, n_features=10, epsilon=1.0, delta=1e-6)
    assert tg.plot.plan(advice, ax) is ax
    [points] = ax.collections
    shown = [each for each in advice.candidates if each.unit == advice.recommended.unit]
    assert points.get_offsets()[:, 0].tolist() == [each.predicted_error for each in shown]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [each.method for each in shown]
    assert ax.get_xscale() == "log"


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (tg.plot.coefficients, "result must be a fitted model, a search or a mean"),
        (tg.plot.budget, "result must be a certificate, or have one"),
        (tg.plot.quantiles, r"result must be what tg\.quantile or tg\.describe returned"),
        (tg.plot.histogram, r"result must be what tg\.histogram returned"),
        (tg.plot.estimates, r"result must be what tg\.actual_expected or tg\.variance returned"),
        (tg.plot.plan, r"advice must be what tg\.plan returned"),
    ],
)
def test_anything_else_is_refused(draw, words):
    with pytest.raises(InputError, match=rf"^{words}; got a dict\.$"):
        draw({})


def test_an_unknown_scale_is_refused(model):
    with pytest.raises(InputError, match=r"^scale must be one of "):
        tg.plot.coefficients(model, scale="log")


def test_the_names_of_many_curves_do_not_cover_them():
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(5_000, 9)))
    ax = tg.plot.quantiles(tg.quantile(data, [0.2, 0.8], guarantee=tg.GDP(9.0), random_state=0))
    ax.figure.canvas.draw()
    boxes = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert boxes[0].x0 > boxes[1].x1
    assert boxes[1].height > 200.0


def test_only_pictures_of_simulations_have_a_mark(model, ax):
    tg.plot.budget(model, ax)
    assert words(ax) == []
    tg.plot.coefficients(model, ax)
    assert [text.get_text() for text in ax.texts].count("simulation: NOT PRIVATE") == 1
    private = Figure().subplots()
    tg.plot.budget(tg.mean(np.arange(2000.0), guarantee=tg.GDP(2.0)), private)
    assert [text.get_text() for text in private.texts] == []
