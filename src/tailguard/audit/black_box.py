"""``tg.audit``: attack anything that reads records and returns numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.audit.bounds import PrivacyClaim, audit_power, claim_of, clopper_pearson_upper
from tailguard.audit.cases import FALSE_ALARM, AuditResult
from tailguard.audit.gates import NOISE
from tailguard.audit.testers import TESTERS, Decide
from tailguard.checks import (
    InputError,
    check_choice,
    check_integer,
    check_open_unit,
    named_arguments,
    shown,
)
from tailguard.privacy.guarantees import Guarantee

FEWEST_RUNS = 40  # fewer prove almost nothing
PILOT_SHARE = 4  # a pilot run per 4 counted runs; per 2 would cost power, per 10 train badly


@named_arguments
def audit(
    factory: Callable[[int], Any],
    worst_case: tuple[Any, Any],
    *,
    claim: Guarantee | None = None,
    tester: str = "threshold",
    n_runs: int = 1500,
    false_alarm: float = FALSE_ALARM,
    random_state: int = 0,
) -> AuditResult:
    """Distinguish two neighbours by repeated runs, and bound the privacy loss from below.

    Nothing here is private: ``worst_case`` must be made-up records, and noise follows seeds.

    Parameters
    ----------
    factory
        A function of a seed that returns a fresh estimator with ``fit``, or a function of the
        records that returns numbers, a mean, or a solution.
    worst_case
        ``(records, other_records)``: two data sets of the same size that differ in one record, each
        an array or a tuple of arrays such as ``(X, y)``. The bound holds for any pair, but is near
        the claim only for the worst pair.
    claim
        The claim to test; by default the guarantee in the runs' certificates.
    tester
        ``"threshold"`` on the linear discriminant, ``"classifier"``, ``"cells"`` or ``"kernel"``.
    n_runs
        Counted runs on each of the two data sets. Pilot runs, a quarter more, train the tester.
    false_alarm
        Probability of rejecting a true claim, whatever is audited.
    random_state
        The first seed; later runs use the next ones.

    Returns
    -------
    AuditResult
        The claim, a lower confidence bound on the true cost, the power, and a verdict.

    Guarantee
    ---------
    None for records. With probability ``1 - false_alarm`` the bound is below the true cost.

    Edge cases
    ----------
    The power is against the same runs with 0.8 times the noise. It is estimated from the spread of
    the runs; the estimate is about right if the noise is added last.

    Reference
    ---------
    Jagielski, Ullman and Oprea 2020; Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini and
    Terzis 2023.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> low, high = np.zeros(40), np.r_[9.0, np.zeros(39)]
    >>> def factory(seed):
    ...     options = {"method": "clipped", "clip_norm": 1.0, "random_state": seed}
    ...     return lambda x: tg.mean(x, guarantee=tg.GDP(2.0), **options)
    >>> result = tg.audit(factory, (low - high, high), n_runs=300)
    >>> result.accepted, result.share > 0.5
    (True, True)
    """
    if not callable(factory):
        raise InputError(f"factory must be a function of a seed; got {shown(factory)}.")
    pair = _check_pair(worst_case)
    train = TESTERS[check_choice("tester", tester, TESTERS)]
    count = check_integer("n_runs", n_runs, minimum=FEWEST_RUNS)
    alarm = check_open_unit("false_alarm", false_alarm)
    first_seed = check_integer("random_state", random_state, minimum=0)
    n_pilot = -(-count // PILOT_SHARE)
    seeds = range(first_seed, first_seed + 2 * (count + n_pilot))
    tested_claim = _claim(factory(first_seed), pair[0], claim)
    first, second = (_runs(factory, records, seeds[side::2]) for side, records in enumerate(pair))
    if first.shape != second.shape:
        raise InputError("factory must return as many numbers for one data set as for the other.")
    decide = train(first[:n_pilot], second[:n_pilot], tested_claim, count, alarm)
    counted = first[n_pilot:], second[n_pilot:]
    errors = [int(wrong.sum()) for wrong in _errors(decide, *counted)]
    wrong, missed = clopper_pearson_upper(errors, count, alarm / 2.0)
    shown_amount = float(tested_claim.least(np.array([wrong]), np.array([missed]))[0])
    return AuditResult(
        name=_name_of(factory(first_seed)),
        claim=tested_claim.describe(),
        claimed=tested_claim.amount,
        shown=shown_amount,
        confidence=1.0 - alarm,
        power=_power(decide, tested_claim, counted, alarm),
        n_runs=count,
        tester=tester,
    )


def _errors(decide: Decide, first: FloatArray, second: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Return which runs of the first, and which of the second neighbour are guessed wrongly."""
    return decide(first), ~decide(second)


def _power(
    decide: Decide, claim: PrivacyClaim, runs: tuple[FloatArray, FloatArray], false_alarm: float
) -> float:
    """Return the probability of rejecting these runs, if noise had ``NOISE`` times the scale."""
    nearer = [side.mean(axis=0) + NOISE * (side - side.mean(axis=0)) for side in runs]
    rates = [
        (float(errors.sum()) + 0.5) / (errors.size + 1)
        for errors in _errors(decide, nearer[0], nearer[1])
    ]
    return audit_power(claim, len(runs[0]), rates=(rates[0], rates[1]), false_alarm=false_alarm)


def _runs(factory: Callable[[int], Any], records: tuple[Any, ...], seeds: range) -> FloatArray:
    """Return the numbers of all runs on a data set, one run per row."""
    answers = [_numbers(_run(factory(seed), records)) for seed in seeds]
    if len({answer.shape for answer in answers}) > 1:
        raise InputError("factory must return as many numbers in every run.")
    return np.array(answers)


def _run(audited: Any, records: tuple[Any, ...]) -> Any:
    if hasattr(audited, "fit"):
        return audited.fit(*records)
    if not callable(audited):
        raise InputError(
            f"factory must return an estimator or a function of the records; got {shown(audited)}."
        )
    return audited(*records)


def _numbers(result: Any) -> FloatArray:
    """Return all numbers of a result: coefficients and intercept, a mean, or the result itself."""
    for names in (("coef_", "intercept_"), ("coef", "intercept"), ("value",)):
        if hasattr(result, names[0]):
            parts = [np.ravel(getattr(result, name, 0.0)) for name in names]
            return np.concatenate(parts).astype(np.float64)
    try:
        return np.ravel(np.asarray(result, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(
            "factory must lead to numbers: a fitted estimator with coef_, a mean, a solution or "
            f"an array; got {type(result).__name__}."
        ) from None


def _claim(audited: Any, records: tuple[Any, ...], claim: Guarantee | None) -> PrivacyClaim:
    """Return the given claim, or the claim of a run's certificate."""
    if claim is not None:
        return claim_of(claim)
    result = _run(audited, records)
    certificate = getattr(result, "certificate_", getattr(result, "certificate", None))
    if certificate is None:
        raise InputError(
            "claim must be given where runs have no certificate, for example claim=tg.GDP(1.0)."
        )
    return claim_of(certificate.guarantee)


def _check_pair(worst_case: Any) -> tuple[tuple[Any, ...], ...]:
    """Return both data sets as tuples; they must have one size and differ in at most one record."""
    if not isinstance(worst_case, tuple | list) or len(worst_case) != 2:
        raise InputError(
            f"worst_case must be two data sets, (records, other_records); got {shown(worst_case)}."
        )
    first, second = pair = tuple(
        records if isinstance(records, tuple) else (records,) for records in worst_case
    )
    sizes = [[np.shape(part) for part in records] for records in (first, second)]
    if sizes[0] != sizes[1]:
        raise InputError(
            f"worst_case must be two data sets of the same size; got {sizes[0]} and {sizes[1]}."
        )
    if () in sizes[0]:
        raise InputError("worst_case must be two data sets of records; got numbers.")
    differ = np.zeros(sizes[0][0][:1], dtype=bool)
    for one, other in zip(first, second, strict=True):
        cells, others = np.asarray(one), np.asarray(other)
        same = cells == others
        if cells.dtype.kind == others.dtype.kind == "f":
            same |= np.isnan(cells) & np.isnan(others)
        differ |= ~same.reshape(len(same), -1).all(axis=1)
    if differ.sum() > 1:
        raise InputError(
            "worst_case must be neighbours, which differ in one record; they differ in "
            f"{int(differ.sum())}."
        )
    return pair


def _name_of(audited: Any) -> str:
    """Return the name of the audited class or function."""
    kind = audited if hasattr(audited, "__qualname__") else type(audited)
    return str(kind.__qualname__).replace("<locals>.", "").replace("<lambda>", "a function")
