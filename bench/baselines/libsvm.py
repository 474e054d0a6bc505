"""libsvm through its own Python module: float64; OpenMP where it was built so.

Its lists of nodes are made beforehand, outside the timing. It has no predict for many rows at once,
so predictions are not timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from libsvm import svmutil

from audit import Solution
from baselines import Baseline
from problems import Problem

TASKS = {"svc": 0, "nu_svc": 1, "one_class": 2, "svr": 3, "nu_svr": 4}
KERNELS = {"linear": 0, "poly": 1, "rbf": 2}


@dataclass
class Data:
    problem: Any
    codes: np.ndarray  # labels as libsvm sees them, positions in `labels`
    labels: np.ndarray


class Libsvm(Baseline):
    name = "libsvm"

    def reason_against(self, problem: Problem, X: Any) -> str | None:
        return None

    def prepare(self, X: Any, y: np.ndarray) -> Data:
        if np.issubdtype(y.dtype, np.floating):
            labels, codes = np.empty(0), y.astype(np.float64)
        else:
            labels, codes = np.unique(y, return_inverse=True)
        samples = sp.csr_matrix(X) if sp.issparse(X) else np.ascontiguousarray(X, np.float64)
        return Data(svmutil.svm_problem(codes.astype(np.float64), samples), codes, labels)

    def fit(self, problem: Problem, data: Data, n_threads: int) -> tuple[Any, Problem]:
        text = (
            f"-q -s {TASKS[problem.task]} -t {KERNELS[problem.kernel]} -c {problem.C!r} "
            f"-g {problem.gamma!r} -d {problem.degree} -r {problem.coef0!r} -n {problem.nu!r} "
            f"-p {problem.epsilon!r} -e {problem.tol!r} -m {problem.cache_size!r}"
        )
        return svmutil.svm_train(data.problem, svmutil.svm_parameter(text)), problem

    def prepare_test(self, X: Any) -> Any:
        return None

    def solution(self, model: Any, data: Data) -> Solution:
        fitted, problem = model
        n_sv = fitted.get_nr_sv()
        is_classifier = problem.task in ("svc", "nu_svc")
        n_classes = fitted.nr_class if is_classifier else 2
        n_pairs = n_classes * (n_classes - 1) // 2
        return Solution(
            support=np.array(fitted.sv_indices[:n_sv], dtype=np.int64) - 1,
            coef=np.array([fitted.sv_coef[k][:n_sv] for k in range(n_classes - 1)]),
            intercept=-np.array(fitted.rho[:n_pairs]),
            classes=data.labels[fitted.label[:n_classes]] if is_classifier else None,
            n_support=np.array(fitted.nSV[:n_classes]) if is_classifier else None,
        )


VARIANTS = [Libsvm()]
