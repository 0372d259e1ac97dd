"""What the texts of Kamath, Tao and Zhao say of their rows, typed anew, with equations beside them.

Printed numbers are the texts' own. Tight ones have the exact sensitivity and exact composition in
their place, put back what the texts leave out, and take of the numbers of steps between the rule
at the printed noise and at the exact one the one of least bound (docs/papers.md).
"""

import math

import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

import tailguard as tg

EPSILON, DELTA, N, D, DIAMETER, RHO = 0.8, 1e-6, 50_001, 4, 2.0, 0.3
APPROX, ZCDP = tg.ApproxDP(EPSILON, DELTA), tg.ZCDP(RHO)
log, sqrt = math.log, math.sqrt
PRECISION = {"rel": 1e-9}
close = pytest.approx


def checked(found, says):
    """Compare what a plan has with what a text says, name by name."""
    for name, value in says.items():
        assert found[name] == (value if isinstance(value, str) else close(value, **PRECISION)), name


def exact_mu(epsilon=EPSILON, delta=DELTA):
    """Gaussian DP of a pair: the root of Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu) = delta."""

    def excess(mu):
        far = math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
        return ndtr(mu / 2 - epsilon / mu) - far - delta

    return brentq(excess, 1e-3, 10.0, xtol=1e-15, rtol=1e-15)


MU = exact_mu()


def even(count):
    """The medians here are of evenly many groups: the next even number."""
    return 2 * math.ceil(count / 2)


def whole(count, most=math.inf):
    """Texts' numbers of steps are not whole: the whole part, and at least 1."""
    return int(min(most, max(1, math.floor(min(count, 1e15)))))


def cut(k):
    """Mean excess over a cut c is at most so many times E|x|^k / c^(k-1)."""
    return (k - 1) ** (k - 1) / k**k


def settled(printed, count, said, exact, step, *, reach, bias, error):
    """Steps, their size, their noise and cost of descent for convex losses.

    ``said`` and ``exact`` are the noise of each of so many steps, ``step`` their size; ``bias`` and
    ``error`` are those of a coordinate. K22 Theorem 3.1 has the bound.
    """

    def bound(n):
        gradient = D * (error**2 + exact(n) ** 2)
        kept = DIAMETER**2 / (2 * step(n) * n) + step(n) * (reach**2 + gradient)
        return kept + DIAMETER * sqrt(D) * bias

    steps = whole(count) if printed else whole(count, 1000)
    if not printed:
        most = max(steps, whole(count * (said(steps) / exact(steps)) ** 2, 1000))
        steps = min(range(steps, most + 1), key=bound)
    noise = said(steps) if printed else exact(steps)
    return {"n_steps": steps, "step_size": step(steps), "noise": noise}


# Kamath, Liu and Zhang 2022. Moments are at most 1 in the text (Definition 2.11, Assumption 2.12).


def clamped(printed, groups, *, k=3.0, reach=1.5, moment=8.0):
    """Theorem 5.2 on CDPCWME (Algorithm 3; noise: proof of Theorem 4.1); tau and T are its own."""
    tau = (sqrt(RHO) * N / (DIAMETER * D**1.5)) ** (1 / k)
    if not printed:
        tau = max(moment ** (1 / k) * tau, reach)
    m = even(groups)
    move = 3 * tau / (N // m) * sqrt(D)  # half of 6 tau over a group: the median is of two means
    bias = cut(k) * moment / (3 * tau - reach) ** (k - 1)
    says = settled(
        printed,
        reach**2 * RHO * N**2 / (tau**2 * D**4),
        lambda t: sqrt(72 * tau**2 * groups**2 * D / ((RHO / t) * N**2)),
        lambda t: move * sqrt(t / (2 * RHO)),
        lambda t: DIAMETER / (reach * sqrt(t)),
        reach=reach,
        bias=bias,
        error=math.hypot(bias, moment ** (1 / k) / sqrt(N)),
    )
    spent = sqrt(says["n_steps"]) * move / says["noise"]
    return {**says, "threshold": tau, "n_groups": m, "mu": spent, "iterate": "average"}


def kamath_5_2(printed):
    """Groups: proof of Theorem 5.2, beta = (alpha / M)^(2 d), alpha = n^-3; or for one point."""
    return clamped(printed, 8 * D * log(3 * DIAMETER * N**3) if printed else 4 * log(2 * D / 0.1))


def kamath_b_8(printed, beta=0.05):
    """Groups: Appendix B.11, m = d log(d M n / beta)."""
    return clamped(printed, D * log(D * DIAMETER * N / beta), k=2.0, reach=1.0, moment=1.0)


def psi_limit(beta):
    """W20 equation (9) as a grows: the largest of the smoothed truncation."""
    return 2 * sqrt(2) / 3 * math.erf(sqrt(beta / 2))


def kamath_5_5(printed, q=0.75, variance=0.4, reach=1.0, moment=4.0):
    """Theorem 5.5 on CDPNSME (Algorithm 4)."""
    tau, beta = sqrt(sqrt(RHO) * N / (DIAMETER * D**q)), 1 / variance
    if not printed:
        tau = max(sqrt(moment) * tau, reach)
    move = 2 * psi_limit(beta) * tau * sqrt(D) / N
    error = (moment + reach**2) * (1 + 1 / beta) / (2 * tau) + tau / N * (beta / 2 + log(10))
    says = settled(
        printed,
        reach**2 * RHO * N**2 / (tau**2 * D**2),
        lambda t: sqrt(tau**2 * D / ((RHO / t) * N**2)),
        lambda t: move * sqrt(t / (2 * RHO)),
        lambda t: DIAMETER / (reach * sqrt(t)),
        reach=reach,
        bias=error,
        error=error,
    )
    spent = sqrt(says["n_steps"]) * move / says["noise"]
    return {**says, "scale": tau, "smoothing": beta, "mu": spent}


def contraction(a, b):
    """K22 Theorem 3.2, T22 Lemma 18."""
    return (a**2 + b**2 + a * b) / (a + b) ** 2


def repeated(error_of, most, a, b):
    """Steps until the error and their number agree: proof of K22 Theorem 3.2, and one at least."""
    steps = 1
    for _ in range(20):
        share = (a + b) ** 2 * error_of(steps, N // steps) ** 2
        count = log(share / (2 * a * b * (a + b) ** 2 - (a * b) ** 2))
        count /= 2 * log(contraction(a, b))
        found = min(1000, max(1, math.ceil(count)))
        if found == steps:
            break
        steps = found
    return min(most, steps)


def kamath_5_7(printed, a=1.0, b=3.0, k=2.0, moment=4.0, reach=1.0):
    """Theorem 5.7, and Lemma B.5 for the failure chance of a block."""

    def error(_, n):  # Corollary 4.2
        return sqrt(D / n) + sqrt(D) * (sqrt(D) / (sqrt(RHO) * n)) ** ((k - 1) / k)

    if printed:
        steps = whole(log((a + b) * error(1, N) / (a * b)) / log(contraction(a, b)))
        tau = (sqrt(RHO) * N / (sqrt(D) * steps**1.5)) ** (1 / k)
        ratio = sqrt(D) * steps**1.5 / (sqrt(RHO) * N)
        groups = 4 * log(2 * D / (steps * D / N + D * ratio ** ((2 * k - 2) / k)))
    else:
        groups, scale = 4 * log(2 * D / 0.1), moment ** (1 / k)
        most = N // (2 * math.ceil(groups))
        steps = repeated(lambda t, n: scale * error(t, n), most, a, b)
        tau = max(reach, scale * (sqrt(RHO) * N / (sqrt(D) * steps)) ** (1 / k))
    block, m = N // steps, even(groups)
    move = 3 * tau / (block // m) * sqrt(D)
    noise = move / sqrt(2 * RHO)
    if printed:
        noise = sqrt(72 * tau**2 * groups**2 * D / ((RHO / steps) * block**2))
    return {
        "threshold": tau,
        "n_groups": m,
        "n_steps": steps,
        "step_size": 1 / (a + b),
        "noise": noise,
        "mu": move / noise,
        "schedule": "disjoint",
        "iterate": "last",
    }


def kamath_mean(printed, pure=False, k=2.0, moment=4.0, chance=0.1):
    """Corollary 4.2 and Theorem 4.1: CDPCWME, DPCWME."""
    tau = (EPSILON * N / D if pure else sqrt(RHO) * N / sqrt(D)) ** (1 / k)
    if not printed:
        tau = max(moment ** (1 / k) * tau, 10 * moment ** (1 / k))
    groups = 4 * log(2 * D / chance)
    one = 3 * tau / (N // even(groups))
    says = {"threshold": tau, "groups": even(groups)}
    if pure:
        scale = 48 * tau * D * log(2 * D / chance) / (EPSILON * N) if printed else D * one / EPSILON
        return {**says, "noise": sqrt(2) * scale, "epsilon": D * one / scale}
    noise = sqrt(1152 * tau**2 * D * log(2 * D / chance) ** 2 / (RHO * N**2))
    if not printed:
        noise = one * sqrt(D / (2 * RHO))
    return {**says, "noise": noise, "mu": one * sqrt(D) / noise}


def kamath_soft(printed, tau=5.0, beta=1.0):
    """Algorithm 4: sigma^2 = tau^2 d / (rho n^2)."""
    move = 2 * psi_limit(beta) * tau * sqrt(D) / N
    noise = sqrt(tau**2 * D / (RHO * N**2)) if printed else move / sqrt(2 * RHO)
    return {"threshold": tau, "noise": noise, "mu": move / noise}


# Tao, Wu, Cheng and Wang 2022; v + 1 is the order.


def classic(epsilon, delta):
    """Lemma 3: noise over sensitivity."""
    return sqrt(2 * log(1.25 / delta)) / epsilon


def tao_6(printed, v=0.8, u=3.0, reach=1.0):
    """Theorem 6 on DPHDME; shares: Algorithm 2, line 3; groups: proof of Lemma 19."""
    tau = ((1.0 if printed else u) * EPSILON * N / D**1.5) ** (1 / (1 + v))
    groups = 4 * log(2 * D / 0.1)
    if printed:
        groups = 4 * log(2 * D) + 8 * D * log(DIAMETER * N ** (v / (1 + v)))
    m = even(groups)
    move = tau / (N // m) * sqrt(D)

    def said(t):  # Algorithm 3, line 12
        share, rest = EPSILON / (2 * sqrt(2 * t * log(2 / DELTA))), DELTA / (2 * t)
        return sqrt(8 * tau**2 * groups**2 * D * log(1.25 / rest) / (share * N) ** 2)

    bias = u / tau**v
    says = settled(
        printed,
        reach**2 * EPSILON**2 * N**2 / (tau**2 * D**4),
        said,
        lambda t: move * sqrt(t) / MU,
        lambda t: DIAMETER / (reach * sqrt(t)),
        reach=reach,
        bias=bias,
        error=math.hypot(bias, sqrt(tau ** (1 - v) * u / N)),
    )
    spent = sqrt(says["n_steps"]) * move / says["noise"]
    return {**says, "threshold": tau, "n_groups": m, "mu": spent, "iterate": "average"}


def tao_7(printed, v=1.0, u=2.0, a=1.0, b=2.0):
    """Theorem 7; tight thresholds are those of Corollary 1 on a block."""
    groups, order = 4 * log(2 * D / 0.1), 1 + v
    m = even(groups)

    def tight_tau(t):
        return (u * EPSILON * N / (sqrt(D) * t)) ** (1 / order)

    def error(t, n):
        tau = tight_tau(t)
        noise = tau / (n // m) * sqrt(D) / MU
        return sqrt(D) * math.hypot(u / tau**v, sqrt(tau ** (1 - v) * u / n), noise)

    if printed:
        cost = sqrt(D) / N ** (v / order) + D ** ((1 + 2 * v) / (2 * order)) / (EPSILON * N) ** (
            v / order
        )
        steps = whole(log((a + b) * u ** (1 / order) * cost / (a * b)) / log(contraction(a, b)))
        tau = (u * EPSILON * N / (D**1.5 * sqrt(steps))) ** (1 / order)
    else:
        steps = repeated(error, N // (2 * math.ceil(groups)), a, b)
        tau = tight_tau(steps)
    block = N // steps
    move = tau / (block // m) * sqrt(D)
    noise = 2 * tau * groups * sqrt(D) / block * classic(EPSILON, DELTA) if printed else move / MU
    return {
        "threshold": tau,
        "n_groups": m,
        "n_steps": steps,
        "step_size": 1 / (a + b),
        "noise": noise,
        "mu": move / noise,
        "schedule": "disjoint",
    }


def tao_10(printed, kept=3, count=20, b=2.0, epsilon=EPSILON, delta=DELTA):
    """Theorem 10 (B, eta_0), Algorithm 5 on blocks (lambda = 2 B eta_0 / m), Algorithm 4."""
    nats = count * log(D * count / 0.1) * sqrt(kept * log(1 / delta))
    threshold = sqrt(b * N * epsilon / nats)
    says = {"threshold": threshold, "n_steps": count, "step_size": 2 / (3 * b)}
    scale = 4 * 2 * threshold / (N // count) * sqrt(2 * kept * log(1 / delta)) / epsilon
    return {**says, "noise": sqrt(2) * scale} if printed else says


def tao_scalar(printed, v=0.5, u=2.0, chance=0.1):
    """Algorithm 1; tight thresholds balance u / B^v against the noise."""
    if printed:
        nats = log(1 / chance) * sqrt(log(1.25 / DELTA))
        cap = (u * N * EPSILON / nats) ** (1 / (1 + v))
        noise = sqrt(8 * cap**2 * log(1.25 / DELTA)) / (N * EPSILON)
    else:
        cap = (u * v * N * MU / 2) ** (1 / (1 + v))
        noise = 2 * cap / (N * MU)
    return {"threshold": cap, "groups": 1, "noise": noise, "mu": 2 * cap / (N * noise)}


def tao_mean(printed, v=0.5, u=2.0, chance=0.1):
    """Corollary 1 and Algorithm 3."""
    groups = 4 * log(2 * D / chance)
    one = sqrt(D) / (N // even(groups))
    tau = (u * EPSILON * N / sqrt(D) if printed else u * v * MU / one) ** (1 / (1 + v))
    noise = tau * one / MU
    if printed:
        noise = sqrt(8 * tau**2 * groups**2 * D * log(1.25 / DELTA) / (EPSILON * N) ** 2)
    return {"threshold": tau, "groups": even(groups), "noise": noise, "mu": tau * one / noise}


# Zhao and others 2024. Moment, diameter and smoothness are 1 in the text's clip norms and steps.

Z_RHO = (EPSILON / (1 + 2 * sqrt(log(1 / DELTA)))) ** 2  # (15)


def zhao_clip(rho, q, moment):
    """Equation (19)."""
    return moment * sqrt(D) * min((N * sqrt(rho) / sqrt(D)) ** (1 / q), (N / D) ** (1 / q))


def zhao_4(printed, q=3.0, m=2.0, b=1.5):
    """Theorem 4 and Lemma 4."""
    rho, scale = (Z_RHO, 1.0) if printed else (MU**2 / 2, m)
    clip = zhao_clip(rho, q, scale)
    count = rho * N**2 / (D * clip**2) * (1 if printed else (b * DIAMETER) ** 2)
    steps = whole(count, math.inf if printed else 1000)
    return {
        "clip_norm": clip,
        "n_steps": steps,
        "step_size": 1 / sqrt(2 * steps * b**2),
        "noise": sqrt(2 * clip**2 * steps / (rho * N**2)),
        "mu": sqrt(2 * rho),
        "iterate": "average",
    }


def zhao_24(groups, epsilon=EPSILON, delta=DELTA):
    """Equation (24)."""
    spread = (1 + 2 * sqrt(log(12 * groups / delta))) ** 2
    return epsilon**2 * groups / (64 * math.e**4 * log(8 / delta) * spread)


def zhao_7(printed, k=47, q=2.0, m=2.0, b=1.5):
    """Theorem 7: clip norm, steps; (32): shares; (23) and (24): noise; Lemma 8: eta = 1/4."""
    clip = (1 if printed else m) * sqrt(D) * (N * EPSILON / sqrt(D)) ** (1 / q)
    move, reach = 2 * clip / (N // k), b * DIAMETER
    centre = sqrt(math.pi / 2 / k)  # how noisy a centre of so many is

    def said(t):
        share, rest = EPSILON / (2 * sqrt(2 * t * log(2 / DELTA))), DELTA / (2 * t)
        return centre * sqrt(2 * clip**2 / (zhao_24(k, share, rest) * (N // k) ** 2))

    bias = cut(q) * D ** (q / 2) * m**q / clip ** (q - 1) / sqrt(D)
    says = settled(
        printed,
        N**2 * EPSILON**2 / (D * clip**2) * (1 if printed else reach**2),
        said,
        lambda t: centre * move * sqrt(t) / MU,
        lambda t: 1 / sqrt(2 * t * b**2),
        reach=reach,
        bias=bias,
        error=math.hypot(bias, m / sqrt(N)),
    )
    spent = sqrt(says["n_steps"]) * move * centre / says["noise"]
    return {**says, "clip_norm": clip, "n_groups": k, "level": 0.9, "mu": spent}


def zhao_clipped(printed, q=3.0, m=2.0):
    """Algorithm 2 and Lemma 4, with the budget of Theorem 3."""
    rho = Z_RHO if printed else MU**2 / 2
    clip = zhao_clip(rho, q, 1.0 if printed else m)
    return {"clip norm": clip, "noise": sqrt(2 * clip**2 / (rho * N**2)), "mu": sqrt(2 * rho)}


def zhao_iterative(printed, k=500, q=3.0, m=2.0):
    """Algorithm 3 with (24), and Theorem 7's clip norm; tight: as for a mean of all, (19)."""
    rho = zhao_24(k) if printed else MU**2 / 2
    clip = sqrt(D) * (N * EPSILON / sqrt(D)) ** (1 / q)
    if not printed:
        clip = zhao_clip(MU**2 / 2 / k, q, m)
    one = sqrt(2 * clip**2 / (rho * (N // k) ** 2))
    centre = sqrt(math.pi / 2 / k)
    return {"clip norm": clip, "groups": k, "noise": centre * one, "mu": sqrt(2 * rho)}
