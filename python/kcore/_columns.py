"""Columns that a kernel reads: numbers, names of a data frame, slices, masks; as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kcore._validate import as_integer, brief

ColumnsLike: TypeAlias = int | str | slice | Sequence[int] | Sequence[str] | NDArray[Any]

MAX_COLUMN = 2**31 - 1
MAX_COLUMNS = 2**24  # of a slice, which is written out


def _as_number(value: Any) -> int:
    return as_integer(value, "columns", low=-MAX_COLUMN, high=MAX_COLUMN)


@dataclass(frozen=True)
class Slice:
    """A slice that can be hashed; it equals no tuple, since numbers of columns are one."""

    start: int | None
    stop: int | None
    step: int | None

    def plain(self) -> slice:
        """Return it as Python has it."""
        return slice(self.start, self.stop, self.step)


Columns: TypeAlias = tuple[int, ...] | tuple[str, ...] | Slice


def _listed(columns: Any) -> list[Any]:
    """Return the items of a sequence or of a 1-D array."""
    if isinstance(columns, list | tuple | range):
        return list(columns)
    try:
        array = np.asarray(columns)
        if array.ndim == 1 and not isinstance(columns, dict | set):
            return list(array.tolist())
    except Exception:  # what an object that is no array does when it is made into one
        pass
    raise TypeError(
        f"columns must be numbers or names of columns, a slice or a mask, got {brief(columns)}"
    )


def as_columns(columns: Any) -> Columns:
    """Return columns as a value: a slice, numbers or names."""
    if isinstance(columns, Slice):
        return columns
    if isinstance(columns, slice):
        ends = (columns.start, columns.stop, columns.step)
        return Slice(*(None if end is None else _as_number(end) for end in ends))
    if isinstance(columns, str | Integral):
        columns = [columns]
    listed = _listed(columns)
    if listed and all(isinstance(column, bool | np.bool_) for column in listed):
        listed = [number for number, is_wanted in enumerate(listed) if is_wanted]
    if not listed:
        raise ValueError("columns must not be empty")
    found: tuple[str, ...] | tuple[int, ...]
    if all(isinstance(column, str) for column in listed):
        found = tuple(str(column) for column in listed)
    else:
        found = tuple(_as_number(column) for column in listed)
    if len(set(found)) < len(found):
        raise ValueError(f"columns has {_first_repeated(found)!r} twice")
    return found


def _first_repeated(values: Sequence[Any]) -> Any:
    return next(value for i, value in enumerate(values) if value in values[:i])


def are_numbers(columns: Columns) -> bool:
    """Say whether these are numbers of columns, counted from the first."""
    if isinstance(columns, Slice):
        return False
    return all(isinstance(column, int) and column >= 0 for column in columns)


def column_numbers(
    columns: Columns, n_columns: int, names: Sequence[str] | None
) -> tuple[int, ...]:
    """Return the numbers of columns of samples that have so many, with these names."""
    if isinstance(columns, Slice):
        selected = range(n_columns)[columns.plain()]
        if not 1 <= len(selected) <= MAX_COLUMNS:
            raise ValueError(
                f"columns: {columns.plain()} has {len(selected) or 'none'} of the {n_columns} "
                f"columns of X, must have 1 to {MAX_COLUMNS}"
            )
        return tuple(selected)
    found = tuple(_number(column, n_columns, names) for column in columns)
    if len(set(found)) < len(found):
        raise ValueError(f"columns has {_first_repeated(found)!r} twice")
    return found


def _number(column: int | str, n_columns: int, names: Sequence[str] | None) -> int:
    if isinstance(column, str):
        if names is None:
            raise ValueError(f"columns: X has no column names, so none is {column!r}")
        if column not in names:
            raise ValueError(f"columns: X has no column {column!r}")
        if names.count(column) > 1:
            raise ValueError(f"columns: X has {names.count(column)} columns {column!r}")
        return list(names).index(column)
    if not -n_columns <= column < n_columns:
        raise ValueError(f"columns: {column} is not among the {n_columns} columns of X")
    return column % n_columns
