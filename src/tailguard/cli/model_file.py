"""The models of ``tailguard fit``, the options of each, and loading of model files."""

from pathlib import Path
from typing import Any

from tailguard.checks import InputError, check_choice
from tailguard.data.schema import Schema
from tailguard.estimators.model_file import read_model
from tailguard.estimators.registry import ESTIMATORS, estimator_called
from tailguard.gate.plan import check_ridge

PARAMETERS = {
    "--alpha": ("alpha",),
    "--classes": ("classes",), "--keep": ("n_nonzero",), "--level": ("level",),
    "--power": ("p", "power"), "--threshold": ("threshold",),
}  # fmt: skip
"""Option -> parameters that it may set; an estimator has at most one of these parameters."""


def _parameter(option: str, estimator: Any) -> str | None:
    """Return the parameter of an estimator that an option sets; None if it has none."""
    return next((name for name in PARAMETERS[option] if hasattr(estimator, name)), None)


def takers(option: str) -> str:
    """Return the names of the models that have an option, as text."""
    return " or ".join(name for name in ESTIMATORS if _belongs(option, estimator_called(name)))


def _belongs(option: str, estimator: Any) -> bool:
    """Whether an option belongs to an estimator."""
    if option == "--exposure":
        return bool(estimator.takes_exposure)
    return _parameter(option, estimator) is not None


def make_estimator(model: str, parameters: dict[str, Any], *, own_options: dict[str, Any]) -> Any:
    """Build an estimator; refuse options of other models, and ignore options that are None."""
    estimator = estimator_called(check_choice("--model", model, ESTIMATORS))
    arguments = dict(parameters)
    for option, value in own_options.items():
        if value is None:
            continue
        if not _belongs(option, estimator):
            raise InputError(f"{option} belongs to --model {takers(option)}; got --model {model}.")
        if option == "--alpha":
            check_ridge(value)  # raises before any message about columns is printed
        if option in PARAMETERS and option != "--classes":  # the schema has the classes
            arguments[str(_parameter(option, estimator))] = value
    return estimator(**arguments)


def load_model(path: Path, argument: str = "MODEL") -> Any:
    """Return the fitted estimator of a model file; raise ``InputError`` for any other file."""
    estimator = read_model(path, f"{argument} must be a file that 'tailguard fit' wrote")
    names = estimator._names()
    if estimator.schema_ is None and names is not None:  # fitted in Python, without a schema
        missing = {names[place]: value for place, value in estimator._constants().items()}
        estimator._keep_columns(None, Schema(features=names, missing=missing))
    return estimator
