"""What users hand over, made fit for the core: the only place that may copy X.

Taken without a copy: float32 and float64 arrays of any strides (C, Fortran, negative, zero,
read-only, memory-mapped), data frames of one such dtype, CSR matrices with int32 or int64 indices.
Converted: integers, booleans and longdouble to float64, float16 to float32, foreign byte order and
unaligned memory to the native form, lists, and other sparse formats to CSR. Refused by name:
complex, object and string data, masked entries, anything that is not 2-D, empty input. NaN and
infinity are found by the core, which reads every value anyway, and named with row and column.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._points import CSR, AnyPoints, Float, Points, arrays_of, as_dense

_NEXT_STEP = "Encode categories first, as with scikit-learn's OneHotEncoder"

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)


# ---- Samples


def as_points(X: Any, name: str) -> Points:
    """Return the samples `X` as an array or a CSR triple that the core can read.

    Parameters
    ----------
    X : array_like or sparse matrix of shape (n_samples, n_features)
        The samples, in rows.
    name : str
        What messages call them.

    Raises
    ------
    TypeError
        Where the values are not real numbers.
    ValueError
        Where the shape is not that of a table with at least one row and one column.
    """
    if type(X) is np.ndarray:  # The common case first, for microsecond calls.
        is_real = X.dtype is _FLOAT64 or X.dtype is _FLOAT32
        if is_real and X.ndim == 2 and X.size and X.flags.aligned:
            return X
    return _csr_points(X, name) if is_sparse(X) else _dense_points(X, name)


def as_objects(X: Any) -> NDArray[np.object_] | None:
    """Return a sequence of strings, or other things that are no numbers, as a 1-D array; else None.

    Rows of different lengths, such as time series, are such things.
    """
    has_columns = is_sparse(X) or hasattr(X, "columns") or isinstance(X, str | bytes)
    if has_columns or not hasattr(X, "__len__"):
        return None
    try:
        array = np.asarray(X)
        if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "OSUT":
            return None
    except ValueError:  # rows of different lengths
        pass
    objects = np.empty(len(X), dtype=object)
    for k, thing in enumerate(X):  # one by one: they stay as they are
        objects[k] = thing
    return objects


def _dense_points(X: Any, name: str) -> NDArray[Float]:
    array = _as_array(X, name)
    target = _real_dtype(array.dtype, name)
    _check_shape(array.shape, name)
    if array.dtype != target or not array.flags.aligned:
        array = _cast(array, target)
    return array


def _as_array(X: Any, name: str) -> NDArray[Any]:
    """Return `X` as a plain array of whatever dtype but object, without losing a mask."""
    if isinstance(X, str | bytes | bytearray):
        raise TypeError(no_strings(name))
    refuse_masked(X, name)
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"{name} is not a table of numbers: {error}") from error
    if array.dtype != object:
        return array
    if array.ndim == 2 and hasattr(X, "dtypes"):
        return _frame_array(X, array, name)
    raise TypeError(_no_objects(X, array, name))


def _frame_array(frame: Any, array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a frame whose columns have no common NumPy dtype as float64, missing values as NaN."""
    if hasattr(frame, "isna"):
        array = np.where(frame.isna(), np.nan, array)
    for k, (column, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        kind = getattr(dtype, "kind", "O")
        if kind not in "biuf" and not (kind == "O" and _are_numbers(array[:, k])):
            raise TypeError(
                f"{name} has column {column!r} of dtype {dtype}; kernels take real numbers. "
                f"{_NEXT_STEP}"
            )
    return array.astype(np.float64)


def _are_numbers(values: NDArray[Any]) -> bool:
    """Say whether objects are real numbers or missing; numbers that are written out are not."""
    if any(issubclass(kind, str | bytes) for kind in set(map(type, values))):
        return False
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _real_dtype(dtype: np.dtype[Any], name: str) -> np.dtype[Float]:
    """Return the dtype in which values of `dtype` are computed."""
    if dtype.kind == "f":
        return _FLOAT32 if dtype.itemsize <= 4 else _FLOAT64
    if dtype.kind in "biu":
        return _FLOAT64
    if dtype.kind in "SUT":
        raise TypeError(no_strings(name))
    raise TypeError(f"{name} has dtype {dtype}; kernels take real numbers")


def _cast(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert to native, aligned memory; a longdouble beyond float64 becomes infinity."""
    with np.errstate(over="ignore"):
        return array.astype(dtype, order="K", subok=False)


def _as_plain(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a contiguous 1-D array of `dtype`, copied only where it is not one."""
    flags = array.flags
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if array.dtype == dtype and flags.c_contiguous and flags.aligned:
        return array
    return np.ascontiguousarray(_cast(array, dtype))


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2:
        hint = ""
        if len(shape) == 1 and shape[0] > 0:
            hint = (
                f"; reshape it to (1, {shape[0]}) if it is one sample, "
                f"to ({shape[0]}, 1) if it is one feature"
            )
        raise ValueError(f"{name} must be 2-D, got shape {shape}{hint}")
    for size, what in zip(shape, ("rows", "columns"), strict=True):
        if size == 0:
            raise ValueError(f"{name} has no {what}, got shape {shape}")


def no_strings(name: str) -> str:
    """Return the text of an error about strings where there must be numbers."""
    return (
        f"{name} holds strings; kernels of numbers do not take them. {_NEXT_STEP}, or take a "
        "kernel of strings, such as kcore.kernels.Delta"
    )


def _no_objects(X: object, array: NDArray[Any], name: str) -> str:
    if array.ndim == 0:
        return f"{name} must be a 2-D array, got {brief(X)}"
    for place, value in np.ndenumerate(array):
        if isinstance(value, str | bytes):
            return no_strings(name)
        if not isinstance(value, Real):
            return (
                f"{name} has dtype object: {_place(place)} is {brief(value)}; "
                "kernels take real numbers"
            )
    return f"{name} has dtype object; convert it to a real dtype such as float64"


def _place(index: Any, words: tuple[str, ...] = ("row", "column")) -> str:
    words = words if len(index) <= 2 else ("index",) * len(index)
    return ", ".join(f"{word} {int(i)}" for word, i in zip(words, index, strict=False))


def brief(value: object) -> str:
    """Return what messages show of a value."""
    try:
        text = repr(value)
    except Exception:  # of an object that cannot even say what it is
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


# ---- Sparse samples


def is_sparse(X: object) -> bool:
    """Say whether `X` is a sparse matrix or array of SciPy, without importing it."""
    sparse = sys.modules.get("scipy.sparse")  # Not loaded: then X cannot be of its types.
    return sparse is not None and bool(sparse.issparse(X))


def _csr_points(X: Any, name: str) -> CSR:
    """Return a matrix of any sparse format as CSR, its structure checked.

    Compiled routines of SciPy's trust what they are given: none runs on arrays of the caller's,
    which may be wrong, and which another thread may change.
    """
    _check_shape(X.shape, name)
    if X.format not in ("csr", "csc", "coo"):
        X = _coo_of(X, name)
    target = _real_dtype(_part(X, "data", name).dtype, name)
    if X.format == "csr":
        return _compressed(X, name, X.shape, target)
    return (_csr_of_csc if X.format == "csc" else _csr_of_coo)(X, name, target)


def _compressed(X: Any, name: str, shape: tuple[int, int], target: np.dtype[Float]) -> CSR:
    """Return the three arrays of a compressed matrix that has rows like this shape."""
    data, indices, indptr = (_part(X, part, name) for part in ("data", "indices", "indptr"))
    if data.ndim != 1 or data.shape != indices.shape:
        raise ValueError(
            f"{name}.data has shape {data.shape}, {name}.indices has shape {indices.shape}"
        )
    if indptr.shape != (shape[0] + 1,):
        raise ValueError(
            f"{name}.indptr has shape {indptr.shape}, must be ({shape[0] + 1},) for {shape[0]} rows"
        )
    is_int32 = indices.dtype == np.int32 and indptr.dtype == np.int32
    index_dtype = _INT32 if is_int32 else _INT64
    points = CSR(
        _as_plain(data, target),
        _as_plain(indices, index_dtype),
        _as_plain(indptr, index_dtype),
        (int(shape[0]), int(shape[1])),
    )
    _core.check_points(points, name.encode())
    return points


def _part(X: Any, part: str, name: str) -> NDArray[Any]:
    """Return an array of a sparse matrix; all but the values hold integers."""
    array = getattr(X, part)
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name}.{part} is {brief(array)}; it must be an array")
    if np.ma.is_masked(array):
        place = _place(np.argwhere(np.ma.getmaskarray(array))[0][-1:], ("index",))
        raise ValueError(f"{name}.{part}: {place} is masked; fill masked entries first")
    if part == "data":
        return array
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}.{part} has dtype {array.dtype}; it must hold integers")
    if array.dtype.kind == "u" and array.itemsize == 8 and array.size:
        k = int(array.argmax())
        if array.flat[k] > np.iinfo(np.int64).max:
            raise ValueError(f"{name}.{part}: index {k} is {array.flat[k]}, too large for int64")
    return array


def _csr_of_csc(X: Any, name: str, target: np.dtype[Float]) -> CSR:
    from scipy.sparse import csc_array

    own = _Arrays(*(_part(X, part, name).copy() for part in ("data", "indices", "indptr")))
    # The same arrays are the transposed matrix in CSR.
    checked = _compressed(own, f"{name}.T", (X.shape[1], X.shape[0]), target)
    rows = csc_array((checked.data, checked.indices, checked.indptr), shape=X.shape).tocsr()
    return CSR(rows.data, rows.indices, rows.indptr, checked.shape[::-1])


class _Arrays(NamedTuple):
    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]


def _csr_of_coo(X: Any, name: str, target: np.dtype[Float]) -> CSR:
    from scipy.sparse import coo_array

    data = _part(X, "data", name)
    places = [_part(X, part, name).astype(np.int64) for part in ("row", "col")]
    for array, part, size in zip(places, ("row", "col"), X.shape, strict=True):
        if data.ndim != 1 or array.shape != data.shape:
            raise ValueError(
                f"{name}.data has shape {data.shape}, {name}.{part} has shape {array.shape}"
            )
        is_wrong = (array < 0) | (array >= size)
        if is_wrong.any():
            k = int(is_wrong.argmax())
            raise ValueError(f"{name}.{part}: index {k} is {array[k]}, must be 0 to {size - 1}")
    rows = coo_array((_as_plain(data, target), tuple(places)), shape=X.shape).tocsr()
    return CSR(rows.data, rows.indices, rows.indptr, (int(X.shape[0]), int(X.shape[1])))


def _coo_of(X: Any, name: str) -> Any:
    """Return a matrix of one of the rare formats as COO, by what SciPy does in Python."""
    try:
        if X.format == "lil":  # whose compiled routine trusts lists to be of the same lengths
            lengths = [(len(row), len(values)) for row, values in zip(X.rows, X.data, strict=True)]
            for i, (n_columns, n_values) in enumerate(lengths):
                if n_columns != n_values:
                    raise ValueError(f"row {i} has {n_columns} columns and {n_values} values")
        return X.tocoo()
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name} is not a {X.format} matrix: {error}") from error


# ---- Values


_PIECE = 1 << 17  # values that are looked at between two chances for a Ctrl-C


def check_finite(points: Points) -> float:
    """Refuse NaN and infinity, with their place, where the core will not come to it.

    Returns the largest absolute value.
    """
    values = points.data[None, : int(points.indptr[-1])] if isinstance(points, CSR) else points
    n, d = values.shape
    largest = 0.0
    height, width = max(1, _PIECE // max(1, d)), min(max(1, d), _PIECE)
    for i in range(0, n, height):
        for j in range(0, d, width):
            found = float(np.abs(values[i : i + height, j : j + width]).max())
            if not math.isfinite(found):
                _refuse_piece(points, values[i : i + height, j : j + width], i, j)
            largest = max(largest, found)
    return largest


def _refuse_piece(points: Points, piece: NDArray[Any], row: int, column: int) -> NoReturn:
    """Name the first value that is not finite in a piece that begins at this row and column."""
    i, j = map(int, np.argwhere(~np.isfinite(piece))[0])
    what = "NaN" if np.isnan(piece[i, j]) else "infinity"
    row, column = row + i, column + j
    if isinstance(points, CSR):
        row, column = (
            int(np.searchsorted(points.indptr, column, side="right")) - 1,
            int(points.indices[column]),
        )
    raise ValueError(with_next_step(f"X: row {row}, column {column} is {what}, must be finite"))


def with_next_step(text: str) -> str:
    """Return the text of an error about a value that is not finite; of a NaN, with what to do."""
    if "is NaN" not in text:
        return text
    return f"{text}. Fill in missing values first, as with scikit-learn's SimpleImputer"


def as_reals(values: Any, name: str) -> NDArray[np.float64]:
    """Return numbers of whatever shape as float64 in C order; nothing of them is lost in silence.

    Raises
    ------
    TypeError
        Where they are not real numbers.
    ValueError
        Where an entry is masked, or they are no table.
    """
    if is_sparse(values):
        values = as_dense(_csr_points(values, name))
    refuse_masked(values, name)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is not a table of numbers: {error}") from error
    if array.dtype == object:
        for place, value in np.ndenumerate(array):
            if not isinstance(value, Real):
                where = f": {_place(place)}" if place else ""
                raise TypeError(f"{name}{where} is {brief(value)}, must be a real number")
        array = np.array([as_float(value) for value in array.flat]).reshape(array.shape)
    elif array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}, must be real numbers")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float64)


def refuse_masked(values: object, name: str) -> None:
    """Refuse a masked array that has masked entries: the mask would be lost."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = np.argwhere(np.ma.getmaskarray(values))[0]
        raise ValueError(f"{name}: {_place(place)} is masked; fill masked entries first")


def refuse_non_finite(values: NDArray[np.float64], name: str, words: tuple[str, ...]) -> None:
    """Refuse NaN and infinity, with their place along axes of these names."""
    if not np.isfinite(values).all():
        place = np.argwhere(~np.isfinite(values))[0]
        what = "NaN" if np.isnan(values[tuple(place)]) else "infinity"
        raise ValueError(f"{name}: {_place(place, words)} is {what}, must be finite")


# ---- Results


def check_out(out: object, shape: tuple[int, ...], *points: AnyPoints | None) -> None:
    """Refuse an `out` that the result does not fit in, or that shares memory with the input.

    Rows must be contiguous; they may be further apart than they are long.
    """
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray | np.matrix):
        raise TypeError(f"out must be a numpy.ndarray, got {type(out).__name__}")
    dtype = _FLOAT64 if any(p is not None and p.dtype == _FLOAT64 for p in points) else _FLOAT32
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, the result has {shape}")
    if out.dtype != dtype:
        raise TypeError(f"out has dtype {out.dtype}, the result has {dtype}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    if not out.flags.aligned or not _rows_are_contiguous(out):
        raise ValueError(
            f"out must have contiguous rows that do not overlap, got strides {out.strides}"
        )
    for one in points:
        for array in [] if one is None else arrays_of(one):
            if _shares_memory(out, array):
                raise ValueError("out shares memory with the input")


def _rows_are_contiguous(out: NDArray[Any]) -> bool:
    if out.shape[-1] > 1 and out.strides[-1] != out.itemsize:
        return False
    if out.ndim == 1 or out.shape[0] == 1:
        return True
    return out.strides[0] % out.itemsize == 0 and out.strides[0] >= out.shape[1] * out.itemsize


def _shares_memory(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Say whether the arrays overlap; where that is hard to decide, they are taken to."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


# ---- Parameters


def as_real(value: object, name: str, *, low: float = -math.inf) -> float:
    """Return a finite number that is not below `low`."""
    bound = f"a finite number >= {low:g}" if low > -math.inf else "a finite number"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {bound}, got {brief(value)}")
    number = as_float(value)
    if not (math.isfinite(number) and number >= low):
        raise ValueError(f"{name} must be {bound}, got {brief(value)}")
    return number


def as_float(value: Any) -> float:
    """Return a real number as a float; one that is beyond float64 is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_flag(value: object, name: str) -> bool:
    """Return whether the value counts as true; arrays do not say."""
    try:
        if value is NotImplemented:
            raise TypeError
        return bool(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be True or False, got {brief(value)}") from None


def is_same(value: object, other: object) -> bool:
    """Say whether a parameter is what it was; arrays and the like, which do not say, are not."""
    try:
        return value is other or bool(value == other)
    except Exception:  # of whatever was given
        return False


def as_integer(value: Any, name: str, *, low: int, high: int) -> int:
    """Return an integer in low .. high; floats are refused even where they are whole."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name} must be an integer in {low} .. {high}, got {brief(value)}"
        ) from None
    if not low <= number <= high:
        raise ValueError(f"{name} must be an integer in {low} .. {high}, got {brief(value)}")
    return number


def feature_names(X: Any) -> NDArray[np.object_] | None:
    """Return the names of the columns of a data frame; None where there are none."""
    if type(X) is np.ndarray or not isinstance(getattr(X, "columns", None), Iterable):
        return None
    names = np.asarray(list(X.columns), dtype=object)
    are_strings = [isinstance(name, str) for name in names]
    if not any(are_strings):
        return None
    if not all(are_strings):
        kinds = sorted({type(name).__qualname__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {kinds} as feature name / column name types. If you want feature names to "
            "be stored and validated, you must convert them all to strings, by using X.columns = "
            "X.columns.astype(str) for example. Otherwise you can remove feature / column names "
            "from your input data, or convert them all to a non-string data type."
        )
    return names
