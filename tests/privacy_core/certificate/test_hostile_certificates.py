"""What is no certificate, or one with an entry changed, is refused in one sentence."""

import json
from contextlib import suppress
from copy import copy

import pytest

from support.certificates import example
from tailguard.checks import InputError
from tailguard.privacy.certificate import Certificate

HOSTILE = [10**400, float("nan"), -1, "x", None, [1], [[]], {}, {"kind": 1}, True]


def places(data, place=()):
    """Every place in a certificate's plain data."""
    yield place
    if isinstance(data, dict | list):
        for key in data if isinstance(data, dict) else range(len(data)):
            yield from places(data[key], (*place, key))


def with_entry(data, place, value):
    if not place:
        return value
    changed = copy(data)
    changed[place[0]] = with_entry(data[place[0]], place[1:], value)
    return changed


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:9])
def test_a_hostile_entry_is_refused_in_one_sentence_or_can_be_written_again(value):
    data = json.loads(example().to_json())
    for place in places(data):
        text = json.dumps(with_entry(data, place, value))
        with suppress(InputError):  # and no other error
            certificate = Certificate.from_json(text)
            assert certificate.to_json()
            assert certificate.to_text()
            assert certificate.to_html()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sampler_log_ratio", 10**400),
        ("sampler_total_variation", 10**400),
        ("unused_stages", [1]),
        ("assumptions_for_accuracy", [1]),
        ("version", float("nan")),
    ],
)
def test_an_entry_of_another_kind_is_refused(name, value):
    data = json.loads(example().to_json()) | {name: value}
    with pytest.raises(InputError, match=r"must hold what to_dict wrote|must be a (num|text)"):
        Certificate.from_dict(data)
