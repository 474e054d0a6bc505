"""Products of features, for all samples: in bounded memory, and piece by piece.

Products of degree k are products of one of degree k - 1, their parent, and one feature that is not
before its last one (after it, where features may not repeat): that order is the lexicographic one.
A piece takes NumPy a millisecond or two, and between two of them Python hears a Ctrl-C.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._base import check_finite
from kcore._points import CSR, Float

_PIECE = 1 << 17  # values that are multiplied at once
_TOUCHED = 1 << 20  # values of a result between whose rows a piece writes
_SMALL = 1 << 13  # columns of maps whose structure is kept
_MAX_PRODUCTS = 1 << 50  # whose numbers are exact, and beyond any memory


class Products(NamedTuple):
    """Which products there are.

    Attributes
    ----------
    counts : list of int
        How many of k features, for k = 0, 1, ...
    is_distinct : bool
        Whether no feature may repeat.
    has_bias : bool
        Whether the empty product is a column.
    """

    counts: list[int]
    is_distinct: bool
    has_bias: bool

    @property
    def n_columns(self) -> int:
        """Columns of the result."""
        return sum(self.counts) - (not self.has_bias)


class Level:
    """The products of one degree, numbered through, as children of those of the degree before.

    Parameters
    ----------
    first : ndarray of intp
        The first factor that each parent may be followed by.
    ends : ndarray of intp or int
        One more than the last.
    """

    def __init__(self, first: NDArray[np.intp], ends: NDArray[np.intp] | int) -> None:
        n_children = np.maximum(ends - first, 0)
        self.first = first
        self.stops = np.cumsum(n_children)
        self._whole: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None
        if len(self) <= _SMALL:
            parents = np.repeat(np.arange(len(first)), n_children)
            starts = self.stops - n_children
            self._whole = parents, np.arange(len(self)) - (starts - first)[parents]

    def __len__(self) -> int:
        return int(self.stops[-1]) if len(self.stops) else 0

    def pieces(self, most: int) -> Iterator[tuple[int, int]]:
        """Give (begin, end) of children, at most so many at once."""
        n = len(self)
        for begin in range(0, n, most):
            yield begin, min(begin + most, n)

    def children(self, begin: int, end: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the parent and the last factor of each child from `begin` on, up to `end`."""
        if self._whole is not None:
            parents, last = self._whole
            return parents[begin:end], last[begin:end]
        some = slice(self.parent(begin), self.parent(end - 1) + 1)
        stops = self.stops[some]
        starts = np.concatenate([[self.stops[some.start - 1] if some.start else 0], stops[:-1]])
        n_children = np.minimum(stops, end) - np.maximum(starts, begin)
        parents = np.repeat(np.arange(some.start, some.stop), n_children)
        return parents, np.arange(begin, end) - np.repeat(starts - self.first[some], n_children)

    def parent(self, child: int) -> int:
        """Return the parent of one child."""
        return int(np.searchsorted(self.stops, child, side="right"))

    def factors(self, child: int) -> tuple[int, int]:
        """Return the parent and the last factor of one child."""
        parents, last = self.children(child, child + 1)
        return int(parents[0]), int(last[0])


def levels(d: int, products: Products) -> Iterable[Level]:
    """Return the degrees 1, 2, ... of the products of d features, one at a time where large."""
    if products.n_columns <= _SMALL:
        return _small_levels(d, len(products.counts), products.is_distinct)
    return _levels(d, len(products.counts), products.is_distinct)


@functools.lru_cache(maxsize=32)
def _small_levels(d: int, n_degrees: int, is_distinct: bool) -> tuple[Level, ...]:
    """Return the degrees, kept: for single samples, finding them out takes longer than the map."""
    return tuple(_levels(d, n_degrees, is_distinct))


def _levels(d: int, n_degrees: int, is_distinct: bool) -> Iterator[Level]:
    last = np.full(1, -1 if is_distinct else 0, dtype=np.intp)
    for k in range(1, n_degrees):
        level = Level(last + is_distinct, d)
        yield level
        if k + 1 < n_degrees:
            last = np.concatenate([level.children(*piece)[1] for piece in level.pieces(_PIECE)])


# ---- Overflow


def _may_overflow(largest: float, products: Products, dtype: np.dtype[Float]) -> bool:
    """Say whether a product of numbers up to `largest` may be beyond the type."""
    degree = len(products.counts) - 1
    return largest > 1 and degree * math.log2(largest) > np.finfo(dtype).maxexp - 1


def _refuse_overflow(row: int, columns: list[int], dtype: np.dtype[Float]) -> None:
    factors = " ".join(
        f"x{k}" if columns.count(k) == 1 else f"x{k}^{columns.count(k)}"
        for k in sorted(set(columns))
    )
    advice = "scale the features" if dtype == np.float64 else "scale the features or use float64"
    raise ValueError(f"X: row {row}: the product {factors} overflows {dtype}; {advice}")


def _columns_of(path: list[Level], child: int) -> list[int]:
    """Return the last factors of a product and of all that it descends from."""
    found = []
    for level in reversed(path):
        child, last = level.factors(child)
        found.append(last)
    return found


# ---- Dense samples


def multiply_dense(points: NDArray[Float], products: Products) -> NDArray[Float]:
    """Return the products, a row for each sample."""
    n, d = points.shape
    out = np.empty((n, products.n_columns), dtype=points.dtype)  # no room is known before any work
    is_risky = _may_overflow(check_finite(points), products, points.dtype)
    done = int(products.has_bias)
    height = max(1, _TOUCHED // out.shape[1])  # of a piece: what it writes to is new memory
    if products.has_bias:
        for rows in _rows(n, height):
            out[rows, 0] = 1
    block: NDArray[Float] | None = None  # of the degree before; at first the empty products
    path: list[Level] = []
    for level in levels(d, products):
        path.append(level)
        place = out[:, done : done + len(level)]
        for begin, end in level.pieces(_PIECE // 8):
            parents, last = level.children(begin, end)
            for rows in _rows(n, max(1, min(height, _PIECE // (end - begin)))):
                some = place[rows, begin:end]
                factors = points[rows][:, last]
                if block is None:
                    some[...] = factors
                    continue
                with np.errstate(over="ignore"):
                    np.multiply(block[rows][:, parents], factors, out=some)
                if is_risky and not np.isfinite(some).all():
                    i, j = np.argwhere(~np.isfinite(some))[0]
                    columns = _columns_of(path, begin + int(j))
                    _refuse_overflow(rows.start + int(i), columns, points.dtype)
        block = place
        done += len(level)
    return out


def _rows(n: int, step: int) -> Iterator[slice]:
    for begin in range(0, n, step):
        yield slice(begin, min(begin + step, n))


# ---- Sparse samples


def multiply_sparse(points: CSR, products: Products) -> Any:
    """Return the products that are not zero as a CSR matrix."""
    from scipy.sparse import csr_array

    check_finite(points)
    points = _in_order(points)
    is_risky = _may_overflow(check_finite(points), products, points.dtype)
    ends = _ends_of_products(points.indptr, products)
    index_dtype = np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64
    data = np.empty(ends[-1], dtype=points.dtype)  # no room is known before the work
    indices = np.empty(ends[-1], dtype=index_dtype)
    for begin, end in _row_blocks(ends):
        block = _Block(points, begin, end, ends[begin:end], products)
        for value, column, place in block.pieces(is_risky):
            data[place] = value
            indices[place] = column
    shape = (points.shape[0], products.n_columns)
    return csr_array((data, indices, ends.astype(index_dtype, copy=False)), shape=shape)


def _row_blocks(indptr: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Give (begin, end) of rows that have about as many entries as a piece; at least one row."""
    begin, n = 0, len(indptr) - 1
    while begin < n:
        most = min(n, begin + _PIECE)
        end = int(np.searchsorted(indptr[begin : most + 1], indptr[begin] + _PIECE, "right"))
        end = max(begin + 1, begin + end - 1)
        yield begin, end
        begin = end


def _in_order(points: CSR) -> CSR:
    """Return a copy of the samples, the columns of each row sorted, repeated ones added up."""
    n, d = points.shape
    own = points.indptr.copy()  # what another thread may do to X from here on, it cannot do to this
    _core.check_points(points._replace(indptr=own), b"X")
    indptr = own.astype(np.int64, copy=False)
    data = np.empty(int(indptr[-1]), dtype=points.dtype)
    indices = np.empty(int(indptr[-1]), dtype=np.int64)
    counts = np.empty(n, dtype=np.int64)
    done = 0
    for begin, end in _row_blocks(indptr):
        entries = slice(int(indptr[begin]), int(indptr[end]))
        values, columns = points.data[entries].copy(), points.indices[entries].astype(np.int64)
        within = indptr[begin : end + 1] - indptr[begin]
        _core.check_points(CSR(values, columns, within, (end - begin, d)), b"X")  # they are our own
        key = np.repeat(np.arange(end - begin), np.diff(within)) * d + columns
        if (key[1:] <= key[:-1]).any():
            order = np.argsort(key, kind="stable")
            key, values = key[order], values[order]
            starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
            with np.errstate(over="ignore"):
                values = np.add.reduceat(values, starts)
            key = key[starts]
        some = slice(done, done + len(key))
        data[some], indices[some] = values, key % d
        counts[begin:end] = np.bincount(key // d, minlength=end - begin)
        done += len(key)
    ends = np.concatenate([[0], np.cumsum(counts)])
    return CSR(data[:done], indices[:done], ends, points.shape)


def _ends_of_products(indptr: NDArray[Any], products: Products) -> NDArray[np.int64]:
    """Return where the products of each row begin, and after the last row how many there are."""
    n = len(indptr) - 1
    sizes = np.empty(n, dtype=np.int64)
    total = 0.0
    for rows in _rows(n, _PIECE // 8):
        n_entries = np.diff(indptr[rows.start : rows.stop + 1])
        with np.errstate(over="ignore"):
            total += float(np.sum(sum(_numbers(n_entries.astype(np.float64), products))))
        if not total <= _MAX_PRODUCTS:
            raise MemoryError(
                f"X: its rows up to {rows.stop - 1} alone have {total:.3g} products of up to "
                f"{len(products.counts) - 1} features that are not zero"
            )
        sizes[rows] = sum(_numbers(n_entries, products))
    return np.concatenate([[0], np.cumsum(sizes)])


def _numbers(n_entries: NDArray[Any], products: Products) -> Iterator[NDArray[Any]]:
    """Give how many products of each degree there are of so many factors."""
    divide = np.floor_divide if n_entries.dtype.kind == "i" else np.true_divide
    number = np.ones_like(n_entries)
    if products.has_bias:
        yield number
    for k in range(1, len(products.counts)):
        step = 1 - k if products.is_distinct else k - 1
        number = divide(number * np.maximum(n_entries + step, 0), k)
        yield number


class _Block:
    """Some rows of samples in order, and the products that they have.

    Parameters
    ----------
    points : CSR
        The samples.
    begin, end : int
        The rows.
    room : ndarray of int64
        Where the products of each row begin in the result.
    products : Products
        Which there are.
    """

    def __init__(
        self, points: CSR, begin: int, end: int, room: NDArray[np.int64], products: Products
    ) -> None:
        entries = slice(int(points.indptr[begin]), int(points.indptr[end]))
        self.values, self.columns = points.data[entries], points.indices[entries]
        self.bounds = points.indptr[begin : end + 1] - points.indptr[begin]
        self.begin = begin
        self.n_features = points.shape[1]
        self.room = room
        self.products = products
        self.ranks: list[NDArray[Any]] = []

    def pieces(
        self, is_risky: bool
    ) -> Iterator[tuple[NDArray[Float], NDArray[np.int64], NDArray[np.int64]]]:
        """Give values of products, their columns, and their places in the result."""
        products, n = self.products, len(self.room)
        room, done = self.room.copy(), 0
        # Of each parent: its row, its value, and where its factors stand among the entries.
        row, value = np.arange(n), np.ones(n, dtype=self.values.dtype)
        factors: list[NDArray[np.intp]] = []
        last = self.bounds[:-1] - products.is_distinct
        if products.has_bias:
            yield value, np.zeros(n, dtype=np.int64), room
            room, done = room + 1, 1
        for k, count in enumerate(products.counts[1:], 1):
            self._add_rank()
            level = Level(last + products.is_distinct, self.bounds[1:][row])
            # Children of one row stand side by side, in the level as in the result.
            stops = np.concatenate([[0], level.stops])[np.searchsorted(row, np.arange(n), "right")]
            n_children = np.diff(stops, prepend=0)
            shift = room - (stops - n_children)
            kept = []
            for begin, end in level.pieces(_PIECE // 4):
                parents, newest = level.children(begin, end)
                some = [*(each[parents] for each in factors), newest]
                rows = row[parents]
                with np.errstate(over="ignore"):
                    made = value[parents] * self.values[newest]
                if is_risky and not np.isfinite(made).all():
                    self._refuse(rows, some, int(np.isfinite(made).argmin()))
                n_after = sum(self.ranks[k - j][each] for j, each in enumerate(some, 1))
                yield made, done + count - 1 - n_after, np.arange(begin, end) + shift[rows]
                if k + 1 < len(products.counts):
                    kept.append((rows, made, *some))
            if not kept:
                break
            row, value, *factors = (np.concatenate(each) for each in zip(*kept, strict=True))
            last, room, done = factors[-1], room + n_children, done + count

    def _add_rank(self) -> None:
        """Tell how many products come after one, by the factor with s others behind it.

        Products that come after c_1 < .. < c_k of 0 .. m - 1 are counted by the first place where
        they are larger: binomial(m - 1 - c_j, k + 1 - j) each. Factors that may repeat are made to
        differ by adding 0, 1, .., k - 1.
        """
        s, after = len(self.ranks), self.n_features - 1 - self.columns
        if s == 0:
            self.ranks.append(after)
            return
        step = -s if self.products.is_distinct else s
        self.ranks.append(self.ranks[-1] * np.maximum(after + step, 0) // (s + 1))

    def _refuse(self, rows: NDArray[np.intp], factors: list[NDArray[np.intp]], k: int) -> None:
        columns = [int(self.columns[each[k]]) for each in factors]
        _refuse_overflow(self.begin + int(rows[k]), columns, self.values.dtype)
