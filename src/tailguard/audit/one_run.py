"""Audits of a whole fit by a single run, for fits of which thousands of runs are too expensive.

Many records of a data set are *canaries*: each is one of two records, chosen by a coin flip. The
attacker observes one fit and guesses any number of coins, those that seem surest. If one coin is
flipped, the data set becomes a replace-one neighbour; the public number of records does not change.
In the original theorem records are added or removed, and a coin decides whether a canary is
present. Here it decides *which* of two records is present. The theorem holds unchanged, since it
only uses that flipping a coin gives a neighbour.

If a fit is (epsilon, delta)-DP, the probability of at least ``v`` right guesses of ``r`` is at most
that of randomised response at epsilon, ``P[Binomial(r, 1 / (1 + exp(-epsilon))) >= v]``, plus
``2 m delta`` times the largest slope of that tail, with m the number of canaries.

Reference
---------
Steinke, Nasr and Jagielski 2023, Theorems 3.1 and 5.2.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binom

from tailguard.array_types import BoolArray, FloatArray
from tailguard.audit.cases import FALSE_ALARM, AuditResult
from tailguard.checks import InputError, check_integer, check_open_unit
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.guarantees import ApproxDP, Guarantee, PureDP

HALVINGS = 60  # bisection steps for epsilon, down to the spacing of floats
LARGEST_EPSILON = 50.0  # more than any number of guesses proves
GUESS_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 1.0)
"""Shares of the canaries that are guessed, the surest first. Each share gets its part of the false
alarm, so that the best bound may be reported."""


def guess_p_value(
    n_right: int, n_guesses: int, n_canaries: int, epsilon: float, delta: float
) -> float:
    """Return the largest probability of ``n_right`` right guesses under (epsilon, delta)-DP."""
    right = 1.0 / (1.0 + math.exp(-epsilon))
    tail = float(binom.sf(n_right - 1, n_guesses, right))
    if delta == 0.0 or n_right == 0:
        return min(tail, 1.0)
    fewer = np.arange(n_right - 1, -1, -1)
    sums = np.cumsum(binom.pmf(fewer, n_guesses, right))
    slope = float((sums / np.arange(1, n_right + 1)).max())
    return min(tail + 2.0 * n_canaries * delta * slope, 1.0)


def epsilon_of_guesses(
    n_right: int, n_guesses: int, n_canaries: int, *, delta: float, false_alarm: float
) -> float:
    """Return a lower confidence bound on epsilon at ``delta``, from right guesses."""
    low, high = 0.0, LARGEST_EPSILON
    if guess_p_value(n_right, n_guesses, n_canaries, low, delta) > false_alarm:
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        unlikely = guess_p_value(n_right, n_guesses, n_canaries, middle, delta) <= false_alarm
        low, high = (middle, high) if unlikely else (low, middle)
    return low


def audit_one_run(
    fit: Callable[..., FloatArray],
    canaries: tuple[Any, ...],
    partners: tuple[Any, ...],
    *,
    claim: Guarantee,
    delta: float = 1e-5,
    name: str = "a fit, in one run",
    false_alarm: float = FALSE_ALARM,
    random_state: int = 0,
) -> AuditResult:
    """Fit once on records that are each drawn from a pair, and guess which were drawn.

    Parameters
    ----------
    fit
        A function of the drawn records and a ``seed`` that returns a score for each record. A score
        is higher if the fit looks more like a fit on the record's partner. The function uses only
        the fit and public numbers.
    canaries, partners
        Two data sets of the same size, ``(X,)`` or ``(X, y)``: record i is drawn from one of them.
    claim
        The claim, whose epsilon at ``delta`` is tested.
    delta
        The delta of the comparison. A claim of ``tg.ApproxDP`` or ``tg.PureDP`` has its own.

    Guarantee
    ---------
    None for records. The bound on epsilon holds with probability ``1 - false_alarm``.

    Edge cases
    ----------
    One run proves far less than thousands do. With a thousand canaries that do not disturb each
    other it proves a tenth of epsilon (measured: 0.46 of 4.38 at mu = 1). If many canaries share
    few columns, it proves almost nothing. So it detects noise that is many times too small, but not
    noise of 0.8 times the scale; its power is stated as 0.

    Reference
    ---------
    Steinke, Nasr and Jagielski 2023, Theorems 3.1 and 5.2.

    Examples
    --------
    >>> import tailguard as tg
    >>> n = 200
    >>> rows = np.eye(n)
    >>> def fit(X, *, seed):
    ...     result = tg.mean(
    ...         X, guarantee=tg.GDP(4.0), method="clipped", clip_norm=1.0, random_state=seed
    ...     )
    ...     return -result.value  # column i is nonzero in record i only
    >>> audited = audit_one_run(fit, (rows,), (-rows,), claim=tg.GDP(4.0))
    >>> 1.0 < audited.shown < audited.claimed
    True
    """
    check_open_unit("false_alarm", false_alarm)
    check_integer("random_state", random_state, minimum=0)
    amount, tested_delta = _epsilon(claim, delta)
    n_canaries = len(canaries[0])
    if n_canaries < 2 or any(len(part) != n_canaries for part in (*canaries, *partners)):
        raise InputError(
            "canaries and partners must be data sets of one size, of 2 records or more."
        )
    words = SimulationSource(random_state).words(n_canaries)
    coins = (words >> np.uint64(63)).astype(np.bool_)
    records = tuple(
        np.where(coins.reshape(-1, *[1] * (np.ndim(canary) - 1)), partner, canary)
        for canary, partner in zip(canaries, partners, strict=True)
    )
    shown = _best_bound(
        np.asarray(fit(*records, seed=random_state + 1)), coins, tested_delta, false_alarm
    )
    return AuditResult(
        name=name,
        claim=f"epsilon = {amount:.4g} at delta = {tested_delta:.4g}",
        claimed=amount,
        shown=shown,
        confidence=1.0 - false_alarm,
        power=0.0,
        n_runs=n_canaries,
        tester="one run, canaries",
    )


def _best_bound(scores: FloatArray, drawn: BoolArray, delta: float, false_alarm: float) -> float:
    """Return the best bound over the shares of guessed canaries."""
    centred = scores - np.median(scores)
    surest = np.argsort(-np.abs(centred), kind="stable")
    right = (centred > 0.0) == drawn
    best = 0.0
    for share in GUESS_SHARES:
        chosen = surest[: max(1, round(share * scores.size))]
        bound = epsilon_of_guesses(
            int(right[chosen].sum()), chosen.size, scores.size,
            delta=delta, false_alarm=false_alarm / len(GUESS_SHARES),
        )  # fmt: skip
        best = max(best, bound)
    return best


def _epsilon(claim: Guarantee, delta: float) -> tuple[float, float]:
    """Return the claimed epsilon and its delta."""
    if isinstance(claim, PureDP | ApproxDP):
        return claim.epsilon, claim.delta
    return epsilon_of(claim.gaussian_mu(), check_open_unit("delta", delta)), delta
