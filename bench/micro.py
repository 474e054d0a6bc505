"""The two prices that a fit is made of, for kcore and for libsvm: one kernel value, one pair step.

libsvm does not tell them, so they are found from outside. A kernel value: one prediction, divided
by the number of support vectors. A pair step: a fit on a precomputed matrix that fits the cache,
divided by the number of steps and of samples.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import datasets
from kcore.kernels import RBF
from kcore.svm import SVC
from timing import interleave

N_STEP = 1000


def kernel_value(d: int, seconds: float = 0.3) -> dict[str, float]:
    """Return nanoseconds of one RBF value of d features, one thread."""
    X = datasets.gaussian(384, d)
    Z = datasets.gaussian(4096, d, seed=1)
    contenders: dict[str, Callable[[], Any]] = {}
    counts = {}
    for name, dtype in (("kcore f32", np.float32), ("kcore f64", np.float64)):
        contenders[name] = gram_call(X.astype(dtype), Z.astype(dtype), RBF(gamma=1 / d))
        counts[name] = X.shape[0] * Z.shape[0]
    with suppress(ImportError):
        contenders["libsvm"], counts["libsvm"] = libsvm_predict(d)
    with threadpool_limits(limits=1):
        times = interleave(contenders, seconds=seconds)
    return {name: 1e9 * times[name].best(1) / counts[name] for name in contenders}


def gram_call(X: np.ndarray, Z: np.ndarray, kernel: RBF) -> Callable[[], Any]:
    out = np.empty((X.shape[0], Z.shape[0]), X.dtype)
    return lambda: kernel(X, Z, out=out, n_jobs=1)


def libsvm_predict(d: int) -> tuple[Callable[[], Any], int]:
    """Return a call that predicts rows one by one, and the kernel values that it computes."""
    from libsvm import svm, svmutil

    X, y = datasets.synthetic(1000, d)
    text = f"-q -t 2 -g {1 / d!r} -c 1 -m 200"
    model = svmutil.svm_train(svmutil.svm_problem(y.astype(float), X), svmutil.svm_parameter(text))
    nodes = [svm.gen_svm_nodearray(row)[0] for row in X[:20]]
    value = (svm.c_double * 1)()

    def call() -> None:
        for node in nodes:
            svm.libsvm.svm_predict_values(model, node, value)

    return call, model.get_nr_sv() * len(nodes)


def pair_step(seconds: float = 0.5) -> dict[str, float]:
    """Return nanoseconds of one pair step for each of its variables, one thread."""
    X, y = datasets.synthetic(N_STEP, 20)
    K = RBF(gamma=1 / 20)(X)
    contenders: dict[str, Callable[[], Any]] = {}
    steps = {}
    for name, dtype in (("kcore f32", np.float32), ("kcore f64", np.float64)):
        contenders[name] = given_call(K.astype(dtype), y)
        steps[name] = int(np.sum(contenders[name]().n_iter_))
    with suppress(ImportError):
        contenders["libsvm"], steps["libsvm"] = libsvm_given(K, y)
    with threadpool_limits(limits=1):
        times = interleave(contenders, seconds=seconds)
    return {name: 1e9 * times[name].best(1) / (steps[name] * N_STEP) for name in contenders}


def given_call(K: np.ndarray, y: np.ndarray) -> Callable[[], Any]:
    return lambda: SVC(C=100.0, kernel="precomputed", shrinking=False, n_jobs=1).fit(K, y)


def libsvm_given(K: np.ndarray, y: np.ndarray) -> tuple[Callable[[], Any], int]:
    """Return a call that fits libsvm on K, and the steps that it takes."""
    from libsvm import svmutil

    numbered = np.column_stack([np.arange(1, len(K) + 1), K])
    problem = svmutil.svm_problem(y.astype(float), numbered, isKernel=True)
    parameter = svmutil.svm_parameter("-t 4 -c 100 -m 1000 -h 0")
    said: list[str] = []
    parameter.print_func = svmutil.PRINT_STRING_FUN(lambda text: said.append(text.decode()))
    svmutil.svm_train(problem, parameter)
    found = re.search(r"#iter = (\d+)", "".join(said))
    quiet = svmutil.svm_parameter("-q -t 4 -c 100 -m 1000 -h 0")
    assert found is not None
    return lambda: svmutil.svm_train(problem, quiet), int(found[1])
