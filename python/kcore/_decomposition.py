"""Maps from the eigenvectors of a Gram matrix: what they share, and `EmpiricalKernelMap`."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kcore import _core
from kcore._base import fitted
from kcore._kernel_maps import (
    Begun,
    FittedMap,
    KernelMap,
    KernelValues,
    as_type,
    keep_rows,
    refuse_asymmetric,
)
from kcore._kernelized import KernelLike
from kcore._points import Float, Points
from kcore._spectral import Array

_FLOAT64 = np.dtype(np.float64)
EPS = float(np.finfo(np.float64).eps)


# ---- Gram matrices


def gram_matrix(
    values: KernelValues, points: Points, dtype: np.dtype[Float], n_threads: int
) -> NDArray[Float]:
    """Return the matrix of all kernel values; one that was given, as it is."""
    if values.kernel is not None:
        K = _core.gram(values.kernel, as_type(points, dtype), None, None, n_threads)
        return K.astype(dtype, copy=False)
    if values.function is None:
        given = cast("NDArray[Float]", points)
        refuse_asymmetric(given, "X")
        return given
    K = np.empty((points.shape[0], points.shape[0]), dtype)
    for _ in values.strips(points, dtype, n_threads, K):
        pass
    refuse_asymmetric(K, "what the function given as kernel returned", is_rounded=True)
    return K


def own_matrix(K: NDArray[Float], points: Points) -> Array:
    """Return a matrix in float64 that may be written to."""
    return np.array(K, dtype=np.float64) if K is points else K.astype(np.float64, copy=False)


def _turned(vectors: Array) -> Array:
    """Return vectors with signs such that the largest entry of each is positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


# ---- What fits leave behind


class FittedSpectrum(FittedMap):
    """Eigenpairs, and the coefficients of new samples' kernel values."""

    def __init__(self, begun: Begun) -> None:
        kept = None if begun.values.kept is None else keep_rows(begun.values.kept)
        super().__init__(begun, kept)
        self.eigenvalues: Array = np.empty(0)
        self.eigenvectors: Array = np.empty((self.shape[0], 0))
        self.coef: Array = self.eigenvectors  # of kernel values with the samples
        self.offset: Array = self.eigenvalues
        self.residuals: Array | None = None
        self.precision = "float64"
        self.inverse: tuple[Array, Array] | None = None  # map of the samples, and coefficients

    @property
    def n_columns(self) -> int:
        """Columns of the map."""
        return len(self.eigenvalues)

    def set_pairs(self, eigenvalues: Array, eigenvectors: Array) -> None:
        """Take eigenpairs; values that are 0 have columns of zeros."""
        self.eigenvalues, self.eigenvectors = eigenvalues, _turned(eigenvectors)
        root = np.sqrt(eigenvalues)
        scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
        self.coef = self.eigenvectors * scale
        self.offset = np.zeros(len(eigenvalues))

    @property
    def mapped(self) -> Array:
        """The map of the samples themselves."""
        return self.eigenvectors * np.sqrt(self.eigenvalues)


class SpectralMap(KernelMap):
    """What both maps share: they are linear in kernel values with all samples."""

    _fitted: FittedSpectrum

    def transform(self, X: Any) -> Array:
        """Return the map of samples.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values with all samples of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_columns)
        """
        state = self._state("transform")
        points = self._read(X, state)
        out = np.empty((points.shape[0], state.n_columns))
        values = state.values(self.kernel)
        for rows, block in values.strips(points, _FLOAT64, self._n_threads()):
            np.matmul(block, state.coef, out=out[rows])
            out[rows] -= state.offset
        return out

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, and return the map of the samples: eigenvectors times roots of the eigenvalues.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples, as for `fit`.
        y : object, default=None
            Not used.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_columns)
        """
        self.fit(X, y)
        return self._fitted.mapped

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map."""
        raise NotImplementedError

    @fitted
    def eigenvalues_(self) -> Array:
        """Eigenvalues that have columns, the largest first."""
        return self._fitted.eigenvalues

    @fitted
    def eigenvectors_(self) -> Array:
        """Their eigenvectors, in columns of length 1; the largest entry of each is positive."""
        return self._fitted.eigenvectors


# ---- The map of Mercer's theorem on the samples


class EmpiricalKernelMap(SpectralMap):
    r"""The map of Mercer's theorem, from the eigenvectors of the Gram matrix.

    With :math:`K = \sum_t \lambda_t v_t v_t^\top`, sample i is mapped to the vector of

    .. math:: \phi_t(x_i) = \sqrt{\lambda_t}\, v_{ti}, \qquad
              \phi_t(x) = \frac{1}{\sqrt{\lambda_t}} \sum_i v_{ti} K(x_i, x),

    so that :math:`\phi(x_i) \cdot \phi(x_j) = K(x_i, x_j)` for the samples of the fit, and
    :math:`\phi(x) \cdot \phi(x_j) = K(x, x_j)` for any x. The rank of K is the number of columns.

    Parameters
    ----------
    kernel : str, Kernel or callable, default='rbf'
        ``'linear'``, ``'poly'``, ``'rbf'``, ``'sigmoid'``, ``'laplacian'``, ``'precomputed'``, a
        kernel of `kcore.kernels`, or a function of two sets of samples.
    degree : int, default=3
        Of ``'poly'``.
    gamma : {'scale', 'auto'}, float or None, default=None
        Of named kernels but ``'linear'``; None and ``'auto'``: 1 / n_features; ``'scale'``:
        1 / (n_features * variance of X).
    coef0 : float, default=1.0
        Of ``'poly'`` and ``'sigmoid'``.
    tol : float or None, default=None
        Eigenvalues up to tol times the largest one count as 0; None: n_samples times the rounding
        unit of float64, which is what rounding leaves of a zero.
    n_jobs : int or None, default=None
        Threads of kernel evaluations; -1 for all usable CPUs. Results do not depend on it.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (rank,)
        Eigenvalues that count, the largest first.
    eigenvectors_ : ndarray of shape (n_samples, rank)
        Their eigenvectors, in columns.
    rank_ : int
        Number of columns.
    support_vectors_ : ndarray or sparse matrix
        The samples of the fit.

    Notes
    -----
    A fit computes the Gram matrix and all its eigenvectors in float64: memory 16 n^2 bytes, time
    n^3. Negative eigenvalues have no column: an indefinite kernel is warned of, and products are
    then those of the positive part. Ctrl-C waits for LAPACK.

    Examples
    --------
    >>> import numpy as np
    >>> from kcore import EmpiricalKernelMap
    >>> from kcore.kernels import RBF
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> phi = EmpiricalKernelMap(RBF(0.5)).fit(X)
    >>> (phi.transform(X) @ phi.transform(X).T).round(4)
    array([[1.    , 0.6065, 0.0111],
           [0.6065, 1.    , 0.1353],
           [0.0111, 0.1353, 1.    ]])
    """

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        *,
        degree: int = 3,
        gamma: float | str | None = None,
        coef0: float = 1.0,
        tol: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the eigenvectors.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` the symmetric matrix of kernel values.
        y : object, default=None
            Not used; there for scikit-learn's conventions.

        Returns
        -------
        self
        """
        tol = None if self.tol is None else as_tolerance(self)
        begun = self._begin(X)
        K = gram_matrix(begun.values, begun.samples, _FLOAT64, self._n_threads())
        K = own_matrix(K, begun.samples)
        found, vectors = eigh(K, overwrite_a=True, check_finite=False)
        cut = (len(K) * EPS if tol is None else tol) * float(np.abs(found).max())
        rank = int((found > cut).sum())
        state = FittedSpectrum(begun)
        self._keep(state, X, begun.points)
        state.set_pairs(found[::-1][:rank].copy(), vectors[:, ::-1][:, :rank].copy())
        self._fitted = state
        return self

    @property
    def rank_(self) -> int:
        """Eigenvalues that count."""
        n_columns: int = self._state("rank_").n_columns
        return n_columns


def as_tolerance(estimator: KernelMap) -> float:
    tol = estimator._real("tol")
    if not 0 <= tol < 1:
        raise ValueError(f"tol must be in [0, 1), got {tol!r}")
    return tol
