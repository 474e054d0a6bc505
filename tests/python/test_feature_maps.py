"""Explicit maps of kernels: phi(x).phi(z) = K(x, z), exactly or within the bound that is stated."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_same_bits
from kcore.kernels import RBF, Delta, Laplacian, Linear, Matern, Polynomial, Sigmoid
from kcore.maps import PolynomialKernelMap, RandomFourierMap, TaylorMap


@pytest.fixture(name="X")
def samples(rng):
    return rng.standard_normal((60, 4))


@pytest.fixture(name="Z")
def new_samples(rng):
    return rng.standard_normal((25, 4))


# ---- Polynomial


@pytest.mark.parametrize("degree", [1, 2, 3, 6])
@pytest.mark.parametrize("gamma", [1.0, 0.3])
@pytest.mark.parametrize("coef0", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_polynomial_map_is_exact(degree, gamma, coef0, form, dtype, X, Z):
    kernel = Polynomial(degree, gamma, coef0)
    phi = kernel.feature_map().fit(form(X.astype(dtype)))
    P, Q = (phi.transform(form(A.astype(dtype))) for A in (X, Z))
    assert P.dtype == dtype
    assert P.shape[1] == phi.n_output_features_ == len(phi.get_feature_names_out())
    if form is sp.csr_array:
        P, Q = P.toarray(), Q.toarray()
    expected = kernel(X, Z)
    sizes = (gamma * abs(X) @ abs(Z).T + coef0) ** degree  # rounding is relative to these
    assert (abs(P @ Q.T - expected) <= 60 * degree * np.finfo(dtype).eps * sizes).all()


def test_factors_are_those_of_the_formula():
    phi = PolynomialKernelMap(4, gamma=0.5, coef0=3.0).fit(np.ones((1, 3)))
    for powers, factor in zip(phi.powers_.tolist(), phi.factors_, strict=True):
        k = sum(powers)
        multinomial = math.factorial(k) // math.prod(map(math.factorial, powers))
        square = math.comb(4, k) * Fraction(3) ** (4 - k) * Fraction(1, 2) ** k * multinomial
        assert factor == pytest.approx(math.sqrt(square), rel=1e-14)


def test_the_map_of_the_lecture_is_there():
    phi = Polynomial(2, coef0=0).feature_map().fit([[1.0, 1.0]])
    np.testing.assert_allclose(phi.transform([[2.0, 3.0]]), [[4.0, 6 * np.sqrt(2), 9.0]])
    assert phi.get_feature_names_out().tolist() == ["x0^2", "x0 x1", "x1^2"]
    assert phi.powers_.tolist() == [[2, 0], [1, 1], [0, 2]]
    np.testing.assert_array_equal(Linear().feature_map().fit_transform([[2.0, 3.0]]), [[2.0, 3.0]])


@given(
    st.integers(1, 4),
    st.integers(1, 5),
    st.lists(st.integers(-3, 3), min_size=8, max_size=8),
)
def test_whole_numbers_have_exact_products(d, degree, numbers):
    x, z = np.array(numbers[:d], float)[None], np.array(numbers[4 : 4 + d], float)[None]
    phi = Polynomial(degree).feature_map().fit(x)
    exact = (int(x[0] @ z[0]) + 1) ** degree
    sizes = (abs(x[0]) @ abs(z[0]) + 1) ** degree
    assert abs((phi.transform(x) @ phi.transform(z).T).item() - exact) <= 1e-13 * sizes


# ---- Taylor


@pytest.mark.parametrize("gamma", [0.05, 0.3])
@pytest.mark.parametrize("degree", [1, 3, 8])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_taylor_map_is_within_its_bound_which_is_reached(gamma, degree, form, X):
    phi = RBF(gamma).feature_map(degree=degree).fit(form(X))
    P = phi.transform(form(X))
    P = P.toarray() if sp.issparse(P) else P
    error = abs(P @ P.T - RBF(gamma)(X))
    assert phi.radius_ == pytest.approx(np.linalg.norm(X, axis=1).max())
    mean = 2 * gamma * phi.radius_**2
    tail = 1 - sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(degree + 1))
    assert phi.error_bound_ == pytest.approx(tail, rel=1e-6, abs=1e-14)
    assert error.max() <= phi.error_bound_ + 1e-14
    assert error.max() >= phi.error_bound_ - 1e-14  # at the sample of the largest norm, with itself


def test_the_taylor_map_comes_as_near_as_the_degree_says(X):
    errors = [RBF(0.1).feature_map(degree=p).fit(X).error_bound_ for p in (2, 6, 12, 20)]
    assert sorted(errors, reverse=True) == errors
    phi = RBF(0.1).feature_map(degree=20).fit(X[:, :2])
    P = phi.transform(X[:, :2])
    assert phi.error_bound_ < 1e-10
    np.testing.assert_allclose(P @ P.T, RBF(0.1)(X[:, :2]), atol=1e-10)


# ---- Random Fourier features


@pytest.mark.parametrize(
    "kernel", [RBF(0.5), Laplacian(0.3), Matern(0.5), Matern(1.5, 2.0), Matern(2.5, 0.7)]
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_random_fourier_features_are_within_hoeffdings_bound(kernel, form, X):
    m = 20_000
    phi = kernel.feature_map(n_components=m, random_state=0).fit(form(X))
    P = phi.transform(form(X))
    # All 1770 pairs at once, with a probability of 1 - 1e-6.
    bound = math.sqrt(4 / m * math.log(2 * 1770 / 1e-6))
    assert abs(P @ P.T - kernel(X)).max() <= bound
    np.testing.assert_allclose((P**2).sum(axis=1), 1, rtol=1e-12)


def test_the_error_falls_with_the_root_of_the_number(X):
    def mean_square(m):
        errors = [
            np.square(P @ P.T - RBF(0.3)(X)).mean()
            for P in (
                RBF(0.3).feature_map(n_components=m, random_state=s).fit_transform(X)
                for s in range(8)
            )
        ]
        return np.mean(errors)

    assert 8 < mean_square(50) / mean_square(800) < 32  # 16, were it exact


def test_names_of_kernels_are_taken_and_an_odd_number_of_columns(X):
    for name, kernel in [("rbf", RBF(0.25)), ("laplacian", Laplacian(0.25))]:
        named = RandomFourierMap(name, n_components=31, random_state=1).fit(X)
        given_ = RandomFourierMap(kernel, n_components=31, random_state=1).fit(X)
        assert_same_bits(named.transform(X), given_.transform(X))
        assert named.frequencies_.shape == (16, 4)
        assert named.transform(X.astype(np.float32)).dtype == np.float32
    P = RandomFourierMap(RBF(0.3), n_components=20_001, random_state=0).fit_transform(X)
    assert abs(P @ P.T - RBF(0.3)(X)).max() < 0.06


def test_results_do_not_depend_on_threads_or_the_batch(X):
    phi = RBF(0.5).feature_map(n_components=64, random_state=0, n_jobs=1).fit(X)
    whole = phi.transform(X)
    assert_same_bits(phi.set_params(n_jobs=2).transform(X), whole)
    assert_same_bits(np.concatenate([phi.transform(X[:7]), phi.transform(X[7:])]), whole)


# ---- What there is no map of


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: RBF().feature_map(), "RBF has no finite map: degree=p gives"),
        (lambda: RBF().feature_map(degree=2, n_components=4), "degree and n_components: one"),
        (lambda: Sigmoid().feature_map(), r"Sigmoid\(.* has no explicit map here; kcore.Nystroem"),
        (lambda: Delta().feature_map(n_components=4), "random Fourier features are those of RBF"),
        (lambda: (RBF() + Linear()).feature_map(degree=3), "has no explicit map here"),
        (lambda: Polynomial(3).feature_map(degree=2), "degree=2: the exact map .* has degree 3"),
        (lambda: Polynomial(3, coef0=-1).feature_map().fit([[1.0]]), "coef0 must be .*got -1"),
        (lambda: RBF().feature_map(degree=0).fit([[1.0]]), "degree must be in 1 .. 1000, got 0"),
        (lambda: TaylorMap(-1.0).fit([[1.0]]), "gamma must be .*got -1"),
        (lambda: TaylorMap(degree=2).fit([[1.0], [np.nan]]), "X: row 1, column 0 is NaN"),
        (lambda: RandomFourierMap("poly").fit([[1.0]]), "kernel must be 'rbf', .*got 'poly'"),
        (lambda: RandomFourierMap(RBF().on([0])).fit([[1.0]]), "kernel must be 'rbf', "),
        (lambda: RandomFourierMap(n_components=0).fit([[1.0]]), "n_components must be at least 1"),
        (lambda: PolynomialKernelMap(9).fit(np.ones((1, 10**6))), "makes too many columns"),
    ],
)
def test_what_has_no_map_is_refused_with_a_reason(ask, words):
    with pytest.raises((TypeError, ValueError), match=words):
        ask()
