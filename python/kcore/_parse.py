"""Kernels from text: a reader of its own, which calls nothing but kernels.

Text is read by `ast.parse` and never evaluated. What `ast.parse` is given has passed a scanner that
knows the words and signs of kernels and no others, and that limits how long the text is and how
deep it nests, so that hostile text is an error like any other.
"""

from __future__ import annotations

import ast
import keyword
import operator
import re
from collections.abc import Callable
from numbers import Real
from typing import Any, cast

from kcore._kernel import Kernel
from kcore._validate import brief

MAX_LENGTH = 100_000
MAX_DEPTH = 100  # of brackets, and of what stands in one another
_MAX_RUN = 8  # of signs one after the other, and of powers of powers

# Strings have the escapes that repr writes, and no prefix; numbers end before a letter.
_TOKEN = re.compile(
    r"""\s+ | (?P<name>[^\W\d]\w*(?![\w'"]))
    | (?P<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    | (?P<string>'(?:[^'\\\n]|\\[\\'"abfnrtvxuU])*'|"(?:[^"\\\n]|\\[\\'"abfnrtvxuU])*")
    | (?P<power>\*\*) | (?P<sign>[-+]) | (?P<open>[(\[]) | (?P<close>[)\]]) | (?P<other>[*/.,=])""",
    re.VERBOSE,
)
_FOREIGN = {*keyword.kwlist} - {"True", "False", "None"}
_METHODS = ("normalized", "on")
_FUNCTIONS = ("exp", "power_series")  # of kcore.kernels, beside its classes
_NO_TEXT = ("Kernel", "Applied", "Function", "RankOne")  # its classes that text cannot make
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def parse(text: str) -> Kernel:
    """Return the kernel that a text describes: what `repr` writes, or what a user would.

    Nothing is evaluated: the text may hold numbers, strings, lists, the classes of
    `kcore.kernels`, ``exp`` and ``power_series``, the methods ``on`` and ``normalized``, the
    operators ``+ - * / **`` and parentheses.

    Parameters
    ----------
    text : str
        At most 100 000 characters, at most 100 levels deep.

    Raises
    ------
    ValueError
        Where the text is no kernel: it says where, by line and column, and what stands there.

    Examples
    --------
    >>> from kcore.kernels import parse
    >>> parse("2 * RBF(0.5) + Linear() ** 2")
    2.0 * RBF(gamma=0.5) + Linear() ** 2
    >>> parse("RBF(gamma=1).on(['age'])")
    RBF(gamma=1.0).on(['age'])
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, got {brief(text)}")
    return _Reader(text).read()


class _Reader:
    """One text: its names, and where in it a node stands."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.lines = self.text.split("\n")

    def read(self) -> Kernel:
        if len(self.text) > MAX_LENGTH:
            raise ValueError(
                f"text has {len(self.text)} characters, must have at most {MAX_LENGTH}"
            )
        self._scan()
        stripped = self.text.strip()
        try:
            tree = ast.parse(stripped, mode="eval") if stripped else None
        except SyntaxError as error:
            place = self._place(error.lineno or 1, (error.offset or 1) - 1)
            raise self._fault_at(*place, f"this is not an expression ({error.msg})") from None
        except (MemoryError, RecursionError):
            raise self._fault_at(1, 1, "the text nests too deep") from None
        if tree is None:
            raise self._fault_at(1, 1, "there is nothing")
        found = self._value(tree.body, 0)
        if not isinstance(found, Kernel):
            raise self._fault(tree.body, "this is no kernel")
        return found

    # ---- Errors

    def _fault_at(self, line: int, column: int, problem: str, what: str = "") -> ValueError:
        if not what and 1 <= line <= len(self.lines):
            what = self.lines[line - 1][column - 1 :]
        at = f"{brief(what)}: " if what else ""
        return ValueError(f"text {brief(self.text)}, line {line}, column {column}: {at}{problem}")

    def _fault(self, node: Any, problem: str) -> ValueError:
        lines = self.text.strip().split("\n")
        before = lines[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace")
        line, column = self._place(node.lineno, len(before))
        what = ast.get_source_segment(self.text.strip(), node) or ""
        return self._fault_at(line, column, problem, what)

    def _place(self, line: int, offset: int) -> tuple[int, int]:
        """Return line and column in the text as it was given, of a place in what was stripped."""
        skipped = self.text[: len(self.text) - len(self.text.lstrip())]
        shift = len(skipped.rpartition("\n")[2]) if line == 1 else 0
        return line + skipped.count("\n"), offset + shift + 1

    # ---- Before it is parsed

    def _scan(self) -> None:
        """Refuse all but the words and signs of kernels, and what nests too deep."""
        at = depth = n_signs = n_powers = 0
        while at < len(self.text):
            token = _TOKEN.match(self.text, at)
            if token is None or token["name"] in _FOREIGN:
                raise self._fault_at(*self._line_and_column(at), "this is no part of a kernel")
            kind = token.lastgroup
            at = token.end()
            if kind is None:
                continue
            depth += (kind == "open") - (kind == "close")
            n_signs = n_signs + 1 if kind == "sign" else 0
            n_powers = 0 if kind == "open" else n_powers + (kind == "power")
            if depth > MAX_DEPTH or max(n_signs, n_powers) > _MAX_RUN:
                raise self._fault_at(
                    *self._line_and_column(token.start()), "the text nests too deep"
                )

    def _line_and_column(self, at: int) -> tuple[int, int]:
        before = self.text[:at]
        return before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1

    # ---- Values

    def _value(self, node: ast.expr, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self._fault(node, "the text nests too deep")
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool | int | float | str) or node.value is None:
                return node.value
        elif isinstance(node, ast.List | ast.Tuple):
            return [self._value(item, depth + 1) for item in node.elts]
        elif isinstance(node, ast.UnaryOp):
            return self._signed(node, depth)
        elif isinstance(node, ast.BinOp):
            return self._joined(node, depth)
        elif isinstance(node, ast.Call):
            return self._call(node, depth)
        elif isinstance(node, ast.Name):
            raise self._fault(node, f"this is not known; {self._known()}")
        raise self._fault(node, "this is no part of a kernel")

    def _signed(self, node: ast.UnaryOp, depth: int) -> Any:
        value = self._value(node.operand, depth + 1)
        if isinstance(node.op, ast.UAdd | ast.USub) and _is_value(value):
            return -value if isinstance(node.op, ast.USub) else value
        raise self._fault(node, "a sign belongs to a number or a kernel")

    def _joined(self, node: ast.BinOp, depth: int) -> Any:
        """Return what operators make; those that join from the left may be many."""
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        value = self._value(spine[-1].left, depth + 1)
        for one in reversed(spine):
            value = self._apply(one, value, self._value(one.right, depth + 1))
        return value

    def _apply(self, node: ast.BinOp, left: Any, right: Any) -> Any:
        apply = _OPERATORS.get(type(node.op))
        are_kernels = [isinstance(side, Kernel) for side in (left, right)]
        if apply is None or not (_is_value(left) and _is_value(right)):
            raise self._fault(node, "operators join kernels and numbers")
        if not any(are_kernels):
            if isinstance(node.op, ast.Pow):
                raise self._fault(node, "a number has no power here")
            # As floats: whole numbers could grow without end.
            left, right = self._checked(node, lambda: (float(left), float(right)))
        elif isinstance(node.op, ast.Add | ast.Sub) and not all(are_kernels):
            raise self._fault(node, "a kernel and a number have no sum")
        elif isinstance(node.op, ast.Div) and are_kernels == [True, False]:
            return self._checked(node, lambda: (1.0 / float(right)) * left)
        elif isinstance(node.op, ast.Div) or (isinstance(node.op, ast.Pow) and are_kernels[1]):
            raise self._fault(node, "nothing is divided by, or raised to the power of, a kernel")
        return self._checked(node, lambda: apply(left, right))

    def _call(self, node: ast.Call, depth: int) -> Any:
        positional = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise self._fault(argument, "this is no part of a kernel")
            positional.append(self._value(argument, depth + 1))
        named: dict[str, Any] = {}
        for given in node.keywords:
            if given.arg is None:
                raise self._fault(given, "this is no part of a kernel")
            if given.arg in named:
                raise self._fault(given, "each parameter is given once, by its name")
            named[given.arg] = self._value(given.value, depth + 1)
        make = self._callee(node.func, depth)
        return self._checked(node, lambda: make(*positional, **named))

    def _callee(self, node: ast.expr, depth: int) -> Callable[..., Any]:
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value, depth + 1)
            if isinstance(owner, Kernel) and node.attr in _METHODS:
                return cast("Callable[..., Any]", getattr(owner, node.attr))
            raise self._fault(node, f"what a kernel has is {' and '.join(_METHODS)}")
        if isinstance(node, ast.Name):
            makers = _makers()
            if node.id in makers:
                return makers[node.id]
            raise self._fault(node, f"this is not known; {self._known()}")
        raise self._fault(node, "this is not called")

    def _known(self) -> str:
        return f"there are {', '.join(sorted(_makers()))}"

    def _checked(self, node: Any, make: Callable[[], Any]) -> Any:
        """Return what is made, and where that is refused, say where it stands."""
        try:
            return make()
        except (ArithmeticError, TypeError, ValueError) as error:
            raise self._fault(node, str(error)) from error


def _is_value(value: object) -> bool:
    return isinstance(value, Kernel) or (isinstance(value, Real) and not isinstance(value, bool))


def _makers() -> dict[str, Callable[..., Any]]:
    """Return what makes kernels, by name: whatever `kcore.kernels` has."""
    from kcore import kernels

    makers: dict[str, Callable[..., Any]] = {"slice": slice}
    for name in kernels.__all__:
        thing = getattr(kernels, name)
        is_class = isinstance(thing, type) and issubclass(thing, Kernel)
        if name in _FUNCTIONS or (is_class and name not in _NO_TEXT):
            makers[name] = thing
    return makers
