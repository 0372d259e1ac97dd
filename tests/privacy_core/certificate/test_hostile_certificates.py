"""What is no certificate, or one with an entry changed, is refused in one sentence."""

import json
from contextlib import suppress

import pytest

from support.certificates import example
from support.forging import leaves, with_value
from tailguard.checks import InputError
from tailguard.privacy.certificate import Certificate

HOSTILE = [10**400, float("nan"), -1, "x", None, [1], [[]], {}, {"kind": 1}, True]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:9])
def test_a_hostile_entry_is_refused_in_one_sentence_or_can_be_written_again(value):
    data = json.loads(example().to_json())
    changed = [with_value(data, place, value) for place in leaves(data)]
    for each in (value, *changed):
        with suppress(InputError):  # and no other error
            certificate = Certificate.from_json(json.dumps(each))
            assert certificate.to_json()
            assert certificate.to_text()
            assert certificate.to_html()
