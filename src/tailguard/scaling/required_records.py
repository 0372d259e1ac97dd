"""How many records, or which epsilon, would be enough if noise is predicted to hide the answer.

These warnings and errors use public numbers, before any budget is spent. Only the note on light
weights uses a release: their total.

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
LARGEST_EPSILON = 1e3  # larger ones are not suggested


def mean_hides(n_rows: int, noise_std: float) -> bool:
    """Whether the noise on a mean of numbers from 0 to 1 has a standard deviation above 1/4."""
    return n_rows < 4.0 * noise_std


def scale_warnings(
    n_rows: int,
    guarantee: Guarantee,
    fewest: int,
    *,
    amount: Callable[[Guarantee], float],
    noise_std: float,
    effect: str,
    noun: str,
) -> tuple[str, ...]:
    """Warn if noise is predicted to hide all scales; refuse if it would hide even a mean.

    Scales need at least ``fewest`` records. This number is inversely proportional to the budget,
    which ``amount`` returns for a guarantee. ``noise_std`` is the noise of a sum that is released
    with the whole budget. ``effect`` ends the warning, and ``noun`` is the word for records.
    """
    if n_rows >= fewest:
        return ()
    needed_amount = amount(guarantee) * fewest / n_rows

    def hides(promise: Guarantee) -> bool:
        return amount(promise) < needed_amount

    if mean_hides(n_rows, noise_std):
        raise noise_refusal(n_rows, guarantee, remedy(fewest, guarantee, hides, noun), noun)
    epsilon = _enough_epsilon(guarantee, hides)
    alternative = "" if epsilon is None else f"; epsilon = {epsilon} would do too"
    return (
        f"n = {n_rows} is below the {fewest} {noun} that scales need at this budget, so columns "
        f"are read in their raw units: {effect}{alternative}",
    )


def light_weights(
    total: float, noise_std: float, n_rows: int, *, by_person: bool = False
) -> tuple[str, ...]:
    """Return a note if the released total shows that records weigh far less than their bound.

    ``total`` and ``noise_std``, the standard deviation of its noise, are in units of the bound.

    Examples
    --------
    >>> light_weights(2_500.0, 10.0, n_rows=200_000)[0].partition(",")[0]
    'weights are small: records weigh on average about 1/80 of weight_bound'
    """
    upper_bound = total + 2.0 * noise_std
    if upper_bound >= 0.1 * n_rows:
        return ()
    is_detected = total > 4.0 * noise_std
    about, total = ("about", total) if is_detected else ("less than", upper_bound)
    times, records = rounded(n_rows / total), "persons" if by_person else "records"
    return (
        f"{WEIGHS_LITTLE}{records} weigh on average {about} 1/{times} of weight_bound, by their "
        f"released total (void ones weigh nothing), and noise is that of {about} {rounded(total)} "
        f"{records} in place of {n_rows:,}: unless most weigh nothing, declare a smaller "
        f"weight_bound next time. At the mean weight noise on sums is about {times} times smaller; "
        "weights above the bound are cut to it",
    )


def noise_refusal(n_rows: int, guarantee: Guarantee, enough: str, noun: str) -> InputError:
    """Return the error that refuses a fit whose answer would be noise."""
    return InputError(
        f"n_rows or the budget must be larger: at {guarantee.describe()} noise is predicted to "
        f"hide all that {n_rows} {noun} tell, the best constant included, and nothing was "
        f"spent; {enough}"
    )


def remedy(
    n_rows: float,
    guarantee: Guarantee,
    hides: Callable[[Guarantee], bool],
    noun: str,
) -> str:
    """Say which number of records, or which epsilon, would be enough."""
    epsilon = _enough_epsilon(guarantee, hides)
    if math.isinf(n_rows):
        words = "no number of records" if epsilon is None else f"epsilon = {epsilon}"
    else:
        words = f"about {rounded(n_rows)} {noun}"
        words += "" if epsilon is None else f", or epsilon = {epsilon},"
    return f"{words} would do."


def least(hides: Callable[[float], bool], start: float) -> float:
    """Return the least number above ``start`` at which ``hides`` is false, to 5 %, or infinity."""
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


def rounded(number: float) -> str:
    """Return a number as text, rounded up to two digits."""
    return f"{two_digits(number):,.10g}"


def two_digits(number: float) -> float:
    """Return a number rounded up to two digits."""
    if math.isinf(number):
        return number
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit - 1e-9) * unit
