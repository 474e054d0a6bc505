"""Functions of models: what decides, its norm, and the training samples that decided."""

import pickle

import numpy as np
import pandas as pd
import pytest

from conftest import MACHINES, assert_same_bits, quietly
from kcore import SVC, SVR, KernelPerceptron, NuSVC, OneClassSVM
from kcore.kernels import RBF, Delta, Laplacian, Linear
from kcore.rkhs import Function

D = 3

# ---- Of models


def fitted_machine(kind, rng, **params):
    X = rng.standard_normal((200, D))
    model = kind(**params)
    if kind is OneClassSVM:
        return quietly(model, X, None), X
    y = X[:, 0] + 0.3 * X[:, 1]
    return quietly(model, X, np.sign(y) if kind in (SVC, NuSVC) else y), X


def decisions(model, X):
    has = hasattr(model, "decision_function")
    return model.decision_function(X) if has else model.predict(X)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", Laplacian(0.3) + 0.5 * Linear()])
@pytest.mark.parametrize("kind", MACHINES)
def test_the_function_of_a_machine_decides_and_has_its_norm(kind, kernel, rng):
    nu = {"nu": 0.3} if kind is NuSVC else {}
    model, X = fitted_machine(kind, rng, kernel=kernel, tol=1e-8, precision="float64", **nu)
    f = model.function_
    assert isinstance(f, Function)
    assert_same_bits(f(X) + model.intercept_, decisions(model, X))
    assert len(f) == len(model.support_)
    assert f.norm() ** 2 == pytest.approx(
        model.fit_report_.norm**2, rel=1e-9, abs=1e-13 * abs(f.coefficients).sum() ** 2
    )
    if not isinstance(kernel, str):
        assert f.kernel == kernel
    assert model.function_ is f
    assert pickle.loads(pickle.dumps(model)).function_ @ f == f @ f


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_outputs_are_a_tuple_in_the_order_of_the_intercepts(multi_class, rng):
    X, y = rng.standard_normal((240, D)), rng.integers(0, 4, 240)
    model = SVC(multi_class=multi_class, decision_function_shape="ovo").fit(X, y)
    values = model.decision_function(X)
    assert len(model.function_) == len(model.intercept_) == values.shape[1]
    for k, f in enumerate(model.function_):
        np.testing.assert_allclose(f(X) + model.intercept_[k], values[:, k], atol=1e-11)
        assert (f.coefficients != 0).all()
        problem = model.fit_report_.problems[k]
        assert f.norm() == pytest.approx(problem.norm, rel=1e-5)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_function_of_a_perceptron_decides(n_classes, average, rng):
    X = rng.standard_normal((120, D))
    y = rng.integers(0, n_classes, 120)
    model = quietly(KernelPerceptron(max_iter=5, average=average), X, y)
    values = model.decision_function(X).reshape(len(X), -1)
    functions = model.function_ if n_classes > 2 else (model.function_,)
    for k, f in enumerate(functions):
        np.testing.assert_allclose(f(X) + model.intercept_[k], values[:, k], atol=1e-10)
    model.partial_fit(X[:1], (y[:1] + 1) % n_classes)  # learns in place
    values = model.decision_function(X).reshape(len(X), -1)
    functions = model.function_ if n_classes > 2 else (model.function_,)
    np.testing.assert_allclose(functions[0](X) + model.intercept_[0], values[:, 0], atol=1e-10)


def test_equal_support_vectors_are_put_together_on_request(rng):
    X = np.repeat(rng.integers(-2, 3, (60, 2)), 3, axis=0).astype(float)
    y = np.where(X[:, 0] + 0.1 * rng.standard_normal(len(X)) > 0, 1, -1)
    model = SVC(C=2.0, kernel=RBF(0.3)).fit(X, y)
    merged = model.function_.merged()
    assert len(merged) < len(model.support_)
    assert len(merged) <= len(np.unique(model.support_vectors_, axis=0))
    np.testing.assert_allclose(merged(X) + model.intercept_, model.decision_function(X), atol=1e-10)


def test_models_without_a_known_kernel_have_no_function(rng):
    X = rng.standard_normal((50, D))
    y = X[:, 0]
    for model, samples in ((SVR(kernel="precomputed"), X @ X.T), (SVR(kernel=np.dot), X)):
        if model.kernel is np.dot:
            model.set_params(kernel=lambda A, B: A @ B.T)
        model.fit(samples, y)
        with pytest.raises(AttributeError, match="function_ needs a kernel"):
            _ = model.function_
    voted = quietly(KernelPerceptron(average="voted", max_iter=3), X, y > 0)
    with pytest.raises(AttributeError, match="votes"):
        _ = voted.function_
    with pytest.raises(ValueError, match="votes"):
        voted.contributions(X)
    with pytest.raises(AttributeError, match="not fitted"):
        _ = SVC().function_


# ---- Contributions


def terms_by_hand(model, kernel, X, Z):
    """All a_i K(x_i, z), (n_samples, n_outputs, n_training)."""
    functions = model.function_ if isinstance(model.function_, tuple) else (model.function_,)
    K = kernel(Z, X)
    out = np.zeros((len(Z), len(functions), len(X)))
    for o, f in enumerate(functions):
        a = np.zeros(len(X))
        for point, coefficient in zip(f.points, f.coefficients, strict=True):
            a[np.flatnonzero((point == X).all(axis=1))[0]] = coefficient
        out[:, o] = K * a
    return out


@pytest.mark.parametrize("top", [None, 1, 4, 1000])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_are_the_largest_terms(n_classes, top, rng):
    X, Z = rng.standard_normal((400, D)), rng.standard_normal((130, D))
    kernel = RBF(0.4)
    model = SVC(kernel=kernel, decision_function_shape="ovo")
    model.fit(X, rng.integers(0, n_classes, 400))
    terms = terms_by_hand(model, kernel, X, Z)
    indices, values = model.contributions(Z, top=top)
    k = len(model.support_) if top is None else min(top, len(model.support_))
    assert indices.dtype == np.int64
    if n_classes == 2:
        assert indices.shape == values.shape == (130, k)
        indices, values = indices[:, None], values[:, None]
    assert indices.shape == values.shape == (130, terms.shape[1], k)
    sizes = -np.sort(-abs(terms), axis=2)[:, :, :k]
    np.testing.assert_allclose(abs(values), sizes, rtol=1e-13)
    found = np.take_along_axis(terms, np.maximum(indices, 0), axis=2)
    np.testing.assert_allclose(values, np.where(indices < 0, 0, found), rtol=1e-13)
    assert (values[indices < 0] == 0).all()
    if k == len(model.support_):
        sums = values.sum(axis=2) + model.intercept_
        np.testing.assert_allclose(sums.squeeze(), model.decision_function(Z), atol=1e-11)


@pytest.mark.parametrize("kind", MACHINES)
def test_all_contributions_sum_with_the_intercept_to_the_decision(kind, rng):
    nu = {"nu": 0.3} if kind is NuSVC else {}
    model, X = fitted_machine(kind, rng, **nu)
    indices, values = model.contributions(X)
    np.testing.assert_allclose(values.sum(1) + model.intercept_, decisions(model, X), atol=1e-10)
    assert (np.sort(indices, axis=1) == np.sort(model.support_)).all()


def test_contributions_have_the_same_bits_in_any_batch_and_on_any_threads(rng):
    model, X = fitted_machine(SVR, rng, n_jobs=1)
    indices, values = model.contributions(X, top=7)
    one = [model.contributions(x[None], top=7) for x in X[:5]]
    assert_same_bits(np.vstack([v for _, v in one]), values[:5])
    assert (np.vstack([i for i, _ in one]) == indices[:5]).all()
    model.set_params(n_jobs=3)
    assert_same_bits(model.contributions(X, top=7)[1], values)


def test_given_kernel_values_have_contributions_too(rng):
    X, Z = rng.standard_normal((90, D)), rng.standard_normal((20, D))
    y = np.sign(X[:, 0] * X[:, 1])
    known = SVC(kernel="linear", precision="float64").fit(X, y)
    given = SVC(kernel="precomputed", precision="float64").fit(X @ X.T, y)
    function = SVC(kernel=lambda A, B: A @ B.T, precision="float64").fit(X, y)
    K = Z @ X.T
    for model, samples in ((known, Z), (given, K), (given, K[:, given.support_]), (function, Z)):
        indices, values = model.contributions(samples, top=5)
        assert indices.shape == (20, 5)
        whole = model.contributions(samples)[1].sum(axis=1) + model.intercept_
        np.testing.assert_allclose(whole, model.decision_function(samples), atol=1e-9)
        coef = np.zeros(90)
        coef[model.support_] = model.dual_coef_[0]
        wanted = np.take_along_axis(K * coef, indices, axis=1)
        np.testing.assert_allclose(values, wanted, atol=1e-12)


def test_contributions_of_merged_points_have_no_number(rng):
    X = rng.standard_normal((200, 2))
    y = (X[:, 0] > 0).astype(int)
    model = KernelPerceptron(budget=5, gamma=1.0, max_iter=3)
    quietly(model, X, y)
    indices, values = model.contributions(X[:9])
    assert indices.shape == (9, len(model.support_))
    assert set(indices[0]) == set(model.support_)
    whole = values.sum(axis=1) + model.intercept_
    np.testing.assert_allclose(whole, model.decision_function(X[:9]), atol=1e-12)


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "all"])
def test_a_bad_number_of_contributions_is_refused(top, rng):
    model, X = fitted_machine(SVR, rng)
    with pytest.raises((TypeError, ValueError), match="top must be an integer"):
        model.contributions(X, top=top)
    with pytest.raises(ValueError, match="features"):
        model.contributions(X[:, :2])


def test_contributions_of_tables(rng):
    frame = pd.DataFrame({"x": rng.standard_normal(80), "c": rng.choice(["a", "b"], 80)})
    y = np.where(frame["x"] + (frame["c"] == "a") > 0.5, 1, -1)
    model = SVC(kernel=RBF(0.5).on("x") + Delta().on("c")).fit(frame, y)
    _, values = model.contributions(frame)
    whole = values.sum(axis=1) + model.intercept_
    np.testing.assert_allclose(whole, model.decision_function(frame), atol=1e-11)
    f = model.function_
    assert_same_bits(f(frame) + model.intercept_, model.decision_function(frame))
    assert pickle.loads(pickle.dumps(f)) @ f == f @ f
