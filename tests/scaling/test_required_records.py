"""The note on records that weigh far less than their bound."""

import pytest

from tailguard.scaling.required_records import light_weights


@pytest.mark.parametrize(
    ("total", "noise_std", "noted"),
    [
        (999.0, 0.0, True),
        (1_000.0, 0.0, False),
        (900.0, 49.0, True),
        (900.0, 50.0, False),  # two deviations of its noise reach a tenth of the records
        (1.0, 500.0, False),
    ],
)
def test_it_is_said_below_a_tenth_of_the_records_beyond_noise(total, noise_std, noted):
    assert bool(light_weights(total, noise_std, 10_000)) is noted


def test_it_says_how_little_and_what_to_do():
    (note,) = light_weights(125.0, 1.0, 10_000)
    for words in (
        "records weigh on average about 1/80 of weight_bound",
        "noise is that of about 130 records in place of 10,000",
        "declare a smaller weight_bound",
        "about 80 times smaller",
        "weights above the bound are cut to it",
    ):
        assert words in note


def test_persons_are_called_by_their_name():
    (note,) = light_weights(125.0, 1.0, 10_000, by_person=True)
    assert "persons weigh on average about 1/80" in note
    assert "130 persons in place of 10,000" in note
    assert "records" not in note


def test_where_the_total_hides_it_says_a_bound():
    (note,) = light_weights(50.0, 75.0, 10_000)
    assert "records weigh on average less than 1/50 of weight_bound" in note
    assert "less than 200 records" in note
