"""Repeatable noise: the random words of a test or fixture are derived from its name.

A test may fail by chance once in a thousand runs; among a thousand such tests one fails in every
run. So the noise of the default run repeats, as the examples of Hypothesis do; nobody chooses a
seed. With ``--fresh-noise``, in long audits and in other processes the noise is secret.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

import numpy as np

from tailguard.noise.sources import CryptographicSource, Words


class RepeatableNoise:
    """Replace the operating system's generator while a test with a known name runs."""

    def __init__(self) -> None:
        self._secret = CryptographicSource().words
        self._process = os.getpid()
        self._stream: np.random.PCG64 | None = None

    def install(self) -> None:
        """Make every cryptographic source draw from this generator."""
        CryptographicSource.words = self._words

    def follow(self) -> None:
        """Repeat the noise also in this process, a fork of the one that repeats."""
        self._process = os.getpid()

    @property
    def repeats(self) -> bool:
        """Whether the words are now derived from a name."""
        return self._stream is not None

    @contextmanager
    def named(self, name: str | None) -> Iterator[None]:
        """Within this context, draw the words of ``name``, or secret words for None."""
        before = self._stream
        seed = None if name is None else int.from_bytes(sha256(name.encode()).digest())
        self._stream = None if seed is None else np.random.PCG64(seed)
        try:
            yield
        finally:
            self._stream = before

    def _words(self, count: int) -> Words:
        if self._stream is None or os.getpid() != self._process:
            return self._secret(count)
        return self._stream.random_raw(count)
