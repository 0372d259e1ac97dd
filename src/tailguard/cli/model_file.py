"""The model file: everything that a fit released, as JSON that people and programs can read.

It holds no record and nothing that was not paid for, so it may be shared as the certificate in it
allows. A number that is not finite is written as ``null``.
"""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_finite, check_version
from tailguard.cli.arguments import write_text
from tailguard.cli.models import MODELS
from tailguard.privacy.certificate import Certificate
from tailguard.schema.declared import labels
from tailguard.schema.schema import Schema
from tailguard.version import __version__

KEY = "tailguard_model"
"""The key that says what the file is; its value is the version of the format."""
VERSION = 3
"""A change of meaning takes a new number: version 1 had no schema, 2 no bounds of features."""
# Parameters that have their own place in the file, or none.
NOT_WRITTEN = ("checkpoint", "classes", "guarantee", "ledger", "missing", "schema")


@dataclass(frozen=True, eq=False)
class ModelFile:
    """An estimator that is fitted on a table by its schema, and its name on the command line.

    Examples
    --------
    >>> import pandas as pd
    >>> import tailguard as tg
    >>> table = pd.DataFrame({"age": [0.0, 1.0] * 500, "cost": [0.0, 1.0] * 500})
    >>> model = tg.LinearRegression(schema={"target": "cost"}, epsilon=1.0, delta=1e-6)
    >>> ModelFile("linear", model.fit(table)).to_dict()["feature_names"]
    ['age']
    """

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
            "coef": _finite_or_null(estimator.coef_),
            "intercept": _finite_or_null([estimator.intercept_])[0],
            "feature_bounds": _bounds_written(estimator.feature_bounds_),
            "score_bound": _finite_or_null([estimator.score_bound_])[0],
            "coef_noise_std": _finite_or_null(estimator.coef_noise_std_),
            "intercept_noise_std": _finite_or_null([estimator.intercept_noise_std_])[0],
            "coef_std": None
            if estimator.coef_std_ is None
            else _finite_or_null(estimator.coef_std_),
            "intercept_std": _finite_or_null([estimator.intercept_std_])[0],
            "notes": list(estimator.notes_),
            "certificate": estimator.certificate_.to_dict(),
        }

    def save(self, path: Path) -> None:
        """Write the file."""
        write_text(path, json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n")

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "ModelFile":
        """Restore a fitted estimator; raises ``KeyError``, ``TypeError`` or ``ValueError``."""
        version = check_version("MODEL", _version(content), newest=VERSION)
        schema = _schema_of_version_1(content) if version == 1 else content["schema"]
        estimator = MODELS[content["model"]](**content["parameters"], schema=Schema.of(schema))
        _restore_columns(estimator, content)
        estimator.coef_ = _numbers_or_nan(content["coef"])
        estimator.coef_noise_std_ = _numbers_or_nan(content["coef_noise_std"])
        n_coefficients = len(content["feature_names"])
        _require(n_coefficients == estimator.coef_.size == estimator.coef_noise_std_.size)
        estimator.feature_bounds_ = _bounds_read(content.get("feature_bounds"), n_coefficients)
        # None where there is no bound, and in files of before it was kept.
        (score_bound,) = _numbers_or_nan([content.get("score_bound")])
        estimator.score_bound_ = float(np.nan_to_num(score_bound, nan=math.inf))
        estimator.intercept_ = float(_numbers_or_nan([content["intercept"]])[0])
        estimator.intercept_noise_std_ = float(_numbers_or_nan([content["intercept_noise_std"]])[0])
        # Files of before these were kept have none.
        stds = content.get("coef_std")
        estimator.coef_std_ = None if stds is None else _numbers_or_nan(stds)
        _require(stds is None or n_coefficients == estimator.coef_std_.size)
        estimator.intercept_std_ = float(_numbers_or_nan([content.get("intercept_std")])[0])
        notes = content.get("notes", [])
        _require(isinstance(notes, list) and all(isinstance(note, str) for note in notes))
        estimator.notes_ = tuple(notes)
        estimator.certificate_ = Certificate.from_dict(content["certificate"])
        return cls(content["model"], estimator)


def load_model(path: Path) -> ModelFile:
    """Read a model file, in one sentence if it is none.

    Examples
    --------
    >>> _ = Path("model.json").write_text("{}")
    >>> load_model(Path("model.json"))
    Traceback (most recent call last):
    tailguard.checks.InputError: MODEL must be a file that 'tailguard fit' wrote; got 'model.json'.
    """
    wanted = f"MODEL must be a file that 'tailguard fit' wrote; got {str(path)!r}"
    try:
        return ModelFile.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except InputError as error:
        raise InputError(f"{wanted}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{wanted}.") from None


def _version(content: dict[str, Any]) -> Any:
    """Return the version of the format, which version 1 wrote as the end of a name."""
    if KEY in content:
        return content[KEY]
    named = re.fullmatch(r"tailguard-model-(\d+)", content["format"])
    return int(named[1]) if named else None


def _schema_of_version_1(content: dict[str, Any]) -> dict[str, Any]:
    """Return what version 1 said of the columns, as a schema says it."""
    names = ("categorical", "missing", "target", "exposure", "classes")
    return {"features": content["columns"]} | {name: content[name] for name in names}


def _restore_columns(estimator: Any, content: dict[str, Any]) -> None:
    """Give an estimator what a fit keeps of its columns."""
    schema = estimator.schema
    _require(bool(schema.features) and [*schema.coefficient_names] == content["feature_names"])
    estimator._keep_columns(None, schema)
    _require(hasattr(estimator, "classes") == (content["classes"] is not None))
    if content["classes"] is not None:
        estimator.classes_ = np.array(labels(content["classes"]))
        _require(len(estimator.classes_) == 2)


def _bounds_written(bounds: FloatArray | None) -> list[list[float | None]] | None:
    """Return lower and upper bounds; null where a feature has none."""
    return None if bounds is None else [_finite_or_null(side) for side in bounds.T]


def _bounds_read(written: list[list[float | None]] | None, n_features: int) -> FloatArray | None:
    if written is None:
        return None
    low, high = map(_numbers_or_nan, written)
    _require(low.size == high.size == n_features and not (low > high).any())
    return np.column_stack([np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)])


def _finite_or_null(values: Iterable[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _numbers_or_nan(values: list[float | None]) -> FloatArray:
    return np.array(
        [math.nan if value is None else check_finite("number", value) for value in values]
    )


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("not a model file")
