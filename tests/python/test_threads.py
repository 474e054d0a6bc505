"""Results do not depend on threads, threads do not disturb each other, and Ctrl-C is heard."""

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import kcore
from conftest import assert_same_bits
from kcore import _core
from kcore._threads import n_threads
from kcore.kernels import RBF, Laplacian, Linear, Polynomial, exp
from processes import seconds_to_stop

CPUS = _core.usable_cpus()


@pytest.fixture(autouse=True)
def default_threads():
    yield
    kcore.set_num_threads(None)


# ---- How many


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel",
    [RBF(0.05), Laplacian(0.05), Polynomial(2) * RBF(0.1) + exp(0.01 * Linear())],
    ids=repr,
)
def test_the_number_of_threads_does_not_change_a_bit(kernel, dtype, rng):
    X = rng.standard_normal((700, 33)).astype(dtype)
    Z = rng.standard_normal((501, 33)).astype(dtype)
    sparse = sp.csr_array(np.where(rng.random(X.shape) < 0.1, X, 0))
    one = [kernel(X, n_jobs=1), kernel(X, Z, n_jobs=1), kernel(sparse, n_jobs=1)]
    diagonal = kernel.diag(X, n_jobs=1)
    for n_jobs in (2, 3, 4, -1, None):
        assert_same_bits(kernel(X, n_jobs=n_jobs), one[0])
        assert_same_bits(kernel(X, Z, n_jobs=n_jobs), one[1])
        assert_same_bits(kernel(sparse, n_jobs=n_jobs), one[2])
        assert_same_bits(kernel.diag(X, n_jobs=n_jobs), diagonal)


def test_n_jobs_counts_down_from_the_usable_cpus():
    assert n_threads(None) == 0
    assert n_threads(3) == 3
    assert n_threads(np.int64(3)) == 3
    assert n_threads(-1) == CPUS
    assert n_threads(-2) == max(1, CPUS - 1)
    assert n_threads(-1000) == 1


def test_the_default_number_of_threads_is_set_and_reset():
    default = kcore.get_num_threads()
    kcore.set_num_threads(3)
    assert kcore.get_num_threads() == 3
    kcore.set_num_threads(-1)
    assert kcore.get_num_threads() == CPUS
    kcore.set_num_threads(None)
    assert kcore.get_num_threads() == default


def threads_of_a_process(**variables):
    environment = {
        k: v for k, v in os.environ.items() if k not in ("KCORE_NUM_THREADS", "OMP_NUM_THREADS")
    }
    code = "import kcore; print(kcore.get_num_threads())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout)


def test_the_environment_sets_the_default():
    assert threads_of_a_process() == CPUS
    assert threads_of_a_process(OMP_NUM_THREADS="3") == 3
    assert threads_of_a_process(OMP_NUM_THREADS="3", KCORE_NUM_THREADS="5") == 5


# ---- At once


def test_eight_threads_share_one_kernel_object(rng):
    kernel = RBF(0.1) * Linear() + 0.5 * Laplacian(0.2)
    inputs = [rng.standard_normal((n, 20)) for n in (1, 10, 65, 300)]
    expected = [type(kernel)(*kernel.get_params(deep=False).values())(X) for X in inputs]
    barrier = threading.Barrier(8)

    def work(seed):
        order = np.random.default_rng(seed).integers(0, len(inputs), 60)
        barrier.wait()
        for k in order:
            n_jobs = 1 + int(k) % 2
            assert_same_bits(kernel(inputs[k], n_jobs=n_jobs), expected[k])

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, seed) for seed in range(8)]:
            done.result()


def test_a_long_call_lets_other_threads_run(rng):
    X = rng.standard_normal((1500, 1500))
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    Laplacian(0.01)(X, n_jobs=1)
    end = time.perf_counter()
    stop.set()
    ticker.join()
    assert sum(start < t < end for t in ticks) >= 5


def test_errors_in_one_thread_do_not_reach_another(rng):
    good = rng.standard_normal((50, 5))
    bad = good.copy()
    bad[17, 3] = np.nan
    expected = RBF()(good)

    def work(k):
        for _ in range(50):
            if k % 2:
                with pytest.raises(ValueError, match="17"):
                    RBF()(bad)
            else:
                assert_same_bits(RBF()(good), expected)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, k) for k in range(8)]:
            done.result()


# ---- Stopping


@pytest.fixture(scope="module")
def long_work():
    """Samples on which Laplacian takes seconds, and an out for them."""
    X = np.random.default_rng(1).standard_normal((4000, 4000)).astype(np.float32)
    return X, np.empty((4000, 4000), np.float32)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "kernel", [Laplacian(0.01), Laplacian(0.01) * Laplacian(0.02) + Laplacian(0.03)], ids=repr
)
def test_ctrl_c_stops_a_gram_matrix_and_leaves_all_usable(kernel, n_jobs, long_work):
    X, out = long_work
    expected = kernel(X[:40, :50])
    waited = []
    for after in (0.05, 0.2, 0.4):
        waited.append(seconds_to_stop(lambda: kernel(X, X[::-1], out=out, n_jobs=n_jobs), after))
        assert_same_bits(kernel(X[:40, :50], n_jobs=n_jobs), expected)
    # The median, since a busy machine may leave any one thread waiting for its turn.
    assert statistics.median(waited) <= 0.150
    assert max(waited) <= 1


def test_what_a_signal_handler_raises_is_raised(long_work):
    X, out = long_work

    class TooLongError(Exception):
        pass

    def handler(number, frame):
        raise TooLongError

    old = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        start = time.perf_counter()
        with pytest.raises(TooLongError):
            Laplacian(0.01)(X, X[::-1], out=out)
        assert time.perf_counter() - start <= 1.2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_a_signal_handler_that_returns_stops_nothing(rng):
    X = rng.standard_normal((1200, 1200))
    expected = Laplacian(0.01)(X)
    calls = []
    old = signal.signal(signal.SIGALRM, lambda number, frame: calls.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        assert_same_bits(Laplacian(0.01)(X, n_jobs=1), expected)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert calls


def test_calls_leave_no_memory_behind(rng):
    X = rng.standard_normal((300, 40))
    for _ in range(3):
        RBF(0.1)(X)
    held = _core.memory()[0]
    for k in range(200):
        RBF(0.1 + k)(X)
    assert _core.memory()[0] <= held + 4096
