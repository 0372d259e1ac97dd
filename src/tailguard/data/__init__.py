"""Tables of every kind, their schema, and where their records live.

What a user brought is read once, by ``inputs.read_inputs``. Arrays and sparse matrices become a
matrix; everything whose columns have names is a ``Table``, which ``readers/`` open where it is not
in memory, and a ``Schema`` says what its columns are. ``columns.py`` reads a column by its type and
``cells.py`` one cell by itself, so that no cell decides how another is read. The gate makes
``rows/`` of these inputs, and from then on there are numbers alone.
"""
