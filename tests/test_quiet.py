"""Settings of the whole process that several threads hold at once."""

import warnings
from contextlib import contextmanager

from tailguard.quiet import SharedSetting, quietly


def test_a_setting_is_changed_by_the_first_and_restored_by_the_last():
    steps = []

    @contextmanager
    def change():
        steps.append("changed")
        yield
        steps.append("restored")

    setting = SharedSetting(change)
    with setting:
        with setting:
            pass
        assert steps == ["changed"]
    assert steps == ["changed", "restored"]


def test_warnings_stay_silent_if_other_code_restores_its_filters_during_a_run():
    """As a thread does that leaves ``catch_warnings`` while a run is under way."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with quietly():
            warnings.simplefilter("always")
            with quietly():
                warnings.warn("a record is odd", stacklevel=1)
        assert not heard
        warnings.warn("after the run", stacklevel=1)
        assert len(heard) == 1


def test_reading_again_never_takes_the_filter_away_for_a_moment(monkeypatch):
    """A warning of another thread would be heard then."""
    with quietly():
        silent = list(warnings.filters)
        monkeypatch.setattr(warnings, "filters", tuple(silent))  # which nobody can change
        with quietly():
            assert list(warnings.filters) == silent
        monkeypatch.undo()
