"""The models that ``fit`` offers by name, and the option that belongs to each."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_choice, check_finite, check_version
from tailguard.cli.arguments import write_text
from tailguard.data.declarations import labels
from tailguard.data.schema import Schema
from tailguard.estimators.registry import ESTIMATORS, estimator_called
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.certificate.certificate import read_json
from tailguard.privacy.guarantees import ApproxDP
from tailguard.version import __version__

MODELS: dict[str, Any] = {name: estimator_called(name) for name in ESTIMATORS}
"""Name -> estimator."""

PARAMETERS = {
    "--classes": ("classes",), "--keep": ("n_nonzero",), "--level": ("level",),
    "--power": ("p", "power"), "--threshold": ("threshold",),
}  # fmt: skip
"""Option -> the parameters of estimators that it sets, of which an estimator has one at most."""


def _parameter(option: str, estimator: Any) -> str | None:
    """Return the parameter of an estimator that an option sets; None if it has none."""
    return next((name for name in PARAMETERS[option] if hasattr(estimator, name)), None)


def takers(option: str) -> str:
    """Name the models that have what an option tells, for messages and help."""
    return " or ".join(name for name, kind in MODELS.items() if _belongs(option, kind))


def _belongs(option: str, estimator: Any) -> bool:
    """Whether an estimator has what an option tells."""
    if option == "--exposure":
        return bool(estimator.takes_exposure)
    return _parameter(option, estimator) is not None


def make_estimator(model: str, parameters: dict[str, Any], *, own_options: dict[str, Any]) -> Any:
    """Build an estimator, refusing an option of another model; None stands for not given."""
    estimator = MODELS[check_choice("--model", model, MODELS)]
    chosen = dict(parameters)
    for option, value in own_options.items():
        if value is None:
            continue
        if not _belongs(option, estimator):
            raise InputError(f"{option} belongs to --model {takers(option)}; got --model {model}.")
        if option in PARAMETERS and option != "--classes":  # these are part of the schema
            chosen[str(_parameter(option, estimator))] = value
    return estimator(**chosen)


KEY = "tailguard_model"
"""The key that says what the file is; its value is the version of the format."""
VERSION = 1
"""A change of meaning takes a new number."""
# What a fit releases, as its attributes are called but for their last underscore.
RELEASED = (
    *("coef", "intercept", "feature_bounds", "score_bound", "coef_noise_std"),
    *("intercept_noise_std", "coef_std", "intercept_std", "interval_center"),
)
# Parameters that have their own place in the file, or none.
NOT_WRITTEN = ("checkpoint", "classes", "guarantee", "ledger", "missing", "schema")


@dataclass(frozen=True, eq=False)
class ModelFile:
    """An estimator that is fitted on a table by its schema, and its name on the command line."""

    model: str
    estimator: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the file's content as plain data."""
        estimator = self.estimator
        parameters = estimator.get_params(deep=False)
        return {
            KEY: VERSION,
            "tailguard_version": __version__,
            "model": self.model,
            "parameters": {
                name: value for name, value in parameters.items() if name not in NOT_WRITTEN
            },
            "schema": estimator.schema_.to_dict(),
            "classes": estimator.classes_.tolist() if "classes" in parameters else None,
            "feature_names": list(estimator.schema_.coefficient_names),
            **{name: _written(getattr(estimator, f"{name}_")) for name in RELEASED},
            "reasons": list(estimator.reasons_),
            "notes": list(estimator.notes_),
            "certificate": estimator.certificate_.to_dict(),
        }

    def save(self, path: Path) -> None:
        """Write the file."""
        write_text(path, json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n")

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "ModelFile":
        """Restore a fitted estimator; raises ``KeyError``, ``TypeError`` or ``ValueError``."""
        check_version("MODEL", content[KEY], newest=VERSION)
        schema = Schema.of(content["schema"])
        estimator = MODELS[content["model"]](**content["parameters"], schema=schema)
        _restore_columns(estimator, content)
        for name in ("coef", "coef_noise_std", "coef_std"):
            setattr(estimator, f"{name}_", _numbers_or_nan(content[name]))
        for name in ("intercept", "intercept_noise_std", "intercept_std", "score_bound"):
            setattr(estimator, f"{name}_", float(_numbers_or_nan([content[name]])[0]))
        if content["coef_std"] is None:
            estimator.coef_std_ = None
        estimator.score_bound_ = float(np.nan_to_num(estimator.score_bound_, nan=math.inf))
        coefs = (estimator.coef_, estimator.coef_noise_std_, estimator.coef_std_)
        n_coefficients = len(content["feature_names"])
        _require(all(each is None or each.size == n_coefficients for each in coefs))
        center = content["interval_center"]
        estimator.interval_center_ = None if center is None else _numbers_or_nan(center)
        _require(center is None or estimator.interval_center_.size == n_coefficients + 1)
        estimator.feature_bounds_ = _bounds_read(content["feature_bounds"], n_coefficients)
        for name in ("reasons", "notes"):
            sentences = content[name]
            _require(isinstance(sentences, list) and all(isinstance(s, str) for s in sentences))
            setattr(estimator, f"{name}_", tuple(sentences))
        estimator.certificate_ = Certificate.from_dict(content["certificate"])
        _check_promise(content["parameters"], estimator.certificate_)
        return cls(content["model"], estimator)


def load_model(path: Path) -> ModelFile:
    """Read a model file, in one sentence if it is none."""
    wanted = f"MODEL must be a file that 'tailguard fit' wrote; got {str(path)!r}"
    try:
        if not path.is_file():  # some devices are read for ever
            raise ValueError
        return ModelFile.from_dict(read_json(path.read_text(encoding="utf-8")))
    except InputError as error:
        raise InputError(f"{wanted}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{wanted}.") from None


def _restore_columns(estimator: Any, content: dict[str, Any]) -> None:
    """Give an estimator what a fit keeps of its columns."""
    schema = estimator.schema
    _require(bool(schema.features) and [*schema.coefficient_names] == content["feature_names"])
    estimator._keep_columns(None, schema)
    _require(hasattr(estimator, "classes") == (content["classes"] is not None))
    if content["classes"] is not None:
        estimator.classes_ = np.array(labels(content["classes"]))
        _require(len(estimator.classes_) == 2)


def _check_promise(parameters: dict[str, Any], certificate: Certificate) -> None:
    """Refuse parameters of another promise, and a simulation that passes for a private fit."""
    epsilon, delta = parameters.get("epsilon"), parameters.get("delta")
    if epsilon is not None and ApproxDP(epsilon, delta) != certificate.guarantee:  # type: ignore[arg-type]
        raise InputError("its parameters must have the epsilon and delta of its certificate.")
    if (parameters.get("random_state") is not None) != certificate.mode.startswith("simulation"):
        raise InputError("its random_state must be that of its certificate's mode.")


def _bounds_read(written: list[list[float | None]] | None, n_features: int) -> FloatArray | None:
    if written is None:
        return None
    low, high = map(_numbers_or_nan, written)
    _require(low.size == high.size == n_features and not (low > high).any())
    return np.column_stack([np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)])


def _written(value: Any) -> Any:
    """Return a number, a vector, or bounds of features side by side; null where none is finite."""
    if np.ndim(value) > 0:
        return [_written(each) for each in np.transpose(value)]
    return float(value) if value is not None and math.isfinite(value) else None


def _numbers_or_nan(values: list[float | None] | None) -> FloatArray:
    given = () if values is None else values
    return np.array([math.nan if each is None else check_finite("number", each) for each in given])


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("not a model file")
