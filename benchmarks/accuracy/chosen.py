"""What the table needs of all lines, small enough to be kept beside it.

A line of a grid holds hundreds of settings, of which the table needs the one that was chosen. These
are kept in ``results/chosen.jsonl.gz``, with the seeds' excess of every other method. Whoever runs
tailguard on one suite is given a table that compares it, and has the other suites as they were
measured. Lines of tailguard name the state of the library that was fitted; a suite is of one run,
so a new run of tailguard on it replaces all that was kept of the old one.
"""

import gzip
import json
from collections import defaultdict

from accuracy.cells import OURS, RIVAL, choose, choose_elsewhere

FILE = "chosen.jsonl.gz"
LEFT_OUT = ("grid", "setting", "paired", "seconds")  # of a line of many settings


def reduce(lines):
    """Keep of every method's lines the setting that was chosen over all seeds of a cell."""
    groups = defaultdict(list)
    for line in lines:
        if "error" not in line:
            groups[_cell_of(line)].append(line)
    kept = []
    for group in groups.values():
        last = {line["seed"]: line for line in group if line.get("grid") == group[-1].get("grid")}
        excess, elsewhere = choose(group), choose_elsewhere(group)
        paired = choose(group, "paired") if all("paired" in line for line in group) else None
        for place, seed in enumerate(sorted(last)):
            line = {key: value for key, value in last[seed].items() if key not in LEFT_OUT}
            line["excess"] = [_finite(excess[place])]
            if elsewhere is not None and line["method"] == RIVAL:
                line["elsewhere"] = _finite(elsewhere[place])
            if paired is not None:
                line["paired"] = [_finite(paired[place])]
            kept.append(line)
    return kept


def fill(lines, kept):
    """Add ours of suites in which it was not run, then peers to its tasks and budgets."""
    run = {line["suite"] for line in lines if line["method"] == OURS}
    lines = lines + [one for one in kept if one["method"] == OURS and one["suite"] not in run]
    done = {_cell_of(line) for line in lines}
    budgets = {cell[:-1] for cell in done}
    budgets |= {(*cell[:-2], None) for cell in done}  # non-private fits have none
    missing = [one for one in kept if one["method"] != OURS and _cell_of(one) not in done]
    return lines + [line for line in missing if _cell_of(line)[:-1] in budgets]


def read(folder):
    """Read what was kept in a folder; nothing where there is no file."""
    path = folder / FILE
    if not path.exists():
        return []
    return [json.loads(text) for text in gzip.decompress(path.read_bytes()).splitlines()]


def write(folder, lines):
    """Keep the choices of these filled lines, and what was kept of peers in other cells."""
    fresh = reduce(lines)
    done = {_cell_of(line) for line in fresh}
    kept = [one for one in read(folder) if one["method"] != OURS and _cell_of(one) not in done]
    text = "".join(json.dumps(line) + "\n" for line in [*kept, *fresh])
    (folder / FILE).write_bytes(gzip.compress(text.encode(), mtime=0))


def _cell_of(line):
    """Of which task, at which budget, by which method; families name their tasks alike."""
    return line["suite"], line["task"], line["n"], line["epsilon"], line["method"]


def _finite(value):
    """JSON has no infinity, so it is null, as in lines."""
    return float(value) if abs(value) < float("inf") else None
