"""Whatever was measured names the command that measures it again: ``make numbers``.

``PUBLISHED`` lists the pages, the results that they quote and the command that measures these anew,
which the page must name.
"""

import re

import pytest

from docs.test_numbers import REPRODUCED, ROOT, text

RESULTS = "benchmarks/results"
PUBLISHED = [
    ("docs/install.md", "benchmarks/results/install_size.json", "make install-size"),
    ("docs/statement-of-need.md", "benchmarks/results/peer_facts.json", "make peer-facts"),
    (
        "docs/statement-of-need.md",
        "benchmarks/accuracy/results/accuracy.csv",
        "make bench-accuracy",
    ),
    ("README.md", "benchmarks/accuracy/results/tables.csv", "docs/accuracy.md"),
    ("docs/accuracy.md", "benchmarks/accuracy/results/tables.csv", "python -m accuracy.picture"),
    ("docs/accuracy.md", "benchmarks/accuracy/results/summary.csv", "make bench-accuracy"),
    ("docs/accuracy.md", "benchmarks/accuracy/results/accuracy.md", "make bench-accuracy"),
    ("docs/accuracy.md", "benchmarks/accuracy/results/plug_and_play.csv", "accuracy.plug_and_play"),
    ("docs/accuracy.md", f"{RESULTS}/intervals.json", "python benchmarks/bench_intervals.py"),
    ("docs/accuracy.md", f"{RESULTS}/bounded_slopes.json", "bench_bounded_slopes.py --data"),
    ("docs/accuracy.md", f"{RESULTS}/declared.json", f"--schema --out {RESULTS}/declared.json"),
    ("docs/accuracy.md", f"{RESULTS}/permuted.json", f"--permuted --out {RESULTS}/permuted.json"),
    ("docs/accuracy.md", f"{RESULTS}/rivals.json", "python benchmarks/bench_rivals.py"),
    ("docs/accuracy.md", f"{RESULTS}/exposures.csv", "python benchmarks/bench_exposures.py"),
    ("docs/accuracy.md", f"{RESULTS}/stated_noise.json", "benchmarks/bench_stated_noise.py"),
    ("docs/accuracy.md", f"{RESULTS}/scores.json", "python benchmarks/bench_score.py"),
    ("docs/accuracy.md", f"{RESULTS}/fit_cost.json", "python benchmarks/bench_fit_cost.py"),
    ("docs/default-stages.md", f"{RESULTS}/classes.csv", "python benchmarks/bench_classes.py"),
    ("docs/default-stages.md", f"{RESULTS}/class_tables.csv", "`--out benchmarks/results/class_"),
    ("docs/default-stages.md", f"{RESULTS}/glm.csv", "python benchmarks/bench_glm.py"),
    ("docs/default-stages.md", f"{RESULTS}/ridge.csv", "benchmarks/bench_glm.py --ridge"),
    ("docs/how-much-budget.md", f"{RESULTS}/useful_rows.json", "benchmarks/bench_useful_rows.py"),
    ("docs/audits.md", f"{RESULTS}/mutants.csv", "make mutants"),
    ("docs/audits.md", f"{RESULTS}/mutants.md", "make mutants"),
    ("docs/audits.md", f"{RESULTS}/mutants-harmless.csv", "make mutants"),
    ("docs/reproduce.md", f"{RESULTS}/means.csv", "make bench-means"),
    ("docs/reproduce.md", f"{RESULTS}/means.md", "make bench-means"),
    ("docs/reproduce.md", f"{RESULTS}/mean_intervals.json", "bench_mean_intervals.py --seeds 3"),
    ("docs/persons.md", f"{RESULTS}/persons.json", "python benchmarks/bench_persons.py"),
    ("docs/accuracy.md", f"{RESULTS}/person_tables.json", "bench_persons.py --tables"),
    ("docs/one-ledger.md", f"{RESULTS}/one_ledger.json", "bench_persons.py --described"),
    ("docs/reproduce.md", f"{REPRODUCED}/ranking.csv", "tailguard reproduce ranking"),
    ("docs/papers.md", f"{RESULTS}/coinpress.md", "python benchmarks/bench_coinpress.py"),
    ("docs/papers.md", f"{RESULTS}/population.md", "benchmarks/bench_after.py population"),
    ("docs/papers.md", f"{RESULTS}/pure.md", "python benchmarks/bench_after.py pure"),
    ("docs/papers.md", f"{RESULTS}/polytope.md", "python benchmarks/bench_after.py polytope"),
    ("docs/accuracy.md", f"{RESULTS}/describe.csv", "benchmarks/bench_describe.py"),
    ("docs/accuracy.md", f"{RESULTS}/describe_errors.csv", "benchmarks/bench_describe.py"),
    ("docs/accuracy.md", f"{RESULTS}/describe_intervals.csv", "benchmarks/bench_describe.py"),
    ("docs/accuracy.md", f"{RESULTS}/describe_cost.json", "benchmarks/bench_describe.py"),
    ("docs/accuracy.md", f"{RESULTS}/describe_laws.csv", "python benchmarks/bench_laws.py"),
]


@pytest.mark.parametrize(("page", "results", "command"), PUBLISHED)
def test_a_page_names_the_command_that_measures_its_numbers_anew(page, results, command):
    assert (ROOT / results).exists()
    assert command in text(page)


def test_every_kept_result_has_a_page_and_a_command():
    folders = (ROOT / RESULTS, ROOT / "benchmarks/accuracy/results")
    kept = {file.relative_to(ROOT).as_posix() for folder in folders for file in folder.glob("*.*")}
    named = {results for _, results, _ in PUBLISHED}
    # Pictures stand beside their numbers; what oracles chose is input of the next run.
    assert {file for file in kept - named if not file.endswith((".png", ".gz"))} == set()


# Words of a section that tells what was measured, and how a command that does so is named.
MEASURED = re.compile(r"\b(seeds|simulated|real tables|of the processor|CPU|peers)\b")
FIGURE = re.compile(r"\d\.\d|\.\d\d|\d %|\d%|\b\d+ of \d+\b")
COMMAND = re.compile(
    r"`(make|python|PYTHONPATH=\w+ python|tailguard)\s[^`]+`|results/[\w/]+\.\w+|accuracy\.md#\w+"
)
NOT_MEASURED = {"docs/reproduce.md: How a claim is decided"}  # its figures are levels of tests


def sections(page):
    """Yield the headings of a page and what stands below each, without blocks of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for section in re.split(r"^#{1,3} ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        yield heading, body


def unnamed(heading, body):
    """The paragraphs of a section that tell of measured figures, where it names no command."""
    told = [part for part in body.split("\n\n") if MEASURED.search(part) and FIGURE.search(part)]
    return [] if COMMAND.search(body) else [f"{heading}: {part[:60]}" for part in told]


def test_every_section_that_tells_what_was_measured_names_the_command():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
    pages = [page for page in pages if not {"_build", "gallery", "reference"} & {*page.parts}]
    assert len(pages) > 60
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        for heading, body in sections(page):
            if f"{name}: {heading}" not in NOT_MEASURED:
                assert unnamed(heading, body) == [], name


def test_a_measured_figure_without_a_command_is_seen():
    said = "On nine real tables 97 % hold."
    assert unnamed("Intervals", said) == [f"Intervals: {said}"]
    assert unnamed("Intervals", f"{said}\n\n`python benchmarks/bench_intervals.py`") == []
    assert unnamed("Intervals", "Ten percent, 10 %, of the budget.") == []
