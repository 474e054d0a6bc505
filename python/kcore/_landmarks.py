"""Which samples stand for all others, and the Cholesky factor of their kernel matrix.

Both random selections draw a sample with a probability in proportion to what the samples chosen
before leave of it: the distance to the nearest one (k-means++), or to the span of all (randomly
pivoted Cholesky; Chen, Epperly, Tropp and Webber 2022). What is left only ever decreases. So a
block of samples can be drawn by what was left before it, each kept with the probability (left now)
/ (left before): the distribution is that of drawing one by one, and kernel values are computed by
blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from kcore._points import Float

Array: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = NDArray[np.int64]

_BLOCKS = 16  # in which samples are drawn, or more


class Matrix(NamedTuple):
    """The matrix of kernel values of all samples, by what is asked of it.

    Attributes
    ----------
    diagonal : ndarray of float64
        K(x, x).
    columns : callable
        Returns K(x_i, x_j) for all i and the j of a list.
    block : callable
        Returns these values for both i and j in a list, as float64.
    """

    diagonal: Array
    columns: Callable[[Numbers], NDArray[Float]]
    block: Callable[[Numbers], Array]


def choose_uniform(n: int, m: int, rng: np.random.Generator) -> Numbers:
    """Return m samples of n, any as likely as any other."""
    return rng.choice(n, m, replace=False).astype(np.int64)


def _draw(left: Array, n_draws: int, rng: np.random.Generator) -> Numbers:
    """Return samples, independent of each other, with probabilities in proportion to `left`."""
    sums = np.cumsum(left)
    places: Numbers = np.searchsorted(sums, rng.random(n_draws) * sums[-1], side="right")
    return np.minimum(places, int(np.flatnonzero(left)[-1]))


def _fill(chosen: list[int], n: int, m: int, rng: np.random.Generator) -> Numbers:
    """Return m samples: those chosen, and any others where nothing was left to choose by."""
    if len(chosen) < m:
        others = np.setdiff1d(np.arange(n), chosen)
        chosen = chosen + rng.choice(others, m - len(chosen), replace=False).tolist()
    return np.array(chosen, dtype=np.int64)


# ---- k-means++ in feature space


def choose_spread(K: Matrix, m: int, rng: np.random.Generator) -> Numbers:
    """Return m samples, each drawn by its squared distance to the nearest one before it."""
    n = len(K.diagonal)
    chosen = [int(rng.integers(n))]
    left = _distances(K, np.array(chosen)).min(axis=1)
    left[chosen] = 0.0
    while len(chosen) < m and left.max() > 0:
        drawn = _draw(left, min(max(1, m // _BLOCKS), m - len(chosen)), rng)
        chances = rng.random(len(drawn))
        among = K.block(drawn)
        own = np.diag(among)
        apart = own[:, None] + own - 2 * among
        kept: list[int] = []
        for i, sample in enumerate(drawn):
            now = min([left[sample], *apart[i, kept]])
            if chances[i] * left[sample] < now and sample not in drawn[kept]:
                kept.append(i)
        new = drawn[kept]
        left = np.minimum(left, _distances(K, new).min(axis=1, initial=np.inf))
        left[new] = 0.0
        chosen += new.tolist()
    return _fill(chosen, n, m, rng)


def _distances(K: Matrix, samples: Numbers) -> Array:
    """Return squared distances in feature space of all samples to some, none negative."""
    found = K.diagonal[:, None] + K.diagonal[samples] - 2.0 * K.columns(samples)
    return np.maximum(found, 0.0)


# ---- Randomly pivoted Cholesky


def choose_pivots(K: Matrix, m: int, dtype: np.dtype[Float], rng: np.random.Generator) -> Numbers:
    """Return m samples, each drawn by what those before leave of the diagonal."""
    n = len(K.diagonal)
    rows = np.zeros((n, m), dtype)
    left = np.maximum(K.diagonal, 0.0)
    # What is left of a sample is rounding below this.
    least = 8 * m * float(np.finfo(dtype).eps) * left
    left[left <= least] = 0.0
    chosen: list[int] = []
    while len(chosen) < m and left.max() > 0:
        t = len(chosen)
        drawn = _draw(left, min(max(1, m // _BLOCKS), m - t), rng)
        chances = rng.random(len(drawn))
        before = rows[drawn, :t].astype(np.float64)
        kept, small, is_spent = _pivots(
            K.block(drawn) - before @ before.T, chances * left[drawn], least[drawn]
        )
        left[drawn[is_spent]] = 0.0
        new = drawn[kept]
        if len(new) == 0:
            continue
        columns = K.columns(new) - rows[:, :t] @ rows[new, :t].T
        some = rows[:, t : t + len(new)]
        some[...] = solve_triangular(small, columns.T, lower=True, check_finite=False).T
        left -= np.einsum("ij,ij->i", some, some, dtype=np.float64)
        left[left <= least] = 0.0
        left[new] = 0.0
        chosen += new.tolist()
    return _fill(chosen, n, m, rng)


def _pivots(
    rest: Array, chances: Array, least: Array
) -> tuple[list[int], Array, NDArray[np.bool_]]:
    """Return which of a block are pivots, their Cholesky factor, and which have nothing left.

    One is a pivot where what is left of it now is more than its chance.
    """
    b = len(rest)
    factor = np.zeros((b, b))
    kept: list[int] = []
    is_spent = np.zeros(b, dtype=bool)
    for i in range(b):
        done = len(kept)
        now = rest[i, i] - factor[i, :done] @ factor[i, :done]
        is_spent[i] = now <= least[i]
        if is_spent[i] or now <= chances[i]:
            continue
        factor[:, done] = (rest[:, i] - factor[:, :done] @ factor[i, :done]) / np.sqrt(now)
        kept.append(i)
    return kept, factor[np.ix_(kept, range(len(kept)))], is_spent


# ---- From kernel values to columns


class Triangle(NamedTuple):
    """What makes orthonormal columns of kernel values with samples: N with N'N = K^-1.

    Attributes
    ----------
    order : ndarray of intp
        The samples in the order of N; those after `rank` are determined by those before.
    inverse : ndarray of float64, shape (m, m)
        N, lower triangular; rows and columns after `rank` are 0.
    rank : int
    """

    order: NDArray[np.intp]
    inverse: Array
    rank: int


def invert_factor(K: Array, eps: float) -> Triangle:
    """Return the inverse of the Cholesky factor of a kernel matrix, pivots in falling order.

    A pivot that is smaller than m eps max K(x, x) is rounding; it ends the factor, as a negative
    one does.
    """
    m = len(K)
    inverse = np.zeros((m, m))
    largest = float(K.diagonal().max())
    if not largest > 0:
        return Triangle(np.arange(m), inverse, 0)
    factor, pivots, rank, _ = lapack.dpstrf(K, tol=m * eps * largest, lower=1)
    part, _ = lapack.dtrtri(np.tril(factor[:rank, :rank]), lower=1)
    inverse[:rank, :rank] = np.tril(part)
    return Triangle(pivots.astype(np.intp) - 1, inverse, int(rank))
