"""`KernelPCA`: principal components in the space of a kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh

from kcore import _core
from kcore._base import as_samples, fitted
from kcore._decomposition import (
    EPS,
    FittedSpectrum,
    SpectralMap,
    as_tolerance,
    gram_matrix,
    own_matrix,
)
from kcore._kernel_maps import PRECISIONS, KernelValues, is_small_enough
from kcore._kernelized import KernelLike
from kcore._points import CSR, AnyPoints, Float, Points, Strings, Table
from kcore._random import new_generator
from kcore._spectral import Array, Multiply, Pairs, block_size, largest_pairs
from kcore._validate import check_finite
from kcore._warn import warn
from kcore.exceptions import ConvergenceWarning

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)

_FEW = 600  # samples up to which float64 and LAPACK cost nothing that is felt
_SHARE = 10  # the iterative solver takes over where a component comes on at least so many samples
_PRODUCT = 1 << 29  # multiply-adds between two chances for a Ctrl-C
_ROUNDS = 200


class KernelPCA(SpectralMap):
    r"""Principal components in the space of a kernel.

    The samples are centred in feature space: with :math:`H = I - 11^\top/n` and the eigenpairs
    :math:`HKH v_t = \lambda_t v_t`, component t of a sample x is

    .. math:: f_t(x) = \frac{1}{\sqrt{\lambda_t}} \sum_i v_{ti}\,
              \Big(K(x_i, x) - \frac{1}{n} \sum_j K(x_i, x_j)\Big),

    which is :math:`\sqrt{\lambda_t}\, v_{ti}` for sample i of the fit. Coefficients sum to zero, so
    a kernel that is ``'conditional'`` is as good as a positive one.

    Parameters
    ----------
    n_components : int or None, default=None
        Components; None: all whose eigenvalue is not zero.
    kernel : str, Kernel or callable, default='linear'
        ``'linear'``, ``'poly'``, ``'rbf'``, ``'sigmoid'``, ``'laplacian'``, ``'precomputed'``, a
        kernel of `kcore.kernels`, or a function of two sets of samples.
    gamma : {'scale', 'auto'}, float or None, default=None
        Of named kernels but ``'linear'``; None and ``'auto'``: 1 / n_features; ``'scale'``:
        1 / (n_features * variance of X).
    degree : int, default=3
        Of ``'poly'``.
    coef0 : float, default=1.0
        Of ``'poly'`` and ``'sigmoid'``.
    alpha : float, default=1.0
        Ridge of the regression that `inverse_transform` is.
    fit_inverse_transform : bool, default=False
        Whether `inverse_transform` can be used.
    eigen_solver : {'auto', 'dense', 'iterative'}, default='auto'
        ``'dense'``: LAPACK, on the matrix in float64. ``'iterative'``: a block Krylov method, which
        needs products with the matrix alone. ``'auto'``: iterative, where there are more than 600
        samples and at least 10 for each component. scikit-learn's ``'arpack'`` and ``'randomized'``
        are other names of ``'iterative'``, which is as exact as `tol` says.
    tol : float, default=1e-6
        Of the iterative solver: largest |HKH v - lambda v| of a component, relative to the largest
        eigenvalue. It is checked in float64 whatever the precision. 0: as far as rounding allows.
    max_iter : int or None, default=None
        Products with blocks of vectors, for the iterative solver; None: 200.
    remove_zero_eig : bool, default=False
        Whether components with eigenvalue zero are left out; else they are columns of zeros.
    random_state : int, Generator, RandomState or None, default=None
        Start of the iterative solver.
    precision : {'auto', 'float32', 'float64'}, default='auto'
        Type in which the iterative solver keeps the matrix: 4 or 8 n^2 bytes. ``'auto'``: float32
        where there are more than 600 samples; the pairs are then checked, and where they miss `tol`
        improved, with float64 values that are computed anew for each product.
    n_jobs : int or None, default=None
        Threads of kernel evaluations; -1 for all usable CPUs. Results do not depend on it.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred matrix, the largest first; negative ones count as zero.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Their eigenvectors, in columns.
    residuals_ : ndarray of shape (n_components,) or None
        |HKH v - lambda v|, computed in float64, of the iterative solver.
    precision_ : str
        ``'float32'``: values of that type were enough; ``'mixed'``: float64 values had to improve
        on them; ``'float64'``.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Coefficients of `inverse_transform`.
    support_vectors_ : ndarray or sparse matrix
        The samples of the fit.

    Notes
    -----
    The dense solver takes 8 n^2 bytes (16 for all components) and time n^3; the iterative one 4 n^2
    and some dozens of products with blocks of vectors. Ctrl-C waits for LAPACK.

    Examples
    --------
    >>> import numpy as np
    >>> from kcore import KernelPCA
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> KernelPCA(1).fit_transform(X).round(4)
    array([[ 2.],
           [ 0.],
           [-2.]])
    """

    _takes_conditional = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: KernelLike = "linear",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        remove_zero_eig: bool = False,
        random_state: Any = None,
        precision: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.precision = precision
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the components.

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
        is_whole = self._flag("remove_zero_eig") or self.n_components is None
        has_inverse = self._flag("fit_inverse_transform")
        limits = as_tolerance(self), self._max_rounds()
        rng = new_generator(self.random_state)
        precision = self._choice("precision", PRECISIONS)
        begun = self._begin(X)
        points, values = begun.samples, begun.values
        n = points.shape[0]
        k = n if self.n_components is None else self._count("n_components", n)
        state = FittedSpectrum(begun)
        self._keep(state, X, begun.points)
        if self._is_iterative(n, k):
            if precision == "auto":
                precision = "float32" if n > _FEW and is_small_enough(begun.largest) else "float64"
                is_strict = True
            else:
                is_strict = precision == "float64"
            problem = _Problem(values, points, self._n_threads())
            pairs, means = problem.solve(state, precision, is_strict, k, limits, rng)
            if not pairs.are_within(limits[0], k):
                worst = float(pairs.residuals[:k].max())
                warn(
                    f"KernelPCA stopped before its tolerance was reached: the largest residual is "
                    f"{worst:.3g}, {worst / pairs.scale:.3g} of the largest eigenvalue, tol "
                    f"{limits[0]:g}. Raise max_iter or tol, or take eigen_solver='dense'",
                    ConvergenceWarning,
                )
            state.residuals = pairs.residuals[:k]
            found, vectors, scale = pairs.values[:k], pairs.vectors[:, :k], pairs.scale
        else:
            found, vectors, means, scale = _solve_dense(values, points, k, self._n_threads())
        is_there = found > n * EPS * scale
        found = np.where(is_there, found, 0.0)
        if is_whole:
            found, vectors = found[is_there], vectors[:, is_there]
            state.residuals = None if state.residuals is None else state.residuals[is_there]
        state.set_pairs(found, vectors)
        state.coef = state.coef - state.coef.mean(axis=0)
        state.offset = means @ state.coef
        if has_inverse:
            self._fit_inverse(state, begun.points)
        self._fitted = state
        return self

    def _max_rounds(self) -> int:
        if self.max_iter is None:
            return _ROUNDS
        most = self._integer("max_iter")
        if most < 1:
            raise ValueError(f"max_iter must be at least 1 or None, got {most}")
        return most

    def _is_iterative(self, n: int, k: int) -> bool:
        choices = {"dense": False, "iterative": True, "arpack": True, "randomized": True}
        solver = self._choice("eigen_solver", {"auto": n > _FEW and _SHARE * k <= n} | choices)
        return solver and k < n

    # ---- Back to samples

    def _fit_inverse(self, state: FittedSpectrum, points: Points) -> None:
        alpha = self._real("alpha")
        if not 0 <= alpha < np.inf:
            raise ValueError(f"alpha must be a finite number >= 0, got {alpha!r}")
        has_rows = not isinstance(points, Strings | Table | CSR)
        if state.compiled is None or state.widths is not None or not has_rows:
            raise ValueError(
                "fit_inverse_transform=True needs a kernel of rows of numbers, by name or of "
                "kcore.kernels without functions, and dense samples"
            )
        mapped = state.mapped
        K = _core.gram(state.compiled, mapped, None, None, self._n_threads())
        K[np.diag_indices_from(K)] += alpha
        try:
            factor = cho_factor(K, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"alpha={alpha!r} is too small for inverse_transform: the matrix of kernel values "
                "of the components is singular"
            ) from None
        state.inverse = mapped, cho_solve(factor, np.asarray(points, np.float64))

    def inverse_transform(self, X: Any) -> Array:
        """Return samples whose components these might be: kernel ridge regression of the samples.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_components)
            Components.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_features)
        """
        state = self._state("inverse_transform")
        components = as_samples(X)
        if state.inverse is None:
            raise ValueError("inverse_transform needs a fit with fit_inverse_transform=True")
        mapped, coef = state.inverse
        if components.shape[1] != mapped.shape[1]:
            raise ValueError(
                f"X has {components.shape[1]} columns, the fit has {mapped.shape[1]} components"
            )
        check_finite(components)
        out = np.empty((components.shape[0], coef.shape[1]))
        values = KernelValues(state.compiled, None, mapped)
        for rows, block in values.strips(components, _FLOAT64, self._n_threads()):
            np.matmul(block, coef, out=out[rows])
        return out

    @fitted
    def dual_coef_(self) -> Array:
        """Coefficients of `inverse_transform`."""
        inverse = self._fitted.inverse
        if inverse is None:
            raise AttributeError("dual_coef_ is there after a fit with fit_inverse_transform=True")
        return inverse[1]

    @fitted
    def residuals_(self) -> Array | None:
        """|HKH v - lambda v| in float64, of the iterative solver; else None."""
        return self._fitted.residuals

    @property
    def precision_(self) -> str:
        """How exact the kernel values were that the solver took."""
        precision: str = self._state("precision_").precision
        return precision


def _solve_dense(
    values: KernelValues, points: Points, k: int, n_threads: int
) -> tuple[Array, Array, Array, float]:
    """Return k eigenpairs of the centred matrix, the means of K, and the largest |eigenvalue|."""
    K = own_matrix(gram_matrix(values, points, _FLOAT64, n_threads), points)
    n = len(K)
    means = K.mean(axis=0)
    K -= means
    K -= means[:, None]
    K += means.mean()
    subset = None if k == n else (n - k, n - 1)
    found, vectors = eigh(K, subset_by_index=subset, overwrite_a=True, check_finite=False)
    return found[::-1], vectors[:, ::-1], means, float(np.abs(found).max())


class _Problem:
    """The centred matrix of a fit, for the iterative solver."""

    def __init__(self, values: KernelValues, points: Points, n_threads: int) -> None:
        self.values = values
        self.points = points
        self.n_threads = n_threads

    def solve(
        self,
        state: FittedSpectrum,
        precision: str,
        is_strict: bool,
        k: int,
        limits: tuple[float, int],
        rng: np.random.Generator,
    ) -> tuple[Pairs, Array]:
        """Return the pairs, checked in float64, and the means of the columns of K."""
        tol, rounds = limits
        n = self.points.shape[0]
        start = rng.standard_normal((n, block_size(k, n)))
        can_round = self.values.kernel is not None and _has_float32(self.points)
        K = self._rounded() if precision == "float32" and can_round else None
        if K is None:
            exact = _Centred(
                _times(gram_matrix(self.values, self.points, _FLOAT64, self.n_threads))
            )
            return largest_pairs(exact, start, k, tol, rounds), exact.means
        start -= start.mean(axis=0)
        pairs = largest_pairs(_Centred(_times(K)), start, k, tol / 2, rounds)
        del K
        state.precision = "float32"
        exact = _Centred(self._times_anew)
        pairs = largest_pairs(exact, pairs.vectors, k, tol, rounds if is_strict else 1)
        if exact.n_products > 1:
            state.precision = "mixed"
        return pairs, exact.means

    def _rounded(self) -> NDArray[Float] | None:
        """Return the matrix in float32, or None where its values are too large for that."""
        try:
            return gram_matrix(self.values, self.points, _FLOAT32, self.n_threads)
        except ValueError:  # what is wrong in float64 too is said when that is computed
            return None

    def _times_anew(self, vectors: Array) -> Array:
        """Return K times vectors, in float64, without the whole matrix."""
        out = np.empty_like(vectors)
        for rows, block in self.values.strips(self.points, _FLOAT64, self.n_threads):
            out[rows] = block @ vectors
        return out


def _has_float32(points: AnyPoints) -> bool:
    """Say whether kernel values of the samples can be float32: not where they have strings."""
    return not isinstance(points, Strings | Table)


def _times(K: NDArray[Float]) -> Multiply:
    """Return what multiplies vectors by a matrix, in its type."""

    def multiply(vectors: Array) -> Array:
        factors = vectors.astype(K.dtype, copy=False)
        out = np.empty((len(K), vectors.shape[1]))
        height = max(1, _PRODUCT // max(1, factors.size))
        for begin in range(0, len(K), height):
            out[begin : begin + height] = K[begin : begin + height] @ factors
        return out

    return multiply


class _Centred:
    """The products of HKH; the first one gives the means of the columns of K, too."""

    def __init__(self, multiply: Multiply) -> None:
        self.multiply = multiply
        self.means: Array = np.empty(0)
        self.n_products = 0

    def __call__(self, vectors: Array) -> Array:
        n = len(vectors)
        factors = vectors - vectors.mean(axis=0)
        if self.n_products == 0:
            factors = np.column_stack([factors, np.full(n, 1.0 / n)])
        self.n_products += 1
        image = self.multiply(factors)
        if image.shape[1] > vectors.shape[1]:
            self.means = image[:, -1].copy()
            image = image[:, :-1]
        centred: Array = image - image.mean(axis=0)
        return centred
