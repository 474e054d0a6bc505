"""Explicit feature maps: every column is the product that it is named for."""

import itertools
import pickle
import time
import tracemalloc

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
from kcore import _monomials
from kcore.features import PolynomialMap, Quadratic
from kcore.kernels import Polynomial
from kcore.perceptron import Perceptron
from processes import seconds_to_stop

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
        (0, ValueError, "degree must be in 1 .. 1000, got 0"),
        (2**31, ValueError, "degree must be in 1 .. 1000, got 2147483648"),
        (1.5, TypeError, "degree must be an integer, got 1.5"),
        (40, ValueError, "degree=40 on 100 features makes too many columns"),
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


# ---- Pieces


def by_definition(X, factors):
    """Return the products, multiplied from the left."""
    columns = []
    for each in factors:
        column = np.ones(len(X), X.dtype)
        for k in each:
            column = column * X[:, k]
        columns.append(column)
    return np.stack(columns, axis=1)


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 9),
    st.booleans(),
    st.sampled_from([8, 16, 64]),
    st.integers(0, 2**32 - 1),
)
def test_pieces_of_any_size_make_the_same_bits(d, degree, n, distinct, piece, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    map_ = PolynomialMap(degree, interaction_only=distinct).fit(X)
    expected = by_definition(X, products(X, degree, True, distinct)[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_monomials, "_PIECE", piece)
        patch.setattr(_monomials, "_SMALL", 3)
        _monomials._small_levels.cache_clear()
        assert_same_bits(map_.transform(X) + 0, expected + 0)
        sparse = map_.transform(sp.csr_array(X))
    _monomials._small_levels.cache_clear()
    assert sparse.has_canonical_format
    assert_same_bits(sparse.toarray() + 0, expected + 0)


def test_memory_is_that_of_the_result_and_a_few_pieces(rng):
    dense = rng.standard_normal((3000, 60))
    for X in (dense, sp.csr_array(dense * (dense > 0.5))):
        map_ = Quadratic().fit(X)
        tracemalloc.start()
        out = map_.transform(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        size = sum(a.nbytes for a in (out.data, out.indices)) if sp.issparse(out) else out.nbytes
        assert peak < size + 12e6


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_ctrl_c_is_heard_within_pieces(storage, rng):
    X = storage(rng.standard_normal((8000, 120)))
    map_ = Quadratic().fit(X)
    waits = [seconds_to_stop(lambda: map_.transform(X), 0.05) for _ in range(3)]
    assert min(waits) < 0.05


# ---- Sizes and numbers that cannot be


def test_results_that_no_memory_holds_are_refused_before_any_work():
    start = time.perf_counter()
    endless = np.lib.stride_tricks.as_strided(np.ones(1), (2**40, 30), (0, 0))
    with pytest.raises(MemoryError):
        Quadratic().fit(np.ones((1, 30))).transform(endless)
    for degree, d in [(1000, 2**20), (1000, 3000), (2, 2**17), (16, 20)]:
        X = sp.csr_array((np.ones(1), [0], [0, 1]), (1, d))
        with pytest.raises(ValueError, match=f"degree={degree} on {d} features makes too many"):
            PolynomialMap(degree).fit(X)
    assert time.perf_counter() - start < 10


def test_rows_of_too_many_products_are_named(monkeypatch):
    X = sp.csr_array(np.ones((20, 30)))
    map_ = Quadratic().fit(X)
    monkeypatch.setattr(_monomials, "_MAX_PRODUCTS", 1000)
    with pytest.raises(MemoryError, match=r"^X: its rows up to 19 alone have 9.92e\+03 products"):
        map_.transform(X)


def test_high_degrees_of_few_features_are_made():
    assert PolynomialMap(1000).fit_transform([[-1.0]]).tolist() == [[1.0, -1.0] * 500 + [1.0]]
    assert PolynomialMap(1000, interaction_only=True).fit_transform([[2.0, 3.0]]).tolist() == [
        [1, 2, 3, 6]
    ]


def are_finite(out):
    return bool(np.isfinite(out.data if sp.issparse(out) else out).all())


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("dtype", "value", "advice"),
    [
        (np.float64, 1e160, "overflows float64; scale the features"),
        (np.float32, 1e20, "overflows float32; scale the features or use float64"),
    ],
)
def test_a_product_that_overflows_is_named(dtype, value, advice, storage):
    X = np.ones((5, 3), dtype)
    X[3, 1] = value
    map_ = Quadratic().fit(X)
    with pytest.raises(ValueError, match=rf"^X: row 3: the product x1\^2 {advice}$"):
        map_.transform(storage(X))
    X[2, [0, 2]] = value
    X[3, 1] = 1
    map_ = PolynomialMap(3, interaction_only=True).fit(X)
    with pytest.raises(ValueError, match=rf"^X: row 2: the product x0 x2 {advice}$"):
        map_.transform(storage(X))
    assert are_finite(map_.transform(storage(X[:2])))
    X[2, [0, 2]] = dtype(np.finfo(dtype).max) ** 0.33  # close to the end, within it
    assert are_finite(PolynomialMap(3).fit_transform(storage(X)))


def test_repeated_columns_whose_sum_overflows_are_refused():
    X = sp.csr_array((np.array([1e308, 1.0, 1e308]), [1, 0, 1], [0, 3]), (1, 2))
    with pytest.raises(ValueError, match="X: row 0, column 1 is infinity, must be finite"):
        Quadratic().fit_transform(X)


@pytest.mark.parametrize(
    ("names", "exception", "words"),
    [
        (3, ValueError, "input_features should have length .* \\(2\\), got 3"),
        ([["a"], ["b"]], ValueError, "input_features should have length"),
        ([1.0, 2.0], TypeError, "input_features: entry 0 is 1.0, must be a string"),
    ],
)
def test_names_that_are_no_names_are_refused(names, exception, words):
    with pytest.raises(exception, match=words):
        Quadratic().fit([[1.0, 2.0]]).get_feature_names_out(names)


@pytest.mark.parametrize("name", ["include_bias", "interaction_only"])
@pytest.mark.parametrize("value", [np.ones(2), pd.DataFrame({"a": [1]}), pd.NA])
def test_flags_that_do_not_say_are_refused_by_name(name, value):
    with pytest.raises(TypeError, match=f"{name} must be True or False"):
        PolynomialMap(**{name: value}).fit([[1.0, 2.0]])


@pytest.mark.timeout(20)
def test_samples_that_are_too_many_are_refused_before_they_are_read():
    with pytest.raises(ValueError, match=r"X has \d+ rows, must have at most"):
        Quadratic().fit(np.broadcast_to(1.0, (2**58, 1)))
