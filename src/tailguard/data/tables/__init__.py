"""Numbers out of arrays and tables, judged by their types and never by their values."""

from tailguard.data.tables.columns import cells_of
from tailguard.data.tables.kinds import column_names, type_word
from tailguard.data.tables.labels import (
    CLASSES_ASSUMED,
    check_plain_labels,
    classes_assumed,
    encode_labels,
    label_list,
    n_labels,
)
from tailguard.data.tables.matrices import to_matrix, to_matrix_or_vector, to_vector
from tailguard.data.tables.sparse_features import (
    SparseFeatures,
    dense_pieces,
    is_sparse,
    to_features,
)

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
