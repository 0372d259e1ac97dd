"""Lines of tailguard name the code that made them."""

import re

import pytest

import tailguard as tg
from accuracy import library as module
from accuracy.library import library


@pytest.fixture(autouse=True)
def asked_anew():
    library.cache_clear()
    yield
    library.cache_clear()


def test_the_library_is_named_by_its_version_and_its_last_change():
    """Where there is no git, as in a source archive, by its version alone."""
    named = rf"{re.escape(tg.__version__)}( at [0-9a-f]+ of \d{{4}}(-\d\d){{2}}( and changes)?)?"
    assert re.fullmatch(named, library())


@pytest.mark.parametrize(
    ("commit", "status", "said"),
    [
        ("", "", ""),
        ("ab12 of 2026-01-02", "", " at ab12 of 2026-01-02"),
        ("ab12 of 2026-01-02", " M x.py", " at ab12 of 2026-01-02 and changes"),
    ],
)
def test_changes_that_are_not_committed_are_told(monkeypatch, commit, status, said):
    answers = {"log": commit, "status": status}
    monkeypatch.setattr(module, "_git", lambda folder, word, *more: answers[word])
    assert library() == f"{tg.__version__}{said}"


def test_without_git_the_version_is_all_that_is_known(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert library() == tg.__version__
