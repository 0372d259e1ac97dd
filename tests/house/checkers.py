"""The house rules as functions: modules in, complaints out. Standard library only."""

import ast
import io
import re
import tokenize
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

LEVELS = {
    **{"version": 0, "array_types": 0, "printable": 0, "lazy_names": 0, "wing": 0},
    **{"checks": 1, "quiet": 1, "machine_code": 1, "progress": 1},
    **{"privacy": 2, "sets": 2, "losses": 2, "moments": 2, "noise": 3, "ledger": 3},
    **{"report": 3, "data": 4},
    **{"queries": 5, "gate": 6, "scaling": 7, "means": 8, "solvers": 9, "summaries": 9},
    **{"estimators": 10},
    **{"datasets": 10, "planning": 11, "audit": 11, "cli": 12, "papers": 13, "__main__": 14},
}
LEANS_ONLY_ON = {"datasets": {"array_types", "checks"}}
# What never meets a record, and where records, loops over them and noise are.
BEHIND_THE_WALL = {"scaling", "solvers", "means", "summaries", "estimators", "planning", "papers"}
PLANS = ("gate.engine", "gate.plan", "gate.stage")
PAST_THE_WALL = ("data.rows", "noise")
READS = {"answer", "reduce", "sum_block"}  # what a gate asks of a query, and a query of records
MOST_ROOMS = 18
DRAWS = re.compile(r"(random|secrets|numpy\.random|os\.urandom)(\.|$)|.*\.rvs$")
PAPER = re.compile(r"[A-Z][\w'-]+,? (et al\.?,? )?\(?(1[89]|20)\d\d\b")
ASKS_THE_CLASS = BEHIND_THE_WALL | {"queries", "gate"}
SIMULATES = ("tailguard.noise", "tailguard.datasets", "tailguard.papers.instances")
TELLING = re.compile(r"(\w+\.)*link(\.name|\.value|\(.*\))?")  # one that answers by its members
TOLD_BY_CLASS = {"loss", "constraint", "solver", "query"}  # what should answer by its methods
# Their proofs cover exact classes, and no others.
REFUSES_CLASSES = {
    *("tailguard.queries.admission", "tailguard.queries.certified_descent"),
    "tailguard.gate.described",
}
FEWEST_TESTS, MOST_FILES = 3, 12  # of one name in a function; in a package
FUNCTION, BRANDED = (ast.FunctionDef, ast.AsyncFunctionDef), r"tailguard\.(losses|sets|solvers)\b"


@dataclass(frozen=True)
class Module:
    name: str
    text: str
    package: bool = False
    stub: str = ""  # of a package that imports when it is asked

    @cached_property
    def tree(self):
        return ast.parse(self.text)

    @cached_property
    def nodes(self):
        """Those of the tree, from above: walking it once takes longer than most rules."""
        return [*ast.walk(self.tree)]

    @property
    def room(self):
        return f"{self.name}..".split(".")[1]

    @cached_property
    def imports(self):
        """Local name -> full dotted name, for every import anywhere in the file."""
        found = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found |= {alias.asname or alias.name: alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                parts = self.name.split(".")
                above = parts[: len(parts) - node.level + self.package] if node.level else []
                base = ".".join([*above, *filter(None, [node.module])])
                found |= {a.asname or a.name: f"{base}.{a.name}" for a in node.names}
        return found

    @cached_property
    def exports(self):
        """Full names behind those that a package lists, or that its stub imports."""
        if self.stub:
            return {*Module(self.name, self.stub, package=True).imports.values()}
        listed = re.search(r"^__all__ = (\[.*?\])", self.text, re.M | re.S)
        names = ast.literal_eval(listed[1]) if listed else []
        return {self.imports[name] for name in names if name in self.imports}

    @cached_property
    def rooms_used(self):
        names = [full.split(".") for full in self.imports.values()]
        return {parts[1] if parts[1:] else "" for parts in names if parts[0] == "tailguard"}

    @cached_property
    def definitions(self):
        return {n.name: n for n in self.tree.body if isinstance(n, (*FUNCTION, ast.ClassDef))}

    def dotted(self, node):
        """The full name behind ``np.random.normal`` and the like; empty if not imported."""
        if isinstance(node, ast.Attribute):
            return f"{self.dotted(node.value)}.{node.attr}"
        return self.imports.get(node.id, "") if isinstance(node, ast.Name) else ""


def arrows(modules):
    for m in modules:
        for room in m.rooms_used - {m.room} if m.room else ():
            down = LEVELS.get(room, 99 if room else 10) < LEVELS.get(m.room, -1)
            if not down or room not in LEANS_ONLY_ON.get(m.room, {room}):
                yield f"{m.name} leans on {room or 'the whole package'}"


def wing(modules):
    """The core works without the papers: one module names them, and loads them when asked."""
    for m in modules:
        if m.room in {"papers", "wing"}:
            continue
        named = {n.value for n in m.nodes if isinstance(n, ast.Constant)} - {m.text}
        imported = {full for full in m.imports.values() if full.startswith("tailguard.papers")}
        if words := sorted(imported | (named & {"tailguard.papers"})):
            yield f"{m.name} names the wing: {', '.join(words)}"


def cycles(modules):
    names, graph = {m.name for m in modules}, {}
    for m in modules:
        graph[m.name] = {f if f in names else f.rpartition(".")[0] for f in m.imports.values()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield "cycle: " + " -> ".join(error.args[1])


def wall(modules):
    """No method reads records: rooms behind the wall import neither these nor loops nor noise.

    A file of a mean holds its query as well. There classes with a proof alone, the queries that the
    gate admits and their loops, use what lies past the wall; and nobody else asks for an answer.
    """
    proved = proofs(modules)
    for m in modules:
        if m.room in BEHIND_THE_WALL or within(m.name.removeprefix("tailguard."), PLANS):
            names = {k: full.removeprefix("tailguard.") for k, full in m.imports.items()}
            past = {k: full for k, full in names.items() if within(full, PAST_THE_WALL)}
            methods = [n for n in m.tree.body if f"{m.name}:{getattr(n, 'name', '')}" not in proved]
            nodes = [node for each in methods for node in ast.walk(each)]
            if m.room == "means":
                used = {node.id for node in nodes if isinstance(node, ast.Name)}
                past = {k: full for k, full in past.items() if k in used}
            seen = {*past.values(), *filter(None, map(reading, nodes)), *insides(nodes)}
            if seen:
                yield f"{m.name} reaches past the wall to {', '.join(sorted(seen))}"


def reading(node):
    """A call that reads records: of a query for its answer, of rows for a sum."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        whose, name = ast.unparse(node.func.value), node.func.attr
        return f"{whose}.{name}()" if name in READS and whose != "self" else ""
    return ""


def insides(nodes):
    """Private attributes of others than itself and models: those of a gate hold the records."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr):
            whose = ast.unparse(node.value)
            if not re.match(r"(self|cls|super\(\)|model|fitted|best_model|each)$", whose):
                yield ast.unparse(node)


def proofs(modules):
    """Classes with a proof, as ``"module:Class"``: registered queries and their bases."""
    asked = [m for m in modules if m.name == "tailguard.queries.registry"]
    found = {place for m in asked for place in re.findall(r'"(tailguard[\w.]*:\w+)"', m.text)}
    for m in (m for m in modules if m.room == "means"):
        for name, node in m.definitions.items():
            if f"{m.name}:{name}" in found:
                bases = (m.imports.get(ast.unparse(base), "") for base in node.bases)
                found |= {":".join(full.rsplit(".", 1)) for full in bases}
    return found


def within(name, rooms):
    """Whether a module is one of these rooms, or in one of them."""
    return any(f"{name}.".startswith(f"{room}.") for room in rooms)


def rooms(modules):
    """Folders right under the package: as many as one keeps in mind."""
    found = {m.room for m in modules if m.package and m.room}
    if len(found) > MOST_ROOMS:
        yield f"tailguard has {len(found)} rooms: {sorted(found)}"


def randomness(modules):
    for m in modules:
        used = {*m.imports.values(), *(m.dotted(node) for node in m.nodes)}
        if not m.name.startswith(SIMULATES) and (drawn := list(filter(DRAWS.match, used))):
            yield f"{m.name} may not draw: {drawn}"


def kept_code(modules):
    """Machine code is kept in one place, which follows all of its sources."""
    for m in modules:
        for node in m.nodes if m.room != "machine_code" else ():
            if isinstance(node, ast.keyword) and node.arg == "cache":
                yield f"{m.name} keeps machine code on line {node.lineno}"


def lengths(modules):
    for m in modules:
        if (n_lines := m.text.count("\n")) > 400:
            yield f"{m.name} has {n_lines} lines"
        for node in m.nodes:
            if isinstance(node, FUNCTION):
                words = str(ast.get_docstring(node)).count("\n")  # the docstring is free
                if (n_lines := node.end_lineno - node.lineno + 1 - words) > 60:
                    yield f"{m.name}.{node.name} has {n_lines} lines"


def empty_inits(modules):
    for m in modules:
        for node in m.tree.body if m.package else ():
            words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            bound = ast.walk(node.targets[0]) if isinstance(node, ast.Assign) else ()
            bound = [each.id for each in bound if isinstance(each, ast.Name)]
            names = bound and all(name.startswith("__") for name in bound)
            if not (words or names or isinstance(node, ast.Import | ast.ImportFrom)):
                yield f"{m.name}/__init__.py implements something on line {node.lineno}"


def class_ladders(modules):
    for m in modules:
        for node in m.nodes if m.room in {"solvers", "estimators"} else ():
            asked = [node.cls] if isinstance(node, ast.MatchClass) else []
            if isinstance(node, ast.Call) and "isinstance" in ast.unparse(node.func):
                asked = list(ast.walk(node.args[1]))
            if any(re.match(BRANDED, m.dotted(part)) for part in asked):
                yield f"{m.name} line {node.lineno} asks for the class of a loss, set or solver"


def double_words(modules):
    """A public class that is called as one of another module is."""
    first = {}
    for m in modules:
        for node in m.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                other = first.setdefault(node.name, m.name)
                if other != m.name:
                    yield f"{m.name} has a {node.name}, as {other} has"


def disguised_ladders(modules):
    """A choice by class that does not say ``isinstance``, or says it again and again."""
    for m in [m for m in modules if m.name not in REFUSES_CLASSES]:
        for line, words in sorted({*disguises(m), *long_ladders(m)}):
            yield f"{m.name} line {line} chooses by class: {words}"


def disguises(m):
    """Line and source of ``type(x) is``, ``hasattr(x, "p")``, of words for classes, of prefixes."""
    for node in m.nodes if m.room in ASKS_THE_CLASS else ():
        parts = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            if any(TELLING.fullmatch(ast.unparse(part)) for part in parts):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Subscript):
            parts = [node.slice]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"hasattr", "getattr"}:
            asked, name = (ast.unparse(argument) for argument in node.args[:2])
            if asked.rpartition(".")[2] in TOLD_BY_CLASS and name[:1] in "'":
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("stage.startswith"):
            yield node.lineno, ast.unparse(node)
        for part in parts:
            if isinstance(part, ast.Call) and ast.unparse(part.func) == "type":
                yield node.lineno, ast.unparse(node)


def long_ladders(m):
    """Line and name of what a function asks for three of our classes, one by one."""
    for function in (node for node in m.nodes if isinstance(node, FUNCTION)):
        calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and len(n.args) == 2]
        calls = [n for n in calls if ast.unparse(n.func) == "isinstance"]
        ours = m.definitions.keys() | {n for n, f in m.imports.items() if f[:9] == "tailguard"}
        asked = [
            (ast.unparse(n.args[0]), {*re.findall(r"\w+", ast.unparse(n.args[1]))}) for n in calls
        ]
        tests = [name for name, classes in asked if classes & ours]
        for name in sorted({name for name in tests if tests.count(name) >= FEWEST_TESTS}):
            yield function.lineno, f"isinstance({name}, ...) {tests.count(name)} times"


def packages(modules):
    """No package of more files than one keeps in mind, beside those that a registry lists."""
    listed = {name for m in modules for name in re.findall(r'"(tailguard[\w.]*):\w+"', m.text)}
    counted = [m for m in modules if not m.package and m.name not in listed]
    files = Counter(m.name.rpartition(".")[0] for m in counted if not m.name.endswith(".registry"))
    for name, count in sorted(files.items()):
        if count > MOST_FILES:
            yield f"{name} has {count} files"


def constants(modules):
    """Beside a number that has a name stands where it comes from: a comment or a string."""
    for m in modules:
        lines = m.text.split("\n")
        words = {n.lineno for n in m.tree.body if isinstance(n, ast.Expr)} | comment_lines(m.text)
        for node in m.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and (name := number_named(node)):
                first, last = node.lineno, node.end_lineno
                while first > 1 and lines[first - 2].strip():
                    first -= 1
                while last < len(lines) and lines[last].strip():
                    last += 1
                if not words & set(range(first, last + 1)):
                    yield f"{m.name}.{name} says nothing of where it comes from"


def comment_lines(text):
    """Lines with a comment for people."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    return {c.start[0] for c in comments if not re.match("# (fmt|type|noqa|ruff):", c.string)}


def number_named(node):
    """The upper-case name of a constant with a number in it, if it is one."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    values = [n.value for n in ast.walk(node.value or node) if isinstance(n, ast.Constant)]
    numbers = [value for value in values if type(value) in (int, float)]
    return ", ".join(n for n in names if n.isupper()) if numbers else ""


def public_names(modules):
    """Full names of what a package exports, or a registry lists."""
    listed = {
        f"{place}.{name}"
        for m in modules
        for place, name in re.findall(r'"(tailguard[\w.]*):(\w+)"', m.text)
    }
    return listed.union(*(m.exports for m in modules if m.package))


def examples(modules):
    """Every public function and class shows itself at work; an exception has nothing to show."""
    public = public_names(modules)
    for m in modules:
        for name, node in m.definitions.items():
            asked = f"{m.name}.{name}" in public and not name.endswith("Error")
            if asked and ">>> " not in str(ast.get_docstring(node)):
                yield f"{m.name}.{name} has no runnable example"


def papers(modules):
    for m in modules:
        kind = re.search(
            r"\.(queries|solvers|means|papers|accountants)\.(?!base$|registry$|reproduce|kernels)",
            m.name,
        )
        doer = re.search(r"def (calibrate|plan|compose)\(|^class \w+\(", m.text, re.M)
        if kind and doer and not PAPER.search(str(ast.get_docstring(m.tree))):
            yield f"{m.name} names no paper"


def registries(modules):
    defined = {f"{m.name}:{name}" for m in modules for name in m.definitions}
    for m in modules:
        if m.name.endswith(".registry"):
            entries = set(re.findall(r'"(tailguard[\w.]*:\w+)"', m.text))
            if not entries or entries - defined:
                yield f"{m.name} lists nothing, or what does not exist: {entries - defined}"
