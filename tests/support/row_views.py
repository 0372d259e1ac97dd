"""Parts and orders of rows over which sums are compared."""

import numpy as np


def views(order):
    """Return views by name: functions from rows to rows, for an order of all rows."""
    return {
        "as they lie": lambda rows: rows,
        "in order": lambda rows: rows.in_order(order),
        "some": lambda rows: rows.restricted(order[:5000]),
        "some, in another order": lambda rows: rows.restricted(order[:5000]).in_order(
            order[order < 5000]
        ),
        "some of an order": lambda rows: rows.in_order(order).restricted(np.arange(6200, 6900)),
    }
