"""Oracles of a descent with hardly any clipping, over a given number of groups."""

from dataclasses import fields

from support.registered import class_of
from tailguard.solvers.oracles import ORACLES, make_oracle


def wide(kind, reach):
    """Parameters with which a query changes hardly any entry within ``reach`` of zero."""
    values = {
        **{"clip_norm": reach, "threshold": reach, "low": -reach, "high": reach, "n_trimmed": 100},
        **{"scale": 30.0 * reach, "smoothing": 400.0},  # psi differs from the identity by a cube
    }
    return {field.name: values[field.name] for field in fields(kind) if field.name in values}


def wide_oracle(name, reach, n_groups=1):
    """The oracle with this name; over one group it is nearly the plain mean."""
    kind = class_of(ORACLES[name])
    grouped = {"n_groups": n_groups, "centre": "median"}
    known = {field.name for field in fields(kind)}
    chosen = {option: value for option, value in grouped.items() if option in known}
    return make_oracle(name, **wide(kind, reach), **chosen)
