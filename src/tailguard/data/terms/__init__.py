"""What a model's coefficients stand for: columns, public functions of them, and products.

Each is a function of one record alone, since whatever it needs, such as knots, is declared: so
replacing one record still replaces one record.
"""
