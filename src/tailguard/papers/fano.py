"""Lower bounds with all of their constants: Fano's inequality for concentrated and pure privacy.

Kamath, Liu and Zhang (2022), Theorem 1.4, corrected. Take many laws with distant parameters: an
accurate private algorithm would distinguish them, but no private algorithm can.

*Needed.* rho-zCDP or epsilon-DP, as the names say, under replacement of one record, and independent
records of one law. Nothing is claimed for (epsilon, delta) algorithms, a larger class.
"""

import math
from collections.abc import Callable
from functools import partial

from scipy.optimize import minimize_scalar

from tailguard.checks import check_cost
from tailguard.means.formulas import check_facts, checked, moment_scale


def fano_bound(
    *,
    separation: float,
    log_n_laws: float,
    n_rows: int,
    rho: float,
    total_variation: float,
    divergence: float = math.inf,
    power: float = 1.0,
) -> float:
    """Least expected error to the given ``power``, on average over laws with distant parameters.

    ``(separation / 2)^power max(0, 1 - (n b + log 2) / log M,
    1 - (rho (n^2 a^2 + n a (1 - a)) + log 2) / log M)`` for ``M`` laws whose parameters are
    ``separation`` apart. Any two of them have a total variation of at most ``a`` and a
    Kullback-Leibler divergence (of one record) of at most ``b``.

    *Correction.* The paper prints ``b`` without the ``n``, and halves the squared separation for a
    squared error: the triangle inequality gives a quarter.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 1.4; group privacy is Bun and Steinke 2016,
    Proposition 1.9.

    Examples
    --------
    >>> laws = {"separation": 1.0, "log_n_laws": 25.0, "total_variation": 0.002}
    >>> round(fano_bound(n_rows=1000, rho=0.5, **laws), 4)
    0.4262
    """
    check_facts(separation=separation, log_n_laws=log_n_laws, n_rows=n_rows, rho=rho, power=power)
    check_facts(total_variation=total_variation)
    check_cost("divergence", divergence)
    moved = n_rows * total_variation
    private = rho * (moved**2 + moved * (1.0 - total_variation))
    least = min(private, n_rows * divergence)
    return max(
        0.0, math.pow(separation / 2.0, power) * (1.0 - (least + math.log(2.0)) / log_n_laws)
    )


def fano_bound_pure(
    *,
    separation: float,
    log_n_laws: float,
    n_rows: int,
    epsilon: float,
    total_variation: float,
    divergence: float = math.inf,
    power: float = 1.0,
) -> float:
    """Least expected error to the given ``power`` of any epsilon-DP algorithm, over such laws.

    ``(separation / 2)^power`` times the larger of ``1 - (n b + log 2) / log M`` and, over all
    ``c > 1``, ``(1 - 1/c) x / (1 + x)`` with ``x = (M - 1) exp(-c epsilon n a)``; notation as in
    :func:`fano_bound`. Couple the records of two laws so that ``n a`` of them differ on average,
    and more than ``c n a`` with chance ``1 / c`` at most (Markov): what answers one law right then
    answers so for the other at ``exp(-c epsilon n a)`` of that chance, less ``1 / c``, and the
    chances of all answers add up to 1.

    *Reference.* Acharya, Sun and Zhang 2021, Theorem 2, which Kamath, Liu and Zhang 2022 apply in
    Lemma 6.3 and Theorem B.7; here with the constants of the proof above.

    Examples
    --------
    >>> laws = {"separation": 1.0, "log_n_laws": 25.0, "total_variation": 0.002}
    >>> round(fano_bound_pure(n_rows=1000, epsilon=0.5, **laws), 4)
    0.4725
    """
    check_facts(separation=separation, log_n_laws=log_n_laws, n_rows=n_rows, epsilon=epsilon)
    check_facts(total_variation=total_variation, power=power)
    check_cost("divergence", divergence)
    log_others = log_n_laws + math.log1p(-math.exp(-log_n_laws))
    cost = epsilon * n_rows * total_variation

    def minus_chance(log_c: float) -> float:
        """Minus the chance of a wrong answer that c proves."""
        odds = min(700.0, cost * math.exp(log_c) - log_others)
        return -(1.0 - math.exp(-log_c)) / (1.0 + math.exp(odds))

    highest = math.log(1.0 + (log_others + 50.0) / cost)  # beyond it the second factor vanishes
    best = minimize_scalar(minus_chance, bounds=(0.0, highest), method="bounded")
    sampling = 1.0 - (n_rows * divergence + math.log(2.0)) / log_n_laws
    return math.pow(separation / 2.0, power) * max(0.0, sampling, -float(best.fun))


def least_distance(n_features: int) -> int:
    """Hamming distance that the packings of this library keep: ``max(2, ceil(d / 8))``.

    *Correction.* The papers need a distance of ``d / 2`` with exponentially many words. By the
    Plotkin bound there are at most ``2 d`` such words.

    *Reference.* Acharya, Sun and Zhang 2021, Lemma 6.

    Examples
    --------
    >>> least_distance(16), least_distance(64)
    (2, 8)
    """
    check_facts(n_features=n_features)
    return max(2, math.ceil(n_features / 8))


def log_packing_size(n_features: int) -> float:
    """Logarithm of a lower bound on the number of words of weight ``d // 2``, far enough apart.

    It is the number of words of that weight over those within the distance of one (Gilbert's
    bound).

    *Reference.* Acharya, Sun and Zhang 2021, Lemma 6, for constant weights.

    Examples
    --------
    >>> [round(log_packing_size(n_features), 4) for n_features in (16, 64, 128)]
    [9.4627, 25.024, 45.5601]
    """
    distance = least_distance(n_features)
    weight = n_features // 2
    swaps = range(math.ceil(distance / 2))
    near = sum(math.comb(weight, i) * math.comb(n_features - weight, i) for i in swaps)
    return math.log(math.comb(n_features, weight)) - math.log(near)


@checked
def mean_lower_bound(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, moment_bound: float = 1.0
) -> float:
    """Least expected l2 error of a rho-zCDP mean, constants and all; the privacy part alone.

    The laws are ``p^(-1/k)`` times a word with probability ``p`` and zero otherwise, at the best
    ``p``. The result is 0 if the bound is void, as in few dimensions.

    *Correction.* The paper takes words in {-1, 1}, whose weight cannot be d/2, at impossible
    distances, and a ``p`` at which the bound is negative.

    *Reference.* Kamath, Liu and Zhang 2022, Lemma 6.3.

    Examples
    --------
    >>> round(mean_lower_bound(n_rows=1000, n_features=64, moment_order=2.0, rho=0.5), 6)
    0.056868
    """
    bound_of = partial(fano_bound, n_rows=n_rows, rho=rho)
    # Above the root of the logarithm over rho the bound is negative.
    scale = moment_scale(moment_bound, moment_order)
    return scale * _best_chance(
        bound_of, n_features, moment_order, lambda nats: math.sqrt(nats / rho) / n_rows
    )


@checked
def mean_lower_bound_pure(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Least expected l2 error of an epsilon-DP mean, constants and all; the privacy part alone.

    The laws are those of :func:`mean_lower_bound`; the result is 0 if there are none.

    *Reference.* Kamath, Liu and Zhang 2022, Lemma 6.3.

    Examples
    --------
    >>> args = {"n_rows": 1000, "n_features": 64, "moment_order": 2.0}
    >>> round(mean_lower_bound_pure(epsilon=1.0, **args), 4)
    0.0776
    """
    bound_of = partial(fano_bound_pure, n_rows=n_rows, epsilon=epsilon)
    scale = moment_scale(moment_bound, moment_order)
    return scale * _best_chance(
        bound_of, n_features, moment_order, lambda nats: 2.0 * nats / (epsilon * n_rows)
    )


def _best_chance(
    bound_of: Callable[..., float], n_features: int, order: float, most: Callable[[float], float]
) -> float:
    """Return the largest bound that words of a packing prove, over all chances.

    ``most`` maps the logarithm of the number of words to the largest chance. Chances below e^-12
    of that chance prove far less.
    """
    log_n_laws = log_packing_size(n_features)
    if log_n_laws <= math.log(2.0):
        return 0.0
    distance, highest = math.sqrt(least_distance(n_features)), min(0.0, math.log(most(log_n_laws)))

    def minus_bound(log_chance: float) -> float:
        """Minus the bound at chance exp(log_chance)."""
        chance = math.exp(log_chance)
        return -bound_of(
            separation=distance * math.pow(chance, 1.0 - 1.0 / order),
            log_n_laws=log_n_laws,
            total_variation=chance,
        )

    best = minimize_scalar(
        minus_bound, bounds=(highest - 12.0, highest), method="bounded", options={"xatol": 1e-9}
    )
    return -float(best.fun)
