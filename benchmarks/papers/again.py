"""What is worse by itself, run again on other seeds.

Ten seeds are ten draws of noise, which cells of the same records share: what a draw does to one of
them it does to all. Other seeds tell what is worse from what was drawn so.
"""

from accuracy.lines import append, read, short
from papers.cells import comparisons, gather
from papers.methods import METHODS, fit
from papers.runner import blank, draw, key

SEEDS = range(1000, 1200)


def look(tasks, worse, path, *, run=True):
    """Run those comparisons on other seeds, or only read what was run; return the comparisons."""
    if run:
        path.parent.mkdir(parents=True, exist_ok=True)
        done = {key(line) for line in read(path)}
        with path.open("a") as out:
            for each in worse:
                append(out, _lines(tasks, each, done))
    wanted = {(each.task, each.epsilon, each.method) for each in worse}
    lines = [
        line for line in read(path) if (line["task"], line["epsilon"], line["method"]) in wanted
    ]
    return comparisons(gather(lines))


def _lines(tasks, each, done):
    task = next((task for task in tasks if task.name == each.task), None)
    if task is None:  # its file is not there
        return []
    method = next(method for method in METHODS if method.key == each.method)
    lines = []
    for seed in SEEDS:
        X, y = draw(task, seed)
        for calibration in method.calibrations():
            line = blank(task, each.epsilon, each.method, calibration, seed)
            if key(line) not in done:
                found = fit(task, method, calibration, each.epsilon, X, y, seed)
                lines.append(line | {"excess": [short(task.excess(found.weights))]})
    return lines
