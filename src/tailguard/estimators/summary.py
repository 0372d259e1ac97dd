"""The printed form of a fitted model: coefficients, their privacy noise, the promise."""

from typing import Any

from tailguard.missing import Fill

__all__ = ["NOISE_NOTE", "coefficient_rows", "shown_rows", "summary_table"]

NOISE_NOTE = (
    "privacy noise: predicted standard deviation of the added noise alone; sampling\n"
    "error and what clipping and shrinking leave come on top (conf_int counts sampling)"
)
"""What the noise column says, and what it does not."""


def coefficient_rows(model: Any) -> list[tuple[str, float, float]]:
    """Return name, value and predicted noise of each coefficient, the intercept last.

    Examples
    --------
    >>> import tailguard as tg
    >>> model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0)
    >>> model = model.fit([[0.0], [1.0]] * 50, [0.0, 1.0] * 50)
    >>> [name for name, _, _ in coefficient_rows(model)]
    ['x0', '(intercept)']
    """
    names = list(getattr(model, "feature_names_in_", [])) or [
        f"x{column}" for column in range(model.n_features_in_)
    ]
    rows = list(zip(names, model.coef_, model.coef_noise_std_, strict=True))
    if model.fit_intercept:
        rows.append(("(intercept)", model.intercept_, model.intercept_noise_std_))
    return [(str(name), float(value), float(noise)) for name, value, noise in rows]


def shown_rows(model: Any) -> list[int]:
    """Return which rows a table shows: all, or of a sparse model those that it kept.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((1000, 9))
    >>> model = tg.SparseLinearRegression(n_nonzero=1, guarantee=tg.GDP(9.0), random_state=0)
    >>> shown_rows(model.fit(X, X[:, 3]))
    [3, 9]
    """
    n_columns = len(model.coef_)
    kept = list(getattr(model, "support_", range(n_columns)))
    return [int(column) for column in kept] + [n_columns] * bool(model.fit_intercept)


def summary_table(model: Any) -> str:
    """Return a fitted model as a text table.

    Examples
    --------
    >>> import tailguard as tg
    >>> model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0)
    >>> print(model.fit([[0.0], [1.0]] * 50, [0.0, 1.0] * 50).summary())  # doctest: +ELLIPSIS
    LinearRegression, n = 100, mode: simulation: NOT PRIVATE
    ...
    """
    certificate = model.certificate_
    everything = coefficient_rows(model)
    rows = [everything[row] for row in shown_rows(model)]
    width = max((len(name) for name, _, _ in rows), default=0)
    lines = [
        f"{type(model).__name__}, n = {certificate.n_rows}, mode: {certificate.mode}",
        certificate.guarantee.describe(),
        *_declared(model),
        "",
        f"{'':{width}}  {'coefficient':>14}  {'privacy noise':>14}",
    ]
    lines += [f"{name:{width}}  {value:14.6g}  {noise:14.3g}" for name, value, noise in rows]
    return "\n".join([*lines, "", NOISE_NOTE])


def _declared(model: Any) -> list[str]:
    """Say which constants stand for missing cells, where some do."""
    names = [name for name, _, _ in coefficient_rows(model)]
    declared = Fill.of(model.missing, model.n_features_in_, tuple(names)).describe(tuple(names))
    return [f"missing cells are taken as: {declared}"] if declared else []
