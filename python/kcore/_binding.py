"""Kernels bound to samples: which columns their leaves read, and what functions make of them.

A kernel names columns, matrices and functions; the core knows numbers of columns and chains of
steps. Binding goes through the expression with a `Scope`, which is what a part of it has before it.
What a function makes of the samples becomes columns beside theirs: it is called once, and no
function is left in what the core is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._columns import MAX_COLUMNS, Columns, column_numbers
from kcore._points import CSR, AnyPoints, Part, Strings, Table, parts_of
from kcore._validate import as_points, as_reals, brief, feature_names, is_sparse

if TYPE_CHECKING:
    from kcore._kernel import Kernel, Node

Matrix: TypeAlias = tuple[tuple[float, ...], ...]
Map: TypeAlias = Callable[[Any], Any]
Step: TypeAlias = tuple[str, Any]  # ("on", numbers of columns) or ("map", Matrix)

_TOLERANCE = {"f": 1e-3, "d": 1e-6}  # of a sample alone, relative to the largest number of its row


class Source:
    """Samples that a kernel is bound to, and what functions made of them.

    Parameters
    ----------
    X : object
        The samples as the user gave them.
    points : AnyPoints
        The same as the core reads them.
    name : str
        What messages call them.
    weights : ndarray of float64 or None
        Of the samples, for gamma='scale'.
    run : Run or None
        What may end the search for gamma.
    is_fit : bool
        Whether functions are tried on a sample alone.
    """

    def __init__(
        self,
        X: Any,
        points: AnyPoints,
        name: str,
        *,
        weights: NDArray[np.float64] | None = None,
        run: _core.Run | None = None,
        is_fit: bool = False,
    ) -> None:
        self.X, self.points, self.name = X, points, name
        self.weights, self.run, self.is_fit = weights, run, is_fit
        self.made: list[Part] = []  # by functions
        self._known: dict[Any, int] = {}
        # Columns that leaves read: of the samples, of what functions made. A range is all of them.
        self._read: list[list[Sequence[int]]] = [[]]
        # Where parts end, and what is added to numbers of their columns; known once parts are kept.
        self._shifts: list[tuple[NDArray[Any], NDArray[Any]]] | None = None

    def root(self) -> Scope:
        """Return the scope of the samples themselves."""
        names = feature_names(self.X)
        n_columns = self.points.shape[1]
        return Scope(self, 0, (), n_columns, None if names is None else names.tolist())

    def origin(self, number: int) -> AnyPoints:
        """Return the samples (0), or what a function made of them."""
        return self.points if number == 0 else self.made[number - 1]

    def make(self, function: Map, scope: Scope) -> int:
        """Return the number of what a function makes of a scope: it is called once."""
        key = (id(function), scope.origin, scope.steps)
        if key not in self._known:
            given = scope.as_given()
            made = _as_made(function(given), self.points.shape[0], function, self.name)
            if self.is_fit and made.shape[0] > 1:
                _check_alone(function, given, made)
            self.made.append(made)
            self._read.append([])
            self._known[key] = len(self.made)
        return self._known[key]

    def place(self, origin: int, columns: Sequence[int]) -> tuple[int, ...] | None:
        """Return the numbers of columns among those that are kept; before `keep`, note them."""
        if self._shifts is None:
            self._read[origin].append(columns)
            return None
        if len(columns) > MAX_COLUMNS:
            raise ValueError(
                f"a kernel with a function reads {len(columns)} columns of {self.name}, may read "
                f"{MAX_COLUMNS} at the most"
            )
        ends, shifts = self._shifts[origin]
        parts = np.searchsorted(ends, columns, side="right")
        return tuple((np.asarray(columns) + shifts[parts]).tolist())

    def keep(self) -> AnyPoints:
        """Return the parts that are read, their columns numbered anew."""
        kept: list[Part] = []
        numbering = []
        n_kept = 0
        for origin, read in enumerate(self._read):
            ends, shifts = [], []
            begin = 0
            for part in parts_of(self.origin(origin)):
                end = begin + int(part.shape[1])
                ends.append(end)
                shifts.append(n_kept - begin)
                if any(_has_any(columns, begin, end) for columns in read):
                    kept.append(part)
                    n_kept += end - begin
                begin = end
            numbering.append((np.array(ends), np.array(shifts)))
        self._shifts = numbering
        return kept[0] if len(kept) == 1 else Table(tuple(kept))


def _has_any(columns: Sequence[int], begin: int, end: int) -> bool:
    """Say whether one of the columns is in begin .. end - 1."""
    if isinstance(columns, range):  # all of them
        return True
    return any(begin <= column < end for column in columns)


class Scope(NamedTuple):
    """What a part of an expression has before it: columns of samples, mapped or not."""

    source: Source
    origin: int  # 0: the samples; k: what function k - 1 made of them
    steps: tuple[Step, ...]  # the first is applied first; the first alone may be a selection
    n_columns: int
    names: list[str] | None

    def on_columns(self, columns: Columns) -> Scope:
        """Return the scope of some of the columns."""
        numbers = column_numbers(columns, self.n_columns, self.names)
        names = None if self.names is None else [self.names[i] for i in numbers]
        steps: tuple[Step, ...] = (*self.steps, ("on", numbers))
        if self.steps and self.steps[-1][0] == "on":
            before = self.steps[-1][1]
            steps = (*self.steps[:-1], ("on", tuple(before[i] for i in numbers)))
        elif self.steps:  # rows of a matrix
            matrix = self.steps[-1][1]
            steps = (*self.steps[:-1], ("map", tuple(matrix[i] for i in numbers)))
        return self._replace(steps=steps, n_columns=len(numbers), names=names)

    def on_matrix(self, matrix: Matrix) -> Scope:
        """Return the scope of the columns that a matrix makes of these."""
        shape = len(matrix), len(matrix[0])
        if shape[1] != self.n_columns:
            raise ValueError(
                f"the matrix phi of shape {shape} is for samples of {shape[1]} columns; "
                f"{self.source.name} has {self.n_columns}"
            )
        steps = (*self.steps, ("map", matrix))
        return self._replace(steps=steps, n_columns=shape[0], names=None)

    def on_function(self, function: Map) -> Scope:
        """Return the scope of what a function makes of these columns."""
        number = self.source.make(function, self)
        width = self.source.origin(number).shape[1]
        return Scope(self.source, number, (), width, None)

    def values(self) -> AnyPoints:
        """Return the numbers that a leaf reads here."""
        points = self.source.origin(self.origin)
        for kind, what in self.steps:
            points = columns_of(points, what) if kind == "on" else _mapped(points, what)
        return points

    def as_given(self) -> Any:
        """Return what a function gets: a data frame of one, else an array or a sparse matrix."""
        X = self.source.X
        numbers = self.steps[0][1] if self.steps else range(self.n_columns)
        are_own = self.origin == 0 and (not self.steps or self.steps[-1][0] == "on")
        if are_own and hasattr(X, "columns") and hasattr(X, "dtypes"):
            columns = list(numbers)
            return X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]
        values = self.values()
        if isinstance(values, CSR):
            import scipy.sparse as sp

            kind = sp.csr_matrix if sp.isspmatrix(X) else sp.csr_array
            return kind(values[:3], shape=values.shape)
        if isinstance(values, Strings | Table):
            return np.array(values.values(), dtype=object)
        shown = values.view()
        shown.flags.writeable = False  # they are the caller's
        return shown

    def gamma(self, how: str) -> float:
        """Return gamma for 'scale' or 'auto', of what is read here."""
        if how == "auto":
            return 1.0 / self.n_columns
        values = self.values()
        if isinstance(values, Strings | Table):
            raise TypeError(
                f"gamma='scale' is of numbers, {self.source.name} has strings among its columns: "
                "say with on(...) which columns the kernel reads"
            )
        return scale_gamma(values, self.source.weights, self.source.run)

    def nodes(self) -> list[Node]:
        """Return the steps in postfix order, to stand behind a leaf."""
        source, steps = self.source, self.steps
        first = steps[0][1] if steps and steps[0][0] == "on" else range(self._width())
        placed = source.place(self.origin, first)
        if placed is not None:
            rest = steps[1:] if steps and steps[0][0] == "on" else steps
            steps = (("on", placed), *rest)
        return [_node(*step) for step in reversed(steps)]

    def _width(self) -> int:
        return int(self.source.origin(self.origin).shape[1])


def _node(kind: str, what: Any) -> Node:
    return (kind, what) if kind == "on" else ("map", (np.array(what),))


# ---- Bound kernels


class Bound(NamedTuple):
    """A kernel for some samples.

    Attributes
    ----------
    kernel : Kernel
        With gamma as a number.
    nodes : list of (name, parameters)
        The expression in postfix order.
    points : AnyPoints
        What the core is given.
    widths : tuple of int or None
        How many columns functions made; None where there are none.
    n_columns : int
        Of the samples.
    """

    kernel: Kernel
    nodes: list[Node]
    points: AnyPoints
    widths: tuple[int, ...] | None
    n_columns: int

    def like(self, X: Any, points: AnyPoints, name: str) -> AnyPoints:
        """Return other samples as the core is given these."""
        if points.shape[1] != self.n_columns:
            raise ValueError(f"X has {self.n_columns} columns, {name} has {points.shape[1]}")
        return extend(self.kernel, self.widths, X, points, name)


def bind(kernel: Kernel, source: Source) -> Bound:
    """Return the kernel for these samples."""
    if kernel._has_gamma_by_name():
        kernel = kernel._resolve(source.root())
    bound = kernel._bind(source.root())
    if not source.made:
        return Bound(kernel, bound._nodes(), source.points, None, source.points.shape[1])
    points = source.keep()
    nodes = kernel._bind(source.root())._nodes()  # by the new numbers
    widths = tuple(part.shape[1] for part in source.made)
    return Bound(kernel, nodes, points, widths, source.points.shape[1])


def extend(
    kernel: Kernel, widths: tuple[int, ...] | None, X: Any, points: AnyPoints, name: str
) -> AnyPoints:
    """Return samples with what the kernel's functions make of them: as many columns as before."""
    if widths is None:
        return points
    bound = bind(kernel, Source(X, points, name))
    assert bound.widths is not None
    for before, now in zip(widths, bound.widths, strict=True):
        if before != now:
            raise ValueError(
                f"phi gave {before} columns before, of {name} it gives {now}; it must give as many "
                "for all samples"
            )
    return bound.points


# ---- Numbers


def scale_gamma(points: Any, weights: NDArray[np.float64] | None, run: _core.Run | None) -> float:
    """Return 1 / (n_features * variance), or 1 where all entries are equal.

    Where the time is over before the variance is known, it is taken to be 1: no step will be made.
    """
    spread = _core.variance(points, weights, _core.Run(0, 0.0, None) if run is None else run)
    if spread == 0:
        return 1.0
    return 1.0 / (int(points.shape[1]) * (1.0 if spread is None else spread))


def columns_of(points: AnyPoints, numbers: Sequence[int]) -> AnyPoints:
    """Return some columns: of numbers as an array or CSR, a column of strings by itself."""
    if isinstance(points, CSR):
        from scipy.sparse import csr_array

        some = csr_array(points[:3], shape=points.shape)[:, list(numbers)].tocsr()
        return CSR(some.data, some.indices, some.indptr, some.shape)
    if not isinstance(points, Table):
        return points if isinstance(points, Strings) else points[:, list(numbers)]
    columns: list[Any] = []
    for part in points.parts:
        width = part.shape[1]
        columns += [(part, k) for k in range(width)]
    chosen = [columns[number] for number in numbers]
    if len(chosen) == 1 and isinstance(chosen[0][0], Strings):
        return chosen[0][0]
    if all(isinstance(part, np.ndarray) for part, _ in chosen):
        return np.column_stack([part[:, k] for part, k in chosen])
    whole = chosen[0][0]
    if isinstance(whole, CSR) and all(part is whole for part, _ in chosen):
        return columns_of(whole, [k for _, k in chosen])
    return Table(tuple(_column_alone(part, k) for part, k in chosen))


def _column_alone(part: Part, k: int) -> Part:
    if isinstance(part, Strings):
        return part
    alone = columns_of(part, [k])
    assert isinstance(alone, np.ndarray | CSR)
    return alone


def _mapped(points: AnyPoints, matrix: Matrix) -> AnyPoints:
    """Return A x of every sample, by the chain of sums that the core maps with."""
    linear = _core.CompiledKernel([("linear", ())])
    rows = np.array(matrix, dtype=points.dtype)
    made: NDArray[Any] = _core.gram(linear, points, rows, None, 0)
    return made


# ---- What functions make


def name_of(function: Map) -> str:
    """Return what messages call a function."""
    return str(getattr(function, "__qualname__", None) or brief(function))


def _as_made(result: Any, n_rows: int, function: Map, name: str) -> Part:
    """Return what a function made as a part of samples: finite numbers, a row for each."""
    what = f"what phi ({name_of(function)}) returned"
    made: Any
    if is_sparse(result):
        made = as_points(result, what)
    else:
        is_float = isinstance(result, np.ndarray) and result.dtype == np.float32
        made = np.ascontiguousarray(result) if is_float else as_reals(result, what)
        if made.ndim == 1:
            made = made[:, np.newaxis]
    if len(made.shape) != 2 or made.shape[0] != n_rows or made.shape[1] == 0:
        raise ValueError(
            f"{what} has shape {np.shape(result)} for the {n_rows} samples of {name}; it must have "
            "a row for each: numbers of shape (n_samples,) or (n_samples, n_columns)"
        )
    values = made.data if isinstance(made, CSR) else made
    if not np.isfinite(values).all():
        array = as_dense_array(made)
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"{what}: row {row}, column {column} is {array[row, column]}, must be finite"
        )
    if made is result or (isinstance(made, np.ndarray) and np.may_share_memory(made, result)):
        made = made.copy()  # the function's own, which it may write over
    found: Part = made
    return found


def as_dense_array(part: Any) -> NDArray[Any]:
    """Return a part of numbers as an array."""
    if not isinstance(part, CSR):
        return np.asarray(part)
    from scipy.sparse import csr_array

    return np.asarray(csr_array(part[:3], shape=part.shape).toarray())


def _check_alone(function: Map, given: Any, made: Part) -> None:
    """Refuse a function whose rows depend on other samples.

    The row that is tried is neither near the mean, which is what samples alone are centred to, nor
    an extreme one, which scales to the same alone: the middle one by distance from the mean.
    """
    rows = as_dense_array(made)
    with np.errstate(over="ignore", invalid="ignore"):
        distances = np.abs(rows - rows.mean(axis=0)).max(axis=1)
    outside = np.flatnonzero(distances)
    order = outside[np.argsort(distances[outside], kind="stable")]
    row = int(order[len(order) // 2]) if len(order) else 0
    one = given.iloc[row : row + 1] if hasattr(given, "iloc") else given[row : row + 1]
    alone = as_dense_array(_as_made(function(one), 1, function, "one row"))
    largest = float(np.abs(rows[row]).max())
    if alone.shape[1] == rows.shape[1]:
        apart = float(np.abs(alone[0] - rows[row]).max())
        if apart <= _TOLERANCE[np.result_type(alone, rows).char] * largest:
            return
    raise ValueError(
        f"phi ({name_of(function)}) makes of row {row} alone {brief(alone[0].tolist())}, and "
        f"{brief(rows[row].tolist())} of it among the others: each row must depend on its own "
        "sample alone. What is taken from all samples, such as their mean, belongs before the fit"
    )
