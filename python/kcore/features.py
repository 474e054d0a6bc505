"""Explicit feature maps: generalised linear discriminants for the linear learners.

A discriminant that is linear in y = phi(x) is a curved one in x: with y = (1, x, x^2) the
perceptron solves the exclusive or.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from kcore import exceptions
from kcore._base import Estimator, Fitted, as_samples, check_finite, feature_names
from kcore._validate import CSR

if TYPE_CHECKING or not exceptions.has_sklearn():

    class TransformerMixin:
        """Gives `fit_transform`."""

        def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
            """Fit, then transform."""
            return self.fit(X, y, **params).transform(X)  # type: ignore[attr-defined]

else:
    from sklearn.base import TransformerMixin

__all__ = ["PolynomialMap", "Quadratic"]

_CHUNK = 1 << 20  # values that are multiplied at once


class _Monomials(Fitted):
    """The products of features that make the columns.

    Columns of degree k are products of one of degree k - 1 and one feature that is not before its
    last one (after it, where features may not repeat): that order is the lexicographic one.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        degree: int,
        is_distinct: bool,
        has_bias: bool,
    ) -> None:
        super().__init__(shape, names)
        self.is_distinct = is_distinct
        self.has_bias = has_bias
        d = shape[1]
        # Products of k features, for k = 0 .. degree.
        self.counts = [
            math.comb(d, k) if is_distinct else math.comb(d + k - 1, k) for k in range(degree + 1)
        ]

    @property
    def n_columns(self) -> int:
        """Columns of the result."""
        return sum(self.counts) - (not self.has_bias)

    def grow(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Give, degree by degree, which column of the degree before times which feature."""
        d = self.shape[1]
        last = np.full(1, -1 if self.is_distinct else 0, dtype=np.intp)
        for _ in self.counts[1:]:
            first = last + self.is_distinct
            n_followers = d - first
            before = np.repeat(np.arange(len(last)), n_followers)
            ends = np.cumsum(n_followers)
            last = np.arange(len(before)) - np.repeat(ends - n_followers - first, n_followers)
            yield before, last


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
        check_finite(points)
        degree = self._integer("degree")
        if degree < 1:
            raise ValueError(f"degree must be at least 1, got {degree}")
        state = _Monomials(
            points.shape,
            feature_names(X),
            degree,
            bool(self.interaction_only),
            bool(self.include_bias),
        )
        most = np.iinfo(np.int32).max
        if state.n_columns > most:
            raise ValueError(
                f"degree={degree} on {points.shape[1]} features makes {state.n_columns} columns, "
                f"at most {most} are possible"
            )
        self._fitted = state
        return self

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
        check_finite(points)
        if isinstance(points, CSR):
            return _multiply_sparse(points, state)
        out = np.empty((points.shape[0], state.n_columns), dtype=points.dtype)
        done = int(state.has_bias)
        out[:, :done] = 1
        block = np.ones((points.shape[0], 1), dtype=points.dtype)  # the columns of one degree
        for before, last in state.grow():
            place = out[:, done : done + len(last)]
            # A few columns at once: what is gathered for them is not the size of the result.
            step = max(1, _CHUNK // points.shape[0])
            for k in range(0, len(last), step):
                some = slice(k, k + step)
                np.multiply(block[:, before[some]], points[:, last[some]], out=place[:, some])
            block = place
            done += len(last)
        return out

    @property
    def n_output_features_(self) -> int:
        """Columns of the result."""
        n_columns: int = self._state("n_output_features_").n_columns
        return n_columns

    @property
    def powers_(self) -> NDArray[np.intp]:
        """Exponent of each feature in each column."""
        state: _Monomials = self._state("powers_")
        powers = [np.zeros((1, state.shape[1]), dtype=np.intp)]
        for before, last in state.grow():
            powers.append(powers[-1][before])
            powers[-1][np.arange(len(last)), last] += 1
        return np.concatenate(powers if state.has_bias else powers[1:])

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
        return np.array([_name(powers, names) for powers in self.powers_], dtype=object)

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


def _name(powers: NDArray[np.intp], names: NDArray[np.object_]) -> str:
    parts = [names[k] if powers[k] == 1 else f"{names[k]}^{powers[k]}" for k in powers.nonzero()[0]]
    return " ".join(parts) if parts else "1"


def _multiply_sparse(points: CSR, state: _Monomials) -> Any:
    """Return the products that are not zero as a CSR matrix.

    Every product of a row is one of a lower degree times a value at or after its last factor, so
    that the products of all rows are made degree by degree.
    """
    from scipy.sparse import csr_array

    x = csr_array((points.data, points.indices, points.indptr), shape=points.shape, copy=True)
    x.sum_duplicates()  # sorts, too
    n, d = x.shape
    ends = x.indptr[1:].astype(np.intp)
    # Of each product: its row, value, number among those of its degree, and where its last factor
    # is stored; at first the empty product of each row.
    row, value = np.arange(n), np.ones(n, dtype=points.dtype)
    place = x.indptr[:-1].astype(np.intp) - state.is_distinct
    factors = np.empty((n, 0), dtype=np.intp)
    parts = [(row, np.zeros(n, dtype=np.intp), value)] if state.has_bias else []
    done = int(state.has_bias)
    for count in state.counts[1:]:
        first = place + state.is_distinct
        n_followers = ends[row] - first
        before = np.repeat(np.arange(len(row)), n_followers)
        stops = np.cumsum(n_followers)
        place = np.arange(len(before)) - np.repeat(stops - n_followers - first, n_followers)
        row, value = row[before], value[before] * x.data[place]
        factors = np.column_stack([factors[before], x.indices[place]])
        parts.append((row, done + _rank(factors, d, state.is_distinct), value))
        done += count
    rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    return csr_array((values, (rows, columns)), shape=(n, done))


def _rank(factors: NDArray[np.intp], d: int, is_distinct: bool) -> NDArray[np.intp]:
    """Return the place of each row of factors among all of so many, in lexicographic order.

    Those that come after c_1 < .. < c_k of 0 .. m - 1 are counted by the first place where they are
    larger: binomial(m - 1 - c_j, k + 1 - j) each. Factors that may repeat are made to differ by
    adding 0, 1, .., k - 1.
    """
    k = factors.shape[1]
    m = d if is_distinct else d + k - 1
    shift = np.zeros(k, dtype=np.intp) if is_distinct else np.arange(k)
    n_after = np.zeros(len(factors), dtype=np.intp)
    for j in range(k):
        table = np.array([math.comb(t, k - j) for t in range(m)], dtype=np.intp)
        n_after += table[m - 1 - factors[:, j] - shift[j]]
    return math.comb(m, k) - 1 - n_after
