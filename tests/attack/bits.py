"""The same bits by any number of threads, cache, batches and storage, and on AVX2 and AVX-512.

The portable loops round products before they add them: there, what is compared is what the
certificates allow.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

import kcore
import samples
from families import Case, between, pick
from worker import Worker

SECONDS = 90.0
SIMPLEST: Case = {
    "machine": "SVC", "kernel": "linear", "n": 6, "d": 1, "classes": 2, "C": 1.0, "seed": 0,
    "dtype": "float64", "precision": "auto", "storage": "C", "weights": "none", "cache_rows": 0,
    "n_jobs": 1, "batch": 1, "max_iter": -1, "density": 1.0, "isa": "",
}  # fmt: skip

MACHINES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "Perceptron", "KernelPerceptron"]


def draw(rng: np.random.Generator) -> Case:
    n = int(rng.integers(601, 1500)) if rng.random() < 0.1 else int(between(rng, 6, 300))
    return {
        "machine": pick(rng, *MACHINES),
        "kernel": pick(rng, "linear", "rbf", "rbf", "poly", "laplacian", "sigmoid"),
        "n": n,
        "d": int(between(rng, 1, 100)),
        "classes": pick(rng, 2, 2, 3),
        "C": between(rng, 1e-2, 1e4),
        "seed": int(rng.integers(2**31)),
        "dtype": pick(rng, "float32", "float64"),
        "precision": pick(rng, "auto", "float32", "float64"),
        "storage": pick(rng, *samples.STORAGES),
        "weights": pick(rng, "none", "none", "real"),
        "cache_rows": pick(rng, 0, 2, 3, 17, 100),
        "n_jobs": pick(rng, 1, 2, 3, 4),
        "batch": int(rng.integers(1, n + 1)),
        "max_iter": pick(rng, -1, int(between(rng, 1, 300))),
        "density": pick(rng, 1.0, 0.2),
        "isa": pick(rng, "", "", "avx2", "generic"),
    }


# ---- What is computed


def values_of(case: Case, storage: str, n_jobs: int, cache_rows: int, batch: int) -> list[Any]:
    """Fit and predict; return all numbers of the model."""
    raw = samples.make("normal", case["n"], case["d"], case["seed"])
    raw *= np.random.default_rng(case["seed"]).random(raw.shape) <= case["density"]
    X, dense = samples.store(raw, storage, case["dtype"])
    if not hasattr(X, "__getitem__") or (sp.issparse(X) and X.format == "coo"):
        X = X.tocsr()
    me = machine_of(case, n_jobs, cache_rows)
    y = samples.labels(dense, case["classes"], case["seed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            me.fit(X, y, sample_weight=samples.weights(case["weights"], case["n"], case["seed"]))
        except ValueError as error:
            assert "margin is zero" in str(error) or "nu is" in str(error), error
            return ["refused"]
    ask = getattr(me, "decision_function", me.predict)
    parts = [ask(X[k : k + batch]) for k in range(0, case["n"], batch)]
    coef = me.dual_coef_ if hasattr(me, "dual_coef_") else me.coef_
    coef = coef.toarray() if sp.issparse(coef) else coef
    is_converged = not hasattr(me, "fit_report_") or me.fit_report_.converged
    return [is_converged, coef, me.intercept_, me.predict(X), np.concatenate(parts)]


def machine_of(case: Case, n_jobs: int, cache_rows: int) -> Any:
    """Return the estimator, with a cache of so many rows."""
    me = getattr(kcore, case["machine"])(n_jobs=n_jobs)
    if hasattr(me, "kernel"):
        me.set_params(kernel=case["kernel"], gamma=1.0 / case["d"], precision=case["precision"])
        if cache_rows:
            me.cache_size = cache_rows * (8 * case["n"] + 192) / 2**20
    if hasattr(me, "C"):
        me.C = case["C"]
    if hasattr(me, "nu"):
        me.nu = 0.2
    me.max_iter = case["max_iter"] if case["max_iter"] > 0 else me.max_iter
    if case["machine"].endswith("Perceptron"):
        me.max_iter = min(me.max_iter, 10)
    elif case["max_iter"] < 0:
        me.max_iter = 10_000
    return me


def digest(values: list[Any]) -> str:
    text = hashlib.sha256()
    for value in values:
        array = np.ascontiguousarray(value)
        text.update(f"{array.dtype.str}{array.shape}".encode())
        text.update(array.tobytes())
    return text.hexdigest()


# ---- The check


def check(case: Case) -> str:
    if "report" in case:  # asked by another process: the bits of this instruction set
        return str(report(case["report"]))
    storage = "C"
    if case["machine"] == "Perceptron" and case["storage"] not in samples.STORAGES[:4]:
        # Its sums run through the values of a row as they are stored, those of a kernel do not.
        storage = "csr"
        case = {**case, "storage": pick_ordered(case["storage"])}
    plain = values_of(case, storage, 1, 0, case["n"])
    other = values_of(case, case["storage"], case["n_jobs"], case["cache_rows"], case["batch"])
    for k, (a, b) in enumerate(zip(plain, other, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        assert a.tobytes() == b.tobytes(), (k, "differ", a.shape, b.shape)
    if case["isa"] and case["isa"] != kcore.isa_name():
        return check_isa({**case, "storage": storage}, plain)
    return "equal"


def pick_ordered(storage: str) -> str:
    return storage if storage in ("csr64", "csc", "coo") else "csr64"


def report(case: Case) -> str:
    """What another process says of a case: its instruction set, hash, and predictions."""
    values = values_of(case, case["storage"], 1, 0, case["n"])
    last = np.asarray(values[-1])
    numbers = last.ravel().tolist() if last.dtype.kind == "f" else []
    return json.dumps([kcore.isa_name(), digest(values), numbers[:50], bool(values[0] is True)])


@functools.cache
def process_of(isa: str) -> Worker:
    return Worker("bits", {"KCORE_ISA": isa})


def check_isa(case: Case, plain: list[Any]) -> str:
    verdict = process_of(case["isa"]).ask({"report": {**case, "isa": ""}}, SECONDS)
    if verdict.is_defect:
        assert "does not have" in verdict.text, verdict.text
        return "equal, and no such instruction set"
    isa, found, numbers, is_converged = json.loads(verdict.word)
    assert isa == case["isa"], os.environ.get("KCORE_ISA")
    if "generic" not in (isa, kcore.isa_name()):
        assert found == digest(plain), f"{isa} and {kcore.isa_name()} give other bits"
        return "equal on AVX2 and AVX-512"
    is_certain = case["machine"] in ("SVC", "SVR", "OneClassSVM") and case["max_iter"] < 0
    is_certain = is_certain and is_converged and plain[0] is True
    if is_certain and case["kernel"] != "sigmoid" and case["C"] <= 100 and numbers:
        values = np.asarray(plain[-1]).ravel()[: len(numbers)]
        apart = abs(values - numbers)
        if case["classes"] > 2:  # a pair of classes that is undecided may give its vote to either
            apart = abs(apart - np.rint(apart))
        assert apart.max() <= 0.2 * max(1.0, abs(values).max()), "far apart"
    return "close on the portable loops"
