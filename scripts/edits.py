"""Small wrong edits of Python source, found in its syntax tree and made in its text.

    edits(source)              # every edit that compiles, in the order of the text
    edit.applied(source)       # the whole text with one edit; formatting stays

Text that no number depends on is left alone: docstrings, annotations, messages (f-strings, what
``raise``, ``warn`` and ``assert`` say), imports, ``__all__``, decorators, and code that prints or
draws. Cost: one compilation of the file per edit, about 1 ms; ``candidates`` leaves that out.
"""

import ast
import dataclasses
import re
import warnings
from collections.abc import Callable, Iterator

ARITHMETIC: dict[type, tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/",)),
    ast.Div: ("/", ("*",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
}
COMPARISON: dict[type, tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">")),
    ast.LtE: ("<=", ("<", ">=")),
    ast.Gt: (">", (">=", "<")),
    ast.GtE: (">=", (">", "<=")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
_PAIRS = (
    ("sum", "mean"),
    ("max", "min"),
    ("maximum", "minimum"),
    ("argmax", "argmin"),
    ("any", "all"),
    ("cumsum", "cumprod"),
)
REDUCTION = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
BUILTIN = {"max", "min", "any", "all"}
#: Nothing follows from the order of their arguments but which error comes.
SYMMETRIC = {
    "maximum",
    "minimum",
    "max",
    "min",
    "logaddexp",
    "isinstance",
    "issubclass",
    "allclose",
}
#: Keywords that say how strictly something is looked at, or how it is shown.
COSMETIC = {"strict", "encoding", "stacklevel", "label", "title", "color", "static_argnames"}
SILENT = {"__repr__", "__str__", "_repr_html_", "__rich__", "__format__", "plot", "warn"}
NUMERIC_MODULES = {"jnp", "jax", "np", "math", "lax", "random"}


@dataclasses.dataclass(frozen=True, order=True)
class Edit:
    """The bytes from ``start`` to ``end`` become ``new``."""

    start: int
    end: int
    kind: str
    new: str

    def applied(self, source: str) -> str:
        raw = source.encode()
        return (raw[: self.start] + self.new.encode() + raw[self.end :]).decode()

    def line(self, source: str) -> int:
        return source.encode()[: self.start].count(b"\n") + 1


def candidates(source: str) -> list[Edit]:
    """Every edit of a text, each result once; nearly all compile."""
    found: dict[str, Edit] = {}
    for edit in sorted(set(_Finder(source).found())):
        found.setdefault(edit.applied(source), edit)
    found.pop(source, None)
    return list(found.values())


def edits(source: str) -> list[Edit]:
    """The candidates that compile."""
    return [edit for edit in candidates(source) if compiles(edit.applied(source))]


def compiles(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _name(node: ast.AST) -> str:
    """The last word of a name: ``sum`` of ``jnp.sum``."""
    return getattr(node, "attr", None) or getattr(node, "id", "")


def _root(node: ast.AST) -> str:
    """The first word of a name: ``jnp`` of ``jnp.linalg.norm``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _is_list(node: ast.AST) -> bool:
    return isinstance(node, ast.List | ast.Tuple | ast.ListComp)


class _Finder:
    def __init__(self, source: str):
        self.raw = source.encode()
        self.tree = ast.parse(source)
        self.starts = [0]
        for line in self.raw.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        # Comments blanked, so that a search for an operator does not end in one.
        self.code = re.sub(rb"#[^\n]*", lambda m: b" " * len(m[0]), self.raw)

    def found(self) -> Iterator[Edit]:
        yield from self.body(self.tree, set())

    # -- where things are

    def span(self, node) -> tuple[int, int]:
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def text(self, node) -> str:
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def put(self, kind: str, node, new: str) -> Edit:
        start, end = self.span(node)
        return Edit(start, end, kind, new)

    def between(self, kind: str, left, right, old: str, new: str) -> Iterator[Edit]:
        """An operator that stands between two expressions."""
        start, end = self.span(left)[1], self.span(right)[0]
        words = old.encode().split()
        pattern = rb"\s+".join(map(re.escape, words))
        if match := re.search(pattern, self.code[start:end]):
            yield Edit(start + match.start(), start + match.end(), kind, new)

    def swapped(self, kind: str, first, second) -> Iterator[Edit]:
        a, b = self.span(first), self.span(second)
        new = self.raw[slice(*b)] + self.raw[a[1] : b[0]] + self.raw[slice(*a)]
        yield Edit(a[0], b[1], kind, new.decode())

    # -- statements

    def body(self, node: ast.AST, bound: set[str]) -> Iterator[Edit]:
        """Edits of a block and of all inside; ``bound`` are names that have a value by then."""
        for field in ("body", "orelse", "finalbody"):
            for statement in getattr(node, field, ()):
                yield from self.statement(statement, bound)
        for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from self.body(handler, bound)

    def statement(self, node: ast.stmt, bound: set[str]) -> Iterator[Edit]:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise | ast.Assert):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name in SILENT or "plot" in node.name:
                return
            a = node.args
            for default in (*a.defaults, *a.kw_defaults):
                if default is not None:
                    yield from self.expression(default)
            every = (*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg)))
            yield from self.body(node, {arg.arg for arg in every})
            bound.add(node.name)
        elif isinstance(node, ast.ClassDef):
            yield from self.body(node, set())
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr):
            yield from self.simple(node, bound)
        elif isinstance(node, ast.Return):
            if node.value is not None:
                yield from self.sign(node.value)
                yield from self.expression(node.value)
        else:
            if isinstance(node, ast.If):
                yield self.put("condition", node.test, f"not ({self.text(node.test)})")
            for field in ("test", "iter", "subject"):
                if hasattr(node, field):
                    yield from self.expression(getattr(node, field))
            for item in getattr(node, "items", ()):
                yield from self.expression(item.context_expr)
            if isinstance(node, ast.For):
                bound.update(_names(node.target))
            yield from self.body(node, bound)

    def simple(self, node, bound: set[str]) -> Iterator[Edit]:
        """An assignment, or an expression for its effect."""
        value = node.value
        if value is None:
            return
        if isinstance(node, ast.Expr):
            words = isinstance(value, ast.Call) and value.args and all(map(_is_text, value.args))
            if isinstance(value, ast.Constant) or words or _name_of_call(value) in SILENT:
                return
            if not isinstance(value, ast.Yield | ast.Await):
                yield self.put("deleted", node, "pass")
            yield from self.expression(value)
            return
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {name for target in targets for name in _names(target)}
        if "__all__" in names:
            return
        if isinstance(node, ast.AugAssign):
            yield self.put("deleted", node, "pass")
            if type(node.op) in ARITHMETIC and not _is_text(value) and not _is_list(value):
                old, new = ARITHMETIC[type(node.op)]
                for symbol in new:
                    yield from self.between(
                        "arithmetic", node.target, value, f"{old}=", f"{symbol}="
                    )
        elif isinstance(node, ast.Assign):
            elsewhere = any(isinstance(t, ast.Attribute | ast.Subscript) for t in targets)
            if names <= bound and (names or elsewhere):
                yield self.put("deleted", node, "pass")
            yield from self.reused(node)
        bound.update(names)
        for target in targets:
            if isinstance(target, ast.Subscript):
                yield from self.expression(target)
        yield from self.expression(value)

    def reused(self, node: ast.Assign) -> Iterator[Edit]:
        """The second key of a split is the first one."""
        target = node.targets[0]
        if _name_of_call(node.value) != "split" or not isinstance(target, ast.Tuple):
            return
        parts = [part.id for part in target.elts if isinstance(part, ast.Name)]
        if len(parts) == len(target.elts) >= 2:
            end = self.span(node)[1]
            yield Edit(end, end, "key", f"; {parts[1]} = {parts[0]}")

    def sign(self, value: ast.expr) -> Iterator[Edit]:
        """Of a returned number."""
        sides = (value.left, value.right) if isinstance(value, ast.BinOp) else ()
        number = sides and not any(_is_text(side) or _is_list(side) for side in sides)
        if number or (isinstance(value, ast.Call) and _root(value.func) in NUMERIC_MODULES):
            yield self.put("sign", value, f"-({self.text(value)})")

    # -- expressions

    def expression(self, node: ast.AST) -> Iterator[Edit]:
        if isinstance(node, ast.JoinedStr) or _name_of_call(node) in SILENT:
            return
        if isinstance(node, ast.keyword) and node.arg in COSMETIC:
            return
        handler: Callable | None = getattr(self, f"on_{type(node).__name__}", None)
        if handler is not None:
            yield from handler(node)
        if isinstance(node, ast.Subscript):
            yield from self.expression(node.value)
            yield from self.index(node.slice)
            return
        if isinstance(node, ast.Lambda):
            yield from self.expression(node.body)
            return
        for child in ast.iter_child_nodes(node):
            yield from self.expression(child)

    def index(self, node: ast.expr) -> Iterator[Edit]:
        """What stands between the brackets."""
        number = _integer(node)
        if number is not None:
            new = 0 if number == -1 else number + 1
            yield self.put("index", node, str(new))
            if number == 1:
                yield self.put("index", node, "0")
        elif isinstance(node, ast.Slice):
            for end in (node.lower, node.upper):
                if end is None:
                    continue
                number = _integer(end)
                shifted = f"{self.text(end)} + 1" if number is None else str(number + 1)
                if number != -1:
                    yield self.put("index", end, shifted)
                else:
                    yield self.put("index", end, "-2")
                if number is None:
                    yield from self.expression(end)
            if node.step is not None and _integer(node.step) == -1:
                yield self.put("index", node.step, "1")
        elif isinstance(node, ast.Tuple):
            for part in node.elts:
                yield from self.index(part)
        else:
            yield from self.expression(node)

    def on_BinOp(self, node: ast.BinOp) -> Iterator[Edit]:
        if any(_is_text(side) or _is_list(side) for side in (node.left, node.right)):
            return
        if type(node.op) in ARITHMETIC:
            old, new = ARITHMETIC[type(node.op)]
            for symbol in new:
                yield from self.between("arithmetic", node.left, node.right, old, symbol)

    def on_UnaryOp(self, node: ast.UnaryOp) -> Iterator[Edit]:
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            yield self.put("arithmetic", node, self.text(node.operand))
        if isinstance(node.op, ast.Not):
            kind = "reversal" if _name(node.operand) == "backward" else "condition"
            yield self.put(kind, node, f"({self.text(node.operand)})")

    def on_Compare(self, node: ast.Compare) -> Iterator[Edit]:
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            old, new = COMPARISON[type(op)]
            for symbol in new:
                yield from self.between("comparison", left, right, old, symbol)

    def on_BoolOp(self, node: ast.BoolOp) -> Iterator[Edit]:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from self.between("boolean", left, right, old, new)

    def on_IfExp(self, node: ast.IfExp) -> Iterator[Edit]:
        yield self.put("condition", node.test, f"not ({self.text(node.test)})")

    def on_comprehension(self, node: ast.comprehension) -> Iterator[Edit]:
        for test in node.ifs:
            yield self.put("condition", test, f"not ({self.text(test)})")

    def on_Attribute(self, node: ast.Attribute) -> Iterator[Edit]:
        if node.attr == "backward":
            yield self.put("reversal", node, f"(not {self.text(node)})")

    def on_Constant(self, node: ast.Constant) -> Iterator[Edit]:
        """Small whole numbers go up by one; large ones and decimals, which are often settings that
        one step would not move, double."""
        value = node.value
        if isinstance(value, bool):
            yield self.put("constant", node, str(not value))
        elif isinstance(value, int):
            yield self.put("constant", node, str(value + 1 if value < 10 else 2 * value))
        elif isinstance(value, float):
            yield self.put("constant", node, repr(2 * value) if value else "1.0")

    def on_Call(self, node: ast.Call) -> Iterator[Edit]:
        name = _name(node.func)
        plain = [a for a in node.args if not isinstance(a, ast.Starred)]
        if name == "reversed" and isinstance(node.func, ast.Attribute) and not node.args:
            yield self.put("reversal", node, self.text(node.func.value))
        if name == "fold_in" and len(plain) == 2:
            yield self.put("key", node, self.text(plain[0]))
        if name == "where" and len(plain) == 3:
            yield from self.swapped("where", plain[1], plain[2])
        elif len(plain) == len(node.args) and name not in SYMMETRIC:
            for first, second in zip(node.args, node.args[1:], strict=False):
                yield from self.swapped("arguments", first, second)
        if name in REDUCTION and (isinstance(node.func, ast.Attribute) or name in BUILTIN):
            end = self.span(node.func)[1]
            yield Edit(end - len(name), end, "reduction", REDUCTION[name])
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg not in COSMETIC:
                start, end = self.span(keyword)
                comma = re.match(rb"\s*,[ \t]*", self.code[end:])
                yield Edit(start, end + (comma.end() if comma else 0), "keyword", "")


def _names(target: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name) and _stored(n)}


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _name_of_call(node: ast.AST) -> str:
    return _name(node.func) if isinstance(node, ast.Call) else ""


def _integer(node: ast.AST) -> int | None:
    """Of a literal whole number, the minus included."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _integer(node.operand)
        return None if number is None else -number
    whole = isinstance(node, ast.Constant) and type(node.value) is int
    return node.value if whole else None  # type: ignore[attr-defined]
