"""A term of a model as text: ``age``, ``log1p(income)``, ``age:region``; and its columns.

A name that is no word, such as ``cost (EUR)``, stands between backticks where it could be taken for
something else. What is in a term is declared, never found in a table.
"""

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import product
from keyword import iskeyword
from typing import TypeAlias

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, shown
from tailguard.data.terms.functions import FUNCTIONS, number_text

REST = "..."
"""As a term: all columns whose cells no other term of one column reads, each as it is."""

QUOTED = re.compile(r"`([^`]+)`")
# What stands for a quoted name in the text of an expression; no column's name is looked up by it.
STANDS_FOR = "quoted_name_"

Cells: TypeAlias = tuple[FloatArray, FloatArray]
"""A column as it was read, and with constants in its gaps: one number, or indicators, a row."""


@dataclass(frozen=True)
class Factor:
    """A column, or a function of one with public numbers."""

    column: str
    function: str | None = None
    numbers: tuple[float, ...] = ()

    def __str__(self) -> str:
        if self.function is None:
            plain = not re.search(r"[`():,]", self.column) and self.column != REST
            return self.column if plain else f"`{self.column}`"
        word = self.column.isidentifier() and not iskeyword(self.column)
        column = self.column if word else f"`{self.column}`"
        return f"{self.function}({', '.join([column, *map(number_text, self.numbers)])})"

    @property
    def tells_gaps(self) -> bool:
        """Whether it reads of a cell only whether it is missing."""
        return self.function is not None and FUNCTIONS[self.function].of_gaps

    @property
    def takes_levels(self) -> bool:
        """Whether it may read a column of levels."""
        return self.function is None or self.tells_gaps

    def names(self, levels: Mapping[str, Sequence[str]]) -> Sequence[str]:
        """Return the names of its columns; ``levels`` has those of columns of levels."""
        if self.function is None:
            return levels.get(self.column, [self.column])
        names = FUNCTIONS[self.function].names
        return [str(self)] if names is None else names(self.column, self.numbers)

    def values(self, cells: Mapping[str, Cells]) -> FloatArray:
        """Return its columns, for the cells of each column of a table."""
        read, filled = cells[self.column]
        if self.function is None:
            return filled
        function = FUNCTIONS[self.function]
        with np.errstate(all="ignore"):
            return function.values((read if self.tells_gaps else filled)[:, 0], self.numbers)

    def are_indicators(self, levels: Mapping[str, Sequence[str]]) -> bool:
        """Whether a record has at most one 1 among its columns, and else zeros."""
        if self.function is None:
            return self.column in levels
        return FUNCTIONS[self.function].indicators


@dataclass(frozen=True)
class Term:
    """A product of factors; most terms have one factor."""

    factors: tuple[Factor, ...]

    def __str__(self) -> str:
        return ":".join(map(str, self.factors))

    @property
    def name(self) -> str:
        """What it is called: its column, where it is one as it is, else its text."""
        (first, *others) = self.factors
        return str(self) if others or first.function is not None else first.column

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(factor.column for factor in self.factors)

    @property
    def reads_cells_alone(self) -> bool:
        """Whether it reads one column, and more than its gaps."""
        return len(self.factors) == 1 and not self.factors[0].tells_gaps

    def names(self, levels: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """Return the names of its coefficients."""
        return tuple(map(":".join, product(*(factor.names(levels) for factor in self.factors))))

    def values(self, cells: Mapping[str, Cells]) -> FloatArray:
        """Return one column per coefficient, for the cells of each column of a table."""
        with np.errstate(all="ignore"):
            return reduce(_products, (factor.values(cells) for factor in self.factors))

    def are_indicators(self, levels: Mapping[str, Sequence[str]]) -> bool:
        """Whether a record has at most one 1 among its columns, and else zeros."""
        return all(factor.are_indicators(levels) for factor in self.factors)


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the products of all columns of one table with those of another, the last fastest."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


@lru_cache(maxsize=4096)
def term_of(text: str) -> Term:
    """Read a term."""
    factors = tuple(_factor(part.strip(), text) for part in _parts(text))
    if len({*factors}) < len(factors):
        raise InputError(f"terms must not multiply a factor by itself; got {shown(text)}.")
    return Term(factors)


def _parts(text: str) -> list[str]:
    """Split a term at colons outside backticks and brackets."""
    parts, depth, quoted = [""], 0, False
    for sign in text:
        quoted ^= sign == "`"
        depth += 0 if quoted else (sign == "(") - (sign == ")")
        if sign == ":" and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _factor(text: str, term: str) -> Factor:
    """Read a column, or a call of a function of the table with a column and numbers."""
    quoted = QUOTED.fullmatch(text)
    if quoted:
        return Factor(quoted[1])
    if text and text != REST and not re.search(r"[`()]", text):
        return Factor(text)
    names = {f"{STANDS_FOR}{place}": name for place, name in enumerate(QUOTED.findall(text))}
    stands_for = iter(names)
    code = QUOTED.sub(lambda _: next(stands_for), text)
    try:
        call = ast.parse(code, mode="eval").body
        if not isinstance(call, ast.Call) or call.keywords or not isinstance(call.func, ast.Name):
            raise ValueError
        column, *numbers = call.args
        if call.func.id not in FUNCTIONS or not isinstance(column, ast.Name):
            raise ValueError
        read = tuple(float(ast.literal_eval(number)) for number in numbers)
        if not all(map(math.isfinite, read)):
            raise ValueError
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, OverflowError):
        raise _refused(term) from None
    if not FUNCTIONS[call.func.id].accepts(read):
        raise InputError(
            f"terms must give {call.func.id} numbers that increase, as in "
            f"{FUNCTIONS[call.func.id].wanted}; got {shown(term)}."
        )
    return Factor(names.get(column.id, column.id), call.func.id, read)


def _refused(text: str) -> InputError:
    known = ", ".join(function.wanted for function in FUNCTIONS.values())
    return InputError(
        f"terms must be columns, {known}, or products of these such as age:region, with names that "
        f"are no words between backticks; got {shown(text)}."
    )
