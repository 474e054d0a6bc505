"""Kernel perceptrons in use: streams, warm starts, stops, labels, and what they refuse in words."""

import copy
import pickle
import resource
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from conftest import assert_same_bits, quietly
from kcore import _core
from kcore.exceptions import ConvergenceWarning, NotFittedError
from kcore.kernels import RBF, Polynomial
from kcore.perceptron import KernelPerceptron
from processes import in_child, seconds_to_stop
from test_kernel_perceptron import READINGS, STRATEGIES, blobs, spread

# ---- Streams


def stream(n_blocks, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n_blocks):
        yield blobs(rng, 2000, d=5)


STATM = Path("/proc/self/statm")


def resident_bytes():
    """Memory of this process; 0 where that is not told."""
    return int(STATM.read_text().split()[1]) * resource.getpagesize() if STATM.exists() else 0


def check_stream(n_blocks, strategy, budget):
    """Learn block by block and sample by sample; see that what is held does not grow."""
    model = KernelPerceptron(kernel=RBF(0.2), budget=budget, strategy=strategy)
    held = {}
    n_updates = 0
    for k, (X, y) in enumerate(stream(n_blocks)):
        model.partial_fit(X, y, classes=[0, 1])
        for i in range(20):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        held[k] = (model._fitted.learner.describe()["n_bytes"], resident_bytes())
        assert len(model.support_) == budget
        assert model.n_updates_ > n_updates + 100  # it goes on changing
        n_updates = model.n_updates_
    first = n_blocks // 5  # by then all room there ever will be is taken
    assert {n_bytes for n_bytes, _ in held.values()} == {held[0][0]}
    assert held[n_blocks - 1][1] - held[first][1] < 2**20
    assert held[0][0] < 200 * budget + 1000 + (8 * budget**2 if strategy == "projection" else 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stream_with_a_budget_holds_constant_memory(strategy):
    check_stream(12, strategy, 60)


def test_a_stream_of_a_hundred_thousand_samples_holds_constant_memory():
    check_stream(50, "merge", 50)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stream_of_a_million_samples_holds_constant_memory(strategy):
    check_stream(500, strategy, 100)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"average": True},
        {"average": "voted"},
        {"multi_class": "direct"},
        *({"budget": 15, "strategy": strategy} for strategy in STRATEGIES),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_pickle_in_mid_stream_goes_on_to_the_bit(more, form, rng):
    X, y = blobs(rng, 240, 3)
    X = form(X)
    model = KernelPerceptron(kernel=RBF(0.3), shuffle=True, random_state=5, eta="sqrt", **more)
    for k in range(4):
        rows = slice(60 * k, 60 * k + 60)
        others = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
        for one in (model, *others):
            one.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        for other in others:
            assert_same_bits(other.dual_coef_, model.dual_coef_)
            assert_same_bits(other.decision_function(X), model.decision_function(X))
            assert other.support_.tolist() == model.support_.tolist()
            assert other.n_updates_ == model.n_updates_
            assert other.n_iter_ == model.n_iter_ == k + 1


def test_a_copy_learns_on_its_own(rng):
    X, y = blobs(rng, 100)
    model = KernelPerceptron(budget=10).partial_fit(X, y, classes=[0, 1])
    before = model.decision_function(X)
    copy.deepcopy(model).partial_fit(X, 1 - y)
    assert_same_bits(model.decision_function(X), before)


def test_schedules_count_calls_of_partial_fit(rng):
    X, y = blobs(rng, 60)
    seen = []

    def eta(k):
        seen.append(k)
        return 1.0 / (k + 1)

    online = KernelPerceptron(kernel="linear", eta=eta)
    named = KernelPerceptron(kernel="linear", eta="inverse")
    for rows in np.split(np.arange(60), 4):
        online.partial_fit(X[rows], y[rows], classes=[0, 1])
        named.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert seen == [0, 1, 2, 3]
    assert online.n_iter_ == 4
    assert_same_bits(online.dual_coef_, named.dual_coef_)
    assert set(abs(online.dual_coef_[0])) <= {1, 1 / 2, 1 / 3, 1 / 4}


def test_weights_are_factors_of_the_step_and_zero_leaves_a_sample_out(rng):
    X, y = blobs(rng, 120)
    weights = rng.integers(0, 3, 120).astype(float)
    keep = weights > 0
    for budget in (None, 10):
        model = KernelPerceptron(kernel=RBF(0.3), budget=budget)
        model.partial_fit(X, y, classes=[0, 1], sample_weight=weights)
        rest = KernelPerceptron(kernel=RBF(0.3), budget=budget)
        rest.partial_fit(X[keep], y[keep], classes=[0, 1], sample_weight=weights[keep])
        assert_same_bits(model.dual_coef_, rest.dual_coef_)
        one_by_one = KernelPerceptron(kernel=RBF(0.3), budget=budget)
        for i in np.flatnonzero(keep):
            one_by_one.partial_fit(X[[i]], y[[i]], classes=[0, 1], sample_weight=weights[[i]])
        assert_same_bits(one_by_one.dual_coef_, model.dual_coef_)
    by_class = KernelPerceptron(kernel=RBF(0.3), class_weight={0: 1.0, 1: 3.0})
    by_class.partial_fit(X, y, classes=[0, 1])
    by_sample = KernelPerceptron(kernel=RBF(0.3))
    by_sample.partial_fit(X, y, classes=[0, 1], sample_weight=np.where(y == 1, 3.0, 1.0))
    assert_same_bits(by_class.dual_coef_, by_sample.dual_coef_)


# ---- Going on


@pytest.mark.parametrize(("rule", "average"), READINGS)
def test_a_warm_start_goes_on_with_the_passes(rule, average, rng):
    X, y = blobs(rng, 150, 3)
    common = {"rule": rule, "average": average, "shuffle": True, "random_state": 1}
    whole = quietly(KernelPerceptron(kernel=RBF(0.3), max_iter=6, **common), X, y)
    parts = KernelPerceptron(kernel=RBF(0.3), max_iter=2, warm_start=True, **common)
    mistakes = []
    for _ in range(3):
        quietly(parts, X, y)
        mistakes += parts.mistakes_.tolist()
    assert mistakes == whole.mistakes_.tolist()
    assert parts.n_updates_ == whole.n_updates_
    np.testing.assert_allclose(spread(parts, 150), spread(whole, 150), rtol=1e-9, atol=1e-12)
    assert (parts.predict(X) == whole.predict(X)).all()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"average": True, "shuffle": True, "random_state": 0},
        {"average": "voted", "multi_class": "direct"},
        {"rule": "batch", "eta": lambda k: 2.0**-k},
        {"budget": 20, "strategy": "oldest"},
    ],
)
def test_passes_in_several_calls_of_the_core_are_those_of_one(params, rng, monkeypatch):
    X = rng.integers(-3, 4, (60, 3)).astype(float)  # so that every sum is exact
    y = rng.integers(0, 3, 60)
    params = {"max_iter": 8, **params}
    whole = quietly(KernelPerceptron(kernel=Polynomial(2, 1.0, 1.0), **params), X, y)
    monkeypatch.setattr("kcore._online._MAX_PASSES", 3)
    parts = quietly(KernelPerceptron(kernel=Polynomial(2, 1.0, 1.0), **params), X, y)
    assert parts.n_iter_ == whole.n_iter_ == 8
    assert_same_bits(spread(parts, 60), spread(whole, 60))
    for name in ("intercept_", "mistakes_", "criterion_"):
        assert_same_bits(getattr(parts, name), getattr(whole, name))
    assert parts.n_updates_ == whole.n_updates_
    assert_same_bits(parts.decision_function(X), whole.decision_function(X))


def test_any_number_of_passes_may_be_allowed():
    X, y = np.array([[1.0], [-1.0]]), [1, 0]
    model = KernelPerceptron(kernel="linear", max_iter=10**12).fit(X, y)
    assert model.converged_
    assert model.n_updates_ <= model.bound_


def test_a_warm_start_from_other_samples_keeps_what_was_learnt(rng):
    X, y = blobs(rng, 200)
    model = KernelPerceptron(kernel=RBF(0.3), warm_start=True, max_iter=1)
    quietly(model, X[:100], y[:100])
    first = model.support_vectors_
    quietly(model, X[100:], y[100:])
    np.testing.assert_array_equal(model.support_vectors_[: len(first)], first)
    online = KernelPerceptron(kernel=RBF(0.3)).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_array_equal(model.support_vectors_, online.support_vectors_)
    assert_same_bits(model.dual_coef_, online.dual_coef_)
    with pytest.raises(ValueError, match="warm_start: the features or labels"):
        model.fit(X[:, :3], y)
    with pytest.raises(ValueError, match="gamma was 'scale' in the first call and is 2"):
        model.set_params(gamma=2).fit(X, y)


def test_partial_fit_goes_on_from_fit(rng):
    X, y = blobs(rng, 200)
    model = quietly(KernelPerceptron(kernel=RBF(0.3), max_iter=2), X[:100], y[:100])
    n_updates, support = model.n_updates_, model.support_.tolist()
    model.partial_fit(X[100:], y[100:])
    assert model.n_iter_ == 3
    assert model.n_updates_ == n_updates + model.mistakes_[0]
    assert model.support_.tolist()[: len(support)] == support
    new = model.support_[len(support) :]
    assert (new >= 100).all()
    np.testing.assert_array_equal(model.support_vectors_[len(support) :], X[new])
    assert model.bound_ is None


# ---- Stops


@pytest.fixture(scope="module")
def hard():
    """Noise: every pass makes mistakes, and takes a while."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((20_000, 20)), rng.integers(0, 2, 20_000)


HARD = {"gamma": 0.01, "max_iter": 100_000, "margin": 1e3}


@pytest.mark.parametrize("rule", ["single", "batch"])
def test_a_time_limit_ends_a_fit_with_what_it_has(rule, hard):
    X, y = hard
    model = KernelPerceptron(rule=rule, time_limit=0.3, **HARD)
    start = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"reached time_limit=0.3 in pass \d+.*Raise"):
        model.fit(X[:5000], y[:5000])
    assert time.perf_counter() - start < 4
    assert np.isfinite(model.dual_coef_).all()
    assert not model.converged_
    model.predict(X[:10])


@pytest.mark.parametrize("budget", [None, 300])
def test_a_time_limit_ends_partial_fit_with_what_it_has(budget, hard):
    X, y = hard
    model = KernelPerceptron(
        gamma=0.01, margin=1e3, budget=budget, strategy="projection", time_limit=0.1
    )
    start = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"reached time_limit=0.1 in pass 1\. Raise"):
        model.partial_fit(X, y, classes=[0, 1])
    assert time.perf_counter() - start < 4
    assert len(model.support_) > 0
    assert model.support_.max() < 15_000


def test_a_callback_is_told_how_far_it_has_come(hard):
    X, y = hard
    seen = []

    def tell(progress):
        seen.append(progress)
        return len(seen) >= 4 and progress.n_iter > 0  # fresh memory may be slow

    with pytest.warns(ConvergenceWarning, match="callback"):
        KernelPerceptron(**HARD, callback=tell).fit(X[:3000], y[:3000])
    assert len(seen) >= 4
    assert [one.seconds for one in seen] == sorted(one.seconds for one in seen)
    assert [one.n_iter for one in seen] == sorted(one.n_iter for one in seen)


def test_a_callback_that_returns_true_ends_learning_with_what_it_has(hard):
    X, y = hard
    words = "was stopped in pass .*The callback returned True"
    seen = []

    def enough(progress):
        seen.append(progress)
        return progress.n_iter >= 2

    model = KernelPerceptron(**HARD, callback=enough)
    with pytest.warns(ConvergenceWarning, match=words):
        model.fit(X[:1000], y[:1000])
    assert seen[-1].n_iter == model.n_iter_ >= 2
    assert not any(one.n_iter >= 2 for one in seen[:-1])
    online = KernelPerceptron(
        gamma=0.01, margin=1e3, budget=300, strategy="projection",
        callback=lambda progress: np.bool_(True),
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match=words):
        online.partial_fit(X, y, classes=[0, 1])
    assert 0 < online.support_.max() < 15_000


class EnoughError(Exception):
    pass


def stop(progress):
    raise EnoughError(progress.phase)


@pytest.mark.parametrize("rule", ["single", "batch"])
def test_what_a_callback_raises_ends_the_fit_and_changes_nothing(rule, hard):
    X, y = hard
    model = quietly(KernelPerceptron(rule=rule, max_iter=2), X[:50], y[:50])
    before = model.dual_coef_
    model.set_params(**HARD, callback=stop)
    with pytest.raises(EnoughError):
        model.fit(X[:5000], y[:5000])
    assert model.dual_coef_ is before
    model.set_params(warm_start=True, gamma="scale")
    with pytest.raises(EnoughError):
        model.fit(X[:5000], y[:5000])
    assert_same_bits(model._fitted.learner.coef(_core.READING_LAST)[0], before)


@pytest.mark.parametrize("budget", [None, 200])
def test_what_a_callback_raises_ends_partial_fit_and_changes_nothing(budget, hard):
    X, y = hard
    model = KernelPerceptron(gamma=0.01, budget=budget, strategy="projection")
    model.partial_fit(X[:300], y[:300], classes=[0, 1])
    untouched = copy.deepcopy(model)
    model.set_params(callback=stop)
    with pytest.raises(EnoughError):
        model.partial_fit(X, y)
    for one in (model, untouched):
        one.set_params(callback=None).partial_fit(X[300:600], y[300:600])
    assert model.n_updates_ == untouched.n_updates_
    assert model.n_iter_ == untouched.n_iter_ == 2
    assert model.support_.tolist() == untouched.support_.tolist()
    assert_same_bits(model.dual_coef_, untouched.dual_coef_)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("learning", ["single", "batch", "online"])
def test_ctrl_c_stops_learning_and_leaves_the_estimator_as_it_was(n_jobs, learning, hard):
    X, y = hard
    limits = {"budget": 500, "strategy": "projection"} if learning == "online" else {}
    model = KernelPerceptron(gamma=0.01, n_jobs=n_jobs, max_iter=2, **limits)
    quietly(model, X[:200], y[:200])
    before = model.decision_function(X[:20])
    state = model._fitted
    model.set_params(**HARD)
    waited = []
    for after in (0.03, 0.1, 0.2):
        if learning == "online":
            waited.append(seconds_to_stop(lambda: model.partial_fit(X, y), after))
        else:
            model.set_params(rule=learning)
            waited.append(seconds_to_stop(lambda: model.fit(X[:5000], y[:5000]), after))
        assert model._fitted is state
        assert_same_bits(model.decision_function(X[:20]), before)
    # The median, since a busy machine may leave any one thread waiting for its turn.
    assert sorted(waited)[1] <= 0.150
    assert max(waited) <= 2


def test_ctrl_c_stops_a_prediction(hard):
    X, y = hard
    model = KernelPerceptron(gamma=0.01, margin=1e3, average="voted")
    model.partial_fit(X[:4000], y[:4000], classes=[0, 1])
    waited = [seconds_to_stop(lambda: model.predict(X), after) for after in (0.03, 0.06, 0.1)]
    assert sorted(waited)[1] <= 0.150


def test_a_callback_may_predict_but_not_learn(hard):
    X, y = hard
    model = KernelPerceptron(gamma=0.01, budget=200, strategy="projection")
    model.partial_fit(X[:300], y[:300], classes=[0, 1])
    expected = model.decision_function(X[:5])
    seen = []

    def look(progress):
        if not seen:
            seen.append(model.decision_function(X[:5]))

    model.set_params(callback=look).partial_fit(X, y)
    assert_same_bits(seen[0], expected)


def test_threads_that_predict_see_a_learner_between_two_samples(rng):
    X, y = blobs(rng, 400)
    model = KernelPerceptron(kernel=RBF(0.3), budget=20).partial_fit(X[:50], y[:50], classes=[0, 1])
    ready = threading.Event()

    def read():
        ready.wait()
        for _ in range(200):
            values = model.decision_function(X[:7])
            assert values.shape == (7,)
            assert np.isfinite(values).all()

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        ready.set()
        for i in range(400):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        for reader in readers:
            reader.result()
    alone = KernelPerceptron(kernel=RBF(0.3), budget=20).partial_fit(X[:50], y[:50], classes=[0, 1])
    assert_same_bits(alone.partial_fit(X, y).dual_coef_, model.dual_coef_)


def test_a_forked_child_learns_on_its_own(rng):
    X, y = blobs(rng, 4000, d=30)
    model = KernelPerceptron(kernel=RBF(0.05), n_jobs=2).partial_fit(
        X[:2000], y[:2000], classes=[0, 1]
    )
    before = model.decision_function(X[:50])
    expected = copy.deepcopy(model).partial_fit(X[2000:], y[2000:]).decision_function(X[:50])

    def learns():
        model.partial_fit(X[2000:], y[2000:])
        return (model.decision_function(X[:50]) == expected).all()

    in_child(learns, seconds=30)
    assert_same_bits(model.decision_function(X[:50]), before)


# ---- Labels, names, words


def test_labels_may_be_words(rng):
    X, y = blobs(rng, 100, 3)
    words = np.array(["ant", "bee", "cow"])
    model = KernelPerceptron(kernel=RBF(0.3)).partial_fit(X, words[y], classes=words[::-1])
    assert model.classes_.tolist() == words.tolist()
    plain = KernelPerceptron(kernel=RBF(0.3)).partial_fit(X, y, classes=[0, 1, 2])
    assert (model.predict(X) == words[plain.predict(X)]).all()
    for label in (["bee"], np.array(["bee"]), ("bee",)):
        model.partial_fit(X[:1], label)
    with pytest.raises(ValueError, match="'dog', which is not in classes"):
        model.partial_fit(X[:1], ["dog"])


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Index, lambda c: c[::-1]])
def test_classes_may_be_passed_with_every_sample(form, rng):
    X, y = blobs(rng, 60, 3)
    expected = KernelPerceptron(kernel=RBF(0.3), budget=9).partial_fit(X, y, classes=[0, 1, 2])
    model = KernelPerceptron(kernel=RBF(0.3), budget=9, eta=1, margin=0)
    same = form([0, 1, 2])
    for i in range(60):
        model.partial_fit(X[[i]], y[[i]], classes=same if i % 2 else form([0, 1, 2]))
    assert_same_bits(model.dual_coef_, expected.dual_coef_)
    assert b"pandas" not in pickle.dumps(model)
    for other in ([0, 1], [0, 1, 2, 3], np.arange(4), ["a", "b"]):
        with pytest.raises(ValueError, match="not the same as on the last call"):
            model.partial_fit(X[:1], y[:1], classes=other)


def test_names_of_features_are_kept_and_checked(rng):
    X, y = blobs(rng, 60)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KernelPerceptron(kernel=RBF(0.3)).partial_fit(frame, y, classes=[0, 1])
    assert model.feature_names_in_.tolist() == list("abcd")
    model.partial_fit(frame[:1], y[:1])
    with pytest.raises(ValueError, match="same order"):
        model.partial_fit(frame[list("dcba")], y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.partial_fit(X[:1], y[:1])


ONE = np.array([[0.0, 1.0]])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"kernel": "gauss"}, "kernel"),
        ({"degree": 2.5, "kernel": "poly"}, "degree"),
        ({"gamma": -1.0}, "gamma"),
        ({"rule": "triple"}, "rule must be one of"),
        ({"eta": 0.0}, r"eta\(0\) is 0, must be finite and > 0"),
        ({"eta": "linear"}, "eta must be one of"),
        ({"eta": lambda k: float("nan")}, r"eta\(0\) is nan"),
        ({"margin": -1.0}, "margin is -1, must be finite and >= 0"),
        ({"theta": -1.0, "rule": "batch"}, "theta is -1"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"average": "mean"}, "average must be one of"),
        ({"average": True, "rule": "batch"}, "average=True needs rule='single'"),
        ({"average": "voted", "budget": 3}, "average='voted' needs budget=None, got budget=3"),
        ({"budget": 0}, "budget must be positive or None, got 0"),
        ({"budget": 2.5}, "budget"),
        ({"budget": 3, "strategy": "newest"}, "strategy must be one of"),
        ({"budget": 3, "rule": "batch"}, "budget needs rule='single', got rule='batch'"),
        ({"budget": 3, "kernel": "precomputed"}, "budget needs a kernel of kcore.kernels"),
        ({"multi_class": "ovo"}, "multi_class must be one of"),
        ({"precision": "half"}, "precision must be one of"),
        ({"cache_size": -3}, "cache_size must be 'auto' or a positive number of megabytes, got -3"),
        ({"time_limit": 0}, "time_limit must be positive or None"),
        ({"random_state": "seed"}, "random_state must be None"),
    ],
)
def test_parameters_that_make_no_sense_are_named(params, words):
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    model = KernelPerceptron(**params)
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(X, [0, 1])
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_samples_that_make_no_sense_are_named_and_nothing_is_learnt(rng):
    X, y = blobs(rng, 50)
    model = KernelPerceptron(kernel=RBF(0.3), budget=10)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="there must be at least 2"):
        model.partial_fit(X, y, classes=[1])
    model.partial_fit(X, y, classes=[0, 1])
    before = model.decision_function(X)
    bad = X.copy()
    bad[7, 2] = np.inf
    with pytest.raises(ValueError, match="row 7, column 2 is inf"):
        model.partial_fit(bad, y)
    with pytest.raises(ValueError, match="row 0, column 2 is inf"):
        model.partial_fit(bad[7:8], y[7:8])
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(X[:1, :3], y[:1])
    with pytest.raises(ValueError, match="X has 1 rows, y has 2 entries"):
        model.partial_fit(X[:1], [0, 1])
    with pytest.raises(ValueError, match="not the same as on the last call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="budget was 10 in the first call and is 11 now"):
        model.set_params(budget=11).partial_fit(X[:1], y[:1])
    model.set_params(budget=10)
    with pytest.raises(ValueError, match="-1"):
        model.partial_fit(X, y, sample_weight=-np.ones(50))
    with pytest.raises(ValueError, match="'balanced' cannot be used with partial_fit"):
        copy.copy(model).set_params(class_weight="balanced").partial_fit(X, y)
    for words, changes in (("margin", {"margin": -1.0}), ("eta", {"eta": -1.0})):
        with pytest.raises(ValueError, match=words):
            copy.copy(model).set_params(**changes).partial_fit(X[:1], y[:1])
    assert_same_bits(model.decision_function(X), before)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("kernel", ["precomputed", lambda A, B: A @ B.T])
def test_kernels_that_python_computes_are_for_fit_only(kernel):
    with pytest.raises(ValueError, match="partial_fit needs a kernel of kcore"):
        KernelPerceptron(kernel=kernel).partial_fit(np.eye(2), [0, 1], classes=[0, 1])


def test_values_that_overflow_are_told(rng):
    X = 1e30 * rng.standard_normal((20, 3))
    model = KernelPerceptron(kernel="poly", degree=9, gamma=1e10)
    with pytest.raises(ValueError, match=r"overflow|finite"):
        model.partial_fit(X, np.arange(20) % 2, classes=[0, 1])
    with pytest.raises(ValueError, match=r"overflow|finite"):
        model.fit(X, np.arange(20) % 2)
    assert not hasattr(model, "dual_coef_")


def test_what_was_learnt_is_told_in_words_when_classes_are_not_separated(rng):
    X, y = blobs(rng, 100)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 passes.* \d+ mist.*average=True"):
        KernelPerceptron(kernel="linear", max_iter=2).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"after \d+ passes with \d+ mistakes left.*theta"):
        KernelPerceptron(rule="batch", eta="inverse", theta=10.0).fit(X, y)


def test_before_learning_there_are_no_fitted_attributes():
    model = KernelPerceptron()
    for name in [
        "support_",
        "dual_coef_",
        "n_updates_",
        "mistakes_",
        "bound_",
        "classes_",
        "coef_",
    ]:
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.decision_function(ONE)
    fitted = KernelPerceptron(kernel=RBF()).partial_fit(ONE, [0], classes=[0, 1])
    assert not hasattr(fitted, "coef_")  # for the linear kernel
