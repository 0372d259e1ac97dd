"""Contents of a file, as numbers or as cells of its columns."""

from tailguard.data.columns import cells_of
from tailguard.data.design import design_matrix
from tailguard.data.frames import frame_column
from tailguard.data.readers.opening import opened_path
from tailguard.data.schema import Schema


def names_in(path):
    return opened_path(path).names


def numbers_in(path, names):
    """Columns of a file as a matrix of numbers."""
    return design_matrix(opened_path(path), Schema(features=names))


def cells_in(path, names):
    """Columns of a file as lists of cells."""
    pieces = list(opened_path(path).batches(names, 10_000))
    return [[cell for piece in pieces for cell in cells_of(frame_column(piece, n))] for n in names]
