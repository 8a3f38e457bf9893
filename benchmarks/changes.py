"""Small changes of logic of a Python module: over its syntax tree, and over the SQL in its strings."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_CALCULATED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
}
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}

_SHOWS_PROGRESS = "Progress", "tracked", ".advance"

LARGEST = 31
"""Larger numbers are sizes of batches and the like, on which no result depends."""

_IS_SQL = re.compile(r"\b(?:SELECT|WHERE|CASE WHEN|ORDER BY|PARTITION BY|FILTER \(|IS (?:NOT )?NULL|JOIN)\b")
_NAME = r'[\w."]+'
_SWAPPED = ("min(", "max("), ("arg_min(", "arg_max("), ("bool_or(", "bool_and("), ("least(", "greatest(")
_SQL: list[tuple[str, str]] = [
    (r"(?<![<>=!-])<=(?!>)", "<"),
    (r"(?<![<>=!-])<(?![<=>])", "<="),
    (r"(?<![<>=!-])>=", ">"),
    (r"(?<![<>=!-])>(?![>=])", ">="),
    (r"<>", "="),
    (r"(?<= )=(?= )", "<>"),
    (r"\bAND\b(?! \d)", "OR"),
    (r"\bOR\b", "AND"),
    (rf" AND {_NAME} (?:=|<>|<=|>=|<|>|IS) (?:NOT )?{_NAME}(?=[\s)])", ""),
    (r"\bNOT (?!NULL|DISTINCT)", ""),
    (r"\bIS NULL\b", "IS NOT NULL"),
    (r"\bIS NOT NULL\b", "IS NULL"),
    (r" DESC\b", ""),
    (rf"(?<=ORDER BY )({_NAME})(?=[,\s)])", r"\1 DESC"),
    (r"\bNULLS LAST\b", "NULLS FIRST"),
    (r"\bNULLS FIRST\b", "NULLS LAST"),
    (rf"(?<=ORDER BY )({_NAME}(?: DESC)?), ", ""),
    (rf"(?<=PARTITION BY )({_NAME}), ", ""),
    (r"((?:ORDER|PARTITION) BY [^()\n]*), [\w.]+(?=[\s)\"])", r"\1"),
    # Whether a row exists: `SELECT 1 FROM ... LIMIT 1`.
    (r"(?<![\w.'{])(?<!SELECT )(?<!LIMIT )(\d+)(?![\w.'}])", "+1"),
    (r" \+ (?=\w)", " - "),
    (r" - (?=\w)", " + "),
    (rf"\bcoalesce\(({_NAME}), {_NAME}\)", r"\1"),
    (r"\bDISTINCT (?!FROM)", ""),
    (r"\bLEFT JOIN\b", "JOIN"),
    (r"\bUNION ALL\b", "UNION"),
    *((rf"\b{re.escape(one)}", other) for pair in _SWAPPED for one, other in (pair, pair[::-1])),
]
"""Pattern in SQL -> its replacement; `+1` adds one to the number."""


class Change(NamedTuple):
    """Bytes `start` to `end` of a module become `new`; `line`: the number of the line of `start`."""

    start: int
    end: int
    old: str
    new: str
    line: int
    text: tuple[str, str]
    """The lines of the change before and after it, without the blanks around them."""
    function: int
    """The number of the first line of the innermost function around it; 0 outside of any."""

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def changes_of(source: str) -> list[Change]:
    """All changes of a module, in the order of their places."""
    whole, tree = source.encode(), ast.parse(source)
    functions = _functions(tree)
    changes = set()
    for start, end, new in _Finder(source, tree).all():
        changed = whole[:start] + new.encode() + whole[end:]
        first, last = whole.rfind(b"\n", 0, start) + 1, whole.find(b"\n", end)
        lines = whole[first:last], changed[first : last + len(changed) - len(whole)]
        before, after = (text.decode().strip() for text in lines)
        if changed != whole:
            old, number = whole[start:end].decode(), whole.count(b"\n", 0, start) + 1
            around = [first for first, last in functions if first <= number <= last]
            changes.add(Change(start, end, old, new, number, (before, after), max(around, default=0)))
    return sorted(changes)


def _functions(tree: ast.Module) -> list[tuple[int, int]]:
    """The numbers of the first and the last line of each function, with its decorators."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [
        (min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in nodes
    ]


def can_be_compiled(source: bytes) -> bool:
    """Whether a changed module is Python still."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


class _Finder:
    """The places of a module at which its logic can be changed: (first byte, last byte, new text)."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        self._source = source.encode()
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._tree = tree

    def all(self) -> Iterator[tuple[int, int, str]]:
        yield from self._within(self._tree)

    def _within(self, node: ast.AST) -> Iterator[tuple[int, int, str]]:
        # Messages, types, texts for readers and what a decorator does are no logic of a result.
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        # What a person sees while a command runs, and a check that lengths are equal.
        if isinstance(node, ast.Call) and (called := ast.unparse(node.func)).endswith(_SHOWS_PROGRESS):
            if called == "tracked":
                yield from self._within(node.args[0])
            return
        if isinstance(node, ast.keyword) and node.arg == "strict":
            return
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            yield from self._of_sql(node)
            return
        yield from self._of(node)
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from self._within(child)

    def _of(self, node: ast.AST) -> Iterator[tuple[int, int, str]]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
                yield from self._between(left, right, *_COMPARED[type(op)])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _CALCULATED:
                yield from self._between(left, right, *_CALCULATED[type(op)])
            case ast.BoolOp(op=op, values=values):
                words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                for first, second in pairwise(values):
                    yield from self._between(first, second, *words)
                    # A term is dropped, with the word between it and the next.
                    yield self._start(first), self._start(second), ""
                yield self._end(values[-2]), self._end(values[-1]), ""
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield self._start(node), self._start(operand), ""
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield self._start(test), self._end(test), f"not ({self._text(test)})"
            case ast.Constant(value=bool(value)):
                yield self._start(node), self._end(node), str(not value)
            case ast.Constant(value=int(value)) if value <= LARGEST:
                yield self._start(node), self._end(node), str(value + 1)
            case ast.Call(func=ast.Name(id=name) as func) if name in _CALLED and (
                name != "sorted" or not node.keywords
            ):
                yield self._start(func), self._end(func), _CALLED[name]
            case ast.Call(func=ast.Attribute(attr="get"), args=[key, default]):
                yield self._end(key), self._end(default), ""
            case ast.Call(args=[ast.Name() as first, ast.Name() as second, *_]):
                between = self._source[self._end(first) : self._start(second)].decode()
                yield self._start(first), self._end(second), second.id + between + first.id

    def _of_sql(self, node: ast.expr) -> Iterator[tuple[int, int, str]]:
        text = self._text(node)
        if not _IS_SQL.search(text):
            return
        start = self._start(node)
        for pattern, new in _SQL:
            for match in re.finditer(pattern, text):
                replaced = str(int(match[1]) + 1) if new == "+1" else match.expand(new)
                first = start + len(text[: match.start()].encode())
                yield first, first + len(match[0].encode()), replaced

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[tuple[int, int, str]]:
        """An operator between two operands, which may be in brackets."""
        first, last = self._end(left), self._start(right)
        pattern = rf"\b{old}\b" if old[0].isalpha() else re.escape(old)
        match = re.search(pattern.replace(" ", r"\s+"), self._source[first:last].decode())
        if match:
            yield first + match.start(), first + match.end(), new

    def _start(self, node: ast.AST) -> int:
        assert isinstance(node, ast.expr | ast.stmt)
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.AST) -> int:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.AST) -> str:
        return self._source[self._start(node) : self._end(node)].decode()
