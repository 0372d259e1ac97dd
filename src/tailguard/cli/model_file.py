"""The model file: everything that a fit released, as JSON that people and programs can read.

It holds no record and nothing that was not paid for, so it may be shared as the certificate in it
allows. A number that is not finite is written as ``null``.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailguard.checks import InputError, check_finite
from tailguard.cli.arguments import write_text
from tailguard.cli.design import Design
from tailguard.cli.models import MODELS
from tailguard.missing import Fill
from tailguard.privacy.certificate import Certificate
from tailguard.version import __version__

__all__ = ["FORMAT", "ModelFile", "load_model"]

FORMAT = "tailguard-model-1"
"""Name and version of the format; a change of meaning takes a new number."""
# Parameters that have their own place in the file, or none.
NOT_WRITTEN = ("classes", "guarantee", "ledger", "missing")


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A fitted estimator, and the columns of a file that it was fitted on.

    Examples
    --------
    >>> import tailguard as tg
    >>> model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0)
    >>> model = model.fit(np.arange(100.0)[:, None], np.arange(100.0))
    >>> ModelFile("linear", model, Design(("age",)), target="cost").to_dict()["feature_names"]
    ['age']
    """

    model: str
    estimator: Any
    design: Design
    target: str
    exposure: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the file's content as plain data."""
        estimator = self.estimator
        parameters = estimator.get_params(deep=False)
        names = self.design.feature_names
        fill = Fill.of(parameters["missing"], len(names), names)
        return {
            "format": FORMAT,
            "tailguard_version": __version__,
            "model": self.model,
            "parameters": {
                name: value for name, value in parameters.items() if name not in NOT_WRITTEN
            },
            "columns": list(self.design.columns),
            "categorical": {name: list(levels) for name, levels in self.design.categorical.items()},
            "target": self.target,
            "exposure": self.exposure,
            "missing": {names[place]: constant for place, constant in fill.constants.items()},
            "classes": estimator.classes_.tolist() if "classes" in parameters else None,
            "feature_names": list(names),
            "coef": _plain(estimator.coef_),
            "intercept": _plain([estimator.intercept_])[0],
            "coef_noise_std": _plain(estimator.coef_noise_std_),
            "intercept_noise_std": _plain([estimator.intercept_noise_std_])[0],
            "coef_std": None if estimator.coef_std_ is None else _plain(estimator.coef_std_),
            "intercept_std": _plain([estimator.intercept_std_])[0],
            "notes": list(estimator.notes_),
            "certificate": estimator.certificate_.to_dict(),
        }

    def save(self, path: Path) -> None:
        """Write the file."""
        write_text(path, json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n")

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "ModelFile":
        """Restore a fitted estimator; raises ``KeyError``, ``TypeError`` or ``ValueError``."""
        _require(content["format"] == FORMAT)
        parameters = dict(content["parameters"])
        if content["classes"] is not None:
            parameters["classes"] = tuple(content["classes"])
        estimator = MODELS[content["model"]](**parameters)
        design = Design(
            tuple(content["columns"]),
            {name: tuple(levels) for name, levels in content["categorical"].items()},
        )
        names = list(design.feature_names)
        constants = {name: check_finite(name, value) for name, value in content["missing"].items()}
        estimator.missing = design.constants(constants) or None
        estimator.coef_ = _numbers(content["coef"])
        estimator.coef_noise_std_ = _numbers(content["coef_noise_std"])
        _require(content["feature_names"] == names)
        _require(len(names) == estimator.coef_.size == estimator.coef_noise_std_.size)
        estimator.n_features_in_ = len(names)
        estimator.intercept_ = float(_numbers([content["intercept"]])[0])
        estimator.intercept_noise_std_ = float(_numbers([content["intercept_noise_std"]])[0])
        # Files of before these were kept have none.
        stds = content.get("coef_std")
        estimator.coef_std_ = None if stds is None else _numbers(stds)
        _require(stds is None or len(names) == estimator.coef_std_.size)
        estimator.intercept_std_ = float(_numbers([content.get("intercept_std")])[0])
        notes = content.get("notes", [])
        _require(isinstance(notes, list) and all(isinstance(note, str) for note in notes))
        estimator.notes_ = tuple(notes)
        estimator.certificate_ = Certificate.from_dict(content["certificate"])
        if content["classes"] is not None:
            estimator.classes_ = np.array(parameters["classes"])
        return cls(content["model"], estimator, design, str(content["target"]), content["exposure"])


def load_model(path: Path) -> ModelFile:
    """Read a model file, in one sentence if it is none.

    Examples
    --------
    >>> _ = Path("model.json").write_text("{}")
    >>> load_model(Path("model.json"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tailguard.checks.InputError: MODEL must be a file of format tailguard-model-1, as ...
    """
    try:
        return ModelFile.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"MODEL must be a file of format {FORMAT}, as 'tailguard fit' writes it; "
            f"got {str(path)!r}."
        ) from None


def _plain(values: Iterable[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _numbers(values: list[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(
        [math.nan if value is None else check_finite("number", value) for value in values]
    )


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("not a model file")
