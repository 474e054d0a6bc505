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
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Float: TypeAlias = np.float32 | np.float64

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)


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


Points: TypeAlias = NDArray[Float] | CSR


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


def is_sparse(X: object) -> bool:
    """Say whether `X` is a sparse matrix or array of SciPy, without importing it."""
    sparse = sys.modules.get("scipy.sparse")  # Not loaded: then X cannot be of its types.
    return sparse is not None and bool(sparse.issparse(X))


def _dense_points(X: Any, name: str) -> NDArray[Float]:
    array = _as_array(X, name)
    target = _real_dtype(array.dtype, name)
    _check_shape(array.shape, name)
    if array.dtype != target or not array.flags.aligned:
        array = _cast(array, target)
    return array


def _csr_points(X: Any, name: str) -> CSR:
    target = _real_dtype(X.dtype, name)
    _check_shape(X.shape, name)
    if X.format != "csr":
        X = X.tocsr()
    data, indices, indptr = X.data, X.indices, X.indptr
    _check_csr_arrays(data, indices, indptr, X.shape[0], name)
    is_int32 = indices.dtype == np.int32 and indptr.dtype == np.int32
    index_dtype = _INT32 if is_int32 else _INT64
    return CSR(
        _as_plain(data, target),
        _as_plain(indices, index_dtype),
        _as_plain(indptr, index_dtype),
        (int(X.shape[0]), int(X.shape[1])),
    )


def _check_csr_arrays(data: Any, indices: Any, indptr: Any, n_rows: int, name: str) -> None:
    for array, part in ((indices, "indices"), (indptr, "indptr")):
        if array.dtype.kind not in "iu":
            raise TypeError(f"{name}.{part} has dtype {array.dtype}; it must hold integers")
    if data.ndim != 1 or data.shape != indices.shape:
        raise ValueError(
            f"{name}.data has shape {data.shape}, {name}.indices has shape {indices.shape}"
        )
    if indptr.shape != (n_rows + 1,):
        raise ValueError(
            f"{name}.indptr has shape {indptr.shape}, must be ({n_rows + 1},) for {n_rows} rows"
        )


def _as_array(X: Any, name: str) -> NDArray[Any]:
    """Return `X` as a plain array of whatever dtype but object, without losing a mask."""
    if isinstance(X, str | bytes | bytearray):
        raise TypeError(_no_strings(name))
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        place = _place(np.argwhere(np.ma.getmaskarray(X))[0])
        raise ValueError(f"{name}: {place} is masked; fill masked entries first")
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
    """Return a frame whose columns have no common NumPy dtype: nullable numbers become float64."""
    for k, (column, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        kind = getattr(dtype, "kind", None) or np.asarray(array[:, k].tolist()).dtype.kind
        if kind not in "biuf":
            raise TypeError(
                f"{name} has column {column!r} of dtype {dtype}; kernels take real numbers"
            )
    numbers: NDArray[Any] = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def _real_dtype(dtype: np.dtype[Any], name: str) -> np.dtype[Float]:
    """Return the dtype in which values of `dtype` are computed."""
    if dtype.kind == "f":
        return _FLOAT32 if dtype.itemsize <= 4 else _FLOAT64
    if dtype.kind in "biu":
        return _FLOAT64
    if dtype.kind in "SUT":
        raise TypeError(_no_strings(name))
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


def _no_strings(name: str) -> str:
    return f"{name} holds strings; no kernel takes strings yet"


def _no_objects(X: object, array: NDArray[Any], name: str) -> str:
    if array.ndim == 0:
        return f"{name} must be a 2-D array, got {_brief(X)}"
    for place, value in np.ndenumerate(array):
        if isinstance(value, str | bytes):
            return _no_strings(name)
        if not isinstance(value, Real):
            return (
                f"{name} has dtype object: {_place(place)} is {_brief(value)}; "
                "kernels take real numbers"
            )
    return f"{name} has dtype object; convert it to a real dtype such as float64"


def _place(index: Any) -> str:
    words = ("row", "column") if len(index) <= 2 else ("index",) * len(index)
    return ", ".join(f"{word} {int(i)}" for word, i in zip(words, index, strict=False))


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


# ---- Results


def check_out(out: object, shape: tuple[int, ...], *points: Points | None) -> None:
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
        for array in one[:3] if isinstance(one, CSR) else [] if one is None else [one]:
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
        raise TypeError(f"{name} must be {bound}, got {_brief(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number >= low):
        raise ValueError(f"{name} must be {bound}, got {_brief(value)}")
    return number


def as_integer(value: Any, name: str, *, low: int, high: int) -> int:
    """Return an integer in low .. high; floats are refused even where they are whole."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name} must be an integer in {low} .. {high}, got {_brief(value)}"
        ) from None
    if not low <= number <= high:
        raise ValueError(f"{name} must be an integer in {low} .. {high}, got {_brief(value)}")
    return number
