"""Explicit feature maps: generalised linear discriminants for the linear learners.

A discriminant that is linear in y = phi(x) is a curved one in x: with y = (1, x, x^2) the
perceptron solves the exclusive or.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._base import Estimator, Fitted, TransformerMixin, as_samples, check_finite
from kcore._monomials import Products, levels, multiply_dense, multiply_sparse
from kcore._points import CSR
from kcore._validate import brief, feature_names

__all__ = ["PolynomialMap", "Quadratic"]

_PIECE = 1 << 17  # exponents that are written at once
_MAX_DEGREE = 1000  # as of the polynomial kernel
_MAX_COLUMNS = int(np.iinfo(np.int32).max)


class _Monomials(Fitted):
    """The products of features that make the columns."""

    def __init__(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        degree: int,
        is_distinct: bool,
        has_bias: bool,
    ) -> None:
        super().__init__(shape, names)
        self.products = Products(_counts(shape[1], degree, is_distinct), is_distinct, has_bias)
        if sum(self.products.counts) > _MAX_COLUMNS:
            raise ValueError(
                f"degree={degree} on {shape[1]} features makes too many columns, at most "
                f"{_MAX_COLUMNS} are possible"
            )

    def factors(self) -> Iterator[tuple[int, ...]]:
        """Give the features that each column is the product of, in lexicographic order."""
        counts, is_distinct, has_bias = self.products
        choose = itertools.combinations if is_distinct else itertools.combinations_with_replacement
        for k in range(not has_bias, len(counts)):
            yield from choose(range(self.shape[1]), k)


def _counts(d: int, degree: int, is_distinct: bool) -> list[int]:
    """Return how many products of k features there are, for k = 0 .. degree.

    Numbers end with the first that is too large: those that would follow can have thousands of
    digits.
    """
    counts = [1]
    for k in range(1, degree + 1):
        counts.append(counts[-1] * (d - k + 1 if is_distinct else d + k - 1) // k)
        if sum(counts) > _MAX_COLUMNS or counts[-1] == 0:
            break
    return counts


class PolynomialMap(TransformerMixin, Estimator):
    """All products of up to `degree` features.

    The map is ::

        phi(x) = (1, x_i, x_i x_j, x_i x_j x_k, ...),    i <= j <= k <= ...

    Parameters
    ----------
    degree : int, default=2
        Factors of a product at the most; 1 to 1000.
    include_bias : bool, default=True
        Whether the first column is the constant 1.
    interaction_only : bool, default=False
        Whether products with a repeated feature are left out.

    Attributes
    ----------
    n_output_features_ : int
        Columns of the result: binomial(n_features + degree, degree) without options.
    powers_ : ndarray of shape (n_output_features_, n_features)
        Exponent of each feature in each column.

    Examples
    --------
    >>> from kcore.features import PolynomialMap
    >>> PolynomialMap(degree=3).fit_transform([[2.0]])
    array([[1., 2., 4., 8.]])
    """

    def __init__(
        self, degree: int = 2, *, include_bias: bool = True, interaction_only: bool = False
    ) -> None:
        self.degree = degree
        self.include_bias = include_bias
        self.interaction_only = interaction_only

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the number of features.

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
        self._fitted = self._products_of(X)
        return self

    def _products_of(self, X: Any) -> _Monomials:
        """Return the products of the features of these samples."""
        degree = self._integer("degree")
        if not 1 <= degree <= _MAX_DEGREE:
            raise ValueError(f"degree must be in 1 .. {_MAX_DEGREE}, got {degree}")
        points = as_samples(X)
        _core.check_points(points, b"X")
        state = _Monomials(
            points.shape,
            feature_names(X),
            degree,
            self._flag("interaction_only"),
            self._flag("include_bias"),
        )
        check_finite(points)
        return state

    def transform(self, X: Any) -> Any:
        """Return the products.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_output_features_)
            Of the samples' type; sparse where they are.
        """
        state: _Monomials = self._state("transform")
        points = self._points_to_predict(X, state)
        if isinstance(points, CSR):
            return multiply_sparse(points, state.products)
        return multiply_dense(points, state.products)

    @property
    def n_output_features_(self) -> int:
        """Columns of the result."""
        n_columns: int = self._state("n_output_features_").products.n_columns
        return n_columns

    @property
    def powers_(self) -> NDArray[np.intp]:
        """Exponent of each feature in each column."""
        state: _Monomials = self._state("powers_")
        products, d = state.products, state.shape[1]
        powers = np.zeros((products.n_columns, d), dtype=np.intp)
        block, done = np.zeros((1, d), dtype=np.intp), int(products.has_bias)
        for level in levels(d, products):
            place = powers[done : done + len(level)]
            for begin, end in level.pieces(max(1, _PIECE // d)):
                parents, last = level.children(begin, end)
                place[begin:end] = block[parents]
                place[np.arange(begin, end), last] += 1
            block, done = place, done + len(level)
        return powers

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names of the columns, such as ``'x0 x1'`` and ``'x0^2'``.

        Parameters
        ----------
        input_features : sequence of str, default=None
            Names of the features; those of the fit where None.

        Returns
        -------
        ndarray of str
        """
        state: _Monomials = self._state("get_feature_names_out")
        names = state.names
        if input_features is not None:
            names = _given_names(input_features, state)
        elif names is None:
            names = np.array([f"x{k}" for k in range(state.shape[1])], dtype=object)
        return np.array([_name(factors, names) for factors in state.factors()], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Quadratic(PolynomialMap):
    """The map of the quadratic discriminant: all products of up to two features.

    It is ::

        phi(x) = (1, x_i, x_i x_j),    i <= j

    Parameters
    ----------
    include_bias : bool, default=True
        Whether the first column is the constant 1.

    Examples
    --------
    With it the perceptron solves the exclusive or:

    >>> import numpy as np
    >>> from kcore.features import Quadratic
    >>> from kcore.perceptron import Perceptron
    >>> X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    >>> Quadratic().fit_transform(X[1:2])
    array([[ 1., -1.,  1.,  1., -1.,  1.]])
    >>> Perceptron().fit(Quadratic().fit_transform(X), [0, 1, 1, 0]).converged_
    True
    """

    def __init__(self, *, include_bias: bool = True) -> None:
        super().__init__(2, include_bias=include_bias)


def _given_names(input_features: Any, state: _Monomials) -> NDArray[np.object_]:
    try:
        names = np.asarray(input_features, dtype=object)
    except ValueError as error:
        raise ValueError(f"input_features cannot be made an array: {error}") from error
    if names.shape != state.shape[1:]:
        raise ValueError(
            f"input_features should have length equal to number of features ({state.shape[1]}), "
            f"got {len(names) if names.ndim == 1 else brief(input_features)}"
        )
    for k, name in enumerate(names.tolist()):
        if not isinstance(name, str):
            raise TypeError(f"input_features: entry {k} is {brief(name)}, must be a string")
    if state.names is not None and not np.array_equal(state.names, names):
        raise ValueError("input_features is not equal to feature_names_in_")
    return names


def _name(factors: tuple[int, ...], names: NDArray[np.object_]) -> str:
    runs = [(names[k], len(list(run))) for k, run in itertools.groupby(factors)]
    return " ".join(name if n == 1 else f"{name}^{n}" for name, n in runs) or "1"
