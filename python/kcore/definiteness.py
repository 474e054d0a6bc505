"""Whether a matrix, or a kernel on samples, is what a kernel has to be.

A function is a kernel where every matrix of its values is symmetric and positive semi-definite. The
expression of a kernel often says so (`Kernel.definiteness`); these functions look at the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kcore import _core
from kcore._kernel_maps import as_type, refuse_asymmetric, refuse_many, rows_of
from kcore._kernelized import UserKernel, call_kernel, check_values
from kcore._points import as_scipy
from kcore._validate import (
    as_flag,
    as_objects,
    as_points,
    as_real,
    as_reals,
    check_finite,
    refuse_non_finite,
)
from kcore.kernels import Kernel

__all__ = ["CauchySchwarzCheck", "PSDCheck", "check_cauchy_schwarz", "check_psd"]

_EPS = float(np.finfo(np.float64).eps)
_MATRIX, _VALUES = "K_or_kernel", "the matrix of kernel values"
_STRIP = 1 << 21  # values of a kernel that are looked at at once

Array = NDArray[np.float64]


# ---- Results


@dataclass(frozen=True)
class PSDCheck:
    """What `check_psd` found.

    Attributes
    ----------
    is_psd : bool
        Whether the least eigenvalue is at least minus the tolerance.
    least_eigenvalue : float
        Of the matrix; with `conditional` of what it does to vectors that sum to zero.
    tolerance : float
        How negative an eigenvalue of a positive matrix may come out.
    vector : ndarray or None
        Where the matrix is not positive: v of length 1 with v'Kv = least_eigenvalue < 0.
    conditional : bool
        Whether vectors that sum to zero alone were asked for.
    """

    is_psd: bool
    least_eigenvalue: float
    tolerance: float
    vector: Array | None
    conditional: bool = False

    def __repr__(self) -> str:
        what = (
            "conditionally positive semi-definite"
            if self.conditional
            else ("positive semi-definite")
        )
        sign = ">=" if self.is_psd else "<"
        return (
            f"{'' if self.is_psd else 'not '}{what}: least eigenvalue "
            f"{self.least_eigenvalue:.6g} {sign} -{self.tolerance:.2g}"
        )


@dataclass(frozen=True)
class CauchySchwarzCheck:
    """What `check_cauchy_schwarz` found.

    Attributes
    ----------
    holds : bool
        Whether no ratio is larger than 1, but for rounding.
    ratio : float
        The largest K(x, z)^2 / (K(x, x) K(z, z)) of two different samples; infinite where the
        product below is not positive, and 0 where that above is 0, too, or there is one sample.
    row, column : int
        Where it is.
    values : tuple of float
        K(x, z), K(x, x) and K(z, z) there.
    """

    holds: bool
    ratio: float
    row: int
    column: int
    values: tuple[float, float, float]

    def __repr__(self) -> str:
        between, first, second = self.values
        return (
            f"Cauchy-Schwarz {'holds' if self.holds else 'fails'}: the largest ratio is "
            f"{self.ratio:.6g}, at row {self.row}, column {self.column}: {between:.6g}^2 to "
            f"{first:.6g} * {second:.6g}"
        )


# ---- Positive semi-definite


def check_psd(
    K_or_kernel: Any,
    X: Any = None,
    *,
    tol: float | None = None,
    conditional: bool = False,
) -> PSDCheck:
    """Say whether a matrix, or a kernel's matrix of these samples, is positive semi-definite.

    Parameters
    ----------
    K_or_kernel : array_like of shape (n, n), Kernel or callable
        A symmetric matrix, a kernel of `kcore.kernels`, or a function of two sets of samples.
    X : array_like or sparse matrix of shape (n, d), optional
        The samples, for a kernel.
    tol : float, optional
        Eigenvalues down to -tol count as rounded zeros; by default n times the rounding unit times
        the root of the sum of squares of the matrix, in the type of the matrix.
    conditional : bool, default=False
        Whether v'Kv >= 0 is asked for vectors v that sum to zero alone.

    Returns
    -------
    PSDCheck

    Notes
    -----
    Takes 16 n^2 bytes and time n^3. A positive answer is about these samples; a negative one shows
    that the function is no kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from kcore import check_psd
    >>> found = check_psd([[1.0, 2.0], [2.0, 1.0]])
    >>> found
    not positive semi-definite: least eigenvalue -1 < -1.4e-15
    >>> found.vector.round(4)
    array([ 0.7071, -0.7071])
    >>> check_psd([[0.0, -1.0], [-1.0, 0.0]], conditional=True)
    conditionally positive semi-definite: least eigenvalue 1 >= -6.3e-16
    """
    limit = None if tol is None else as_real(tol, "tol", low=0)
    K, eps = _matrix(K_or_kernel, X)
    n = len(K)
    exponent = int(np.frexp(np.abs(K).max())[1])
    np.ldexp(K, -exponent, out=K)  # squares of the largest values would overflow
    if limit is None:
        limit = float(np.ldexp(n * eps * np.linalg.norm(K), exponent))
    conditional = as_flag(conditional, "conditional")
    if conditional:
        K = _without_mean(K)
    if len(K) == 0:  # of one sample, 0 is the only vector that sums to zero
        return PSDCheck(True, 0.0, limit, None, True)
    found, vectors = eigh(K, subset_by_index=(0, 0), overwrite_a=True, check_finite=False)
    with np.errstate(over="ignore"):
        least = float(np.ldexp(found[0], exponent))
    if least >= -limit:
        return PSDCheck(True, least, limit, None, conditional)
    vector = _with_mean(vectors[:, 0]) if conditional else vectors[:, 0]
    vector = vector if vector[np.abs(vector).argmax()] > 0 else -vector
    return PSDCheck(False, least, limit, vector, conditional)


def _reflection(n: int) -> Array:
    """Return w with (I - w w') 1 = -sqrt(n) e_1: its other columns span what sums to zero."""
    w = np.ones(n)
    w[0] += np.sqrt(n)
    return w * np.sqrt(2.0 / (w @ w))


def _without_mean(K: Array) -> Array:
    """Return the matrix on vectors that sum to zero, in an orthonormal basis of them."""
    w = _reflection(len(K))
    Kw = K @ w
    K -= np.outer(w, Kw)
    K -= np.outer(Kw - w * (w @ Kw), w)
    return np.ascontiguousarray(K[1:, 1:])


def _with_mean(vector: Array) -> Array:
    """Return a vector of that basis among all vectors."""
    w = _reflection(len(vector) + 1)
    whole = np.concatenate([[0.0], vector])
    found: Array = whole - w * (w @ whole)
    return found


# ---- Cauchy-Schwarz


def check_cauchy_schwarz(K_or_kernel: Any, X: Any = None) -> CauchySchwarzCheck:
    """Return where K(x, z)^2 <= K(x, x) K(z, z) holds least, which it does for every kernel.

    Parameters
    ----------
    K_or_kernel : array_like of shape (n, n), Kernel or callable
        A symmetric matrix, a kernel of `kcore.kernels`, or a function of two sets of samples.
    X : array_like or sparse matrix of shape (n, d), optional
        The samples, for a kernel.

    Returns
    -------
    CauchySchwarzCheck
        It holds where the ratio is at most 1 + 1e-12 (1e-5 for float32, and for functions, which
        may compute in it).

    Notes
    -----
    Takes time n^2. A matrix may pass and not be positive semi-definite; `check_psd` decides that.

    Examples
    --------
    >>> from kcore import check_cauchy_schwarz
    >>> check_cauchy_schwarz([[1.0, 2.0], [2.0, 1.0]])
    Cauchy-Schwarz fails: the largest ratio is 4, at row 0, column 1: 2^2 to 1 * 1
    """
    source = _source(K_or_kernel, X)
    own = source.diagonal
    best = (-1.0, 0, 0, 0.0)
    for begin, block in source.strips():
        rows = np.arange(begin, begin + len(block))
        # The sign of a square of what underflows is lost: roots are compared.
        signs = np.minimum(np.sign(own[rows])[:, None], np.sign(own))
        root = np.sqrt(np.abs(own[rows]))[:, None] * np.sqrt(np.abs(own))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = (np.abs(block) / root) ** 2
        is_bad = (signs <= 0) | (root == 0)
        ratios[is_bad] = np.where((block != 0) | (signs < 0), np.inf, 0.0)[is_bad]
        ratios[np.arange(len(rows)), rows] = np.where(own[rows] < 0, np.inf, 0.0)
        k = int(ratios.argmax())
        if ratios.flat[k] > best[0]:
            i, j = divmod(k, ratios.shape[1])
            best = (float(ratios.flat[k]), begin + i, j, float(block[i, j]))
    ratio, i, j, between = best
    slack = 1e-5 if source.is_rounded else 1e-12
    values = (between, float(own[i]), float(own[j]))
    return CauchySchwarzCheck(ratio <= 1 + slack, ratio, i, j, values)


# ---- What is looked at


class _Source:
    """Values of a matrix or of a kernel: the diagonal, or some rows.

    Parameters
    ----------
    name : str
        What messages call the matrix.
    is_rounded : bool
        Whether values may have been computed in float32.
    diagonal : ndarray of float64
        K(x, x).
    rows : callable
        Returns the rows from a first one up to a last one.
    """

    def __init__(
        self,
        name: str,
        is_rounded: bool,
        diagonal: Array,
        rows: Callable[[int, int], Array],
    ) -> None:
        self.name = name
        self.is_rounded = is_rounded
        self.diagonal = diagonal
        self.rows = rows

    def strips(self) -> Iterator[tuple[int, Array]]:
        """Give the first row of each strip, and its values."""
        n = len(self.diagonal)
        height = max(1, _STRIP // n)
        for begin in range(0, n, height):
            yield begin, self.rows(begin, min(begin + height, n))


def _source(K_or_kernel: Any, X: Any) -> _Source:
    if not callable(K_or_kernel):
        if X is not None:
            raise TypeError("X is for kernels, K_or_kernel is none: give one or the other")
        return _of_matrix(K_or_kernel)
    if X is None:
        raise TypeError("X must be samples where K_or_kernel is a kernel, got None")
    return (
        _of_kernel(K_or_kernel, X)
        if isinstance(K_or_kernel, Kernel)
        else _of_function(K_or_kernel, X)
    )


def _of_matrix(given: Any) -> _Source:
    K = as_reals(given, _MATRIX)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.size == 0:
        raise ValueError(f"{_MATRIX} must be a square matrix or a kernel, got shape {K.shape}")
    refuse_non_finite(K, _MATRIX, ("row", "column"))
    is_rounded = getattr(given, "dtype", None) in (np.float32, np.float16)
    refuse_asymmetric(K, _MATRIX, is_rounded)
    return _Source(_MATRIX, is_rounded, np.diag(K), lambda begin, end: K[begin:end])


def _of_kernel(kernel: Kernel, X: Any) -> _Source:
    points = kernel._read(X, "X")
    refuse_many(points)
    bound = kernel._bound_to(X, points)
    points = as_type(points if bound is None else bound.points, np.dtype(np.float64))
    compiled = kernel._compile(bound)
    own = _core.diag(compiled, points, None, 0)  # and samples that are not finite are named

    def rows(begin: int, end: int) -> Array:
        values = _core.gram(compiled, rows_of(points, begin, end), points, None, 0)
        return values.astype(np.float64, copy=False)

    return _Source(_VALUES, False, own.astype(np.float64, copy=False), rows)


def _of_function(function: Any, X: Any) -> _Source:
    objects = as_objects(X)
    samples: Any = as_points(X, "X") if objects is None else objects
    if objects is None:
        refuse_many(samples)
        check_finite(samples)
    others = as_scipy(samples)

    def rows(begin: int, end: int) -> Array:
        values = call_kernel(function, as_scipy(cast("Any", rows_of(samples, begin, end))), others)
        check_values(values, begin)
        return values

    return _Source(_VALUES, True, UserKernel(function, samples).diagonal(), rows)


def _matrix(K_or_kernel: Any, X: Any) -> tuple[Array, float]:
    """Return a matrix of its own, symmetric to the bit, and the rounding unit of its values."""
    source = _source(K_or_kernel, X)
    K = np.concatenate([block for _, block in source.strips()])
    refuse_asymmetric(K, source.name, source.is_rounded)
    K *= 0.5  # before the sum, which could overflow
    K += K.T.copy()
    is_f32 = getattr(K_or_kernel, "dtype", None) in (np.float32, np.float16)
    return K, float(np.finfo(np.float32).eps) if is_f32 else _EPS
