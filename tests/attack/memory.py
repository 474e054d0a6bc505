"""Allocations refused one after the other, in every regime of fits, predictions and learning.

The work is done by ``refuse.c``, which hands the core an allocator of its own; here its cases are
drawn, and the program is run.
"""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import numpy as np

from families import ROOT, Case, between, pick

SECONDS = 120.0
WHAT = ["fit", "decision", "gram", "learn"]
TYPES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"]
KERNELS = ["linear", "rbf", "poly", "sigmoid", "laplacian"]
FORMS = ["dense", "Fortran", "reversed", "CSR", "CSR 64", "CSR unsorted", "CSR repeated"]
PRECISIONS = ["auto", "float32", "float64"]
STRATEGIES = ["none", "oldest", "smallest", "projection", "merge"]

SIMPLEST: Case = {
    "what": "fit", "type": "SVC", "n": 6, "d": 1, "classes": 2, "kernel": "linear",
    "form": "dense", "dtype": "float64", "precision": "auto", "cache_rows": 0, "threads": 1,
    "max_iter": 0, "strategy": "none", "mode": "once", "seed": 1, "first": 1, "step": 1,
}  # fmt: skip


def draw(rng: np.random.Generator) -> Case:
    what = pick(rng, "fit", "fit", "fit", *WHAT)
    is_large = rng.random() < 0.15
    n = int(rng.integers(601, 1400)) if is_large else int(between(rng, 6, 150))
    kernel = pick(rng, *KERNELS)
    strategy = pick(rng, *STRATEGIES) if what == "learn" else "none"
    return {
        "what": what,
        "type": pick(rng, *TYPES),
        "n": n,
        "d": int(between(rng, 1, 80)),
        "classes": pick(rng, 2, 2, 3, 4),
        "kernel": "rbf" if strategy == "merge" else kernel,
        "form": pick(rng, *FORMS),
        "dtype": pick(rng, "float32", "float64"),
        "precision": pick(rng, *PRECISIONS),
        "cache_rows": pick(rng, 0, 0, 2, 10, 50),
        "threads": pick(rng, 1, 1, 2, 3),
        "max_iter": pick(rng, 0, int(between(rng, 1, 500))),
        "strategy": strategy,
        "mode": pick(rng, "once", "all"),
        "seed": int(rng.integers(1, 2**31)),
        "first": 1,
        "step": 9 if is_large else 1,
    }


def program() -> Path:
    """Return the program, of the build that is there; that under the sanitizers first."""
    for build in ("sanitize", "release"):
        found = ROOT / "build" / build / "tests" / "attack_refuse"
        if found.exists():
            return found
    raise FileNotFoundError("attack_refuse is not built: make build/release/build.ninja; ninja")


def check(case: Case) -> str:
    numbers = {
        **case,
        "what": WHAT.index(case["what"]),
        "type": 1 + TYPES.index(case["type"]),
        "kernel": 1 + KERNELS.index(case["kernel"]),
        "form": FORMS.index(case["form"]),
        "dtype": 1 if case["dtype"] == "float32" else 2,
        "precision": PRECISIONS.index(case["precision"]),
        "strategy": STRATEGIES.index(case["strategy"]),
        "mode": 1 if case["mode"] == "once" else 2,
    }
    words = [f"{name}={value}" for name, value in numbers.items()]
    run = subprocess.run(
        [str(program()), *words], capture_output=True, text=True, check=False,
        preexec_fn=_lift_limit,
    )  # fmt: skip
    assert run.returncode == 0, f"{program().name} {' '.join(words)}\n{run.stdout}\n{run.stderr}"
    return str(case["what"])


def _lift_limit() -> None:
    """The address sanitizer reserves more address space than a worker may have."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
