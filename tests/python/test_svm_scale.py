"""NuSVC, whose solution is divided by r: tol is of the function that is left, as everywhere."""

import warnings

import numpy as np
import pytest
import sklearn.svm

import audit
from kcore import SVC, NuSVC
from kcore.exceptions import ConvergenceWarning

TOL = 1e-3


def curved(rng, n, d):
    """Samples of two classes with a curved border and a little noise."""
    X = rng.standard_normal((n, d))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(n)
    return X, np.where(score > 0.3, 1, -1)


def noise(rng, n, d):
    """Samples and labels that have nothing to do with each other."""
    return rng.standard_normal((n, d)), rng.choice([-1, 1], n)


def problem(number):
    """Samples, labels, gamma and nu; of even numbers, kernels so wide that r is small."""
    rng = np.random.default_rng(number)
    X, y = curved(rng, int(rng.integers(40, 200)), int(rng.integers(2, 6)))
    is_wide = number % 2 == 0
    most = 2 * min((y > 0).mean(), (y < 0).mean())
    share = rng.uniform(0.2, 0.4) if is_wide else rng.uniform(0.2, 0.9)
    return X, y, 10 ** (rng.uniform(-3.3, -2.3) if is_wide else rng.uniform(-1, 0.5)), most * share


def judge(model, X, y, gamma, nu):
    """The violation in units of the decision function, from the definition, and r."""
    n = len(y)
    b, intercept = audit.spread(model, n), float(model.intercept_[0])
    scale = audit.scale_of(b, nu, np.ones(n))
    b, intercept = audit.unscale(b, intercept, nu, np.ones(n))
    K = audit.kernel_matrix("rbf", X, X, gamma=gamma)
    return audit.nu_svc(K, y, nu, np.ones(n), scale).audit(b, intercept).violation, scale


def quietly(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)


# ---- tol


def test_tol_bounds_the_violation_of_the_decision_function_on_two_hundred_problems():
    n_small = n_off = 0
    for number in range(200):
        X, y, gamma, nu = problem(number)
        params = {"nu": nu, "gamma": gamma, "tol": TOL}
        model = NuSVC(**params).fit(X, y)
        violation, scale = judge(model, X, y, gamma, nu)
        noise = 1e-13 * abs(model.dual_coef_).sum()
        assert violation < TOL + noise, (number, violation, scale)
        assert model.fit_report_.violation == pytest.approx(violation, rel=1e-6, abs=noise)
        theirs = sklearn.svm.NuSVC(**params).fit(X, y)
        n_off += judge(theirs, X, y, gamma, nu)[0] > TOL + noise
        n_small += scale < 1e-2
    assert n_small >= 95
    assert n_off >= 130


def test_a_small_scale_is_no_reason_to_stop_early():
    X, y = curved(np.random.default_rng(0), 85, 2)
    params = {"nu": 0.21, "gamma": 0.003}
    model = NuSVC(**params).fit(X, y)
    best = NuSVC(**params, tol=1e-8).fit(X, y)
    assert model.score(X, y) == best.score(X, y) > 0.95
    assert sklearn.svm.NuSVC(**params).fit(X, y).score(X, y) < 0.2  # stops where w has no meaning
    np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), atol=0.01)


def test_a_solution_is_that_of_the_svc_whose_c_is_one_over_the_scale():
    X, y, gamma, nu = problem(7)
    model = NuSVC(nu=nu, gamma=gamma, tol=1e-8).fit(X, y)
    scale = judge(model, X, y, gamma, nu)[1]
    same = SVC(C=1 / scale, gamma=gamma, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-5)


def test_float32_rows_are_judged_in_units_of_the_decision_function(rng):
    X, y = curved(rng, 1500, 3)
    model = NuSVC(nu=0.2, gamma=0.02).fit(X, y)
    violation, scale = judge(model, X, y, 0.02, 0.2)
    assert model.fit_report_.converged
    assert scale < 1
    assert violation <= 1.25 * TOL


@pytest.mark.parametrize("max_iter", [5, 20, 50])
def test_a_fit_that_is_stopped_says_its_violation_in_the_same_units(max_iter):
    X, y, gamma, nu = problem(12)
    model = quietly(NuSVC(nu=nu, gamma=gamma, tol=1e-9, max_iter=max_iter), X, y)
    report = model.fit_report_
    violation, _ = judge(model, X, y, gamma, nu)
    assert report.stop == "max_iter"
    assert report.violation == pytest.approx(violation, rel=1e-6)
    assert report.violation > report.tol


@pytest.mark.parametrize("n", [400, 3000])
def test_a_callback_is_told_the_violation_that_tol_is_held_against(n, rng):
    X, y = noise(rng, n, 2)
    told = []

    def note(progress):
        if progress.phase == "solve" and progress.n_iter > 0:
            told.append(progress.violation)
        return len(told) == 5

    quietly(NuSVC(nu=0.2, gamma=0.05, max_iter=10**7, callback=note), X, y)
    assert len(told) == 5
    assert min(told) > 0.01  # before the division it is far below


# ---- No margin


def test_a_margin_that_is_not_found_ends_the_fit_with_a_model_and_a_warning(rng):
    X, y = noise(rng, 300, 2)
    params = {"nu": 0.3, "gamma": 0.05}
    with pytest.warns(ConvergenceWarning, match="no_margin.*take a larger nu"):
        model = NuSVC(**params).fit(X, y)
    report = model.fit_report_
    assert report.stop == "no_margin"
    assert report.n_iter <= 30_000
    assert report.violation > 0.1
    assert report.violation == pytest.approx(judge(model, X, y, 0.05, 0.3)[0], rel=1e-5)
    assert report.gap >= report.norm**2 / 2  # a smaller gap would prove a margin
    assert np.isfinite(model.decision_function(X)).all()


def test_max_iter_is_a_number_of_steps_whether_a_margin_is_known_or_not(rng):
    X, y = noise(rng, 400, 2)
    model = quietly(NuSVC(nu=0.3, gamma=0.05, max_iter=60_000), X, y)
    assert model.fit_report_.stop == "max_iter"
    assert model.fit_report_.n_iter == 60_000


def test_class_weights_on_a_margin_that_is_not_found_end_soon_too(rng):
    X, y = noise(rng, 300, 2)
    model = quietly(NuSVC(nu=0.3, gamma=0.05, class_weight={1: 2.0}), X, y)
    assert model.fit_report_.stop == "no_margin"
    assert model.fit_report_.n_iter <= 60_000


@pytest.mark.parametrize("n", [40, 700])
@pytest.mark.parametrize("precision", ["auto", "float32", "float64"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_hulls_that_meet_are_an_error(n, precision, kernel, rng):
    X, _ = noise(rng, n, 3)
    twice, y = np.concatenate([X, X]), np.repeat([0, 1], n)
    model = NuSVC(nu=0.5, kernel=kernel, precision=precision)
    with pytest.raises(ValueError, match=r"the margin is zero: for nu = 0.5 the classes"):
        model.fit(twice, y)


def test_classes_that_overlap_are_an_error_where_a_looser_rule_gave_a_model(rng):
    """The distance of the hulls is 1e-4 when the gradient is solved to 1e-3."""
    X, y = noise(rng, 300, 2)
    with pytest.raises(ValueError, match="the margin is zero"):
        NuSVC(nu=0.3, kernel="linear").fit(X, y)
