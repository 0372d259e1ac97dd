"""The tables: Markdown for readers, CSV for machines."""

import csv
from collections import Counter, defaultdict

from papers import support
from papers.methods import METHODS, PAPER

COLUMNS = ("task", "n", "d", "epsilon", "method", "calibration", "seeds", "median", "low", "high")
COLUMNS += ("noise_std", "bound", "error")


def write(folder, cells, compared, ratios, recoveries, *, command, notes, again=()):
    """Write ``papers.md`` and ``papers.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(folder / "papers.csv", cells)
    parts = [
        "# The papers' methods on the papers' tasks",
        f"Written by `{command}`; what it means is in "
        "[docs/papers-experiments.md](../../docs/papers-experiments.md). Excess risk: median over "
        "seeds [95 % bootstrap interval of the median; with two or three seeds their range].",
        *notes,
        *_risk_tables(cells),
        *_comparison(compared),
        *_again(again),
        *_ratio_table(ratios),
        *_support_table(recoveries),
        *_left_out(cells),
    ]
    (folder / "papers.md").write_text("\n\n".join(parts) + "\n")


def _write_csv(path, cells):
    with path.open("w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(COLUMNS)
        for c in cells:
            numbers = [f"{x:.6g}" for x in (c.median, *c.interval)] if c.excess else [""] * 3
            told = ["" if x is None else x for x in (c.noise, c.bound, c.error)]
            facts = (c.task, c.n_rows, c.n_features, c.epsilon, c.method, c.calibration)
            rows.writerow([*facts, len(c.excess), *numbers, *told])


def table(head, rows):
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _risk_tables(cells):
    by_task = defaultdict(list)
    for cell in cells:
        by_task[cell.task].append(cell)
    for task, own in by_task.items():
        first = own[0]
        epsilons = sorted({cell.epsilon for cell in own})
        rows = defaultdict(dict)
        for cell in own:
            rows[cell.method, cell.calibration][cell.epsilon] = cell
        seeds = sorted({len(cell.excess) for cell in own if cell.excess})
        counted = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"
        yield f"## {task} (n = {first.n_rows:,}, d = {first.n_features}, seeds: {counted})"
        yield table(
            ("method", "noise", *(f"epsilon = {eps:g}" for eps in epsilons)),
            [
                (*name, *(_shown(found.get(eps)) for eps in epsilons))
                for name, found in rows.items()
            ],
        )


def _shown(cell):
    if cell is None:
        return ""
    if not cell.excess:
        return "refused"
    low, high = cell.interval
    return f"{cell.median:.3g} [{low:.2g}, {high:.2g}]"


def _comparison(compared):
    if not compared:
        return []
    own = Counter(each.verdict for each in compared)
    joint = Counter(each.joint_verdict for each in compared)
    told = (
        "Same method, same sample; the same draw of the noise, up to its scale, where steps and "
        f"radius agree, another elsewhere. Of {len(compared)} comparisons tight noise is better in "
        f"{own['better']}, level in {own['level']}, worse in "
        f"{own['WORSE']}, each by itself (Student's 95 % interval of the mean paired difference "
        "below, around or above zero). By themselves one in forty of those that are level in truth "
        "would be called worse by chance, and not one at a time: they share seeds. Of all together "
        f"(Holm's step-down, 5 % for any error at all) it is better in {joint['better']}, level in "
        f"{joint['level']}, worse in {joint['WORSE']}."
    )
    by_method = defaultdict(Counter)
    for each in compared:
        by_method[each.method][each.verdict] += 1
        by_method[each.method]["joint", each.joint_verdict] += 1
    shown = ("better", "level", "WORSE", ("joint", "better"), ("joint", "WORSE"))
    rows = [(name, *(str(count[key]) for key in shown)) for name, count in by_method.items()]
    worse = [
        f"- worse: {each.task}, epsilon = {each.epsilon:g}, {each.method}: mean difference "
        f"{each.difference:.3g} [{each.interval[0]:.2g}, {each.interval[1]:.2g}], tight lower in "
        f"{each.n_better} of {each.n_seeds} seeds, chance {each.chance:.2g}; "
        f"{'worse' if each.stands else 'level'} among all"
        for each in compared
        if each.verdict == "WORSE"
    ]
    parts = ["## Tight against printed noise", told]
    head = ("method", "better", "level", "worse", "better among all", "worse among all")
    parts.append(table(head, rows))
    return [*parts, "\n".join(worse)] if worse else parts


def _again(again):
    """What is worse by itself, on other seeds."""
    if not again:
        return []
    rows = [
        (
            each.task,
            f"{each.epsilon:g}",
            each.method,
            f"{each.difference:.2g} [{each.interval[0]:.2g}, {each.interval[1]:.2g}]",
            f"{each.n_better} of {each.n_seeds}",
            each.verdict.lower(),
        )
        for each in again
    ]
    head = ("task", "epsilon", "method", "mean difference", "tight lower in", "verdict")
    told = "What is worse by itself above, and nothing else, run again on seeds from 1000 on."
    return ["### The same on other seeds", told, table(head, rows)]


def _ratio_table(ratios):
    if not ratios:
        return []
    rows = [
        (r.task, f"{r.epsilon:g}", r.method, f"{r.predicted:.4g}", f"{r.measured:.4g}")
        for r in ratios
    ]
    return [
        "## Printed noise over tight noise",
        "Measured on records of zeros, where nothing but noise moves the weights.",
        table(("task", "epsilon", "method", "predicted", "measured"), rows),
    ]


def _support_table(recoveries):
    if not recoveries:
        return []
    by_method = defaultdict(list)
    for each in recoveries:
        by_method[each.method].append(each)
    rows = [
        (
            method,
            f"{sum(each.exact for each in found)} of {len(found)}",
            ", ".join(str(each.found) for each in found),
        )
        for method, found in by_method.items()
    ]
    seeds = sorted({each.seed for each in recoveries})
    return [
        "## Support recovery",
        f"Student-t({support.TAIL:g}) columns and noise, n = {support.N_ROWS:,}, "
        f"d = {support.N_FEATURES:,}, {support.N_NONZERO} weights of 1 and -1, "
        f"epsilon = {support.EPSILON:g}, delta = {support.DELTA:g}, seeds {seeds[0]} to "
        f"{seeds[-1]}.",
        table(("method", "exact", f"found of {support.N_NONZERO}, by seed"), rows),
    ]


def _left_out(cells):
    """Why a method has no printed noise, and what was refused."""
    lines = [f"- {m.key}, {PAPER} noise: {m.unprinted}." for m in METHODS if m.unprinted]
    refused = {}
    for cell in cells:
        if cell.error:
            where = f"{cell.task}, epsilon = {cell.epsilon:g}"
            refused.setdefault((cell.method, cell.error), []).append(where)
    lines += [
        f"- {method} ({'; '.join(where)}): {error}" for (method, error), where in refused.items()
    ]
    return ["## What is not run, and why", "\n".join(lines)]
