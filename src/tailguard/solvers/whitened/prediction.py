"""What the default method's plan predicts from public numbers alone, and what that means.

Reference
---------
Avella-Medina, Bradshaw and Loh 2023, Section 4 (the error that noise adds to a Newton step).
"""

import math

from tailguard.losses.link import Link
from tailguard.plans.problem import Problem

__all__ = ["assumptions", "meaning", "predicted"]

# Row limit times slope limit over their scales: a round figure for a rough prediction, not a bound.
TYPICAL_LIMITS = 1.5
# What the predicted error is of, by link: the score, its unit, how many times that noise moved it
# in simulated fits of 3 to 30 columns, by their own coef_noise_std_.
PREDICTS = {
    Link.IDENTITY: ("the prediction", "in scales of the residuals", "1 to 6"),
    Link.LOG: ("the logarithm of the prediction", "for a mean of about one", "1 to 6"),
    Link.LOGIT: ("the score, as log-odds,", "for slopes and curvatures of about one", "3 to 12"),
}


def predicted(problem: Problem, mu: float) -> dict[str, float]:
    """Predict the error that privacy adds, from public numbers, relative to the residuals' scale.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=10_000, n_features=9)
    >>> round(predicted(problem, 0.5)["predicted_privacy_error"], 4)
    0.0054
    """
    noise = 2.0 * TYPICAL_LIMITS * math.sqrt(problem.size) / (problem.n_rows * mu)
    return {"predicted_privacy_error": math.sqrt(problem.size) * noise}


def assumptions(problem: Problem, mu: float) -> tuple[str, ...]:
    """Say from public numbers alone when the budget cannot carry the coefficients.

    Examples
    --------
    >>> import tailguard as tg
    >>> assumptions(Problem(tg.losses.Squared(), n_rows=10_000, n_features=9), 0.5)
    ('columns vary, and their scales can be told from the noise',)
    """
    if predicted(problem, mu)["predicted_privacy_error"] < 1.0:
        return ("columns vary, and their scales can be told from the noise",)
    return (
        f"n * mu = {problem.n_rows * mu:.3g} is small for {problem.size} coefficients: expect "
        "little more than the constant fit",
    )


def meaning(problem: Problem) -> str:
    """Say in one sentence what the predicted error is; the loss's own slopes do not enter it.

    Examples
    --------
    >>> import tailguard as tg
    >>> meaning(Problem(tg.losses.Squared(), n_rows=10_000, n_features=9))[:40]
    'that is how far noise alone would move t'
    """
    score, unit, times = PREDICTS[problem.link]
    return (
        f"that is how far noise alone would move {score} of a typical row (root mean square, "
        f"{unit}) if every column and the target were seen and rounds got the whole budget; it is "
        f"the same for every loss, and simulated fits of this kind had {times} times as much"
    )
