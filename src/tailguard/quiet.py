"""Silence warnings while records are read, since a warning could reveal a record."""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np


class SharedSetting:
    """A setting of the whole process that any number of threads use at once.

    The first thread that enters changes the setting; the last one that leaves restores it.

    Parameters
    ----------
    change
        Returns a context manager that changes the setting and restores it.
    again
        Changes the setting once more for each further thread: other code may have undone it.
    """

    def __init__(
        self,
        change: Callable[[], AbstractContextManager[Any]],
        again: Callable[[], object] = lambda: None,
    ) -> None:
        self._change, self._again = change, again
        self._lock = threading.Lock()
        self._users = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._changed = self._change()
                self._changed.__enter__()
            else:
                self._again()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._changed.__exit__(None, None, None)
            self._users = max(0, self._users)  # a fork resets the number

    def begin_anew(self) -> None:
        """Restore the setting in a forked process, which lacks the threads that used it."""
        was_changed, self._users, self._lock = self._users > 0, 0, threading.Lock()
        if was_changed:
            self._changed.__exit__(None, None, None)


def _ignore_again() -> None:
    """Put the filter that ignores all warnings first again, if other code has undone it.

    ``simplefilter`` removes an equal filter for a moment, in which other threads could warn.
    """
    if next(iter(warnings.filters), None) != IGNORE:
        warnings.simplefilter("ignore")


IGNORE = ("ignore", None, Warning, None, 0)
# Filters for warnings belong to the whole process.
NO_WARNINGS = SharedSetting(partial(warnings.catch_warnings, action="ignore"), _ignore_again)


@contextmanager
def quietly() -> Iterator[None]:
    """Silence warnings and numerical errors, which could reveal something about a record."""
    with NO_WARNINGS, np.errstate(all="ignore"):
        yield
