"""The gate reads records for registered questions only, whatever they hold and wherever."""

from copy import copy
from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pytest

import tailguard as tg
from support.count_below import CountBelow
from support.examples import query_examples
from support.smooth import smooth_examples
from support.stages import once
from tailguard.checks import InputError, QueryError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian
from tailguard.queries.admission import check_admitted, check_known
from tailguard.queries.clip_levels import LevelGradients
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.sets.intersection_with_ball import IntersectionWithBall

ALL_EXAMPLES = [*query_examples(), *smooth_examples()]
each_example = pytest.mark.parametrize("example", ALL_EXAMPLES, ids=lambda example: example.name)


@dataclass(frozen=True)
class NeighbourlyLoss(tg.losses.Squared):
    """A loss whose slopes are those of the first record for all others, too."""

    def slope(self, score, target):
        return np.broadcast_to(np.sign(np.ravel(target)[0]), np.shape(score)).copy()


class ForgedLoss(NeighbourlyLoss):
    """One that says it is of the registry."""

    __module__, __qualname__ = "tailguard.losses.squared", "Squared"


class LookingUnits(Units):
    """Units of somebody's own, which could follow the records."""


class LookingArray(np.ndarray):
    """An array of somebody's own, which could look at what it is multiplied with."""


class LookingQuery(CountBelow):
    """A registered query with an answer of somebody's own."""

    def answer(self, rows, state, calibration):
        return super().answer(rows, state, calibration) * 1000


class UnreadableRows:
    """Rows that fail as soon as anybody reads them."""

    n_rows, n_features, has_offset, has_weight = 500, 3, False, False

    def reduce(self, kernel, n_threads=None):
        raise AssertionError("a record was read")


def with_loss(part, loss):
    """The same with another loss, as deep as there is one; how many there were."""
    if hasattr(part, "valid_target"):
        return loss, 1
    if not is_dataclass(part):
        return part, 0
    found = {f.name: with_loss(getattr(part, f.name), loss) for f in fields(part) if f.init}
    changed = {name: new for name, (new, times) in found.items() if times}
    count = sum(times for _, times in found.values())
    if not changed:
        return part, 0
    other = copy(part)  # not by ``replace``: some queries refuse such a loss themselves
    for name, new in changed.items():
        object.__setattr__(other, name, new)
    return other, count


def closed():
    gate = Gate(UnreadableRows(), guarantee=tg.GDP(10.0), source=SimulationSource(0))
    gate.reserve(Gaussian(10.0))
    return gate


def refused(query, state=None, words="must"):
    gate = closed()
    with pytest.raises(QueryError, match=words):
        gate.ask(query, state, once(1.0))
    assert gate.books.releases == ()


@each_example
def test_every_registered_query_is_let_in(example):
    check_admitted(example.query)


@each_example
def test_a_loss_of_somebodys_own_is_refused_wherever_it_sits(example):
    for loss in (NeighbourlyLoss(), ForgedLoss()):
        query, count = with_loss(example.query, loss)
        if count:
            refused(query, example.state)


def test_losses_sit_in_most_queries():
    counts = {e.query.__class__: with_loss(e.query, NeighbourlyLoss())[1] for e in ALL_EXAMPLES}
    assert sum(count > 0 for count in counts.values()) >= 8
    assert with_loss(View.plain(tg.losses.Squared(), Units.raw(1, intercept=False)), 0)[1] == 1


def test_what_such_a_loss_would_do_if_it_were_let_in():
    """Why: one record moves the mean by 2, and the books say 2 / n."""
    view = View.plain(NeighbourlyLoss(), Units.raw(1, intercept=False))
    query = LevelGradients(view, 1.0, (1.0,))
    answers = []
    for first in (1.0, -1.0):
        rows = make_rows(np.ones((1000, 1)), np.append(first, np.zeros(999)))
        calibration = query.calibrate(1000, 1, mu=1.0)
        answers.append(query.answer(rows, np.zeros(1), calibration) * calibration.grid)
    assert abs(answers[0] - answers[1])[0] == pytest.approx(2000.0)
    assert query.sensitivity(1000, 1).ideal == 2.0
    refused(query, np.zeros(1), "'loss' is an object of NeighbourlyLoss")


@pytest.mark.parametrize("forged", [NeighbourlyLoss(), ForgedLoss()])
def test_a_forged_name_does_not_make_a_loss_known(forged):
    with pytest.raises(InputError, match=r"loss must be one of tg\.losses"):
        check_known(forged)


class LookingNumber(float):
    """A threshold of somebody's own, which could look at what it is compared with."""


@pytest.mark.parametrize("name", ["slope", "valid_target", "value", "mean"])
def test_a_method_put_upon_a_registered_loss_is_refused(name):
    loss = tg.losses.Squared()
    object.__setattr__(loss, name, NeighbourlyLoss().slope)
    refused(LevelGradients(View.plain(loss, Units.raw(1, intercept=False)), 1.0, (1.0,)))
    with pytest.raises(InputError, match=r"loss must be one of tg\.losses"):
        check_known(loss)
    with pytest.raises(InputError, match=r"loss must be one of tg\.losses"):
        tg.minimize(loss, np.ones((50, 1)), np.ones(50), epsilon=1.0, delta=1e-6, random_state=0)


@pytest.mark.parametrize("threshold", ["evil", LookingNumber(1.0), np.ones(2), print])
def test_a_parameter_put_upon_a_registered_loss_is_refused(threshold):
    loss = tg.losses.Huber(1.0)
    object.__setattr__(loss, "threshold", threshold)
    refused(MeanClippedGradient(loss, Units.raw(3, intercept=False), clip_norm=1.0), np.zeros(3))
    with pytest.raises(InputError, match=r"loss must be one of tg\.losses"):
        check_known(loss)


def test_a_user_s_gradient_holds_its_function_alone():
    loss = tg.losses.RecordGradient(lambda weights, features, target: features)
    check_known(loss)
    object.__setattr__(loss, "valid_target", NeighbourlyLoss().slope)
    with pytest.raises(InputError, match=r"loss must be one of tg\.losses"):
        check_known(loss)


def test_a_query_of_somebodys_own_is_refused():
    refused(LookingQuery(columns=(0,)), np.zeros(1))

    class Lookalike:
        name = "count"
        sensitivity = calibrate = answer = finish = parameters = None

    refused(Lookalike(), np.zeros(1))
    with pytest.raises(QueryError, match="query must be one of"):
        closed().ask(LookingQuery(columns=(0,)), np.zeros(1), once(1.0), blocks=[])


def test_parts_of_somebodys_own_are_refused():
    squared, units = tg.losses.Squared(), LookingUnits(np.zeros(3), np.ones(3), intercept=False)
    refused(MeanClippedGradient(squared, units, clip_norm=1.0), np.zeros(3))
    raw = Units.raw(3, intercept=False)
    refused(
        LevelGradients(View(squared, raw, np.eye(3).view(LookingArray)), 1.0, (1.0,)), np.zeros(3)
    )


@pytest.mark.parametrize(
    "state",
    [
        *(np.zeros(3).view(LookingArray), object(), lambda rows: rows),
        *(np.array(["1", "2", "3"]), (np.zeros(3), np.array([object()]))),
    ],
)
def test_a_state_is_nothing_but_numbers(state):
    raw = Units.raw(3, intercept=False)
    refused(MeanClippedGradient(tg.losses.Squared(), raw, clip_norm=1.0), state)


def test_an_attribute_put_upon_a_query_is_refused():
    query = CountBelow(columns=(0,))
    object.__setattr__(query, "answer", lambda rows, state, calibration: None)
    refused(query, np.zeros(1))


def test_a_plain_attribute_put_upon_a_query_is_refused_too():
    query = CountBelow(columns=(0,))
    query.__dict__["places"] = "none"
    with pytest.raises(QueryError, match="must hold only the fields of CountBelow"):
        check_admitted(query)


class LyingAttributes(dict):
    """Attributes that are shown as they were before they were changed."""

    def __init__(self, shown, **changed):
        super().__init__(shown | changed)
        self.shown = shown

    def keys(self):
        return self.shown.keys()

    def items(self):
        return self.shown.items()

    def __iter__(self):
        return iter(self.shown)


class LyingName(str):
    """The name of a method, which says that it is the name of any field."""

    taken = None

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(str(self) if self.taken is None else self.taken)


def test_attributes_that_are_not_shown_are_refused():
    query = LevelGradients(View.plain(None, Units.raw(3, intercept=False)), 1.0, (1.0,))
    object.__setattr__(query, "__dict__", LyingAttributes(vars(query), view=UnreadableRows()))
    refused(query, np.zeros(3))
    query = CountBelow(columns=(0,))
    object.__setattr__(query, "__dict__", LyingAttributes(vars(query), answer=print))
    refused(query, np.zeros(1))
    loss = tg.losses.Squared()
    object.__setattr__(loss, "__dict__", LyingAttributes(vars(loss), slope=NeighbourlyLoss().slope))
    with pytest.raises(InputError, match=r"loss must be one of tg\.losses"):
        check_known(loss)


def test_an_attribute_whose_name_equals_all_names_is_refused():
    loss, name = tg.losses.RecordGradient(lambda w, x, y: x), LyingName("valid_target")
    vars(loss)[name] = print
    name.taken = "function"
    with pytest.raises(InputError, match=r"loss must be one of tg\.losses"):
        check_known(loss)


@pytest.mark.parametrize("holder", [tuple, list])
def test_what_sits_in_a_tuple_or_a_list_is_walked_through(holder):
    view = View.plain(NeighbourlyLoss(), Units.raw(3, intercept=False))
    query = LossDifferences(tg.losses.Squared(), 3 * (view,), 2.0)
    object.__setattr__(query, "views", holder(query.views))
    refused(query, np.zeros((3, 3)))


def minimiser(n_steps=None, constraint=None, loss=None):
    """A minimiser of one column that moves by at most ``0.5`` for one of 400 records."""
    sets = {} if constraint is None else {"constraint": constraint}
    raw = Units.raw(1, intercept=False)
    of_loss = tg.losses.Huber(1.0) if loss is None else loss
    return ClippedMinimiser(
        of_loss, raw, strength=0.01, clip_norm=1.0, row_limit=1.0, n_steps=n_steps, **sets
    )


def test_a_step_that_was_lengthened_after_its_check_is_refused():
    """Why: steps that are too long drive neighbours apart."""
    query, targets, answers = minimiser(n_steps=2), np.zeros(400), []
    object.__setattr__(query, "step_size", 90.0)
    for targets[3] in (-100.0, 100.0):
        calibration = query.calibrate(400, 1, mu=1.0)
        rows = make_rows(np.ones((400, 1)), targets)
        answers.append(query.answer(rows, np.zeros(1), calibration) * calibration.grid)
    assert abs(answers[0] - answers[1])[0] > 50.0 * query.sensitivity(400, 1).ideal
    with pytest.raises(InputError, match=r"step_size must be at most 2 / \(curvature"):
        closed().ask(query, np.zeros(1), once(1.0))


def test_a_loss_with_a_parameter_out_of_its_range_is_refused():
    loss = tg.losses.LpLoss(2)
    query = minimiser(loss=loss)
    object.__setattr__(loss, "p", 0.5)  # not convex
    refused(query, np.zeros(1), "'loss' is an object of LpLoss")


def test_a_set_that_its_class_would_not_make_is_refused():
    ball = IntersectionWithBall(tg.sets.Box([-1.0], [1.0]), [0.0], 0.5)
    query = minimiser(constraint=ball)
    object.__setattr__(ball, "center", (30.0,))  # outside the box
    refused(query, np.zeros(1), "center of IntersectionWithBall must be as it was made")
    object.__setattr__(ball, "radius", -1.0)
    with pytest.raises(InputError, match="radius must be a finite number above 0"):
        check_admitted(query)


def test_numbers_that_a_set_keeps_are_computed_anew():
    ball = tg.sets.L2Ball(1.0, [0.0])
    vars(ball)["_center_point"] = np.array([30.0])
    check_admitted(minimiser(constraint=ball))
    assert ball.project([0.5]) == [0.5]
