"""The models that ``fit`` offers by name, and the option that belongs to each."""

from typing import Any

from tailguard.checks import InputError, check_choice
from tailguard.estimators.registry import ESTIMATORS, estimator_called

MODELS: dict[str, Any] = {name: estimator_called(name) for name in ESTIMATORS}
"""Name -> estimator."""

# Option -> the models it belongs to, and the estimator's parameter that it sets, if any.
OWN_OPTIONS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "--classes": (("logistic", "sparse-logistic"), None),
    "--exposure": (("poisson",), None),
    "--keep": (("sparse-linear", "sparse-logistic"), "n_nonzero"),
    "--level": (("quantile",), "level"),
    "--power": (("lp",), "p"),
    "--threshold": (("huber",), "threshold"),
}


def make_estimator(model: str, parameters: dict[str, Any], *, own_options: dict[str, Any]) -> Any:
    """Build an estimator, refusing an option of another model; None stands for not given.

    Examples
    --------
    >>> make_estimator("quantile", {"epsilon": 1.0}, own_options={"--level": 0.9}).level
    0.9
    """
    estimator = MODELS[check_choice("--model", model, MODELS)]
    chosen = dict(parameters)
    for option, value in own_options.items():
        owners, parameter = OWN_OPTIONS[option]
        if value is not None and model not in owners:
            wanted = " or ".join(owners)
            raise InputError(f"{option} belongs to --model {wanted}; got --model {model}.")
        if value is not None and parameter is not None:
            chosen[parameter] = value
    return estimator(**chosen)
