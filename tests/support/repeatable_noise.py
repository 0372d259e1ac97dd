"""Secret words that repeat: those of a test, or of a fixture, follow from its name.

A test that fails once in a thousand runs is a fair one; of a thousand such tests one fails in every
run. So the noise of the default run is the same each time, as the examples of Hypothesis are; no
seed is chosen. With ``--fresh-noise``, in long audits and in other processes noise stays secret.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

import numpy as np

from tailguard.noise.sources import CryptographicSource, Words


class RepeatableNoise:
    """Stands for the operating system's generator while a test of a known name runs."""

    def __init__(self) -> None:
        self._secret = CryptographicSource().words
        self._process = os.getpid()
        self._stream: np.random.PCG64 | None = None

    def install(self) -> None:
        """Have every cryptographic source draw from here."""
        CryptographicSource.words = self._words

    def follow(self) -> None:
        """Repeat in this process, too, which was forked from the one that repeats."""
        self._process = os.getpid()

    @property
    def repeats(self) -> bool:
        """Whether what is drawn now follows from a name."""
        return self._stream is not None

    @contextmanager
    def named(self, name: str | None) -> Iterator[None]:
        """Draw what belongs to ``name``, or secret words for None; then go on as before."""
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
