"""What leaves read: numbers for each column, maps, angles, functions; gamma by name."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as gp

from conftest import quietly
from kcore import SVC, SVR, KernelPerceptron, NuSVC, NuSVR, OneClassSVM, _core
from kcore.exceptions import ConvergenceWarning
from kcore.kernels import (
    RBF,
    Delta,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Sigmoid,
    exp,
    rank_one,
)
from test_saving import by_pickle, by_skops

GAMMA = [0.5, 0.0, 2.0, 0.25, 1.5]
A = np.array([[1.0, -0.5, 0.0, 2.0, 0.25], [0.0, 1.0, 1.0, -1.0, 3.0], [0.5, 0.5, 0.5, 0.5, 0.5]])


def apart(X, Z):
    return X[:, None, :] - Z[None, :, :]


# By their definitions, in float64.
BY_COLUMN = [
    (RBF(GAMMA), lambda X, Z: np.exp(-(GAMMA * apart(X, Z) ** 2).sum(axis=2))),
    (Laplacian(GAMMA), lambda X, Z: np.exp(-(GAMMA * abs(apart(X, Z))).sum(axis=2))),
    (Polynomial(2, GAMMA, 0.5), lambda X, Z: ((X * GAMMA) @ Z.T + 0.5) ** 2),
    (Sigmoid(GAMMA, -0.2), lambda X, Z: np.tanh((X * GAMMA) @ Z.T - 0.2)),
    (
        Matern(0.5, [1.0, 2.0, 0.5, 4.0, 1.5]),
        lambda X, Z: np.exp(-np.sqrt(((apart(X, Z) / [1.0, 2.0, 0.5, 4.0, 1.5]) ** 2).sum(2))),
    ),
    (
        Periodic([1.0, 2.0, 0.5, 4.0, 1.5], [1.0, 0.7, 3.0, 2.0, 5.0]),
        lambda X, Z: np.exp(
            -2
            * (
                (np.sin(np.pi * apart(X, Z) / [1.0, 0.7, 3.0, 2.0, 5.0]))
                / [1.0, 2.0, 0.5, 4.0, 1.5]
            )
            ** 2
        ).prod(axis=2),
    ),
    (
        Periodic(1.5, 0.7),
        lambda X, Z: np.exp(-2 * (np.sin(np.pi * apart(X, Z) / 0.7) / 1.5) ** 2).prod(axis=2),
    ),
    (RBF(0.3).on(A), lambda X, Z: np.exp(-0.3 * (apart(X @ A.T, Z @ A.T) ** 2).sum(2))),
    (
        RBF([1.0, 0.5]).on([2, 0]).on(A).normalized() + Linear().on([4]),
        lambda X, Z: (
            np.exp(-([1.0, 0.5] * apart(X @ A[[2, 0]].T, Z @ A[[2, 0]].T) ** 2).sum(2))
            + X[:, 4:] @ Z[:, 4:].T
        ),
    ),
    (
        Linear().on(A[:, :2]).on([3, 1]),
        lambda X, Z: (X[:, [3, 1]] @ A[:, :2].T) @ (Z[:, [3, 1]] @ A[:, :2].T).T,
    ),
    (
        Linear().on([[2.0, 1.0, 0.0]]).on(A),
        lambda X, Z: (X @ (2 * A[0] + A[1]))[:, None] * (Z @ (2 * A[0] + A[1])),
    ),
]


def cubes(X):
    return np.asarray(X) ** 3


def total(X):
    return np.asarray(X.sum(axis=1)).ravel()


def pair(X):
    X = np.asarray(X)
    return np.column_stack([X[:, 0] * X[:, 1], np.cos(X[:, 1])])


def first_letters(words):
    return [float(ord(word[0])) for word in words]


FUNCTIONS = [
    (rank_one(total), lambda X, Z: np.outer(X.sum(1), Z.sum(1))),
    (RBF(0.1).on(pair), lambda X, Z: np.exp(-0.1 * (apart(pair(X), pair(Z)) ** 2).sum(2))),
    (
        RBF([0.1, 0.2]).on(pair).on([3, 1]) + Linear(),
        lambda X, Z: (
            np.exp(-([0.1, 0.2] * apart(pair(X[:, [3, 1]]), pair(Z[:, [3, 1]])) ** 2).sum(2))
            + X @ Z.T
        ),
    ),
    (
        Linear().on([1]).on(pair) * RBF(0.2).on([0, 2]),
        lambda X, Z: (
            pair(X)[:, 1:]
            @ pair(Z)[:, 1:].T
            * np.exp(-0.2 * (apart(X[:, [0, 2]], Z[:, [0, 2]]) ** 2).sum(2))
        ),
    ),
    (Linear().on(pair).on(cubes), lambda X, Z: pair(X**3) @ pair(Z**3).T),
    (Linear().on([[1.0, 2.0]]).on(pair), lambda X, Z: np.outer(pair(X) @ [1, 2], pair(Z) @ [1, 2])),
    (Linear().on(cubes).on(A), lambda X, Z: ((X @ A.T) ** 3) @ ((Z @ A.T) ** 3).T),
    (
        exp(0.01 * (rank_one(total) + rank_one(total).on([1, 2]))),
        lambda X, Z: np.exp(
            0.01 * (np.outer(X.sum(1), Z.sum(1)) + np.outer(X[:, 1:3].sum(1), Z[:, 1:3].sum(1)))
        ),
    ),
]
ALL = BY_COLUMN + FUNCTIONS
IDS = [repr(kernel) for kernel, _ in ALL]


@pytest.mark.parametrize(("kernel", "values"), ALL, ids=IDS)
def test_values_are_those_of_the_definition(kernel, values, rng):
    X, Z = rng.standard_normal((23, 5)), rng.standard_normal((19, 5))
    np.testing.assert_allclose(kernel(X, Z), values(X, Z), rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(kernel(X), kernel(X, X))
    np.testing.assert_array_equal(kernel(X), kernel(X).T)
    np.testing.assert_array_equal(kernel.diag(X), np.diag(kernel(X)))


@pytest.mark.parametrize(("kernel", "values"), BY_COLUMN, ids=IDS[: len(BY_COLUMN)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_storage_has_the_same_bits(kernel, values, dtype, rng):
    X = (rng.standard_normal((40, 5)) * (rng.random((40, 5)) < 0.6)).astype(dtype)
    expected = kernel(X)
    assert expected.dtype == dtype
    np.testing.assert_allclose(expected, values(X, X), atol=2e-3 if dtype == np.float32 else 1e-11)
    frame = pd.DataFrame(X, columns=list("abcde"))
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], sp.csr_array(X), frame):
        np.testing.assert_array_equal(kernel(same), expected)
    np.testing.assert_array_equal(kernel(X[3:4], X), expected[3:4])
    np.testing.assert_array_equal(kernel(X, n_jobs=1), expected)


def test_factors_of_wide_sparse_samples_have_the_bits_of_dense_ones(rng):
    d = 300
    X = sp.random_array((50, d), density=0.05, rng=rng, format="csr")
    gamma = rng.random(d) * (np.arange(d) % 3 > 0)
    for kernel in (
        RBF(gamma),
        Laplacian(gamma),
        Polynomial(3, gamma),
        RBF(gamma[:40]).on(range(40)),
    ):
        np.testing.assert_array_equal(kernel(X), kernel(X.toarray()))
    B = rng.standard_normal((45, d))
    np.testing.assert_array_equal(RBF(0.01).on(B)(X), RBF(0.01).on(B)(X.toarray()))
    np.testing.assert_array_equal(Periodic(30.0, 0.5)(X), Periodic(30.0, 0.5)(X.toarray()))


@given(st.integers(1, 6), st.data())
def test_a_gamma_for_each_column_is_a_gamma_of_scaled_columns(d, data):
    gamma = data.draw(
        st.lists(st.sampled_from([0.0, 0.25, 1.0, 4.0, 16.0]), min_size=d, max_size=d)
    )
    rng = np.random.default_rng(d)
    X = rng.standard_normal((12, d))
    scaled = X * np.sqrt(gamma)  # exact: powers of two
    for leaf in (RBF, Laplacian):
        by_column = leaf(gamma)(X)
        X_scaled = scaled if leaf is RBF else X * gamma
        np.testing.assert_array_equal(by_column, leaf(1.0)(X_scaled))
    np.testing.assert_array_equal(RBF([0.7] * d)(X), RBF(1.0)(X * np.sqrt(0.7)))


def test_values_are_those_of_scikit_learn(rng):
    X, Z = rng.standard_normal((20, 3)), rng.standard_normal((15, 3))
    scales = np.array([0.5, 1.0, 3.0])
    close = {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(RBF(0.5 / scales**2)(X, Z), gp.RBF(scales)(X, Z), **close)
    for nu in (0.5, 1.5, 2.5):
        np.testing.assert_allclose(
            Matern(nu, scales)(X, Z), gp.Matern(scales, nu=nu)(X, Z), **close
        )
    one = gp.ExpSineSquared(length_scale=1.3, periodicity=0.7)
    np.testing.assert_allclose(
        Periodic(1.3, 0.7)(X[:, :1], Z[:, :1]), one(X[:, :1], Z[:, :1]), **close
    )


@given(st.integers(1, 5), st.floats(0.1, 10), st.floats(0.05, 20), st.integers(0, 1000))
def test_periodic_is_positive_in_any_dimension_and_repeats(d, length, period, seed):
    X = np.random.default_rng(seed).uniform(-5, 5, (15, d))
    kernel = Periodic(length, period)
    K = kernel(X)
    assert np.linalg.eigvalsh(K)[0] > -1e-10
    assert (np.diag(K) == 1).all()
    np.testing.assert_allclose(kernel(X, X + 3 * period), K, atol=1e-9)


# ---- As values


def test_kernels_print_as_they_are_made_and_are_values():
    for kernel in [k for k, _ in BY_COLUMN] + [RBF("scale"), Polynomial(2, "auto")]:
        again = eval(repr(kernel))
        assert again == kernel
        assert hash(again) == hash(kernel)
        assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert repr(RBF(np.array([1, 2]))) == "RBF(gamma=[1.0, 2.0])"
    assert repr(RBF().on(np.eye(2))) == "RBF(gamma=1.0).on([[1.0, 0.0], [0.0, 1.0]])"
    assert repr(Linear().on(pair).on([0, 1])) == "Linear().on(pair).on([0, 1])"
    assert repr(rank_one(total)) == "rank_one(total)"
    assert rank_one(total) == rank_one(total) != rank_one(first_letters)
    assert hash(rank_one(total)) == hash(rank_one(total))
    assert RBF(GAMMA).replace(gamma=2.0) == RBF(2.0)
    assert pickle.loads(pickle.dumps(Linear().on(pair))) == Linear().on(pair)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(rank_one(lambda X: X[:, 0]))


def test_definiteness_does_not_ask_for_samples():
    for kernel in [k for k, _ in FUNCTIONS] + [
        RBF("scale"),
        Periodic([1.0, 2.0]),
        RBF(GAMMA).on(A),
    ]:
        assert kernel.definiteness == "positive"
    assert Sigmoid("scale").on(pair).definiteness == "indefinite"


# ---- What is refused


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RBF([1.0, -1.0]), "gamma: entry 1 is -1.0, must be 0 or more"),
        (lambda: RBF([]), "gamma must be a number, or a list with one for each column"),
        (lambda: RBF([[1.0]]), "gamma must be a number, or a list with one for each column"),
        (lambda: RBF([1.0, np.nan]), "gamma: entry 1 is NaN, must be finite"),
        (lambda: RBF("best"), "gamma must be a finite number >= 0, a list"),
        (lambda: Matern(1.5, [1.0, 0.0]), "length_scale: entry 1 is 0.0, must be positive"),
        (lambda: Periodic(1.0, 0.0), "periodicity must be positive, got 0"),
        (lambda: Linear().on([[1.0, np.inf]]), "phi: row 0, column 1 is infinity, must be finite"),
        (lambda: Linear().on([[1.0], [1.0, 2.0]]), "phi is not a table of numbers"),
        (lambda: Linear().on(np.zeros((0, 2))), "the matrix phi must have rows and columns"),
        (lambda: RBF(GAMMA)(np.ones((2, 4))), "gamma of RBF has 5 entries, and it reads 4 columns"),
        (
            lambda: RBF(GAMMA).on([0, 1])(np.ones((2, 4))),
            "gamma of RBF has 5 entries, and it reads 2",
        ),
        (lambda: Matern(1.5, [1.0, 2.0])([[1.0]]), "length_scale of Matern has 2 entries"),
        (lambda: Periodic(1.0, [1.0, 2.0])([[1.0]]), "periodicity of Periodic has 2 entries"),
        (lambda: RBF().on(A)(np.ones((2, 4))), r"the matrix phi of shape \(3, 5\) is for"),
        (lambda: RBF("scale")(np.ones((2, 4))), "gamma by name is found by a fit"),
        (lambda: (RBF("auto") + Linear()).diag(np.ones((2, 4))), "gamma by name is found by a fit"),
        (lambda: Linear().on(lambda X: X[:1])(np.eye(2)), "for the 2 samples of X; it must"),
        (lambda: Linear().on(lambda X: X / 0)(np.eye(2)), "row 0, column 0 is inf, must be finite"),
        (
            lambda: Linear().on(lambda X: ["a", "b"])(np.eye(2)),
            "has dtype <U1, must be real numbers",
        ),
        (lambda: rank_one(pair)(np.eye(2)), r"f \(pair\) gave 2 numbers for each"),
        (lambda: rank_one(3), "f must be a function of samples, got 3"),
        (lambda: RBF([1e300, 1.0])(np.ones((2, 2), np.float32)), "X: row 0: what the kernel makes"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make, words):
    with np.errstate(all="ignore"), pytest.raises((ValueError, TypeError), match=words):
        make()


def centred(X):
    return X - X.mean(axis=0)


def ranks(X):
    return X.argsort(axis=0).argsort(axis=0)


@pytest.mark.parametrize("phi", [centred, ranks, lambda X: X / np.abs(X).max(axis=0)])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_a_fit_refuses_a_function_whose_rows_depend_on_other_samples(n_columns, phi, rng):
    X = rng.standard_normal((30, n_columns))
    y = X[:, 0] > 0
    with pytest.raises(ValueError, match="each row must depend on its own sample alone"):
        SVC(kernel=RBF(0.5).on(phi)).fit(X, y)
    with pytest.raises(ValueError, match="each row must depend on its own sample alone"):
        KernelPerceptron(kernel=RBF(0.5).on(phi)).partial_fit(X, y, classes=[False, True])


def test_an_exception_of_a_function_is_raised_and_ends_no_loop(rng):
    def fail(X):
        return next(iter([]))

    with pytest.raises(StopIteration):  # and not a sum without this operand
        (RBF() + RBF().on(fail))(rng.standard_normal((4, 2)))
    with pytest.raises(StopIteration):
        (2 * (RBF() * rank_one(fail)).normalized())(rng.standard_normal((4, 2)))


def test_a_function_must_give_as_many_columns_in_predict_as_in_fit(rng):
    X = rng.standard_normal((30, 3))
    model = SVC(kernel=Linear().on(lambda X: X[:, : 1 + (len(X) < 5)] if len(X) > 1 else X[:, :1]))
    model.fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="phi gave 1 columns before, of X it gives 2"):
        model.predict(X[:3])


# ---- Functions


def test_a_function_is_called_once_for_each_set(rng):
    X, Z = rng.standard_normal((30, 3)), rng.standard_normal((20, 3))
    calls = []

    def f(X):
        calls.append(X.shape)
        return X[:, 0]

    kernel = rank_one(f) + Linear().on(f) * RBF(0.1).on(f)
    kernel(X, Z)
    assert calls == [(30, 3), (20, 3)]
    calls.clear()
    model = SVC(kernel=kernel).fit(X, X[:, 0] > 0)
    assert calls == [(30, 3), (1, 3)]  # all samples, and one of them alone
    calls.clear()
    model.predict(Z)
    assert calls == [(20, 3)]


def test_a_function_gets_what_the_samples_are(rng):
    got = []

    def f(X):
        got.append(X)
        return np.arange(float(X.shape[0]))

    X = rng.standard_normal((4, 3))
    rank_one(f)(X)
    assert type(got[-1]) is np.ndarray
    assert not got[-1].flags.writeable
    rank_one(f)(sp.csr_matrix(X))
    assert sp.isspmatrix_csr(got[-1])
    rank_one(f).on([2])(sp.csr_array(X))
    assert isinstance(got[-1], sp.csr_array)
    assert got[-1].shape == (4, 1)
    frame = pd.DataFrame({"a": X[:, 0], "s": list("xyzx"), "b": X[:, 1]})
    rank_one(f)(frame)
    assert got[-1].columns.tolist() == ["a", "s", "b"]
    rank_one(f).on(["s", "a"])(frame)
    assert got[-1].columns.tolist() == ["s", "a"]
    rank_one(f).on("s")(pl.DataFrame(frame.to_dict("list")))
    assert got[-1].columns == ["s"]
    rank_one(f)(["red", "blue"])
    assert got[-1].tolist() == ["red", "blue"]


def test_functions_read_columns_of_frames_beside_other_leaves(rng):
    n = 60
    frame = pd.DataFrame({"x": rng.standard_normal(n), "s": rng.choice(["a", "b"], n)})

    def lengths(frame):
        return frame["x"].to_numpy() ** 2 * (frame["s"] == "a").to_numpy()

    kernel = RBF(0.5).on("x") * Delta().on("s") + rank_one(lengths)
    x, f = frame["x"].to_numpy(), lengths(frame)
    same = frame["s"].to_numpy()[:, None] == frame["s"].to_numpy()
    expected = np.exp(-0.5 * (x[:, None] - x) ** 2) * same + np.outer(f, f)
    np.testing.assert_allclose(kernel(frame), expected, rtol=1e-12)
    model = SVR(kernel=kernel).fit(frame, x)
    given = SVR(kernel="precomputed").fit(kernel(frame), x)
    np.testing.assert_allclose(
        model.predict(frame[:9]), given.predict(kernel(frame[:9], frame)), atol=1e-8
    )
    words = ["red", "blue", "green", "red"]
    letters = np.array([ord(w[0]) for w in words], float)
    np.testing.assert_array_equal(rank_one(first_letters)(words), np.outer(letters, letters))


def test_parts_that_no_leaf_reads_are_not_kept(rng):
    X = rng.standard_normal((50, 40))
    model = SVC(kernel=RBF(0.5).on(pair)).fit(X, X[:, 0] * X[:, 1] > 0)
    np.testing.assert_array_equal(model.support_vectors_, pair(X)[model.support_])
    model = SVC(kernel=RBF(0.5).on(pair) + Linear()).fit(X, X[:, 0] * X[:, 1] > 0)
    np.testing.assert_array_equal(model.support_vectors_, np.hstack([X, pair(X)])[model.support_])
    sparse = SVC(kernel=rank_one(total) + Linear()).fit(sp.csr_matrix(X), X[:, 0] > 0)
    assert sp.isspmatrix_csr(sparse.support_vectors_)
    assert sparse.support_vectors_.shape == (len(sparse.support_), 41)


# ---- Learners


STORAGES = {
    "dense": np.asarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_array,
    "frame": lambda X: pd.DataFrame(X, columns=list("abcde")),
}


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    "kernel",
    [
        RBF(GAMMA),
        Laplacian("scale").on([0, 3]) + Linear().on(A),
        Periodic([1.0] * 5, 3.0),
        RBF(0.1).on(lambda X: (X.toarray() if sp.issparse(X) else np.asarray(X)) ** 2)
        + rank_one(total),
    ],
    ids=["ard", "map", "periodic", "function"],
)
def test_machines_learn_what_they_learn_of_the_matrix(machine, storage, kernel, rng):
    X = rng.standard_normal((80, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(float)
    samples = STORAGES[storage](X)
    model = quietly(machine(kernel=kernel, precision="float64", tol=1e-6), samples, y)
    K = model.kernel_(samples)
    given = quietly(machine(kernel="precomputed", precision="float64", tol=1e-6), K, y)
    found = model.decision_function if hasattr(model, "decision_function") else model.predict
    other = given.decision_function if hasattr(given, "decision_function") else given.predict
    np.testing.assert_allclose(
        found(samples), other(K), atol=2e-2 if storage == "float32" else 1e-3
    )
    one = found(samples[3:4])
    np.testing.assert_array_equal(one, found(samples)[3:4])


@pytest.mark.parametrize("save", [by_pickle, by_skops])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saved_models_predict_the_same_bits(save, sparse, dtype, rng):
    X = rng.standard_normal((60, 5)).astype(dtype)
    samples = sp.csr_array(X) if sparse else X
    y = X[:, 0] > 0
    for kernel in (RBF(GAMMA) + Linear().on(A), Periodic(1.0, 3.0), RBF("scale").on([1, 2])):
        for model in (
            SVC(kernel=kernel).fit(samples, y),
            quietly(KernelPerceptron(kernel=kernel), samples, y),
        ):
            again = save(model)
            np.testing.assert_array_equal(
                again.decision_function(samples), model.decision_function(samples)
            )
            assert again.kernel_ == model.kernel_


@pytest.mark.parametrize("sparse", [False, True])
def test_models_of_functions_are_pickled_by_the_functions_names(sparse, rng):
    X = rng.standard_normal((60, 5))
    samples = sp.csr_array(X) if sparse else X
    y = X[:, 0] > 0
    kernel = rank_one(total) + RBF("scale")
    for model in (
        SVC(kernel=kernel).fit(samples, y),
        quietly(KernelPerceptron(kernel=kernel), samples, y),
    ):
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(
            again.decision_function(samples), model.decision_function(samples)
        )
        assert again.kernel_ == model.kernel_
        np.testing.assert_array_equal(
            again.support_vectors_.toarray() if sparse else again.support_vectors_,
            model.support_vectors_.toarray() if sparse else model.support_vectors_,
        )


@pytest.mark.parametrize("budget", [None, 7])
@pytest.mark.parametrize("strategy", ["oldest", "smallest", "projection", "merge"])
@pytest.mark.parametrize("sparse", [False, True])
def test_perceptrons_learn_one_by_one_what_they_learn_at_once(budget, strategy, sparse, rng):
    X = rng.standard_normal((60, 5))
    samples = sp.csr_array(X) if sparse else X
    y = X[:, 0] * X[:, 1] > 0
    kernel = RBF(GAMMA) + rank_one(total) + Linear().on(A)
    at_once = KernelPerceptron(kernel=kernel, budget=budget, strategy=strategy)
    at_once.partial_fit(samples, y, classes=[False, True])
    one_by_one = KernelPerceptron(kernel=kernel, budget=budget, strategy=strategy)
    for i in range(60):
        one_by_one.partial_fit(samples[i : i + 1], y[i : i + 1], classes=[False, True])
    np.testing.assert_array_equal(
        one_by_one.decision_function(samples), at_once.decision_function(samples)
    )
    assert at_once.kernel_ == kernel
    again = pickle.loads(pickle.dumps(one_by_one)).partial_fit(samples, y)
    one_by_one.partial_fit(samples, y)
    np.testing.assert_array_equal(
        again.decision_function(samples), one_by_one.decision_function(samples)
    )
    plain = KernelPerceptron(kernel="precomputed", max_iter=3)
    fitted = KernelPerceptron(kernel=kernel, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain.fit(kernel(samples), y)
        fitted.fit(samples, y)
        np.testing.assert_array_equal(plain.support_, fitted.support_)
        fitted.set_params(warm_start=True, max_iter=2).fit(samples, y)
        plain = KernelPerceptron(kernel="precomputed", max_iter=5).fit(kernel(samples), y)
    assert set(plain.support_) == set(fitted.support_)


def test_a_store_keeps_what_is_read(rng):
    X = rng.standard_normal((70, 5))
    run = _core.Run(0, 0.0, None)
    for kernel, values in ALL[:9]:
        nodes = kernel._bound_to(X, X)
        nodes = kernel._nodes() if nodes is None else nodes.nodes
        store = _core.Store(_core.CompiledKernel(nodes), X, False, 0, run)
        product = store.apply(np.eye(70), None, None, run)
        np.testing.assert_allclose(product, values(X, X), atol=1e-10)


def test_a_table_of_a_hundred_columns_of_categories_is_learnt_from(rng):
    n = 60
    frame = pd.DataFrame({f"c{j}": rng.choice(["a", "b", "c"], n) for j in range(100)})
    kernel = sum(0.01 * Delta().on(name) for name in frame.columns)
    cells = frame.to_numpy()
    expected = (cells[:, None, :] == cells[None]).sum(axis=2) / 100
    np.testing.assert_allclose(kernel(frame), expected, rtol=1e-12)
    y = cells[:, 0] == "a"
    assert SVC(kernel=kernel, C=100).fit(frame, y).score(frame, y) > 0.9


# ---- gamma by name


def scale(X, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    mean = np.average(X.mean(axis=1), weights=weights)
    return 1 / (X.shape[1] * np.average(((X - mean) ** 2).mean(axis=1), weights=weights))


def test_gamma_by_name_is_that_of_what_each_leaf_reads(rng):
    X = rng.standard_normal((50, 5)) * [1, 2, 3, 4, 5] + 1
    y = X[:, 0] > 1
    weights = rng.random(50)
    kernel = (
        RBF("scale")
        + 2 * Laplacian("scale").on([3, 1])
        + Polynomial(2, "scale").on(A)
        + RBF("scale").on(pair)
        + Sigmoid("auto").on([1, 2, 4])
    )
    for samples in (X, sp.csr_array(X)):
        own = kernel if samples is X else kernel.replace(k4=RBF(1.0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SVC(kernel=own).fit(samples, y, sample_weight=weights)
        found = model.kernel_.get_params()
        for name, read in (
            ("k1", X),
            ("k2__kernel__kernel", X[:, [3, 1]]),
            ("k3__kernel", X @ A.T),
        ):
            np.testing.assert_allclose(found[f"{name}__gamma"], scale(read, weights), rtol=1e-12)
        if samples is X:
            np.testing.assert_allclose(found["k4__kernel__gamma"], scale(pair(X), weights))
        assert found["k5__kernel__gamma"] == 1 / 3
        assert model.kernel == own


def test_an_estimator_shows_its_kernel_with_numbers(rng):
    X = rng.standard_normal((50, 4))
    y = X[:, 0] > 0
    assert SVC().fit(X, y).kernel_ == SVC(kernel=RBF("scale")).fit(X, y).kernel_
    assert SVC(gamma=0.5).fit(X, y).kernel_ == RBF(0.5)
    assert SVC(kernel="poly", degree=2, gamma=0.5).fit(X, y).kernel_ == Polynomial(2, 0.5, 0.0)
    assert OneClassSVM(kernel="linear").fit(X).kernel_ == Linear()
    assert SVC(kernel="precomputed").fit(X @ X.T, y).kernel_ == "precomputed"
    model = quietly(KernelPerceptron(kernel="laplacian", gamma="auto"), X, y)
    assert model.kernel_ == Laplacian(0.25)
    named = SVC(gamma="scale").fit(X, y)
    by_leaf = SVC(kernel=RBF("scale")).fit(X, y)
    np.testing.assert_array_equal(named.decision_function(X), by_leaf.decision_function(X))


def test_partial_fit_keeps_the_gamma_of_the_first_samples(rng):
    X = rng.standard_normal((40, 3))
    y = X[:, 0] > 0
    model = KernelPerceptron(kernel=RBF("scale")).partial_fit(X[:20], y[:20], classes=[False, True])
    before = model.kernel_
    np.testing.assert_allclose(before.gamma, scale(X[:20]))
    assert model.partial_fit(X[20:] * 9, y[20:]).kernel_ == before
