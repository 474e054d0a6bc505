"""Calls that are ended at a random moment: by Ctrl-C, by what a callback raises, by a time limit.

What is ended leaves everything as it was, or, by a limit or a callback that returns True, the best
model there is. How long that takes is counted in time of the CPU, which other programs do not
change: 50 ms are promised on a quiet machine, `MAX_DELAY` fails here.
"""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import audit
import calls
import kcore
from families import Case, between, pick
from kcore import kernels
from kcore.features import PolynomialMap

SECONDS = 60.0
MAX_DELAY = 0.15  # seconds of the CPU, per thread
SIMPLEST: Case = {
    "work": "SVC", "how": "signal", "after": 0.05, "n": 2000, "d": 5, "kernel": "rbf",
    "gamma": 0.1, "C": 1.0, "storage": "C", "dtype": "float64", "n_jobs": 1, "seed": 0,
}  # fmt: skip

LEARNERS = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "Perceptron", "KernelPerceptron"]
OTHERS = ["predict", "gram", "diag", "map", "partial_fit"]


class StopError(Exception):
    """What callbacks and signal handlers raise."""


def draw(rng: np.random.Generator) -> Case:
    work = pick(rng, *LEARNERS, *LEARNERS, *OTHERS)
    hows = ["signal", "raises", "returns True", "time limit"] if work in LEARNERS else ["signal"]
    return {
        "work": work,
        "how": pick(rng, *hows),
        "after": between(rng, 5e-4, 0.2),
        "n": int(between(rng, 300, 5000)),
        "d": int(between(rng, 2, 100)),
        "kernel": pick(rng, "rbf", "linear", "poly", "laplacian", "callable", "scale"),
        "gamma": between(rng, 1e-3, 1.0),
        "C": between(rng, 0.1, 1e5),
        "storage": pick(rng, "C", "C", "F", "csr"),
        "dtype": pick(rng, "float32", "float64"),
        "n_jobs": pick(rng, 1, 1, 2),
        "seed": int(rng.integers(2**31)),
    }


# ---- Work


def samples_of(case: Case) -> tuple[Any, Any]:
    """Return samples and labels that nothing in them tells, so that fits take long."""
    rng = np.random.default_rng(case["seed"])
    X = rng.standard_normal((case["n"], case["d"])) / np.sqrt(case["d"])
    y = rng.integers(0, 2, case["n"])
    y[:2] = 0, 1
    X = X.astype(case["dtype"], order="F" if case["storage"] == "F" else "C")
    return (sp.csr_array(X * (rng.random(X.shape) < 0.3)) if case["storage"] == "csr" else X), y


def learner_of(case: Case, name: str) -> Any:
    """Return an estimator that was fitted to a few good samples."""
    me = getattr(kcore, name)()
    if hasattr(me, "kernel"):
        me.kernel = "rbf" if case["kernel"] in ("callable", "scale") else case["kernel"]
        me.gamma = "scale" if case["kernel"] == "scale" else case["gamma"]
        if case["kernel"] == "callable" and case["n"] < 3000:
            me.kernel = _function
    if hasattr(me, "C"):
        me.C = case["C"]
    if name == "NuSVC":
        me.nu = 0.3
    if hasattr(me, "max_iter") and name.endswith("Perceptron"):
        me.max_iter = 10**6
    me.n_jobs = case["n_jobs"]
    few = calls.hostile.good_samples()
    return me.fit(few, calls.hostile.good_labels())


def _function(A: Any, B: Any) -> Any:
    found = A @ B.T
    return np.asarray(found.toarray() if sp.issparse(found) else found, np.float64)


def work_of(case: Case) -> tuple[Any, Callable[[], Any]]:
    """Return what must not change, and the call."""
    X, y = samples_of(case)
    name, jobs = case["work"], {"n_jobs": case["n_jobs"]}
    if name in LEARNERS:
        me = learner_of(case, name)
        return me, lambda: me.fit(X, y)
    if name == "gram":
        return None, lambda: kernels.Laplacian(case["gamma"])(X, X[::-1], **jobs)
    if name == "diag":
        return None, lambda: [kernels.RBF(case["gamma"]).diag(X, **jobs) for _ in range(20)]
    if name == "map":
        columns = X[:, : min(case["d"], 30)]
        return None, lambda: PolynomialMap(3).fit_transform(columns)
    if name == "partial_fit":
        me = kcore.KernelPerceptron(gamma=case["gamma"], budget=200, strategy="projection")
        me.partial_fit(X[:50], y[:50], classes=[0, 1])
        return me, lambda: me.partial_fit(X, y)
    few = min(case["n"], 1500)
    me = kcore.SVC(gamma=case["gamma"], n_jobs=case["n_jobs"]).fit(X[:few], y[:few])
    rows = np.resize(np.arange(case["n"]), 20_000)
    many = X[rows]
    return me, lambda: me.predict(many)


def state_of(me: Any) -> Any:
    if me is None:
        return None
    fitted = me._fitted
    few = np.zeros((3, me.n_features_in_))
    probe = type(me)(kernel=me.kernel) if hasattr(me, "kernel") else type(me)()
    probe._fitted = fitted
    return fitted, probe.predict(few).tobytes()


# ---- Stops


class Clock:
    """When the stop was asked for, in time of the CPU."""

    def __init__(self) -> None:
        self.asked: float | None = None

    def ask(self) -> None:
        if self.asked is None:
            self.asked = time.process_time()

    def waited(self, n_threads: int) -> float:
        return 0.0 if self.asked is None else (time.process_time() - self.asked) / n_threads


def check(case: Case) -> str:
    warnings.simplefilter("ignore")
    me, call = work_of(case)
    before = state_of(me)
    clock = Clock()
    how = {"signal": by_signal, "raises": by_callback, "returns True": by_callback}
    is_ended = how.get(case["how"], by_limit)(case, me, call, clock)
    waited = clock.waited(case["n_jobs"])
    after = state_of(me)
    if is_ended and case["how"] in ("signal", "raises") and before is not None:
        # A signal may come after the last statement of fit; the model is then the new one.
        is_new = after[0] is not before[0]
        assert not is_new or case["how"] == "signal", "a stopped call has changed the model"
        assert is_new or after[1] == before[1], "a stopped call has changed predictions"
    is_function = me is not None and getattr(me, "kernel", None) is _function  # of NumPy, as long
    assert waited < MAX_DELAY or is_function, f"{waited:.3f} s of the CPU from the stop to the end"
    check_usable(case)
    if clock.asked is None or not is_ended:
        return "done before"
    for limit in (20, 50, 100):
        if waited < limit / 1000:
            return f"ended within {limit} ms"
    return "ended late"


def by_signal(case: Case, me: Any, call: Callable[[], Any], clock: Clock) -> bool:
    """A thread sends a signal whose handler raises; it is what Ctrl-C does."""

    def handler(number: int, frame: Any) -> None:
        raise StopError

    def send() -> None:
        if not is_done.wait(case["after"]):
            clock.ask()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    is_done, is_complete = threading.Event(), False
    old = signal.signal(signal.SIGUSR1, handler)
    thread = threading.Thread(target=send)
    try:
        try:
            thread.start()
            call()
            is_complete = True
        finally:
            is_done.set()
            thread.join()  # it may be about to send
    except StopError:
        return not is_complete
    except ValueError as refused:  # nu-SVC without a solution
        assert "margin is zero" in str(refused), refused
    finally:
        signal.signal(signal.SIGUSR1, old)
    return False


def by_callback(case: Case, me: Any, call: Callable[[], Any], clock: Clock) -> bool:
    error = StopError("enough")
    is_raising = case["how"] == "raises"

    def callback(progress: Any) -> bool:
        if progress.seconds < case["after"]:
            return False
        clock.ask()
        if is_raising:
            raise error
        return True

    me.callback = callback
    try:
        call()
    except StopError as caught:
        assert caught is error
        assert is_raising
        return True
    except ValueError as refused:  # nu-SVC without a direction yet
        assert "margin is zero" in str(refused), refused
        return False
    assert clock.asked is None or not is_raising, "what the callback raised was lost"
    check_model(me)
    return clock.asked is not None


def by_limit(case: Case, me: Any, call: Callable[[], Any], clock: Clock) -> bool:
    """A thread looks at the CPU's clock when the limit is over."""

    def look() -> None:
        if not is_done.wait(case["after"]):
            clock.ask()

    is_done = threading.Event()
    me.time_limit = case["after"]
    thread = threading.Thread(target=look)
    thread.start()
    try:
        call()
    except ValueError as refused:
        assert "margin is zero" in str(refused), refused
    finally:
        is_done.set()
        thread.join()
    check_model(me)
    report = getattr(me, "fit_report_", None)
    return report is not None and report.stop == "time_limit"


def check_model(me: Any) -> None:
    """A model that was ended early can be used, and says what it is worth."""
    found = me.predict(np.zeros((2, me.n_features_in_)))
    assert found.shape == (2,)
    report = getattr(me, "fit_report_", None)
    if report is not None:
        assert report.gap >= 0 or not report.is_certified, report
        assert np.isfinite(audit.dense(me.dual_coef_)).all()


def check_usable(case: Case) -> None:
    """What comes afterwards has the bits that it always has."""
    X = np.arange(12.0).reshape(4, 3)
    assert (kernels.Linear()(X, n_jobs=case["n_jobs"]) == X @ X.T).all()
    model = kcore.SVC(kernel="linear").fit([[0.0], [2.0]], [0, 1])
    assert model.predict([[0.5], [1.5]]).tolist() == [0, 1]
