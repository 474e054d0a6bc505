"""Single calls of both perceptrons: what they ask, advise and refuse, and what they leave alone."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from conftest import assert_same_bits, quietly
from kcore import _core
from kcore.exceptions import ConvergenceWarning, NotFittedError
from kcore.kernels import RBF
from kcore.perceptron import KernelPerceptron, Perceptron
from test_kernel_perceptron import READINGS, blobs

EASY = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.5]])
SIDES = np.array([1, 1, 0, 0])


def both(**params):
    """Return a perceptron of each kind, with the same decision functions."""
    return [Perceptron(**params), KernelPerceptron(kernel="linear", **params)]


# ---- Averages


@pytest.mark.parametrize("average", [0, 1, 1.0, np.True_, np.False_, np.int64(1)])
@pytest.mark.parametrize("kind", [0, 1])
def test_an_average_is_the_same_however_true_is_written(kind, average, rng):
    X, y = blobs(rng, 60)
    model = quietly(both(average=average, max_iter=3)[kind], X, y)
    plain = quietly(both(average=bool(average), max_iter=3)[kind], X, y)
    assert_same_bits(model.coef_, plain.coef_)
    assert_same_bits(model.intercept_, plain.intercept_)
    np.testing.assert_allclose(
        model.decision_function(X), X @ model.coef_[0] + model.intercept_, rtol=1e-9, atol=1e-9
    )
    model.partial_fit(X[:1], y[:1])


# ---- Schedules


@pytest.mark.parametrize("kind", [0, 1])
def test_steps_of_passes_that_are_never_made_may_be_missing(kind):
    steps = [1.0, 0.5, 0.25]
    model = both(eta=lambda k: steps[k])[kind].fit(EASY, SIDES)
    assert model.converged_
    model = both(eta=lambda k: 10.0 ** (-200 * k))[kind].fit(EASY, SIDES)  # 0 at pass 2
    assert model.converged_
    assert model.n_iter_ == 2


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("multi_class", ["ovr", "direct"])
def test_a_step_that_is_missing_for_a_pass_ends_the_fit_and_changes_nothing(kind, multi_class, rng):
    X, y = blobs(rng, 90, 3)
    model = both(max_iter=5, multi_class=multi_class)[kind]
    before = quietly(model, X, y).decision_function(X)
    asked = []

    def eta(k):
        asked.append(k)
        return [1.0, 0.5, 0.25][k]

    with pytest.raises(IndexError, match="out of range"):
        model.set_params(eta=eta, max_iter=50).fit(X, y)
    assert asked == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"eta\(3\) is 0, must be finite and > 0"):
        model.set_params(eta=lambda k: float(max(0, 3 - k))).fit(X, y)
    with pytest.raises(TypeError, match=r"eta\(2\) must be a number"):
        model.set_params(eta=lambda k: "x" if k > 1 else 1.0).fit(X, y)
    assert_same_bits(model.decision_function(X), before)
    assert model.n_iter_ == 5


# ---- Advice


def test_no_warning_advises_what_is_refused(rng):
    X, y = blobs(rng, 60)
    for model in both(max_iter=2):
        for changes in ({}, {"average": True}, {"average": "voted"}, {"rule": "batch"}):
            with pytest.warns(ConvergenceWarning) as caught:
                copy.copy(model).set_params(**changes).fit(X, y)
            advice = {
                name: True
                for name in ("pocket", "average")
                if f"{name}=True" in str(caught[0].message)
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                copy.copy(model).set_params(**changes, **advice).fit(X, y)
            assert bool(advice) == (
                not changes or (changes, type(model)) == ({"rule": "batch"}, Perceptron)
            )


# ---- Votes


@pytest.mark.parametrize("multi_class", ["ovr", "direct"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_votes_of_many_calls_are_those_of_one(multi_class, form, rng):
    X, y = blobs(rng, 120, 3)
    whole, parts, mixed = (Perceptron(average="voted", multi_class=multi_class) for _ in range(3))
    whole.partial_fit(form(X), y, classes=[0, 1, 2])
    for i in range(120):
        parts.partial_fit(form(X[i : i + 1]), y[i : i + 1], classes=[0, 1, 2])
        other = form if i % 3 else (np.asarray if form is sp.csr_array else sp.csr_array)
        mixed.partial_fit(other(X[i : i + 1]), y[i : i + 1], classes=[0, 1, 2])
    assert_same_bits(parts.decision_function(X), whole.decision_function(X))
    assert_same_bits(mixed.decision_function(X), whole.decision_function(X))
    again = pickle.loads(pickle.dumps(parts))
    again.partial_fit(form(X[:50]), y[:50])
    parts.partial_fit(form(X[:50]), y[:50])
    assert_same_bits(again.decision_function(X), parts.decision_function(X))


def test_estimators_that_go_on_from_the_same_votes_do_not_meet(rng):
    X, y = blobs(rng, 60)
    first = Perceptron(average="voted").partial_fit(X[:20], y[:20], classes=[0, 1])
    before, second = first.decision_function(X), copy.copy(first)
    first.partial_fit(X[20:40], y[20:40])
    second.partial_fit(X[40:], 1 - y[40:])
    expected = Perceptron(average="voted").partial_fit(X[:20], y[:20], classes=[0, 1])
    assert_same_bits(expected.decision_function(X), before)
    expected.partial_fit(X[20:40], y[20:40])
    assert_same_bits(first.decision_function(X), expected.decision_function(X))


def test_calls_without_a_mistake_add_nothing_to_the_votes_but_time():
    X, y = EASY, SIDES
    model = Perceptron(average="voted").partial_fit(X, y, classes=[0, 1])
    for _ in range(3):
        model.partial_fit(X, y)
    held = len(pickle.dumps(model._fitted.votes))
    before = model.decision_function(X)
    for _ in range(100):
        model.partial_fit(X, y)
    assert len(pickle.dumps(model._fitted.votes)) <= held + 8  # a number may take more bytes
    np.testing.assert_array_equal(
        model.decision_function(X) - before, np.where(y == 1, 400.0, -400.0)
    )


# ---- Calls that end early


def interrupt(call, at):
    """Call, and raise KeyboardInterrupt at the at-th line of the package; say whether it came."""
    n_lines = 0

    def trace(frame, event, argument):
        nonlocal n_lines
        if event == "call" and "kcore" not in frame.f_code.co_filename:
            return None
        if event == "line":
            n_lines += 1
            if n_lines == at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def wide(x):
    """Return samples with so many features that the core keeps them sparse."""
    return sp.csr_array(np.pad(x, ((0, 0), (0, 200))))


ONE_BY_ONE = {
    "schedule": ({"eta": "inverse"}, np.asarray, {}),
    "class_weight": ({"class_weight": {0: 2.0, 1: 1.0}}, np.asarray, {}),
    "list": ({}, np.ndarray.tolist, {}),
    "frame": ({}, lambda x: pd.DataFrame(x, columns=list("abcd")), {}),
    "weight": ({}, np.asarray, {"sample_weight": [2.0]}),
    "csr": ({}, wide, {}),
    "batch": ({"rule": "batch"}, np.asarray, {}),
    "short": ({}, np.asarray, {}),
}


@pytest.mark.parametrize("way", sorted(ONE_BY_ONE))
def test_ctrl_c_at_any_line_leaves_counts_and_coefficients_that_agree(way, rng):
    params, form, more = ONE_BY_ONE[way]
    X, y = blobs(rng, 400)
    model = KernelPerceptron(kernel="linear", **params)
    model.partial_fit(form(X[:1]), y[:1], classes=[0, 1])
    n_interrupted = 0
    for i in range(1, 400):
        n_seen = model._fitted.learner.describe()["n_seen"]
        model.dual_coef_  # noqa: B018 kept, so that it could be out of date
        was_stopped = interrupt(lambda i=i: model.partial_fit(form(X[[i]]), y[[i]], **more), i)
        n_interrupted += was_stopped
        info = model._fitted.learner.describe()
        assert info["n_seen"] == model.n_iter_ in (n_seen, n_seen + 1)
        assert_same_bits(model.dual_coef_, model._fitted.learner.coef(_core.READING_LAST)[0])
        if not was_stopped:
            break
    else:
        pytest.fail("a call of a sample has more lines than it can have")
    assert n_interrupted > 3


@pytest.mark.parametrize("form", [np.asarray, wide, np.ndarray.tolist])
@pytest.mark.parametrize("budget", [None, 3])
@pytest.mark.parametrize("n_bad", [1, 2])
def test_samples_that_fail_are_not_counted(form, budget, n_bad, rng):
    X, y = blobs(rng, 40)
    model = KernelPerceptron(kernel="poly", degree=9, gamma=1.0, budget=budget)
    other = copy.deepcopy(model)
    for one in (model, other):
        one.partial_fit(form(X[:20]), y[:20], classes=[0, 1])
    bad = np.full((n_bad, 4), 1e40)
    for _ in range(3):
        with pytest.raises(ValueError, match="overflow"):
            model.partial_fit(form(bad), y[:n_bad])
    for i in range(20, 40):
        for one in (model, other):
            one.partial_fit(form(X[i : i + 1]), y[i : i + 1])
    assert model.support_.tolist() == other.support_.tolist()
    assert model.n_iter_ == other.n_iter_
    assert_same_bits(model.dual_coef_, other.dual_coef_)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("rule", ["single", "batch"])
def test_all_classes_have_had_their_turn_when_time_is_up(kind, rule, rng):
    X, y = rng.standard_normal((1500, 20)), rng.integers(0, 5, 1500)
    model = both(rule=rule, margin=1e9, max_iter=10**6, time_limit=0.5)[kind]
    with pytest.warns(ConvergenceWarning, match="reached time_limit"):
        model.fit(X, y)
    sizes = abs(model.intercept_) + abs(model.coef_).sum(axis=1)
    assert model.n_iter_ > 2
    assert sizes.min() > 0.1 * sizes.max()


@pytest.mark.parametrize(("rule", "average"), READINGS)
def test_turns_change_nothing_but_when_classes_are_learnt(rule, average, rng):
    X, y = blobs(rng, 120, 4)
    for common in ({}, {"shuffle": True, "random_state": 3, "eta": "sqrt"}):
        params = {"rule": rule, "average": average, "max_iter": 13, **common}
        plain = quietly(KernelPerceptron(kernel=RBF(0.5), **params), X, y)
        model = quietly(KernelPerceptron(kernel=RBF(0.5), time_limit=1000.0, **params), X, y)
        assert_same_bits(model.dual_coef_, plain.dual_coef_)
        assert_same_bits(model.decision_function(X), plain.decision_function(X))
        assert_same_bits(model.criterion_, plain.criterion_)
        assert model.mistakes_.tolist() == plain.mistakes_.tolist()
        assert (model.n_updates_, model.converged_) == (plain.n_updates_, plain.converged_)


# ---- Copies


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_a_copy_and_its_original_learn_on_their_own(make, rng):
    X, y = blobs(rng, 100)
    for model in both():
        model.partial_fit(X, y, classes=[0, 1])
        before, n_before = model.decision_function(X), model.n_iter_
        twin = make(model)
        assert_same_bits(twin.decision_function(X), before)
        for i in range(50):
            twin.partial_fit(X[i : i + 1], 1 - y[i : i + 1])
        assert (twin.decision_function(X) != before).any()
        assert_same_bits(model.decision_function(X), before)
        assert model.n_iter_ == n_before
        assert make(type(model)()).get_params() == type(model)().get_params()


# ---- Weights and parameters


@pytest.mark.parametrize("n", [1, 5])
def test_samples_that_all_weigh_nothing_change_nothing(n, rng):
    X, y = blobs(rng, 40)
    for model in both(eta="inverse"):
        model.partial_fit(X[:n], y[:n], classes=[0, 1], sample_weight=np.zeros(n))
        with pytest.raises(NotFittedError):
            model.predict(X)
        model.partial_fit(X, y, classes=[0, 1])
        state, before = model._fitted, model.decision_function(X)
        model.partial_fit(X[:n], 1 - y[:n], sample_weight=np.zeros(n))
        assert model._fitted is state
        assert_same_bits(model.decision_function(X), before)
        assert model.n_iter_ == 1
        with pytest.raises(ValueError, match="X has 2 features"):
            model.partial_fit(X[:n, :2], y[:n], sample_weight=np.zeros(n))
        with pytest.raises(ValueError, match="sample_weight is zero for all samples"):
            model.fit(X, y, sample_weight=np.zeros(40))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"time_limit": -1.0}, "time_limit must be positive or None"),
        ({"time_limit": "soon"}, "time_limit"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": "all"}, "n_jobs"),
        ({"shuffle": np.array([1, 0])}, "shuffle must be True or False"),
    ],
)
def test_one_sample_refuses_the_parameters_that_many_refuse(params, words, rng):
    X, y = blobs(rng, 40)
    model = KernelPerceptron(kernel=RBF(0.5)).partial_fit(X, y, classes=[0, 1])
    model.partial_fit(X[:1], y[:1])
    good = {name: getattr(model, name) for name in params}
    for n in (1, 2):
        with pytest.raises((ValueError, TypeError), match=words):
            model.set_params(**params).partial_fit(X[:n], y[:n])
        model.set_params(**good).partial_fit(X[:n], y[:n])
    assert model.n_iter_ == 4


def test_the_module_of_kernel_perceptrons_is_there_when_it_is_asked_for():
    code = "import kcore; assert kcore.kernel_perceptron.KernelPerceptron is kcore.KernelPerceptron"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("random", [None, [1, 2, 3, 4], np.ones(3, np.uint64), np.ones(4)], ids=str)
def test_a_pickle_without_the_four_words_of_its_generator_is_refused(random, rng):
    X, y = blobs(rng, 20)
    (state,) = quietly(Perceptron(), X, y)._fitted.states
    make, (*arrays, _), _ = state.__reduce__()
    with pytest.raises(ValueError, match="random must be an array of 4 uint64"):
        make(*arrays, random)
