"""Flags, counts and vectors that are arrays or objects: refused in words that name them."""

import numpy as np
import pandas as pd
import pytest

import kcore
from kcore.perceptron import convergence_bound

X = np.array([[0.0, 1.0], [2.0, 1.0], [0.5, 0.0], [3.0, 3.0]])
Y = [0, 1, 0, 1]
LEARNERS = [kcore.SVC, kcore.Perceptron, kcore.KernelPerceptron]
FLAGS = ["shrinking", "fit_intercept", "shuffle", "warm_start", "pocket", "break_ties"]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("value", [np.ones(3), pd.DataFrame({"a": [1, 2]}), pd.NA], ids=type)
def test_a_flag_that_is_neither_true_nor_false_is_refused_by_name(learner, value):
    model = learner().fit(X, Y)
    before = model._fitted
    for name in FLAGS:
        if name not in model.get_params():
            continue
        with pytest.raises(TypeError, match=f"{name} must be True or False, got "):
            learner(**{name: value}).fit(X, Y).predict(X)
        model.set_params(**{name: value})
        with pytest.raises(TypeError, match=f"{name} must be True or False, got "):
            model.fit(X, Y).predict(X)
        model.set_params(**{name: learner().get_params()[name]})
        if name != "break_ties":  # which is for predictions
            assert model._fitted is before


@pytest.mark.parametrize("value", [np.ones(3), np.ones((2, 2)), int, np.array([True])], ids=repr)
def test_a_count_that_is_an_array_is_refused_by_name(value):
    with pytest.raises(TypeError, match="n_jobs must be a positive integer"):
        kcore.kernels.RBF()(X, n_jobs=value)
    with pytest.raises(TypeError, match="n must be a positive integer"):
        kcore.set_num_threads(value)
    for learner in LEARNERS:
        with pytest.raises(TypeError, match="max_iter must be an integer"):
            learner(max_iter=value).fit(X, Y)


def test_an_array_of_one_integer_without_dimensions_is_an_integer():
    assert kcore.SVC(max_iter=np.array(100)).fit(X, Y).fit_report_.converged


def test_an_object_that_cannot_be_shown_is_refused_all_the_same():
    class Silent:
        def __repr__(self):
            raise LookupError("nothing to say")

    with pytest.raises(TypeError, match=r"n_jobs must be .*, got an object of type Silent"):
        kcore.kernels.RBF()(X, n_jobs=Silent())


@pytest.mark.parametrize("value", ["voted", ["a", "b"], [[1.0], [2.0, 3.0]], [1j, 0], X[:0] > 0])
def test_a_separating_vector_holds_numbers(value):
    with pytest.raises((TypeError, ValueError), match=r"\bcoef\b"):
        convergence_bound(X, Y, value)
    with pytest.raises((TypeError, ValueError), match=r"\bintercept\b"):
        convergence_bound(X, Y, [1.0, 0.0], value)


def test_the_bound_refuses_a_flag_or_a_rule_that_is_none():
    with pytest.raises(TypeError, match="fit_intercept must be True or False"):
        convergence_bound(X, Y, [1.0, 0.0], fit_intercept=np.ones(2))
    with pytest.raises(ValueError, match="rule must be one of"):
        convergence_bound(X, Y, [1.0, 0.0], rule=np.ones(2))
