"""Excess risk of gradient descent on any oracle of known bias and error.

The frame of Kamath, Liu and Zhang (2022), Section 3, which Tao and others (2022) and Zhao and
others (2024) use as well: what a private mean is worth to an optimiser.

*Needed for privacy.* That of the oracle: descent is post-processing.

*Needed for accuracy.* Convex smooth losses on a bounded set. The bias must hold at all points of
the set at once, since the points depend on the records.
"""

from tailguard.checks import check_finite
from tailguard.means.formulas import check_facts
from tailguard.papers.common.steps import contraction


def descent_bound(
    *,
    diameter: float,
    step_size: float,
    n_steps: int,
    gradient_bound: float,
    gradient_bias: float,
    gradient_error: float,
) -> float:
    """Excess risk of projected descent on any gradient oracle, averaged over its iterates.

    ``D^2 / (2 eta T) + eta (R^2 + G^2) + D B`` for bias ``B`` (at all points at once) and root
    mean squared error ``G`` of the oracle.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 3.1; Zhao and others 2024, Lemma 3, with
    smoothness times diameter for ``R``.

    Examples
    --------
    >>> oracle = {"gradient_bound": 1.0, "gradient_bias": 0.01, "gradient_error": 1.0}
    >>> round(descent_bound(diameter=2.0, step_size=0.1, n_steps=400, **oracle), 3)
    0.27
    """
    check_facts(diameter=diameter, step_size=step_size, n_steps=n_steps)
    check_facts(gradient_bound=gradient_bound)
    check_finite("gradient_bias", gradient_bias)
    check_finite("gradient_error", gradient_error)
    noise = step_size * (gradient_bound**2 + gradient_error**2)
    return diameter**2 / (2.0 * step_size * n_steps) + noise + diameter * gradient_bias


def smooth_descent_bound(
    *, diameter: float, n_steps: int, gradient_error: float, smoothness: float
) -> float:
    """Excess risk of projected descent by ``1 / smoothness``, on average over its points.

    ``b D^2 / (2 T) + D G``: a step that long gains what its gradient's error does not take, and the
    errors are paid for by the diameter.

    *Reference.* Wang and others 2020, proof of Theorem 8, for any gradient error ``G`` along the
    way.

    Examples
    --------
    >>> run = {"diameter": 2.0, "n_steps": 20, "gradient_error": 0.1}
    >>> smooth_descent_bound(smoothness=1.0, **run)
    0.30000000000000004
    """
    check_facts(diameter=diameter, n_steps=n_steps, smoothness=smoothness)
    check_finite("gradient_error", gradient_error)
    return smoothness * diameter**2 / (2.0 * n_steps) + diameter * gradient_error


def strongly_convex_descent_bound(
    *,
    diameter: float,
    n_steps: int,
    gradient_error: float,
    strong_convexity: float,
    smoothness: float,
    step_size: float | None = None,
) -> float:
    """Excess risk of descent on strongly convex losses, with all constants.

    ``(b / 2) (2 r^(2T) D^2 + 2 G^2 / ((1 - r)^2 (a + b)^2))`` with the contraction ``r`` for steps
    of ``1 / (a + b)``; for another ``step_size`` h up to ``2 / (a + b)`` the distance shrinks by
    ``1 - h a``, and ``(b / 2) (2 (1 - h a)^(2T) D^2 + 2 (G / a)^2)`` is left.

    *Correction.* The paper's first display bounds the distance and not the risk, and its sum has a
    term too few; summing the geometric series spares its factor ``T``.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 3.2.

    Examples
    --------
    >>> shape = {"strong_convexity": 1.0, "smoothness": 4.0}
    >>> run = {"diameter": 2.0, "n_steps": 19, "gradient_error": 0.1}
    >>> round(strongly_convex_descent_bound(**run, **shape), 4)
    0.0837
    """
    check_facts(diameter=diameter, n_steps=n_steps)
    check_finite("gradient_error", gradient_error)
    if step_size is not None:
        left = (1.0 - step_size * strong_convexity) ** n_steps * diameter
        return float(smoothness * (left**2 + (gradient_error / strong_convexity) ** 2))
    shrink = contraction(strong_convexity=strong_convexity, smoothness=smoothness)
    floor = gradient_error / ((1.0 - shrink) * (strong_convexity + smoothness))
    return float(smoothness * ((shrink**n_steps * diameter) ** 2 + floor**2))
