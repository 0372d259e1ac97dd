"""The tables: Markdown for readers, CSV for machines."""

import csv
from collections import Counter, defaultdict

from papers import support
from papers.methods import METHODS, PAPER

COLUMNS = ("task", "n", "d", "epsilon", "method", "calibration", "seeds", "median", "low", "high")
COLUMNS += ("noise_std", "predicted_excess", "error")


def write(folder, cells, compared, ratios, recoveries, *, command, notes):
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
            told = ["" if x is None else x for x in (c.noise, c.predicted, c.error)]
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
    counts = Counter(each.verdict for each in compared)
    told = (
        f"Same method, same sample, same draw of the noise up to its scale. Of {len(compared)} "
        f"comparisons tight noise is better in {counts['better']}, level in {counts['level']}, "
        f"worse in {counts['WORSE']} (Student's 95 % interval of the mean paired difference below, "
        "around or above zero). One in forty of the level ones would be called worse by chance."
    )
    by_method = defaultdict(Counter)
    for each in compared:
        by_method[each.method][each.verdict] += 1
    rows = [
        (method, *(str(count[verdict]) for verdict in ("better", "level", "WORSE")))
        for method, count in by_method.items()
    ]
    worse = [
        f"- worse: {each.task}, epsilon = {each.epsilon:g}, {each.method}: mean difference "
        f"{each.difference:.3g} [{each.interval[0]:.2g}, {each.interval[1]:.2g}], tight lower in "
        f"{each.n_better} of {each.n_seeds} seeds"
        for each in compared
        if each.verdict == "WORSE"
    ]
    parts = ["## Tight against printed noise", told]
    parts.append(table(("method", "better", "level", "worse"), rows))
    return [*parts, "\n".join(worse)] if worse else parts


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
