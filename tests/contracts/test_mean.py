"""What every method for a mean promises: public plans, spent as planned, total on bad data."""

import itertools

import numpy as np
import pytest

import tailguard as tg
from support.means import planned, task_of
from support.registered import class_of
from support.sources import QuietSource
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.means.choice import MEANS, make_method
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.total_cost import spent_share
from tailguard.privacy.events import event_from_dict

N_ROWS = 20_000
EXAMPLES = {name: class_of(place).example for name, place in MEANS.items()}
GUARANTEES = (tg.ApproxDP(1.0, 1e-6), tg.ZCDP(0.05), tg.GDP(0.3), tg.PureDP(2.0))
every_method = pytest.mark.parametrize("name", MEANS)


def records(seed=0, n_rows=N_ROWS, n_features=2):
    return 3.0 + np.random.default_rng(seed).standard_normal((n_rows, n_features))


def tasks(name, n_rows=N_ROWS):
    """Each way a method can be used: private units and a moment, under each promise it keeps."""
    for guarantee in GUARANTEES:
        if type(guarantee) not in EXAMPLES[name].refuses:
            for moment in (None, EXAMPLES[name].moment):
                yield task_of(n_rows, 2, guarantee, moment)


def run(method, task, X, source):
    plan = planned(method, task)
    gate = Gate(make_rows(X, None), guarantee=plan.guarantee, source=source)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    with np.errstate(all="ignore"):
        answer = method.run(plan, gate)
    return plan, answer, gate.certificate(assumptions=plan.assumptions)


@every_method
def test_a_plan_needs_public_facts_only_and_keeps_the_promise(name):
    for task in tasks(name):
        plan = planned(make_method(name), task)
        assert spent_share(plan.guarantee, plan.event) <= 1.0
        assert spent_share(plan.guarantee, plan.event) >= 0.98
        assert plan.guarantee == task.guarantee
        text = plan.explain()
        assert all(stage.purpose in text for stage in plan.stages)
        assert task.guarantee.describe() in text
        assert np.isfinite(plan.expected.total)


@every_method
def test_what_is_spent_is_what_was_planned_and_the_certificate_recomputes_it(name):
    for task in tasks(name):
        plan, _, certificate = run(make_method(name), task, records(), SimulationSource(1))
        total, spent = certificate.total, certificate.spent
        pairs = [(getattr(total, name), getattr(spent, name)) for name in ("epsilon", "mu", "rho")]
        compared = [pair for pair in pairs if None not in pair and pair[0] < np.inf]
        assert compared
        # Finer histograms are not asked for here; what they leave Laplace noise cannot spend.
        skipped = [stage for stage in plan.stages if stage.name == "fine location"]
        left = spent_share(task.guarantee, skipped[0].event) if task.pure and skipped else 0.0
        least = 0.99 * (1.0 - left)
        assert left < 0.08
        assert all(least * planned <= used <= planned * (1 + 1e-12) for planned, used in compared)
        if isinstance(task.guarantee, tg.ApproxDP | tg.PureDP):
            assert 0.98 * task.guarantee.epsilon <= total.epsilon <= task.guarantee.epsilon
        named = {stage.name: stage.times for stage in plan.stages}
        for release in certificate.releases:
            named[release.stage] -= release.times
        # Nor are differences of pairs where, by public numbers, they would hardly be seen.
        unasked = {name for name, times in named.items() if times != 0}
        assert unasked - {"scale"} == {stage.name for stage in skipped}
        assert all(named[name] == plan.stage(name).times for name in unasked)
        read = tg.Certificate.from_dict(certificate.to_dict())
        assert read.total == total
        assert event_from_dict(certificate.to_dict()["planned"]) == certificate.planned
        assert certificate.planned.to_dict()["events"][0] == plan.event.to_dict()


@every_method
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, 5e-324, 0.0])
def test_answers_are_finite_whatever_the_records_are(name, value):
    n_rows = N_ROWS // 8
    X = records(n_rows=n_rows)
    X[: n_rows // 2, 0] = value
    tables = X, np.full((n_rows, 2), value), np.where(X > 3.5, -value, value)
    for task, data in zip(tasks(name, n_rows), itertools.cycle(tables)):  # tables take turns
        _, answer, _ = run(make_method(name), task, data, SimulationSource(2))
        assert np.isfinite(answer.coef).all()


@every_method
def test_the_same_seed_gives_the_same_bits_and_another_does_not(name):
    task, X = task_of(N_ROWS, 2, tg.ApproxDP(1.0, 1e-6)), records()
    answers = [
        run(make_method(name), task, X, SimulationSource(seed))[1].coef for seed in (5, 5, 6)
    ]
    np.testing.assert_array_equal(answers[0], answers[1])
    assert (answers[0] != answers[2]).any()


@every_method
def test_without_noise_it_is_the_sample_mean(name):
    """At a wide level, and in private units; medians of groups and trimming stay near."""
    X = records()
    generous = tg.ZCDP(1e6)
    for method in (make_method(name, **EXAMPLES[name].wide), make_method(name)):
        _, answer, _ = run(method, task_of(N_ROWS, 2, generous), X, QuietSource())
        np.testing.assert_allclose(answer.coef, X.mean(axis=0), atol=EXAMPLES[name].distance)


@every_method
def test_private_units_follow_the_units_of_the_data(name):
    X = records()
    task = task_of(N_ROWS, 2, tg.ApproxDP(1.0, 1e-6))
    plain, scaled = (
        run(make_method(name), task, data, SimulationSource(3))[1].coef for data in (X, 1024.0 * X)
    )
    # A search over floats ends up at other floats in other units, within its own noise.
    np.testing.assert_allclose(scaled, 1024.0 * plain, rtol=0.1)


@every_method
def test_constant_columns_and_single_columns_work(name):
    task = task_of(N_ROWS, 2, tg.ApproxDP(1.0, 1e-6))
    X = np.column_stack([np.full(N_ROWS, 5.0), np.zeros(N_ROWS)])
    _, answer, _ = run(make_method(name), task, X, SimulationSource(4))
    np.testing.assert_allclose(answer.coef, [5.0, 0.0], atol=2.0)


@every_method
def test_the_predicted_noise_is_the_noise(name):
    """The spread of answers over seeds, beside what each of them predicted."""
    task, X = task_of(N_ROWS, 2, tg.ZCDP(0.005)), records()
    answers = [
        run(make_method(name, **EXAMPLES[name].wide), task, X, SimulationSource(seed))[1]
        for seed in range(60)
    ]
    spread = np.array([answer.coef for answer in answers]).std(axis=0)
    predicted = answers[0].coef_noise_std
    if answers[0].plan.stage("mean").kept:  # noise that follows the records
        assert np.isnan(predicted).all()
        return
    high = EXAMPLES[name].noise_factor
    assert ((spread > 0.7 * predicted) & (spread < high * predicted)).all()


@every_method
def test_a_promise_that_the_noise_does_not_keep_is_refused_in_one_sentence(name):
    for guarantee in GUARANTEES:
        if type(guarantee) in EXAMPLES[name].refuses:
            with pytest.raises(tg.InputError, match=f"method '{name}' must.*DP"):
                planned(make_method(name), task_of(N_ROWS, 2, guarantee))


@every_method
def test_an_option_of_another_method_is_refused(name):
    with pytest.raises(tg.InputError, match=f"n_stars must not be given with method '{name}'"):
        make_method(name, n_stars=3)


@pytest.mark.parametrize("name", [name for name in MEANS if EXAMPLES[name].moment is None])
def test_a_method_that_takes_no_moment_refuses_one_in_one_sentence(name):
    task = task_of(N_ROWS, 2, tg.ApproxDP(1.0, 1e-6), tg.Moment(2.0, 1.0))
    with pytest.raises(tg.InputError, match=f"moment must not be given with method '{name}'"):
        planned(make_method(name), task)


@pytest.mark.parametrize("name", [name for name in MEANS if EXAMPLES[name].moment])
def test_a_moment_that_proves_nothing_is_refused_with_both_kinds(name):
    wrong = tg.Moment(
        3.0, 1.0, kind="raw" if EXAMPLES[name].moment.kind == "central" else "central"
    )
    with pytest.raises(tg.InputError, match=f"of kind '.*' here; a bound of kind '{wrong.kind}'"):
        planned(make_method(name), task_of(N_ROWS, 2, tg.ApproxDP(1.0, 1e-6), wrong))
