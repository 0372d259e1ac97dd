"""Seed faults in the trusted rooms, a fixed random order of them, and keep what came of each.

python -m mutation --reach         once: which tests reach what (needs coverage)
python -m mutation --count 300     go on to so many faults
python -m mutation --table         print what is known
"""

import argparse
import random
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from mutation.faults import faults_of
from mutation.reach import ROOMS, ROOT, SOURCE, TESTS, Reach, times, trusted_files
from mutation.report import survivors, table

KEPT = ROOT / "benchmarks/results/mutants.csv"
HARMLESS = ROOT / "benchmarks/results/mutants-harmless.csv"
"""Of faults that no test can or need see: why."""
LINES = ROOT / "benchmarks/results/lines"
ENOUGH_SECONDS = 10.0
"""Of tests that are tried on one fault."""


def main() -> int:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("--reach", nargs="*", metavar="TEST", help="of these tests, or of all")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--skip", type=int, default=0, help="so many at the beginning of the order")
    parser.add_argument("--only", default="", help="sources that begin so, such as privacy/")
    parser.add_argument(
        "--again", action="store_true", help="try survivors once more, but harmless ones"
    )
    asked = parser.parse_args()
    LINES.mkdir(parents=True, exist_ok=True)
    if asked.reach is not None:
        return reach(asked.reach or TESTS)
    if asked.table:
        n_faults = sum(len(faults_of(path.read_text())) for path in trusted_files())
        print(table(results(), n_faults, reasons()))
        print(survivors(results(), reasons()))
        return 0
    return run(asked.skip, asked.count, only=asked.only, again=asked.again)


def reach(tests) -> int:
    """Note which lines every test reaches."""
    from coverage import Coverage  # noqa: PLC0415 (nothing else needs it)

    rooms = [str(SOURCE / room) for room in ROOMS]
    coverage = Coverage(str(LINES / "reach.coverage"), source=rooms, config_file=False)
    coverage.load()
    coverage.start()
    plugin = Reach(coverage, LINES / "reach.json")
    code = pytest.main([*tests, "-q", "-p", "no:cacheprovider"], plugins=[plugin])
    coverage.stop()
    coverage.save()
    return int(code)


def in_order() -> list:
    """Return all faults in a random order of which any beginning is spread over all modules."""
    placed = []
    for path in trusted_files():
        name = path.relative_to(SOURCE).as_posix()
        generator = random.Random(f"faults of {name}")
        found = faults_of(path.read_text())
        generator.shuffle(found)
        begin = generator.random()
        placed += [
            ((rank + begin) / len(found), name, path, fault) for rank, fault in enumerate(found)
        ]
    return [(path, name, fault) for _, name, path, fault in sorted(placed, key=lambda p: p[:2])]


def results() -> dict[str, dict]:
    """Return what is known of faults whose source is as it was."""
    if not KEPT.exists():
        return {}
    rows = [line.split("\t") for line in KEPT.read_text().splitlines()[1:]]
    fields = KEPT.read_text().splitlines()[0].split("\t")
    found = [dict(zip(fields, row, strict=True)) for row in rows]
    states = {path.relative_to(SOURCE).as_posix(): state(path) for path in trusted_files()}
    return {each["fault"]: each for each in found if states.get(each["source"]) == each["state"]}


def reasons() -> dict[str, str]:
    """Return why faults that survive do no harm."""
    lines = HARMLESS.read_text().splitlines()[1:] if HARMLESS.exists() else []
    return dict(line.split("\t") for line in lines)


def state(path: Path) -> str:
    """Return a name for the content of a source."""
    return sha256(path.read_bytes()).hexdigest()[:12]


def tests_of(path: Path, fault, data, seconds: dict[str, float]) -> list[str]:
    """Return the tests that reach a fault, those of its source first, then the cheapest.

    Machine code notes no lines: what it may run is tried by all tests of its source.
    """
    lines = data.contexts_by_lineno(str(path))
    inside = range(fault.line, fault.last_line + 1) if fault.inside else lines
    names = named(lines, inside, seconds)
    if not names and "compiled(" in path.read_text():
        names = named(lines, lines, seconds)
    if not fault.inside:
        own = path.relative_to(ROOT / "src").with_suffix("").as_posix().replace("/", ".")
        names |= {name for name in seconds if f"[{own}]" in name}
    chosen, spent = [], 0.0
    own_file = f"/test_{path.stem}.py"
    for name in sorted(names, key=lambda name: (own_file not in name, seconds[name], name)):
        spent += seconds[name]
        if chosen and spent > ENOUGH_SECONDS:
            break
        chosen.append(name)
    return chosen


def named(lines, wanted, seconds: dict[str, float]) -> set[str]:
    """Return the tests that reach some of the wanted lines."""
    return {name for line in wanted for name in lines.get(line, ()) if name in seconds}


def run(skip: int, count: int, *, only: str, again: bool) -> int:
    """Try faults until so many of those that are not skipped are known."""
    from coverage import CoverageData  # noqa: PLC0415 (nothing else needs it)

    from mutation.trials import SURVIVED, Trials  # noqa: PLC0415 (needs pytest's insides)

    data = CoverageData(str(LINES / "reach.coverage"))
    data.read()
    seconds = times(LINES / "reach.json")

    def trials():
        known, harmless = results(), reasons()
        wanted = [each for each in in_order() if each[1].startswith(only)]
        for path, name, fault in wanted[skip : skip + count]:
            key = f"{name} {fault.key}"
            old = known.get(key)
            open_ = old and old["verdict"] == SURVIVED and key not in harmless
            if not open_ if again else old:
                continue
            verdict = yield path, fault, tests_of(path, fault, data, seconds)
            row = {
                "fault": key, "source": name, "state": state(path), "line": str(fault.line),
                "words": fault.words, "verdict": verdict,
            }  # fmt: skip
            known[key] = row
            ordered = sorted(known.values(), key=lambda each: (each["source"], each["fault"]))
            text = "\n".join("\t".join(each.values()) for each in ordered)
            KEPT.write_text("\t".join(row) + "\n" + text + "\n")
            said = (len(known), name, fault.line, fault.words, "->", verdict)
            print(*said, file=sys.stderr, flush=True)

    plugin = Trials(trials(), seconds)
    tests = [test for test in TESTS if any(name.startswith(test) for name in seconds)]
    return int(pytest.main([*tests, "-q", "-s", "-p", "no:cacheprovider"], plugins=[plugin]))


if __name__ == "__main__":
    sys.exit(main())
