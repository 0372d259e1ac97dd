"""The terms of a model: columns, public functions of them, and products.

Each term is a function of one record, because its parameters, such as knots, are declared. So
replacing one record of the table replaces one row of the design matrix.
"""
