"""How many records, or which epsilon, would be enough if noise is predicted to hide the answer.

Public numbers decide, before anything is spent. Only the note on light weights follows from a
release, that of their total.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3 (noise on a sum does not shrink with its records).
"""

import math
from collections.abc import Callable
from dataclasses import replace

from tailguard.checks import InputError
from tailguard.privacy.guarantees import ApproxDP, Guarantee, PureDP

WEIGHS_LITTLE = "weights are small: "
"""How the note on light weights begins."""
LARGEST_EPSILON = 1e3  # that is named


def mean_hides(n_rows: int, noise_std: float) -> bool:
    """Whether noise hides a mean of numbers from 0 to 1: its deviation is above a quarter."""
    return n_rows < 4.0 * noise_std


def scale_warnings(
    n_rows: int,
    guarantee: Guarantee,
    fewest: int,
    *,
    amount: Callable[[Guarantee], float],
    noise_std: float,
    effect: str,
) -> tuple[str, ...]:
    """Warn if noise is predicted to hide all scales; refuse if it would hide even a mean.

    Scales need the ``fewest`` records, a number that falls as the ``amount`` of the budget grows.
    ``noise_std`` is that of a sum released with the whole budget.
    """
    if n_rows >= fewest:
        return ()
    wanted = amount(guarantee) * fewest / n_rows
    epsilon = _enough_epsilon(guarantee, lambda promise: amount(promise) < wanted)
    if mean_hides(n_rows, noise_std):
        raise noise_refusal(n_rows, guarantee, _would_do(fewest, epsilon))
    more = "" if epsilon is None else f"; epsilon = {epsilon} would do too"
    return (
        f"n = {n_rows} is below the {fewest} records that scales need at this budget, so columns "
        f"are read in their raw units: {effect}{more}",
    )


def light_weights(
    total: float, noise_std: float, n_rows: int, *, by_person: bool = False
) -> tuple[str, ...]:
    """Note that records weigh far less than their bound, if their released total shows it.

    ``total`` and ``noise_std``, the deviation of its noise, are in units of the bound.

    Examples
    --------
    >>> light_weights(2_500.0, 10.0, n_rows=200_000)[0].partition(",")[0]
    'weights are small: records weigh on average about 1/80 of weight_bound'
    """
    most = total + 2.0 * noise_std
    if most >= 0.1 * n_rows:
        return ()
    seen = total > 4.0 * noise_std
    about, total = ("about", total) if seen else ("less than", most)
    times, records = rounded(n_rows / total), "persons" if by_person else "records"
    return (
        f"{WEIGHS_LITTLE}{records} weigh on average {about} 1/{times} of weight_bound, by their "
        f"released total (void ones weigh nothing), and noise is that of {about} {rounded(total)} "
        f"{records} in place of {n_rows:,}: unless most weigh nothing, declare a smaller "
        f"weight_bound next time. At the mean weight noise on sums is about {times} times smaller; "
        "weights above the bound are cut to it",
    )


def noise_refusal(n_rows: int, guarantee: Guarantee, enough: str) -> InputError:
    """Return the error for a fit whose answer would be noise."""
    return InputError(
        f"n_rows or the budget must be larger: at {guarantee.describe()} noise is predicted to "
        f"hide all that {n_rows} records tell, the best constant included, and nothing was "
        f"spent; {enough}"
    )


def remedy(n_rows: float, guarantee: Guarantee, hides: Callable[[Guarantee], bool]) -> str:
    """Describe the number of records, or the epsilon, that would be enough."""
    return _would_do(n_rows, _enough_epsilon(guarantee, hides))


def least(hides: Callable[[float], bool], start: float) -> float:
    """Return the least number above ``start`` that noise does not hide, to 5 %, or infinity."""
    low, high = start, 2.0 * start
    try:
        for _ in range(40):
            if not hides(high):
                break
            low, high = high, 2.0 * high
        else:
            return math.inf
        while high > 1.05 * low:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if hides(middle) else (low, middle)
    except InputError:  # too small a budget for any plan
        return math.inf
    return high


def _enough_epsilon(guarantee: Guarantee, hides: Callable[[Guarantee], bool]) -> str | None:
    """Return the smallest sufficient epsilon, or None."""
    if not isinstance(guarantee, ApproxDP | PureDP):
        return None
    epsilon = least(lambda e: hides(replace(guarantee, epsilon=e)), guarantee.epsilon)
    return rounded(epsilon) if epsilon < LARGEST_EPSILON else None


def _would_do(n_rows: float, epsilon: str | None) -> str:
    if math.isinf(n_rows):
        words = "no number of records" if epsilon is None else f"epsilon = {epsilon}"
    else:
        words = f"about {rounded(n_rows)} records"
        words += "" if epsilon is None else f", or epsilon = {epsilon},"
    return f"{words} would do."


def rounded(number: float) -> str:
    """Return a number as text, rounded up to two digits."""
    return f"{two_digits(number):,.10g}"


def two_digits(number: float) -> float:
    """Return a number rounded up to two digits."""
    if math.isinf(number):
        return number
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit - 1e-9) * unit
