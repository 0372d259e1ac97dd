"""What the texts of Wang and Xu say of their rows, typed anew, with equations beside them.

Printed numbers are the texts' own; tight ones have exact sensitivities and composition instead.
"""

import math

from papers.support.texts import (
    DELTA,
    DIAMETER,
    EPSILON,
    MU,
    RHO,
    D,
    N,
    exact_mu,
    log,
    psi_limit,
    sqrt,
    whole,
)

# Wang, Xiao, Devadas and Xu 2020.


def textbook_rho(epsilon=EPSILON, delta=DELTA):
    """The zCDP whose conversion by Bun and Steinke is the promise (Theorem 3)."""
    return (sqrt(log(1 / delta) + epsilon) - sqrt(log(1 / delta))) ** 2


def wang_soft(printed, n_steps, *, v=5.0, chance=0.01):
    """Algorithm 4: s of Lemma 3, beta and sigma of lines 1 and 3; sensitivity of (12)."""
    scale, beta = sqrt(N * v / (2 * log(1 / chance))), log(1 / chance)
    move = 2 * scale * psi_limit(beta) * sqrt(D) / N
    noise = move * sqrt(n_steps) / MU
    if printed:
        noise = sqrt(8 * v * D * n_steps / (9 * log(1 / chance) * N * textbook_rho()))
    says = {"scale": scale, "smoothing": beta, "n_steps": n_steps, "noise": noise}
    return {**says, "mu": move * sqrt(n_steps) / noise, "iterate": "last"}


def wang_7(printed, a=1.0, b=2.0):
    """Theorem 7: T = (beta / alpha) log n, eta = 1 / beta."""
    return {**wang_soft(printed, math.ceil(b / a * log(N))), "step_size": 1 / b}


def wang_8(printed, b=1.0):
    """Theorem 8: T = (|w0 - w*| sqrt(n) sqrt(rho) / d)^(2/3)."""
    rho = textbook_rho() if printed else MU**2 / 2
    count = round((DIAMETER * sqrt(N) * sqrt(rho) / D) ** (2 / 3))
    return {**wang_soft(printed, count), "step_size": 1 / b}


def wang_mean(printed, v=5.0, chance=0.01):
    """Theorem 6; the tight scale counts one standard deviation of the noise."""
    says = wang_soft(printed, 1, v=v, chance=chance)
    if printed:
        return {"threshold": says["scale"], "noise": says["noise"], "mu": says["mu"]}
    nats = log(1 / chance)
    spread = 1.5 * nats + 2 * psi_limit(nats) * sqrt(D) / MU
    scale = sqrt(N * v * (1 + 1 / nats) / (2 * spread))
    return {"threshold": scale, "noise": 2 * scale * psi_limit(nats) * sqrt(D) / (N * MU), "mu": MU}


def wang_batches(v=5.0, chance=0.01, rows=1000):
    """Section 6 and Appendix C: Algorithm 4 on batches, steps of 1 / sqrt(t), all averaged."""
    scale, beta = sqrt(rows * v / (2 * log(1 / chance))), log(1 / chance)
    noise = 2 * scale * psi_limit(beta) * sqrt(D) / rows / sqrt(2 * RHO)
    says = {"scale": scale, "smoothing": beta, "n_steps": N // rows, "step_size": 1.0}
    return {**says, "decay": "root", "iterate": "average", "noise": noise}


def wang_trimmed(printed, n_numbers, rho=None):
    """Algorithm 2: t = eps^2 / 16 and s = eps / 4 of each number; m = 0.05 n (Appendix C)."""
    whole_epsilon = sqrt(2 * log(1 / DELTA) + 2 * EPSILON) - sqrt(2 * log(1 / DELTA))
    each = (whole_epsilon if rho is None else sqrt(2 * rho)) / sqrt(n_numbers)
    return {"smoothness": each**2 / 16, "shift": each / 4, "n_trimmed": N // 20}


def wang_2(printed, m=400):
    """Algorithm 1, line 1: s, gamma and beta of overlapping subsets."""
    says = {"n_blocks": m}
    if not printed:
        return says | {"overlap": 1, "layout": "disjoint"}
    smoothness = EPSILON / (4 * (D + log(2 / DELTA)))
    shift = EPSILON / (5 * sqrt(2 * log(2 / DELTA)))
    says |= {"overlap": sqrt(m), "layout": "overlapping"}
    return says | {"smoothness": smoothness, "shift": shift}


# Xu, Ding, Xiang, Xu and Wang 2025. The norm has a moment r^(2k) of order 2k; p of Theorem 1.


def xu_reach(n, whole=N):
    """The base of C_i in Algorithm 3, line 6, whose n is that of its call: of a round."""
    return EPSILON * n / sqrt(D * log(1 / DELTA) * log(whole))


def xu_steepest(p, k, r):
    """The largest Lipschitz constant that Theorem 1 admits."""
    return N ** (p / 2) * r * (1 / sqrt(N) + xu_reach(N) ** (-(k - 1) / k))


def xu_phases(n, eta, steep, p, k, r):
    """Algorithm 3, lines 3, 6 and 7: sizes, clip norm, penalty, noise, T_i, eta_i and D_i."""
    phases = []
    for i in range(1, math.floor(math.log2(n)) + 1):
        size, power = n // 2**i, 2 * p if i == 1 else p
        clip, step = r * xu_reach(size, n) ** (1 / k), eta / 4**i
        penalty = 1 / (step * size**power)
        noise = 8 * clip * sqrt(log(1 / DELTA)) / (size * penalty * EPSILON)
        steps = math.ceil(1 / (penalty * step) * (1 - 1e-12))
        phases.append((size, clip, penalty, noise, steps, step, 2 * steep / penalty))
    return phases


def xu_eta(n, base, nats, power, distance, steep, p, k, r):
    """The eta of a round: proof of Theorem 10, Algorithm 4, line 3, Algorithm 5, line 3."""
    private = base ** ((k - 1) / k) / (r * n ** ((p + 1) / 2))
    last = 1 / (n ** ((p - 1) / 2) * steep**2 * sqrt(log(n) * nats))
    return distance / n**power * min(1 / steep, private, last)


def xu_1(printed, p=1.0, k=2.0, r=2.0):
    if not printed:
        return xu_practical([N], N, [DIAMETER])
    steep = xu_steepest(p, k, r)
    eta = xu_eta(N, xu_reach(N), log(1 / DELTA), 1 / 2, DIAMETER, steep, p, k, r)
    return {"phases": xu_phases(N, eta, steep, p, k, r)}


def xu_rounds(sizes, power, p=1.5, k=2.0, r=2.0, steep=50.0):
    """Rounds of Algorithms 4 and 5 in halved radii; beta = 1 / n_i."""
    phases = []
    for i, n in enumerate(sizes):
        base = EPSILON * n / sqrt(D * log(N))
        eta = xu_eta(n, base, log(n), power, DIAMETER / 2**i, steep, p, k, r)
        phases += xu_phases(n, eta, steep, p, k, r)
    return {"phases": phases}


def xu_2(printed, p=1.5):
    """Algorithm 4, line 1."""
    m = math.floor(0.5 * math.log2(2 * N / math.log2(N))) - 1
    if not printed:
        sizes = [N // m] * (m - 1) + [N - (m - 1) * (N // m)]
        return xu_practical(sizes, N // m, [DIAMETER / 2**i for i in range(m)])
    return xu_rounds([N // m] * m, p / 2)


def xu_sizes(printed, bound=2.0):
    """Algorithm 5, line 1, by logarithms to base 2; tight: all records."""
    power = log(2) / log(bound)
    count = math.floor(power * math.log2(math.log2(N)))
    if printed:
        return [math.floor(2**i * N / math.log2(N) ** power) for i in range(count)]
    sizes = [2**i * N // (2**count - 1) for i in range(count - 1)]
    return [*sizes, N - sum(sizes)]


def xu_3(printed, p=1.5):
    if not printed:
        sizes = xu_sizes(False)
        return xu_practical(sizes, sizes[-1], [DIAMETER] * len(sizes))
    return xu_rounds(xu_sizes(True), (p - 1) / 2, steep=1.0)


def xu_practical(sizes, told, radii, k=2.0, r=2.0):
    """Ours: one clip norm, halves of 32 records or more, the eta of least predicted risk."""
    phases, clip = [], r * (told * MU / sqrt(D)) ** (1 / k)
    for n, radius in zip(sizes, radii, strict=True):
        variance = 2 * r**2 / 3 + 16 * D * clip**2 / (MU**2 * n)
        eta = 2 * min(2 * radius, DIAMETER) / sqrt(n * variance)
        halves = [n // 2**i for i in range(2, 40) if n // 2**i >= 32]
        for i, size in enumerate([n - sum(halves), *halves], start=1):
            phases.append((size, clip, 4**i / (eta * size)))
    return {"phases": phases, "mu": MU}


def xu_steps(n, b=2.0, k=2.0, r=3.0**0.5):
    """Theorem 6."""
    reach = EPSILON * n / sqrt(D * log(1 / DELTA))
    return whole(sqrt(b * DIAMETER / r) * min(reach ** ((k - 1) / (2 * k)), n**0.25))


def xu_clip(printed, n, k=2.0, r=3.0**0.5):
    """Algorithm 6, line 6; tight: the exact mu for epsilon / sqrt(log(1/delta))."""
    share = EPSILON / sqrt(log(1 / DELTA)) if printed else MU
    return r * (n * share / sqrt(D)) ** (1 / k)


def xu_batch_noise(printed, n, clip):
    """Algorithm 6, line 6, its constant 1; tight: disjoint batches."""
    steps = xu_steps(n)
    if printed:
        return clip * sqrt(steps * log(1 / DELTA)) / (n * EPSILON)
    return 2 * clip / (n // steps) / exact_mu()


def xu_6(printed):
    clip = xu_clip(printed, N)
    noise = xu_batch_noise(printed, N, clip)
    return {"n_steps": xu_steps(N), "clip_norm": clip, "noise": noise, "lag": 1}


def xu_7(printed):
    """Algorithm 7: alpha_t = 2 / (t + 2), where Algorithm 6 needs 2 / (t + 1)."""
    sizes = xu_sizes(printed)
    clips = [xu_clip(printed, n) for n in sizes]
    return {
        "sizes": sizes,
        "phase_steps": [xu_steps(n) for n in sizes],
        "phase_clip_norms": clips,
        "noise": xu_batch_noise(printed, sizes[0], clips[0]),
        "lag": 2 if printed else 1,
    }
