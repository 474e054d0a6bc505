"""KernelPCA and EmpiricalKernelMap against their definitions, and against scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_same_bits
from kcore import EmpiricalKernelMap, KernelPCA
from kcore.exceptions import ConvergenceWarning, IndefiniteKernelWarning
from kcore.kernels import RBF, Delta, Laplacian, Linear, Polynomial, Sigmoid


def centred(K):
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1)[:, None]


def distances(X):
    return -np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))


@pytest.fixture(name="X")
def samples(rng):
    return rng.standard_normal((90, 4))


@pytest.fixture(name="Z")
def new_samples(rng):
    return rng.standard_normal((30, 4))


# ---- The empirical map


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(2), Linear(), Laplacian(0.5) + Linear()])
def test_products_of_the_empirical_map_are_kernel_values(kernel, X, Z):
    model = EmpiricalKernelMap(kernel).fit(X)
    K = kernel(X)
    bound = 1e-12 * np.abs(np.linalg.eigvalsh(K)).max() * len(X)
    assert abs(model.transform(X) @ model.transform(X).T - K).max() <= bound
    # The map of any sample is its projection: products with those of the fit are exact.
    assert abs(model.transform(Z) @ model.transform(X).T - kernel(Z, X)).max() <= 1e-6 * K.max()
    np.testing.assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-6)
    assert model.rank_ == np.linalg.matrix_rank(K, hermitian=True)
    assert model.transform(Z).shape == (30, model.rank_)


def test_the_rank_is_cut_where_tol_says(X):
    values = np.linalg.eigvalsh(RBF(0.3)(X))
    for tol in (0.5, 1e-1, 1e-2):
        model = EmpiricalKernelMap(RBF(0.3), tol=tol).fit(X)
        assert model.rank_ == (values > tol * values.max()).sum()
        np.testing.assert_allclose(model.eigenvalues_, values[::-1][: model.rank_])


def test_an_indefinite_kernel_is_named_and_its_positive_part_mapped(X):
    K = Sigmoid(1.0, -0.5)(X)
    with pytest.warns(IndefiniteKernelWarning, match="EmpiricalKernelMap.*Sigmoid.*left out"):
        model = EmpiricalKernelMap(Sigmoid(1.0, -0.5)).fit(X)
    values, vectors = np.linalg.eigh(K)
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    assert values.min() < -0.1
    P = model.transform(X)
    np.testing.assert_allclose(P @ P.T, positive, atol=1e-9)


# ---- Principal components


@pytest.mark.parametrize("solver", ["dense", "iterative"])
@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(2), Laplacian(0.2)])
def test_components_are_eigenpairs_of_the_centred_matrix(kernel, solver, X):
    model = KernelPCA(5, kernel=kernel, eigen_solver=solver, tol=1e-9, random_state=0).fit(X)
    K = centred(kernel(X))
    V, values = model.eigenvectors_, model.eigenvalues_
    np.testing.assert_allclose(values, np.linalg.eigvalsh(K)[::-1][:5], rtol=1e-8)
    assert np.linalg.norm(K @ V - V * values, axis=0).max() <= 1e-8 * values[0]
    np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-6)
    assert (model.residuals_ is None) == (solver == "dense")


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("solver", ["dense", "iterative"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_components_are_those_of_scikit_learn(name, solver, form, X, Z):
    theirs = sklearn.decomposition.KernelPCA(3, kernel=name, gamma=0.1).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        ours = KernelPCA(3, kernel=name, gamma=0.1, eigen_solver=solver, tol=0, random_state=1)
        ours.fit(form(X))
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(ours.transform(form(Z)), theirs.transform(Z), atol=1e-6)


def test_gamma_is_that_of_scikit_learn_by_default(X, Z):
    theirs = sklearn.decomposition.KernelPCA(2, kernel="rbf").fit(X)
    np.testing.assert_allclose(
        KernelPCA(2, kernel="rbf").fit(X).transform(Z), theirs.transform(Z), atol=1e-9
    )


def test_without_a_number_all_components_that_are_not_zero_are_there(X):
    model = KernelPCA().fit(X)
    assert model.fit_transform(X).shape == (90, 4)
    padded = KernelPCA(7).fit(X)
    assert (padded.eigenvalues_[4:] == 0).all()
    assert (padded.transform(X)[:, 4:] == 0).all()
    assert KernelPCA(7, remove_zero_eig=True).fit(X).eigenvalues_.shape == (4,)


@pytest.mark.parametrize("solver", ["dense", "iterative"])
def test_kernels_come_as_names_objects_functions_and_matrices(solver, X, Z):
    options = {"n_components": 3, "eigen_solver": solver, "tol": 1e-9, "random_state": 0}
    named = KernelPCA(kernel="rbf", gamma=0.3, **options).fit(X).transform(Z)
    for kernel, fit, new in [
        (RBF(0.3), X, Z),
        (lambda A, B: RBF(0.3)(A, B), X, Z),
        ("precomputed", RBF(0.3)(X), RBF(0.3)(Z, X)),
    ]:
        model = KernelPCA(kernel=kernel, **options).fit(fit)
        np.testing.assert_allclose(model.transform(new), named, atol=1e-8)


def test_a_conditional_kernel_is_taken_without_a_warning(X, Z):
    K = distances(X)  # minus distances: conditionally positive
    model = KernelPCA(4, kernel="precomputed").fit(K)
    np.testing.assert_allclose(
        model.eigenvalues_, np.linalg.eigvalsh(centred(K))[::-1][:4], rtol=1e-10
    )
    assert KernelPCA._takes_conditional
    assert not EmpiricalKernelMap._takes_conditional


def test_an_indefinite_kernel_is_named(X):
    with pytest.warns(IndefiniteKernelWarning, match=r"KernelPCA: the kernel 'sigmoid'"):
        KernelPCA(2, kernel="sigmoid").fit(X)


def test_strings_and_tables_have_components():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 5.0], "b": ["x", "y", "x", "z"]})
    kernel = RBF(0.1).on("a") + Delta().on("b")
    model = KernelPCA(2, kernel=kernel).fit(frame)
    K = centred(kernel(frame))
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(K)[::-1][:2])
    np.testing.assert_allclose(model.transform(frame), model.fit_transform(frame), atol=1e-12)
    words = ["a", "b", "a", "c", "c", "c"]
    P = EmpiricalKernelMap(Delta()).fit(words).transform(words)
    np.testing.assert_allclose(P @ P.T, Delta()(words), atol=1e-12)


# ---- The iterative solver


@pytest.mark.parametrize("precision", ["auto", "float32", "float64"])
@pytest.mark.parametrize("d", [3, 40])
def test_the_iterative_solver_meets_its_tolerance_in_float64(precision, d, rng):
    X = rng.standard_normal((1100, d))
    model = KernelPCA(8, kernel=RBF(1 / d), precision=precision, random_state=0).fit(X)
    K = centred(RBF(1 / d)(X))
    V, values = model.eigenvectors_, model.eigenvalues_
    rest = np.linalg.norm(K @ V - V * values, axis=0)
    assert rest.max() <= 1e-6 * values[0]
    np.testing.assert_allclose(model.residuals_, rest, atol=1e-9 * values[0])
    np.testing.assert_allclose(values, np.linalg.eigvalsh(K)[::-1][:8], rtol=1e-5)
    assert model.precision_ == ("float64" if precision == "float64" else "float32")


def test_where_float32_is_not_enough_float64_goes_on(rng):
    X = rng.standard_normal((700, 3)) + 1000.0
    model = KernelPCA(3, kernel=RBF(0.1), tol=1e-10, random_state=0).fit(X)
    assert model.precision_ == "mixed"
    K = centred(RBF(0.1)(X))
    rest = np.linalg.norm(
        K @ model.eigenvectors_ - model.eigenvectors_ * model.eigenvalues_, axis=0
    )
    assert rest.max() <= 1.1e-10 * model.eigenvalues_[0]


def test_values_beyond_float32_are_computed_in_float64(rng):
    X = rng.standard_normal((700, 3))
    for scaled, kernel in [(1e14 * X, Linear()), (1e9 * X, Polynomial(5, coef0=0))]:
        model = KernelPCA(2, kernel=kernel, random_state=0).fit(scaled)
        assert model.precision_ == "float64"
        expected = np.linalg.eigvalsh(centred(kernel(scaled)))[::-1][:2]
        np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-6)


def test_a_solver_that_stops_early_says_so(rng):
    X = rng.standard_normal((900, 30))
    with pytest.warns(ConvergenceWarning, match="largest residual is .*tol 1e-12"):
        KernelPCA(5, kernel="rbf", max_iter=2, tol=1e-12, random_state=0).fit(X)


def test_results_do_not_depend_on_threads_and_come_again(rng):
    X = rng.standard_normal((700, 6))
    fits = [
        KernelPCA(4, kernel="rbf", random_state=3, n_jobs=n).fit(X).eigenvectors_ for n in (1, 2, 2)
    ]
    assert_same_bits(fits[0], fits[1])
    assert_same_bits(fits[1], fits[2])


@given(st.integers(2, 40), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_components_of_any_samples_are_uncorrelated_and_of_falling_variance(n, k, seed):
    X = np.random.default_rng(seed).integers(-3, 4, (n, 3)).astype(float)
    k = min(k, n)
    for solver in ("dense", "iterative"):
        T = KernelPCA(
            k, kernel=RBF(0.5), eigen_solver=solver, tol=1e-8, random_state=0
        ).fit_transform(X)
        variance = T.T @ T
        assert abs(T.sum(axis=0)).max() <= 1e-5 * n
        assert abs(variance - np.diag(np.diag(variance))).max() <= 1e-6 * n
        assert (np.diff(np.diag(variance)) <= 1e-6 * n).all()


# ---- Back to samples


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_samples_come_back_as_from_scikit_learn(kernel, X, Z):
    options = {"kernel": kernel, "gamma": 0.2, "fit_inverse_transform": True, "alpha": 0.01}
    theirs = sklearn.decomposition.KernelPCA(3, **options).fit(X)
    ours = KernelPCA(3, **options).fit(X)
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(Z)),
        theirs.inverse_transform(theirs.transform(Z)),
        atol=1e-8,
    )
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-8)


def test_what_cannot_come_back_is_refused(X):
    with pytest.raises(ValueError, match="needs a fit with fit_inverse_transform"):
        KernelPCA(2).fit(X).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="needs a kernel of rows of numbers"):
        KernelPCA(2, kernel="precomputed", fit_inverse_transform=True).fit(X @ X.T)
    model = KernelPCA(2, fit_inverse_transform=True).fit(X)
    with pytest.raises(ValueError, match="X has 3 columns, the fit has 2 components"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="row 0, column 1 is NaN"):
        model.inverse_transform([[0.0, np.nan]])


# ---- Bad input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
        ({"n_components": 2.5}, "n_components must be an integer, got 2.5"),
        ({"eigen_solver": "lapack"}, "eigen_solver must be one of .*got 'lapack'"),
        ({"tol": -1.0}, r"tol must be in \[0, 1\), got -1.0"),
        ({"max_iter": 0}, "max_iter must be at least 1 or None, got 0"),
        ({"precision": "half"}, "precision must be one of .*got 'half'"),
        ({"random_state": "x"}, "random_state must be .*got 'x'"),
        ({"gamma": -1.0, "kernel": "rbf"}, "gamma must be .*got -1.0"),
        ({"kernel": "cubic"}, "kernel must be one of .*got 'cubic'"),
        ({"alpha": -1.0, "fit_inverse_transform": True}, "alpha must be .*got -1.0"),
    ],
)
def test_bad_parameters_are_refused_by_name_and_value(options, words, X):
    model = KernelPCA(2).fit(X)
    before = model._fitted
    with pytest.raises((TypeError, ValueError), match=words):
        model.set_params(**options).fit(X)
    assert model._fitted is before


def test_more_components_than_samples_are_cut_with_a_warning(X):
    with pytest.warns(UserWarning, match="n_components=100 is more than the 90 samples"):
        model = KernelPCA(100).fit(X)
    assert model.eigenvalues_.shape == (90,)


@pytest.mark.parametrize("cls", [KernelPCA, EmpiricalKernelMap])
def test_a_matrix_that_is_not_symmetric_is_refused_by_place(cls, X):
    K = RBF(0.3)(X)
    K[3, 7] += 0.5
    with pytest.raises(ValueError, match=r"X is not symmetric: row 3, column 7 is .*row 7, column"):
        cls(kernel="precomputed").fit(K)


@pytest.mark.parametrize("cls", [KernelPCA, EmpiricalKernelMap])
def test_nan_is_named_by_row_and_column(cls, rng):
    X = rng.standard_normal((600, 5))
    bad = X.copy()
    bad[555, 3] = np.nan
    for form in (np.asarray, sp.csr_array):
        with pytest.raises(ValueError, match="X: row 555, column 3 is NaN"):
            cls(kernel="rbf").fit(form(bad))
    model = cls(kernel=RBF(0.1)).fit(X[:200])
    with pytest.raises(ValueError, match="X: row 555, column 3 is NaN"):
        model.transform(bad)


def test_names_of_columns_are_numbered(X):
    assert KernelPCA(2).fit(X).get_feature_names_out().tolist() == ["kernelpca0", "kernelpca1"]
    frame = KernelPCA(2).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == ["kernelpca0", "kernelpca1"]
