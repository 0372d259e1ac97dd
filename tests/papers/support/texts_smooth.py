"""What the texts say of rows 1 to 3 and 21, whose noise follows records or is no normal number.

Typed anew from Wang, Algorithms 1 to 3, Tao, Algorithm 4, and the corrected forms of the errata.
"""

import math
from itertools import count

import numpy as np
from scipy.special import log_ndtr, ndtr
from scipy.stats import chi2

from papers.support.texts import DELTA, EPSILON, D, N, log, sqrt
from papers.support.texts_wang_xu import wang_trimmed

SPENT = 1 - 1e-6  # of epsilon: what tight constants leave for rounding
MARGIN = 1 - 1e-9  # of a concentrated budget
RAISED = 1 + 2**-16  # what a smooth scale is raised by, for floats


# Wang, Algorithm 1: sample and aggregate.


def wang_1_constants(factor=1.0):
    """Line 1: beta and gamma."""
    smoothness = EPSILON / (4 * (D + log(2 / DELTA)))
    shift = EPSILON / (5 * sqrt(2 * log(2 / DELTA)))
    return factor * smoothness, factor * shift


def wang_1_delta(smoothness, shift, epsilon):
    """delta of noise on a smooth scale, by way of the law with one centre and the other scale.

    Half of epsilon or another part is for a shift of normal noise, and the rest for a change of its
    scale by exp(smoothness), of which the squared length of D numbers tells.
    """
    shrunk = math.exp(-2 * smoothness)

    def moved(e):
        return ndtr(shift / 2 - e / shift) - np.exp(e + log_ndtr(-shift / 2 - e / shift))

    def scaled(e):
        inside = np.maximum(2 * (D * smoothness - e) / (1 - shrunk), 0)
        outside = 2 * (D * smoothness + e) / (1 - shrunk)
        wide = chi2.sf(outside * shrunk, D) - np.exp(e) * chi2.sf(outside, D)
        narrow = chi2.cdf(inside, D) - np.exp(e) * chi2.cdf(inside * shrunk, D)
        return np.maximum(wide, narrow)

    first = epsilon * np.arange(401) / 400
    second = epsilon - first
    return min(
        np.min(moved(first) + np.exp(first) * scaled(second)),
        np.min(scaled(first) + np.exp(first) * moved(second)),
    )


def wang_1_factor():
    """The largest multiple of both constants that keeps delta, by bisection."""
    low, high = 1.0, 16.0
    for _ in range(60):
        middle = (low + high) / 2
        kept = wang_1_delta(*wang_1_constants(middle), SPENT * EPSILON) <= DELTA
        low, high = (middle, high) if kept else (low, middle)
    return low


def wang_1_blocks(smoothness, least_rows=20):
    """Disjoint blocks: as many as bring the scale of equal estimates down to 1 / n of the ball."""
    return max(4, min(N // least_rows, 4 + math.ceil(2 / smoothness * log(N))))


def wang_1_answer(points, reach, smoothness, s, printed):
    """Lines 3 to 5: the point of the smallest ball of t0, and S; E4: an order statistic for rho."""
    m = len(points)
    points = [p * min(1.0, reach / max(np.linalg.norm(p), 1e-300)) for p in points]
    r = np.array([sorted(float(np.linalg.norm(p - q)) for q in points) for p in points])
    t0 = math.ceil((m + s) / 2) + 1
    best, scale = int(np.argmin(r[:, t0 - 1])), 0.0
    for k in count():
        t, rank = t0 + (k + 1) * s, (k + 1) * s + 1
        if printed and t > m:
            scale = max(scale, 2 * reach * math.exp(-smoothness * k))
            break
        if not printed and (t > m or rank > m):
            scale = max(scale, reach * math.exp(-smoothness * k))
            break
        column = sorted(r[:, t - 1])
        rho = sum(column[-math.ceil(s / 2) :]) / math.ceil(s / 2) if printed else None
        bound = rho if printed else min(reach, column[rank - 1])
        scale = max(scale, bound * math.exp(-smoothness * k))
    return points[best], 2 * scale * (1.0 if printed else RAISED)


# Wang, Algorithm 2: the trimmed mean, and Algorithm 3: descent on it.


def arsinh_cost(smoothness):
    """Root of 2 rho of a change of scale by exp(smoothness) of sinh of a normal number."""
    return min(1.858 * math.expm1(smoothness), sqrt(smoothness * (smoothness + 3)))


def arsinh_smoothness(part):
    """The largest smoothness of that cost: either formula, solved."""
    return max(log(1 + part / 1.858), (sqrt(9 + 4 * part**2) - 3) / 2)


def arsinh_shift(rho, smoothness):
    """What the rest of the budget leaves: a shift by s costs 1.1425 s."""
    return (sqrt(2 * rho) - arsinh_cost(smoothness)) / 1.1425


def tight_trimming(rho, width, resolution, *, share=None, n_trimmed=None):
    """E35: m t = log(n (b - a) / resolution), for a share of the budget or for m."""
    decay = max(1.0, log(N * width / resolution))
    t = decay / n_trimmed if n_trimmed else arsinh_smoothness(share * sqrt(2 * rho))
    m = n_trimmed or math.ceil(decay / t)
    return {"smoothness": t, "shift": arsinh_shift(rho, t), "n_trimmed": m}


def wang_2_errors(rho, low, high):
    """The error of a column by shares, if it has tails like Student's t of three degrees."""
    spread = (high - low) / 16
    found = {}

    def exceeded(part):  # the magnitude that a part exceeds: (1 + 2 x^2)^(-3/2) = part
        return spread * sqrt((part ** (-2 / 3) - 1) / 2)

    def beyond(edge):  # half of the mean excess over it
        x = edge / spread
        return spread * (1 - x / sqrt(x**2 + 0.5)) / sqrt(2) / 2

    for share in (0.001, 0.005, 0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99):
        says = tight_trimming(rho, high - low, spread, share=share)
        t, s, m = says.values()
        if 2 * m < N:
            k = np.unique(np.geomspace(1, m, 400).astype(int)) - 1
            reach = np.array([exceeded(2 * (m - each) / N) for each in k])
            scale = max(np.exp(-t * k) * 2 * reach / (N - 2 * m))
            noise = sqrt(math.expm1(2) / 2) * scale / s
            found[share] = math.hypot(noise, beyond(exceeded(2 * m / N)), spread / sqrt(N))
    return found


def wang_2_noise(spread, width, smoothness, shift, n_trimmed):
    """Steps 1 and 3: the noise of a number whose values lie that far apart."""
    scale = max(spread / (N - 2 * n_trimmed), math.exp(-n_trimmed * smoothness) * width)
    return sqrt(math.expm1(2) / 2) * scale / shift


def wang_2_answer(column, low, high, m, smoothness, printed):
    """Steps 1 and 2: the trimmed and cut mean, and its scale; E1: order statistics for ends."""
    x = sorted(column)
    mean = min(max(math.fsum(x[m : N - m]) / (N - 2 * m), low), high)
    floor = math.exp(-m * smoothness) * (high - low)
    if printed:
        return mean, max((x[-1] - x[0]) / (N - 2 * m), floor)
    moves = [(x[N - m + k] - x[m - k - 1]) / (N - 2 * m) for k in range(m)]  # k replaced, and one
    smooth = (math.exp(-smoothness * k) * min(high - low, a) for k, a in enumerate(moves))
    return mean, max(*smooth, floor) * RAISED


def wang_3(printed, guarantee_rho=None, a=1.0, b=2.0, reach=1.0):
    """Theorem 5: T and eta; constants of each of d T numbers."""
    steps = math.ceil(b / a * log(N))
    says = {"n_steps": steps, "step_size": 1 / b, "low": -reach, "high": reach}
    if printed:
        return says | wang_trimmed(True, D * steps)
    each = guarantee_rho * MARGIN / (D * steps)
    width = 2 * reach
    return says | tight_trimming(each, width, 1e-3 * width, share=0.25)


# Tao, Algorithm 4: the s largest entries.


def tao_4(printed, s, *, rho=None):
    """Standard deviation over lambda: line 4, or the least noise of E28."""
    if printed:
        return sqrt(2) * 4 * sqrt(2 * s * log(1 / DELTA)) / EPSILON
    if rho:  # each of s choices and of s values costs 1 / (2 b^2)
        return sqrt(s / rho)
    # Laplace is pure: 2 / b a choice and 1 / b a value; randomised response of so much epsilon has
    # delta = (exp(pure) - exp(epsilon)) / (1 + exp(pure)).
    pure = log((math.exp(EPSILON) + DELTA) / (1 - DELTA))
    return sqrt(2) * 3 * s / pure
