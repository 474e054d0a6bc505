"""Cases that found defects, each of them mended since: (family, case), as they were printed.

``tests/python/test_attack.py`` runs them all. Choices that a family got later are the simplest.
"""

from __future__ import annotations

from typing import Any

CASES: list[tuple[str, dict[str, Any]]] = [
    ("fits", {"machine": "SVR", "kernel": "callable", "epsilon": 1000000.0}),
    ("fits", {"kernel": "callable", "time_limit": 7e-06}),
    ("images", {"machine": "Perceptron", "changes": [[868492574, 555721987, 267797645]]}),
    ("together", {"n_threads": 3, "n_calls": 5, "n": 241, "d": 19, "n_jobs": 3, "n_forks": 2}),
]
