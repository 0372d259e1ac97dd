"""The models that ``fit`` offers by name, and the option that belongs to each."""

from typing import Any

from tailguard.checks import InputError, check_choice
from tailguard.estimators.registry import ESTIMATORS, estimator_called

MODELS: dict[str, Any] = {name: estimator_called(name) for name in ESTIMATORS}
"""Name -> estimator."""

PARAMETERS = {"--keep": "n_nonzero", "--level": "level", "--power": "p", "--threshold": "threshold"}
"""Option -> the parameter of an estimator that it sets."""


def _belongs(option: str, estimator: Any) -> bool:
    """Whether an estimator has what an option tells."""
    if option == "--exposure":
        return bool(estimator.takes_exposure)
    return hasattr(estimator, PARAMETERS.get(option, "classes"))


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
        if value is None:
            continue
        if not _belongs(option, estimator):
            wanted = " or ".join(name for name in MODELS if _belongs(option, MODELS[name]))
            raise InputError(f"{option} belongs to --model {wanted}; got --model {model}.")
        if option in PARAMETERS:
            chosen[PARAMETERS[option]] = value
    return estimator(**chosen)
