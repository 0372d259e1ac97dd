"""Lower bounds with all of their constants: Fano's inequality for concentrated privacy.

Kamath, Liu and Zhang (2022), Theorem 1.4, corrected. Take many laws whose parameters lie apart; a
private algorithm that estimates well would tell them apart, and it cannot.

*Needed.* rho-zCDP under replacement of one record, and independent records of one law. Nothing is
claimed for (epsilon, delta) algorithms, of which there are more.
"""

import math

from scipy.optimize import minimize_scalar

from tailguard.papers.common.facts import check_facts, check_order, moment_scale

__all__ = ["fano_bound", "least_distance", "log_packing_size", "mean_lower_bound"]


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
    """Least expected error to the given ``power``, on average over laws that lie apart.

    ``(separation / 2)^power max(0, 1 - (n b + log 2) / log M,
    1 - (rho (n^2 a^2 + n a (1 - a)) + log 2) / log M)`` for ``M`` laws whose parameters are
    ``separation`` apart, each two of them at total variation ``a`` at most and Kullback-Leibler
    divergence ``b`` (of one record) at most.

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
    moved = n_rows * total_variation
    private = rho * (moved**2 + moved * (1.0 - total_variation))
    least = min(private, n_rows * divergence)
    return max(
        0.0, math.pow(separation / 2.0, power) * (1.0 - (least + math.log(2.0)) / log_n_laws)
    )


def least_distance(n_features: int) -> int:
    """Hamming distance that the packings of this library keep: ``max(2, ceil(d / 8))``.

    *Correction.* The papers ask for ``d / 2`` with exponentially many words, against the Plotkin
    bound: there are at most ``2 d`` such words.

    *Reference.* Acharya, Sun and Zhang 2021, Lemma 6.

    Examples
    --------
    >>> least_distance(16), least_distance(64)
    (2, 8)
    """
    check_facts(n_features=n_features)
    return max(2, math.ceil(n_features / 8))


def log_packing_size(n_features: int) -> float:
    """Logarithm of a number of words that surely exists: weight ``d // 2``, far enough apart.

    All words of that weight, over those within the distance of one of them (Gilbert's bound).

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


def mean_lower_bound(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, moment_bound: float = 1.0
) -> float:
    """Least expected l2 error of a rho-zCDP mean, constants and all; the privacy part alone.

    The laws put ``p^(-1/k)`` times a word at chance ``p`` and zero otherwise; the best ``p`` is
    searched. 0 where the bound says nothing, as in few dimensions.

    *Correction.* The paper takes words in {-1, 1}, whose weight cannot be d/2, at distances that
    cannot be had, and a ``p`` at which the bound is negative.

    *Reference.* Kamath, Liu and Zhang 2022, Lemma 6.3.

    Examples
    --------
    >>> round(mean_lower_bound(n_rows=1000, n_features=64, moment_order=2.0, rho=0.5), 6)
    0.056868
    """
    check_facts(n_rows=n_rows, n_features=n_features, rho=rho, moment_bound=moment_bound)
    check_order(moment_order)
    log_n_laws = log_packing_size(n_features)
    if log_n_laws <= math.log(2.0):
        return 0.0
    distance = math.sqrt(least_distance(n_features)) * moment_scale(moment_bound, moment_order)

    def minus_bound(log_chance: float) -> float:
        """Minus the bound at chance exp(log_chance)."""
        chance = math.exp(log_chance)
        return -fano_bound(
            separation=distance * chance ** (1.0 - 1.0 / moment_order),
            log_n_laws=log_n_laws,
            n_rows=n_rows,
            rho=rho,
            total_variation=chance,
        )

    # Beyond this chance the bound is negative; e^-12 of it is far below the best.
    highest = min(0.0, math.log(math.sqrt(log_n_laws / rho) / n_rows))
    found = minimize_scalar(
        minus_bound, bounds=(highest - 12.0, highest), method="bounded", options={"xatol": 1e-9}
    )
    return -float(found.fun)
