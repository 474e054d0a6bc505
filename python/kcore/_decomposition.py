"""Maps from the eigenvalues of a Gram matrix: `EmpiricalKernelMap` and `KernelPCA`."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh

from kcore import _core
from kcore._base import as_samples, fitted
from kcore._kernel_maps import (
    PRECISIONS,
    FittedMap,
    KernelMap,
    KernelValues,
    as_type,
    is_small_enough,
    keep_rows,
    refuse_asymmetric,
)
from kcore._kernelized import KernelLike, Nodes
from kcore._points import CSR, AnyPoints, Float, Points, Strings, Table
from kcore._random import new_generator
from kcore._spectral import Array, Multiply, Pairs, block_size, largest_pairs
from kcore._validate import check_finite, feature_names
from kcore._warn import warn
from kcore.exceptions import ConvergenceWarning

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_EPS = float(np.finfo(np.float64).eps)

_FEW = 600  # samples up to which float64 and LAPACK cost nothing that is felt
_SHARE = 10  # the iterative solver takes over where a component comes on at least so many samples
_PRODUCT = 1 << 29  # multiply-adds between two chances for a Ctrl-C
_ROUNDS = 200


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


def _own(K: NDArray[Float], points: Points) -> Array:
    """Return a matrix in float64 that may be written to."""
    return np.array(K, dtype=np.float64) if K is points else K.astype(np.float64, copy=False)


def _turned(vectors: Array) -> Array:
    """Return vectors with signs such that the largest entry of each is positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


# ---- What fits leave behind


class FittedSpectrum(FittedMap):
    """Eigenpairs, and the coefficients of new samples' kernel values."""

    def __init__(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        nodes: Nodes | None,
        values: KernelValues,
    ) -> None:
        kept = None if values.kept is None else keep_rows(values.kept)
        super().__init__(shape, names, nodes, kept, values.function)
        self.eigenvalues: Array = np.empty(0)
        self.eigenvectors: Array = np.empty((shape[0], 0))
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
        tol = None if self.tol is None else _tolerance(self)
        points, nodes, values, _ = self._begin(X)
        K = _own(gram_matrix(values, points, _FLOAT64, self._n_threads()), points)
        found, vectors = eigh(K, overwrite_a=True, check_finite=False)
        cut = (len(K) * _EPS if tol is None else tol) * float(np.abs(found).max())
        rank = int((found > cut).sum())
        state = FittedSpectrum(points.shape, feature_names(X), nodes, values)
        self._keep(state, X, points)
        state.set_pairs(found[::-1][:rank].copy(), vectors[:, ::-1][:, :rank].copy())
        self._fitted = state
        return self

    @property
    def rank_(self) -> int:
        """Eigenvalues that count."""
        n_columns: int = self._state("rank_").n_columns
        return n_columns


def _tolerance(estimator: KernelMap) -> float:
    tol = estimator._real("tol")
    if not 0 <= tol < 1:
        raise ValueError(f"tol must be in [0, 1), got {tol!r}")
    return tol


# ---- Kernel principal components


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
        limits = _tolerance(self), self._max_rounds()
        rng = new_generator(self.random_state)
        precision = self._choice("precision", PRECISIONS)
        points, nodes, values, largest = self._begin(X)
        n = points.shape[0]
        k = n if self.n_components is None else self._count("n_components", n)
        state = FittedSpectrum(points.shape, feature_names(X), nodes, values)
        self._keep(state, X, points)
        if self._is_iterative(n, k):
            if precision == "auto":
                precision = "float32" if n > _FEW and is_small_enough(largest) else "float64"
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
        is_there = found > n * _EPS * scale
        found = np.where(is_there, found, 0.0)
        if is_whole:
            found, vectors = found[is_there], vectors[:, is_there]
            state.residuals = None if state.residuals is None else state.residuals[is_there]
        state.set_pairs(found, vectors)
        state.coef = state.coef - state.coef.mean(axis=0)
        state.offset = means @ state.coef
        if has_inverse:
            self._fit_inverse(state, points)
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
        if state.kernel is None or isinstance(points, Strings | Table | CSR):
            raise ValueError(
                "fit_inverse_transform=True needs a kernel of rows of numbers, by name or of "
                "kcore.kernels, and dense samples"
            )
        mapped = state.mapped
        K = _core.gram(state.kernel, mapped, None, None, self._n_threads())
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
        if state.inverse is None:
            raise ValueError("inverse_transform needs a fit with fit_inverse_transform=True")
        components = as_samples(X)
        mapped, coef = state.inverse
        if components.shape[1] != mapped.shape[1]:
            raise ValueError(
                f"X has {components.shape[1]} columns, the fit has {mapped.shape[1]} components"
            )
        check_finite(components)
        out = np.empty((components.shape[0], coef.shape[1]))
        values = KernelValues(state.kernel, None, mapped)
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
    K = _own(gram_matrix(values, points, _FLOAT64, n_threads), points)
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
            exact = _Centred(_times(gram_matrix(self.values, self.points, _FLOAT64, self.n_threads)))
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
        return image - image.mean(axis=0)
