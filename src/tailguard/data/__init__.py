"""Input tables, their schema, and the storage of their records.

``inputs.read_inputs`` reads the user's data once. Arrays and sparse matrices become a matrix. Data
with column names become a ``Table``; ``readers/`` open tables that are not in memory. A ``Schema``
declares the columns. ``columns.py`` reads a column by its type and ``cells.py`` reads each cell
separately, so no cell decides how another is read. The gate turns these inputs into ``rows/``, and
everything after that works on numbers only.
"""
