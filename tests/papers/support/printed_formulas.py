"""What the texts say, every formula written down anew: of each theorem, for one set of sizes."""

import math

import tailguard as tg

EPSILON, DELTA, N, D, DIAMETER = 0.8, 1e-6, 50_000, 4, 2.0
RHO = 0.3
APPROX, ZCDP = tg.ApproxDP(EPSILON, DELTA), tg.ZCDP(RHO)
LATTICE = 1.5e-3  # noise that is sampled on a lattice pays for the rounding
log, sqrt = math.log, math.sqrt


def even(count):
    """The medians here are of evenly many groups: the next even number."""
    return 2 * math.ceil(count / 2.0)


def steps(count):
    """The texts' numbers of steps are not whole: the whole part, and at least 1."""
    return max(1, math.floor(count))


def kamath_5_2(k=3.0, reach=1.5):
    threshold = (sqrt(RHO) * N / (DIAMETER * D**1.5)) ** (1 / k)
    groups = 8 * D * log(3 * DIAMETER * N**3)  # beta = (alpha / M)^(2 d), alpha = n^-3
    count = steps(reach**2 * RHO * N**2 / (threshold**2 * D**4))
    return {
        "threshold": threshold,
        "n_groups": even(groups),
        "n_steps": count,
        "step_size": DIAMETER / (reach * sqrt(count)),
        "noise": sqrt(72 * threshold**2 * groups**2 * D * count / (RHO * N**2)),
    }


def kamath_b_8(chance=0.05):
    groups = D * log(D * DIAMETER * N / chance)
    threshold = (sqrt(RHO) * N / (DIAMETER * D**1.5)) ** (1 / 2)
    count = steps(RHO * N**2 / (threshold**2 * D**4))
    return {
        "threshold": threshold,
        "n_groups": even(groups),
        "n_steps": count,
        "noise": sqrt(72 * threshold**2 * groups**2 * D * count / (RHO * N**2)),
    }


def kamath_5_5(q=0.75):
    threshold = sqrt(sqrt(RHO) * N / (DIAMETER * D**q))
    count = steps(RHO * N**2 / (threshold**2 * D**2))
    return {
        "scale": threshold,
        "n_steps": count,
        "step_size": DIAMETER / sqrt(count),
        "noise": sqrt(threshold**2 * D * count / (RHO * N**2)),
    }


def kamath_5_7(a=1.0, b=3.0, k=2.0):
    rate = sqrt(D / N) + sqrt(D) * (sqrt(D) / (sqrt(RHO) * N)) ** ((k - 1) / k)
    shrink = (a**2 + b**2 + a * b) / (a + b) ** 2
    count = steps(log((a + b) * rate / (a * b)) / log(shrink))
    threshold = (sqrt(RHO) * N / (sqrt(D) * count**1.5)) ** (1 / k)
    ratio = sqrt(D) * count**1.5 / (sqrt(RHO) * N)
    chance = count * D / N + D * ratio ** ((2 * k - 2) / k)  # Lemma B.5
    groups = 4 * log(2 * D / chance)
    block = N // count
    return {
        "threshold": threshold,
        "n_groups": even(groups),
        "n_steps": count,
        "step_size": 1 / (a + b),
        "noise": sqrt(72 * threshold**2 * groups**2 * D / ((RHO / count) * block**2)),
    }


def tao_6(v=0.8, u=3.0, reach=1.0, n=N):
    threshold = (EPSILON * n / D**1.5) ** (1 / (1 + v))  # without u
    count = steps(reach**2 * EPSILON**2 * n**2 / (threshold**2 * D**4))
    share, rest = EPSILON / (2 * sqrt(2 * count * log(2 / DELTA))), DELTA / (2 * count)
    groups = 4 * log(2 * D) + 8 * D * log(DIAMETER * n ** (v / (1 + v)))
    return {
        "threshold": threshold,
        "n_groups": even(groups),
        "n_steps": count,
        "step_size": DIAMETER / (reach * sqrt(count)),
        "noise": sqrt(8 * threshold**2 * groups**2 * D * log(1.25 / rest) / (share * n) ** 2),
    }


def tao_7(v=1.0, u=2.0, a=1.0, b=2.0):
    rate = u ** (1 / (1 + v)) * sqrt(D) / N ** (v / (1 + v))
    rate += u ** (1 / (1 + v)) * D ** ((1 + 2 * v) / (2 + 2 * v)) / (EPSILON * N) ** (v / (1 + v))
    shrink = (a**2 + b**2 + a * b) / (a + b) ** 2
    count = steps(log((a + b) * rate / (a * b)) / log(shrink))
    threshold = (u * EPSILON * N / (D**1.5 * sqrt(count))) ** (1 / (1 + v))
    groups, block = 4 * log(2 * D / 0.1), N // count
    variance = 8 * threshold**2 * groups**2 * D * log(1.25 / DELTA) / (EPSILON * block) ** 2
    return {
        "threshold": threshold,
        "n_groups": even(groups),
        "n_steps": count,
        "step_size": 1 / (a + b),
        "noise": sqrt(variance),
    }


def textbook_rho(epsilon=EPSILON, delta=DELTA):
    """The zCDP whose conversion by Bun and Steinke is the promise."""
    return (sqrt(log(1 / delta) + epsilon) - sqrt(log(1 / delta))) ** 2


def wang_smoothed(n_steps, moment=5.0, chance=0.01):
    scale = sqrt(N * moment / (2 * log(1 / chance)))
    variance = 8 * moment * D * n_steps / (9 * log(1 / chance) * N * textbook_rho())
    return {
        "scale": scale,
        "smoothing": log(1 / chance),
        "n_steps": n_steps,
        "noise": sqrt(variance),
    }


def wang_7(a=1.0, b=2.0):
    return {**wang_smoothed(math.ceil(b / a * log(N))), "step_size": 1 / b}


def wang_8(b=1.0):
    count = round((DIAMETER * sqrt(N) * sqrt(textbook_rho()) / D) ** (2 / 3))
    return {**wang_smoothed(count), "step_size": 1 / b}


def wang_5(a=1.0, b=2.0):
    """Algorithm 3: the constants of every coordinate of every step, and 5 percent trimmed."""
    count = math.ceil(b / a * log(N))
    whole = sqrt(2 * log(1 / DELTA) + 2 * EPSILON) - sqrt(2 * log(1 / DELTA))
    each = whole / sqrt(D * count)
    return {
        "n_steps": count,
        "step_size": 1 / b,
        "low": -1.0,
        "high": 1.0,
        "smoothness": each**2 / 16,
        "shift": each / 4,
        "n_trimmed": N // 20,
    }


def wang_2(m=400):
    """Algorithm 1: overlapping subsets, and the constants of Nissim and others."""
    return {
        "smoothness": EPSILON / (4 * (D + log(2 / DELTA))),
        "shift": EPSILON / (5 * sqrt(2 * log(2 / DELTA))),
        "n_blocks": m,
        "overlap": sqrt(m),
        "layout": "overlapping",
    }


def tao_10(kept=3, count=20, v=1.0, u=1.0, b=2.0):
    """Algorithm 5 on blocks, and the peeling of Algorithm 4."""
    nats = count * log(D * count / 0.1) * sqrt(kept * log(1 / DELTA))
    threshold = (b * u * N * EPSILON / nats) ** (1 / (1 + v))
    move = 2 * threshold / (N // count)  # of the mean gradient; times the size of the step
    scale = 4 * move * sqrt(2 * kept * log(1 / DELTA)) / EPSILON
    return {
        "threshold": threshold,
        "n_steps": count,
        "step_size": 2 / (3 * b),
        "noise": sqrt(2) * scale,  # of Laplace
    }


def zhao_4(q=3.0, b=1.0):
    rho = (EPSILON / (1 + 2 * sqrt(log(1 / DELTA)))) ** 2
    clip = sqrt(D) * min((N * sqrt(rho) / sqrt(D)) ** (1 / q), (N / D) ** (1 / q))
    count = steps(rho * N**2 / (D * clip**2))
    return {
        "clip_norm": clip,
        "n_steps": count,
        "step_size": 1 / sqrt(2 * count * b**2),
        "noise": sqrt(2 * clip**2 * count / (rho * N**2)),
    }


def zhao_7(groups=50, q=2.0, b=0.01):
    clip = sqrt(D) * (N * EPSILON / sqrt(D)) ** (1 / q)
    count = steps(N**2 * EPSILON**2 / (D * clip**2))
    share, rest = EPSILON / (2 * sqrt(2 * count * log(2 / DELTA))), DELTA / (2 * count)
    spread = (1 + 2 * sqrt(log(12 * groups / rest))) ** 2
    rho = share**2 * groups / (64 * math.e**4 * log(8 / rest) * spread)
    one = sqrt(2 * clip**2 / (rho * (N / groups) ** 2))
    return {
        "clip_norm": clip,
        "n_groups": groups,
        "level": 0.9,
        "n_steps": count,
        "step_size": 1 / sqrt(2 * count * b**2),
        "noise": one * sqrt(math.pi / 2 / groups),  # of the centre of so many
        "coarse": 60.0,  # at a mu of 3e-6 a step, the lattice is as coarse as it gets
    }


def xu_reach(n, n_all):
    return EPSILON * n / sqrt(D * log(1 / DELTA) * log(n_all))


def xu_phases(n, n_all, eta, p, k, r, steep):
    """Clip norm, penalty, noise, steps, their size and the ball of every phase of Algorithm 3."""
    sizes = [n // 2**i for i in range(1, math.floor(math.log2(n)) + 1)]
    powers = [2 * p] + [p] * (len(sizes) - 1)
    phases = []
    for i, (size, power) in enumerate(zip(sizes, powers, strict=True), start=1):
        clip = r * xu_reach(size, n_all) ** (1 / k)
        penalty = 4**i / (eta * size**power)
        noise = 8 * clip * sqrt(log(1 / DELTA)) / (size * penalty * EPSILON)
        descent = math.ceil(size**power), eta / 4**i, 2 * steep / penalty
        phases.append((size, clip, penalty, noise, *descent))
    return phases


def xu_steepest(n, p, k, r):
    return n ** (p / 2) * r * (1 / sqrt(n) + xu_reach(n, n) ** (-(k - 1) / k))


def xu_1(p=1.0, k=2.0, r=2.0):
    steep = xu_steepest(N, p, k, r)
    eta = (
        DIAMETER
        / sqrt(N)
        * min(
            1 / steep,
            xu_reach(N, N) ** ((k - 1) / k) / (r * N ** ((p + 1) / 2)),
            1 / (N ** ((p - 1) / 2) * steep**2 * sqrt(log(N) * log(1 / DELTA))),
        )
    )
    return {"phases": xu_phases(N, N, eta, p, k, r, steep)}


def xu_rounds(sizes, radii, power, p=1.5, k=2.0, r=2.0, steep=50.0):
    phases = []
    for n, radius in zip(sizes, radii, strict=True):
        eta = (
            radius
            / n**power
            * min(
                1 / steep,
                (EPSILON * n / sqrt(D * log(N))) ** ((k - 1) / k) / (r * n ** ((p + 1) / 2)),
                1 / (n ** ((p - 1) / 2) * steep**2 * sqrt(log(n) * log(n))),
            )
        )
        phases += xu_phases(n, N, eta, p, k, r, steep)
    return {"phases": phases}


def xu_2(p=1.5):
    m = math.floor(0.5 * math.log2(2 * N / math.log2(N))) - 1
    return xu_rounds([N // m] * m, [DIAMETER / 2**i for i in range(m)], p / 2)


def xu_sizes(bound=2.0):
    """Rounds that double, by logarithms to base 2."""
    power = math.log(2) / math.log(bound)
    count = math.floor(power * math.log2(math.log2(N)))
    return [math.floor(2**i * N / math.log2(N) ** power) for i in range(count)]


def xu_3(p=1.5):
    sizes = xu_sizes()
    return xu_rounds(sizes, [DIAMETER / 2**i for i in range(len(sizes))], (p - 1) / 2)


def xu_steps(n, b=2.0, k=2.0, r=3.0**0.5):
    reach = EPSILON * n / sqrt(D * log(1 / DELTA))
    return steps(sqrt(b * DIAMETER / r) * min(reach ** ((k - 1) / (2 * k)), n**0.25))


def xu_6(k=2.0, r=3.0**0.5):
    count = xu_steps(N)
    clip = r * (EPSILON * N / sqrt(D * log(1 / DELTA))) ** (1 / k)
    return {
        "n_steps": count,
        "clip_norm": clip,
        "noise": clip * sqrt(count * log(1 / DELTA)) / (N * EPSILON),
    }


def xu_7(k=2.0, r=3.0**0.5):
    sizes = xu_sizes()
    clips = [r * (EPSILON * n / sqrt(D * log(1 / DELTA))) ** (1 / k) for n in sizes]
    count = xu_steps(sizes[0])
    first = clips[0] * sqrt(count * log(1 / DELTA)) / (sizes[0] * EPSILON)
    return {
        "phase_steps": tuple(map(xu_steps, sizes)),
        "phase_clip_norms": tuple(clips),
        "noise": first,
    }
