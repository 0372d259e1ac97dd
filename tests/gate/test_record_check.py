"""Runs begin with a count of usable records, which is planned, and stops those that it must."""

import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import tailguard as tg
from support.clean_tables import n_stopped
from tailguard.checks import BudgetError, InputError
from tailguard.data.design import TableColumn
from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.gate.record_check import MOST_PLANS, RESTS_ON, SURELY, RecordRule
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.unit import Unit
from tailguard.solvers.registry import SOLVERS, make_solver, plan_for

N_ROWS = 5_000
GUARANTEES = (tg.GDP(0.5), tg.ZCDP(0.1), tg.ApproxDP(1.0, 1e-6), tg.ApproxDP(0.2, 1e-9))
SQUARED = tg.losses.Squared()
COLUMNS = tuple(TableColumn("feature", f"x{j}") for j in range(4))
every_guarantee = pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)


def table(n_rows=N_ROWS, seed=0, share_void=0.0, n_features=3):
    """Features and targets, of which so many records at random places hold no number."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, (n_rows, n_features))
    y = X.sum(axis=1) + rng.standard_normal(n_rows)
    X[rng.permutation(n_rows)[: round(share_void * n_rows)], 0] = np.nan
    return X, y


def check_of(mu=1.0, n_rows=N_ROWS, columns=COLUMNS, **how):
    problem = Problem(SQUARED, n_rows, len(columns))
    return RecordRule(**how).check(tg.GDP(mu), problem, columns)


class Answering:
    """A gate that answers with given numbers, and remembers what it was told."""

    n_features, unit = 3, Unit()

    def __init__(self, n_rows, *answers):
        self.n_records, self.answers, self.told = n_rows, list(answers), []

    def ask(self, query, state, stage):
        self.told.append(stage.name)
        return np.array(self.answers.pop(0))

    def settle(self, *, stopped_early=False):
        self.told.append(f"settled, stopped early: {stopped_early}")

    def certificate(self, **_):
        self.told.append("certificate")
        return SimpleNamespace(spent="little")


@every_guarantee
@pytest.mark.parametrize("n_features", [1, 30])
def test_count_and_fit_spend_the_whole_guarantee_together_and_no_more(guarantee, n_features):
    problem, rule = Problem(SQUARED, 100_000, n_features, intercept=True), RecordRule()
    columns = [TableColumn("feature", j) for j in range(n_features)]
    _, plan, check = rule.plan(
        lambda rest: plan_for("auto", problem, rest), guarantee, problem, columns
    )
    whole = check.whole(plan)
    mu = guarantee.gaussian_mu()
    assert satisfies(whole.event, guarantee)
    assert whole.total_mu == pytest.approx(mu, rel=1e-5)
    assert whole.stages[0].additive == pytest.approx(0.005 * mu**2, rel=1e-5)
    assert plan.total_mu**2 == pytest.approx(0.995 * mu**2, rel=1e-5)
    assert whole.guarantee == guarantee
    assert "  0.5%  usable records" in whole.explain()
    assert plan.stages == whole.stages[1:]


@every_guarantee
def test_a_run_spends_what_it_planned(guarantee):
    X, y = table(20_000)
    certificate = tg.mean(X, guarantee=guarantee, method="clamped", threshold=9.0).certificate
    assert certificate.releases[0].name == "number of usable records"
    assert certificate.unused == {}
    model = tg.LinearRegression(guarantee=guarantee).fit(X, y)
    assert satisfies(model.certificate_.planned, guarantee)
    assert model.certificate_.spent.mu <= model.certificate_.total.mu * (1.0 + 1e-9)


@every_guarantee
def test_a_run_that_stops_has_spent_a_fiftieth_of_its_square(guarantee):
    for n_rows in (20_000, 50_000):
        with pytest.raises(tg.UnusableTableError) as stopped:
            tg.mean(np.full((n_rows, 2), np.nan), guarantee=guarantee)
        error, mu = stopped.value, guarantee.gaussian_mu()
        assert error.spent == error.certificate.spent
        assert error.spent.mu**2 == pytest.approx(0.02 * mu**2, rel=1e-3)
        assert error.certificate.total.mu == pytest.approx(mu, rel=1e-3)
        names = [release.name for release in error.certificate.releases]
        assert names == ["number of usable records", "kinds of cells by column"]
        assert error.certificate.unused_stages != ()


def test_it_stops_where_fewer_than_half_are_usable_for_sure_and_nowhere_else():
    check = check_of()
    noise = 1.0 / check.count.mu
    edge = N_ROWS / 2.0 - SURELY * noise
    counts = np.tile([5000.0, 0.0, 0.0], (len(COLUMNS), 1))
    counts[2] = [10.0, 4000.0, 990.0]
    for usable in (edge * (1.0 + 1e-6), N_ROWS / 2.0, float(N_ROWS), 2.0 * N_ROWS):
        gate = Answering(N_ROWS, [usable])
        assert check.ask(gate).startswith(f"{RESTS_ON}about ")
        assert gate.told == ["usable records"]
    for usable in (edge * (1.0 - 1e-6), 0.0, -1e9):
        gate = Answering(N_ROWS, [usable], counts)
        with pytest.raises(
            tg.UnusableTableError, match=r"^About [\d,]+ of 5,000 records can"
        ) as stopped:
            check.ask(gate)
        *asked, last = gate.told
        assert asked == ["usable records", "kinds of cells", "settled, stopped early: True"]
        assert last == "certificate"
        assert "Column 'x2' holds about 4,000 empty cells" in str(stopped.value)
        assert stopped.value.spent == "little"


def test_where_it_is_told_to_fit_it_goes_on_and_says_so():
    gate = Answering(N_ROWS, [0.0])
    words = check_of(on_unusable="fit").ask(gate)
    assert words == (
        "the result rests on about 0 of 5,000 records, surely fewer than half: on_unusable='fit' "
        "went on"
    )
    assert gate.told == ["usable records"]
    X, y = np.full((N_ROWS, 2), np.nan), np.zeros(N_ROWS)
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, on_unusable="fit").fit(X, y)
    assert any(note.startswith("the result rests on about ") for note in model.notes_)
    assert "on_unusable='fit' went on" in " ".join(model.summary().split())


@pytest.mark.parametrize("n_tables", [80, pytest.param(2000, marks=pytest.mark.audit)])
def test_clean_tables_with_up_to_45_percent_void_records_never_stop(n_tables):
    assert n_stopped(n_tables) == 0


def test_void_tables_stop_and_their_records_are_told_to_within_the_noise():
    noise = 1.0 / check_of(0.5).count.mu
    for seed in range(10):
        X, y = table(seed=seed, share_void=1.0)
        with pytest.raises(tg.UnusableTableError) as stopped:
            tg.LinearRegression(guarantee=tg.GDP(0.5)).fit(X, y)
        usable = int(stopped.value.records.split()[1].replace(",", ""))
        assert 0 <= usable < 6.0 * noise
        assert [each.column for each in stopped.value.columns] == [TableColumn("feature", 0)]


@pytest.mark.long
def test_results_say_how_many_records_they_rest_on():
    X, y = table(50_000, share_void=0.3)
    model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0).fit(X, y)
    result = tg.mean(X, guarantee=tg.GDP(1.0), random_state=0)
    solved = tg.minimize(SQUARED, X, y, guarantee=tg.GDP(1.0), constraint=tg.sets.L2Ball(2.0))
    certificates = (model.certificate_, result.certificate, solved.certificate)
    for notes, certificate in zip(
        (model.notes_, result.notes, solved.notes), certificates, strict=True
    ):
        (said,) = (note for note in notes if note.startswith(RESTS_ON))
        count, _, n_rows = said.removeprefix(RESTS_ON).split()[1:4]
        assert int(count.replace(",", "")) == pytest.approx(35_000, abs=80)
        assert n_rows == "50,000"
        assert said in certificate.assumptions_for_accuracy
        assert said in certificate.to_text().replace("\n    ", " ")
    assert RESTS_ON in model.summary()
    assert RESTS_ON in model.explain()
    assert RESTS_ON in repr(result)
    assert RESTS_ON in result.explain()


LEFT_OUT = "usable records are not counted: "


def test_where_records_are_too_few_the_plan_leaves_the_count_out_and_says_so():
    for n_rows, counted in ((221, False), (223, True)):
        X, y = table(n_rows)
        model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0).fit(X, y)
        names = [stage.name for stage in model.plan_.stages]
        assert ("usable records" in names) == counted
        words = f"{LEFT_OUT}the number of records times mu is {n_rows}, below 222"
        assert (words in model.explain()) != counted
        assert any(note.startswith(RESTS_ON) for note in model.notes_) == counted


def test_without_a_count_nothing_is_asked_and_nothing_stops():
    X, y = np.full((N_ROWS, 2), np.nan), np.zeros(N_ROWS)
    model = tg.LinearRegression(guarantee=tg.GDP(1.0), check_records=False).fit(X, y)
    assert not any("usable" in release.name for release in model.certificate_.releases)
    assert f"{LEFT_OUT}check_records=False" in model.explain()
    pure = tg.mean(X, guarantee=tg.PureDP(1.0))
    assert not any("usable" in release.name for release in pure.certificate.releases)
    assert f"{LEFT_OUT}the costs of the plan do not add up as squares" in pure.explain()


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_is_preceded_by_a_count_or_says_why_not(name):
    solver = make_solver(name)
    constraint = getattr(solver, "example", None)
    constraint = tg.sets.L2Ball(1.0) if constraint is None else constraint.constraint
    problem = Problem(tg.losses.Huber(), 100_000, 3, constraint=constraint)
    guarantee = tg.ApproxDP(1.0, 1e-6)
    _, plan, check = RecordRule().plan(
        lambda rest: plan_for(solver, problem, rest), guarantee, problem, COLUMNS
    )
    hidden = any(stage.shuffled or stage.sampled for stage in plan.stages)
    if hidden or {stage.currency for stage in plan.stages} - {"mu", "rho"}:
        assert check is None
        assert f"{LEFT_OUT}the plan leaves no budget for a count" in plan.explain()
    else:
        assert satisfies(check.whole(plan).event, guarantee)
        assert check.is_covered(check.whole(plan).event)
        assert plan.total_mu**2 >= 0.97 * plan_for(solver, problem, guarantee)[1].total_mu ** 2


def test_a_plan_that_takes_all_whatever_it_is_given_has_no_count():
    problem, guarantee, asked = Problem(SQUARED, 100_000, 3), tg.ApproxDP(1.0, 1e-6), []

    def greedy(rest):
        asked.append(rest)
        return plan_for("auto", problem, guarantee)

    _, plan, check = RecordRule().plan(greedy, guarantee, problem, COLUMNS)
    assert check is None
    assert f"{LEFT_OUT}the plan leaves no budget for a count" in plan.explain()
    assert satisfies(plan.event, guarantee)
    *tried, last = asked
    assert len(tried) == MOST_PLANS
    assert [each.epsilon for each in tried] == sorted((r.epsilon for r in tried), reverse=True)
    assert last == guarantee


@pytest.mark.parametrize("guarantee", [tg.ZCDP(0.1), tg.ApproxDP(1.0, 1e-6)], ids=repr)
def test_where_a_plan_has_no_gaussian_noise_kinds_of_cells_have_a_share_of_their_own(guarantee):
    X = np.column_stack([table(20_000)[1], np.full(20_000, np.nan)])
    how = {"guarantee": guarantee, "method": "trimmed", "low": -9.0, "high": 9.0}
    with pytest.raises(tg.UnusableTableError, match="Column 1 of X holds about") as stopped:
        tg.mean(X, **how)
    assert stopped.value.spent.rho <= 0.021 * stopped.value.certificate.total.rho * 1.2
    plan = tg.mean(X[:, :1], **how).choice.plan
    assert [stage.name for stage in plan.stages] == ["usable records", "kinds of cells", "mean"]
    assert satisfies(plan.event, guarantee)


def test_a_plan_of_few_numbers_has_room_for_the_kinds_of_many_cells():
    X = np.full((N_ROWS, 40), np.nan)
    with pytest.raises(tg.UnusableTableError):
        tg.mean(X, guarantee=tg.GDP(1.0), method="clamped", threshold=1.0)


def test_no_more_is_released_after_a_stop():
    X, y = table(share_void=1.0)
    gate = Gate.over(X, y, guarantee=tg.GDP(1.0), loss=SQUARED)
    check = check_of()
    gate.reserve(check.event, coordinates=1000)
    gate.reserve(check.kinds.event, coordinates=1000)
    with pytest.raises(tg.UnusableTableError):
        check.ask(gate)
    with pytest.raises(BudgetError, match="settled"):
        check.ask(gate)


def test_the_error_is_a_release_error_that_pickles_and_has_no_context():
    with pytest.raises(tg.ReleaseError) as stopped:
        tg.mean(np.full((N_ROWS, 2), "SECRET"), guarantee=tg.GDP(1.0))
    error = stopped.value
    assert (error.__cause__, error.__context__) == (None, None)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.records, again.columns) == (str(error), error.records, error.columns)
    assert again.certificate == error.certificate
    assert again.spent == error.spent
    assert "SECRET" not in str(error) + repr(error.columns) + error.certificate.to_json()


def test_a_stopped_run_with_a_checkpoint_says_the_same_again_and_pays_nothing_twice(tmp_path):
    X, y = table(share_void=1.0)
    said = []
    for _ in range(2):
        model = tg.LinearRegression(guarantee=tg.GDP(1.0), checkpoint=tmp_path / "answers")
        with pytest.raises(tg.UnusableTableError) as stopped:
            model.fit(X, y)
        said.append((str(stopped.value), stopped.value.certificate.releases))
    assert said[0] == said[1]


def test_options_are_checked_before_anything_is_planned():
    X, y = table()
    for options, words in (
        ({"check_records": 1}, "check_records must be True or False; got 1"),
        ({"on_unusable": "go"}, "on_unusable must be one of 'stop', 'fit'; got 'go'"),
    ):
        for call in (
            lambda **how: tg.LinearRegression(guarantee=tg.GDP(1.0), **how).fit(X, y),
            lambda **how: tg.mean(X, guarantee=tg.GDP(1.0), **how),
            lambda **how: tg.minimize(SQUARED, X, y, guarantee=tg.GDP(1.0), **how),
            lambda **how: tg.PrivateSearch(
                tg.LinearRegression(), [{}], epsilon=1.0, delta=1e-6, **how
            ).fit(X, y),
        ):
            with pytest.raises(InputError, match=words):
                call(**options)


def test_what_is_refused_speaks_of_the_guarantee_that_was_asked_for():
    X, y = table()
    options = {"solver": tg.solvers.SampleAndAggregate(), "constraint": tg.sets.L2Ball(1.0)}
    with pytest.raises(InputError, match=r"got ZCDP\(rho=2.0\)"):
        tg.minimize(SQUARED, X, y, guarantee=tg.ZCDP(2.0), **options)


def test_a_search_counts_once_before_its_tries():
    X, y = table(20_000)
    options = {"n_tries": 3, "epsilon": 2.0, "delta": 1e-6}
    grid = {"alpha": [0.0, 0.1]}
    search = tg.PrivateSearch(tg.LinearRegression(), grid, **options).fit(X, y)
    names = [release.name for release in search.certificate_.releases]
    assert names.count("number of usable records") == 1
    assert names[0] == "number of usable records"
    (planned,) = search.certificate_.planned.events
    assert planned.events[0] == search.plan_.check.event
    assert search.notes_[0].startswith(RESTS_ON)
    assert any(note.startswith(RESTS_ON) for note in search.best_estimator_.notes_)
    assert "usable records are counted first, at mu = " in search.explain()
    X[:, 1] = np.nan
    with pytest.raises(tg.UnusableTableError, match="Column 1 of X holds about") as stopped:
        tg.PrivateSearch(tg.LinearRegression(), grid, **options).fit(X, y)
    assert stopped.value.certificate.releases[-1].name == "kinds of cells by column"
    mu = tg.ApproxDP(2.0, 1e-6).gaussian_mu()
    assert stopped.value.spent.mu**2 <= 0.021 * mu**2
    off = tg.PrivateSearch(tg.LinearRegression(), grid, check_records=False, **options)
    assert f"{LEFT_OUT}check_records=False" in off.fit(*table(20_000)).explain()
    for name in ("check_records", "on_unusable"):
        with pytest.raises(InputError, match="candidates must name parameters"):
            tg.PrivateSearch(tg.LinearRegression(), [{name: True}], **options).fit(X, y)


def test_surely_is_a_chance_of_one_in_a_million():
    assert math.erfc(SURELY / math.sqrt(2.0)) / 2.0 < 1e-6
