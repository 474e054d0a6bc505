"""Python functions as kernels of a perceptron: asked for rows when mistakes need them."""

import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import assert_errors_come_out, assert_same_bits
from kcore.kernels import RBF
from kcore.perceptron import KernelPerceptron

pytestmark = pytest.mark.filterwarnings("ignore::kcore.exceptions.ConvergenceWarning")

KERNEL = RBF(0.4)


def function(A, B):
    return KERNEL(A, B)


class Counting:
    """A function that knows how many values it has returned, and on which threads."""

    def __init__(self):
        self.n_values = 0
        self.threads = set()

    def __call__(self, A, B):
        self.n_values += A.shape[0] * B.shape[0]
        self.threads.add(threading.get_ident())
        return KERNEL(A, B)


def separable(rng, n):
    """Two blobs far from each other."""
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    return rng.standard_normal((n, 4)) + 8 * y[:, None], y


def test_few_mistakes_ask_for_few_values_on_one_thread(rng):
    n = 500
    X, y = separable(rng, n)
    kernel = Counting()
    model = KernelPerceptron(kernel=kernel, n_jobs=2).fit(X, y)
    assert model.converged_
    assert model.cache_report_.rows_computed == len(model.support_) < 20
    assert kernel.n_values < n * n / 10
    assert kernel.threads == {threading.get_ident()}


@pytest.mark.parametrize("rule", ["single", "batch"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_function_learns_as_its_matrix_does(rule, form, n_classes, rng):
    X = form(rng.standard_normal((150, 4)))
    y = rng.integers(0, n_classes, 150)
    weights = rng.integers(0, 3, 150)
    for options in ({}, {"precision": "float32", "multi_class": "direct"}, {"shuffle": True}):
        options = {"rule": rule, "max_iter": 4, "random_state": 3, "warm_start": True, **options}
        for size in ("auto", 0.01, 0.004):
            given = KernelPerceptron(kernel="precomputed", **options)
            called = KernelPerceptron(kernel=function, cache_size=size, **options)
            for _ in range(2):  # the second fit goes on from the first
                called.fit(X, y, weights)
                given.fit(KERNEL(X), y, weights)
                assert called.mistakes_.tolist() == given.mistakes_.tolist()
                assert called.support_.tolist() == given.support_.tolist()
                assert_same_bits(called.criterion_, given.criterion_)
                assert_same_bits(called.dual_coef_, given.dual_coef_)
                assert_same_bits(called.intercept_, given.intercept_)
            if size != "auto":
                assert called.cache_report_.bytes_used <= size * 2**20
        called = KernelPerceptron(kernel=function, **options).fit(X, y, weights)
        built_in = KernelPerceptron(kernel=KERNEL, **options).fit(X, y, weights)
        assert called.mistakes_.tolist() == built_in.mistakes_.tolist()
        assert_same_bits(called.dual_coef_, built_in.dual_coef_)


def test_passes_of_several_calls_ask_a_function_too(monkeypatch, rng):
    X, y = rng.standard_normal((60, 4)), rng.integers(0, 2, 60)
    monkeypatch.setattr("kcore._online._MAX_PASSES", 2)
    given = KernelPerceptron(kernel="precomputed", max_iter=7, margin=0.5).fit(KERNEL(X), y)
    called = KernelPerceptron(kernel=function, max_iter=7, margin=0.5).fit(X, y)
    assert called.n_iter_ == 7
    assert called.mistakes_.tolist() == given.mistakes_.tolist()
    assert_same_bits(called.dual_coef_, given.dual_coef_)


def test_an_exception_of_a_function_comes_out_and_leaves_the_old_model(rng):
    X, y = rng.standard_normal((100, 4)), rng.integers(0, 2, 100)
    for rule in ("single", "batch"):
        model = KernelPerceptron(kernel=function, rule=rule).fit(X, y)
        # Seven questions are for the diagonal of 100 samples, then come rows.
        assert_errors_come_out(model, KERNEL, X, y, n_questions=8)


def test_an_interrupt_inside_of_a_function_ends_the_fit(rng):
    X, y = separable(rng, 100)
    model = KernelPerceptron(kernel=function).fit(X, y)
    before = model.dual_coef_

    def kernel(A, B):
        os.kill(os.getpid(), signal.SIGINT)
        return KERNEL(A, B)

    model.set_params(kernel=kernel)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.dual_coef_ is before


def test_a_time_limit_ends_a_fit_that_asks(rng):
    X, y = rng.standard_normal((400, 4)), rng.integers(0, 2, 400)
    model = KernelPerceptron(kernel=function, max_iter=10**6, margin=1e9, time_limit=0.2)
    model.fit(X, y)
    assert not model.converged_
    assert model.n_updates_ > 0


def test_answers_of_the_wrong_shape_or_that_are_not_finite_are_named(rng):
    X, y = separable(rng, 100)
    with pytest.raises(ValueError, match=r"returned shape \(16,\).*must return \(16, 16\)"):
        KernelPerceptron(kernel=lambda A, B: np.zeros(len(A))).fit(X, y)
    with pytest.raises(ValueError, match="returned nan for samples 7 and 0"):
        KernelPerceptron(
            kernel=lambda A, B: np.where(A[:, :1] == X[7, 0], np.nan, KERNEL(A, B))
        ).fit(X, y)


def test_partial_fit_refuses_a_function_without_asking_it(rng):
    X, y = separable(rng, 20)
    kernel = Counting()
    model = KernelPerceptron(kernel=kernel)
    with pytest.raises(ValueError, match="can be used with fit only"):
        model.partial_fit(X, y, classes=[0, 1])
    assert kernel.n_values == 0
    model.fit(X, y)
    before = model.dual_coef_
    with pytest.raises(ValueError, match="can be used with fit only"):
        model.partial_fit(X, y)
    assert model.dual_coef_ is before


def test_predictions_ask_a_function_in_pieces(monkeypatch, rng):
    X, y = separable(rng, 100)
    kernel = Counting()
    model = KernelPerceptron(kernel=kernel).fit(X, y)
    whole = model.decision_function(X)
    kernel.n_values = 0
    monkeypatch.setattr("kcore._kernelized._CHUNK_VALUES", 7 * len(model.support_))
    assert_same_bits(model.decision_function(X), whole)
    assert kernel.n_values == 100 * len(model.support_)


def test_a_function_predicts_where_all_samples_were_mistakes_in_another_order(rng):
    X = rng.standard_normal((20, 4))
    y = np.arange(20) % 2
    late = np.arange(20) >= 10
    models = [
        KernelPerceptron(kernel=kernel, margin=10.0, max_iter=1, warm_start=True)
        for kernel in (function, KERNEL)
    ]
    for model in models:
        model.fit(X, y, sample_weight=late.astype(float))
        model.fit(X, y)
        assert model.support_.tolist() == [*range(10, 20), *range(10)]
    called, plain = (model.decision_function(X) for model in models)
    np.testing.assert_allclose(called, plain, atol=1e-10)
