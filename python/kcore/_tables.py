"""Strings as samples, and data frames of numbers and strings, for kernels that take them.

Strings are str, read as UTF-8, or bytes: in a list, a NumPy array of any of its types of strings,
or a column of a data frame. Each is encoded once, without an object per letter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kcore._points import Float, Part, Strings, Table
from kcore._validate import as_points, brief, is_sparse

_PIECE = 1 << 16  # strings that are looked at between two chances for a Ctrl-C


def as_table(X: Any, name: str) -> Strings | Table | None:
    """Return strings, or a data frame that has some, as the core reads them; else None.

    Parameters
    ----------
    X : object
        A sequence of strings, or a data frame.
    name : str
        What messages call it.
    """
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return _frame_parts(X, name)
    if isinstance(X, str | bytes | bytearray) or is_sparse(X) or not hasattr(X, "__len__"):
        return None
    # NumPy would make strings of what stands among them.
    if isinstance(X, Sequence) and not isinstance(X, memoryview):
        return _encode(X, name) if _has_strings(X) else None
    if isinstance(listed := _as_list(X), list):
        return _encode(listed, name) if _has_strings(listed) else None
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return None
    if array.size == 0 or array.ndim == 0 or not _holds_strings(array):
        return None
    if array.ndim > 1:
        raise TypeError(
            f"{name} is an array of strings of shape {array.shape}; kernels take strings in a list "
            "or a 1-D array, and several columns in a data frame"
        )
    return _encode(array, name)


def _as_list(X: Any) -> Any:
    """Return the cells of a column of a data frame, which NumPy might cut at a byte of 0."""
    return X.to_list() if not isinstance(X, np.ndarray) and hasattr(X, "to_list") else None


def _has_strings(values: Any) -> bool:
    """Say whether any of these objects is a string."""
    return any(issubclass(kind, str | bytes) for kind in _types(values))


def _holds_strings(array: NDArray[Any]) -> bool:
    """Say whether an array is one of strings: any of its objects is one."""
    return array.dtype.kind in "SUT" or (array.dtype == object and _has_strings(array.flat))


def _types(values: Iterable[Any]) -> set[type]:
    """Return the types of objects."""
    return {kind for piece in _pieces(values) for kind in set(map(type, piece))}


def _pieces(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Give objects some at a time: Ctrl-C is heard between pieces."""
    objects = iter(values)
    while piece := list(itertools.islice(objects, _PIECE)):
        yield piece


# ---- Frames


def _frame_parts(frame: Any, name: str) -> Table | Strings | None:
    """Return a frame as parts of columns side by side; None where there are numbers alone."""
    shape = getattr(frame, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2 or 0 in shape:
        return None
    strings = {}
    for j, dtype in enumerate(frame.dtypes):
        if _is_of_numbers(dtype):
            continue
        values = _column(frame, j)
        if _has_strings(values):
            strings[j] = values
        elif all(map(_is_missing, values)):  # of one row to predict, a category that is missing
            raise TypeError(
                f"{name}, column {frame.columns[j]!r}: row 0 is {brief(values[0])}, a missing "
                "value. Fill missing ones first"
            )
    if not strings:
        return None
    parts: list[Part] = []
    first = 0
    for j in range(1, shape[1] + 1):
        if j < shape[1] and j not in strings and first not in strings:
            continue
        if first in strings:
            column = f"{name}, column {frame.columns[first]!r}"
            parts.append(_encode(strings[first], column))
        else:
            parts.append(_numbers(frame, first, j, name))
        first = j
    only = parts[0]
    return only if len(parts) == 1 and isinstance(only, Strings) else Table(tuple(parts))


def _is_of_numbers(dtype: Any) -> bool:
    """Say whether a column of this type, of whatever library, cannot hold strings."""
    if isinstance(getattr(dtype, "kind", None), str):
        return dtype.kind in "biuf"
    return hasattr(dtype, "is_numeric") and bool(dtype.is_numeric())


def _column(frame: Any, j: int) -> list[Any]:
    """Return the cells of a column as Python has them."""
    column = frame.iloc[:, j] if hasattr(frame, "iloc") else frame[:, j]
    return list(column.to_list())


def _is_missing(cell: Any) -> bool:
    """Say whether a cell of a data frame is None, NaN, or what pandas has for them."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float) and cell != cell


def _numbers(frame: Any, first: int, last: int, name: str) -> NDArray[Float]:
    """Return columns of numbers as an array, by the rules that hold for frames of numbers alone."""
    part = frame.iloc[:, first:last] if hasattr(frame, "iloc") else frame[:, first:last]
    points = as_points(part, name)
    assert isinstance(points, np.ndarray)
    return points


# ---- Encoding


def _encode(column: Any, name: str) -> Strings:
    """Put strings behind each other."""
    kinds = _types(column)
    is_text = all(issubclass(kind, str) for kind in kinds)
    if not is_text and not all(issubclass(kind, bytes) for kind in kinds):
        _refuse(column, name)
    indptr = np.zeros(len(column) + 1, np.int64)
    joined = []
    row = 0
    for piece in _pieces(column):
        encoded = _as_utf8(piece, row, name) if is_text else piece
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        indptr[row + 1 : row + len(encoded) + 1] = lengths
        joined.append(b"".join(encoded))
        row += len(encoded)
    np.cumsum(indptr, out=indptr)
    return Strings(np.frombuffer(b"".join(joined), np.uint8), indptr, is_text)


def _as_utf8(values: Sequence[str], first: int, name: str) -> list[bytes]:
    """Return strings as bytes; `first` is the row of the first one."""
    try:
        return [value.encode("utf-8") for value in values]
    except UnicodeEncodeError:
        for row, value in enumerate(values, first):
            try:
                value.encode("utf-8")
            except UnicodeEncodeError as error:
                raise ValueError(f"{name}: row {row} has no UTF-8 form: {error}") from None
        raise


def _refuse(values: Sequence[Any], name: str) -> None:
    """Name the first value that is not of the kind of the first string."""
    first = next(value for value in values if isinstance(value, str | bytes))
    kind = str if isinstance(first, str) else bytes
    row = next(row for row, value in enumerate(values) if not isinstance(value, kind))
    raise TypeError(
        f"{name}: row {row} is {brief(values[row])}; strings are needed, {kind.__name__} "
        "in every row. Fill missing ones first"
    )
