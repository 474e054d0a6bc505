"""Maps made of kernel values with the samples of a fit: what these transformers share.

Kernel values are read by strips of rows, so that a map of many samples needs the memory of its
result and of one strip. A strip is a few milliseconds of work; between two of them Python hears a
Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._base import TransformerMixin, check_finite
from kcore._kernelized import (
    Expansion,
    FitKernel,
    Function,
    KernelEstimator,
    Nodes,
    UserKernel,
    call_kernel,
    check_values,
)
from kcore._plain import kernel_from_plain, kernel_to_plain
from kcore._points import (
    CSR,
    AnyPoints,
    Float,
    Points,
    Strings,
    Table,
    array_type,
    as_scipy,
    from_plain,
    take_rows,
    to_plain,
)
from kcore._validate import brief, feature_names
from kcore._warn import warn
from kcore.exceptions import IndefiniteKernelWarning

_STRIP = 1 << 21  # kernel values that are made at once

# How far values on both sides of the diagonal may be apart, relative to the largest one.
_ROUNDED = 1e-5
_EXACT = 1e-9

_MOST = 2**31 - 1

_LARGEST = 1e12  # of samples that are read as float32: squares and their sums stay finite

Precision = Literal["auto", "float32", "float64"]
PRECISIONS: dict[str, Precision] = {"auto": "auto", "float32": "float32", "float64": "float64"}


# ---- Samples in pieces, and in another type


def rows_of(points: AnyPoints, begin: int, end: int) -> AnyPoints:
    """Return the rows from `begin` to `end`: a view of an array, else a copy."""
    if isinstance(points, np.ndarray):
        return points[begin:end]
    return take_rows(points, np.arange(begin, min(end, points.shape[0])))


def as_type(points: AnyPoints, dtype: np.dtype[Float]) -> AnyPoints:
    """Return samples with numbers of this type."""
    if isinstance(points, Table):
        return Table(tuple(cast("Any", as_type(part, dtype)) for part in points.parts))
    if isinstance(points, Strings):
        return points
    with np.errstate(over="ignore"):  # the core names infinite ones
        if isinstance(points, CSR):
            return points._replace(data=points.data.astype(dtype, copy=False))
        return points.astype(dtype, copy=False)


def _is_table(points: AnyPoints) -> bool:
    return isinstance(points, Table | Strings)


def refuse_many(points: AnyPoints) -> None:
    """Refuse samples that are more than the core counts, before they are read."""
    for n, what in zip(points.shape, ("rows", "columns"), strict=False):
        if n > _MOST:
            raise ValueError(f"X has {n} {what}, may have {_MOST} at the most")


def check_samples(points: AnyPoints, kernel: _core.CompiledKernel | None, n_threads: int) -> float:
    """Refuse NaN and infinity by their place among all samples, before there are strips.

    Returns the largest absolute value where samples are rows of numbers, else 0.
    """
    refuse_many(points)
    if _is_table(points):
        assert kernel is not None  # only kernel objects read strings
        _core.diag(kernel, points, None, n_threads)
        return 0.0
    if points.dtype == object:
        return 0.0
    return check_finite(cast("Points", points))


# ---- Kernel values


class KernelValues:
    """K(x, z) for samples x in strips and all samples z that are kept.

    Parameters
    ----------
    kernel : CompiledKernel or None
        None: `function` gives the values, or where that is None, they are given instead of samples.
    function : callable or None
        A Python function as kernel.
    kept : points or None
        The samples z.
    columns : ndarray of int64 or None
        Where values are given: those with the samples kept, among all; None: all.
    """

    def __init__(
        self,
        kernel: _core.CompiledKernel | None,
        function: Function | None,
        kept: AnyPoints | None,
        columns: NDArray[np.int64] | None = None,
    ) -> None:
        self.kernel = kernel
        self.function = function
        self.kept = kept
        self.columns = columns

    def strips(
        self,
        points: AnyPoints,
        dtype: np.dtype[Float],
        n_threads: int,
        out: NDArray[Float] | None = None,
    ) -> Iterator[tuple[slice, NDArray[Float]]]:
        """Give rows, and their values with all samples kept, in `out` or in memory of one strip."""
        n, m = points.shape[0], self._n_kept(points)
        height = max(1, min(n, _STRIP // max(1, m)))
        room = np.empty((height, m), dtype) if out is None else None
        kept = (
            as_type(self.kept, dtype) if self.kernel is not None and self.kept is not None else None
        )
        for begin in range(0, n, height):
            end = min(begin + height, n)
            block = cast("NDArray[Float]", out[begin:end] if room is None else room[: end - begin])  # type: ignore[index]
            self._fill(points, begin, kept, block, n_threads)
            yield slice(begin, end), block

    def _n_kept(self, points: AnyPoints) -> int:
        if self.columns is not None:
            return len(self.columns)
        return int(points.shape[1] if self.kept is None else self.kept.shape[0])

    def _fill(
        self,
        points: AnyPoints,
        begin: int,
        kept: AnyPoints | None,
        block: NDArray[Float],
        n_threads: int,
    ) -> None:
        some = rows_of(points, begin, begin + len(block))
        if self.kernel is not None:
            some = as_type(some, block.dtype)
            if some.dtype == block.dtype:
                _core.gram(self.kernel, some, kept, block, n_threads)
            else:  # strings have values of one type alone
                block[...] = _core.gram(self.kernel, some, kept, None, n_threads)
        elif self.function is not None:
            assert self.kept is not None
            others = as_scipy(cast("Points", self.kept))
            values = call_kernel(self.function, as_scipy(cast("Points", some)), others)
            check_values(values, begin)
            block[...] = values
        else:
            given = cast("NDArray[Float]", some)
            block[...] = given if self.columns is None else given[:, self.columns]


class Begun(NamedTuple):
    """What a fit begins with.

    Attributes
    ----------
    names : ndarray of object or None
        Of the columns.
    points : Points
        The samples.
    samples : AnyPoints
        What kernel values are computed of: the samples, with what functions in the kernel make of
        them. They are the ones kept, and not copied yet.
    found : FitKernel
        The kernel.
    values : KernelValues
        What gives its values.
    largest : float
        The largest absolute value in rows of numbers, else 0.
    """

    names: NDArray[np.object_] | None
    points: Points
    samples: Points
    found: FitKernel
    values: KernelValues
    largest: float


# ---- What a fit leaves behind


class FittedMap(Expansion):
    """The kernel and the samples kept; subclasses add what their values are multiplied by."""

    def __init__(self, begun: Begun, vectors: AnyPoints | None) -> None:
        super().__init__(begun.points.shape, begun.names)
        self.nodes = begun.found.nodes
        self.vectors = cast("Points | None", vectors)
        self.function = begun.values.function
        self.sparse_type = None
        self.note_kernel(begun.points, begun.found)
        self.columns: NDArray[np.int64] | None = None
        self._compiled: _core.CompiledKernel | None = None

    def nodes_of(self) -> Nodes | None:
        return self.nodes

    @property
    def compiled(self) -> _core.CompiledKernel | None:
        """The kernel, compiled at the first use."""
        if self._compiled is None and self.nodes is not None:
            self._compiled = _core.CompiledKernel(self.nodes)
        return self._compiled

    def support_vectors(self) -> Points | None:
        return self.vectors

    def values(self, function: Any) -> KernelValues:
        """Return what gives kernel values; `function` is the kernel where a pickle lost it."""
        is_function = self.nodes is None and self.vectors is not None
        lost = function if is_function and self.function is None else self.function
        return KernelValues(self.compiled, lost, self.vectors, self.columns)

    # Pickles hold arrays and numbers.

    def __getstate__(self) -> dict[str, Any]:
        state = {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("cache", "_compiled", "function", "kernel", "vectors")
        }
        return state | {
            "kernel": kernel_to_plain(self.kernel),
            "vectors": to_plain(self.vectors),
            "function": self.function_to_pickle(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.kernel = kernel_from_plain(state["kernel"])
        self.vectors = from_plain(state["vectors"])
        self._compiled = None
        self.cache = {}


# ---- The estimators


class KernelMap(TransformerMixin, KernelEstimator):
    """Base of transformers whose columns are functions of kernel values."""

    gamma: float | str | None  # type: ignore[assignment]  # None as scikit-learn's maps have it
    n_jobs: int | None
    _fitted: FittedMap

    def _gamma_of(
        self, points: Points, weights: NDArray[np.float64] | None, run: _core.Run | None
    ) -> float:
        if self.gamma is None:
            return 1.0 / int(points.shape[1])
        return super()._gamma_of(points, weights, run)

    def _check_definiteness(self, compiled: _core.CompiledKernel) -> None:
        known = compiled.definiteness
        if known == "positive" or (known == "conditional" and self._takes_conditional):
            return
        warn(
            f"{type(self).__name__}: the kernel {self.kernel!r} is {known}, not positive "
            "semi-definite: what belongs to negative eigenvalues is left out",
            IndefiniteKernelWarning,
        )

    def _count(self, name: str, most: int) -> int:
        """Return a parameter that counts samples or columns; beyond `most` it is cut, and said."""
        value = self._integer(name)
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
        if value > most:
            warn(f"{name}={value} is more than the {most} samples of X: {most} are taken")
        return min(value, most)

    def _begin(self, X: Any) -> Begun:
        """Return the samples of a fit, checked, and their kernel."""
        points = self._samples(X)
        largest = check_samples(points, None, 0) if not _is_table(points) else 0.0
        found = self._kernel_of(points, None, X=X)
        samples, compiled = found.samples, found.compiled
        names = feature_names(X)
        if isinstance(samples, UserKernel):
            values = KernelValues(None, samples.function, points)
            return Begun(names, points, points, found, values, largest)
        if _is_table(samples):
            check_samples(samples, compiled, self._n_threads())
        values = KernelValues(compiled, None, samples if found.nodes else None)
        return Begun(names, points, samples, found, values, largest)

    def _keep(self, state: FittedMap, X: Any, points: Points) -> None:
        """Tell the state what attributes and messages show of the samples."""
        if isinstance(points, CSR):
            state.sparse_type = array_type(X)

    def _read(self, X: Any, state: FittedMap) -> Points:
        """Return samples to transform, all of them checked."""
        is_matrix = state.nodes is None and state.vectors is None
        points = self._points_to_predict(X, state, state.shape[1:] if is_matrix else ())
        points = state.given(X, points, self.kernel)
        check_samples(points, state.compiled, self._n_threads())
        return points

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names of the columns: the name of the class in small letters, and a number.

        Parameters
        ----------
        input_features : object, default=None
            Not used; there for scikit-learn's conventions.

        Returns
        -------
        ndarray of str
        """
        state = self._state("get_feature_names_out")
        name = type(self).__name__.lower()
        return np.array([f"{name}{k}" for k in range(state.n_columns)], dtype=object)


def keep_rows(points: AnyPoints, rows: NDArray[np.int64] | None = None) -> AnyPoints:
    """Return a copy of some samples, of all for None, that shares no memory with them."""
    return take_rows(points, np.arange(points.shape[0]) if rows is None else rows)


def is_small_enough(largest: float) -> bool:
    """Say whether samples with numbers up to this can be read as float32."""
    return largest <= _LARGEST


def refuse_asymmetric(K: NDArray[Any], name: str, is_rounded: bool = False) -> None:
    """Refuse a matrix that is not symmetric up to rounding, by its worst place.

    `is_rounded` says that its values may have been computed in float32, whatever its type is.
    """
    relative = _ROUNDED if is_rounded or K.dtype == np.float32 else _EXACT
    n = len(K)
    height = max(1, _STRIP // max(1, n))
    worst, place, largest = 0.0, (0, 0), 0.0
    for begin in range(0, n, height):
        strip, mirror = K[begin : begin + height], K[:, begin : begin + height].T
        largest = max(largest, float(np.abs(strip).max()))
        off = np.abs(strip - mirror)
        k = int(off.argmax())
        if off.flat[k] > worst:
            row, column = divmod(k, n)
            worst, place = float(off.flat[k]), (begin + row, column)
    if worst > relative * largest:
        i, j = place
        raise ValueError(
            f"{name} is not symmetric: row {i}, column {j} is {brief(float(K[i, j]))}, "
            f"row {j}, column {i} is {brief(float(K[j, i]))}"
        )
