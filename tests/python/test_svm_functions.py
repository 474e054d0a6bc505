"""Python functions as kernels: asked for rows when they are needed, and no more."""

import copy
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import MACHINES, assert_errors_come_out, assert_same_bits
from kcore import SVC, SVR, KernelPerceptron, NuSVC, NuSVR, OneClassSVM
from kcore.kernels import Polynomial


@pytest.fixture
def data(rng):
    X = rng.standard_normal((80, 4))
    return X, (X[:, 0] + 0.5 * rng.standard_normal(80) > 0).astype(int), X[:, 1] ** 2


def gaussian(A, B):
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.exp(-0.25 * np.maximum(squares, 0))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_function_may_be_a_kernel(machine, form, data):
    X, y, t = data

    def kernel(A, B):
        product = A @ B.T
        return (product.toarray() if sp.issparse(product) else product) + 1.0

    target = y if "SVC" in machine.__name__ else t
    model = machine(kernel=kernel, tol=1e-6).fit(form(X), target)
    same = machine(kernel=Polynomial(1, 1.0, 1.0), tol=1e-6).fit(X, target)
    np.testing.assert_allclose(model.predict(form(X[:9])), same.predict(X[:9]), atol=1e-3)
    again = pickle.loads(pickle.dumps(model.set_params(kernel=gaussian))).set_params(kernel=kernel)
    assert_same_bits(again.predict(form(X)), model.set_params(kernel=kernel).predict(form(X)))
    np.testing.assert_array_equal(
        model.support_vectors_.toarray() if form is sp.csr_array else model.support_vectors_,
        X[model.support_],
    )


@pytest.mark.parametrize("n", [300, 3000])
def test_a_function_is_asked_for_few_rows_and_on_one_thread(n, rng):
    X = rng.standard_normal((n, 4))
    y = (X[:, 0] + 0.1 * rng.standard_normal(n) > 0).astype(int)
    asked = []

    def kernel(A, B):
        asked.append((A.shape[0] * B.shape[0], threading.get_ident()))
        return gaussian(A, B)

    model = SVC(kernel=kernel, n_jobs=2).fit(X, y)
    same = SVC(gamma=0.25, precision="float64").fit(X, y)
    report = model.fit_report_
    n_values = sum(values for values, _ in asked)
    assert n_values == report.values_computed < n * n / 2
    assert {thread for _, thread in asked} == {threading.get_ident()}
    assert report.rows_evicted == 0
    assert report.violation < report.tol
    assert report.dual == pytest.approx(same.fit_report_.dual, rel=1e-4)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("machine", MACHINES)
def test_rows_of_a_function_are_kept_within_the_cache(machine, rng):
    X = rng.standard_normal((600, 4))
    y = (X[:, 0] > 0).astype(int)
    small = machine(kernel=gaussian, cache_size=0.02, tol=1e-5).fit(X, y)  # four rows
    large = machine(kernel=gaussian, tol=1e-5).fit(X, y)
    assert small.fit_report_.cache_bytes_used <= 0.02 * 2**20
    assert small.fit_report_.values_computed > large.fit_report_.values_computed
    np.testing.assert_allclose(small.predict(X), large.predict(X), atol=1e-4)


def test_a_function_serves_several_classes_weights_and_float32(rng):
    X = rng.standard_normal((200, 4))
    y = np.argmax(X[:, :3], axis=1)
    weights = rng.integers(0, 3, 200)
    for options in ({}, {"multi_class": "ovr"}, {"precision": "float32"}):
        model = SVC(kernel=gaussian, tol=1e-4, **options).fit(X, y, sample_weight=weights)
        same = SVC(gamma=0.25, tol=1e-4, **options).fit(X, y, sample_weight=weights)
        assert (model.predict(X) == same.predict(X)).mean() > 0.99
        assert model.fit_report_.precision == options.get("precision", "float64")
        assert weights[model.support_].all()


def test_predictions_ask_a_function_in_pieces(rng, monkeypatch):
    X = rng.standard_normal((100, 4))
    y = (X[:, 0] > 0).astype(int)
    pieces = []

    def kernel(A, B):
        pieces.append(A.shape[0])
        return np.where(A[:, :1] == bad, np.nan, gaussian(A, B))

    bad = np.inf
    model = SVC(kernel=kernel).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr("kcore._kernelized._CHUNK_VALUES", 7 * len(model.support_))
    pieces.clear()
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)
    assert pieces == [7] * 14 + [2]
    bad = X[16, 0]
    with pytest.raises(ValueError, match="returned nan for row 16 of its first argument and row 0"):
        model.predict(X)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_function_predicts_where_all_samples_are_support_vectors(machine, rng):
    X = rng.standard_normal((30, 4))
    y = np.arange(30) % 2  # samples of a class are not side by side
    options = {
        SVC: {"C": 0.01},
        NuSVC: {"nu": 1.0},
        SVR: {"epsilon": 0.0},
        NuSVR: {"nu": 1.0, "C": 0.01},
        OneClassSVM: {"nu": 1.0},
    }[machine]
    model = machine(kernel=gaussian, **options).fit(X, y)
    same = machine(gamma=0.25, precision="float64", **options).fit(X, y)
    assert len(model.support_) == 30
    decide = "decision_function" if hasattr(model, "decision_function") else "predict"
    np.testing.assert_allclose(getattr(model, decide)(X), getattr(same, decide)(X), atol=2e-3)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n", [1, 9])
def test_a_model_without_support_vectors_asks_nothing_and_predicts(form, n, data):
    X, _, t = data
    asked = []

    def kernel(A, B):
        asked.append(A.shape)
        return gaussian(*(C.toarray() if sp.issparse(C) else C for C in (A, B)))

    model = SVR(kernel=kernel, epsilon=100.0).fit(form(X), t)
    assert len(model.support_) == 0
    asked.clear()
    assert model.predict(form(X[:n])).tolist() == [model.intercept_[0]] * n
    assert asked == []


def test_a_function_must_return_a_matrix_of_the_right_shape(data):
    X, y, _ = data
    with pytest.raises(ValueError, match=r"returned shape \(16,\).*must return \(16, 16\)"):
        SVC(kernel=lambda A, B: np.zeros(len(A))).fit(X, y)
    with pytest.raises(ValueError, match="returned nan for samples 7 and 7"):
        SVC(
            kernel=lambda A, B: np.where((A[:, :1] == X[7, 0]) & (B[:, 0] == X[7, 0]), np.nan, 1.0)
        ).fit(X, y)


def test_an_exception_of_a_function_comes_out_and_changes_nothing(data):
    X, y, _ = data
    model = SVC(kernel=gaussian).fit(X, y)
    assert_errors_come_out(model, gaussian, X, y, n_questions=30)


@pytest.mark.parametrize("machine", [*MACHINES, KernelPerceptron])
def test_predictions_are_those_of_the_function_that_was_fitted(machine, data):
    X, y, t = data
    is_classifier = machine in (SVC, NuSVC, KernelPerceptron)
    model = machine(kernel=gaussian).fit(X, y if is_classifier else t)
    before = model.predict(X)
    for other in (lambda A, B: 0 * (A @ B.T), "rbf", Polynomial(1, 1.0, 1.0)):
        model.set_params(kernel=other)
        assert_same_bits(model.predict(X), before)
        assert_same_bits(copy.copy(model).predict(X), before)
    model.set_params(kernel="rbf")
    assert_same_bits(pickle.loads(pickle.dumps(model)).predict(X), before)
    assert_same_bits(copy.deepcopy(model).predict(X), before)
