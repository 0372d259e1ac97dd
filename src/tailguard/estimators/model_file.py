"""The model file: a fitted estimator as JSON, written by Python and by the command line.

It contains only released numbers and declarations, so anybody who may see the model may see it.
"""

import json
import math
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_finite, check_version, named_arguments, shown
from tailguard.data.declarations import labels
from tailguard.data.schema import Schema
from tailguard.estimators.registry import ESTIMATORS, estimator_called
from tailguard.estimators.summary import coefficient_columns
from tailguard.gate.plan import check_ridge
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.certificate.certificate import read_json
from tailguard.privacy.guarantees import ApproxDP
from tailguard.version import __version__

KEY = "tailguard_model"
"""The key that identifies a model file; its value is the version of the format."""
VERSION = 4
"""The version of the format; no earlier version was released."""
VECTORS = ("coef", "coef_noise_std", "coef_std", "interval_center")
NUMBERS = ("intercept", "intercept_noise_std", "intercept_std", "total_error")
"""The results of a fit, by the names of its attributes without the last underscore."""
# Parameters that have their own key in the file, or are not stored.
NOT_WRITTEN = ("checkpoint", "classes", "guarantee", "ledger", "missing", "schema", "solver")


def model_name(model: Any) -> str:
    """Return the registry's name of an estimator, which ``tailguard fit --model`` accepts."""
    estimator_class = type(model)
    path = f"{estimator_class.__module__}:{estimator_class.__qualname__}"
    for name, known in ESTIMATORS.items():
        if known == path:
            return name
    raise InputError(
        f"a model file must hold an estimator of tailguard; got {estimator_class.__name__}."
    )


def model_content(model: Any) -> dict[str, Any]:
    """Return a fitted estimator as plain data."""
    name, schema = model_name(model), model.schema_
    parameters = model.get_params(deep=False)
    written_parameters = {
        key: _plain(value) for key, value in parameters.items() if key not in NOT_WRITTEN
    }
    has_no_schema = schema is None  # a schema declares missing and classes itself
    missing = [[_plain(key), value] for key, value in (model.missing or {}).items()]
    classes = parameters.get("classes") if has_no_schema or schema.classes is None else None
    names = getattr(model, "feature_names_in_", None)
    covariance_root = model._covariance_root
    return {
        KEY: VERSION,
        "tailguard_version": __version__,
        "model": name,
        "parameters": written_parameters,
        "schema": None if has_no_schema else schema.to_dict(),
        "missing": missing if has_no_schema else [],
        "declared_classes": None if classes is None else [_plain(label) for label in classes],
        "classes": model.classes_.tolist() if "classes" in parameters else None,
        "columns": None if names is None else list(names),
        "n_columns": int(model.n_features_in_),
        "feature_names": list(model._names() or ()),
        # For more than two classes, a vector has the numbers of all classes, class by class.
        **{
            key: _plain_numbers(_flattened(getattr(model, f"{key}_", None)))
            for key in (*VECTORS, *NUMBERS)
        },
        "feature_bounds": _plain_numbers(model.feature_bounds_),
        "score_bounds": _plain_numbers(model.score_bounds_),
        "covariance_root": None
        if covariance_root is None
        else _rows_below_diagonal(covariance_root),
        "residual_shares": _plain_numbers(model._residual_shares),
        "residual_center": _plain_numbers(model._residual_center),
        "reasons": list(model.reasons_),
        "notes": list(model.notes_),
        "plan": model._plan_text(),
        "certificate": model.certificate_.to_dict(),
        "coefficients": _coefficient_table(model),  # for other programs: no reader of ours uses it
    }


def _coefficient_table(model: Any) -> list[dict[str, Any]]:
    """Return the rows of ``coef_frame``; None for non-finite numbers."""
    names, columns = coefficient_columns(model)
    cells = zip(*columns.values(), strict=True)
    return [
        {"name": name}
        | {
            key: value if isinstance(value, str) else _plain_numbers(value)
            for key, value in zip(columns, row, strict=True)
        }
        for name, row in zip(names, cells, strict=True)
    ]


def model_text(model: Any) -> str:
    """Return the JSON text of a fitted estimator, with one entry per line."""
    lines = (
        f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
        for key, value in model_content(model).items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


@named_arguments
def load(path: str | PathLike[str]) -> Any:
    """Read a model file that ``model.save`` or ``tailguard fit`` wrote.

    The loaded estimator predicts like the fitted one, and shows the same coefficients, certificate
    and notes. Its solver is ``"auto"``. Of ``plan_`` it has only the text of ``explain()``.

    Parameters
    ----------
    path
        The path of the file.

    Examples
    --------
    >>> import tailguard as tg
    >>> X = np.arange(1000.0)[:, None]
    >>> tg.LinearRegression(epsilon=1.0, delta=1e-6).fit(X, X[:, 0]).save("model.json")
    >>> tg.load("model.json").certificate_.mode
    'private'
    """
    return read_model(path, "path must be a model file, as model.save or 'tailguard fit' wrote it")


def read_model(path: Any, requirement: str) -> Any:
    """Read a model file; errors begin with ``requirement``."""
    requirement = f"{requirement}; got {shown(str(path) if isinstance(path, PathLike) else path)}"
    try:
        if isinstance(path, str | PathLike) and not Path(path).exists():
            raise InputError("there is no such file.")
        if not Path(path).is_file():  # reading some devices never ends
            raise ValueError
        return model_from(read_json(Path(path).read_text(encoding="utf-8")))
    except InputError as error:
        raise InputError(f"{requirement}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{requirement}.") from None


def model_from(content: dict[str, Any]) -> Any:
    """Restore a fitted estimator; raises ``KeyError``, ``TypeError`` or ``ValueError``."""
    check_version("it", content[KEY], newest=VERSION, oldest=VERSION)
    certificate = Certificate.from_dict(content["certificate"])
    model = _with_columns(content)
    n_columns = len(model._names() or range(model.n_features_in_))
    for name in VECTORS:
        setattr(model, f"{name}_", _vector(content[name]))
    for name in NUMBERS:
        value = content[name]
        parse = _vector if isinstance(value, list) else _number
        setattr(model, f"{name}_", math.nan if value is None else parse(value))
    if not model.takes_exposure:
        del model.total_error_
    _require(model.coef_ is not None and model.coef_noise_std_ is not None)
    # Other numbers may be unknown, but a fit always predicts.
    _require(np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all())
    n_scores, n_contrasts = _scores_and_contrasts(model)
    sizes = {name: n_contrasts * (n_columns + (name == "interval_center")) for name in VECTORS}
    sizes["coef"] = n_scores * n_columns
    vectors = {name: getattr(model, f"{name}_") for name in VECTORS}
    _require(all(each is None or each.size == sizes[name] for name, each in vectors.items()))
    model.feature_bounds_ = _read_bounds(content["feature_bounds"], n_columns)
    model.score_bounds_ = _read_score_bounds(content["score_bounds"], n_scores)
    model._covariance_root = _read_root(content["covariance_root"])
    model._residual_shares = _read_shares(content["residual_shares"])
    model._residual_center = _read_center(content["residual_center"], n_columns + 1)
    _require((model._residual_center is None) == (model._residual_shares is None))
    covariance_root = model._covariance_root
    n_estimates = n_contrasts * (n_columns + bool(model.fit_intercept))
    _require(
        (covariance_root is None) == (model.coef_std_ is None)
        and (covariance_root is None or len(covariance_root) == n_estimates)
    )
    for name in ("reasons", "notes"):
        sentences = content[name]
        _require(
            isinstance(sentences, list) and all(isinstance(sentence, str) for sentence in sentences)
        )
        setattr(model, f"{name}_", tuple(sentences))
    _require(len(model.reasons_) in (0, n_estimates) and isinstance(content["plan"], str))
    model._loss(), model._constraint()  # these refuse parameters that no fit has
    check_ridge(getattr(model, "alpha", 0.0))
    _split_by_class(model, n_scores, n_contrasts)
    model._stored_plan, model.certificate_ = content["plan"], certificate
    _check_promise(content["parameters"], certificate)
    if model.epsilon is None:
        model.guarantee = certificate.guarantee
    return model


def _with_columns(content: dict[str, Any]) -> Any:
    """Return an estimator with its parameters and the columns of its fit."""
    estimator_class, parameters = estimator_called(content["model"]), dict(content["parameters"])
    _require(not {*parameters} & {*NOT_WRITTEN})
    schema = None if content["schema"] is None else Schema.of(content["schema"])
    missing = dict(content["missing"]) or None
    declared = content["declared_classes"]
    declared_twice = schema is not None and schema.classes is not None and declared is not None
    # A schema names its features and declares what is missing, so the file has these only once.
    _require(schema is None or not (missing or declared_twice or not schema.features))
    if declared is not None:
        parameters["classes"] = labels(declared)
    model = estimator_class(**parameters, schema=schema, missing=missing)
    names, columns = content["feature_names"], content["columns"]
    if schema is not None:
        _require([*schema.coefficient_names] == names and [*(schema.features or ())] == columns)
        model._keep_columns(None, schema)
    else:
        model.schema_, model.n_features_in_ = None, content["n_columns"]
        _require(isinstance(model.n_features_in_, int) and model.n_features_in_ > 0)
        if columns is not None:
            _require(columns == names and len(columns) == model.n_features_in_)
            model.feature_names_in_ = np.array(columns, dtype=object)
    _require(hasattr(model, "classes") == (content["classes"] is not None))
    if content["classes"] is not None:
        model.classes_ = np.array(labels(content["classes"]))
        _require(len(model.classes_) == len(model._declared()))
    return model


def _scores_and_contrasts(model: Any) -> tuple[int, int]:
    """Return the number of scores, one per class, and of contrasts with the first class.

    Up to two classes, both numbers are one.
    """
    n_classes = len(getattr(model, "classes_", ()))
    return (n_classes, n_classes - 1) if n_classes > 2 else (1, 1)


def _split_by_class(model: Any, n_scores: int, n_contrasts: int) -> None:
    """Split vectors of coefficients that list class after class into one row per class."""
    sizes = {"coef_": n_scores, "coef_noise_std_": n_contrasts, "coef_std_": n_contrasts}
    for name, n_vectors in sizes.items():
        intercepts = getattr(model, name.replace("coef", "intercept"))
        value = getattr(model, name)
        _require(np.size(intercepts) == n_vectors)
        if n_scores > 1 and value is not None:
            setattr(model, name, value.reshape(n_vectors, -1))


def _check_promise(parameters: dict[str, Any], certificate: Certificate) -> None:
    """Refuse parameters that contradict the guarantee or the mode of the certificate."""
    epsilon, delta = parameters.get("epsilon"), parameters.get("delta")
    if epsilon is not None and ApproxDP(epsilon, delta) != certificate.guarantee:  # type: ignore[arg-type]
        raise InputError("its parameters must have the epsilon and delta of its certificate.")
    if (parameters.get("random_state") is not None) != certificate.mode.startswith("simulation"):
        raise InputError("its random_state must be that of its certificate's mode.")


def _plain(value: Any) -> Any:
    """Return a number of NumPy as a number of Python, and other values unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def _plain_numbers(value: Any) -> Any:
    """Return floats: a vector as a list, a matrix as its columns; None for non-finite numbers."""
    if np.ndim(value) > 0:
        return [_plain_numbers(each) for each in np.transpose(value)]
    return float(value) if value is not None and math.isfinite(value) else None


def _flattened(value: Any) -> Any:
    return np.ravel(value) if np.ndim(value) > 1 else value


def _rows_below_diagonal(root: FloatArray) -> list[list[float] | None]:
    """Return the rows of a triangular matrix up to the diagonal; None for unknown rows."""
    return [
        None if np.isnan(row).any() else row[: place + 1].tolist() for place, row in enumerate(root)
    ]


def _number(value: Any) -> float:
    return check_finite("number", value)


def _vector(values: Any) -> FloatArray | None:
    if values is None:
        return None
    return np.array([math.nan if each is None else _number(each) for each in values])


def _read_bounds(written: Any, n_features: int) -> FloatArray | None:
    if written is None:
        return None
    low, high = (np.array(_vector(each)) for each in written)
    _require(low.size == high.size == n_features and not (low > high).any())
    return np.column_stack([np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)])


def _read_score_bounds(written: Any, n_scores: int) -> FloatArray:
    """Return the bounds of a single score, or of the score of each class."""
    _require(bool(written))
    pairs = written if isinstance(written[0], list) else [written]
    bounds = np.array(_read_bounds([*zip(*pairs, strict=True)], len(pairs)))
    _require(len(pairs) in (1, n_scores))
    return bounds.T if len(pairs) > 1 else bounds[0]


def _read_shares(written: Any) -> FloatArray | None:
    if written is None:
        return None
    shares = np.array([[*map(_number, each)] for each in written]).T
    _require(shares.ndim == 2 and shares.shape[1] == 2 and not (np.diff(shares, axis=0) < 0).any())
    return shares


def _read_center(written: Any, size: int) -> FloatArray | None:
    if written is None:
        return None
    center = np.array([*map(_number, written)])
    _require(center.size == size)
    return center


def _read_root(written: Any) -> FloatArray | None:
    """Return a triangular matrix from its rows; NaN in unknown rows."""
    if written is None:
        return None
    root = np.zeros((len(written), len(written)))
    for place, row in enumerate(written):
        _require(row is None or len(row) == place + 1)
        root[place, : place + 1] = math.nan if row is None else [*map(_number, row)]
        root[place] = math.nan if row is None else root[place]
    return root


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("not a model file")
