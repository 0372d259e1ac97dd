"""Settings of the whole process that several threads hold at once."""

from contextlib import contextmanager

from tailguard.quiet import SharedSetting


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
