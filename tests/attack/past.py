"""Cases that found defects, each of them mended since: (family, case), as they were printed.

``tests/python/test_attack.py`` runs them all. Choices that a family got later are the simplest.
"""

from __future__ import annotations

from math import inf
from typing import Any

CASES: list[tuple[str, dict[str, Any]]] = [
    ("fits", {"machine": "SVR", "kernel": "callable", "epsilon": 1000000.0}),
    ("fits", {"kernel": "callable", "time_limit": 7e-06}),
    ("images", {"machine": "Perceptron", "changes": [[868492574, 555721987, 267797645]]}),
    (
        "images",
        {
            "machine": "OneClassSVM",
            "kernel": "precomputed",
            "changes": [[1600522002, 270219761, 236289896]],
        },
    ),
    (
        "images",
        {
            "machine": "KernelPerceptron",
            "kernel": "rbf",
            "changes": [[1634801428, 175646757, 1801101007]],
        },
    ),
    (
        "fits",
        {
            "machine": "SVC",
            "kernel": "tree",
            "data": "normal",
            "n": 653,
            "classes": 3,
            "seed": 231272949,
            "dtype": "float32",
            "weights": "extreme",
            "C": 0.000467,
            "gamma": 0.904,
            "degree": 0,
            "coef0": -1.0,
            "tol": 6.31e-07,
            "max_iter": 100000,
            "precision": "float64",
            "cache_size": 0.02,
            "multi_class": "ovr",
            "start": True,
        },
    ),
    (
        "fits",
        {
            "machine": "OneClassSVM",
            "kernel": "linear",
            "n": 106,
            "d": 4,
            "weights": "extreme",
            "nu": 0.5,
            "tol": 2e-05,
            "precision": "float32",
            "cache_size": 0.001,
        },
    ),
    (
        "fits",
        {
            "machine": "OneClassSVM",
            "kernel": "linear",
            "data": "outlier",
            "n": 89,
            "d": 4,
            "seed": 5782449,
            "nu": 0.05,
            "precision": "float32",
        },
    ),
    (
        "fits",
        {
            "machine": "SVC",
            "kernel": "precomputed",
            "data": "scales",
            "n": 3,
            "seed": 57848701,
            "C": inf,
            "gamma": 0.216,
        },
    ),
    ("bits", {"machine": "NuSVC", "kernel": "linear", "d": 67, "storage": "csr"}),
    (
        "calls",
        {
            "entry": "PolynomialMap.get_feature_names_out",
            "hostile": [["input_features", "raises in __len__"]],
        },
    ),
    ("calls", {"entry": "KernelPerceptron.partial_fit", "hostile": [["degree", "all 1e155"]]}),
    (
        "calls",
        {
            "entry": "KernelPerceptron.partial_fit",
            "is_fitted": False,
            "hostile": [["sample_weight", "scalar 1e308"]],
        },
    ),
    ("calls", {"entry": "Quadratic.fit", "hostile": [["include_bias", "scalar NA"]]}),
    ("calls", {"entry": "Quadratic.fit", "hostile": [["X", "2**58 rows"]]}),
    ("calls", {"entry": "Power.__call__", "hostile": [["Z", "2**58 rows"]]}),
    ("calls", {"entry": "Exponential", "hostile": [["kernel", "csr without data"]]}),
    ("calls", {"entry": "Perceptron.predict", "hostile": [["X", "everything"]]}),
    ("calls", {"entry": "SVC.score", "hostile": [["X", "objects with lists"]]}),
    ("calls", {"entry": "SVC.score", "hostile": [["sample_weight", "one NaN"]]}),
    ("calls", {"entry": "SVR.fit", "hostile": [["y", "huge"]]}),
    ("calls", {"entry": "KernelPerceptron.fit", "hostile": [["shuffle", "scalar NotImplemented"]]}),
    ("together", {"n_threads": 3, "n_calls": 5, "n": 241, "d": 19, "n_jobs": 3, "n_forks": 2}),
    (
        "images",
        {
            "machine": "SVC",
            "kernel": "linear",
            "d": 6,
            "strings": "table",
            "changes": [[365106642, 1350805643, 1057160674]],
        },
    ),
    (
        "perceptrons",
        {
            "what": "kernel",
            "rule": "batch",
            "n": 42,
            "max_iter": 2,
            "has_intercept": True,
            "degree": 1,
            "seed": 967162774,
        },
    ),
    (
        "fits",
        {
            "machine": "SVR",
            "kernel": "poly",
            "dtype": "bool",
            "n": 3,
            "d": 1,
            "seed": 6907,
            "C": 1.0,
            "epsilon": 0.1,
            "gamma": 1.0,
            "degree": 2,
            "start": True,
        },
    ),
    (
        "fits",
        {
            "machine": "SVC",
            "data": "pixels",
            "n": 59,
            "d": 1,
            "classes": 2,
            "seed": 1274561024,
            "weights": "real",
            "C": 1.0,
            "gamma": 1.0,
            "degree": 2,
            "precision": "float32",
            "cache_size": 0.0,
            "start": True,
        },
    ),
]
