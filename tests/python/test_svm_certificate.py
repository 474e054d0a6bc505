"""Reports tell the truth of the model, wherever the solver stopped: audited from the definition."""

import numpy as np
import pytest

import audit
from conftest import quietly
from kcore import SVC, SVR, NuSVC, NuSVR, OneClassSVM


def assert_certified(problem, model, b, intercept):
    """The report has the numbers of these coefficients, to the rounding of their sums."""
    found, report = problem.audit(b, intercept), model.fit_report_
    size = abs(b).sum()
    rounding = 4e-16 * len(b) * size * size * abs(problem.K).max()
    assert found.box == 0
    assert found.sums <= 4e-16 * size
    assert report.dual == pytest.approx(found.dual, rel=1e-9, abs=rounding)
    assert report.primal == pytest.approx(found.primal, rel=1e-9, abs=rounding)
    assert report.gap == pytest.approx(found.gap, rel=1e-7, abs=2 * rounding)
    largest = max(found.violation, 0.0)
    assert report.violation == pytest.approx(largest, rel=1e-7, abs=2 * rounding / size + 1e-12)


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_millions_of_steps_with_a_huge_c_leave_exact_sums_and_a_true_gap(seed):
    """Each step rounds two coefficients and all values of the gradient, and none is undone."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, 2))
    y = X @ rng.standard_normal(2) + rng.standard_normal(5)
    problem = audit.eps_svr(X @ X.T, y, 4e6, 0.01)
    machine = SVR(kernel="linear", C=4e6, epsilon=0.01, tol=1e-9, max_iter=3_000_000)
    model = quietly(machine, X, y)
    assert model.fit_report_.stop == "max_iter"
    assert_certified(problem, model, audit.spread(model, 5), model.intercept_[0])


def test_one_step_among_huge_kernel_values_is_not_taken_for_a_solution():
    X, y = np.ones((3, 1)), np.array([0.58, 1.05, -1.08])  # K(x, x) = 1e24 swallows the targets
    machine = SVR(kernel="poly", degree=2, gamma=1e12, coef0=0.0)
    first = quietly(SVR(kernel="poly", degree=2, gamma=1e12, coef0=0.0, max_iter=7), X, y)
    model = quietly(machine, X, y, init=first)
    report, coef = model.fit_report_, model.dual_coef_.ravel()
    if coef.any():
        assert coef.sum() == 0  # the function is constant: what it is cannot matter
        assert report.converged
    else:
        assert report.violation == pytest.approx(y.max() - y.min() - 2 * model.epsilon)
        assert not report.converged


@pytest.mark.parametrize("C", [1e3, 1e5])
def test_sums_restored_after_many_steps_to_a_solution_leave_a_true_gap(C):
    """Without a tube every error counts C times: also one far below tol."""
    X = np.array([[-0.123], [0.735], [2.084], [0.0]])
    y = np.array([1.895, 0.394, -2.051, 1.7])
    model = SVR(kernel="linear", C=C, epsilon=0.0).fit(X, y)
    assert model.fit_report_.converged
    assert model.n_iter_ > 10_000
    problem = audit.eps_svr(X @ X.T, y, C, 0.0)
    found = problem.audit(audit.spread(model, 4), model.intercept_[0])
    rounding = 1e-14 * abs(model.dual_coef_).sum()
    assert model.fit_report_.violation == pytest.approx(found.violation, abs=rounding)
    assert model.fit_report_.primal == pytest.approx(found.primal, abs=4 * C * rounding)
    assert model.fit_report_.gap == pytest.approx(found.gap, abs=4 * C * rounding)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("max_iter", [1, 7, 60, 500, 4000])
@pytest.mark.parametrize("n", [30, 300, 1300])
@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM", "NuSVR", "NuSVC"])
def test_a_fit_that_was_stopped_early_is_certified_as_it_is(name, n, max_iter, kernel):
    rng = np.random.default_rng(n + max_iter)
    X = rng.standard_normal((n, 4)) * 10.0 ** rng.integers(-1, 2, 4)
    score = X @ rng.standard_normal(4) + rng.standard_normal(n)
    y = np.where(score > np.median(score), 1.0, -1.0)
    K = audit.kernel_matrix(kernel, X, X, gamma=0.1)
    C, common = 1e3, {"kernel": kernel, "gamma": 0.1, "max_iter": max_iter, "tol": 1e-8}
    machine, target, problem = {
        "SVC": (SVC(C=C, **common), y, audit.c_svc(K, y, C)),
        "SVR": (SVR(C=C, **common), score, audit.eps_svr(K, score, C, 0.1)),
        "OneClassSVM": (OneClassSVM(nu=0.3, **common), None, audit.one_class(K, 0.3, np.ones(n))),
        "NuSVR": (NuSVR(C=C, nu=0.3, **common), score, audit.nu_svr(K, score, 0.3, C)),
        "NuSVC": (NuSVC(nu=0.3, **common), y, audit.nu_svc(K, y, 0.3, np.ones(n))),
    }[name]
    try:
        model = quietly(machine, X, target)
    except ValueError as error:
        if name == "NuSVC" and "margin is zero" in str(error):
            return  # no direction parts the reduced hulls yet
        raise
    b, intercept, scale = audit.spread(model, n), model.intercept_[0], 1.0
    if name == "NuSVC":
        scale = 0.3 * n / abs(b).sum()
        b, intercept = audit.unscale(b, intercept, 0.3, np.ones(n))
    if name in ("NuSVR", "NuSVC"):
        # The primal values of these audits are those of the best tube or margin.
        found, report = problem.audit(b, intercept), model.fit_report_
        assert found.box == 0
        assert report.dual * scale**2 == pytest.approx(found.dual, rel=1e-9, abs=1e-9)
        assert report.gap >= 0
        return
    assert_certified(problem, model, b, intercept)


@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_a_boundary_that_encloses_the_free_samples_is_in_the_certificate(tol):
    X = np.random.default_rng(1).standard_normal((300, 3))
    model = OneClassSVM(nu=0.3, gamma=0.3, tol=tol, precision="float64").fit(X)
    problem = audit.one_class(audit.kernel_matrix("rbf", X, X, gamma=0.3), 0.3, np.ones(300))
    assert_certified(problem, model, audit.spread(model, 300), model.intercept_[0])


def test_the_path_names_the_methods_that_ran():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 2))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    few = SVC().fit(X[:200], y[:200]).fit_report_
    many = SVC().fit(X, y).fit_report_
    assert few.path == "pairs"
    assert few.n_sets == few.n_rounds == 0
    assert many.path == f"blocks {many.n_sets}"
    assert f"{many.n_iter} steps ({many.path})" in repr(many)
    three = SVC().fit(X, np.where(X[:, 0] > 1.5, 2, y)).fit_report_
    paths = {one.path for one in three.problems}
    assert three.path == ("mixed" if len(paths) > 1 else paths.pop())
