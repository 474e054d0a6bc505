"""CSR arrays that are no matrix, sent into everything that takes samples; some change meanwhile.

What is refused must be refused by the argument's name and, where an index is at fault, its row. An
array that another thread writes to during the call may give any value or error, but no crash.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import entries
import kcore
from families import Case, pick

SECONDS = 20.0
SIMPLEST: Case = {
    "entry": "SVC.fit", "argument": "X", "kernel": "linear", "fault": "good", "place": 0, "n": 4,
    "d": 2, "bits": 32, "dtype": "float64", "is_changed": False,
}  # fmt: skip

_Triple = tuple[Any, Any, Any]  # data, indices, indptr


def _set(part: int, value: Callable[[_Triple, int], Any]) -> Callable[[_Triple, int], _Triple]:
    """A fault that writes one entry of one of the three arrays, at a place of its own."""

    def spoil(parts: _Triple, place: int) -> _Triple:
        array = parts[part].copy()
        array[place % len(array)] = value(parts, place)
        return (*parts[:part], array, *parts[part + 1 :])

    return spoil


def _replace(part: int, value: Callable[[Any], Any]) -> Callable[[_Triple, int], _Triple]:
    """A fault that puts something else in place of one of the arrays."""
    return lambda parts, place: (*parts[:part], value(parts[part]), *parts[part + 1 :])


FAULTS: dict[str, Callable[[_Triple, int], _Triple]] = {
    "good": lambda parts, place: parts,
    "index too large": _set(1, lambda parts, place: 10**6),
    "index one too large": _set(1, lambda parts, place: int(parts[1].max()) + 1000),
    "index negative": _set(1, lambda parts, place: -1),
    "index very negative": _set(1, lambda parts, place: -(2**31)),
    "indptr negative": _set(2, lambda parts, place: -3),
    "indptr huge": _set(2, lambda parts, place: 2**31 - 1),
    "indptr decreasing": _set(2, lambda parts, place: parts[2][(place + 1) % len(parts[2])] + 5),
    "indptr zero": _set(2, lambda parts, place: 0),
    "indptr reversed": _replace(2, lambda a: a[::-1].copy()),
    "indptr doubled": _replace(2, lambda a: 2 * a),
    "indptr shorter": _replace(2, lambda a: a[:-1]),
    "indptr longer": _replace(2, lambda a: np.r_[a, a[-1]].astype(a.dtype)),
    "indptr empty": _replace(2, lambda a: a[:0]),
    "indices shorter": _replace(1, lambda a: a[:-1]),
    "indices longer": _replace(1, lambda a: np.r_[a, 0].astype(a.dtype)),
    "indices empty": _replace(1, lambda a: a[:0]),
    "indices 2-D": _replace(1, lambda a: a[None, :]),
    "indices of floats": _replace(1, lambda a: a + 0.5),
    "indices of booleans": _replace(1, lambda a: a > 0),
    "indices unsigned": _replace(1, lambda a: a.astype(np.uint64)),
    "indices unsigned and huge": _replace(1, lambda a: np.full(a.shape, 2**64 - 1, np.uint64)),
    "indices big-endian": _replace(1, lambda a: a.astype(">i8")),
    "indices strided": _replace(1, lambda a: np.repeat(a, 2)[::2]),
    "indices of strings": _replace(1, lambda a: a.astype(str)),
    "indices of objects": _replace(1, lambda a: a.astype(object)),
    "indices all equal": _replace(1, lambda a: 0 * a),
    "data shorter": _replace(0, lambda a: a[:-1]),
    "data longer": _replace(0, lambda a: np.r_[a, a[:1]]),
    "data empty": _replace(0, lambda a: a[:0]),
    "data 2-D": _replace(0, lambda a: a[:, None]),
    "data strided": _replace(0, lambda a: np.repeat(a, 2)[::2]),
    "data backwards": _replace(0, lambda a: a[::-1]),
    "data read-only": _replace(0, lambda a: np.broadcast_to(a[:1], a.shape)),
    "data of objects": _replace(0, lambda a: a.astype(object)),
    "data NaN": _set(0, lambda parts, place: np.nan),
    "data huge": _set(0, lambda parts, place: 1e38),
    "data None": _replace(0, lambda a: None),
    "indices None": _replace(1, lambda a: None),
    "indptr None": _replace(2, lambda a: None),
}
# With these, an accepted matrix is one.
HARMLESS = {
    "good", "indices unsigned", "indices big-endian", "indices strided", "indices all equal",
    "data strided", "data backwards", "data read-only", "data huge", "indices of booleans",
}  # fmt: skip


def takers() -> list[tuple[str, str]]:
    """Return (entry, argument) of everything that takes samples of numbers."""
    return [
        (name, argument)
        for name, entry in entries.entries().items()
        for argument in ("X", "Z")
        if argument in entry.arguments and not _takes_others(entry)
    ]


def _takes_others(entry: entries.Entry) -> bool:
    """Whether samples are other than any rows of numbers: strings, histograms, one, of a width."""
    if entry.name.endswith((".inverse_transform", ".section")):
        return True
    if entry.owner is None or not issubclass(entry.owner, kcore.kernels.Kernel):
        return False
    functions = (kcore.kernels.Mapped, kcore.kernels.RankOne, kcore.kernels.Applied)
    others = (*entries.HISTOGRAM_KERNELS, *functions)
    return issubclass(entry.owner, others) or bool(entries.receiver(entry)._reads_strings())


def draw(rng: np.random.Generator) -> Case:
    entry, argument = pick(rng, *takers())
    is_changed = bool(rng.random() < 0.1)
    return {
        "entry": entry,
        "argument": argument,
        "kernel": pick(rng, "linear", "rbf", "laplacian", "poly"),
        "fault": "good" if is_changed else pick(rng, *FAULTS),
        "place": int(rng.integers(0, 1000)),
        "n": int(rng.integers(100, 400)) if is_changed else int(rng.integers(2, 40)),
        "d": int(rng.integers(2, 60)),
        "bits": pick(rng, 32, 64),
        "dtype": pick(rng, "float32", "float64"),
        "is_changed": is_changed,
    }


def matrix_of(case: Case) -> Any:
    """Return the CSR matrix with its fault; SciPy does not look at what is set afterwards."""
    rng = np.random.default_rng([case["n"], case["d"]])
    X = rng.standard_normal((case["n"], case["d"])) * (rng.random((case["n"], case["d"])) < 0.5)
    X[:, 0] = np.where(np.arange(case["n"]) % 2, 4.0, -4.0)  # no row is empty; classes apart
    matrix = sp.csr_array(X.astype(case["dtype"]))
    index = np.int32 if case["bits"] == 32 else np.int64
    parts = (matrix.data, matrix.indices.astype(index), matrix.indptr.astype(index))
    matrix.data, matrix.indices, matrix.indptr = FAULTS[case["fault"]](parts, case["place"])
    return matrix


def call_of(case: Case, matrix: Any) -> Callable[[], Any]:
    """Return the call, on an estimator that was fitted to good samples of as many columns."""
    entry = entries.entries()[case["entry"]]
    me = entry.owner() if entry.is_learner else entries.receiver(entry)
    y = np.arange(case["n"]) % 2
    if entry.is_learner:
        if hasattr(me, "kernel"):
            me.kernel = case["kernel"]
            if isinstance(me, kcore.maps.RandomFourierMap):  # of a few kernels alone
                me.kernel = "rbf"
        if hasattr(me, "time_limit"):
            me.time_limit = 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            good = np.random.default_rng(1).standard_normal((12, case["d"]))
            good[:, 0] += np.where(np.arange(12) % 2, 8.0, -8.0)
            me.fit(good, np.arange(12) % 2)
    values = {case["argument"]: matrix}
    if "X" in entry.arguments and case["argument"] != "X":
        values["X"] = np.ones((5, case["d"]))
    if "K_or_kernel" in entry.arguments:
        values["K_or_kernel"] = kcore.kernels.RBF()
    if "y" in entry.arguments:
        values["y"] = y
    if "coef" in entry.arguments:
        values["coef"] = np.eye(1, case["d"])[0]
    return lambda: entries.run(entry, me, values)


def check(case: Case) -> str:
    matrix = matrix_of(case)
    call = call_of(case, matrix)
    if case["is_changed"]:
        return check_changed(case, matrix, call)
    word = outcome(call, case)
    if word == "accepted":
        assert case["fault"] in HARMLESS or is_matrix(matrix), "accepted, and is no matrix"
    elif case["fault"] == "good":
        raise AssertionError("a good matrix was refused")
    assert call_is_well()
    return word


def outcome(call: Callable[[], Any], case: Case) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except (TypeError, ValueError) as error:
            if "the margin is zero" in str(error):  # of the classes that these samples are given
                return "accepted"
            name = case["argument"]
            assert name in str(error) or "kernel of" in str(error), error
            if case["fault"].startswith("index "):
                assert "row" in str(error), error
            return "refused"
    return "accepted"


def is_matrix(matrix: Any) -> bool:
    """Whether the arrays are a matrix in spite of the fault."""
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    if any(a is None or a.ndim != 1 for a in (data, indices, indptr)):
        return False
    if len(indptr) != matrix.shape[0] + 1 or len(data) != len(indices):
        return False
    if indices.dtype.kind not in "iu" or not np.isfinite(data.astype(float)).all():
        return False
    is_rising = bool((np.diff(indptr) >= 0).all()) and indptr[0] == 0
    is_inside = bool(((indices >= 0) & (indices < matrix.shape[1])).all())
    return bool(is_rising and indptr[-1] <= len(data) and is_inside)


def check_changed(case: Case, matrix: Any, call: Callable[[], Any]) -> str:
    """Write wild numbers into the arrays while the call reads them."""
    is_over = threading.Event()
    kept = [matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()]
    wild = np.random.default_rng(case["place"])

    def spoil() -> None:
        while not is_over.is_set():
            matrix.indices[wild.integers(len(kept[1]), size=20)] = wild.integers(
                -(2**30), 2**30, 20
            )
            matrix.indptr[wild.integers(len(kept[2]))] = wild.integers(-(2**30), 2**30)
            matrix.data[wild.integers(len(kept[0]))] = np.nan
            for array, good in zip((matrix.data, matrix.indices, matrix.indptr), kept, strict=True):
                array[:] = good

    thread = threading.Thread(target=spoil)
    thread.start()
    try:
        for _ in range(20):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with contextlib.suppress(TypeError, ValueError, MemoryError):
                    call()
    finally:
        is_over.set()
        thread.join()
    assert call_is_well()
    return "changed during calls"


def call_is_well() -> bool:
    """Whether the library still computes; after a stray write it may not."""
    K = kcore.kernels.Linear()(np.array([[1.0, 2.0], [3.0, 4.0]]))
    return bool((K == [[5.0, 11.0], [11.0, 25.0]]).all())
