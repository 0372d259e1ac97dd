"""What is protected one by one, and the statements about it that contradict one another."""

import pytest

from tailguard.checks import InputError
from tailguard.privacy.unit import Unit


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_rows": 3}, "max_rows and weight must be left out where no person is named"),
        ({"weight": "row"}, "max_rows and weight must be left out where no person is named"),
        ({"person": "key", "one_row_per_person": True}, "one_row_per_person must be False"),
    ],
)
def test_a_contradiction_is_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        Unit(**wrong)
