"""Stores: K times vectors, problems that share rows, and the life of what outlives a call."""

import os
import threading
import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator, cg

from kcore import SVC, SVR, _core
from kcore.kernels import RBF, Linear
from processes import in_child, seconds_to_stop


def a_run(n_threads=0, time_limit=0.0, callback=None):
    return _core.Run(n_threads, time_limit, callback)


def make_store(X, kernel, is_f32=False, cache_bytes=0):
    if kernel is not None:
        kernel = _core.CompiledKernel(kernel._nodes())
    return _core.Store(kernel, X, is_f32, cache_bytes, a_run())


def solve(store, lower, upper, run=None, **asked):
    """Solve with one group whose sum is 0, unless something else is asked."""
    wanted = {
        "rows": None, "t": None, "epsilon": 0.0, "n_groups": 1, "group": None, "sums": None,
        "start": None, "tol": 1e-6, "max_iter": 0, "seed": 0,
    }  # fmt: skip
    return store.solve(lower=lower, upper=upper, run=run or a_run(), **(wanted | asked))


def boxes_of(y, C):
    """Bounds of beta = y alpha."""
    return np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)


@pytest.fixture(name="X")
def samples(rng):
    return rng.standard_normal((200, 5))


@pytest.fixture
def y(X, rng):
    return np.where(X[:, 0] + 0.5 * rng.standard_normal(len(X)) > 0, 1.0, -1.0)


@pytest.fixture
def store(X):
    return make_store(X, RBF(0.3))


# ---- K times vectors


def test_apply_is_the_gram_matrix_times_vectors(X, store, rng):
    K = RBF(0.3)(X)
    vectors = rng.standard_normal((3, 200))
    np.testing.assert_allclose(store.apply(vectors, None, None, a_run()), vectors @ K, atol=1e-11)
    columns, rows = rng.permutation(200)[:70], rng.integers(0, 200, 11)
    few = np.ascontiguousarray(vectors[:, :70])
    np.testing.assert_allclose(
        store.apply(few, columns, rows, a_run()), few @ K[columns][:, rows], atol=1e-11
    )
    np.testing.assert_array_equal(store.diagonal(), np.ones(200))
    assert store.apply(vectors, None, rows[:0], a_run()).shape == (3, 0)


def test_conjugate_gradients_solve_ridge_through_apply(X, store, rng):
    targets = rng.standard_normal(200)
    shift = 0.1
    operator = LinearOperator(
        (200, 200),
        matvec=lambda v: (
            store.apply(np.ascontiguousarray(v.reshape(1, -1)), None, None, a_run())[0]
            + shift * v.ravel()
        ),
        dtype=np.float64,
    )
    found, failure = cg(operator, targets, rtol=1e-12)
    exact = np.linalg.solve(RBF(0.3)(X) + shift * np.eye(200), targets)
    assert failure == 0
    np.testing.assert_allclose(found, exact, atol=1e-8)


def test_the_gradient_of_some_samples_is_that_of_the_solution(X, y, store):
    lower, upper = boxes_of(y, 2.0)
    result = solve(store, lower, upper, t=y)
    rows = np.array([7, 3, 150])
    found = store.gradient(result["beta"], None, y[rows], rows, a_run())
    np.testing.assert_allclose(found, result["gradient"][rows], atol=1e-12)
    support = np.flatnonzero(result["beta"])
    values = -store.gradient(result["beta"][support], support, None, rows, a_run())
    np.testing.assert_allclose(values, (RBF(0.3)(X) @ result["beta"])[rows], atol=1e-12)


@pytest.mark.parametrize("is_f32", [False, True])
def test_sparse_samples_and_matrices_are_stores(X, rng, is_f32):
    sparse = csr_matrix(X * (rng.random(X.shape) < 0.2))
    dense = sparse.toarray()
    vectors = rng.standard_normal((1, 200))
    triple = (sparse.data, sparse.indices, sparse.indptr, sparse.shape)
    of_dense = make_store(dense, RBF(0.3), is_f32)
    of_sparse = make_store(triple, RBF(0.3), is_f32)
    of_matrix = make_store(RBF(0.3)(dense), None, is_f32)
    sparse.data[:] = np.nan  # the store has a copy
    expected = of_dense.apply(vectors, None, None, a_run())
    np.testing.assert_array_equal(of_sparse.apply(vectors, None, None, a_run()), expected)
    np.testing.assert_allclose(
        of_matrix.apply(vectors, None, None, a_run()), expected, atol=1e-4 if is_f32 else 1e-12
    )
    assert of_matrix.describe()["is_complete"]


def test_a_store_keeps_a_copy_of_the_samples(X, rng):
    mine = X.copy()
    store = make_store(mine, Linear())
    vectors = rng.standard_normal((1, 200))
    before = store.apply(vectors, None, None, a_run())
    mine[:] = np.nan
    np.testing.assert_array_equal(store.apply(vectors, None, None, a_run()), before)


# ---- Problems


def test_a_path_of_c_is_that_of_separate_fits(X, y, store):
    start = None
    for C in (0.1, 1.0, 10.0, 100.0):
        lower, upper = boxes_of(y, C)
        result = solve(store, lower, upper, t=y, start=start, tol=1e-7)
        start = result["beta"]
        fit = SVC(C=C, gamma=0.3, tol=1e-7, precision="float64").fit(X, y)
        assert result["stop"] == "converged"
        np.testing.assert_allclose(
            result["beta"][fit.support_], fit.dual_coef_[0], atol=1e-4 * max(C, 1)
        )
        np.testing.assert_allclose(
            RBF(0.3)(X) @ result["beta"] + result["multipliers"][0],
            fit.decision_function(X),
            atol=1e-5,
        )
        assert result["dual"] == pytest.approx(fit.fit_report_.dual, rel=1e-6)


def test_folds_are_fits_of_their_samples(X, y, store):
    for fold in range(4):
        rows = np.flatnonzero(np.arange(200) % 4 != fold)
        lower, upper = boxes_of(y[rows], 1.0)
        result = solve(store, lower, upper, rows=rows, t=y[rows], tol=1e-7)
        fit = SVC(gamma=0.3, tol=1e-7, precision="float64").fit(X[rows], y[rows])
        held_out = np.flatnonzero(np.arange(200) % 4 == fold)
        values = store.apply(result["beta"][np.newaxis], rows, held_out, a_run())[0]
        np.testing.assert_allclose(
            values + result["multipliers"][0], fit.decision_function(X[held_out]), atol=1e-5
        )


def test_a_tube_is_a_problem_with_epsilon(X, store, rng):
    targets = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(200)
    bound = np.full(200, 2.0)
    result = solve(store, -bound, bound, t=targets, epsilon=0.1, tol=1e-7)
    fit = SVR(C=2.0, epsilon=0.1, gamma=0.3, tol=1e-7, precision="float64").fit(X, targets)
    np.testing.assert_allclose(
        RBF(0.3)(X) @ result["beta"] + result["multipliers"][0], fit.predict(X), atol=1e-5
    )


def test_two_groups_and_none_hold_by_their_conditions(X, y, store):
    K = RBF(0.3)(X)
    group = (y < 0).astype(np.int32)
    lower, upper = boxes_of(y, 1.0)
    sums = np.array([20.0, -20.0])
    result = solve(store, lower, upper, n_groups=2, group=group, sums=sums)
    beta = result["beta"]
    np.testing.assert_allclose([beta[group == 0].sum(), beta[group == 1].sum()], sums, atol=1e-10)
    np.testing.assert_allclose(result["gradient"], -K @ beta, atol=1e-11)
    for g in range(2):
        v = result["gradient"][group == g]
        b, lo, hi = beta[group == g], lower[group == g], upper[group == g]
        assert v[b < hi].max() - v[b > lo].min() < 1e-6
    result = solve(store, lower, upper, n_groups=0, t=y)
    v = y - K @ result["beta"]
    assert v[result["beta"] < upper].max() < 2e-6
    assert v[result["beta"] > lower].min() > -2e-6
    assert result["path"].startswith("coordinates")


def test_the_second_problem_computes_no_value_again(y, rng):
    X = rng.standard_normal((200, 40))
    store = make_store(X, RBF(0.02), is_f32=True)
    lower, upper = boxes_of(y, 1.0)
    assert solve(store, lower, upper, t=y)["values_computed"] > 0
    assert solve(store, 5 * lower, 5 * upper, t=y)["values_computed"] == 0
    assert store.describe()["is_complete"]


# ---- Refused


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rows": np.array([3, 3])}, r"problem.rows\[1\] is 3, as is problem.rows\[0\]"),
        ({"rows": np.array([3, 200])}, r"problem.rows\[1\] is 200, must be 0 to 199"),
        ({"start": np.array([0.0, 5.0])}, r"problem.start\[1\] is 5, must be from 0 to 1"),
        ({"sums": np.array([9.0])}, r"sum of group 0 is to be 9"),
        ({"t": np.array([np.nan, 0.0])}, r"problem.t\[0\] is nan"),
        ({"tol": 0.0}, "problem.tol is 0"),
        ({"epsilon": -1.0}, "problem.epsilon is -1"),
        ({"n_groups": 2}, "problem.group is NULL"),
        ({"rows": np.array([], dtype=np.int64)}, "no samples"),
    ],
)
def test_wrong_numbers_are_refused_by_name_place_and_value(store, asked, message):
    problem = {"rows": np.array([3, 4])} | asked
    with pytest.raises(ValueError, match=message):
        solve(store, np.zeros(2), np.ones(2), **problem)


def test_arrays_of_another_length_or_type_are_refused(store):
    with pytest.raises(TypeError, match="199 entries, must have 200"):
        solve(store, np.zeros(199), np.ones(200))
    with pytest.raises(TypeError, match="3 columns, must have 200"):
        store.apply(np.zeros((1, 3)), None, None, a_run())
    with pytest.raises(TypeError, match="1 entries, must have 2"):
        store.gradient(np.zeros(200), None, np.zeros(1), np.array([0, 1]), a_run())
    with pytest.raises(ValueError, match="dtype"):
        store.apply(np.zeros((1, 200), np.float32), None, None, a_run())
    with pytest.raises(TypeError, match="not pickled"):
        store.__reduce__()


def test_a_closed_store_is_refused(X):
    before = _core.memory()[0]
    store = make_store(X, RBF(0.3))
    assert _core.memory()[0] > before
    store.close()
    store.close()
    assert _core.memory()[0] <= before
    for call in (
        store.describe,
        store.diagonal,
        lambda: store.apply(np.zeros((1, 200)), None, None, a_run()),
        lambda: solve(store, np.zeros(200), np.ones(200)),
    ):
        with pytest.raises(ValueError, match="closed"):
            call()


# ---- Stops


@pytest.fixture(scope="module")
def hard():
    """A store and a problem of seconds of steps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 10))
    y = np.where(rng.integers(0, 2, 4000) > 0, 1.0, -1.0)
    return make_store(X, RBF(0.05), is_f32=True), y, *boxes_of(y, 1e5)


@pytest.mark.parametrize("n_groups", [0, 1])
def test_ctrl_c_ends_a_long_solve_at_once(hard, n_groups):
    store, y, lower, upper = hard
    waited = seconds_to_stop(
        lambda: solve(store, lower, upper, t=y, n_groups=n_groups, tol=1e-9), after=0.7
    )
    assert waited < 0.5
    assert store.describe()["n_rows"] == 4000  # and it can be used again


def test_a_time_limit_gives_what_there_is(hard):
    store, y, lower, upper = hard
    start = time.perf_counter()
    result = solve(store, lower, upper, a_run(time_limit=0.3), t=y, tol=1e-9)
    assert time.perf_counter() - start < 3
    assert result["stop"] == "time_limit"
    assert abs(result["beta"].sum()) < 1e-4
    assert (result["beta"] >= lower).all()
    assert (result["beta"] <= upper).all()


def test_a_callback_may_end_a_call_but_not_use_its_store(hard):
    store, y, lower, upper = hard
    refused = []

    def look(progress):
        for call in (store.describe, store.close):
            with pytest.raises(RuntimeError, match="a callback cannot"):
                call()
            refused.append(call)
        return True

    run = a_run(callback=look)
    result = solve(store, lower, upper, run, t=y, tol=1e-9)
    assert result["stop"] == "stopped"
    assert run.is_finished
    assert len(refused) >= 2

    def fail(progress):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        solve(store, lower, upper, a_run(callback=fail), t=y, tol=1e-9)


# ---- Threads and children


def test_threads_take_turns(X, y, store):
    lower, upper = boxes_of(y, 1.0)
    expected = solve(store, lower, upper, t=y)["beta"]
    found = []

    def work():
        for _ in range(5):
            found.append(solve(store, lower, upper, t=y)["beta"])
            store.apply(expected[np.newaxis], None, None, a_run())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    for beta in found:
        np.testing.assert_array_equal(beta, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_uses_an_idle_store_of_its_parent(y, store):
    lower, upper = boxes_of(y, 1.0)
    expected = solve(store, lower, upper, t=y)["beta"]
    in_child(lambda: np.array_equal(solve(store, lower, upper, t=y)["beta"], expected))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_store_that_was_in_use_at_a_fork_is_refused_in_the_child(hard):
    store, y, lower, upper = hard
    begun = threading.Event()

    def note(progress):
        begun.set()
        return False

    def work():
        solve(store, lower, upper, a_run(time_limit=2.0, callback=note), t=y, tol=1e-12)

    def is_refused():
        with pytest.raises(RuntimeError, match="forked"):
            store.describe()
        return True

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(10)
    in_child(is_refused)
    thread.join()
    assert store.describe()["n_rows"] == 4000
