"""Parse a term of a model, such as ``age``, ``log1p(income)`` or ``age:region``, and compute it.

Backticks quote a name that would be ambiguous without them, such as ``cost (EUR)``.
Everything in a term is declared; nothing comes from a table.
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
"""Stands for each column whose cells no other one-column term reads; it is taken unchanged."""

QUOTED = re.compile(r"`([^`]+)`")

Cells: TypeAlias = tuple[FloatArray, FloatArray]
"""A column before and after its missing cells are filled: one number per row, or indicators."""


@dataclass(frozen=True)
class Factor:
    """A column, or a function of a column with public parameters."""

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
    def indicates_missing(self) -> bool:
        """Whether it depends only on which cells are missing."""
        return self.function is not None and FUNCTIONS[self.function].indicates_missing

    @property
    def takes_levels(self) -> bool:
        """Whether it may read a column of levels."""
        return self.function is None or self.indicates_missing

    def names(self, indicators: Mapping[str, Sequence[str]]) -> Sequence[str]:
        """Return the names of its columns; ``indicators`` has those of each column of levels."""
        if self.function is None:
            return indicators.get(self.column, [self.column])
        names = FUNCTIONS[self.function].names
        return [str(self)] if names is None else names(self.column, self.numbers)

    def values(self, cells: Mapping[str, Cells]) -> FloatArray:
        """Compute its columns from the cells of a table's columns."""
        original, filled = cells[self.column]
        if self.function is None:
            return filled
        function = FUNCTIONS[self.function]
        with np.errstate(all="ignore"):
            return function.values(
                (original if self.indicates_missing else filled)[:, 0], self.numbers
            )

    def are_indicators(self, levels: Mapping[str, Sequence[str]]) -> bool:
        """Whether its columns are indicators: at most one 1 per record, and zeros."""
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
        """Its name: the column if the term is an unchanged column, else its text."""
        first, *others = self.factors
        return str(self) if others or first.function is not None else first.column

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(factor.column for factor in self.factors)

    @property
    def reads_one_column(self) -> bool:
        """Whether it reads one column, and not only which cells are missing."""
        return len(self.factors) == 1 and not self.factors[0].indicates_missing

    def names(self, indicators: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """Return the names of its coefficients, one for each choice of a name per factor."""
        names = (factor.names(indicators) for factor in self.factors)
        return tuple(map(":".join, product(*names)))

    def values(self, cells: Mapping[str, Cells]) -> FloatArray:
        """Compute one column per coefficient from the cells of a table's columns."""
        with np.errstate(all="ignore"):
            return reduce(_products, (factor.values(cells) for factor in self.factors))

    def are_indicators(self, levels: Mapping[str, Sequence[str]]) -> bool:
        """Whether its columns are indicators: at most one 1 per record, and zeros."""
        return all(factor.are_indicators(levels) for factor in self.factors)


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return all products of a column of ``left`` and one of ``right``, which varies fastest."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


@lru_cache(maxsize=4096)
def term_of(text: str) -> Term:
    """Parse a term."""
    factors = tuple(_factor(part.strip(), text) for part in _parts(text))
    if len({*factors}) < len(factors):
        raise InputError(f"terms must not multiply a factor by itself; got {shown(text)}.")
    return Term(factors)


def _parts(text: str) -> list[str]:
    """Split a term at colons outside backticks and brackets."""
    parts, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == "`"
        depth += 0 if quoted else (character == "(") - (character == ")")
        if character == ":" and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def unquoted(text: str) -> tuple[str, dict[str, str]]:
    """Replace quoted names, which Python cannot parse, by words; return the code and the names."""
    names = {f"quoted_name_{place}": name for place, name in enumerate(QUOTED.findall(text))}
    words = iter(names)
    return QUOTED.sub(lambda _: next(words), text), names


def _factor(text: str, term: str) -> Factor:
    """Parse a column, or a call of one of ``FUNCTIONS`` with a column and numbers."""
    if quoted := QUOTED.fullmatch(text):
        return Factor(quoted[1])
    if text and text != REST and not re.search(r"[`()]", text):
        return Factor(text)
    code, names = unquoted(text)
    try:
        call = ast.parse(code, mode="eval").body
        if not isinstance(call, ast.Call) or call.keywords or not isinstance(call.func, ast.Name):
            raise ValueError
        column, *numbers = call.args
        if call.func.id not in FUNCTIONS or not isinstance(column, ast.Name):
            raise ValueError
        parameters = tuple(float(ast.literal_eval(number)) for number in numbers)
        if not all(map(math.isfinite, parameters)):
            raise ValueError
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, OverflowError):
        known = ", ".join(function.example for function in FUNCTIONS.values())
        raise InputError(
            f"terms must be columns, {known}, or products of these such as age:region, with "
            f"backticks around names that are not words; got {shown(term)}."
        ) from None
    if not FUNCTIONS[call.func.id].accepts(parameters):
        example = FUNCTIONS[call.func.id].example
        order = ", with increasing numbers" if "," in example else ""
        raise InputError(f"terms must be like {example}{order}; got {shown(term)}.")
    return Factor(names.get(column.id, column.id), call.func.id, parameters)
