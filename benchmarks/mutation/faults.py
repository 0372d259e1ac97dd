"""All faults that are seeded in a source: what each exchanges, and where.

Reference
---------
DeMillo, Lipton and Sayward 1978 (mutants); Offutt, Lee, Rothermel, Untch and Zapf 1996 (operators
that suffice: relations, arithmetic, logic, constants, statements).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

__all__ = ["Fault", "faults_of", "seeded"]

RELATIONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
OPPOSITES = ("min max", "up down", "floor ceil", "any all", "minimum maximum", "sf cdf")
CALLS = {one: other for pair in OPPOSITES for one, other in (pair.split(), pair.split()[::-1])}
SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.Add: "+",
    ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.FloorDiv: "//", ast.Mod: "%",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One exchange: the ``turn``-th of its source, at a line, in a function or at the top.

    ``inside`` is the qualified name of the innermost function whose body has it, and ``top`` the
    line of the ``def`` of the outermost one; they are empty and 0 for what runs at import.
    """

    turn: int
    line: int
    last_line: int
    inside: str
    top: int
    words: str
    key: str


def faults_of(source: str) -> list[Fault]:
    """Return all faults of a source, in the order in which they stand."""
    lines = source.splitlines()
    found, seen = [], {}
    for turn, (node, inside, top, words, _) in enumerate(_exchanges(ast.parse(source))):
        # The same exchange on the same text keeps its name when lines move.
        named = f"{inside} {lines[node.lineno - 1].strip()} {words}"
        seen[named] = seen.get(named, 0) + 1
        key = sha256(f"{named} {seen[named]}".encode()).hexdigest()[:12]
        last = node.end_lineno or node.lineno
        found.append(Fault(turn, node.lineno, last, inside, top, words, key))
    return found


def seeded(source: str, fault: Fault) -> ast.Module:
    """Return the source with a fault, as a tree whose lines are those of the source."""
    tree = ast.parse(source)
    for turn, (*_, exchange) in enumerate(_exchanges(tree)):
        if turn == fault.turn:
            exchange()
            return ast.fix_missing_locations(tree)
    raise LookupError(fault)


def _exchanges(tree):
    """Yield node, function, its line, words and what makes the exchange, for every fault."""
    for node, holder, inside, top in _walk(tree, None, "", 0):
        for words, exchange in _at(node, holder):
            yield node, inside, top, words, exchange


def _walk(node, holder, inside, top):
    """Yield all parts but docstrings, types, names of exports and texts."""
    yield node, holder, inside, top
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params"):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node.targets[0]):
            continue
        if isinstance(node, ast.JoinedStr) or _is_alias(node):
            continue
        within, first = inside, top
        if isinstance(node, ast.FunctionDef) and name == "body":
            within, first = f"{inside}.{node.name}".lstrip("."), top or node.lineno
        for index, part in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(part, ast.AST):
                place = (node, name, index if isinstance(value, list) else None)
                yield from _walk(part, place, within, first)


def _is_alias(node):
    return isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)


def _at(node, holder) -> Iterator:
    """Yield words and exchange for every fault at a node."""
    if isinstance(node, ast.Compare):
        for index, sign in enumerate(node.ops):
            other = RELATIONS[type(sign)]
            yield _said(type(sign), other), _set_item(node.ops, index, other())
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        if not (isinstance(node, ast.BinOp) and _is_text(node.left)):
            other = ARITHMETIC[type(node.op)]
            yield _said(type(node.op), other), _set(node, "op", other())
    elif isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} -> {other.__name__}".lower(), _set(node, "op", other())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        sign = "not" if isinstance(node.op, ast.Not) else "-"
        yield f"without {sign}", _put(holder, node.operand)
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node, holder)
    elif isinstance(node, ast.Name | ast.Attribute):
        field = "id" if isinstance(node, ast.Name) else "attr"
        name = getattr(node, field)
        if name in CALLS and isinstance(holder[0], ast.Call) and holder[1] == "func":
            yield f"{name} -> {CALLS[name]}", _set(node, field, CALLS[name])
    elif isinstance(node, ast.Raise) or _is_call(node):
        yield f"without: {ast.unparse(node).splitlines()[0]}"[:60], _put(holder, ast.Pass())
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(
        node.test, ast.Compare | ast.BoolOp | ast.UnaryOp
    ):
        test = ast.UnaryOp(ast.Not(), node.test)
        yield "not the condition", _set(node, "test", test)


def _of_constant(node, holder):
    value = node.value
    if isinstance(value, bool):
        yield f"{value} -> {not value}", _set(node, "value", not value)
    elif isinstance(value, int):
        yield f"{value} -> {value + 1}", _set(node, "value", value + 1)
    elif isinstance(value, float):
        other = 1.0 if value == 0.0 else 2.0 * value
        yield f"{value:g} -> {other:g}", _set(node, "value", other)


def _is_call(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _is_text(node):
    return isinstance(node, ast.JoinedStr | ast.Constant) and not isinstance(
        getattr(node, "value", ""), int | float
    )


def _said(one, other):
    return f"{SIGNS[one]} -> {SIGNS[other]}"


def _set(node, field, value):
    return lambda: setattr(node, field, value)


def _set_item(parts, index, value):
    return lambda: parts.__setitem__(index, value)


def _put(holder, new):
    """Put a part in the place of another one."""
    node, name, index = holder
    if index is None:
        return _set(node, name, new)
    return _set_item(getattr(node, name), index, new)
