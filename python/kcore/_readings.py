"""Kernels of what is made of samples: columns, a linear map, or a function of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kcore._binding import Map, Matrix, Scope, name_of
from kcore._columns import ColumnsLike, Slice, are_numbers, as_columns
from kcore._kernel import ATOM, POWER, Kernel, Node, check_kernel, set_fields, shown
from kcore._validate import as_real, as_reals, brief, is_sparse, refuse_non_finite

ReadLike: TypeAlias = ColumnsLike | Sequence[Sequence[float]] | NDArray[Any] | Map


def read_through(kernel: Kernel, phi: Any) -> Kernel:
    """Return the kernel of columns, a linear map, or a function of the samples."""
    if callable(phi):
        return Applied(kernel, phi)
    return Mapped(kernel, phi) if _is_matrix(phi) else Selected(kernel, phi)


def _is_matrix(phi: Any) -> bool:
    """Say whether it has rows."""
    if isinstance(phi, list | tuple):
        return any(isinstance(row, list | tuple | np.ndarray) for row in phi)
    return is_sparse(phi) or getattr(phi, "ndim", None) == 2


def _as_matrix(phi: Any) -> Matrix:
    matrix = as_reals(phi, "the matrix phi")
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"the matrix phi must have rows and columns, got shape {matrix.shape}")
    refuse_non_finite(matrix, "the matrix phi", ("row", "column"))
    return tuple(map(tuple, matrix.tolist()))


class Reading(Kernel):
    """What changes what a kernel reads."""

    kernel: Kernel

    def _within(self, scope: Scope) -> Scope:
        """Return what the kernel has before it, where this has `scope`."""
        raise NotImplementedError

    def _reason(self) -> str:
        return "as definite as the kernel of what it reads"

    def _is_selective(self) -> bool:
        return True

    def _resolve(self, scope: Scope) -> Kernel:
        return self._with_inner(lambda kernel: kernel._resolve(self._within(scope)))

    def _bind(self, scope: Scope) -> Kernel:
        return self.kernel._bind(self._within(scope))

    def _without_columns(self) -> Kernel:
        return self.kernel._without_columns()


@dataclass(frozen=True, repr=False)
class Selected(Reading):
    """The kernel of some columns of the samples, made by ``kernel.on(columns)``."""

    kernel: Kernel
    columns: Any

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "kernel")
        columns = as_columns(self.columns)
        set_fields(self, columns=columns, kernel=self.kernel._for_columns(columns))

    def __repr__(self) -> str:
        columns = self.columns
        text = repr(columns.plain()) if isinstance(columns, Slice) else shown(columns)
        return f"{self.kernel._inside(ATOM)}.on({text})"

    def _formula(self) -> tuple[str, int]:
        columns = self.columns
        text = columns.plain() if isinstance(columns, Slice) else [*columns]
        return f"{self.kernel._formula_inside(ATOM)} on {text}", POWER

    def _is_bound(self) -> bool:
        return are_numbers(self.columns) and self.kernel._is_bound()

    def _within(self, scope: Scope) -> Scope:
        return scope.on_columns(self.columns)

    def _nodes(self) -> list[Node]:
        if not self._is_bound():
            raise ValueError(f"the columns of {self!r} are known once there are samples")
        return [*self.kernel._nodes(), ("on", self.columns)]


@dataclass(frozen=True, repr=False)
class Mapped(Reading):
    """The kernel of A x, for a matrix A, made by ``kernel.on(A)``."""

    kernel: Kernel
    matrix: Any

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "kernel")
        set_fields(self, matrix=_as_matrix(self.matrix))

    def __repr__(self) -> str:
        rows = ", ".join(map(shown, self.matrix))
        return f"{self.kernel._inside(ATOM)}.on([{rows}])"

    def _formula(self) -> tuple[str, int]:
        rows = ", ".join(map(shown, self.matrix))
        return f"{self.kernel._formula_inside(ATOM)} on [{rows}]", POWER

    def _is_bound(self) -> bool:
        return False  # samples of another width are refused in words that name phi

    def _within(self, scope: Scope) -> Scope:
        return scope.on_matrix(self.matrix)


@dataclass(frozen=True, repr=False)
class Applied(Reading):
    """The kernel of phi(x), for a function phi of samples, made by ``kernel.on(phi)``."""

    kernel: Kernel
    phi: Any

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "kernel")
        if not callable(self.phi):
            raise TypeError(f"phi must be a function of samples, got {brief(self.phi)}")

    def __repr__(self) -> str:
        return f"{self.kernel._inside(ATOM)}.on({name_of(self.phi)})"

    def _formula(self) -> tuple[str, int]:
        return f"{self.kernel._formula_inside(ATOM)} on {name_of(self.phi)}", POWER

    def _is_bound(self) -> bool:
        return False

    def _within(self, scope: Scope) -> Scope:
        return scope.on_function(self.phi)


# ---- Parameters with a number for each column


def as_list(value: Any, name: str, *, is_positive: bool = False) -> float | tuple[float, ...]:
    """Return a finite number >= 0, or such numbers for each column; `is_positive`: > 0."""
    if not isinstance(value, list | tuple) and not getattr(value, "ndim", 0):
        number = as_real(value, name, low=0)
        if is_positive and number == 0:
            raise ValueError(f"{name} must be positive, got 0")
        return number
    numbers = as_reals(value, name)
    if numbers.ndim != 1 or not numbers.size:
        raise ValueError(
            f"{name} must be a number, or a list with one for each column, got shape "
            f"{numbers.shape}"
        )
    refuse_non_finite(numbers, name, ("entry",))
    is_wrong = numbers <= 0 if is_positive else numbers < 0
    if is_wrong.any():
        entry = int(is_wrong.argmax())
        words = "positive" if is_positive else "0 or more"
        raise ValueError(f"{name}: entry {entry} is {numbers[entry]}, must be {words}")
    return tuple(numbers.tolist())


def as_gamma(value: Any) -> float | str | tuple[float, ...]:
    """Return gamma: a number, one for each column, or how a fit finds it."""
    if not isinstance(value, str):
        return as_list(value, "gamma")
    if value not in ("scale", "auto"):
        raise ValueError(
            "gamma must be a finite number >= 0, a list with one for each column, 'scale' or "
            f"'auto', got {brief(value)}"
        )
    return value
