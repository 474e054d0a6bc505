"""Which precision a fit chooses, and that an audit in float64 agrees with what it reports."""

import numpy as np
import pytest
import scipy.sparse as sp

from audit import dense
from kcore.svm import SVC, SVR


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


def clone_with(learner, options):
    return type(learner)(**{**learner.get_params(), **options})


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
    slack = 1e-9 * C if model.fit_report_.precision == "float64" else 1e-3 / 4
    assert audited_violation(model, X, y, C, gamma) <= 1e-3 + slack


def test_samples_that_float32_cannot_tell_apart_are_fitted_in_float64():
    X, y = checkerboard(np.random.default_rng(1), 2500, 30)
    X += 3e5  # float32 keeps one decimal of this
    model = SVC(C=10.0, gamma=0.05).fit(X, y)
    assert model.fit_report_.precision == "float64"
    assert audited_violation(model, X, y, 10.0, 0.05) <= 1e-3 * 1.01


def test_a_large_bound_alone_does_not_rule_out_float32():
    X, y = checkerboard(np.random.default_rng(3), 2500, 100)
    X[:, 0] += 10 * y  # far apart: few support vectors, far from the bound
    model = SVC(C=1000.0, gamma=1e-3).fit(X, y)
    assert model.fit_report_.precision == "float32"
    assert audited_violation(model, X, y, 1000.0, 1e-3) <= 1e-3 * 1.25


def test_a_solution_that_float32_leaves_a_little_off_is_refined():
    X, y = checkerboard(np.random.default_rng(0), 2500, 2)
    model = SVC(C=1000.0, gamma=4.0).fit(X, y)
    narrow = SVC(C=1000.0, gamma=4.0, precision="float32").fit(X, y)
    wide = SVC(C=1000.0, gamma=4.0, precision="float64", tol=1e-6).fit(X, y)
    report = model.fit_report_
    assert report.precision == "mixed"
    assert "mixed" in str(report)
    assert audited_violation(model, X, y, 1000.0, 4.0) <= 1e-3 * 1.125
    assert audited_violation(narrow, X, y, 1000.0, 4.0) > 1e-3 * 1.125
    # The objectives are those of the problem in float64, and enclose its optimum.
    assert report.dual <= wide.fit_report_.primal
    assert wide.fit_report_.dual <= report.primal


def test_decision_values_of_a_refined_model_are_float64():
    X, y = checkerboard(np.random.default_rng(0), 2500, 2)
    model = SVC(C=1000.0, gamma=4.0).fit(X, y)
    assert model.fit_report_.precision == "mixed"
    assert model.support_vectors_.tolist() == X[model.support_].tolist()
    squared = ((X[:300, None, :] - X[model.support_][None]) ** 2).sum(axis=2)
    f = np.exp(-4.0 * squared) @ model.dual_coef_[0] + model.intercept_[0]
    size = np.abs(model.dual_coef_).sum()
    assert np.abs(model.decision_function(X[:300]) - f).max() <= 1e-14 * size


def test_refined_fits_have_the_same_bits_for_every_storage_cache_and_number_of_threads():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((2400, 20)) * (rng.random((2400, 20)) < 0.4)
    t = np.abs(X).sum(axis=1) + np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(2400)
    y = np.digitize(t, np.quantile(t, [0.25, 0.5, 0.75]))
    for learner, target in ((SVC(C=1000.0, gamma=0.05), y), (SVR(C=100.0, gamma=0.05), t)):
        first = learner.fit(X, target)
        assert first.fit_report_.precision == "mixed"
        expected = [first.dual_coef_.copy(), first.intercept_.copy(), first.predict(X[:50])]
        for samples, options in (
            (sp.csr_array(X), {}),
            (np.asfortranarray(X), {"n_jobs": 1}),
            (X, {"cache_size": 2, "n_jobs": 2}),
        ):
            again = clone_with(learner, options).fit(samples, target)
            found = [dense(again.dual_coef_), again.intercept_, again.predict(samples[:50])]
            for values, wanted in zip(found, expected, strict=True):
                assert np.array_equal(values, wanted)


def test_float32_is_used_where_it_does_and_float64_where_it_is_asked_for():
    X, y = checkerboard(np.random.default_rng(2), 2500, 2)
    assert SVC(gamma=1.0).fit(X, y).fit_report_.precision == "float32"
    assert SVC(gamma=1.0, precision="float64").fit(X, y).fit_report_.precision == "float64"
    assert SVC(gamma=1.0).fit(X[:500], y[:500]).fit_report_.precision == "float64"
