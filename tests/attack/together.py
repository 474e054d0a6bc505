"""Threads that share models, kernels and samples, and forks in the middle of their work.

Every thread does a list of calls in an order of its own and must get the bits that the calls give
one after the other; so must a child that is forked while they work, with threads of its own.
"""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import kcore
from families import Case, pick
from kcore import kernels
from processes import in_child

SECONDS = 90.0
SIMPLEST: Case = {
    "n_threads": 1, "n_calls": 4, "n": 20, "d": 2, "sparse": False, "n_jobs": 1, "n_forks": 0,
    "changes_threads": False, "seed": 0,
}  # fmt: skip


def draw(rng: np.random.Generator) -> Case:
    return {
        "n_threads": int(rng.integers(2, 6)),
        "n_calls": int(rng.integers(5, 30)),
        "n": int(rng.integers(20, 300)),
        "d": int(rng.integers(2, 40)),
        "sparse": bool(rng.random() < 0.4),
        "n_jobs": pick(rng, 1, 2, 3),
        "n_forks": pick(rng, 0, 1, 2),
        "changes_threads": bool(rng.random() < 0.3),
        "seed": int(rng.integers(2**31)),
    }


def works(case: Case) -> list[Callable[[], Any]]:
    """Return calls that share what they work on, and give the same bits each time."""
    rng = np.random.default_rng(case["seed"])
    dense = rng.standard_normal((case["n"], case["d"])) * (rng.random((case["n"], case["d"])) < 0.7)
    y = rng.integers(0, 3, case["n"])
    y[:3] = 0, 1, 2
    X: Any = sp.csr_array(dense) if case["sparse"] else dense
    jobs = case["n_jobs"]
    svc, svr = kcore.SVC(gamma=0.1, n_jobs=jobs).fit(X, y), kcore.SVR(n_jobs=jobs).fit(X, y)
    online = kcore.KernelPerceptron(gamma=0.2, max_iter=3, budget=20, n_jobs=jobs).fit(X, y)
    line = kcore.Perceptron(max_iter=3, average=True).fit(X, y)
    kernel = kernels.RBF(0.1) * kernels.Linear() + kernels.Laplacian(0.2)
    return [
        lambda: svc.decision_function(X),
        lambda: svc.predict(X[:1]),
        lambda: svr.predict(X),
        lambda: online.decision_function(X),
        lambda: line.decision_function(X),
        lambda: kernel(X, n_jobs=jobs),
        lambda: kernel.diag(X),
        lambda: kcore.SVC(kernel="linear", n_jobs=jobs).fit(X, y).dual_coef_,
        lambda: kcore.OneClassSVM(gamma=0.3).fit(X).decision_function(X),
        lambda: kcore.NuSVR(gamma=0.3, nu=0.4).fit(X, y).predict(X),
        lambda: kcore.Perceptron(max_iter=4).fit(X, y).coef_,
        lambda: copy.deepcopy(online).partial_fit(X, y).decision_function(X),
        lambda: pickle.loads(pickle.dumps(svc)).decision_function(X),
        lambda: pickle.loads(pickle.dumps(online)).decision_function(X),
        lambda: svc.support_vectors_[:1] @ np.ones(case["d"]),
    ]


def check(case: Case) -> str:
    warnings.simplefilter("ignore")
    expected = [bits(work()) for work in works(case)]
    shared = works(case)
    errors: list[BaseException] = []
    is_over = threading.Event()
    threads = [
        threading.Thread(target=_repeat, args=(case, k, shared, expected, errors))
        for k in range(case["n_threads"])
    ]
    if case["changes_threads"]:
        threads.append(threading.Thread(target=_change_threads, args=(is_over,)))
    for thread in threads:
        thread.start()
    try:
        for k in range(case["n_forks"]):
            in_child(lambda k=k: _is_right(shared, expected, k), seconds=40)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        kcore.set_num_threads(None)
    if errors:
        raise errors[0]
    return f"{case['n_forks']} forks" if case["n_forks"] else "threads alone"


def _repeat(
    case: Case,
    number: int,
    shared: list[Callable[[], Any]],
    expected: list[bytes],
    errors: list[BaseException],
) -> None:
    rng = np.random.default_rng([case["seed"], number])
    try:
        for k in rng.integers(0, len(shared), case["n_calls"]):
            assert bits(shared[k]()) == expected[k], f"call {k} gave other bits"
    except BaseException as error:
        errors.append(error)


def _change_threads(is_over: threading.Event) -> None:
    k = 0
    while not is_over.wait(0.001):
        k = k % 4 + 1
        kcore.set_num_threads(k)
        kcore.trim_memory()


def _is_right(shared: list[Callable[[], Any]], expected: list[bytes], first: int) -> bool:
    order = [*range(first, len(shared)), *range(first)]
    return all(bits(shared[k]()) == expected[k] for k in order)


def bits(value: Any) -> bytes:
    return np.ascontiguousarray(value.toarray() if sp.issparse(value) else value).tobytes()
