"""Numbers out of arrays and tables, judged by their types and never by their values."""

from tailguard.tables.columns import cells_of
from tailguard.tables.kinds import column_names, type_word
from tailguard.tables.labels import (
    CLASSES_ASSUMED,
    check_plain_labels,
    classes_assumed,
    encode_labels,
    label_list,
    n_labels,
)
from tailguard.tables.matrices import to_matrix, to_matrix_or_vector, to_vector
from tailguard.tables.sparse_features import SparseFeatures, dense_pieces, is_sparse, to_features

__all__ = [
    "CLASSES_ASSUMED",
    "SparseFeatures",
    "cells_of",
    "check_plain_labels",
    "classes_assumed",
    "column_names",
    "dense_pieces",
    "encode_labels",
    "is_sparse",
    "label_list",
    "n_labels",
    "to_features",
    "to_matrix",
    "to_matrix_or_vector",
    "to_vector",
    "type_word",
]
