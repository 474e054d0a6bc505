"""check_psd and check_cauchy_schwarz against eigenvalues and ratios from NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import kcore
from kcore import check_cauchy_schwarz, check_psd
from kcore.kernels import RBF, Delta, Laplacian, Linear, Polynomial, Sigmoid


@pytest.fixture(name="X")
def samples(rng):
    return rng.standard_normal((80, 3))


@pytest.mark.parametrize(
    "kernel", [RBF(0.5), Linear(), Polynomial(3), Laplacian(), RBF() * Linear()]
)
def test_kernels_pass_on_any_samples(kernel, X):
    for samples in (X, X.astype(np.float32), sp.csr_array(X), np.repeat(X[:5], 4, axis=0)):
        found = check_psd(kernel, samples)
        assert found.is_psd
        assert found.vector is None
        assert found.least_eigenvalue >= -found.tolerance
        assert check_cauchy_schwarz(kernel, samples).holds
    least = np.linalg.eigvalsh(kernel(X)).min()
    assert check_psd(kernel, X).least_eigenvalue == pytest.approx(least, abs=1e-11 * 80)


def test_a_violating_vector_shows_that_it_is_no_kernel(X):
    K = Sigmoid(1.0, -0.5)(X)
    for found in (check_psd(K), check_psd(Sigmoid(1.0, -0.5), X)):
        assert not found.is_psd
        v = found.vector
        assert np.linalg.norm(v) == pytest.approx(1)
        assert v @ K @ v == pytest.approx(found.least_eigenvalue)
        assert v @ K @ v < -found.tolerance
        assert found.least_eigenvalue == pytest.approx(np.linalg.eigvalsh(K).min())
        assert repr(found).startswith("not positive semi-definite: least eigenvalue -")


def test_distances_are_conditionally_definite_only(X):
    K = -np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    assert not check_psd(K).is_psd
    found = check_psd(K, conditional=True)
    assert found.is_psd
    assert found.conditional
    wrong = check_psd(-K, conditional=True)
    v = wrong.vector
    assert abs(v.sum()) < 1e-12
    assert np.linalg.norm(v) == pytest.approx(1)
    assert v @ -K @ v == pytest.approx(wrong.least_eigenvalue)
    assert wrong.least_eigenvalue < 0
    H = np.eye(80) - 1 / 80
    values = np.linalg.eigvalsh(H @ -K @ H)
    assert wrong.least_eigenvalue == pytest.approx(values.min())


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.booleans())
def test_the_least_eigenvalue_is_that_of_numpy(n, seed, conditional):
    A = np.random.default_rng(seed).standard_normal((n, n))
    K = A + A.T
    found = check_psd(K, conditional=conditional)
    basis = np.eye(n)
    if conditional:
        basis = np.linalg.svd(np.ones((1, n)))[2][1:].T
    least = np.linalg.eigvalsh(basis.T @ K @ basis).min(
        initial=0 if n == 1 and conditional else np.inf
    )
    assert found.least_eigenvalue == pytest.approx(least, abs=1e-12)
    assert found.is_psd == (least >= -found.tolerance)
    if not found.is_psd:
        assert found.vector @ K @ found.vector == pytest.approx(least, abs=1e-12)


def test_the_tolerance_is_that_of_rounding_or_the_callers():
    K = np.array([[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]])
    assert not check_psd(K).is_psd
    assert check_psd(K, tol=1e-8).is_psd
    assert check_psd(K, tol=1e-8).tolerance == 1e-8
    assert check_psd(K.astype(np.float32)).tolerance > 1e-8


@given(st.integers(2, 10), st.integers(0, 2**32 - 1))
def test_the_largest_ratio_is_that_of_the_definition(n, seed):
    A = np.random.default_rng(seed).standard_normal((n, n))
    K = A + A.T
    np.fill_diagonal(K, abs(np.diag(K)) + 0.1)
    own = np.diag(K)
    ratios = K**2 / np.outer(own, own)
    np.fill_diagonal(ratios, 0)
    found = check_cauchy_schwarz(K)
    assert found.ratio == pytest.approx(ratios.max())
    assert ratios[found.row, found.column] == pytest.approx(ratios.max())
    assert found.values == (K[found.row, found.column], own[found.row], own[found.column])
    assert found.holds == (ratios.max() <= 1 + 1e-12)


def test_zeros_and_negative_numbers_on_the_diagonal():
    assert check_cauchy_schwarz([[0.0, 0.0], [0.0, 1.0]]).ratio == 0
    found = check_cauchy_schwarz([[0.0, 0.5], [0.5, 1.0]])
    assert (found.ratio, found.row, found.column) == (np.inf, 0, 1)
    assert not check_cauchy_schwarz([[-1.0]]).holds
    assert check_cauchy_schwarz([[2.0]]).ratio == 0
    assert "fails" in repr(found)


def test_functions_strings_and_tables_are_taken():
    words = ["a", "b", "a"]
    assert check_psd(Delta(), words).is_psd

    def shared(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], float)

    assert check_psd(shared, ["ab", "bc", "abc"]).is_psd
    assert check_cauchy_schwarz(shared, ["ab", "bc", "abc"]).ratio == pytest.approx(2 / 3)
    X = np.array([[0.0], [2.0]])
    assert not check_psd(lambda A, B: -(A @ B.T), X).is_psd


@pytest.mark.parametrize("check", [check_psd, check_cauchy_schwarz])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1.0, 2.0, 0.0], [2.5, 1.0, 0.0], [0.0, 0.0, 1.0]],),
         r"K_or_kernel is not symmetric: row 0, column 1 is 2.0, row 1, column 0 is 2.5"),
        (([[1.0, np.nan], [0.0, 1.0]],), "K_or_kernel: row 0, column 1 is NaN"),
        (([[1.0, 0.0], [0.0, np.inf]],), "K_or_kernel: row 1, column 1 is infinity"),
        (([[1.0, 2.0]],), r"K_or_kernel must be a square matrix or a kernel, got shape \(1, 2\)"),
        (([["a"]],), "K_or_kernel has dtype"),
        ((RBF(),), "X must be samples where K_or_kernel is a kernel, got None"),
        (([[1.0]], [[1.0]]), "X is for kernels, K_or_kernel is none"),
        ((RBF(), [[0.0], [np.nan]]), "row 1, column 0 is NaN"),
        ((lambda A, B: A @ B.T, [[0.0], [np.nan]]), "X: row 1, column 0 is NaN"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_place(check, arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        check(*arguments)


@pytest.mark.parametrize("tol", [-1, np.nan, "x", [1.0]])
def test_a_bad_tolerance_is_refused(tol):
    with pytest.raises((TypeError, ValueError), match=r"^tol"):
        check_psd([[1.0]], tol=tol)


def test_both_are_names_of_the_package():
    assert {"check_psd", "check_cauchy_schwarz"} <= set(kcore.__all__)


@pytest.mark.parametrize("size", [1e-300, 1e200, 1.7e308])
def test_matrices_of_any_size_are_judged(size):
    assert check_psd(size * np.eye(3)).is_psd
    for conditional in (False, True):
        check = check_psd(size * np.array([[0.0, 1.0], [1.0, 0.0]]), conditional=conditional)
        assert not check.is_psd
        assert check.least_eigenvalue == pytest.approx(-size)
