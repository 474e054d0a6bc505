"""Fits end: at a tolerance, a limit, a signal; and say so. Cases without end elsewhere are here."""

import contextlib
import statistics
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from conftest import assert_same_bits, quietly
from kcore import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from kcore._targets import as_labels
from kcore.exceptions import ConvergenceWarning, NotSeparableError
from kcore.svm import Progress
from processes import seconds_to_stop


@pytest.fixture(scope="module")
def hard():
    """Noise with a large C: seconds of steps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 10))
    return X, rng.integers(0, 2, 5000)


HARD = {"C": 1e5, "gamma": 0.05, "tol": 1e-6}


# ---- Limits


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_the_warning_names_the_line_that_called_fit(machine, rng):
    X = rng.standard_normal((60, 3))
    with pytest.warns(ConvergenceWarning) as caught:
        machine(max_iter=1).fit(X, np.sign(X[:, 0]))
    assert caught[0].filename == __file__


def test_too_few_steps_give_a_warning_and_a_usable_model(rng):
    X = rng.standard_normal((200, 3))
    y = rng.integers(0, 2, 200)
    model = SVC(max_iter=5)
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*duality gap.*Raise max_iter") as caught:
        model.fit(X, y)
    report = model.fit_report_
    assert f"{report.gap:.3g}" in str(caught[0].message)
    assert f"tol {report.tol:g}" in str(caught[0].message)
    assert (model.fit_status_, report.stop, report.converged) == (1, "max_iter", False)
    assert report.violation >= report.tol
    assert model.predict(X).shape == (200,)
    assert SVC().fit(X, y).fit_status_ == 0


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR])
def test_a_time_limit_ends_a_fit_with_what_it_has(machine, hard):
    X, y = hard
    model = machine(time_limit=0.2, gamma=0.05, tol=1e-9)
    if hasattr(model, "C"):
        model.C = 1e5
    start = time.perf_counter()
    if machine is NuSVC:  # its start has many coefficients, and so takes time
        model.time_limit = 1.0
        X, y = X[:4000], y[:4000]
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)
    assert time.perf_counter() - start < 4
    assert model.fit_report_.stop == "time_limit"
    assert np.isfinite(model.dual_coef_).all()
    model.predict(X[:10])


def test_a_callback_is_told_how_far_the_fit_has_come(hard):
    X, y = hard
    seen = []

    def tell(progress):
        seen.append(progress)
        return len(seen) == 9

    with pytest.warns(ConvergenceWarning, match="stopped"):
        SVC(**HARD, callback=tell).fit(X, y)
    assert len(seen) == 9
    assert all(type(one) is Progress for one in seen)
    assert [one.seconds for one in seen] == sorted(one.seconds for one in seen)
    assert seen[-1].n_iter > 0
    gaps = np.diff([one.seconds for one in seen])
    assert np.median(gaps) < 0.1


def test_what_a_callback_raises_ends_the_fit_and_changes_nothing(hard):
    X, y = hard
    model = SVC().fit(X[:50], y[:50])
    before = model.dual_coef_

    class EnoughError(Exception):
        pass

    def stop(progress):
        raise EnoughError(progress.phase)

    model.set_params(**HARD, callback=stop)
    with pytest.raises(EnoughError):
        model.fit(X, y)
    assert model.dual_coef_ is before
    assert model.shape_fit_ == (50, 10)


@pytest.mark.parametrize("machine", [SVC, SVR, NuSVR])
def test_a_callback_that_returns_true_ends_the_fit_with_what_it_has(machine, hard):
    X, y = hard
    seen = []

    def enough(progress):
        seen.append(progress)
        return np.bool_(progress.n_iter > 100) if len(seen) % 2 else progress.n_iter > 100

    model = machine(**HARD, callback=enough)
    with pytest.warns(ConvergenceWarning, match=r"\(stopped\).*The callback returned True"):
        model.fit(X, y)
    assert not any(one.n_iter > 100 for one in seen[:-1])
    report = model.fit_report_
    assert (report.stop, model.fit_status_) == ("stopped", 1)
    assert report.n_iter >= seen[-1].n_iter > 100
    assert report.gap > 0
    assert np.isfinite(model.predict(X[:20])).all()
    if machine is NuSVR:  # its coefficients do not say how they were made up of two halves
        return
    model.set_params(callback=None, warm_start=True, max_iter=500)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert model.fit(X, y).fit_report_.dual >= report.dual * (1 - 1e-9)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after", [0.03, 0.1, 0.3])
def test_several_classes_are_stopped_with_what_they_have(after, n_jobs, rng):
    X = rng.standard_normal((1500, 5))
    y = rng.integers(0, 4, 1500)
    endless = {"C": 1e5, "tol": 1e-9, "n_jobs": n_jobs}
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        limited = SVC(**endless, time_limit=after).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="stopped"):
        stopped = SVC(**endless, callback=lambda progress: progress.seconds > after).fit(X, y)
    assert limited.fit_report_.stop == "time_limit"
    assert stopped.fit_report_.stop == "stopped"
    assert {one.stop for one in stopped.fit_report_.problems} <= {"converged", "stopped"}
    assert np.isin(stopped.predict(X), [0, 1, 2, 3]).all()


def test_a_callback_that_ends_a_fit_before_its_first_step_leaves_the_start(rng):
    X = rng.standard_normal((40000, 12))
    model = OneClassSVM(callback=lambda progress: True, n_jobs=1)
    with pytest.warns(ConvergenceWarning, match=r"\(stopped\).*no time was left to compute"):
        model.fit(X)
    assert_is_even_start(model, 0.5)


# ---- Signals


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_a_fit_and_leaves_the_estimator_as_it_was(n_jobs, hard):
    X, y = hard
    model = SVC(n_jobs=n_jobs).fit(X[:100], y[:100])
    before = model.decision_function(X[:20])
    expected = SVC().fit(X[:300], y[:300]).dual_coef_
    model.set_params(**HARD)
    waited = []
    for after in (0.03, 0.1, 0.25, 0.4, 0.6):
        waited.append(seconds_to_stop(lambda: model.fit(X, y), after))
        assert_same_bits(model.decision_function(X[:20]), before)
    assert_same_bits(SVC(n_jobs=n_jobs).fit(X[:300], y[:300]).dual_coef_, expected)
    # The median, since a busy machine may leave any one thread waiting for its turn.
    assert statistics.median(waited) <= 0.150
    assert max(waited) <= 2


def test_ctrl_c_stops_a_prediction(hard):
    X, y = hard
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=1.0, gamma=1.0, max_iter=3000).fit(X, y)
    Z = np.random.default_rng(1).standard_normal((300_000, 10))
    waited = [seconds_to_stop(lambda: model.predict(Z), after) for after in (0.05, 0.1, 0.2)]
    assert statistics.median(waited) <= 0.150


def test_ctrl_c_reaches_the_main_thread_while_others_fit(hard):
    X, y = hard
    with ThreadPoolExecutor(1) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = pool.submit(SVC(**HARD, time_limit=1.0).fit, X, y)
        assert seconds_to_stop(lambda: SVC(**HARD).fit(X, y), 0.2) <= 1
        assert other.result().fit_report_.stop == "time_limit"


# ---- Limits that leave no time for a step


def assert_is_even_start(model, share):
    report = model.fit_report_
    assert (report.n_iter, report.is_certified) == (0, False)
    for value in (report.primal, report.dual, report.gap, report.violation, report.norm):
        assert np.isnan(value)
    assert np.isnan(report.relative_gap)
    assert "no step was made" in str(report)
    assert "not computed" in str(report)
    np.testing.assert_allclose(np.abs(model.dual_coef_), share, rtol=1e-12)
    assert (model.intercept_ == 0).all()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("machine", [SVC, SVR, NuSVR])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_limit_that_leaves_no_time_gives_zeros_with_their_certificate(machine, n_classes, hard):
    X = hard[0]
    y = np.random.default_rng(1).integers(0, n_classes, len(X)).astype(float)
    model = machine(C=2.0, time_limit=1e-6)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)
    report = model.fit_report_
    assert (report.stop, report.n_iter, report.n_support) == ("time_limit", 0, 0)
    assert "no step was made" in str(report)
    assert report.dual == 0
    if machine is SVC:
        assert report.primal == pytest.approx(2 * len(X) * (n_classes - 1))  # every sample errs
        assert report.violation == 2
    if machine is SVR:
        middle = (y.max() + y.min()) / 2
        assert report.primal == pytest.approx(2 * np.maximum(np.abs(y - middle) - 0.1, 0).sum())
    assert len(np.unique(model.predict(X[:20]))) == 1


@pytest.mark.timeout(20)
@pytest.mark.parametrize("machine", [NuSVC, OneClassSVM])
def test_a_limit_that_leaves_no_time_gives_every_sample_its_share(machine, hard):
    X, y = hard
    X, y = np.concatenate([X[y == 0][:2000], X[y == 1][:2000]]), np.repeat([0, 1], 2000)
    model = machine(nu=0.25, time_limit=1e-6)
    with pytest.warns(ConvergenceWarning, match="no time was left to compute"):
        model.fit(X, y)
    assert model.fit_report_.stop == "time_limit"
    assert_is_even_start(model, 0.25)
    assert model.predict(X[:20]).shape == (20,)


@pytest.mark.timeout(20)
def test_a_limit_that_leaves_no_time_keeps_a_given_start(hard):
    X, y = hard
    model = SVC(gamma=0.05, warm_start=True).fit(X, y)
    before = model.dual_coef_.copy()
    model.set_params(time_limit=1e-6)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)
    assert model.fit_report_.n_iter == 0
    np.testing.assert_allclose(model.dual_coef_, before, rtol=0, atol=1e-12)


# ---- Known to run for ever elsewhere


@pytest.mark.timeout(20)
def test_six_samples_and_a_poly_kernel_of_large_values():
    X = np.array([
        [0.0, 3.0], [0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [3.0, 0.0], [4.0, 7.0],
    ]) * 1e3  # fmt: skip
    y = [0, 1, 0, 1, 0, 1]
    for degree in (3, 5, 7):
        for nu in (0.1, 0.5, 0.9):
            model = NuSVC(kernel="poly", degree=degree, nu=nu, gamma=1.0, max_iter=1_000_000)
            # The first sample is in both classes: where its weight alone makes up a hull, the
            # hulls overlap.
            with contextlib.suppress(ValueError):
                assert np.isfinite(quietly(model, X, y).dual_coef_).all()


@pytest.mark.timeout(20)
def test_kernel_values_that_overflow_are_refused_before_the_solver_runs(rng):
    X = rng.standard_normal((50, 3)) * 1e60
    with pytest.raises(ValueError, match=r"finite|overflow"):
        SVC(kernel="poly", degree=7, gamma=4178.0).fit(X, rng.integers(0, 2, 50))
    X = rng.standard_normal((50, 3)) * 100
    model = quietly(SVC(kernel="poly", degree=7, gamma=4178.0, max_iter=20_000), X, X[:, 0] > 0)
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.timeout(60)
def test_indefinite_kernels_end():
    check_indefinite_kernels(range(150))


@pytest.mark.slow
def test_a_thousand_indefinite_kernels_end():
    check_indefinite_kernels(range(1000, 2000))


def check_indefinite_kernels(seeds):
    statuses = set()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 120))
        y = rng.integers(0, 2, n)
        y[:2] = [0, 1]
        C = float(10 ** rng.uniform(-2, 6))
        kind = seed % 3
        if kind == 0:
            K = rng.standard_normal((n, n))
            X, kernel = K + K.T, {"kernel": "precomputed"}
        elif kind == 1:
            X, kernel = rng.standard_normal((n, 4)), {"kernel": "sigmoid", "gamma": 1.0}
        else:
            X = rng.standard_normal((n, 4))
            kernel = {"kernel": "poly", "degree": 3, "gamma": 1e4, "coef0": -5.0}
        model = quietly(SVC(C=C, max_iter=100_000, **kernel), X, y)
        assert np.isfinite(model.dual_coef_).all()
        assert np.isfinite(model.intercept_).all()
        assert abs(model.dual_coef_.sum()) <= 1e-9 * C * n
        assert (abs(model.dual_coef_) <= C).all()
        statuses.add(model.fit_report_.stop)
    assert statuses <= {"converged", "stalled", "max_iter"}
    assert "converged" in statuses


@pytest.mark.timeout(30)
def test_one_feature_of_very_different_sizes(rng):
    X = np.concatenate([rng.standard_normal((40, 1)), [[1e8], [-1e8]]])
    y = rng.integers(0, 2, 42)
    y[-2:] = [0, 1]
    model = quietly(SVC(kernel="linear", C=1e3, max_iter=200_000), X, y)
    assert np.isfinite(model.dual_coef_).all()


# ---- Hard margins


def test_separable_classes_have_a_hard_margin(rng):
    y = np.repeat([0, 1], 40)
    X = rng.standard_normal((80, 2))
    X[:, 0] += 8 * y
    model = SVC(kernel="linear", C=np.inf, tol=1e-6).fit(X, y)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert margins.min() == pytest.approx(1, abs=1e-5)
    w = model.coef_[0]
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(w), rel=1e-9)
    soft = SVC(kernel="linear", C=1e6, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, soft.coef_, rtol=1e-4)
    report = model.fit_report_
    assert report.converged
    assert abs(report.gap) <= 1e-5 * report.primal


def test_two_points_have_the_margin_between_them():
    model = SVC(kernel="linear", C=np.inf).fit([[0.0, 0.0], [3.0, 4.0]], [0, 1])
    assert model.margin_ == pytest.approx(2.5)
    np.testing.assert_allclose(model.coef_, [[6 / 25, 8 / 25]])
    np.testing.assert_allclose(model.intercept_, [-1])


def test_classes_that_cannot_be_separated_are_told_so(rng):
    X = rng.standard_normal((60, 2))
    y = rng.integers(0, 2, 60)
    with pytest.raises(NotSeparableError, match="separate"):
        SVC(kernel="linear", C=np.inf).fit(X, y)
    assert issubclass(NotSeparableError, ValueError)
    # In the feature space of a Gaussian, all different samples can be separated.
    model = SVC(C=np.inf, gamma=5.0).fit(X, y)
    assert model.score(X, y) == 1
    # But not the same sample in two classes.
    with pytest.raises(NotSeparableError):
        SVC(C=np.inf, gamma=5.0).fit(np.concatenate([X, X[:1]]), np.append(y, 1 - y[0]))


# ---- Before the solver begins

# A view of one number takes no memory, and as long to read as any samples of its size.
ENDLESS = np.broadcast_to(np.array([[0.5]]), (2**31 - 1, 3000))


def test_the_variance_of_x_hears_ctrl_c_the_limit_and_the_callback():
    waited = [seconds_to_stop(lambda: OneClassSVM().fit(ENDLESS), after) for after in (0.1, 0.2)]
    assert min(waited) <= 0.150

    class EnoughError(Exception):
        pass

    def stop(progress):
        assert progress.phase == "variance"
        raise EnoughError

    with pytest.raises(EnoughError):
        OneClassSVM(callback=stop).fit(ENDLESS)


@pytest.mark.parametrize("limits", [{"time_limit": 0.01}, {"callback": lambda progress: True}])
def test_a_fit_that_is_ended_before_its_gamma_is_known_stays_at_its_start(limits):
    X = np.broadcast_to(np.arange(50.0), (400_000, 50))
    y = np.arange(400_000) % 2
    with pytest.warns(ConvergenceWarning):
        model = SVC(**limits, n_jobs=1).fit(X, y)
    assert model.fit_report_.n_iter == 0
    assert len(model.support_) == 0
    assert "no step was made" in repr(model.fit_report_)


def test_samples_that_are_too_many_are_refused_before_they_are_read():
    X = np.broadcast_to(np.array([[0.5]]), (2**58, 2))
    with pytest.raises(ValueError, match="X has 288230376151711744 rows, must have at most"):
        OneClassSVM().fit(X)


def test_predict_compares_shapes_before_it_reads_x():
    model = SVC().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="X has 3000 features, but SVC is expecting 2"):
            method(ENDLESS)


def test_labels_are_encoded_as_numpy_would(rng):
    for labels in (
        rng.integers(0, 2, 1000) * 7 - 3,
        rng.integers(0, 40, 3000).astype(np.int16),
        rng.integers(0, 900, 3000).astype(str),
        rng.integers(0, 900, 3000).astype(np.float32)[::-2],
        np.array([0.0, -0.0, 1.0, -0.0, 2.0]),
        rng.integers(0, 2, 1000).astype(bool),
        rng.integers(0, 30, 1000).astype(str).astype(object),
    ):
        classes, codes = as_labels(labels, len(labels))
        expected, places = np.unique(labels, return_inverse=True)
        assert classes.dtype == labels.dtype
        np.testing.assert_array_equal(classes, expected)
        np.testing.assert_array_equal(codes, places)
