"""What must hold whatever the data: symmetries of the problems, on small random samples."""

import pickle
import warnings

import numpy as np
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from conftest import assert_same_bits
from kcore import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from kcore.exceptions import ConvergenceWarning
from kcore.kernels import RBF

TOL = 1e-9


@st.composite
def samples(draw, n_classes=2):
    """(X, labels, targets): every class is there, and no two samples are nearly equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2 * n_classes, 40))
    d = draw(st.integers(1, 6))
    X = rng.standard_normal((n, d)) * draw(st.sampled_from([0.1, 1.0, 10.0]))
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return X, y, rng.standard_normal(n)


machines = st.sampled_from(["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
sizes = st.sampled_from([0.01, 1.0, 30.0])


def make(name, X, C=1.0, **params):
    """A machine that solves so well that two solutions of a problem are the same."""
    machine = {"SVC": SVC, "NuSVC": NuSVC, "SVR": SVR, "NuSVR": NuSVR, "OneClassSVM": OneClassSVM}
    if name in ("SVC", "SVR", "NuSVR"):
        params["C"] = C
    if name == "NuSVC":
        params.setdefault("nu", 0.2)
    gamma = 2 / (X.shape[1] * X.var())
    defaults = {"gamma": gamma, "tol": TOL, "precision": "float64", "max_iter": 100_000}
    return machine[name](**(defaults | params))


def target(name, y, t):
    return y if "SVC" in name else None if name == "OneClassSVM" else t


def fit(model, X, y, sample_weight=None, **more):
    """Fit; data that have no solution, or none within reach of rounding, are not of interest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, y, sample_weight=sample_weight, **more)
        except ValueError as error:
            assume(not any(words in str(error) for words in ("margin is zero", "nu is")))
            raise
    assume(model.fit_report_.converged)
    return model


def decide(model, X):
    """Values of the function of every problem."""
    if "SVR" in type(model).__name__:
        return model.predict(X)[:, None]
    if hasattr(model, "decision_function_shape"):
        model.decision_function_shape = "ovo"
    return model.decision_function(X).reshape(len(model.predict(X)), -1)


def direction(model, X):
    """What is unique of the function: not its intercept, and of nu-SVC not its scale.

    Where no coefficient is strictly inside its bounds, the intercept may be anywhere in an
    interval, and the scale of nu-SVC hangs on the intercepts of its two halves.
    """
    values = decide(model, X) - model.intercept_
    if isinstance(model, NuSVC):
        values = values / [[one.norm for one in _problems(model)]]
    return values


def _problems(model):
    return model.fit_report_.problems or (model.fit_report_,)


def assert_same_function(f, g, X, Z=None, tol=TOL, diagonal=1.0):
    """Compare at X, and g at Z where its samples were moved.

    |w - w*|^2 is below twice the gap, which is below the tolerance times the sum of coefficients.
    """
    if isinstance(f, NuSVC):
        size = max(abs(m.dual_coef_).sum() / one.norm**2 for m in (f, g) for one in _problems(m))
        # The tolerance is of the problem before it is scaled by 1 / r.
        scales = [abs(m.dual_coef_).sum() / (m.nu * m.shape_fit_[0]) for m in (f, g)]
        size *= max(1.0, *scales)
    else:
        size = max(1 + abs(m.dual_coef_).sum() for m in (f, g))
    apart = 4 * np.sqrt(2 * tol * size * diagonal) + 1e-9 * size * diagonal
    assume(apart < 0.05)  # else nothing would be compared
    np.testing.assert_allclose(
        direction(f, X), direction(g, X if Z is None else Z), rtol=0, atol=apart
    )


@given(samples(), machines, sizes, st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_matter(data, name, C, random):
    X, y, t = data
    order = list(range(len(X)))
    random.shuffle(order)
    y = target(name, y, t)
    f = fit(make(name, X, C), X, y)
    g = fit(make(name, X, C), X[order], None if y is None else y[order])
    assert_same_function(f, g, X)


@given(samples(n_classes=3), st.sampled_from(["SVC", "NuSVC"]), sizes)
def test_names_of_classes_do_not_matter(data, name, C):
    X, y, _ = data
    f = fit(make(name, X, C), X, y)
    for labels in (np.array(["a", "b", "c"]), np.array([-7, 0, 1000]), np.array([0.0, 2.0, 3.0])):
        g = make(name, X, C).fit(X, labels[y])
        assert (g.classes_ == labels).all()
        assert_same_bits(f.dual_coef_, g.dual_coef_)
        assert (labels[f.predict(X)] == g.predict(X)).all()
    objects = make(name, X, C).fit(X, [("x", "y", "z")[k] for k in y])
    assert_same_bits(f.dual_coef_, objects.dual_coef_)


@given(samples(), st.sampled_from(["SVC", "NuSVC"]), sizes)
def test_exchanging_two_classes_changes_the_sign(data, name, C):
    X, y, _ = data
    f = fit(make(name, X, C), X, y)
    g = fit(make(name, X, C), X, 1 - y)
    size = 1 + abs(f.dual_coef_).sum()
    apart = 4 * np.sqrt(2 * TOL * size)
    assume(apart < 0.05)
    np.testing.assert_allclose(direction(f, X), -direction(g, X), rtol=0, atol=apart)


@given(samples(), machines, sizes, st.randoms(use_true_random=False))
def test_weights_equal_repetitions(data, name, C, random):
    X, y, t = data
    weights = np.array([random.randint(0, 3) for _ in X])
    weights[:4] = [1, 2, 1, 2]
    y = target(name, y, t)
    f = fit(make(name, X, C, gamma="scale"), X, y, weights.astype(float))
    repeated = None if y is None else y.repeat(weights)
    g = fit(make(name, X, C, gamma="scale"), X.repeat(weights, axis=0), repeated)
    assert_same_function(f, g, X)


@given(samples(), machines, sizes)
def test_dense_and_sparse_samples_are_the_same(data, name, C):
    X, y, t = data
    X = np.where(abs(X) < 0.5 * abs(X).max(), 0, X)
    y = target(name, y, t)
    f, g = fit(make(name, X, C), X, y), fit(make(name, X, C), sp.csr_array(X), y)
    assert_same_function(f, g, X)
    values = decide(g, X)
    np.testing.assert_allclose(
        decide(g, sp.csr_matrix(X)), values, rtol=0, atol=1e-10 * (1 + abs(g.dual_coef_).sum())
    )
    assert_same_bits(values, decide(pickle.loads(pickle.dumps(g)), X))


@given(samples(), machines, sizes, st.floats(-5, 5))
def test_a_gaussian_does_not_see_translations(data, name, C, shift):
    X, y, t = data
    y = target(name, y, t)
    moved = X + shift * X.std()
    f, g = fit(make(name, X, C), X, y), fit(make(name, X, C), moved, y)
    assert_same_function(f, g, X, moved)


@given(samples(), machines, sizes, st.sampled_from(["rbf", "linear"]))
def test_rotations_change_nothing(data, name, C, kernel):
    X, y, t = data
    X = X / X.std()
    Q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((X.shape[1], X.shape[1])))
    y = target(name, y, t)
    f = fit(make(name, X, C, kernel=kernel), X, y)
    g = fit(make(name, X, C, kernel=kernel), X @ Q, y)
    diagonal = 1.0 if kernel == "rbf" else (X**2).sum(axis=1).max()
    assert_same_function(f, g, X, X @ Q, diagonal=diagonal)


@given(samples(), sizes, st.sampled_from([0.25, 4.0, 1024.0]))
def test_a_larger_kernel_with_a_smaller_box_is_the_same_machine(data, C, factor):
    X, y, _ = data
    K = RBF(2 / (X.shape[1] * X.var()))(X)
    f = fit(make("SVC", X, C, kernel="precomputed"), K, y)
    g = fit(make("SVC", X, C / factor, kernel="precomputed"), factor * K, y)
    assert_same_function(f, g, K, factor * K)


@given(samples(), machines, sizes)
def test_float32_is_close_to_float64(data, name, C):
    X, y, t = data
    X = X.astype(np.float32)
    y = target(name, y, t)
    f = fit(make(name, X, C, tol=1e-6, precision="float32"), X, y)
    g = fit(make(name, X, C, tol=1e-6), X.astype(np.float64), y)
    assert f.fit_report_.precision == "float32"
    assert_same_function(f, g, X, tol=1e-6)


@given(samples(), machines, sizes, st.floats(0.2, 5))
def test_a_warm_start_reaches_the_same_solution(data, name, C, factor):
    X, y, t = data
    y = target(name, y, t)
    cold = fit(make(name, X, C * factor), X, y)
    first = fit(make(name, X, C), X, y)
    coefficients = np.zeros((1, len(X)))
    coefficients[:, first.support_] = first.dual_coef_
    for init in (first, coefficients):
        assert_same_function(fit(make(name, X, C * factor), X, y, init=init), cold, X)
    changes = {"C": C * factor} if hasattr(first, "C") else {}
    assert_same_function(fit(first.set_params(warm_start=True, **changes), X, y), cold, X)
    again = make(name, X, C * factor).fit(X, y, init=cold)
    # NuSVR: coefficients are differences, from which the two variables of a sample, and with them
    # the sum that nu prescribes, are found only by going on.
    assert np.sum(again.n_iter_) <= np.sum(cold.n_iter_) or name == "NuSVR"


@given(samples(n_classes=4), st.sampled_from(["SVC", "NuSVC"]), st.booleans())
def test_predictions_follow_from_decision_values(data, name, break_ties):
    X, y, _ = data
    model = fit(make(name, X, break_ties=break_ties, tol=1e-3), X, y)
    by_class = model.decision_function(X)
    pairs = model.set_params(decision_function_shape="ovo", break_ties=False).decision_function(X)
    votes, sums = np.zeros((len(X), 4)), np.zeros((len(X), 4))
    number = 0
    for i in range(4):
        for j in range(i + 1, 4):
            wins = pairs[:, number] > 0
            votes[:, i] += wins
            votes[:, j] += ~wins
            sums[:, i] += pairs[:, number]
            sums[:, j] -= pairs[:, number]
            number += 1
    np.testing.assert_allclose(by_class, votes + sums / (3 * (abs(sums) + 1)), atol=1e-12)
    expected = by_class.argmax(axis=1) if break_ties else votes.argmax(axis=1)
    model.set_params(decision_function_shape="ovr", break_ties=break_ties)
    assert (model.predict(X) == expected).all()
