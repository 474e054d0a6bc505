"""Nystroem against its definition, and its selections against their distributions."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.kernel_approximation
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_same_bits
from kcore import Nystroem
from kcore._landmarks import Matrix, choose_pivots, choose_spread
from kcore.exceptions import IndefiniteKernelWarning
from kcore.kernels import RBF, Delta, Laplacian, Linear, Polynomial

SELECTIONS = ["uniform", "k-means++", "rpcholesky"]


def projection(kernel, A, C, B):
    """K(A, C) K(C, C)^-1 K(C, B)."""
    return kernel(A, C) @ np.linalg.pinv(kernel(C), hermitian=True) @ kernel(C, B)


@pytest.fixture(name="X")
def samples(rng):
    return rng.standard_normal((400, 5))


@pytest.fixture(name="Z")
def new_samples(rng):
    return rng.standard_normal((70, 5))


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("kernel", [RBF(0.2), Laplacian(0.3), RBF(0.1) + 0.5 * Laplacian(0.2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_those_of_the_projection(kernel, selection, dtype, X, Z):
    X, Z = X.astype(dtype), Z.astype(dtype)
    model = Nystroem(kernel, n_components=30, selection=selection, random_state=0)
    P = model.fit_transform(X)
    assert P.dtype == dtype
    C = X[model.component_indices_]
    np.testing.assert_array_equal(model.components_, C)
    assert len(set(model.component_indices_)) == 30
    wide = [A.astype(float) for A in (X, Z, C)]
    tol = 3e-5 if dtype == np.float32 else 1e-11
    T = model.transform(Z)
    np.testing.assert_allclose(T @ P.T, projection(kernel, wide[1], wide[2], wide[0]), atol=tol)
    np.testing.assert_allclose(model.transform(X), P, atol=tol)
    np.testing.assert_allclose(kernel(Z, C) @ model.normalization_.T, T, atol=10 * tol)
    # On the components themselves the map is exact.
    np.testing.assert_allclose(model.transform(C) @ P.T, kernel(C, X), atol=tol)
    rest = np.trace(kernel(wide[0]) - projection(kernel, wide[0], wide[2], wide[0]))
    assert abs(model.residual_trace_ - rest) <= 400 * tol
    assert model.residual_ratio_ == pytest.approx(model.residual_trace_ / np.trace(kernel(X)))


def test_products_are_those_of_scikit_learn_with_the_same_components(X, Z):
    ours = Nystroem(gamma=0.2, n_components=40, random_state=0).fit(X)
    theirs = sklearn.kernel_approximation.Nystroem(gamma=0.2, n_components=40)
    theirs.fit(ours.components_)
    np.testing.assert_allclose(
        ours.transform(Z) @ ours.transform(X).T,
        theirs.transform(Z) @ theirs.transform(X).T,
        atol=1e-10,
    )


@pytest.mark.parametrize("selection", SELECTIONS)
def test_kernels_come_as_names_objects_functions_and_matrices(selection, X, Z):
    options = {"n_components": 20, "selection": selection, "random_state": 5}
    named = Nystroem("rbf", gamma=0.3, **options).fit(X)
    expected = named.transform(Z) @ named.transform(X).T
    for kernel, fit, new in [
        (RBF(0.3), X, Z),
        (RBF(0.3), sp.csr_array(X), sp.csr_array(Z)),
        (lambda A, B: RBF(0.3)(A, B), X, Z),
        ("precomputed", RBF(0.3)(X), RBF(0.3)(Z, X)),
    ]:
        model = Nystroem(kernel, **options).fit(fit)
        assert set(model.component_indices_) == set(named.component_indices_)
        found = model.transform(new) @ model.transform(fit).T
        np.testing.assert_allclose(found, expected, atol=1e-10)
        assert model.residual_trace_ == pytest.approx(named.residual_trace_, rel=1e-8)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_components_that_others_determine_have_columns_of_zeros(selection, rng):
    X = rng.standard_normal((50, 3))
    model = Nystroem("linear", n_components=8, selection=selection, random_state=0)
    P = model.fit_transform(X)
    assert model.rank_ == 3
    assert (P[:, 3:] == 0).all()
    np.testing.assert_allclose(P @ P.T, X @ X.T, atol=1e-12)
    assert model.residual_ratio_ <= 1e-14
    twice = np.repeat(X[:4], 6, axis=0)
    model = Nystroem(RBF(1.0), n_components=10, selection=selection, random_state=0).fit(twice)
    assert model.rank_ <= 4
    assert (model.residual_ratio_ < 1e-12) == (model.rank_ == 4)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_all_samples_leave_no_residual(selection, X):
    model = Nystroem(RBF(1.0), n_components=400, selection=selection, random_state=0)
    P = model.fit_transform(X)
    np.testing.assert_allclose(P @ P.T, RBF(1.0)(X), atol=1e-11)
    assert model.residual_ratio_ < 1e-12


def test_strings_and_tables_are_mapped():
    frame = pd.DataFrame({"a": np.arange(12.0), "b": list("xyzxyzxyzxyx")})
    kernel = RBF(0.1).on("a") * Delta().on("b")
    for selection in SELECTIONS:
        model = Nystroem(kernel, n_components=12, selection=selection, random_state=0)
        P = model.fit_transform(frame)
        np.testing.assert_allclose(P @ P.T, kernel(frame), atol=1e-12)


# ---- Selections


def matrix_of(K):
    return Matrix(
        np.diag(K).copy(),
        lambda samples: K[:, samples],
        lambda samples: K[np.ix_(samples, samples)],
    )


def chances_one_by_one(K, m, left_of):
    """The probability of each sequence of m samples, drawn one by one by what `left_of` says."""
    n = len(K)
    found = {}
    for order in itertools.permutations(range(n), m):
        p = 1.0
        for k, sample in enumerate(order):
            left = left_of(K, list(order[:k]))
            p *= left[sample] / left.sum()
        found[order] = p
    return found


def left_of_span(K, chosen):
    if not chosen:
        return np.diag(K)
    some = K[:, chosen]
    rest = np.diag(K - some @ np.linalg.inv(K[np.ix_(chosen, chosen)]) @ some.T).copy()
    rest[chosen] = 0
    return np.maximum(rest, 0)


def left_of_nearest(K, chosen):
    if not chosen:
        return np.ones(len(K))
    own = np.diag(K)
    return (own[:, None] + own[chosen] - 2 * K[:, chosen]).min(axis=1)


@pytest.mark.parametrize(
    ("choose", "left_of"), [(choose_pivots, left_of_span), (choose_spread, left_of_nearest)]
)
def test_drawing_in_blocks_has_the_distribution_of_drawing_one_by_one(
    choose, left_of, rng, monkeypatch
):
    monkeypatch.setattr("kcore._landmarks._BLOCKS", 1)  # all three in one block
    X = rng.standard_normal((5, 2))
    K = RBF(0.4)(X) * np.outer(s := np.array([1.0, 2.0, 0.5, 1.5, 1.0]), s)
    expected = chances_one_by_one(K, 3, left_of)
    n_draws = 6000
    counts = dict.fromkeys(expected, 0)
    source = matrix_of(K)
    for _ in range(n_draws):
        more = () if choose is choose_spread else (np.dtype(np.float64),)
        counts[tuple(choose(source, 3, *more, rng).tolist())] += 1
    chi2 = sum((counts[o] - n_draws * p) ** 2 / (n_draws * p) for o, p in expected.items())
    assert chi2 < 59 + 6 * np.sqrt(2 * 59)  # 59 degrees of freedom, six standard deviations


def test_pivots_find_what_uniform_choice_misses(rng):
    X = np.concatenate([0.01 * rng.standard_normal((2000, 3)), 5 * rng.standard_normal((40, 3))])
    ratios = {
        selection: Nystroem(RBF(0.5), n_components=45, selection=selection, random_state=0)
        .fit(X)
        .residual_trace_
        for selection in SELECTIONS
    }
    assert ratios["rpcholesky"] < 0.1 * ratios["uniform"]
    assert ratios["k-means++"] < 0.1 * ratios["uniform"]


@pytest.mark.parametrize("selection", SELECTIONS)
def test_results_come_again_whatever_the_threads(selection, X):
    def fit(n_jobs, state):
        return Nystroem(
            RBF(0.3), n_components=30, selection=selection, random_state=state, n_jobs=n_jobs
        ).fit(X)

    first = fit(1, 7)
    for other in (fit(2, 7), fit(None, np.int64(7))):
        assert (other.component_indices_ == first.component_indices_).all()
        assert_same_bits(other.normalization_, first.normalization_)
    assert (fit(1, 8).component_indices_ != first.component_indices_).any()
    for kind in (np.random.default_rng, np.random.RandomState):
        assert (fit(1, kind(3)).component_indices_ == fit(2, kind(3)).component_indices_).all()


@given(st.integers(1, 30), st.integers(1, 12), st.sampled_from(SELECTIONS), st.integers(0, 2**32))
def test_the_residual_is_that_of_the_definition_and_never_negative(n, m, selection, seed):
    X = np.random.default_rng(seed).integers(-2, 3, (n, 2)).astype(float)
    m = min(m, n)
    for kernel in (RBF(0.5), Polynomial(2), Linear()):
        model = Nystroem(kernel, n_components=m, selection=selection, random_state=seed)
        P = model.fit_transform(X)
        assert np.isfinite(P).all()
        K = kernel(X)
        assert model.residual_trace_ >= 0
        expected = np.trace(K - P @ P.T)
        assert abs(model.residual_trace_ - expected) <= 1e-9 * max(1.0, np.trace(K))
        assert np.linalg.eigvalsh(K - P @ P.T).min() >= -1e-7 * max(1.0, np.trace(K))


# ---- Precision, bad input


def test_precision_says_the_type_of_the_map(X):
    for precision, dtype in [("auto", float), ("float32", np.float32), ("float64", float)]:
        model = Nystroem(RBF(0.2), n_components=9, precision=precision, random_state=0).fit(X)
        assert model.transform(X).dtype == dtype
        assert model.normalization_.dtype == dtype


def test_memory_is_that_of_the_map(rng):
    import tracemalloc

    X = rng.standard_normal((60_000, 4)).astype(np.float32)
    for selection in ("uniform", "k-means++"):
        tracemalloc.start()
        P = Nystroem(RBF(0.3), n_components=100, selection=selection, random_state=0).fit_transform(
            X
        )
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 1.5 * P.nbytes + 2**24


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
        ({"selection": "best"}, "selection must be one of .*got 'best'"),
        ({"precision": 32}, "precision must be one of .*got 32"),
        ({"random_state": -1}, "random_state must be .*got -1"),
        ({"kernel": "poly", "degree": -1}, "degree must be in 0 .. 1000, got -1"),
    ],
)
def test_bad_parameters_are_refused_by_name_and_value(options, words, X):
    with pytest.raises((TypeError, ValueError), match=words):
        Nystroem(n_components=5).set_params(**options).fit(X)


def test_more_components_than_samples_are_cut_with_a_warning(X):
    with pytest.warns(UserWarning, match="n_components=500 is more than the 400 samples"):
        assert Nystroem(n_components=500).fit_transform(X).shape == (400, 400)


def test_nan_is_named_by_row_and_column_and_an_indefinite_kernel_by_name(X):
    bad = np.tile(X, (30, 1))
    bad[11_000, 2] = np.nan
    model = Nystroem(n_components=300, random_state=0)
    with pytest.raises(ValueError, match="X: row 11000, column 2 is NaN"):
        model.fit(bad)
    with pytest.raises(ValueError, match="X: row 11000, column 2 is NaN"):
        model.fit(X).transform(bad)
    with pytest.warns(IndefiniteKernelWarning, match=r"Nystroem: the kernel 'sigmoid'"):
        Nystroem("sigmoid", n_components=10, random_state=0).fit(X)
