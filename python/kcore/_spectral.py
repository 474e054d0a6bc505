"""Some eigenpairs of a symmetric matrix that is known by its products with vectors.

A basis of vectors grows by blocks: what is left of A x - theta x for the best pairs (theta, x) that
the basis has so far, made orthogonal to it. That is the block Krylov space, in exact arithmetic;
unlike the three-term recurrence it bears products that are rounded to float32, and a start that is
nearly right. Where the basis is full, it begins again with its best vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Array: TypeAlias = NDArray[np.float64]
Multiply: TypeAlias = Callable[[Array], Array]

_SPARE = 8  # pairs that are followed beside those that are asked for
# Blocks of vectors in a full basis: each beginning anew costs depth, and with it convergence where
# eigenvalues lie close together. Beyond a share of n, memory would be felt: then they are fewer.
_BLOCKS, _LEAST_BLOCKS = 20, 3
_SHARE = 8
_PATIENCE = 8  # rounds without progress after which rounding is what is left
_LEAST = 16 * np.finfo(np.float64).eps  # no residual is asked to be smaller, relative to |A|

_DEPENDENT = 1e-12  # squares of lengths that say nothing of a direction


class Pairs(NamedTuple):
    """Eigenpairs, the largest value first.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Rayleigh quotients of the vectors.
    vectors : ndarray of shape (n, k)
        Orthonormal columns.
    residuals : ndarray of shape (k,)
        |A v - value v|.
    scale : float
        The largest absolute value that was seen: what residuals are compared with.
    """

    values: Array
    vectors: Array
    residuals: Array
    scale: float

    def are_within(self, tol: float, n_pairs: int) -> bool:
        """Say whether residuals of the first pairs are small enough."""
        return bool((self.residuals[:n_pairs] <= max(tol, _LEAST) * self.scale).all())


def block_size(n_pairs: int, n: int) -> int:
    """Return how many vectors a start should have."""
    return min(n, n_pairs + _SPARE)


def largest_pairs(
    multiply: Multiply, start: Array, n_pairs: int, tol: float, max_rounds: int
) -> Pairs:
    """Return the pairs of the largest eigenvalues, as many as the start has vectors.

    Parameters
    ----------
    multiply : callable
        Returns A times the columns of an array.
    start : ndarray of shape (n, b)
        The first vectors; `block_size` of them for a random start.
    n_pairs : int
        How many pairs have to meet the tolerance.
    tol : float
        Largest residual, relative to the largest absolute eigenvalue.
    max_rounds : int
        Products with blocks after which the pairs are returned as they are.
    """
    n, b = start.shape
    most = min(n, max(_LEAST_BLOCKS * b, min(_BLOCKS * b, n // _SHARE)))
    basis, image = np.empty((n, most), order="F"), np.empty((n, most), order="F")
    small = np.empty((most, most))  # the matrix in the basis
    block = _new_directions(start, basis[:, :0])
    best, scale, n_used, n_waited = np.inf, 0.0, 0, 0
    for k in range(max(1, max_rounds)):
        n_before, n_used = n_used, n_used + block.shape[1]
        basis[:, n_before:n_used] = block
        image[:, n_before:n_used] = multiply(block)
        new = basis[:, :n_used].T @ image[:, n_before:n_used]
        small[:n_used, n_before:n_used] = new
        small[n_before:n_used, :n_used] = new.T
        n_kept = min(b, n_used)
        values, turn = _ritz(small[:n_used, :n_used], n_kept)
        scale = max(scale, float(np.linalg.norm(image[:, n_before:n_used], axis=0).max()))
        vectors, images = basis[:, :n_used] @ turn[:, :n_kept], image[:, :n_used] @ turn[:, :n_kept]
        rest = images - vectors * values
        scale = max(scale, float(np.abs(values).max()))
        pairs = Pairs(values, vectors, np.linalg.norm(rest, axis=0), scale)
        worst = float(pairs.residuals[:n_pairs].max())
        n_waited = 0 if worst < 0.5 * best else n_waited + 1
        best = min(best, worst)
        if pairs.are_within(tol, n_pairs) or n_waited > _PATIENCE or k + 1 == max_rounds:
            break
        if n_used + n_kept > most:
            basis[:, :n_kept], image[:, :n_kept] = vectors, images
            n_used = n_kept
            small[:n_used, :n_used] = np.diag(pairs.values)
        is_open = pairs.residuals > _LEAST * pairs.scale
        block = _new_directions(rest[:, is_open], basis[:, :n_used])[:, : most - n_used]
        if block.shape[1] == 0:  # the basis is one of an invariant space
            break
    return pairs


def _ritz(small: Array, n_pairs: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of the matrix in a basis, in order, and the vectors there."""
    n = len(small)
    values, turn = eigh((small + small.T) / 2, subset_by_index=(n - n_pairs, n - 1))
    return values[::-1], turn[:, ::-1]


def _new_directions(vectors: Array, basis: Array) -> Array:
    """Return orthonormal vectors that with the basis span what these do with it.

    They come from the eigenvectors of their products, which takes a few large products of matrices
    where a QR decomposition takes many small ones. What is nearly dependent is left out.
    """
    lengths = np.linalg.norm(vectors, axis=0)
    found: Array = vectors[:, lengths > 0] / lengths[lengths > 0]
    for _ in range(3):  # each pass removes most of what the one before left of the basis
        found = found - basis @ (basis.T @ found)
        squares, turn = eigh(found.T @ found) if found.size else (np.empty(0), np.empty((0, 0)))
        is_new = squares > _DEPENDENT
        found = found @ (turn[:, is_new] / np.sqrt(squares[is_new]))
        if squares.min(initial=1.0) > 0.5:  # they hardly changed
            break
    return found
