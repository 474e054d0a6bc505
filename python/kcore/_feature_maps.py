"""Explicit maps of kernels: exact, within a bound, or within a bound that holds on average."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from kcore import _core
from kcore._base import as_samples, fitted
from kcore._kernel_maps import Begun, FittedMap, KernelMap, KernelValues
from kcore._kernelized import LINEAR_NODES, FitKernel, KernelLike
from kcore._monomials import Products, levels
from kcore._points import Float, Points
from kcore._random import new_generator
from kcore._validate import as_integer, as_real, brief
from kcore.features import PolynomialMap
from kcore.kernels import RBF, Kernel, Laplacian, Linear, Matern, Polynomial

_PIECE = 1 << 17  # coefficients, or values of a result, between two chances for a Ctrl-C


def _is_sparse(values: Any) -> bool:
    return not isinstance(values, np.ndarray)


def _multinomials(d: int, products: Products) -> Iterator[NDArray[np.float64]]:
    """Give k! / (a_1! a_2! ...) of the products of k features, for k = 0, 1, ...

    That of a product is that of its parent, times k, divided by how often the last factor repeats.
    """
    count, repeats, newest = np.ones(1), np.zeros(1), np.full(1, -1)
    yield count
    for k, level in enumerate(levels(d, products), 1):
        parts = []
        for begin, end in level.pieces(_PIECE):
            parents, last = level.children(begin, end)
            again = np.where(newest[parents] == last, repeats[parents] + 1, 1)
            parts.append((count[parents] * k / again, again, last))
        count, repeats, newest = (np.concatenate(each) for each in zip(*parts, strict=True))
        yield count


class WeightedMonomials(PolynomialMap):
    """Products of features, times a factor each."""

    include_bias = True
    interaction_only = False

    def __init__(self, degree: int) -> None:
        self.degree = degree

    def _weights(self) -> NDArray[np.float64]:
        """Return what products of k features are weighted by, beside the root of k!/(a_1! ...)."""
        raise NotImplementedError

    def _least_degree(self) -> int:
        return 0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the number of features, and compute the factors.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : None
            Not used.

        Returns
        -------
        self
        """
        weights = self._weights()
        state: Any = self._products_of(X)
        found = _multinomials(state.shape[1], state.products)
        with np.errstate(over="ignore", invalid="ignore"):
            factors = np.concatenate(
                [w * np.sqrt(some) for w, some in zip(weights, found, strict=False)]
            )
        if not np.isfinite(factors).all():
            raise ValueError(f"degree={self.degree}: the factors of the products overflow float64")
        state.first = sum(state.products.counts[: self._least_degree()])
        state.weights = factors[state.first :]
        self._measure(state, X)
        self._fitted = state
        return self

    def _measure(self, state: Any, X: Any) -> None:
        """Note what else there is to know of the samples."""

    def transform(self, X: Any) -> Any:
        """Return the map.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_output_features_)
            Of the samples' type; sparse where they are.
        """
        state = self._state("transform")
        out = super().transform(X)
        if state.first:
            out = out[:, state.first :]
        if _is_sparse(out):
            out.data *= state.weights.astype(out.dtype)[out.indices]
            return out
        factors = state.weights.astype(out.dtype)
        height = max(1, _PIECE // out.shape[1])
        for begin in range(0, out.shape[0], height):
            out[begin : begin + height] *= factors
        return out

    @property
    def n_output_features_(self) -> int:
        """Columns of the result."""
        return super().n_output_features_ - int(self._state("n_output_features_").first)

    @property
    def powers_(self) -> NDArray[np.intp]:
        """Exponent of each feature in each column."""
        return super().powers_[self._state("powers_").first :]

    @fitted
    def factors_(self) -> NDArray[np.float64]:
        """What the product of each column is multiplied by."""
        factors: NDArray[np.float64] = self._fitted.weights
        return factors

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the products of the columns, such as ``'x0 x1'``, without their factors.

        Parameters
        ----------
        input_features : sequence of str, default=None
            Names of the features; those of the fit where None.

        Returns
        -------
        ndarray of str
        """
        names = super().get_feature_names_out(input_features)
        return names[self._state("get_feature_names_out").first :]


class PolynomialKernelMap(WeightedMonomials):
    r"""The exact map of the polynomial kernel: all products, with their factors.

    For :math:`K(x, z) = (\gamma\, x \cdot z + c)^p` the columns are, for all exponents
    :math:`a` with :math:`k = \sum_t a_t \le p`,

    .. math:: \phi_a(x) = \sqrt{\binom{p}{k} c^{p-k} \gamma^k \frac{k!}{\prod_t a_t!}}\,
              \prod_t x_t^{a_t}.

    With c = 0 those with k = p alone; for two features and p = 2 that is
    :math:`(x_0^2, \sqrt2\, x_0 x_1, x_1^2)`.

    Parameters
    ----------
    degree : int, default=3
        p, 1 to 1000.
    gamma : float, default=1.0
        Finite, not negative.
    coef0 : float, default=1.0
        c, finite, not negative: with a negative one the kernel is no inner product.

    Attributes
    ----------
    n_output_features_ : int
        Columns: binomial(n_features + degree, degree), or with c = 0
        binomial(n_features + degree - 1, degree).
    powers_ : ndarray of shape (n_output_features_, n_features)
        Exponents of each column.
    factors_ : ndarray of shape (n_output_features_,)
        Factors of each column.

    Examples
    --------
    >>> from kcore.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=0).feature_map().fit_transform([[3.0, 1.0]]).round(4)
    array([[9.    , 4.2426, 1.    ]])
    """

    def __init__(self, degree: int = 3, *, gamma: float = 1.0, coef0: float = 1.0) -> None:
        super().__init__(degree)
        self.gamma = gamma
        self.coef0 = coef0

    def _least_degree(self) -> int:
        return self._integer("degree") if self._real("coef0") == 0 else 0

    def _weights(self) -> NDArray[np.float64]:
        degree = self._integer("degree")
        gamma = as_real(self.gamma, "gamma", low=0)
        coef0 = as_real(self.coef0, "coef0", low=0)
        if not 1 <= degree <= 1000:
            raise ValueError(f"degree must be in 1 .. 1000, got {degree}")
        # Roots of factors, whose product is within float64 where their squares' is not.
        weights = np.empty(degree + 1)
        binomial = 1
        for k in range(degree + 1):
            with np.errstate(over="ignore"):
                weights[k] = (
                    np.sqrt(float(binomial))
                    * np.float64(coef0) ** ((degree - k) / 2)
                    * np.float64(gamma) ** (k / 2)
                )
            binomial = binomial * (degree - k) // (k + 1)
        return weights


class TaylorMap(WeightedMonomials):
    r"""The Taylor map of the Gaussian kernel, up to some degree.

    From :math:`e^{-\gamma|x-z|^2} = e^{-\gamma|x|^2} e^{-\gamma|z|^2} \sum_k (2\gamma\,
    x \cdot z)^k / k!`, for all exponents :math:`a` with :math:`\sum_t a_t \le p`,

    .. math:: \phi_a(x) = e^{-\gamma |x|^2} \prod_t \frac{(\sqrt{2\gamma}\, x_t)^{a_t}}
              {\sqrt{a_t!}}.

    For samples of norms up to r, :math:`|K(x, z) - \phi(x) \cdot \phi(z)|` is at most the
    probability that a Poisson variable of mean :math:`2 \gamma r^2` is larger than p, which is the
    error at x = z of norm r. Move samples to their mean first: the kernel does not change, r does.

    Parameters
    ----------
    gamma : float, default=1.0
        Finite, not negative.
    degree : int, default=3
        p, 1 to 1000.

    Attributes
    ----------
    n_output_features_ : int
        Columns: binomial(n_features + degree, degree).
    powers_ : ndarray of shape (n_output_features_, n_features)
        Exponents of each column.
    factors_ : ndarray of shape (n_output_features_,)
        Factors of each column, but for :math:`e^{-\gamma|x|^2}`.
    radius_ : float
        The largest norm of a sample of the fit.
    error_bound_ : float
        The bound for samples of norms up to `radius_`, rounding apart.

    Examples
    --------
    >>> from kcore.kernels import RBF
    >>> X = [[0.5, 0.1], [0.3, -0.4]]
    >>> phi = RBF(0.5).feature_map(degree=4).fit(X)
    >>> (phi.transform(X) @ phi.transform(X).T).round(4), RBF(0.5)(X).round(4)
    (array([[1.   , 0.865],
           [0.865, 1.   ]]), array([[1.   , 0.865],
           [0.865, 1.   ]]))
    >>> f"{phi.error_bound_:.1e}"
    '8.0e-06'
    """

    def __init__(self, gamma: float = 1.0, *, degree: int = 3) -> None:
        super().__init__(degree)
        self.gamma = gamma

    def _weights(self) -> NDArray[np.float64]:
        degree = self._integer("degree")
        gamma = as_real(self.gamma, "gamma", low=0)
        if not 1 <= degree <= 1000:
            raise ValueError(f"degree must be in 1 .. 1000, got {degree}")
        steps = np.concatenate([[1.0], np.sqrt(2 * gamma / np.arange(1, degree + 1))])
        return np.cumprod(steps)

    def _measure(self, state: Any, X: Any) -> None:
        state.gamma = as_real(self.gamma, "gamma", low=0)
        state.radius = float(np.sqrt(_square_norms(as_samples(X)).max()))
        state.error = self._bound(state.gamma, state.radius)

    def _bound(self, gamma: float, radius: float) -> float:
        return float(gammainc(self.degree + 1.0, 2.0 * gamma * radius**2))

    def transform(self, X: Any) -> Any:
        """Return the map.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_output_features_)
            Of the samples' type; sparse where they are.
        """
        out = super().transform(X)
        state = self._fitted
        damping = np.exp(-state.gamma * _square_norms(as_samples(X))).astype(out.dtype)
        if _is_sparse(out):
            out.data *= np.repeat(damping, np.diff(out.indptr))
            return out
        height = max(1, _PIECE // out.shape[1])
        for begin in range(0, out.shape[0], height):
            out[begin : begin + height] *= damping[begin : begin + height, None]
        return out

    @property
    def radius_(self) -> float:
        """The largest norm of a sample of the fit."""
        radius: float = self._state("radius_").radius
        return radius

    @property
    def error_bound_(self) -> float:
        """Bound of the error, for samples of norms up to `radius_`."""
        error: float = self._state("error_bound_").error
        return error


def _square_norms(points: Points) -> NDArray[np.float64]:
    """Return |x|^2 of each sample, the core's: as exact for sparse ones as for dense ones."""
    found = _core.diag(_core.CompiledKernel(LINEAR_NODES), points, None, 1)
    return found.astype(np.float64, copy=False)


# ---- Random Fourier features


class FittedFourier(FittedMap):
    """The frequencies."""

    def __init__(
        self,
        begun: Begun,
        frequencies: NDArray[np.float64],
        n_columns: int,
        phase: float,
    ) -> None:
        products = FitKernel(LINEAR_NODES, None, begun.samples)
        super().__init__(begun._replace(found=products), frequencies)
        self.n_columns = n_columns
        self.phase = phase  # of a last frequency that has one column


class RandomFourierMap(KernelMap):
    r"""Random Fourier features of a kernel of the difference of two samples.

    By Bochner's theorem such a kernel with K(x, x) = 1 is the mean of
    :math:`\cos(w \cdot (x - z))` over a distribution of frequencies w. With m / 2 of them, m even,

    .. math:: \phi(x) = \sqrt{2 / m}\, (\cos w_1 \cdot x,\, \sin w_1 \cdot x,\, \dots).

    The frequencies are normal for `RBF`, Cauchy in each coordinate for `Laplacian`, and
    multivariate t with 2 nu degrees of freedom for `Matern`. The mean of
    :math:`\phi(x) \cdot \phi(z)` is K(x, z). For even m it is exact where x = z, and the error is
    larger than e with a probability of at most :math:`2 \exp(-m e^2 / 4)` (Hoeffding).

    Parameters
    ----------
    kernel : {'rbf', 'laplacian'}, RBF, Laplacian or Matern, default='rbf'
        The kernel.
    gamma : {'scale', 'auto'}, float or None, default=None
        Of named kernels; None and ``'auto'``: 1 / n_features; ``'scale'``:
        1 / (n_features * variance of X).
    n_components : int, default=100
        m, columns of the map. Where it is odd, the last frequency has one column,
        :math:`\sqrt2 \cos(w \cdot x + b)` with a random b.
    random_state : int, Generator, RandomState or None, default=None
        Of the frequencies.
    n_jobs : int or None, default=None
        Threads; -1 for all usable CPUs. Results do not depend on it.

    Attributes
    ----------
    frequencies_ : ndarray of shape ((n_components + 1) // 2, n_features)
        The frequencies w.

    Examples
    --------
    >>> from kcore.kernels import RBF
    >>> phi = RBF(0.5).feature_map(n_components=2000, random_state=0).fit_transform([[0.0], [1.0]])
    >>> phi.shape, abs(phi[0] @ phi[1] - 0.6065) < 0.1
    ((2, 2000), np.True_)
    """

    degree = 3  # of no kernel that is taken
    coef0 = 0.0

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        *,
        gamma: float | str | None = None,
        n_components: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples; of named kernels with ``gamma='scale'`` their variance is used, else the number
            of features alone.
        y : object, default=None
            Not used; there for scikit-learn's conventions.

        Returns
        -------
        self
        """
        m = self._integer("n_components")
        if m < 1:
            raise ValueError(f"n_components must be at least 1, got {m}")
        rng = new_generator(self.random_state)
        begun = self._begin(X)
        points, nodes = begun.points, begun.found.nodes
        name, params = nodes[0] if nodes is not None and len(nodes) == 1 else ("", ())
        draw = _FREQUENCIES.get(name)
        if draw is None:
            raise ValueError(
                "kernel must be 'rbf', 'laplacian', RBF, Laplacian or Matern, on all columns, for "
                f"random Fourier features, got {brief(self.kernel)}"
            )
        found = draw(rng, ((m + 1) // 2, points.shape[1]), *params)
        phase = float(rng.uniform(0, 2 * np.pi)) if m % 2 else 0.0
        state = FittedFourier(begun, found, m, phase)
        self._keep(state, X, points)
        self._fitted = state
        return self

    def transform(self, X: Any) -> NDArray[Float]:
        """Return the map of samples.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            float32 where the samples are.
        """
        state = self._state("transform")
        points = self._read(X, state)
        dtype = points.dtype
        out = np.empty((points.shape[0], state.n_columns), dtype)
        scale = dtype.type(1.0 / np.sqrt(len(state.vectors)))
        n_pairs = state.n_columns // 2
        # Angles in float64: a large one in float32 has no digits behind the point.
        angles = KernelValues(state.compiled, None, state.vectors)
        for rows, block in angles.strips(points, np.dtype(np.float64), self._n_threads()):
            out[rows, 1::2] = np.sin(block[:, :n_pairs])
            out[rows, 0 : 2 * n_pairs : 2] = np.cos(block[:, :n_pairs])
            if n_pairs < block.shape[1]:
                out[rows, -1] = np.sqrt(2.0) * np.cos(block[:, -1] + state.phase)
            out[rows] *= scale
        return out

    @fitted
    def frequencies_(self) -> Any:
        """The frequencies, in rows."""
        return self._fitted.vectors


def _normal(rng: np.random.Generator, shape: tuple[int, int], gamma: float) -> NDArray[np.float64]:
    found: NDArray[np.float64] = rng.standard_normal(shape) * np.sqrt(2 * gamma)
    return found


def _cauchy(rng: np.random.Generator, shape: tuple[int, int], gamma: float) -> NDArray[np.float64]:
    return rng.standard_cauchy(shape) * gamma


def _student(
    rng: np.random.Generator, shape: tuple[int, int], nu: float, length_scale: float
) -> NDArray[np.float64]:
    spread = np.sqrt(2 * nu / rng.chisquare(2 * nu, shape[0])) / length_scale
    return rng.standard_normal(shape) * spread[:, None]


_FREQUENCIES: dict[str, Any] = {"rbf": _normal, "laplacian": _cauchy, "matern": _student}


# ---- Maps of kernel objects


def feature_map(
    kernel: Kernel,
    degree: int | None,
    n_components: int | None,
    random_state: Any,
    n_jobs: int | None,
) -> PolynomialMap | RandomFourierMap:
    """Return the explicit map of a kernel; `Kernel.feature_map` says which there are."""
    if degree is not None and n_components is not None:
        raise ValueError("degree and n_components: one of them, a map has one or the other")
    if n_components is not None:
        if isinstance(kernel, RBF | Laplacian | Matern):
            return RandomFourierMap(
                kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs
            )
        raise ValueError(
            f"n_components: random Fourier features are those of RBF, Laplacian and Matern, not of "
            f"{kernel!r}; kcore.Nystroem maps every kernel"
        )
    if isinstance(kernel, RBF):
        if degree is None:
            raise ValueError(
                "RBF has no finite map: degree=p gives the Taylor map with its error bound, "
                "n_components=m random Fourier features"
            )
        return TaylorMap(_one_gamma(kernel), degree=degree)
    if isinstance(kernel, Linear):
        kernel = Polynomial(1, 1.0, 0.0)
    if not isinstance(kernel, Polynomial):
        raise ValueError(f"{kernel!r} has no explicit map here; kcore.Nystroem maps every kernel")
    if degree is not None and as_integer(degree, "degree", low=0, high=1000) != kernel.degree:
        raise ValueError(
            f"degree={degree!r}: the exact map of {kernel!r} has degree {kernel.degree}"
        )
    return PolynomialKernelMap(kernel.degree, gamma=_one_gamma(kernel), coef0=kernel.coef0)


def _one_gamma(kernel: RBF | Polynomial) -> float:
    gamma = kernel.gamma
    if not isinstance(gamma, float):
        raise ValueError(
            f"the explicit map of {kernel!r} needs gamma to be one number; columns can be scaled "
            "beforehand, and kernel_ of a fitted model has the number"
        )
    return gamma
