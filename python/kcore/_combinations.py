"""What makes kernels of kernels: sums, products, powers, exponentials, series, normalization."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from kcore._gradient import NodeSlopes, Slope
from kcore._kernel import (
    ATOM,
    MAX_DEGREE,
    POWER,
    PRODUCT,
    SUM,
    Kernel,
    Node,
    check_kernel,
    set_fields,
)
from kcore._validate import as_integer, as_real, as_reals, brief

_C = TypeVar("_C", bound="_Chain")


def written(value: object) -> str:
    """Return a parameter as formulas show it: numbers without what says nothing."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(written, value))}]"
    return str(value)


# ---- Sums and products

_PLAIN_NAME = re.compile(r"k[0-9]+")


def _check_name(name: str, kind: str) -> None:
    """Refuse what could not be a part of ``kernel__name__gamma``, or is taken."""
    if _PLAIN_NAME.fullmatch(name):
        raise ValueError(
            f"{kind}: {name!r} cannot name an operand: k1, k2, ... are those without a name"
        )
    if not name.isidentifier() or "__" in name or name.startswith("_") or name.endswith("_"):
        raise ValueError(
            f"{kind}: {name!r} cannot name an operand: names are identifiers without '__' that "
            "neither begin nor end with '_'"
        )
    if keyword.iskeyword(name) or unicodedata.normalize("NFKC", name) != name:
        raise ValueError(
            f"{kind}: {name!r} cannot name an operand: Python would not read it as this name, so "
            "that repr could not be evaluated"
        )


def _is_pair(given: object) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str)


@dataclass(frozen=True, repr=False, init=False)
class _Chain(Kernel):
    """Two kernels or more, joined from the left; operands of the same kind are taken apart.

    Only operands without a name are: one with a name stays one operand. Values are those of
    ``k1 + k2 + ...`` from the left, whatever the parentheses were.
    """

    kernels: tuple[Kernel, ...]
    names: tuple[str, ...]

    _op: ClassVar[str]

    def __init__(self, /, *kernels: Kernel | tuple[str, Kernel], **named: Kernel) -> None:
        kind = type(self).__name__
        if len(kernels) + len(named) < 2:
            raise TypeError(f"{kind} takes two kernels or more, got {len(kernels) + len(named)}")
        found = list(self._operands_of(kernels, named))
        names = tuple(name or f"k{i}" for i, (name, _) in enumerate(found, 1))
        if len(set(names)) < len(names):
            repeated = next(name for i, name in enumerate(names) if name in names[:i])
            raise ValueError(f"{kind}: two operands are named {repeated!r}")
        set_fields(self, kernels=tuple(kernel for _, kernel in found), names=names)

    def _operands_of(
        self, given: tuple[Any, ...], named: dict[str, Kernel]
    ) -> Iterator[tuple[str | None, Kernel]]:
        """Yield names, or None, and operands."""
        pairs = [one if _is_pair(one) else (f"k{i}", one) for i, one in enumerate(given, 1)]
        for place, (name, kernel) in enumerate([*pairs, *named.items()], 1):
            check_kernel(kernel, name)
            if name != f"k{place}":
                _check_name(name, type(self).__name__)
                yield name, kernel
            elif isinstance(kernel, type(self)):
                for inner, operand in zip(kernel.names, kernel.kernels, strict=True):
                    yield None if _PLAIN_NAME.fullmatch(inner) else inner, operand
            else:
                yield None, kernel

    def _is_named(self) -> bool:
        return any(not _PLAIN_NAME.fullmatch(name) for name in self.names)

    def _params(self) -> dict[str, Any]:
        return dict(zip(self.names, self.kernels, strict=True))

    def _remade(self: _C, params: dict[str, Any]) -> _C:
        return type(self)(**params)

    def _with_inner(self: _C, change: Callable[[Kernel], Kernel]) -> _C:
        made = object.__new__(type(self))  # nothing is taken apart
        # A list: map would take a StopIteration of a user's function for the end of the operands.
        changed = [change(kernel) for kernel in self.kernels]
        set_fields(made, kernels=tuple(changed), names=self.names)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        pairs = self._params().items()
        return type(self), tuple(
            k if _PLAIN_NAME.fullmatch(name) else (name, k) for name, k in pairs
        )

    def __repr__(self) -> str:
        if not self._is_named():
            return self._joined()
        first_named = next(i for i, name in enumerate(self.names) if name != f"k{i + 1}")
        shown = [repr(kernel) for kernel in self.kernels[:first_named]]
        for name, kernel in list(self._params().items())[first_named:]:
            shown.append(f"{name}={kernel!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _inside(self, binding: int) -> str:
        return repr(self) if self._is_named() else super()._inside(binding)

    def _joined(self) -> str:
        raise NotImplementedError

    def _operand_formula(self, name: str, kernel: Kernel, binding: int) -> str:
        if _PLAIN_NAME.fullmatch(name):
            return kernel._formula_inside(binding)
        return f"{{{name}: {kernel}}}"

    def _nodes(self) -> list[Node]:
        nodes = self.kernels[0]._nodes()
        for kernel in self.kernels[1:]:
            nodes += [*kernel._nodes(), (self._op, ())]
        return nodes

    def _first(self, definiteness: tuple[str, ...]) -> str | None:
        """Return what is said of the first operand that is so definite."""
        for name, kernel in self._params().items():
            if kernel.definiteness in definiteness:
                return f"{name} is {kernel.definiteness}"
        return None


@dataclass(frozen=True, repr=False, init=False)
class Sum(_Chain):
    """K(x, z) = k1(x, z) + k2(x, z) + ..., made by ``k1 + k2 + ...``.

    Operands may have names, by which their parameters are found: ``Sum(seq=K1, table=K2)`` has
    ``seq__gamma``; so does ``Sum(("seq", K1), ("table", K2))``. Operands without one are k1, k2,
    ... by their places.

    Examples
    --------
    >>> from kcore.kernels import RBF, Linear, Sum
    >>> kernel = Sum(near=RBF(2), far=RBF(0.1)) + Linear()
    >>> kernel
    Sum(near=RBF(gamma=2.0), far=RBF(gamma=0.1), k3=Linear())
    >>> kernel.replace(far__gamma=0.2)
    Sum(near=RBF(gamma=2.0), far=RBF(gamma=0.2), k3=Linear())
    >>> print(kernel)
    {near: exp(-2 |x-z|^2)} + {far: exp(-0.1 |x-z|^2)} + x.z
    """

    _binding: ClassVar[int] = SUM
    _op: ClassVar[str] = "sum"

    def _joined(self) -> str:
        return " + ".join(kernel._inside(PRODUCT) for kernel in self.kernels)

    def _formula(self) -> tuple[str, int]:
        text = ""
        for name, kernel in self._params().items():
            term = self._operand_formula(name, kernel, PRODUCT)
            is_less = bool(text) and term.startswith("-")
            text += f" - {term[1:]}" if is_less else f"{' + ' if text else ''}{term}"
        return text, SUM

    def _reason(self) -> str:
        indefinite = self._first(("indefinite",))
        if indefinite is not None:
            return f"a sum is as definite as its operands, {indefinite}"
        if self._first(("conditional",)) is not None:
            return "a sum of conditional and perhaps positive kernels"
        return "a sum of positive kernels"


@dataclass(frozen=True, repr=False, init=False)
class Product(_Chain):
    """K(x, z) = k1(x, z) k2(x, z) ..., made by ``k1 * k2 * ...``; operands may have names.

    Examples
    --------
    >>> from kcore.kernels import RBF, Linear, Product
    >>> Product(a=RBF(2), b=Linear()).get_params()["a__gamma"]
    2.0
    """

    _binding: ClassVar[int] = PRODUCT
    _op: ClassVar[str] = "product"

    def _joined(self) -> str:
        first, *others = self.kernels  # first may be scaled: 2.0 * k1 * k2 reads as it was made
        return " * ".join([first._inside(PRODUCT), *(k._inside(POWER) for k in others)])

    def _formula(self) -> tuple[str, int]:
        params = list(self._params().items())
        first = self._operand_formula(*params[0], PRODUCT)
        others = (self._operand_formula(name, kernel, POWER) for name, kernel in params[1:])
        return " ".join([first, *others]), PRODUCT

    def _reason(self) -> str:
        other = self._first(("conditional", "indefinite"))
        if other is not None:
            return f"a product needs positive kernels (Schur), {other}"
        return "a product of positive kernels (Schur)"


# ---- Kernels of one kernel


@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """K(x, z) = factor kernel(x, z), made by ``factor * kernel``; indefinite for a factor < 0."""

    factor: float
    kernel: Kernel

    _binding: ClassVar[int] = PRODUCT

    def __post_init__(self) -> None:
        set_fields(self, factor=as_real(self.factor, "factor"))
        check_kernel(self.kernel, "kernel")

    def __repr__(self) -> str:
        return f"{self.factor!r} * {self.kernel._inside(POWER)}"

    def _formula(self) -> tuple[str, int]:
        inner = self.kernel._formula_inside(POWER)
        return f"-{inner}" if self.factor == -1 else f"{written(self.factor)} {inner}", PRODUCT

    def _reason(self) -> str:
        if self.factor == 0:
            return "the zero kernel"
        if self.factor < 0:
            return f"a negative multiple, by {written(self.factor)}"
        return f"a positive multiple is as definite as its kernel, {self.kernel.definiteness}"

    def _nodes(self) -> list[Node]:
        return [*self.kernel._nodes(), ("scaled", (self.factor,))]


@dataclass(frozen=True, repr=False)
class Power(Kernel):
    """K(x, z) = kernel(x, z)^degree with degree in 0 .. 1000, made by ``kernel ** degree``."""

    kernel: Kernel
    degree: int

    _binding: ClassVar[int] = POWER

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "kernel")
        set_fields(self, degree=as_integer(self.degree, "degree", low=0, high=MAX_DEGREE))

    def __repr__(self) -> str:
        return f"{self.kernel._inside(ATOM)} ** {self.degree}"

    def _formula(self) -> tuple[str, int]:
        inner = self.kernel._formula()[0]
        return f"({inner})^{self.degree}", POWER

    def _reason(self) -> str:
        if self.degree == 0:
            return "the constant 1"
        if self.degree == 1:
            return f"the kernel itself, {self.kernel.definiteness}"
        if self.kernel.definiteness == "positive":
            return "a power of a positive kernel (Schur)"
        return f"a power needs a positive kernel (Schur), this one is {self.kernel.definiteness}"

    def _nodes(self) -> list[Node]:
        return [*self.kernel._nodes(), ("power", (self.degree,))]


@dataclass(frozen=True, repr=False)
class Exponential(Kernel):
    """K(x, z) = exp(kernel(x, z)), made by ``exp(kernel)``."""

    kernel: Kernel

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "kernel")

    def __repr__(self) -> str:
        return f"exp({self.kernel!r})"

    def _formula(self) -> tuple[str, int]:
        return f"exp({self.kernel})", ATOM

    def _reason(self) -> str:
        known = self.kernel.definiteness
        if known == "positive":
            return "exp of a positive kernel, a series of its powers with factors > 0"
        if known == "conditional":
            return "exp of a conditional kernel (Schoenberg)"
        return "exp needs a conditional or positive kernel, this one is indefinite"

    def _nodes(self) -> list[Node]:
        return [*self.kernel._nodes(), ("exp", ())]


@dataclass(frozen=True, repr=False)
class PowerSeries(Kernel):
    """K(x, z) = sum_i coefficients[i] kernel(x, z)^i, made by ``power_series(kernel, ...)``.

    Values are computed by Horner's rule from one value of the inner kernel.
    """

    kernel: Kernel
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "kernel")
        set_fields(self, coefficients=_as_coefficients(self.coefficients))

    def __repr__(self) -> str:
        return f"power_series({self.kernel!r}, {[*self.coefficients]!r})"

    def _formula(self) -> tuple[str, int]:
        terms = [
            f"{written(factor)}{['', ' k'][i > 0]}{f'^{i}' if i > 1 else ''}"
            for i, factor in enumerate(self.coefficients)
            if factor != 0
        ]
        text = " + ".join(terms or ["0"]).replace("+ -", "- ")
        return f"({text} with k = {self.kernel})", ATOM

    def _reason(self) -> str:
        known = self.kernel.definiteness
        for i, factor in enumerate(self.coefficients):
            if factor < 0:
                return f"a series with a negative factor, coefficients[{i}] is {written(factor)}"
        if not any(self.coefficients[1:]):
            return "a constant that is not negative"
        if not any(self.coefficients[2:]):
            return f"a constant, and a positive multiple of a kernel that is {known}"
        if known == "positive":
            return "a series of powers of a positive kernel (Schur), without a negative factor"
        return f"a series of powers needs a positive kernel (Schur), this one is {known}"

    def _nodes(self) -> list[Node]:
        return [*self.kernel._nodes(), ("series", self.coefficients)]

    def _take_slopes(self, nodes: list[NodeSlopes]) -> dict[str, Slope]:
        return {"coefficients": nodes.pop().lists["coefficients"]}


def _as_coefficients(given: Any) -> tuple[float, ...]:
    numbers = as_reals(given, "coefficients")
    if np.ndim(given) != 1 or not 1 <= numbers.size <= MAX_DEGREE + 1:
        raise ValueError(f"coefficients must be 1 to {MAX_DEGREE + 1} numbers, got {brief(given)}")
    return tuple(as_real(value, f"coefficients[{i}]") for i, value in enumerate(numbers.tolist()))


@dataclass(frozen=True, repr=False)
class Normalized(Kernel):
    """K(x, z) = kernel(x, z) / sqrt(kernel(x, x) kernel(z, z)), made by ``kernel.normalized()``."""

    kernel: Kernel

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "kernel")

    def __repr__(self) -> str:
        return f"{self.kernel._inside(ATOM)}.normalized()"

    def _formula(self) -> tuple[str, int]:
        return f"normalized({self.kernel})", ATOM

    def _reason(self) -> str:
        known = self.kernel.definiteness
        if known == "positive":
            return "a positive kernel times f(x) f(z), f(x) = K(x, x)^(-1/2)"
        return f"normalization needs a positive kernel, this one is {known}"

    def _nodes(self) -> list[Node]:
        return [*self.kernel._nodes(), ("normalized", ())]
