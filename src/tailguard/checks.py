"""Parameter checks, the exceptions they raise, and other packages' names of parameters.

An error is one sentence: the parameter, what is allowed and what was given. It contains public
facts only: options, shapes and dtypes, never the values of records.
"""

import inspect
import math
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from numbers import Integral, Real
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from tailguard.printable import printable

T = TypeVar("T")
P = ParamSpec("P")

LONGEST, MOST_SHOWN = 60, 5  # characters of a text and parts of a tuple, in messages
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
LONGEST_NAME = 200  # characters; people read and type names
BRACKETS: dict[type, str] = {tuple: "({})", list: "[{}]"}


class BudgetWarning(UserWarning):
    """A budget that, by public numbers, gives little accuracy or little privacy.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_before_spending("delta is at least 1 / n.")
    >>> caught[0].category is BudgetWarning
    True
    """


class TailguardError(ValueError):
    """Base of every error that tailguard raises on purpose."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(printable(each) if isinstance(each, str) else each for each in args))


class InputError(TailguardError):
    """A parameter, a shape or a dtype that is not allowed."""


class ArgumentError(InputError, TypeError):
    """An argument that a call does not take, or that it needs and was not given."""


class BudgetError(TailguardError):
    """A release that the reserved privacy budget does not cover; nothing was drawn."""


class QueryError(TailguardError):
    """A query that no proof covers; no record was read for it."""


class ReleaseError(TailguardError):
    """A release that failed while records were read; it stays charged and returns nothing."""


class UnusableTableError(ReleaseError):
    """By released counts, most records cannot be used, so the run stopped early.

    It has the ``certificate`` of the stopped run, the cost ``spent``, a text on the number of
    usable ``records``, and the ``columns`` that make records unusable, the worst one first.
    """

    def __init__(self, sentence: str, certificate: Any, records: str, columns: Sequence[Any]):
        super().__init__(sentence, certificate, records, columns)
        self.certificate, self.records, self.columns = certificate, records, columns
        self.spent = certificate.spent

    def __str__(self) -> str:
        return str(self.args[0])


class RoomError(ReleaseError):
    """The disk of temporary files is full; the gate replaces the message by its own."""


def shown(value: object) -> str:
    """Return a value as text for messages, in full only if it is too short to be a table.

    Numbers, short texts, None, True, False, and short tuples or lists of these are shown in full.
    Any other value is shown by the name of its type.
    """
    kind = type(value)
    if isinstance(value, tuple | list) and len(value) <= MOST_SHOWN:
        parts = [shown(part) if _is_short(part) else None for part in value]
        if kind in BRACKETS and None not in parts:
            comma = "," if kind is tuple and len(parts) == 1 else ""
            return BRACKETS[kind].format(", ".join(map(str, parts)) + comma)
    if not _is_short(value):
        return kind.__name__
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def class_called(name: str, registry: Mapping[str, str], parameter: str = "name") -> Any:
    """Return the class that a registry lists as ``"module:Class"``, or refuse the name."""
    module, _, attribute = registry[check_choice(parameter, name, registry)].partition(":")
    return getattr(import_module(module), attribute)


def _is_short(value: object) -> bool:
    """Whether a value is None, a text or a number; Python refuses to print huge integers."""
    if isinstance(value, int) and value.bit_length() > 60:
        return False
    return value is None or isinstance(value, Real | str)


def _number(value: object) -> float:
    """Return a number as a float, and NaN for anything else; NaN fails every comparison."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer that is too large for a float
        return math.nan


def _refusal(name: str, allowed: str, value: object) -> InputError:
    return InputError(f"{name} must be {allowed}; got {shown(value)}.")


def check_finite(name: str, value: object) -> float:
    """Return ``value`` as a float, refusing anything that is not a finite number."""
    number = value if type(value) is float else _number(value)
    if not math.isfinite(number):
        raise _refusal(name, "a finite number", value)
    return number


def check_positive(name: str, value: object, *, infinite: bool = False) -> float:
    """Return ``value`` as a float above zero; infinity only if ``infinite``."""
    number = value if type(value) is float else _number(value)
    if not number > 0 or (number == math.inf and not infinite):
        raise _refusal(name, "a number above 0" if infinite else "a finite number above 0", value)
    return number


def check_cost(name: str, value: object) -> float:
    """Return ``value`` as a float of at least 0; infinity means no privacy at all."""
    number = value if type(value) is float else _number(value)
    if not number >= 0:
        raise _refusal(name, "a number of at least 0", value)
    return number


def check_failure(name: str, value: object) -> float:
    """Return ``value`` as a probability of failure, which may be 0 but not 1."""
    number = value if type(value) is float else _number(value)
    if not 0 <= number < 1:
        raise _refusal(name, "a number of at least 0 and below 1", value)
    return number


def check_open_unit(name: str, value: object) -> float:
    """Return ``value`` as a float strictly between 0 and 1."""
    number = value if type(value) is float else _number(value)
    if not 0 < number < 1:
        raise _refusal(name, "a number strictly between 0 and 1", value)
    return number


def check_between(name: str, value: object, low: float, high: float) -> float:
    """Return ``value`` as a float within ``[low, high]``."""
    number = value if type(value) is float else _number(value)
    if not low <= number <= high:
        raise _refusal(name, f"a number from {low:g} to {high:g}", value)
    return number


def check_given(holder: object, check: Callable[[str, object], object], *names: str) -> None:
    """Check the attributes that are not None; None means that other numbers determine them."""
    for name in names:
        if getattr(holder, name) is not None:
            check(name, getattr(holder, name))


def check_count(name: str, value: object) -> int:
    """Return a whole number of at least 1."""
    return check_integer(name, value, minimum=1)


def check_integer(name: str, value: object, *, minimum: int, maximum: int | None = None) -> int:
    """Return ``value`` as an int within ``[minimum, maximum]``."""
    number = int(value) if isinstance(value, Integral) else minimum - 1
    in_range = minimum <= number and (maximum is None or number <= maximum)
    if isinstance(value, bool) or not in_range:
        allowed = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise _refusal(name, f"a whole number {allowed}", value)
    return number


def check_choice(name: str, value: T, allowed: Collection[T]) -> T:
    """Return ``value`` if it is one of ``allowed``."""
    for choice in allowed:
        if isinstance(value, type(choice)) and value == choice:  # a table == choice is a table
            return value
    raise _refusal(name, f"one of {', '.join(map(repr, allowed))}", value)


def check_text(name: str, value: object) -> str:
    """Return a text that a file can hold, and that people can read and type."""
    valid = isinstance(value, str) and value == value.encode(errors="ignore").decode()
    if not isinstance(value, str) or not valid or not value.strip() or len(value) > LONGEST_NAME:
        raise _refusal(name, f"a text of 1 to {LONGEST_NAME} characters", value)
    return value


def check_boolean(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False; refuse 0, 1 and all other values."""
    if type(value).__name__ not in {"bool", "bool_"}:  # Python's and NumPy's
        raise _refusal(name, "True or False", value)
    return bool(value)


def check_methods(name: str, value: T, methods: Collection[str], allowed: str) -> T:
    """Return ``value`` if it is an object, not a class, with all ``methods``."""
    if isinstance(value, type) or not all(hasattr(value, method) for method in methods):
        raise _refusal(name, allowed, value)
    return value


def warn_before_spending(*sentences: str) -> None:
    """Warn about the effects of a budget, from public numbers, before any of it is spent."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("tailguard."):
        frame, level = frame.f_back, level + 1  # warn at the first caller outside tailguard
    for sentence in map(printable, sentences):
        warnings.warn(sentence, BudgetWarning, stacklevel=level)


def check_version(name: str, version: object, *, newest: int, oldest: int = 1) -> int:
    """Return the version of a stored format, refusing one that this tailguard does not read."""
    several = f"a format version from {oldest} to {newest}"
    allowed = f"format version {newest}" if oldest == newest else several
    if isinstance(version, bool) or not isinstance(version, int) or version < oldest:
        raise InputError(f"{name} must have {allowed}; got {shown(version)}.")
    if version > newest:
        raise InputError(
            f"{name} must have {allowed}; got version {version}, which a newer tailguard wrote."
        )
    return version


def require(condition: bool, sentence: str) -> None:
    """Raise ``InputError`` with the sentence unless the public condition holds."""
    if not condition:
        raise InputError(sentence)


# Names in other packages = our names = advice. An error suggests the first of our names that the
# call takes; if there is none, it gives the advice.
WORDS = """
eps budget privacy_budget privacy_loss = epsilon
rho mu zcdp pure = guarantee = state it as guarantee=tg.ZCDP(rho), tg.GDP(mu) or tg.PureDP(epsilon)
c = give alpha=1 / (C * n_rows), a ridge added to the mean loss
penalty l1_ratio = give alpha for a ridge; sparse estimators keep n_nonzero columns
alpha = level = a ridge goes with linear, logistic and log-link models, conf_int with level=0.9
ridge l2 lam lambda_ reg_lambda = alpha
q tau percentile percentiles probs quantile quantiles = level = q = a quantile is fitted by \
QuantileRegression(level=0.9)
confidence conf_level coverage level = level = conf_int(level=0.9) has intervals of another level
n_jobs n_threads num_threads workers = threads follow the environment variable NUMBA_NUM_THREADS
seed random_seed rng generator = random_state
max_iter n_iter tol lr learning_rate eta epochs batch_size = steps follow from the budget
clip clipping_norm l2_norm_clip max_grad_norm = clip_norm = levels follow from released histograms
noise_multiplier noise_std sigma = noise follows from the budget
bounds bounds_x bounds_y data_norm lower upper sensitivity = no bounds on the data are needed
normalize standardize scale = columns are scaled privately by every fit
accountant budget_accountant odometer = ledger
intercept add_constant has_const = fit_intercept
categorical category categories levels dummies cat_features = categorical = declare them: \
schema={'categorical': {'sex': ['f', 'm']}}
labels target_names = classes
impute imputer fillna na_values nan_policy = missing
skipna na_rm dropna = missing = empty cells count nothing, or as schema={'missing': {...}} says
by group_by groupby group strata = by = tg.describe and tg.quantile take groups
groups = by = person
cluster clusters panel = person
cov_type vcov cov_kwds = intervals are always robust, and cluster-robust with person=
range breaks = edges
axis = columns are summarised separately; choose some by columns=['age']
weights weight w = sample_weight
family link loss distribution objective = loss = each loss has an estimator, as PoissonRegression
k sparsity n_features_to_select = n_nonzero = threshold
class_weight balanced = classes count as they are in the table
sample_weight = rows have equal weights there; fits, scores, tg.mean and tg.describe take weights
weight_bound = it goes with sample_weight: LinearRegression(weight_bound=2), tg.mean
n n_samples n_records rows = n_rows
d p n_columns = n_features
y_name response label endog outcome = target
features feature_names exog usecols include exclude numeric_only = columns
data df table = X
id key index = row_id = key
file filename filepath fname = path
return_std return_cov = interval = coef_std_ has standard errors, and predict takes interval='mean'
"""
HABITS = [line.split(" = ") for line in WORDS.strip().splitlines()]


def misnamed(
    where: str, name: str, known: Collection[str], owner: Sequence[object] = ()
) -> ArgumentError:
    """Return the error for an unknown argument, which suggests a known one, or its constructor."""
    ours = next((ours for words, *ours in HABITS if name.lower() in words.split()), [""])
    close, maker = [word for word in ours if word in known], type(next(iter(owner), None))
    advice = ours[-1] if " " in ours[-1] else ""
    if not advice and name in getattr(maker, "__dataclass_fields__", ()):
        advice = f"give it to the constructor, {maker.__name__}({name}=...)"
    close = close or ([] if advice else get_close_matches(name.lower(), known, n=1))
    other = advice or f"it takes {', '.join(known) or 'no arguments'}"
    advice = f"the parameter is called {close[0]}" if close else other
    return ArgumentError(f"{where} must not be given {name}: {advice}.")


def misplaced(
    where: str, value: object, places: Sequence[str], known: Sequence[str]
) -> ArgumentError:
    """Return the error for a positional argument; only ``places`` may be positional."""
    if isinstance(value, float) and 0.0 < value < 1.0 and "level" not in known:  # meant as level
        return misnamed(where, "level", known)
    if not known:
        return ArgumentError(f"{where} must be given no arguments; got {shown(value)}.")
    others = f"all but {', '.join(map(repr, places))}" if places else "all arguments"
    named = next((name for name in known if name not in places), None)
    if named is None:
        return ArgumentError(f"{where} must be given {', '.join(places)} alone; got more.")
    return ArgumentError(
        f"{where} must be given {others} by name, such as {named}=; got {shown(value)} by position."
    )


def check_arguments(where: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse arguments that are not known."""
    for name in given:
        if name not in known:
            raise misnamed(where, name, known)


def named_arguments(call: Callable[P, T], more: Iterable[str] = ()) -> Callable[P, T]:
    """Make a call refuse unknown arguments, and suggest the closest known argument.

    A call with ``**kwargs`` refuses only names from other packages. If ``more`` lists the names
    that its ``**kwargs`` accept, it refuses all other names.
    """
    every = inspect.signature(call).parameters
    parameters = [each for name, each in every.items() if name not in ("self", "cls")]
    known = [*(each.name for each in parameters if each.kind is not each.VAR_KEYWORD), *more]
    foreign = {word for words, *ours in HABITS for word in words.split() if ours[0] in known}
    takes_more = len(known) < len(parameters)
    required = [
        each.name for each in parameters if each.default is each.empty and each.kind not in VARIADIC
    ]
    positional = [each.name for each in parameters if each.kind in POSITIONAL]
    n_bound = len(every) - len(parameters)  # self or cls
    takes_any_position = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    where = call.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @wraps(call)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in kwargs:
            if name not in known and (not takes_more or name in foreign):
                raise misnamed(where, name, known, args[:n_bound])
        given = args[n_bound:]
        if len(given) > len(positional) and not takes_any_position:
            raise misplaced(where, given[len(positional)], positional, known)
        for name in required:
            if name not in kwargs and name not in positional[: len(given)]:
                raise ArgumentError(f"{name} must be given to {where}; it is not.")
        return call(*args, **kwargs)

    return checked


def with_named_arguments(value: T, *, methods: bool = True) -> T:
    """Return a public object; if it is a class, decorate its calls with ``named_arguments``.

    The calls are its constructor and, with ``methods``, its public methods. Base classes in
    tailguard are decorated too.
    """
    bases = value.__mro__ if isinstance(value, type) else ()
    for base in (base for base in bases if base.__module__.split(".")[0] == __package__):
        for name, call in [*vars(base).items()]:
            plain = getattr(call, "__func__", call)  # a class method wraps its function
            is_public = name == "__init__" or (methods and not name.startswith("_"))
            if is_public and isinstance(plain, FunctionType) and not hasattr(plain, "__wrapped__"):
                checked = named_arguments(plain)
                setattr(base, name, checked if plain is call else type(call)(checked))
    return value
