"""The LIBSVM sets a8a, a9a and w7a from a folder of Parquet files, with their own split."""

from dataclasses import dataclass

from accuracy import real


@dataclass(frozen=True)
class Libsvm:
    """A file, and how many of its binary attributes are active in a record, as publicly known.

    In a8a and a9a that is one of each of 14 attributes. For w7a nothing is published; 36 is a
    choice: rows with more are shrunk by the methods that bound rows.
    """

    file: str
    active: int


SETS = (Libsvm("a8a", 14), Libsvm("a9a", 14), Libsvm("w7a", 36))


def available(folder):
    """Return the sets whose file is in the folder, and a sentence on every other."""
    here, missing = real.available(folder, SETS)
    return here, [
        f"{each.file} is left out: there is no {each.file}.parquet in the data folder."
        for each in missing
    ]
