"""Samples in the forms that the core reads: arrays, CSR matrices, strings, tables of both."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from kcore import _core

Float: TypeAlias = np.float32 | np.float64

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)


class CSR(NamedTuple):
    """The three arrays of a CSR matrix, in a form that the core reads as it is."""

    data: NDArray[Float]
    indices: NDArray[np.int32 | np.int64]
    indptr: NDArray[np.int32 | np.int64]
    shape: tuple[int, int]

    @property
    def dtype(self) -> np.dtype[Float]:
        """Type of the values."""
        return self.data.dtype


class Strings(NamedTuple):
    """Strings, one behind the other: the bytes of string i are data[indptr[i] : indptr[i + 1]]."""

    data: NDArray[np.uint8]
    indptr: NDArray[np.int64]
    is_text: bool  # str as UTF-8; else bytes

    @property
    def shape(self) -> tuple[int, int]:
        """Number of strings, and 1."""
        return len(self.indptr) - 1, 1

    @property
    def dtype(self) -> np.dtype[Float]:
        """Type of their kernel values."""
        return _FLOAT64

    def values(self) -> list[str] | list[bytes]:
        """Return the strings as Python has them."""
        data, ends = self.data.tobytes(), self.indptr.tolist()
        found = [data[begin:end] for begin, end in itertools.pairwise(ends)]
        return [value.decode("utf-8") for value in found] if self.is_text else found


Part: TypeAlias = NDArray[Float] | CSR | Strings


class Table(NamedTuple):
    """Columns of a data frame, those side by side that are alike: numbers, or one of strings."""

    parts: tuple[Part, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns in all parts."""
        return self.parts[0].shape[0], sum(part.shape[1] for part in self.parts)

    @property
    def dtype(self) -> np.dtype[Float]:
        """Type of kernel values."""
        return max(part.dtype for part in self.parts)

    def values(self) -> NDArray[np.object_]:
        """Return the cells, as Python has them."""
        cells = np.empty(self.shape, dtype=object)
        column = 0
        for part in self.parts:
            width = part.shape[1]
            if isinstance(part, Strings):  # one by one: an array of NumPy's strings ends them at 0
                for row, value in enumerate(part.values()):
                    cells[row, column] = value
            else:
                cells[:, column : column + width] = part
            column += width
        return cells


Points: TypeAlias = NDArray[Float] | CSR  # numbers: what most learners know of
AnyPoints: TypeAlias = Part | Table


def parts_of(points: AnyPoints) -> tuple[Part, ...]:
    """Return the parts of samples, mostly one."""
    return points.parts if isinstance(points, Table) else (points,)


def texts_of(points: AnyPoints) -> tuple[bool, ...] | None:
    """Return which parts of strings are text; None where samples are numbers alone."""
    if not isinstance(points, Table | Strings):
        return None
    return tuple(part.is_text for part in parts_of(points) if isinstance(part, Strings))


def refuse_other_texts(
    points: AnyPoints, texts: tuple[bool, ...] | None, name: str, where: str
) -> None:
    """Refuse bytes where str is known, and str where bytes are: none would be equal.

    `texts` is what `texts_of` gave of the samples known; columns that are of another kind
    altogether are left to the core, which names them.
    """
    now = texts_of(points)
    if now is None or texts is None or len(now) != len(texts) or now == texts:
        return
    column = 0
    ours = iter(texts)
    for part in parts_of(points):
        if isinstance(part, Strings) and next(ours) != part.is_text:
            found, wanted = ("str", "bytes") if part.is_text else ("bytes", "str")
            raise TypeError(f"{name}: column {column} holds {found}, {where} it held {wanted}")
        column += part.shape[1]


def arrays_of(points: AnyPoints) -> list[NDArray[Any]]:
    """Return all arrays whose memory the core reads."""
    arrays: list[NDArray[Any]] = []
    for part in parts_of(points):
        if isinstance(part, CSR):
            arrays += part[:3]
        elif isinstance(part, Strings):
            arrays += part[:2]
        else:
            arrays.append(part)
    return arrays


# ---- Some of them


_P = TypeVar("_P", bound=AnyPoints)


def take_rows(points: _P, rows: NDArray[np.integer[Any]]) -> _P:
    """Return a copy of some rows that shares no memory with the samples."""
    if isinstance(points, Table):
        return cast("_P", Table(tuple(take_rows(part, rows) for part in points.parts)))
    return cast("_P", _take_part(cast("Part", points), rows))


def _take_part(points: Part, rows: NDArray[np.integer[Any]]) -> Part:
    if not isinstance(points, CSR | Strings):
        some: NDArray[Float] = points[rows]
        return some
    entries, ends = _entries_of(points, rows)
    indptr = np.concatenate([[0], ends]).astype(points.indptr.dtype)
    taken: CSR | Strings
    if isinstance(points, Strings):
        own = indptr.astype(np.int64, copy=False)
        taken = Strings(points.data.take(entries), own, points.is_text)
    else:
        shape = (len(rows), points.shape[1])
        taken = CSR(points.data.take(entries), points.indices.take(entries), indptr, shape)
    if len(rows):  # where there are none, there is nothing to check
        _core.check_points(taken, b"X")
    return taken


def _entries_of(
    points: CSR | Strings, rows: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the values of some rows, and where each row ends among them."""
    most = len(points.data)
    begin = np.clip(points.indptr[rows], 0, most)  # whatever another thread may write there
    counts = np.maximum(np.clip(points.indptr[1:][rows], 0, most) - begin, 0)
    ends = np.cumsum(counts, dtype=np.int64)
    entries = np.repeat(begin - (ends - counts), counts)
    entries += np.arange(len(entries))
    return entries, ends


def as_dense(points: Points) -> NDArray[Any]:
    """Return samples of numbers as an array."""
    if not isinstance(points, CSR):
        return cast("NDArray[Any]", points)
    from scipy.sparse import csr_array

    own = CSR(points.data.copy(), points.indices.copy(), points.indptr.copy(), points.shape)
    _core.check_points(own, b"X")
    return np.asarray(csr_array(own[:3], shape=own.shape).toarray())


# ---- As the core gives them, and as pickles hold them


def from_core(
    parts: Sequence[Any], dtype: type[Float], texts: tuple[bool, ...] | None
) -> AnyPoints:
    """Return points of the parts that the core gives; `texts` as `texts_of` gave them."""
    n_strings = sum(isinstance(part, tuple) and len(part) == 2 for part in parts)
    known = texts or ()
    if n_strings != len(known):
        raise ValueError(f"there are {n_strings} columns of strings, {len(known)} are described")
    are_text = iter(known)
    found: list[Part] = []
    for part in parts:
        if not isinstance(part, tuple):
            found.append(part.astype(dtype, copy=False))
        elif len(part) == 2:
            found.append(Strings(*part, next(are_text)))
        else:
            data, indices, indptr, n_columns = part
            shape = (len(indptr) - 1, n_columns)
            found.append(
                CSR(data.astype(dtype, copy=False), indices.astype(np.int64), indptr, shape)
            )
    return found[0] if len(found) == 1 else Table(tuple(found))


def to_plain(points: AnyPoints | None) -> Any:
    """Return what a pickle holds of points: arrays, and plain tuples of them."""
    if isinstance(points, Table):
        return (tuple(to_plain(part) for part in points.parts),)
    return tuple(points) if isinstance(points, CSR | Strings) else points


def from_plain(plain: Any) -> Any:
    """Return the points again, by the number of fields."""
    if not isinstance(plain, tuple):
        return plain
    if len(plain) == 1:
        return Table(tuple(from_plain(part) for part in plain[0]))
    return CSR(*plain) if len(plain) == 4 else Strings(*plain)
