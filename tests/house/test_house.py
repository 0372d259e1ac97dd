"""The house keeps its rules; and each rule, shown a breach, speaks up."""

from pathlib import Path

import pytest

from house import checkers
from house.checkers import Module

SOURCE = Path(__file__).parents[2] / "src"


def read(path):
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    stub = path.with_suffix(".pyi")
    words = stub.read_text() if stub.exists() else ""
    return Module(name.removesuffix(".__init__"), path.read_text(), path.stem == "__init__", words)


HOUSE = [read(path) for path in sorted((SOURCE / "tailguard").rglob("*.py"))]
# What breaks a rule of the house until it is rebuilt: the test tells when a line may go.
EXCEPTIONS = {
    "disguised_ladders": {
        *("tailguard.gate.plan", "tailguard.solvers.hard_thresholding"),
        "tailguard.solvers.session",
    },
    # Methods without privacy to compare with: they read records as they are.
    "wall": {"tailguard.papers.baselines"} & {m.name for m in HOUSE},
}
TESTS = "".join(f"    if isinstance(g, {name}):\n        return 1\n" for name in ("A", "B", "C"))
LADDER = f"from tailguard.privacy.a import A, B, C\ndef f(g):\n{TESTS}"
MEAN = """from tailguard.data.rows.base import Rows
class Mean:
    def run(self, gate, query):
"""
WHAT_TO_DO = {
    "arrows": "import from the floors below alone, which docs/architecture.md draws",
    "class_ladders": "ask it by a method that each class has",
    "constants": "say in a comment or a string beside it where the number comes from",
    "cycles": "move what both need to a module below them",
    "disguised_ladders": "ask it by a method that each class has",
    "double_words": "rename one of the two",
    "empty_inits": "move it to a module of the package",
    "examples": "show it at work under Examples in its docstring, after >>>",
    "kept_code": "compile by machine_code.compiled",
    "lengths": "cut it where an idea ends: 400 lines a file, 60 a function",
    "packages": "make one file of two that are one idea",
    "papers": "name author, year and theorem under Reference in the docstring",
    "randomness": "draw in noise/, from a source",
    "registries": "write the module and the class that are there",
    "rooms": "put it into one of the rooms of docs/architecture.md",
    "wall": "ask the gate; what reads records is a query",
    "wing": "ask tailguard.wing for it by its name there",
}
BREACHES = [
    ("arrows", "privacy.a", "from tailguard.gate import Gate"),
    ("arrows", "losses.a", "def f():\n    from ..sets import box"),
    ("arrows", "datasets.a", "from tailguard.privacy import gaussian"),
    ("arrows", "gate", "import tailguard"),
    ("wing", "cli.a", "def f():\n    from tailguard.papers import common"),
    ("wing", "planning", "import_module('tailguard.papers')"),
    ("cycles", "sets.a", "from tailguard.sets.a import Box"),
    ("wall", "solvers.a", "from tailguard.data.rows import arrays"),
    ("wall", "means.a", f"{MEAN}        return Rows"),
    ("wall", "means.a", f"{MEAN}        return query.answer(gate.rows, None, None)"),
    ("wall", "solvers.a", "def f(gate):\n    return gate._rows.n_rows"),
    ("wall", "estimators.a", "def f(self):\n    return self.gate._rows"),
    ("randomness", "solvers.a", "import numpy as np\nnp.random.default_rng()"),
    ("randomness", "data.a", "from os import urandom"),
    ("kept_code", "queries.a", "from numba import njit\n@njit(cache=True)\ndef f(): ..."),
    ("lengths", "sets.a", "def f():\n" + "    pass\n" * 60),
    ("lengths", "sets.a", "\n" * 401),
    ("empty_inits", "sets", "if True:\n    pass"),
    ("class_ladders", "solvers.a", "from tailguard.sets import Box\nisinstance(0, (int, Box))"),
    ("disguised_ladders", "solvers.a", "def f(p):\n    return p.loss.link is Link.LOG"),
    ("disguised_ladders", "solvers.a", "def f(p):\n    return 'log' != p.link.value"),
    ("disguised_ladders", "solvers.a", "def f(link):\n    return link in (LOG, LOGIT)"),
    ("disguised_ladders", "queries.a", "def f(s):\n    return type(s) is Box"),
    ("disguised_ladders", "planning", "def f(s):\n    return STEPS[type(s)]"),
    ("disguised_ladders", "means.a", "def f(loss):\n    return getattr(loss, 'p', 2)"),
    ("disguised_ladders", "solvers.a", "def f(p):\n    return hasattr(p.loss, 'slope')"),
    ("disguised_ladders", "solvers.a", "def f(stage):\n    return stage.startswith('rounds')"),
    ("disguised_ladders", "privacy.a", LADDER),
    ("constants", "sets.a", "A = 1\n\n# Of another.\nB = 2"),
    ("constants", "sets.a", "A, B = 0.5, -1.0  # fmt: skip"),
    ("examples", "sets.a", "class Box: ...\nSETS = {'box': \"tailguard.sets.a:Box\"}"),
    ("papers", "queries.a", '"""A good idea."""\nclass Mean(Query): ...'),
    ("registries", "sets.registry", 'SETS = {"box": "tailguard.sets.box:Box"}'),
]


@pytest.mark.parametrize(
    "rule", ["double_words", "packages", "rooms", *dict.fromkeys(rule for rule, _, _ in BREACHES)]
)
def test_the_house_keeps_the_rule(rule):
    assert len(HOUSE) > 5
    known, breaches = EXCEPTIONS.get(rule, set()), list(getattr(checkers, rule)(HOUSE))
    found = [words for words in breaches if words.split()[0] not in known]
    assert not found, f"{'; '.join(found)}: {WHAT_TO_DO[rule]}"
    outlived = known - {words.split()[0] for words in breaches}
    assert not outlived, f"{outlived} keep the rule: take them off the list"


def test_the_query_of_a_mean_may_read_records_and_its_base_too():
    base = "from tailguard.data.rows.base import Rows\nclass Base(GaussianQuery):\n    rows: Rows"
    query = "from tailguard.means.a import Base\nclass Asked(Base):\n    x = rows.reduce(loop)"
    line = 'QUERIES = {"b": "tailguard.means.b:Asked"}'
    files = [Module("tailguard.means.a", base), Module("tailguard.means.b", query)]
    registry = Module("tailguard.queries.registry", line)
    assert list(checkers.wall([registry, *files])) == []
    assert len(list(checkers.wall(files))) == 2


def test_a_word_of_two_senses_is_seen():
    files = [Module(f"tailguard.{room}.a", "class Claim: ...") for room in ("audit", "reproduce")]
    assert len(list(checkers.double_words(files))) == 1
    assert list(checkers.double_words(files[:1])) == []


def test_a_house_of_too_many_rooms_is_seen():
    rooms = [Module(f"tailguard.room{number}", "", package=True) for number in range(19)]
    assert len(list(checkers.rooms(rooms))) == 1
    assert list(checkers.rooms(rooms[1:])) == []


@pytest.mark.long
def test_tests_are_as_short_as_what_they_test():
    paths = sorted((SOURCE.parent / "tests").rglob("*.py"))
    files = [Module(str(path.relative_to(SOURCE.parent)), path.read_text()) for path in paths]
    found = list(checkers.lengths(files))
    assert len(paths) > 5
    assert not found, f"{'; '.join(found)}: {WHAT_TO_DO['lengths']}"


@pytest.mark.parametrize(("rule", "name", "text"), BREACHES)
def test_a_breach_is_seen(rule, name, text):
    breach = Module(f"tailguard.{name}", text, package="." not in name and rule == "empty_inits")
    assert len(list(getattr(checkers, rule)([breach]))) == 1


@pytest.mark.parametrize(
    ("text", "stub"),
    [("from .a import Box\n__all__ = ['Box']", ""), ("", "from .a import Box as Box")],
)
def test_what_a_package_exports_without_an_example_is_seen(text, stub):
    package = Module("tailguard.sets", text, package=True, stub=stub)
    boxes = Module("tailguard.sets.a", "class Box: ...\nclass Ball: ...")
    assert len(list(checkers.examples([package, boxes]))) == 1


def test_a_package_of_many_files_is_seen_unless_each_is_an_idea():
    files = [Module(f"tailguard.sets.a{number}", "") for number in range(checkers.MOST_FILES + 1)]
    registry = Module("tailguard.sets.registry", 'SETS = {"a0": "tailguard.sets.a0:A"}')
    assert len(list(checkers.packages(files))) == 1
    assert list(checkers.packages([*files, registry, Module("tailguard.sets", "", True)])) == []
