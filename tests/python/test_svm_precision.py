"""Which precision a fit chooses, and that an audit in float64 agrees with what it reports."""

import numpy as np
import pytest

from kcore.svm import SVC


def audited_violation(model, X, y, C, gamma):
    """Largest violation of the optimality conditions, from the definition in float64."""
    X = X.astype(np.float64)
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    low, high = np.minimum(0, sign * C), np.maximum(0, sign * C)
    vectors = X[model.support_]
    grad = np.empty(len(X))
    for rows in np.array_split(np.arange(len(X)), 20):
        squared = ((X[rows, None, :] - vectors[None]) ** 2).sum(axis=2)
        grad[rows] = sign[rows] - np.exp(-gamma * squared) @ beta[model.support_]
    return grad[beta < high].max() - grad[beta > low].min()


def checkerboard(rng, n, d):
    X = rng.uniform(0, 4, size=(n, d))
    y = (np.floor(X[:, 0]) + np.floor(X[:, 1])).astype(int) % 2
    y[rng.random(n) < 0.02] ^= 1
    return X, y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("d", "C", "gamma", "offset"),
    [(2, 100.0, 4.0, 0.0), (2, 1000.0, 4.0, 0.0), (2, 10.0, 1.0, 1000.0), (30, 10.0, 0.05, 0.0)],
)
def test_a_fit_that_chooses_its_precision_passes_an_audit_in_float64(dtype, d, C, gamma, offset):
    X, y = checkerboard(np.random.default_rng(0), 2500, d)
    X = (X + offset).astype(dtype)
    model = SVC(C=C, gamma=gamma).fit(X, y)
    assert model.fit_report_.stop == "converged"
    slack = 1e-3 / 4 if model.fit_report_.precision == "float32" else 1e-9 * C
    assert audited_violation(model, X, y, C, gamma) <= 1e-3 + slack


def test_samples_that_float32_cannot_tell_apart_are_fitted_in_float64():
    X, y = checkerboard(np.random.default_rng(1), 2500, 30)
    X += 3e4  # float32 keeps three decimals of this
    model = SVC(C=10.0, gamma=0.05).fit(X, y)
    assert model.fit_report_.precision == "float64"
    assert audited_violation(model, X, y, 10.0, 0.05) <= 1e-3 * 1.01


def test_float32_is_used_where_it_does_and_float64_where_it_is_asked_for():
    X, y = checkerboard(np.random.default_rng(2), 2500, 2)
    assert SVC(gamma=1.0).fit(X, y).fit_report_.precision == "float32"
    assert SVC(gamma=1.0, precision="float64").fit(X, y).fit_report_.precision == "float64"
    assert SVC(gamma=1.0).fit(X[:500], y[:500]).fit_report_.precision == "float64"
