"""Accuracy of the private means: every method in every cell, and clipping with a perfect radius.

    python benchmarks/bench_means.py [--quick] [--widths 1 10 100]

A cell is a distribution of the records, a number of columns, a guarantee, and whether a moment is
stated. The figure is the median l2 error over seeds, and its ratio to the best method of the cell.
Two lines are NON-PRIVATE: "oracle clip" is the clipped mean about a point one standard deviation
from the true mean (for the spikes, about zero), with Gaussian noise of the whole budget, or its
counterpart for pure DP; its radius minimises the median true error over the seeds, on a grid. "no
noise" is the mean of the records. The spike distribution is the hard instance of the lower bound at
this n, d and guarantee, in a random direction of its packing. Cells with pure guarantees are
separate.

A stated moment is the same for every method: a bound on ``E<u, x>^2``, for records whose mean is
one standard deviation long; "trimmed" accepts none and refuses. Named methods derive their
threshold from it; "auto" may ignore it, and then mostly has a smaller error than all of them. So
cells with a stated moment have a second ratio, "overall", to the best of these and of four methods
that run on the same records without the moment. Seeds determine noise and records: nothing here is
private, and no real records are involved.
"""

import argparse
import csv
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tailguard.checks import InputError
from tailguard.estimators.mean import mean
from tailguard.gate.plan import Problem
from tailguard.means.choice import MEANS, choose
from tailguard.moments import Moment
from tailguard.papers.instances.hard_instances import hard_means, pure_chance, zcdp_chance
from tailguard.privacy.guarantees import ApproxDP, PureDP

RESULTS = Path(__file__).parent / "results"
COMMAND = "python benchmarks/bench_means.py --widths"
N_ROWS, QUICK_N_ROWS = 100_000, 10_000
WIDTHS, QUICK_WIDTHS = (1, 10, 100), (1, 10)
EPSILONS, QUICK_EPSILONS = (0.1, 1.0), (1.0,)
# Seeds by width: the error of a single column varies most from seed to seed.
N_SEEDS, QUICK_SEEDS = {1: 20, 10: 10, 100: 5}, {1: 6, 10: 3}
DELTA = 1e-6
ORACLE, PLAIN, AUTO = "oracle clip", "no noise", "auto"
NOT_PRIVATE = (ORACLE, PLAIN)
RADII = np.geomspace(0.05, 500.0, 20)  # times the root of the number of columns
SHIFT = 3.0  # where the means lie: a method that knows nothing should not profit from zero
NEAR = 1.5
KEY = ("law", "d", "promise", "epsilon", "moment")
HEADER = (*KEY, "method", "error", "ratio", "overall", "refusal")
# Run without the moment as well; the other two are slow, and never the best by much.
RIVALS = ("clipped", "truncated", "soft", "trimmed")


def student(rng, n, d):
    return rng.standard_t(3.0, (n, d))


def pareto(rng, n, d):
    return rng.pareto(3.0, (n, d)) - 0.5


def lognormal(rng, n, d):
    return rng.lognormal(0.0, 1.0, (n, d)) - np.exp(0.5)


def gaussian(rng, n, d):
    return rng.standard_normal((n, d))


# Law -> how to draw, and the standard deviation of an entry.
LAWS = {
    "student-t(3)": (student, 3.0**0.5),
    "pareto(3)": (pareto, 0.75**0.5),
    "lognormal": (lognormal, ((np.e - 1.0) * np.e) ** 0.5),
    "gaussian": (gaussian, 1.0),
}
SPIKE = "spike"


def draw(law, n, d, promise, seed):
    """Records, their true mean, and ``E<u, x - mean>^2`` for the worst direction u."""
    rng = np.random.default_rng([seed, n, d])
    if law in LAWS:
        sample, std = LAWS[law]
        return sample(rng, n, d), np.zeros(d), std**2
    width = max(d, 2)  # a packing has two coordinates at least; of two, the larger is kept
    if isinstance(promise, PureDP):
        chance = pure_chance(n, width, epsilon=promise.epsilon)
    else:
        chance = zcdp_chance(n, width, rho=promise.gaussian_mu() ** 2 / 2.0)
    spike = hard_means(width, 1, chance=chance, moment_order=2.0, seed=seed)[0]
    kept = np.argsort(-spike.point)[:1] if d == 1 else np.arange(d)
    return spike.sample(n, seed=seed)[:, kept], spike.mean[kept], spike.directional_moment(2.0)


def oracle_errors(X, true_mean, centre, promise, seed):
    """Errors of clipping about a centre, one for each radius; NON-PRIVATE."""
    n, d = X.shape
    away, wanted = X - centre, true_mean - centre
    norms = np.linalg.norm(away, axis=1)
    rng = np.random.default_rng([7, seed])
    if isinstance(promise, PureDP):
        # Noise of density exp(-epsilon |z| / sensitivity): a gamma length, a uniform direction.
        direction = rng.standard_normal(d)
        noise = direction / np.linalg.norm(direction) * rng.gamma(d) / promise.epsilon
    else:
        noise = rng.standard_normal(d) / promise.gaussian_mu()
    errors = []
    for radius in RADII * np.sqrt(d):
        factors = radius / np.maximum(norms, radius)
        found = factors @ away / n + 2.0 * radius / n * noise
        errors.append(np.linalg.norm(found - wanted))
    return errors


def cells_of(task):
    """Lines of two cells that share their records: with and without a stated moment."""
    law, n, d, (kind, epsilon), n_seeds = task
    promise = PureDP(epsilon) if kind == "pure" else ApproxDP(epsilon, DELTA)
    errors = {stated: defaultdict(list) for stated in (False, True)}
    refusals, oracle, rivals = {False: {}, True: {}}, [], defaultdict(list)
    for seed in range(n_seeds):
        X, truth, variance = draw(law, n, d, promise, seed)
        near = 0.0 if law == SPIKE else np.sqrt(variance / d)
        oracle.append(oracle_errors(X, truth, -near * np.ones(d), promise, seed))
        plain = np.linalg.norm(X.mean(axis=0) - truth)
        for stated in (False, True):
            # Unstated, means lie SHIFT from 0 in all coordinates; stated, a standard deviation.
            shift = near if stated or law == SPIKE else SHIFT
            moment = None
            if stated:
                bound = variance * (1.0 if law == SPIKE else 2.0)
                moment = Moment(2.0, bound, kind="directional")
            errors[stated][PLAIN].append(plain)
            one_seed(X + shift, truth + shift, promise, moment, seed, errors[stated],
                     refusals[stated])  # fmt: skip
        one_seed(X + near, truth + near, promise, None, seed, rivals, {}, RIVALS)
    best = int(np.argmin(np.median(oracle, axis=0)))
    lines = []
    for stated, name in ((False, "none"), (True, "stated")):
        errors[stated][ORACLE] = [of_seed[best] for of_seed in oracle]
        beside = rivals if stated else {}
        lines += lines_of((law, d, kind, epsilon, name), errors[stated], refusals[stated], beside)
    return lines


def one_seed(X, truth, promise, moment, seed, errors, refusals, methods=(*MEANS, AUTO)):
    """Add the error, or the refusal, of every method."""
    for method in MEANS:
        if method not in methods:
            continue
        if method in refusals:
            continue
        try:
            found = mean(X, guarantee=promise, method=method, moment=moment, random_state=seed)
        except InputError as refusal:
            refusals[method] = str(refusal)
            continue
        errors[method].append(np.linalg.norm(found.value - truth))
    if AUTO not in methods:
        return
    plan = choose(AUTO, Problem(None, *X.shape, moment=moment), promise).plan
    if plan.problem.moment == moment:  # the same plan and seed, hence the same answer
        errors[AUTO].append(errors[plan.solver][-1])
    else:
        found = mean(X, guarantee=promise, moment=moment, random_state=seed)
        errors[AUTO].append(np.linalg.norm(found.value - truth))


def lines_of(key, errors, refusals, rivals):
    """One line a method, with its ratio to the best private one of the cell, and overall."""
    middle = {method: median(found) for method, found in errors.items() if found}
    private = [value for method, value in middle.items() if method not in (*NOT_PRIVATE, AUTO)]
    best = min(private)
    overall = min([best, *(median(found) for found in rivals.values())])
    for method in (*MEANS, AUTO, *NOT_PRIVATE):
        if method in refusals:
            yield (*key, method, "", "", "", refusals[method])
        else:
            error = middle[method]
            ratios = (f"{error / best:.3f}", f"{error / overall:.3f}")
            yield (*key, method, f"{error:.4g}", *ratios, "")


def auto_share(lines, column):
    """In how many cells "auto" is near the best, of how many, and the worst of them."""
    ratios = [(float(line[column] or "inf"), line[:4]) for line in lines if line[5] == AUTO]
    return sum(ratio <= NEAR for ratio, _ in ratios), len(ratios), max(ratios)


def summary(lines):
    """Sentences on how near "auto" is to the best, by name and overall."""
    text = []
    blocks = (
        ("no moment", ("none",), "ratio"),
        ("a stated moment, the best of those that take it", ("stated",), "ratio"),
        ("a stated moment, the best with and without it", ("stated",), "overall"),
        ("all, the best with and without a moment", ("none", "stated"), "overall"),
    )
    for title, wanted, column in blocks:
        chosen = [line for line in lines if line[4] in wanted]
        near, total, (worst, cell) = auto_share(chosen, HEADER.index(column))
        text.append(
            f"{title}: method='auto' within {NEAR} in {near} of {total} cells "
            f"({near / total:.0%}), at worst {worst:.2f} ({', '.join(map(str, cell))})"
        )
    return text


def markdown(lines, n, n_seeds, command):
    """The table: cells in rows, methods in columns, ratio to the best in parentheses."""
    cells = defaultdict(dict)
    for *key, method, error, ratio, overall, refusal in lines:
        both = f"{ratio[:4]}; {overall[:4]}" if (method, key[4]) == (AUTO, "stated") else ratio[:4]
        cells[tuple(key)][method] = "refused" if refusal else f"{float(error):.2g} ({both})"
    methods = (*MEANS, AUTO, *NOT_PRIVATE)
    text = [f"<!-- {command} -->", "", "# Private means", ""]
    seeds = ", ".join(f"{count} at d = {d}" for d, count in n_seeds.items())
    text += [f"Median l2 error at n = {n:,}, delta = {DELTA:g}, over seeds ({seeds});"]
    text += ["in parentheses its ratio to the best method by name in the cell, which takes the"]
    text += ["moment where one is stated; for auto, then, also to the best of these and of"]
    text += [f"{', '.join(RIVALS)} without the moment, on the same records."]
    text += ["NON-PRIVATE: the last two."]
    text += ["", *(f"* {sentence}" for sentence in summary(lines)), ""]
    text += ["| " + " | ".join((*KEY, *methods)) + " |"]
    text += ["|" + "---|" * (5 + len(methods))]
    for key, found in cells.items():
        text.append("| " + " | ".join((*map(str, key), *(found[m] for m in methods))) + " |")
    reasons = dict.fromkeys((line[5], line[-1]) for line in lines if line[-1])
    text += ["", "Refusals:", "", *(f"* {method}: {reason}" for method, reason in reasons)]
    return "\n".join(text) + "\n"


def plot(lines, path):
    """Ratios to the best: a panel for each promise and kind of knowledge, a dot for each cell."""
    panels = [("(e, d)", "none"), ("(e, d)", "stated"), ("pure", "none"), ("pure", "stated")]
    titles = {"none": "no moment", "stated": "stated moment"}
    methods = (*MEANS, AUTO, ORACLE)
    laws = (*LAWS, SPIKE)
    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "black")
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, 2, sharey=True)
    for axis, (promise, moment) in zip(axes.flat, panels, strict=True):
        for place, method in enumerate(methods):
            for i, law in enumerate(laws):
                ratios = [
                    min(max(float(line[7]), 0.1), 100.0)
                    for line in lines
                    if (line[0], line[2], line[4], line[5]) == (law, promise, moment, method)
                    and line[7]
                ]
                spots = place + (i - 2) * 0.13 + np.linspace(-0.03, 0.03, len(ratios))
                marker = "osD^v"[i]
                axis.plot(spots, ratios, marker, color=colours[i], markersize=4, alpha=0.8)
            if any(line[2] == promise for line in lines) and not any(
                line[7] and (line[2], line[4], line[5]) == (promise, moment, method)
                for line in lines
            ):
                axis.text(place, 2.0, "refused", rotation=90, ha="center", color="gray")
        axis.axhline(1.0, color="gray", linewidth=0.8)
        axis.axhline(NEAR, color="gray", linewidth=0.8, linestyle=":")
        axis.set(yscale="log", title=f"{'pure DP' if promise == 'pure' else 'approximate DP'}, "
                 f"{titles[moment]}", ylim=(0.08, 130.0))  # fmt: skip
        axis.set_xticks(range(len(methods)), methods, rotation=25)
        axis.set_xlim(-0.7, len(methods) - 0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("median error over that of the best")
    handles = [
        Line2D([], [], color=colours[i], marker="osD^v"[i], linestyle="", label=law)
        for i, law in enumerate(laws)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(laws))
    widths = ", ".join(map(str, sorted({line[1] for line in lines})))
    figure.suptitle(
        f"Every private mean in every cell: d in {{{widths}}}, epsilon in {{0.1, 1}}\n"
        "Dotted: 1.5 times the best by name; drawn at 0.1 or 100 where beyond",
        fontsize="medium",
    )
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--widths", nargs="*", type=int, choices=WIDTHS)
    asked = parser.parse_args()
    quick = asked.quick
    n, n_seeds = (QUICK_N_ROWS, QUICK_SEEDS) if quick else (N_ROWS, N_SEEDS)
    widths = asked.widths or (QUICK_WIDTHS if quick else WIDTHS)
    n_seeds = {d: n_seeds[d] for d in widths}
    promises = [*product(("(e, d)", "pure"), QUICK_EPSILONS if quick else EPSILONS)]
    order = product(widths, promises, (*LAWS, SPIKE))
    tasks = [(law, n, d, promise, n_seeds[d]) for d, promise, law in order]
    lines = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for found in pool.map(cells_of, tasks):
            lines += found
            for line in found:
                print(*line, flush=True)
            if not quick:
                write(lines, n, n_seeds)
    print("\n".join(summary(lines)))


def write(lines, n, n_seeds):
    """Write table, figures and plot of what has been measured so far."""
    RESULTS.mkdir(exist_ok=True)
    command = " ".join([COMMAND, *map(str, n_seeds)])
    with (RESULTS / "means.csv").open("w", newline="") as file:
        file.write(f"# {command}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(lines)
    (RESULTS / "means.md").write_text(markdown(lines, n, n_seeds, command))
    plot(lines, RESULTS / "means.png")


if __name__ == "__main__":
    main()
