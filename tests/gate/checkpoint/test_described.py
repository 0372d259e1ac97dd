"""What a checkpoint tells of a run: names and public numbers, and nothing that a function holds."""

import functools
import json
from dataclasses import dataclass

import numpy as np
import pytest
from numba import njit

import tailguard as tg
from tailguard.checks import InputError
from tailguard.gate import Gate
from tailguard.gate.described import described
from tailguard.gate.stage import Stage
from tailguard.queries.record_gradient import MeanRecordGradient
from tailguard.queries.sample_aggregate import SampleAggregate

SECRET = np.random.default_rng(7).standard_normal(1_500)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = X @ [0.5, -0.25]
PROMISE = tg.GDP(1.0)
FEW_STEPS = tg.solvers.NoisyGradientDescent(n_steps=3, clip_norm=1.0)  # each calls the function


def gradient(weights, features, target):
    return (features @ weights - target) * features


def weighted(secret, weights, features, target):
    return (features @ weights - target) * features


def keyword(weights, features, target, *, secret=None):
    return (features @ weights - target) * features


class Holder:
    """Whatever an object of a user holds."""

    def __init__(self, secret):
        self.secret = secret

    def __call__(self, weights, features, target):
        return (features @ weights - target) * features

    def bound(self, weights, features, target):
        return (features @ weights - target) * features

    def __repr__(self):
        return f"Holder({self.secret.tolist()})"


@dataclass
class Record:
    """A callable whose parameters Python prints."""

    secret: object

    def __call__(self, weights, features, target):
        return (features @ weights - target) * features


def closed_over(secret):
    def inner(weights, features, target):
        return (features @ weights - target) * features * np.size(secret)

    return inner


def closed_over_function(function):
    def inner(weights, features, target):
        return function(weights, features, target)

    return inner


def with_default(secret):
    def inner(weights, features, target, held=secret):
        return (features @ weights - target) * features

    return inner


def with_keyword_default(secret):
    def inner(weights, features, target, *, held=secret):
        return (features @ weights - target) * features

    return inner


def with_attribute(secret):
    def inner(weights, features, target):
        return (features @ weights - target) * features

    inner.secret = secret
    return inner


def wrapping(secret):
    @functools.wraps(with_default(secret))
    def inner(weights, features, target):
        return (features @ weights - target) * features

    return inner


def holding_a_class(secret):
    class Local:
        data = secret

    def inner(weights, features, target):
        return (features @ weights - target) * features * np.size(Local.data)

    return inner


def method_of_a_class(secret):
    class Local:
        data = secret

        @classmethod
        def inner(cls, weights, features, target):
            return (features @ weights - target) * features * np.size(cls.data)

    return Local.inner


HOLDERS = {
    "a method of a class": method_of_a_class,
    "a partial": lambda held: functools.partial(weighted, held),
    "a partial by keyword": lambda held: functools.partial(keyword, secret=held),
    "a partial of a partial": lambda held: functools.partial(functools.partial(weighted, held)),
    "a closure": closed_over,
    "a closure of a list": lambda held: closed_over(held.tolist()),
    "a closure of a dictionary": lambda held: closed_over({"a": [held]}),
    "a closure of a number": lambda held: closed_over(float(held[0])),
    "a closure of a closure": lambda held: closed_over_function(closed_over(held)),
    "a closure of a partial": lambda held: closed_over_function(functools.partial(weighted, held)),
    "a closure of a bound method": lambda held: closed_over_function(Holder(held).bound),
    "a closure of a class": holding_a_class,
    "a bound method": lambda held: Holder(held).bound,
    "a method of a list": lambda held: [held].index,
    "a default": with_default,
    "a default by keyword": with_keyword_default,
    "an attribute": with_attribute,
    "a wrapped function": wrapping,
    "a callable object": Holder,
    "a callable record": Record,
    "machine code over numbers": lambda held: njit(closed_over(held)),
    "a vectorised function": lambda held: np.vectorize(closed_over(held)),
}


def minimised(loss, path, **options):
    ball = {"constraint": tg.sets.L2Ball(2.0), "guarantee": PROMISE, "solver": FEW_STEPS}
    return tg.minimize(loss, X, Y, checkpoint=path, **(ball | options))


def numbers_in(path):
    """How many of the secret numbers are written in a file, in any of the usual spellings."""
    text = path.read_text()
    return sum(
        any(f"{x:.{d}f}" in text for d in (4, 8)) or repr(x) in text for x in SECRET.tolist()
    )


def test_a_plain_function_is_told_by_its_name(tmp_path):
    minimised(gradient, tmp_path / "run")
    facts = json.loads((tmp_path / "run").read_text().splitlines()[0])["content"]["facts"]
    assert "test_described.gradient" in facts["plan"]


@pytest.mark.parametrize("name", HOLDERS)
def test_a_function_that_holds_values_is_refused(name):
    with pytest.raises(InputError, match=r"must hold no values .* RecordGradient\(.*name="):
        described(tg.losses.RecordGradient(HOLDERS[name](SECRET)))


def test_it_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match="must hold no values"):
        minimised(closed_over(SECRET), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.long
@pytest.mark.parametrize("name", ["a closure", "a callable record", "machine code over numbers"])
def test_a_public_name_stands_for_it_and_nothing_of_it_is_written(name, tmp_path):
    path = tmp_path / "run"
    loss = tg.losses.RecordGradient(HOLDERS[name](np.zeros(1_500)), name="gradient 2")
    minimised(loss, path, random_state=0)
    first, by_chance = path.read_text(), numbers_in(path)
    path.unlink()
    # The same name with other contents: the file may differ in released numbers alone.
    loss = tg.losses.RecordGradient(HOLDERS[name](SECRET), name="gradient 2")
    minimised(loss, path, random_state=0)
    assert "gradient 2" in first
    assert numbers_in(path) == by_chance
    for one, other in zip(first.splitlines(), path.read_text().splitlines(), strict=True):
        told = [json.loads(line)["content"] for line in (one, other)]
        assert told[0].get("facts") == told[1].get("facts")


def test_another_name_is_another_run(tmp_path):
    path = tmp_path / "run"
    function = closed_over(SECRET)
    minimised(tg.losses.RecordGradient(function, name="first"), path)
    with pytest.raises(InputError, match="of the same run"):
        minimised(tg.losses.RecordGradient(function, name="second"), path)
    minimised(tg.losses.RecordGradient(function, name="first"), path)


def test_code_alone_may_be_held():
    assert described(closed_over_function(gradient)).endswith("closed_over_function.<locals>.inner")
    assert described(closed_over_function(np.sum)) == described(closed_over_function(np.exp))
    assert described(closed_over_function(functools.partial)) == described(
        closed_over_function(gradient)
    )
    assert described(njit(gradient)) == described(gradient)

    def recursive(weights, features, target):
        return recursive if weights is None else features

    assert described(recursive).endswith("recursive")
    assert described(Holder.bound).endswith("test_described.Holder.bound")


@pytest.mark.parametrize("name", ["", 7, None, "x" * 201], ids=repr)
def test_a_public_name_is_a_short_text(name):
    if name is None:
        assert tg.losses.RecordGradient(gradient, name=name).public_name is None
        return
    with pytest.raises(InputError, match="name must be a text of 1 to 200"):
        tg.losses.RecordGradient(gradient, name=name)


def gate_of(tmp_path):
    return Gate.over(X, Y, guarantee=tg.ApproxDP(4.0, 1e-6), checkpoint=tmp_path / "run")


def test_a_question_that_holds_values_is_refused_before_it_is_booked(tmp_path):
    gate = gate_of(tmp_path)
    stage = Stage("rounds", "gradients", mu=0.1, times=1, size=2)
    gate.reserve(stage.event)
    query = MeanRecordGradient(tg.losses.RecordGradient(closed_over(SECRET)), clip_norm=1.0)
    with pytest.raises(InputError, match="must hold no values"):
        gate.ask(query, np.zeros(2), stage)
    assert gate.books.releases == ()
    gate.close()


def block_estimator(held):
    def estimate(features, target):
        return features.mean(axis=0) * np.size(held)

    return estimate


def block_mean(features, target):
    return features.mean(axis=0)


@pytest.mark.parametrize("estimator", [block_estimator(SECRET), block_mean])
def test_block_estimators_hold_nothing_either(tmp_path, estimator):
    gate = gate_of(tmp_path)
    query = SampleAggregate(estimator, center=(0.0, 0.0), diameter=4.0, n_blocks=20)
    share = tg.privacy.events.Approximate(3.0, 1e-7)
    public = query.calibrate_event(len(X), 2, share)
    stage = Stage.of(share, "center", "a centre", 1, public.size, kept=public.event, by_place=True)
    gate.reserve(stage.event)
    if estimator is block_mean:
        assert gate.ask(query, None, stage).shape == (2,)
    else:
        with pytest.raises(InputError, match="must hold no values"):
            gate.ask(query, None, stage)
    gate.close()
    assert numbers_in(tmp_path / "run") == 0 if (tmp_path / "run").exists() else True


@dataclass(frozen=True)
class OwnSolver(tg.solvers.NoisyGradientDescent):
    """A solver of a user's, which holds more than numbers."""

    prior: object = None


def test_a_solver_of_a_users_own_tells_numbers_and_words_alone(tmp_path):
    def with_prior(held):
        solver = OwnSolver(prior=held, n_steps=3)
        minimised(tg.losses.Huber(1.0), tmp_path / "run", solver=solver)

    for held in (SECRET, SECRET.tolist(), tuple(SECRET[:2]), {"a": 1.0}, closed_over(SECRET)):
        with pytest.raises(InputError, match=r"checkpoint must be None|must hold no values"):
            with_prior(held)
        assert not (tmp_path / "run").exists()
    with_prior(0.5)
    with pytest.raises(InputError, match="of the same run"):
        with_prior(0.25)


def test_what_is_declared_in_public_is_told_in_full(tmp_path):
    box = tg.sets.Box([-1.0, -2.5], [1.0, 2.0])
    minimised(tg.losses.Huber(1.0), tmp_path / "run", constraint=box)
    assert "-2.5" in (tmp_path / "run").read_text()
    for declared in ({0: 1.5}, {1: 1.5}):
        assert "1.5" in described(declared)
    assert described(np.array([0.1, 2.0])) != described(np.array([0.1, 3.0]))
    assert described(np.array(["a", "b"], dtype=object)) == described(np.array(["a", "b"], object))


def test_a_function_in_the_guise_of_the_librarys_own_is_none():
    function = functools.wraps(tg.minimize)(with_default(SECRET))
    with pytest.raises(InputError, match="must hold no values"):
        described(function)


def test_what_nothing_is_known_of_is_refused():
    class Unknown:
        def __init__(self):
            self.held = SECRET

    for fact in (Unknown(), [Unknown()], {"a": Unknown()}, memoryview(b"abc"), iter([1.0])):
        with pytest.raises(InputError, match="checkpoint must be None"):
            described(fact)


def test_numbers_of_numpy_are_numbers():
    assert described((np.float64(0.5), np.int64(3))) == described((0.5, 3)) == "tuple(0.5, 3)"


def test_a_plain_object_of_somebodys_own_is_told_by_its_numbers():
    class Level:
        def __init__(self, size):
            self.size = size

    assert described(Level(2.0)).endswith("Level(size=2.0)")
    with pytest.raises(InputError, match="holds more than a number or a word in 'size'"):
        described(Level([1.0, 2.0]))
