"""Numbers that nobody can read before their key is written.

An answer must not be in the file in part: whoever saw one part of it, and later another answer to
the same question, saw two. So an answer is written under a key first, and the key, which is short,
is written once all of the answer is on the disk. Without its key an answer is nobody's.

Reference
---------
FIPS 202 (SHAKE256 with a secret random key of 256 bits is a stream that cannot be told from chance
without it).
"""

from base64 import b64decode, b64encode
from hashlib import shake_256

import numpy as np

from tailguard.array_types import IntArray

# Whole numbers of 64 bits, the lowest byte first, on every machine: a text of digits would be as
# long as its numbers are large, which is for anybody to see.
STORED = "<i8"


def sealed(numbers: IntArray, key: bytes) -> str:
    """Return whole numbers as text that only the key opens; a key is used once.

    Examples
    --------
    >>> unsealed(sealed(np.array([3, -5]), bytes(32)), bytes(32))
    array([ 3, -5])
    """
    return b64encode(_masked(numbers.astype(STORED).tobytes(), key)).decode()


def unsealed(text: str, key: bytes) -> IntArray:
    """Return the numbers again.

    Examples
    --------
    >>> unsealed(sealed(np.array([2**60]), b"another key"), b"another key")
    array([1152921504606846976])
    """
    return np.frombuffer(_masked(b64decode(text), key), dtype=STORED).astype(np.int64)


def _masked(plain: bytes, key: bytes) -> bytes:
    """Return bytes joined with the key's stream; twice gives them back."""
    stream = np.frombuffer(shake_256(key).digest(len(plain)), dtype=np.uint8)
    return (np.frombuffer(plain, dtype=np.uint8) ^ stream).tobytes()
