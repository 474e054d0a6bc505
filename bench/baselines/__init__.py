"""Libraries that train support vector machines, behind one interface.

Each module has ``VARIANTS``, a list of `Baseline`; importing it fails with ImportError where the
library is not installed. A baseline takes samples in float64 and labels, brings them into the form
its library takes (`prepare`, not timed), fits and predicts (timed), and tells its solution in the
layout of `audit.Solution`.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from audit import Solution
from problems import Problem

LIBRARIES = ["kcore", "sklearn", "sklearnex", "libsvm", "thundersvm"]

# So slow that they have a part of their own, at the end.
SLOW = ["thundersvm"]


class Baseline:
    """One library at one precision."""

    name: str

    def reason_against(self, problem: Problem, X: Any) -> str | None:
        """Return why this library cannot solve the problem, or None."""
        raise NotImplementedError

    def n_threads(self, wanted: int) -> int:
        """Return the threads that a fit asked to use `wanted` really uses."""
        return wanted

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        raise NotImplementedError

    def fit(self, problem: Problem, data: Any, n_threads: int) -> Any:
        raise NotImplementedError

    def prepare_test(self, X: Any) -> Any:
        raise NotImplementedError

    def predict(self, model: Any, X: Any) -> np.ndarray:
        raise NotImplementedError

    def solution(self, model: Any, data: Any) -> Solution:
        raise NotImplementedError


class Estimators(Baseline):
    """A library with scikit-learn's estimators, on samples of one dtype."""

    def __init__(
        self, name: str, classes: dict[str, type], dtype: type, extra: dict[str, Any] | None = None
    ) -> None:
        self.name = name
        self.classes = classes
        self.dtype = dtype
        self.extra = extra or {}

    def reason_against(self, problem: Problem, X: Any) -> str | None:
        return None if problem.task in self.classes else f"has no {problem.task}"

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        return self.prepare_test(X), y

    def prepare_test(self, X: Any) -> Any:
        return X.astype(self.dtype) if sp.issparse(X) else np.ascontiguousarray(X, self.dtype)

    def threads_parameter(self, n_threads: int) -> dict[str, Any]:
        """Return the parameter by which an estimator is told its threads."""
        return {"n_jobs": n_threads}

    def parameters(self, problem: Problem, n_threads: int) -> dict[str, Any]:
        found = {
            "kernel": problem.kernel,
            "tol": problem.tol,
            "cache_size": problem.cache_size,
            "gamma": problem.gamma,
            "degree": problem.degree,
            "coef0": problem.coef0,
            **self.extra,
            **self.threads_parameter(n_threads),
        }
        for name in {
            "svc": ["C"],
            "nu_svc": ["nu"],
            "svr": ["C", "epsilon"],
            "nu_svr": ["C", "nu"],
            "one_class": ["nu"],
        }[problem.task]:
            found[name] = getattr(problem, name)
        return found

    def fit(self, problem: Problem, data: Any, n_threads: int) -> Any:
        X, y = data
        model = self.classes[problem.task](**self.parameters(problem, n_threads))
        model.fit(X, None if problem.task == "one_class" else y)
        return model  # not what fit returned: not every library keeps that convention

    def predict(self, model: Any, X: Any) -> np.ndarray:
        return model.predict(X)

    def solution(self, model: Any, data: Any) -> Solution:
        coef = model.dual_coef_
        coef = np.asarray(coef.toarray() if sp.issparse(coef) else coef, dtype=np.float64)
        intercept = np.asarray(model.intercept_, dtype=np.float64)
        classes = getattr(model, "classes_", None)
        if classes is not None and len(classes) == 2:  # here the second one is positive
            coef, intercept = -coef, -intercept
        return Solution(
            support=np.asarray(model.support_, dtype=np.int64),
            coef=np.atleast_2d(coef),
            intercept=np.atleast_1d(intercept),
            classes=None if classes is None else np.asarray(classes),
            n_support=None if classes is None else np.asarray(model.n_support_),
        )


def load(library: str) -> dict[str, Baseline]:
    """Return the variants of a library by name; ImportError where it is not installed."""
    module = importlib.import_module(f"baselines.{library}")
    return {variant.name: variant for variant in module.VARIANTS}
