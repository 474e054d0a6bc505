"""Explicit feature maps: generalised linear discriminants for the linear learners.

A discriminant that is linear in y = phi(x) is a curved one in x: with y = (1, x, x^2) the
perceptron solves the exclusive or.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from kcore import exceptions
from kcore._base import Estimator, Fitted, as_samples, feature_names
from kcore._validate import CSR, Float, Points

if TYPE_CHECKING or not exceptions.has_sklearn():

    class TransformerMixin:
        """Gives `fit_transform`."""

        def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
            """Fit, then transform."""
            return self.fit(X, y, **params).transform(X)  # type: ignore[attr-defined]

else:
    from sklearn.base import TransformerMixin

__all__ = ["PolynomialMap", "Quadratic"]


class _Monomials(Fitted):
    """The products of features that make the columns."""

    def __init__(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        factors: list[tuple[int, ...]],
    ) -> None:
        super().__init__(shape, names)
        self.factors = factors


class PolynomialMap(TransformerMixin, Estimator):
    r"""All products of up to `degree` features.

    .. math:: \phi(x) = (1,\; x_i,\; x_i x_j,\; x_i x_j x_k,\; \dots), \quad i \le j \le k \le \dots

    Parameters
    ----------
    degree : int, default=2
        Factors of a product at the most.
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
        """Note the number of features.

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
        points = as_samples(X)
        degree = self._degree()
        n_columns = math.comb(points.shape[1] + degree, degree)
        if n_columns > np.iinfo(np.int32).max:
            raise ValueError(
                f"degree={degree} on {points.shape[1]} features makes {n_columns} columns, at most "
                f"{np.iinfo(np.int32).max} are possible"
            )
        self._fitted = _Monomials(
            points.shape, feature_names(X), self._factors(points.shape[1], degree)
        )
        return self

    def _degree(self) -> int:
        degree = self._integer("degree")
        if degree < 1:
            raise ValueError(f"degree must be at least 1, got {degree}")
        return degree

    def _factors(self, n_features: int, degree: int) -> list[tuple[int, ...]]:
        first = 0 if self.include_bias else 1
        return [
            factors
            for k in range(first, degree + 1)
            for factors in combinations_with_replacement(range(n_features), k)
            if not (self.interaction_only and len(set(factors)) < k)
        ]

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
            return _multiply_sparse(points, state.factors)
        _refuse_non_finite(points)
        out = np.empty((points.shape[0], len(state.factors)), dtype=points.dtype)
        place = {factors: k for k, factors in enumerate(state.factors)}
        for k, factors in enumerate(state.factors):
            if len(factors) == 0:
                out[:, k] = 1
            elif factors[:-1] in place and len(factors) > 1:  # one factor more than a column has
                np.multiply(out[:, place[factors[:-1]]], points[:, factors[-1]], out=out[:, k])
            else:
                out[:, k] = np.prod(points[:, factors], axis=1)
        return out

    @property
    def n_output_features_(self) -> int:
        """Columns of the result."""
        return len(self._state("n_output_features_").factors)

    @property
    def powers_(self) -> NDArray[np.intp]:
        """Exponent of each feature in each column."""
        state: _Monomials = self._state("powers_")
        powers = np.zeros((len(state.factors), state.shape[1]), dtype=np.intp)
        for k, factors in enumerate(state.factors):
            np.add.at(powers[k], list(factors), 1)
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
        if input_features is None:
            names = state.names
            if names is None:
                names = np.array([f"x{k}" for k in range(state.shape[1])], dtype=object)
        else:
            names = np.asarray(input_features, dtype=object)
            if len(names) != state.shape[1]:
                raise ValueError(
                    f"input_features should have length equal to number of features "
                    f"({state.shape[1]}), got {len(names)}"
                )
            if state.names is not None and not np.array_equal(state.names, names):
                raise ValueError("input_features is not equal to feature_names_in_")
        return np.array([_name(factors, names) for factors in state.factors], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Quadratic(PolynomialMap):
    r"""The quadratic discriminant map (1, x, x²) of all products of two features.

    .. math:: \phi(x) = (1,\; x_i,\; x_i x_j), \quad i \le j

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

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return ["include_bias"]


def _refuse_non_finite(points: NDArray[Float]) -> None:
    if not np.isfinite(points).all():
        row, column = np.argwhere(~np.isfinite(points))[0]
        value = "NaN" if np.isnan(points[row, column]) else "infinity"
        raise ValueError(f"X: row {row}, column {column} is {value}, must be finite")


def _name(factors: tuple[int, ...], names: NDArray[np.object_]) -> str:
    powers = {k: factors.count(k) for k in factors}
    parts = [names[k] if p == 1 else f"{names[k]}^{p}" for k, p in powers.items()]
    return " ".join(parts) if parts else "1"


def _multiply_sparse(points: Points, factors: list[tuple[int, ...]]) -> Any:
    """Return the products of sparse columns as a CSR matrix."""
    from scipy.sparse import csc_array, csr_array, hstack

    assert isinstance(points, CSR)
    if not np.isfinite(points.data).all():
        raise ValueError("X has NaN or infinity among its values, they must be finite")
    columns = csc_array(csr_array((points.data, points.indices, points.indptr), shape=points.shape))
    made: dict[tuple[int, ...], Any] = {}
    for product in factors:
        if not product:
            made[product] = csc_array(np.ones((points.shape[0], 1), dtype=points.dtype))
            continue
        column = made.get(product[:-1]) if len(product) > 1 else None
        rest = product if column is None else product[-1:]
        for k in rest:
            factor = columns[:, [k]]
            column = factor if column is None else column.multiply(factor)
        made[product] = column
    return csr_array(hstack([made[product] for product in factors], format="csr"))
