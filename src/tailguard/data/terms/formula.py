"""Convert a formula to the ``target`` and ``terms`` of a schema.

formulaic parses the formula and evaluates nothing. Transforms that would learn from records, such
as levels or a mean, are refused.
"""

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tailguard.checks import InputError, shown
from tailguard.data.declarations import declared_for
from tailguard.data.schema import Schema
from tailguard.data.terms.functions import FUNCTIONS, number_text
from tailguard.data.terms.term import Factor, term_of, unquoted

LEARNED = {"center", "scale", "standardize", "poly", "cr", "cs", "cc", "te", "bs", "hashed", "lag"}
"""Transforms of other packages that learn from all records."""

MOST_FACTORS = 5
"""The largest power of terms, as in ``(a + b)**2``: formulaic writes out all products."""

DEGREES = {1: "linear", 3: "spline"}
"""Degree of B-splines -> the name of the function."""


def with_formula(schema: Schema, formula: Any, columns: Sequence[str]) -> Schema:
    """Return a schema with the target and the terms of a formula, for a table of these columns.

    Declarations of other columns are dropped.

    Examples
    --------
    >>> declared = with_formula(Schema(), "cost ~ log(age) + C(sex, levels=['f', 'm'])", [])
    >>> declared.target, declared.terms, declared.levels
    ('cost', ('log(age)', 'sex'), {'sex': ('f', 'm')})
    """
    other_roles = {*schema.drop, schema.exposure, schema.offset, schema.weight}
    other_roles |= {schema.row_id, schema.person, schema.target}
    target, right = _sides(formula, [name for name in columns if name not in other_roles])
    levels: dict[str, list[str]] = {}
    terms = [
        ":".join(_factor(factor, schema, levels, formula) for factor in term.factors)
        for term in right
    ]
    if repeated := [column for column in levels if column in schema.categorical]:
        raise InputError(
            f"levels of {repeated[0]!r} must be declared once; the formula declares them again."
        )
    used = [column for text in terms for column in term_of(text).columns]
    declared = replace(schema, **declared_for(schema, dict.fromkeys(used)))
    declared = replace(declared, categorical={**declared.categorical, **levels})
    if target == schema.target:
        target = None  # formula and schema agree
    return declared.with_declared(target=target, terms=terms)


def _sides(formula: Any, columns: Sequence[str]) -> tuple[str | None, list[Any]]:
    """Return the target of a formula, or None, and its terms without the constant."""
    try:
        from formulaic.errors import FormulaicError  # noqa: PLC0415
        from formulaic.parser import DefaultFormulaParser  # noqa: PLC0415
        from formulaic.parser.algos.tokenize import tokenize  # noqa: PLC0415
    except ImportError:
        raise InputError(
            "formula needs the package formulaic: pip install 'tailguard[formula]', or declare "
            "target and terms in a schema."
        ) from None
    if not isinstance(formula, str):
        raise InputError(f"formula must be a text such as 'cost ~ age'; got {shown(formula)}.")
    context = {"__formulaic_variables_available__": [*columns]}
    try:
        _check_powers([*tokenize(formula)], formula)
        parsed = DefaultFormulaParser().get_terms(formula, context=context)._to_dict()
    except (FormulaicError, SyntaxError, RecursionError):
        raise InputError(
            "formula must be valid for formulaic, such as 'cost ~ age + log1p(income)'; "
            f"put names of several words between backticks; got {shown(formula)}."
        ) from None
    left, right = parsed.get("lhs"), parsed.get("rhs", parsed.get("root"))
    if isinstance(left, tuple) or isinstance(right, tuple) or right is None:
        raise InputError(f"formula must have one part on each side; got {shown(formula)}.")
    names = [factor for term in left or () for factor in term.factors]
    if names and (len(names) > 1 or names[0].eval_method.value != "lookup"):
        raise InputError(
            "formula must have one unchanged column on its left, or none: add a changed target to "
            f"the table as a column of its own; got {shown(formula)}."
        )
    terms = [*right]
    constant = [term for term in terms if [factor.expr for factor in term.factors] == ["1"]]
    if not constant:
        raise InputError(
            "formula must keep its constant: to leave it out, set fit_intercept=False, not '- 1' "
            f"or '0 +'; got {shown(formula)}."
        )
    if len(terms) == len(constant):
        raise InputError(
            "formula must name at least one column on its right, such as 'cost ~ age'; got "
            f"{shown(formula)}: for a constant alone use tg.mean."
        )
    return (names[0].expr if names else None), [term for term in terms if term not in constant]


def _check_powers(tokens: Sequence[Any], formula: str) -> None:
    """Refuse large powers of terms; a power of numbers, as in I(x**9), is within one token."""
    kinds = [(token.kind.value, str(token.token)) for token in tokens]
    has_powers = any(kind == "operator" and ("**" in text or "^" in text) for kind, text in kinds)
    numbers = [text for kind, text in kinds if kind != "name" and text.isdecimal()]
    if has_powers and any(len(number) > 9 or int(number) > MOST_FACTORS for number in numbers):
        raise InputError(
            f"formula must have powers of at most {MOST_FACTORS}, such as (a + b)**2 for a, b and "
            f"a:b; write I(x**9) for a power of numbers; got {shown(formula)}."
        )


def _factor(factor: Any, schema: Schema, levels: dict[str, list[str]], formula: str) -> str:
    """Return a factor of a formula as text of a term."""
    text, method = str(factor.expr), factor.eval_method.value
    if method == "lookup":
        return str(Factor(text))
    code, names = unquoted(text)
    body = ast.parse(code, mode="eval").body
    match body:
        case ast.Call(func=ast.Name("I"), args=[inner], keywords=[]):
            body = inner
        case ast.Call(func=ast.Attribute(value=ast.Name("np"), attr=name)):
            body.func = ast.Name(name)
    match body:
        case ast.BinOp(left=ast.Name(column), op=ast.Pow(), right=ast.Constant() as power):
            return str(term_of(f"power(`{names.get(column, column)}`, {ast.unparse(power)})"))
        case ast.Call(func=ast.Name("C"), args=[ast.Name(column)], keywords=keywords):
            return _levels(names.get(column, column), _values(keywords), schema, levels)
        case ast.Call(func=ast.Name("bs"), args=[ast.Name(column)], keywords=keywords) if (
            spline := _spline(names.get(column, column), _values(keywords))
        ):
            return spline
        case ast.Call(func=ast.Name("offset")):
            raise InputError(
                "formula must not have an offset: declare it as offset=, or as exposure= without "
                f"a logarithm; got {shown(text)}."
            )
        case ast.Call(func=ast.Name(name)) if name in FUNCTIONS:
            return str(term_of(text.replace("np.", "", 1)))
        case ast.Call(func=ast.Name(name)) if name in LEARNED:
            advice = ": give it knots, lower_bound and upper_bound" if name == "bs" else ""
            raise InputError(
                f"formula must not use {name}, which would be learned from records{advice}; got "
                f"{shown(text)}."
            )
    examples = ", ".join(function.example for function in FUNCTIONS.values())
    raise InputError(
        f"formula must be made of columns, C(x), C(x, levels=[baseline, ...]), I(x**2), bs(x, "
        f"knots=..., lower_bound=..., upper_bound=...), {examples}; got {shown(text)}."
    )


def _values(keywords: Sequence[ast.keyword]) -> dict[str, Any] | None:
    """Return the values of keywords; None if a value is not a literal (number, text, list)."""
    try:
        return {str(each.arg): ast.literal_eval(each.value) for each in keywords}
    except ValueError:
        return None


def _levels(
    column: str, arguments: dict[str, Any] | None, schema: Schema, levels: dict[str, list[str]]
) -> str:
    """Return a column of levels, which the schema or ``levels=`` must declare."""
    if arguments is None or {*arguments} - {"levels"}:
        raise InputError(
            f"formula must give C({column}) no argument except levels; the first level is the "
            "baseline."
        )
    if "levels" in arguments:
        levels[column] = arguments["levels"]
    elif column not in schema.categorical:
        raise InputError(
            f"formula must declare the levels of {column!r}, which are never taken from records: "
            f"C({column}, levels=[...]), or schema={{'categorical': {{{column!r}: [...]}}}}."
        )
    return str(Factor(column))


def _spline(column: str, arguments: dict[str, Any] | None) -> str | None:
    """Convert B-splines of formulaic to a term; None if they would learn from records."""
    if arguments is None or not {"lower_bound", "upper_bound"} <= {*arguments}:
        return None
    if {*arguments} - {"lower_bound", "upper_bound", "knots", "degree"}:
        return None
    ends, degree = (arguments["lower_bound"], arguments["upper_bound"]), arguments.get("degree", 3)
    if degree not in DEGREES or not isinstance(arguments.get("knots", []), list | tuple):
        return None
    knots = [ends[0], *arguments.get("knots", []), ends[1]]
    numbers = ", ".join(number_text(knot) for knot in knots)
    return str(term_of(f"{DEGREES[degree]}(`{column}`, {numbers})"))
