"""Learners and kernels that are not positive semi-definite: which ones warn, and that fits end."""

import warnings

import numpy as np
import pytest

import kcore
from conftest import MACHINES
from kcore.exceptions import IndefiniteKernelWarning
from kcore.kernels import RBF, Linear, Polynomial, exp

CONDITIONAL = Polynomial(degree=1, coef0=-5.0)
RNG = np.random.default_rng(3)
X = RNG.standard_normal((40, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
LEARNERS = [*MACHINES, kcore.KernelPerceptron]
TAKE_CONDITIONAL = ("SVC", "NuSVC", "SVR", "NuSVR")


def _warnings_of(learner, kernel):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nu = {"nu": 0.2} if learner is kcore.NuSVC else {}
        model = learner(kernel=kernel, gamma=0.05, max_iter=200, **nu).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    return [w for w in caught if issubclass(w.category, IndefiniteKernelWarning)]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kernel", [RBF() - 0.02 * Linear(), "sigmoid"])
def test_a_learner_warns_of_an_indefinite_kernel_by_name_and_still_ends(learner, kernel):
    (warning,) = _warnings_of(learner, kernel)
    assert f"{learner.__name__}: the kernel {kernel!r} is indefinite" in str(warning.message)
    assert warning.filename == __file__


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kernel", ["rbf", RBF() + 0 * Linear(), exp(CONDITIONAL)])
def test_positive_kernels_are_taken_without_a_word(learner, kernel):
    assert _warnings_of(learner, kernel) == []


@pytest.mark.parametrize("learner", LEARNERS)
def test_conditional_kernels_are_enough_where_coefficients_sum_to_zero(learner):
    caught = _warnings_of(learner, CONDITIONAL)
    if learner.__name__ in TAKE_CONDITIONAL:
        assert caught == []
    else:
        assert "is conditional, not positive" in str(caught[0].message)


def test_a_constant_changes_nothing_where_coefficients_sum_to_zero():
    shifted = kcore.SVC(kernel=CONDITIONAL, tol=1e-8).fit(X, Y)
    plain = kcore.SVC(kernel=Linear(), tol=1e-8).fit(X, Y)
    assert np.allclose(shifted.decision_function(X), plain.decision_function(X), atol=1e-6)
    assert shifted.fit_report_.dual == pytest.approx(plain.fit_report_.dual, rel=1e-9)
