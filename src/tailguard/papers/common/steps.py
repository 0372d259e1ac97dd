"""Step counts and step sizes that several papers share.

Kamath, Liu and Zhang (2022) and Tao, Wu, Cheng and Wang (2022) run the same projected gradient
descent, and Zhao and others (2024) a scaled one; none of them rounds or clamps its step counts.
"""

import math
from collections.abc import Callable

from tailguard.means.formulas import check_facts, checked

# Repeats after which the fixed point of error and step count is taken as it is.
MOST_REPEATS = 20


def whole_steps(count: float, *, maximum: int = 1000) -> int:
    """Round a theorem's step count to a whole number between 1 and ``maximum``.

    Noise scales and step sizes must follow from the whole count.

    Examples
    --------
    >>> whole_steps(447.2), whole_steps(0.014), whole_steps(1e9)
    (447, 1, 1000)
    """
    check_facts(n_maximum=maximum)
    return int(min(float(maximum), max(1.0, math.floor(min(count, float(maximum))))))


def worthwhile_steps(
    excess_of: Callable[[int], float], *, printed: float, noise_ratio: float
) -> int:
    """How many steps for less noise than printed: at least as many as the printed rule gives.

    The rules choose the number of steps at which the noise of all of them reaches the bound on the
    gradient. The variance of that noise grows with the number. So for ``noise_ratio`` times less
    noise the same rule gives ``printed noise_ratio^2``. Between the two numbers, this function
    takes the one that minimises ``excess_of``, the theorem's bound on the excess risk: the bound
    falls while the start still matters, and then rises with the noise.

    *Correction.* The papers print the rule for their own noise, and without constants. With less
    noise, so few and long steps stop too early.

    *Reference.* Kamath, Liu and Zhang 2022, Theorems 5.2, 5.5 and B.8; Tao and others 2022,
    Theorem 6; Zhao and others 2024, Theorem 7.

    Examples
    --------
    >>> def excess_of(n_steps):
    ...     return 100.0 / n_steps + n_steps
    >>> [worthwhile_steps(excess_of, printed=3.5, noise_ratio=ratio) for ratio in (1.0, 1.5, 9.0)]
    [3, 7, 10]
    """
    low = whole_steps(printed)
    high = max(low, whole_steps(printed * noise_ratio**2))
    while low < high:
        middle = (low + high) // 2
        if excess_of(middle + 1) < excess_of(middle):
            low = middle + 1
        else:
            high = middle
    return low


def composed_shares(n_steps: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Return epsilon and delta of each of ``n_steps`` steps, as the papers compose them.

    ``epsilon / (2 sqrt(2 T log(2 / delta)))`` and ``delta / (2 T)``: valid, and far from exact.

    *Reference.* Tao and others 2022, Lemma 1 and Algorithm 2, line 3.

    Examples
    --------
    >>> [round(share, 9) for share in composed_shares(100, 1.0, 1e-5)]
    [0.010119686, 5e-08]
    """
    share = epsilon / (2.0 * math.sqrt(2.0 * n_steps * math.log(2.0 / delta)))
    return share, delta / (2.0 * n_steps)


@checked
def descent_step_size(*, diameter: float, gradient_bound: float, n_steps: int) -> float:
    """Step size for convex losses, ``diameter / (gradient_bound sqrt(n_steps))``.

    *Reference.* Kamath, Liu and Zhang 2022, Theorems 5.2 and 5.5; Tao and others 2022, Theorem 6.

    Examples
    --------
    >>> descent_step_size(diameter=2.0, gradient_bound=1.0, n_steps=400)
    0.1
    """
    return diameter / (gradient_bound * math.sqrt(n_steps))


@checked
def strongly_convex_step_size(*, strong_convexity: float, smoothness: float) -> float:
    """Step size for strongly convex losses, ``1 / (strong_convexity + smoothness)``.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.7; Tao and others 2022, Theorem 7.

    Examples
    --------
    >>> strongly_convex_step_size(strong_convexity=1.0, smoothness=4.0)
    0.2
    """
    return 1.0 / (strong_convexity + smoothness)


@checked
def contraction(*, strong_convexity: float, smoothness: float) -> float:
    """Factor by which one such step shrinks the squared distance to the minimiser, at worst.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 3.2.

    Examples
    --------
    >>> round(contraction(strong_convexity=1.0, smoothness=4.0), 12)
    0.84
    """
    both = strong_convexity * smoothness
    return 1.0 - both / (strong_convexity + smoothness) ** 2


@checked
def strongly_convex_steps(*, error: float, strong_convexity: float, smoothness: float) -> float:
    """How many steps until the remaining distance is within the error of the gradients.

    ``log(A) / (2 log(r))`` with the contraction ``r`` and
    ``A = (a + b)^2 error^2 / (2 a b (a + b)^2 - a^2 b^2)`` for convexity ``a``, smoothness ``b``;
    1 where ``A >= 1``.

    *Correction.* The papers' own formula (:func:`printed_strongly_convex_steps`) becomes negative
    if the gradients are noisy.

    *Reference.* Kamath, Liu and Zhang 2022, proof of Theorem 3.2.

    Examples
    --------
    >>> round(strongly_convex_steps(error=0.1, strong_convexity=1.0, smoothness=4.0), 4)
    18.9306
    """
    both = strong_convexity * smoothness
    total = (strong_convexity + smoothness) ** 2
    log_ratio = 2.0 * math.log(error) + math.log(total / (2.0 * both * total - both**2))
    shrink = contraction(strong_convexity=strong_convexity, smoothness=smoothness)
    return max(1.0, log_ratio / (2.0 * math.log(shrink)))


@checked
def printed_strongly_convex_steps(
    *, error: float, strong_convexity: float, smoothness: float
) -> float:
    """Step count as the papers print it: ``log((a + b) error / (a b)) / log(r)``.

    Negative if the error is large; for comparison only.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.7; Tao and others 2022, Theorem 7.

    Examples
    --------
    >>> args = {"strong_convexity": 1.0, "smoothness": 4.0}
    >>> round(printed_strongly_convex_steps(error=2.0, **args), 4)
    -5.2554
    """
    start = (strong_convexity + smoothness) * error / (strong_convexity * smoothness)
    shrink = contraction(strong_convexity=strong_convexity, smoothness=smoothness)
    return math.log(start) / math.log(shrink)


def settled_steps(
    error_of: Callable[[int], float],
    *,
    strong_convexity: float,
    smoothness: float,
    maximum: int = 1000,
) -> int:
    """Solve for the number of steps, which depends on the error, which depends on that number.

    It starts at one step and recomputes until the count repeats, at most 20 times.
    ``error_of(n_steps)`` is the predicted error of one gradient when each step has
    ``n_rows // n_steps`` records.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.7, which does not solve for it.

    Examples
    --------
    >>> settled_steps(lambda n_steps: 0.01 * n_steps**0.5, strong_convexity=1.0, smoothness=4.0)
    24
    """
    n_steps = 1
    for _ in range(MOST_REPEATS):
        count = strongly_convex_steps(
            error=error_of(n_steps), strong_convexity=strong_convexity, smoothness=smoothness
        )
        settled = whole_steps(math.ceil(count), maximum=maximum)
        if settled == n_steps:
            break
        n_steps = settled
    return n_steps
