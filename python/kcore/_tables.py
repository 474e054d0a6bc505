"""Strings as samples, and data frames of numbers and strings, for kernels that take them.

Strings are str, read as UTF-8, or bytes: in a list, a NumPy array of any of its types of strings,
or a column of a data frame. Each is encoded once, without an object per letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kcore._points import Float, Part, Strings, Table
from kcore._validate import as_points, brief, is_sparse


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
    if is_sparse(X) or isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        return None
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return None
    if array.ndim != 1 or array.size == 0 or not _holds_strings(array):
        return None
    return _encode(array if array.dtype.kind in "SU" else list(X), name)


def _holds_strings(array: NDArray[Any]) -> bool:
    """Say whether a column is one of strings: any of its objects is one."""
    if array.dtype.kind in "SUT":
        return True
    return array.dtype == object and any(issubclass(kind, str | bytes) for kind in _types(array))


def _types(values: Any) -> set[type]:
    return set(map(type, values))


# ---- Frames


def _frame_parts(frame: Any, name: str) -> Table | Strings | None:
    """Return a frame as parts of columns side by side; None where there are numbers alone."""
    cells = np.asarray(frame)
    if cells.ndim != 2 or cells.dtype.kind not in "OSUT" or 0 in cells.shape:
        return None
    are_strings = [_holds_strings(cells[:, j]) for j in range(cells.shape[1])]
    if not any(are_strings):
        return None
    parts: list[Part] = []
    first = 0
    for j in range(1, len(are_strings) + 1):
        if j < len(are_strings) and not are_strings[j] and not are_strings[first]:
            continue
        if are_strings[first]:
            column = f"{name}, column {frame.columns[first]!r}"
            parts.append(_encode(cells[:, first].tolist(), column))
        else:
            parts.append(_numbers(frame, first, j, name))
        first = j
    return Table(tuple(parts)) if len(parts) > 1 else parts[0]  # type: ignore[return-value]


def _numbers(frame: Any, first: int, last: int, name: str) -> NDArray[Float]:
    """Return columns of numbers as an array, by the rules that hold for frames of numbers alone."""
    part = frame.iloc[:, first:last] if hasattr(frame, "iloc") else frame[:, first:last]
    points = as_points(part, name)
    assert isinstance(points, np.ndarray)
    return points


# ---- Encoding


def _encode(column: NDArray[Any] | Sequence[Any], name: str) -> Strings:
    """Put strings behind each other."""
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else list(column)
    kinds = _types(values)
    is_text = all(issubclass(kind, str) for kind in kinds)
    if not is_text and not all(issubclass(kind, bytes) for kind in kinds):
        _refuse(values, name)
    encoded = _as_utf8(values, name) if is_text else values
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    indptr = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return Strings(np.frombuffer(b"".join(encoded), np.uint8), indptr, is_text)


def _as_utf8(values: Sequence[str], name: str) -> list[bytes]:
    try:
        return [value.encode("utf-8") for value in values]
    except UnicodeEncodeError:
        for row, value in enumerate(values):
            try:
                value.encode("utf-8")
            except UnicodeEncodeError as error:
                raise ValueError(f"{name}: row {row} has no UTF-8 form: {error}") from None
        raise


def _refuse(values: Sequence[Any], name: str) -> None:
    """Name the first value that is not of the kind of the first string."""
    kind = next(kind for kind in (str, bytes) if any(isinstance(v, kind) for v in values))
    row = next(row for row, value in enumerate(values) if not isinstance(value, kind))
    raise TypeError(
        f"{name}: row {row} is {brief(values[row])}; strings are needed, {kind.__name__} "
        "in every row. Fill missing ones first"
    )
