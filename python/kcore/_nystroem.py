"""`Nystroem`: the map of kernel values with a few of the samples."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from kcore import _core
from kcore._base import fitted
from kcore._kernel_maps import (
    PRECISIONS,
    Begun,
    FittedMap,
    KernelMap,
    KernelValues,
    as_type,
    is_small_enough,
    keep_rows,
    refuse_asymmetric,
)
from kcore._kernelized import KernelLike, UserKernel
from kcore._landmarks import (
    Matrix,
    choose_pivots,
    choose_spread,
    choose_uniform,
    invert_factor,
)
from kcore._points import AnyPoints, Float, Points, as_scipy
from kcore._random import new_generator

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_UNIFORM, _SPREAD, _PIVOTED = range(3)
_SELECTIONS = {"uniform": _UNIFORM, "k-means++": _SPREAD, "rpcholesky": _PIVOTED}


class FittedNystroem(FittedMap):
    """The components and what their kernel values are multiplied by."""

    def __init__(
        self,
        begun: Begun,
        indices: NDArray[np.int64],
        normalization: NDArray[Float],
        rank: int,
    ) -> None:
        kept = None if begun.values.kept is None else keep_rows(begun.values.kept, indices)
        super().__init__(begun, kept)
        self.columns = indices if kept is None else None
        self.indices = indices
        self.normalization = normalization
        self.rank = rank
        self.residual = 0.0
        self.trace = 0.0

    @property
    def n_columns(self) -> int:
        """Columns of the map."""
        return len(self.indices)

    def map_strip(self, block: NDArray[Float]) -> None:
        """Turn kernel values with the components into columns of the map, in their place."""
        multiply = blas.strmm if block.dtype == _FLOAT32 else blas.dtrmm
        # BLAS takes the transposed strip as it is; a result elsewhere is one that it had to copy.
        found = multiply(1.0, self.normalization, block.T, side=0, lower=1, overwrite_b=1).T
        if not np.shares_memory(found, block):
            block[...] = found


class Nystroem(KernelMap):
    r"""The Nyström map: kernel values with m of the samples, made orthonormal.

    With the components :math:`c_1, \dots, c_m`, their kernel matrix :math:`K_{cc} = L L^\top` and
    :math:`k_c(x) = (K(c_1, x), \dots, K(c_m, x))`,

    .. math:: \phi(x) = L^{-1} k_c(x), \qquad
              \phi(x) \cdot \phi(z) = k_c(x)^\top K_{cc}^{-1} k_c(z),

    the projection of K onto the span of the components: exact where x or z is one of them. Linear
    learners on this map are about learners with the kernel, in time that is linear in the number of
    samples.

    Parameters
    ----------
    kernel : str, Kernel or callable, default='rbf'
        ``'linear'``, ``'poly'``, ``'rbf'``, ``'sigmoid'``, ``'laplacian'``, ``'precomputed'``, a
        kernel of `kcore.kernels`, or a function of two sets of samples.
    gamma : {'scale', 'auto'}, float or None, default=None
        Of named kernels but ``'linear'``; None and ``'auto'``: 1 / n_features; ``'scale'``:
        1 / (n_features * variance of X).
    coef0 : float, default=1.0
        Of ``'poly'`` and ``'sigmoid'``.
    degree : int, default=3
        Of ``'poly'``.
    n_components : int, default=100
        Components, and columns of the map.
    selection : {'uniform', 'k-means++', 'rpcholesky'}, default='uniform'
        How components are drawn: each sample as likely as any other; by the squared distance in
        feature space to the nearest component so far; or by randomly pivoted Cholesky, by what the
        components so far leave of K(x, x), which comes close to the smallest residual that m
        components can have.
    precision : {'auto', 'float32', 'float64'}, default='auto'
        Type of kernel values and of the map; ``'auto'``: that of the samples of the fit.
    random_state : int, Generator, RandomState or None, default=None
        Of the selection.
    n_jobs : int or None, default=None
        Threads of kernel evaluations; -1 for all usable CPUs. Results do not depend on it.

    Attributes
    ----------
    components_ : ndarray or sparse matrix of shape (n_components, n_features)
        The components.
    component_indices_ : ndarray of int64, shape (n_components,)
        Their rows in X.
    normalization_ : ndarray of shape (n_components, n_components)
        The inverse of L, lower triangular: the map is K(X, components_) @ normalization_.T. Rows of
        components that others determine, up to rounding, are zeros.
    rank_ : int
        Columns of the map that are not zeros.
    residual_trace_ : float
        tr(K - phi phi'), over the samples of the fit: the sum of squared distances in feature space
        between samples and the span of the components. 0 where rounding is larger.
    residual_ratio_ : float
        The same, divided by tr(K).

    Notes
    -----
    The fit takes n m (d + m / 2) multiply-adds, of which `fit_transform` makes the map, too; its
    memory is that of the map, n m numbers, and for ``'uniform'`` and ``'k-means++'`` `fit` alone
    takes less. `transform` needs its result and a few megabytes.

    Examples
    --------
    >>> import numpy as np
    >>> from kcore import Nystroem
    >>> X = np.random.default_rng(0).standard_normal((1000, 3))
    >>> phi = Nystroem(gamma=0.1, n_components=50, selection="rpcholesky", random_state=0).fit(X)
    >>> phi.transform(X).shape
    (1000, 50)
    >>> phi.residual_ratio_ < 1e-3
    True
    """

    _fitted: FittedNystroem

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        *,
        gamma: float | str | None = None,
        coef0: float = 1.0,
        degree: int = 3,
        n_components: int = 100,
        selection: str = "uniform",
        precision: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.n_components = n_components
        self.selection = selection
        self.precision = precision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the components.

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
        self._fit(X, False)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Float]:
        """Choose the components, and return the map of the samples.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples, as for `fit`.
        y : object, default=None
            Not used.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return cast("NDArray[Float]", self._fit(X, True))

    def transform(self, X: Any) -> NDArray[Float]:
        """Return the map of samples.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values with all samples of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        state = self._state("transform")
        points = self._read(X, state)
        dtype = state.normalization.dtype
        out = np.empty((points.shape[0], state.n_columns), dtype)
        values = state.values(self.kernel)
        for _, block in values.strips(points, dtype, self._n_threads(), out):
            state.map_strip(block)
        return out

    # ---- Fit

    def _fit(self, X: Any, is_mapped: bool) -> NDArray[Float] | None:
        """Fit; return the map of the samples where it is wanted."""
        selection = self._choice("selection", _SELECTIONS)
        precision = self._choice("precision", PRECISIONS)
        rng = new_generator(self.random_state)
        begun = self._begin(X)
        points, values = begun.samples, begun.values
        m = self._count("n_components", points.shape[0])
        if precision == "auto":
            is_f32 = points.dtype == _FLOAT32 and is_small_enough(begun.largest)
        else:
            is_f32 = precision == "float32"
        dtype = _FLOAT32 if is_f32 else _FLOAT64
        K = _Asked(values, points, dtype, self._n_threads())
        if selection == _PIVOTED:
            indices = choose_pivots(K.matrix, m, dtype, rng)
        elif selection == _SPREAD:
            indices = choose_spread(K.matrix, m, rng)
        else:
            indices = choose_uniform(points.shape[0], m, rng)
        state = self._fitted_to(X, begun, K, indices)
        out = self._measure(state, values, points, K, is_mapped)
        self._fitted = state
        return out

    def _fitted_to(
        self,
        X: Any,
        begun: Begun,
        K: _Asked,
        indices: NDArray[np.int64],
    ) -> FittedNystroem:
        triangle = invert_factor(K.block(indices), float(np.finfo(K.dtype).eps))
        normalization = np.asfortranarray(triangle.inverse, dtype=K.dtype)
        order = indices[triangle.order]
        state = FittedNystroem(begun, order, normalization, triangle.rank)
        self._keep(state, X, begun.points)
        return state

    def _measure(
        self,
        state: FittedNystroem,
        values: KernelValues,
        points: Points,
        K: _Asked,
        is_mapped: bool,
    ) -> NDArray[Float] | None:
        """Compute the residual, from the map of all samples; return that where it is wanted."""
        n, m = points.shape[0], state.n_columns
        out = np.empty((n, m), K.dtype) if is_mapped else None
        own = KernelValues(values.kernel, values.function, state.vectors, state.columns)
        found = 0.0
        for _, block in own.strips(points, K.dtype, self._n_threads(), out):
            state.map_strip(block)
            found += float(np.einsum("ij,ij->i", block, block).sum(dtype=np.float64))
        state.trace = float(K.matrix.diagonal.sum())
        state.residual = max(0.0, state.trace - found)
        return out

    # ---- Attributes

    @fitted
    def components_(self) -> Any:
        """The components; an empty array where kernel values were given."""
        state = self._fitted
        if state.vectors is None:
            return np.empty((0, 0))
        return as_scipy(state.vectors, state.sparse_type)

    @fitted
    def component_indices_(self) -> NDArray[np.int64]:
        """Rows of the components in the samples of the fit."""
        return self._fitted.indices

    @fitted
    def normalization_(self) -> NDArray[Float]:
        """The inverse of the Cholesky factor of the components' kernel matrix."""
        return self._fitted.normalization.view()

    @property
    def rank_(self) -> int:
        """Columns of the map that are not zeros."""
        rank: int = self._state("rank_").rank
        return rank

    @property
    def residual_trace_(self) -> float:
        """The trace of K - phi phi' over the samples of the fit."""
        residual: float = self._state("residual_trace_").residual
        return residual

    @property
    def residual_ratio_(self) -> float:
        """The same, divided by the trace of K."""
        state = self._state("residual_ratio_")
        return state.residual / state.trace if state.trace > 0 else 0.0


class _Asked:
    """The kernel matrix of all samples, of which a selection asks for a few columns."""

    def __init__(
        self, values: KernelValues, points: Points, dtype: np.dtype[Float], n_threads: int
    ) -> None:
        self.values = values
        self.points = points
        self.dtype = dtype
        self.n_threads = n_threads
        self.user = None if values.function is None else UserKernel(values.function, points)
        self.matrix = Matrix(self._diagonal(), self.columns, self.block)

    def _diagonal(self) -> NDArray[np.float64]:
        if self.values.kernel is not None:
            found = _core.diag(self.values.kernel, self.points, None, self.n_threads)
            return found.astype(np.float64, copy=False)
        if self.user is None:
            given = cast("NDArray[Float]", self.points)
            refuse_asymmetric(given, "X")
            return np.diag(given).astype(np.float64)
        return self.user.diagonal()

    def columns(self, samples: NDArray[np.int64]) -> NDArray[Float]:
        """Return K(x_i, x_j) for all i, and j of the samples."""
        out = np.empty((self.points.shape[0], len(samples)), self.dtype)
        some = KernelValues(
            self.values.kernel,
            self.values.function,
            None if self.values.kept is None else keep_rows(self.values.kept, samples),
            samples if self.values.kept is None else None,
        )
        for _ in some.strips(self.points, self.dtype, self.n_threads, out):
            pass
        return out

    def block(self, samples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return K(x_i, x_j) for i and j of the samples, in float64."""
        if self.user is not None:
            return self.user(samples, samples)
        if self.values.kernel is None:
            given = cast("NDArray[Float]", self.points)
            return given[np.ix_(samples, samples)].astype(np.float64)
        some: AnyPoints = as_type(keep_rows(self.points, samples), _FLOAT64)
        return _core.gram(self.values.kernel, some, None, None, self.n_threads).astype(np.float64)
