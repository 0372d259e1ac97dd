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


@pytest.mark.parametrize(("by_person", "who"), [(False, "records"), (True, "persons")])
def test_it_says_who_weighs_how_little_and_what_to_do(by_person, who):
    (note,) = light_weights(125.0, 1.0, 10_000, by_person=by_person)
    assert f"{who} weigh on average about 1/80 of weight_bound" in note
    assert f"about 130 {who} in place of 10,000" in note
    assert "declare a smaller weight_bound" in note
    assert by_person is ("records" not in note)


def test_where_the_total_hides_it_says_a_bound():
    (note,) = light_weights(50.0, 75.0, 10_000)
    assert "unless most weigh nothing" in note
    assert "records weigh on average less than 1/50 of weight_bound" in note
    assert "less than 200 records" in note
