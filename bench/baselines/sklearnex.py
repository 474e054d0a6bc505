"""scikit-learn-intelex (oneDAL), in float32 and float64.

It is given sparse samples as they are, and where they are not too wide also as a dense array, which
it is often faster on. What it would silently hand to scikit-learn is refused here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearnex import svm

from baselines import Estimators
from problems import Problem

CLASSES = {"svc": svm.SVC, "nu_svc": svm.NuSVC, "svr": svm.SVR, "nu_svr": svm.NuSVR}

DENSE_COLUMNS = 1000


class Dense(Estimators):
    """The same on sparse samples, made dense."""

    def reason_against(self, problem: Problem, X: Any) -> str | None:
        if not sp.issparse(X):
            return "samples are dense already"
        if X.shape[1] > DENSE_COLUMNS:
            return f"more than {DENSE_COLUMNS} columns"
        return super().reason_against(problem, X)

    def prepare_test(self, X: Any) -> Any:
        return np.ascontiguousarray(X.toarray(), self.dtype)


VARIANTS = [
    Estimators("sklearnex f32", CLASSES, np.float32),
    Estimators("sklearnex f64", CLASSES, np.float64),
    Dense("sklearnex f32 dense", CLASSES, np.float32),
    Dense("sklearnex f64 dense", CLASSES, np.float64),
]
