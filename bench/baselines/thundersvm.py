"""ThunderSVM on the CPU; float32 inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import thundersvm

from audit import Solution
from baselines import Estimators
from problems import Problem

CLASSES = {
    "svc": thundersvm.SVC,
    "nu_svc": thundersvm.NuSVC,
    "svr": thundersvm.SVR,
    "nu_svr": thundersvm.NuSVR,
    "one_class": thundersvm.OneClassSVM,
}


class ThunderSVM(Estimators):
    def parameters(self, problem: Problem, n_threads: int) -> dict[str, Any]:
        found = super().parameters(problem, n_threads)
        found["max_mem_size"] = int(problem.cache_size)
        del found["cache_size"]
        return found

    def solution(self, model: Any, data: Any) -> Solution:
        """Its classes come in the order of their first samples, its intercepts with libsvm's sign.

        It has no ``classes_``; the support vectors are sorted by class nevertheless.
        """
        _, y = data
        is_classifier = isinstance(model, (thundersvm.SVC, thundersvm.NuSVC))
        _, first = np.unique(y, return_index=True)
        return Solution(
            support=np.asarray(model.support_, dtype=np.int64),
            coef=np.atleast_2d(np.asarray(model.dual_coef_, dtype=np.float64)),
            intercept=-np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)),
            classes=y[np.sort(first)] if is_classifier else None,
            n_support=np.asarray(model.n_support_) if is_classifier else None,
        )


VARIANTS = [ThunderSVM("thundersvm", CLASSES, np.float64)]
