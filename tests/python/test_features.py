"""Explicit feature maps: every column is the product that it is named for."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from conftest import assert_same_bits
from kcore.features import PolynomialMap, Quadratic
from kcore.kernels import Polynomial
from kcore.perceptron import Perceptron

WHOLE = np.array([[2.0, -1.0, 3.0], [0.0, 4.0, -2.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def products(X, degree, include_bias=True, interaction_only=False):
    """Return the products by the definition, and their factors."""
    choose = itertools.combinations if interaction_only else itertools.combinations_with_replacement
    factors = [
        each
        for k in range(0 if include_bias else 1, degree + 1)
        for each in choose(range(X.shape[1]), k)
    ]
    columns = [np.prod(X[:, list(each)], axis=1) for each in factors]
    return np.array(columns, dtype=X.dtype).reshape(len(factors), len(X)).T, factors


@given(
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 7),
    st.booleans(),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**32 - 1),
)
def test_columns_are_products_in_lexicographic_order(d, degree, n, bias, distinct, dtype, seed):
    rng = np.random.default_rng(seed)
    X = (rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < 0.6)).astype(dtype)
    expected, factors = products(X, degree, bias, distinct)
    map_ = PolynomialMap(degree, include_bias=bias, interaction_only=distinct)
    assert_same_bits(map_.fit_transform(X) + 0, np.ascontiguousarray(expected) + 0)  # no -0
    sparse = map_.transform(sp.csr_array(X))
    assert sp.issparse(sparse)
    assert sparse.format == "csr"
    assert_same_bits(sparse.toarray() + 0, np.ascontiguousarray(expected) + 0)
    assert map_.n_output_features_ == len(factors)
    powers = [[each.count(k) for k in range(d)] for each in factors]
    assert map_.powers_.tolist() == powers


@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_names_and_powers_are_those_that_scikit_learn_gives(degree, interaction_only):
    params = {"degree": degree, "interaction_only": interaction_only}
    ours = PolynomialMap(**params).fit(WHOLE)
    theirs = PolynomialFeatures(**params).fit(WHOLE)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(ours.powers_, theirs.powers_)
    np.testing.assert_array_equal(ours.transform(WHOLE), theirs.transform(WHOLE))


def test_the_quadratic_map_is_one_x_and_all_products_of_two():
    row = Quadratic().fit_transform([[2.0, 3.0]])
    assert row.tolist() == [[1, 2, 3, 4, 6, 9]]
    assert Quadratic(include_bias=False).fit_transform([[2.0, 3.0]]).tolist() == [[2, 3, 4, 6, 9]]
    assert Quadratic().get_params() == {"include_bias": True}
    assert repr(clone(Quadratic(include_bias=False))) == "Quadratic(include_bias=False)"
    assert Quadratic().fit([[1.0]]).get_feature_names_out().tolist() == ["1", "x0", "x0^2"]


def test_weighted_products_are_a_polynomial_kernel(rng):
    X, Z = rng.standard_normal((2, 5, 3))
    map_ = PolynomialMap(3).fit(X)
    powers = np.insert(map_.powers_, 0, 3 - map_.powers_.sum(axis=1), axis=1)
    factorials = np.array([1, 1, 2, 6])
    weights = 6 / factorials[powers].prod(axis=1)
    gram = (map_.transform(X) * weights) @ map_.transform(Z).T
    kernel = Polynomial(degree=3, gamma=1.0, coef0=1.0)
    np.testing.assert_allclose(gram, kernel(X, Z), rtol=1e-12, atol=1e-12)


def test_sparse_samples_may_be_unsorted_have_repeated_columns_and_empty_rows():
    X = sp.csr_array(
        (np.array([3.0, 1.0, 1.0, 2.0]), np.array([2, 0, 0, 1]), np.array([0, 3, 3, 4])),
        shape=(3, 3),
    )
    expected, _ = products(X.toarray(), 3)
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    assert_same_bits(PolynomialMap(3).fit_transform(X).toarray(), np.ascontiguousarray(expected))
    for was, now in zip(before, (X.data, X.indices, X.indptr), strict=True):
        np.testing.assert_array_equal(was, now)


def test_sparse_samples_of_many_features_make_few_products():
    X = sp.csr_array((np.array([2.0, 5.0]), np.array([7, 59_999]), np.array([0, 2])), (1, 60_000))
    out = Quadratic().fit_transform(X)
    assert out.shape == (1, 1 + 60_000 + 60_000 * 60_001 // 2)
    assert out.data.tolist() == [1, 2, 5, 4, 10, 25]
    assert out.indices[-1] == out.shape[1] - 1


def test_other_layouts_and_types_are_taken():
    expected = Quadratic().fit_transform(WHOLE)
    assert_same_bits(Quadratic().fit_transform(np.asfortranarray(WHOLE)), expected)
    assert_same_bits(Quadratic().fit_transform(WHOLE.astype(int)), expected)
    assert_same_bits(Quadratic().fit_transform(WHOLE.tolist()), expected)
    assert Quadratic().fit_transform(WHOLE.astype(np.float32)).dtype == np.float32


def test_names_of_features_are_kept_and_checked():
    frame = pd.DataFrame(WHOLE, columns=["a", "b", "c"])
    map_ = Quadratic().fit(frame)
    assert map_.get_feature_names_out().tolist() == [
        "1", "a", "b", "c", "a^2", "a b", "a c", "b^2", "b c", "c^2",
    ]  # fmt: skip
    assert map_.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        map_.get_feature_names_out(["a", "b", "d"])
    with pytest.raises(ValueError, match=r"number of features \(3\), got 2"):
        map_.get_feature_names_out(["a", "b"])
    with pytest.warns(UserWarning, match="does not have valid feature names, but Quadratic"):
        map_.transform(WHOLE)
    table = map_.set_output(transform="pandas").transform(frame)
    assert list(table.columns) == map_.get_feature_names_out().tolist()


def test_bad_input_is_refused_with_its_place():
    for degree, exception, words in [
        (0, ValueError, "degree must be at least 1, got 0"),
        (1.5, TypeError, "degree must be an integer, got 1.5"),
        (40, ValueError, "degree=40 on 100 features makes"),
    ]:
        with pytest.raises(exception, match=words):
            PolynomialMap(degree).fit(np.ones((2, 100)))
    bad = WHOLE.copy()
    bad[1, 2] = np.nan
    for X in (bad, sp.csr_array(bad)):
        with pytest.raises(ValueError, match="X: row 1, column 2 is NaN, must be finite"):
            Quadratic().fit(X)
        with pytest.raises(ValueError, match="X: row 1, column 2 is NaN, must be finite"):
            Quadratic().fit(WHOLE).transform(X)
    with pytest.raises(ValueError, match="X has 2 features, but Quadratic is expecting 3"):
        Quadratic().fit(WHOLE).transform(WHOLE[:, :2])
    assert not hasattr(Quadratic(), "powers_")


def test_pickles_and_pipelines_work():
    map_ = PolynomialMap(3, interaction_only=True).fit(WHOLE)
    other = pickle.loads(pickle.dumps(map_))
    assert_same_bits(other.transform(WHOLE), map_.transform(WHOLE))
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = make_pipeline(Quadratic(), Perceptron()).fit(X, [0, 1, 1, 0])
    assert model.score(X, [0, 1, 1, 0]) == 1
    model = make_pipeline(Quadratic(), Perceptron()).fit(sp.csr_array(X), [0, 1, 1, 0])
    assert model.score(X, [0, 1, 1, 0]) == 1
