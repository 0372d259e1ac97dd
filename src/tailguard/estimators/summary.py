"""The printed form of a fitted model: coefficients, their privacy noise, the promise."""

from typing import Any

__all__ = ["summary_table"]


def summary_table(model: Any) -> str:
    """Return a fitted model as a text table.

    The noise column is the predicted standard deviation of the noise that privacy added. It does
    not include sampling error or clipping bias.

    Examples
    --------
    >>> import tailguard as tg
    >>> model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0)
    >>> print(model.fit([[0.0], [1.0]] * 50, [0.0, 1.0] * 50).summary())  # doctest: +ELLIPSIS
    LinearRegression ...
    """
    certificate = model.certificate_
    names = list(getattr(model, "feature_names_in_", [])) or [
        f"x{column}" for column in range(model.n_features_in_)
    ]
    rows = list(zip(names, model.coef_, model.coef_noise_std_, strict=True))
    if model.fit_intercept:
        rows.append(("(intercept)", model.intercept_, model.intercept_noise_std_))
    width = max(len(str(name)) for name, _, _ in rows)
    lines = [
        f"{type(model).__name__}  n = {certificate.n_rows}  {certificate.guarantee.describe()}",
        f"mode: {certificate.mode}",
        "",
        f"{'':{width}}  {'coefficient':>14}  {'privacy noise':>14}",
    ]
    lines += [f"{name!s:{width}}  {value:14.6g}  {noise:14.3g}" for name, value, noise in rows]
    lines += [
        "",
        "privacy noise: predicted standard deviation of the added noise, without sampling error",
    ]
    return "\n".join(lines)
