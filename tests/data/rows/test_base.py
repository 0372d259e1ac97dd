"""How many threads."""

import os

import pytest

from tailguard.checks import InputError
from tailguard.data.rows.threads import resolve_threads


def test_by_default_every_cpu_that_the_process_may_use(monkeypatch):
    monkeypatch.delenv("TAILGUARD_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    assert resolve_threads() == 3


def test_the_argument_goes_before_the_environment(monkeypatch):
    monkeypatch.setenv("TAILGUARD_NUM_THREADS", "7")
    assert resolve_threads() == 7
    assert resolve_threads(2) == 2


@pytest.mark.parametrize("told", ["0", "-1", "two", "", "1.5"])
def test_nonsense_in_the_environment_is_refused(monkeypatch, told):
    monkeypatch.setenv("TAILGUARD_NUM_THREADS", told)
    with pytest.raises(InputError, match="TAILGUARD_NUM_THREADS must be a whole number"):
        resolve_threads()


@pytest.mark.parametrize("n_threads", [0, True, 1.5])
def test_nonsense_in_the_argument_is_refused(n_threads):
    with pytest.raises(InputError, match="n_threads"):
        resolve_threads(n_threads)
