"""A child process computes, whatever its parent was doing."""

import multiprocessing
import os
import threading
import warnings

import numpy as np
import pytest

import kcore
from conftest import assert_same_bits
from kcore import KernelPerceptron, _core
from kcore._rules import Samples
from kcore.kernels import RBF, Laplacian
from processes import in_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

KERNEL = RBF(0.05)


def samples(n=600, d=40):
    return np.random.default_rng(3).standard_normal((n, d))


def compute(kernel, n_jobs):
    return kernel(samples(), n_jobs=n_jobs)


@pytest.fixture
def expected():
    """The result, after the pool of this process has been used."""
    return compute(KERNEL, 2)


def test_a_child_computes_the_same_with_threads_of_its_own(expected):
    in_child(lambda: all((compute(KERNEL, n) == expected).all() for n in (1, 2, 4, None)))
    assert_same_bits(compute(KERNEL, 2), expected)


def test_many_children_and_a_grandchild_compute(expected):
    for _ in range(20):
        in_child(lambda: (compute(KERNEL, 2) == expected).all())

    def grandchild():
        in_child(lambda: (compute(KERNEL, 2) == expected).all())
        return (compute(KERNEL, 2) == expected).all()

    in_child(grandchild)


def test_a_child_may_drop_the_kernels_of_its_parent(expected):
    kernels = [RBF(0.1 * k) for k in range(20)]
    for kernel in kernels:
        kernel(samples(10))

    def check():
        kernels.clear()
        return (RBF(0.05)(samples(), n_jobs=2) == expected).all()

    in_child(check)


def test_a_child_keeps_the_number_of_threads():
    default = kcore.get_num_threads()
    kcore.set_num_threads(3)
    try:
        in_child(lambda: kcore.get_num_threads() == 3)
    finally:
        kcore.set_num_threads(None)
    in_child(lambda: kcore.get_num_threads() == default)


def test_a_child_starts_with_no_memory_held(expected):
    in_child(lambda: _core.memory()[0] == 0)
    assert _core.memory()[1] > 0


def test_a_child_of_a_process_in_the_middle_of_a_call_computes(expected):
    X = samples(1500, 500)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            Laplacian(0.01)(X, n_jobs=2)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(10):
            in_child(lambda: (compute(KERNEL, 2) == expected).all())
    finally:
        stop.set()
        for worker in workers:
            worker.join()


def learner(n=400):
    X = samples(n)
    y = (X[:, 0] > 0).astype(int)
    return KernelPerceptron(kernel=KERNEL).partial_fit(X, y, classes=[0, 1]), X, y


def test_a_child_uses_a_learner_that_another_thread_was_reading():
    model, X, _ = learner()
    expected = model.decision_function(X)
    many = np.tile(X, (1000, 1))
    stop = threading.Event()

    def read():
        while not stop.is_set():
            model.decision_function(many)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(5):
            in_child(lambda: (model.decision_function(X) == expected).all(), seconds=40)
    finally:
        stop.set()
        reader.join()


def test_a_child_refuses_a_learner_that_another_thread_was_changing():
    model, X, y = learner()
    expected = KernelPerceptron(kernel=KERNEL).fit(X, y).decision_function(X)
    many, codes = np.tile(X, (500, 1)), np.tile(1 - y, 500).astype(np.int32)
    is_learning, may_go_on = threading.Event(), threading.Event()

    def wait(*progress):
        is_learning.set()
        may_go_on.wait(40)

    def learn():  # in place, as a single sample would be learnt from
        data, run = Samples(many, codes, 2, None), _core.Run(1, 0.0, wait)
        model._fitted.learner.learn(data, -1, model._settings(), np.ones(1), run, None)

    def is_refused():
        for use in (lambda: model.predict(X), lambda: model.partial_fit(X[:1], y[:1])):
            with pytest.raises(RuntimeError, match="half changed: fit again"):
                use()
        return (model.fit(X, y).decision_function(X) == expected).all()

    teacher = threading.Thread(target=learn)
    teacher.start()
    try:
        assert is_learning.wait(40)
        in_child(is_refused, seconds=40)
    finally:
        may_go_on.set()
        teacher.join()
    in_child(lambda: len(model.predict(X)) == len(X))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes_compute(method, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(method).Pool(2) as pool:
            for result in pool.starmap(compute, [(KERNEL, 1), (KERNEL, 2), (KERNEL, None)]):
                assert_same_bits(result, expected)
