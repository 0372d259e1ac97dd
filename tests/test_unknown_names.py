"""Names that nothing has are refused by every public call, and words of habit lead to ours."""

import inspect

import pytest

import tailguard as tg
from tailguard.checks import HABITS, ArgumentError


def public_calls():
    """Every public function, constructor and method that takes no argument of any other name."""
    shown = {name: getattr(tg, name) for name in tg.__all__ if name != "papers"}
    for room in ("datasets", "losses", "sets", "solvers"):
        shown |= {f"{room}.{name}": getattr(shown[room], name) for name in shown[room].__all__}
    for place, value in shown.items():
        if isinstance(value, type) and not issubclass(value, BaseException):
            yield place, value.__init__, (None,)
            names = () if "." in place else (n for n in dir(value) if not n.startswith("_"))
            for name in names:
                method = getattr(value, name)
                if inspect.isfunction(method) or inspect.ismethod(method):
                    yield f"{place}.{name}", method, () if inspect.ismethod(method) else (None,)
        elif inspect.isfunction(value):
            yield place, value, ()


def test_every_public_call_refuses_an_argument_that_it_does_not_take():
    refused = []
    for place, call, own in public_calls():
        taken = inspect.signature(call).parameters.values()
        ours = getattr(call, "__module__", "").startswith("tailguard")
        if ours and not any(e.kind is e.VAR_KEYWORD for e in taken):
            with pytest.raises(ArgumentError, match="must not be given a_slip: "):
                call(*own, a_slip=1)
            refused.append(place)
    assert len(refused) > 250


def test_a_name_that_the_library_does_not_have_is_suggested():
    with pytest.raises(AttributeError, match="no attribute 'LinearRegresion'") as refused:
        _ = tg.LinearRegresion
    assert (refused.value.name, refused.value.obj) == ("LinearRegresion", tg)


@pytest.mark.parametrize(("words", "ours"), [(words, ours) for words, *ours in HABITS])
def test_every_word_of_habit_leads_somewhere(words, ours):
    assert words == words.lower()
    assert ours
    for word in words.split():
        assert sum(word in others.split() for others, *_ in HABITS) == 1
