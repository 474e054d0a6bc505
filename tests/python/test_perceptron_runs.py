"""Runs of the linear perceptron: in parts, again, stopped, refused, copied."""

import copy
import pickle
import statistics
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from conftest import assert_same_bits, quietly
from kcore.exceptions import ConvergenceWarning
from kcore.perceptron import Perceptron, convergence_bound
from kcore.svm import Progress
from processes import seconds_to_stop
from test_perceptron import fit

N, D = 60, 4
KINDS = {
    "last": {},
    "no intercept": {"fit_intercept": False},
    "batch": {"rule": "batch"},
    "margin": {"margin": 2.0},
    "average": {"average": True},
    "voted": {"average": "voted"},
    "pocket": {"pocket": True},
    "shuffled": {"shuffle": True, "random_state": 5},
    "schedule": {"eta": "inverse"},
    "direct": {"multi_class": "direct"},
    "direct voted": {"multi_class": "direct", "average": "voted"},
}


@pytest.fixture
def data(rng):
    """Whole numbers of three classes that overlap."""
    X = rng.integers(-4, 5, (N, D)).astype(float)
    y = np.digitize(X @ np.arange(1, D + 1), [-4, 4])
    return X, np.where(rng.random(N) < 0.15, (y + 1) % 3, y)


def assert_same_model(one, other, Z):
    assert_same_bits(one.decision_function(Z), other.decision_function(Z))
    assert_same_bits(one.coef_, other.coef_)
    assert_same_bits(one.intercept_, other.intercept_)
    assert one.n_updates_ == other.n_updates_


# ---- In parts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_partial_fits_go_on_as_the_passes_of_one_fit(kind, form, data):
    X, y = data
    X = form(X)
    whole = fit(X, y, max_iter=5, **KINDS[kind])
    parts = Perceptron(**KINDS[kind])
    for _ in range(5):
        parts.partial_fit(X, y, [0, 1, 2])
    assert_same_model(parts, whole, X)
    assert parts.n_iter_ == 5
    assert parts.mistakes_.tolist() == whole.mistakes_.tolist()
    assert_same_bits(parts.criterion_, whole.criterion_)
    # And after a fit.
    more = fit(X, y, max_iter=3, **KINDS[kind]).partial_fit(X, y).partial_fit(X, y)
    assert_same_model(more, whole, X)
    assert more.n_iter_ == 5


@pytest.mark.parametrize("kind", ["last", "average", "voted", "direct", "direct voted"])
def test_a_pass_may_come_in_pieces(kind, data):
    X, y = data
    pieces = Perceptron(**KINDS[kind])
    for begin in range(0, N, 7):
        rows = slice(begin, begin + 7)
        pieces.partial_fit(X[rows], y[rows], classes=[2, 1, 0])
    assert_same_model(pieces, fit(X, y, max_iter=1, **KINDS[kind]), X)
    one_by_one = Perceptron(**KINDS[kind])
    for k in range(N):
        one_by_one.partial_fit(X[k : k + 1], y[k : k + 1], classes=[2, 1, 0])
    assert_same_model(one_by_one, pieces, X)


def test_weights_count_in_partial_fits_too(data):
    X, y = data
    weights = np.arange(N) % 3 / 2
    params = {"class_weight": {1: 4}, "max_iter": 1}
    part = Perceptron(**params).partial_fit(X, y, [0, 1, 2], sample_weight=weights)
    assert_same_model(part, fit(X, y, weights, **params), X)


def test_a_problem_that_ended_before_others_has_no_mistakes_until_it_goes_on(rng):
    X = rng.integers(-4, 5, (N, 2)).astype(float)
    y = np.digitize(X[:, 0], [-1.5, 1.5])  # only the first and last class can be separated
    model = fit(X, y, max_iter=40)
    before = model.mistakes_
    flipped = np.where(y == 0, 2, y)
    model.partial_fit(X, flipped)
    assert model.n_iter_ == 41
    assert model.mistakes_[:40].tolist() == before.tolist()
    assert model.mistakes_[40] > before[-1]


def test_histories_that_part_do_not_meet(data):
    X, y = data
    start = fit(X, y, max_iter=2)
    one, other = copy.deepcopy(start), copy.deepcopy(start)
    expected = fit(X, y, max_iter=4).mistakes_.tolist()
    one.partial_fit(X, y)
    other.partial_fit(X[:9], y[:9])
    one.partial_fit(X, y)
    assert one.mistakes_.tolist() == expected
    assert start.mistakes_.tolist() == expected[:2]
    assert other.mistakes_[:2].tolist() == expected[:2]
    assert other.mistakes_[2] < expected[2]


def test_a_long_history_is_not_copied_for_every_call():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
    model = fit(X, y, max_iter=200_000).partial_fit(X, y)
    tracemalloc.start()
    for _ in range(10):
        model.partial_fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.n_iter_ == 200_011
    assert model.mistakes_.nbytes > 1_000_000 > 10 * peak


def test_partial_fit_changes_no_copy(data):
    X, y = data
    for params in KINDS.values():
        model = fit(X, y, max_iter=2, **params)
        before = model.decision_function(X)
        other = copy.deepcopy(model).partial_fit(X, y)
        assert_same_bits(model.decision_function(X), before)
        assert other.n_iter_ == 3
        assert model.n_iter_ == 2


# ---- Again


@pytest.mark.parametrize("kind", ["last", "margin", "average", "voted", "shuffled", "direct"])
def test_a_warm_start_goes_on_from_the_last_fit(kind, data):
    X, y = data
    model = Perceptron(warm_start=True, max_iter=3, **KINDS[kind])
    quietly(model, X, y)
    quietly(model.set_params(max_iter=4), X, y)
    assert_same_model(model, fit(X, y, max_iter=7, **KINDS[kind]), X)
    assert model.n_iter_ == 4
    cold = Perceptron(max_iter=3, **KINDS[kind])
    quietly(cold, X, y)
    quietly(cold.set_params(max_iter=7), X, y)
    assert_same_model(cold, model, X)
    assert cold.n_iter_ == 7


def test_a_warm_start_begins_its_schedule_anew(data):
    X, y = data
    steps = []
    model = Perceptron(warm_start=True, max_iter=2, eta=lambda k: steps.append(k) or 1.0)
    quietly(model, X, y)
    quietly(model, X, y)
    assert steps == [0, 1, 0, 1]


def test_an_order_that_is_shuffled_later_has_its_seed(data):
    X, y = data
    params = {"margin": 1e9, "average": True, "max_iter": 1, "warm_start": True}
    models = []
    for seed in (1, 2, 1):
        model = fit(X, y, **params)
        models.append(quietly(model.set_params(shuffle=True, random_state=seed), X, y))
    assert_same_model(models[0], models[2], X)
    assert (models[0].coef_ != models[1].coef_).any()


def test_what_cannot_go_on_is_refused(data):
    X, y = data
    model = Perceptron(warm_start=True, max_iter=1)
    quietly(model, X, y)
    before = model.coef_
    for change, words in [
        ({"average": True}, "average is True, but was False in the fit that this one continues"),
        ({"fit_intercept": False}, "fit_intercept is False, but was True"),
        ({"multi_class": "direct"}, "multi_class is 'direct', but was 'ovr'"),
        ({"pocket": True}, "pocket is True, but was False"),
    ]:
        other = copy.deepcopy(model).set_params(**change)
        with pytest.raises(ValueError, match=words):
            other.fit(X, y)
        with pytest.raises(ValueError, match=words):
            other.partial_fit(X, y)
    with pytest.raises(ValueError, match="warm_start: X has 3 features, the last fit had 4"):
        model.fit(X[:, :3], y)
    with pytest.raises(ValueError, match=r"warm_start: the labels are \[0, 1\], those of the last"):
        model.fit(X, (y > 0).astype(int))
    assert model.coef_ is before


# ---- Stops


@pytest.fixture(scope="module")
def endless():
    """Noise: passes without end, of about two milliseconds."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((20_000, 20)), rng.integers(0, 3, 20_000)


ENDLESS = {"max_iter": 10**9}


@pytest.mark.parametrize("kind", ["last", "batch", "average", "pocket", "direct"])
def test_a_time_limit_ends_a_fit_with_what_it_has(kind, endless):
    X, y = endless
    model = Perceptron(**ENDLESS, **KINDS[kind], time_limit=0.15)
    start = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"reached time_limit=0.15 in pass"):
        model.fit(X, y)
    assert 0.1 < time.perf_counter() - start < 3
    assert model.n_iter_ > 0
    assert len(model.mistakes_) == model.n_iter_
    assert np.isfinite(model.coef_).all()
    assert model.coef_.any(axis=1).all()  # every class had its turn
    assert not model.converged_


def test_a_time_limit_may_be_shorter_than_a_pass(endless):
    X, y = endless
    with pytest.warns(ConvergenceWarning, match=r"time_limit=1e-06 in pass 1\. Raise"):
        model = Perceptron(time_limit=1e-6).fit(X, y)
    assert model.n_iter_ == 0
    assert model.mistakes_.shape == (0,)
    model.predict(X[:5])
    with pytest.warns(ConvergenceWarning, match=r"time_limit=1e-06 in pass 1"):
        Perceptron(time_limit=1e-6).partial_fit(X, y, [0, 1, 2])


def test_a_limit_far_away_changes_nothing(data):
    X, y = data
    model = fit(X, y, max_iter=600, time_limit=1e6)
    assert_same_model(model, fit(X, y, max_iter=600), X)
    assert model.mistakes_.tolist() == fit(X, y, max_iter=600).mistakes_.tolist()
    assert_same_model(fit(X, y, max_iter=5, time_limit=np.inf), fit(X, y, max_iter=5), X)


def test_a_callback_is_told_how_far_the_fit_has_come(endless):
    X, y = endless
    seen = []
    with pytest.warns(ConvergenceWarning):
        Perceptron(**ENDLESS, callback=seen.append, time_limit=0.5).fit(X, y == 1)
    assert len(seen) >= 5
    assert all(type(one) is Progress for one in seen)
    n_iter = [one.n_iter for one in seen]
    assert n_iter == sorted(n_iter)
    assert n_iter[-1] > n_iter[0]
    # Of calls of the core that are too short to ask, too: many passes over few samples.
    seen.clear()
    with pytest.warns(ConvergenceWarning):
        Perceptron(**ENDLESS, callback=seen.append, time_limit=0.5).fit(X[:100], y[:100])
    assert len(seen) >= 5
    assert [one.seconds for one in seen] == sorted(one.seconds for one in seen)
    assert seen[-1].seconds > 0.3


@pytest.mark.parametrize("n", [100, None])
def test_a_callback_that_returns_true_ends_the_fit_with_what_it_has(endless, n):
    X, y = endless
    with pytest.warns(ConvergenceWarning, match="was stopped by its callback in pass"):
        model = Perceptron(**ENDLESS, callback=lambda progress: True).fit(X[:n], y[:n])
    assert model.n_iter_ >= 0
    assert set(model.predict(X[:50])) <= set(y)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_callback_raises_ends_the_fit_and_changes_nothing(kind, endless):
    X, y = endless
    model = fit(X[:100], y[:100], max_iter=2, **KINDS[kind])
    expected = copy.deepcopy(model).partial_fit(X[:100], y[:100])
    before = model.decision_function(X[:50])

    class EnoughError(Exception):
        pass

    def stop(progress):
        if progress.n_iter > 300:  # not in the first call of the core
            raise EnoughError(progress.phase)

    model.set_params(**ENDLESS, callback=stop)
    for warm_start in (False, True):
        with pytest.raises(EnoughError):
            model.set_params(warm_start=warm_start).fit(X[:200], y[:200])
        assert_same_bits(model.decision_function(X[:50]), before)
        assert model.n_iter_ == 2
    assert_same_model(model.partial_fit(X[:100], y[:100]), expected, X[:50])
    fresh = Perceptron(**ENDLESS, callback=stop)
    with pytest.raises(EnoughError):
        fresh.fit(X[:200], y[:200])
    assert not hasattr(fresh, "coef_")


@pytest.mark.parametrize("kind", ["last", "batch", "pocket", "direct"])
def test_ctrl_c_stops_a_fit_and_leaves_the_estimator_as_it_was(kind, endless):
    X, y = endless
    model = fit(X[:100], y[:100], max_iter=2, **KINDS[kind])
    before = model.decision_function(X[:50])
    model.set_params(**ENDLESS, warm_start=True)
    waited = []
    for after in (0.03, 0.1, 0.2):
        waited.append(seconds_to_stop(lambda: model.fit(X, y), after))
        assert_same_bits(model.decision_function(X[:50]), before)
        assert model.n_iter_ == 2
    # The median, since a busy machine may leave any one thread waiting for its turn.
    assert statistics.median(waited) <= 0.150
    assert max(waited) <= 2


# ---- Refused


@pytest.mark.parametrize(
    ("params", "exception", "words"),
    [
        ({"rule": "triple"}, ValueError, "rule must be one of 'single', 'batch', got 'triple'"),
        ({"eta": "slow"}, ValueError, "eta must be one of 'inverse', 'sqrt', got 'slow'"),
        ({"eta": 0.0}, ValueError, "eta(0) is 0, must be finite and > 0"),
        ({"eta": -1.0}, ValueError, "eta(0) is -1, must be finite and > 0"),
        ({"eta": np.nan}, ValueError, "eta(0) is nan, must be finite and > 0"),
        ({"eta": None}, TypeError, "eta must be a number, got None"),
        ({"eta": lambda k: 2.0 - k}, ValueError, "eta(2) is 0, must be finite and > 0"),
        ({"eta": lambda k: None}, TypeError, "eta(0) must be a number, got None"),
        ({"margin": -1.0}, ValueError, "margin is -1, must be finite and >= 0"),
        ({"margin": np.inf}, ValueError, "margin is inf, must be finite and >= 0"),
        ({"margin": "1"}, TypeError, "margin must be a number, got '1'"),
        ({"theta": -1e-9}, ValueError, "theta is -1e-09, must be >= 0"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1, got 0"),
        ({"max_iter": 2.5}, TypeError, "max_iter must be an integer, got 2.5"),
        ({"time_limit": 0}, ValueError, "time_limit must be positive or None, got 0.0"),
        ({"average": "all"}, ValueError, "average must be one of False, True, 'voted', got 'all'"),
        ({"multi_class": "ovo"}, ValueError, "multi_class must be one of 'ovr', 'direct'"),
        ({"average": True, "rule": "batch"}, ValueError, "average=True needs rule='single'"),
        ({"average": True, "pocket": True}, ValueError, "average=True and pocket=True exclude"),
        ({"class_weight": "equal"}, ValueError, "class_weight must be a dict, 'balanced' or None"),
        ({"class_weight": {"a": 1}}, ValueError, "class_weight has the label 'a', of type str"),
        ({"class_weight": {0: -1}}, ValueError, "class_weight must be positive and finite, got -1"),
        ({"shuffle": True, "random_state": -1}, ValueError, "random_state must be None, an"),
        ({"shuffle": True, "random_state": "x"}, ValueError, "random_state must be None, an"),
    ],
)
def test_parameters_are_refused_by_name_and_value(params, exception, words, data):
    X, y = data
    model = Perceptron(**params)
    with pytest.raises(exception) as caught:
        model.fit(X, y)
    assert str(caught.value).startswith(words)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_samples_are_finite(value, form, data):
    X, y = data
    X[7, 2] = value
    with pytest.raises(ValueError, match=r"X.*row 7.*column 2"):
        Perceptron().fit(form(X), y)
    for kind in ("last", "voted", "direct voted"):
        model = fit(data[0][:5], y[:5], max_iter=1, **KINDS[kind])
        with pytest.raises(ValueError, match=r"X.*row 7.*column 2"):
            model.decision_function(form(X))


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize(
    "more", [{}, {"shuffle": True}, {"pocket": True}, {"time_limit": 1e-9}, {"eta": 1e200}], ids=str
)
def test_a_bad_value_is_found_wherever_it_is_and_nothing_is_learnt(more, form, rng):
    scale = 1e150 if "eta" in more else 1.0  # then it overflows before it comes to the value
    X, y = rng.normal(scale=scale, size=(3000, 40)), rng.integers(0, 2, 3000)
    model = fit(X[:5] / scale, y[:5], max_iter=1, pocket="pocket" in more)
    before = model.coef_
    model.set_params(max_iter=3, **more)
    for row, n_used in [(0, 3000), (1500, 3000), (2999, 3000), (2999, 2900)]:
        bad = X.copy()
        bad[row, 3] = np.nan
        weights = (np.arange(3000) < n_used).astype(float)
        for learn in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match=rf"X.*row {row}.*column 3"):
                learn(form(bad), y, sample_weight=weights)
        assert_same_bits(model.coef_, before)


def test_labels_and_weights_are_refused_with_their_place(data):
    X, y = data
    for bad_y, words in [
        (np.zeros(N), "y has 1 class only"),
        (y[:-1], f"X has {N} rows, y has {N - 1} entries"),
        (y + 0.5, "Unknown label type: continuous"),
    ]:
        with pytest.raises(ValueError, match=words):
            Perceptron().fit(X, bad_y)
    for weights, words in [
        (np.ones(3), "sample_weight has 3 entries"),
        (np.where(np.arange(N) == 4, -1.0, 1.0), "entry 4 is -1"),
        (np.where(np.arange(N) == 4, np.nan, 1.0), "entry 4"),
        (np.zeros(N), "zero for all samples"),
    ]:
        with pytest.raises(ValueError, match=words):
            Perceptron().fit(X, y, weights)


def test_partial_fit_wants_to_know_all_classes_first(data):
    X, y = data
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        Perceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"classes has 1 label\(s\); there must be at least 2"):
        Perceptron().partial_fit(X, y, [1])
    with pytest.raises(ValueError, match="y has the label 2, which is not in classes"):
        Perceptron().partial_fit(X, y, [0, 1])
    with pytest.raises(ValueError, match="class_weight='balanced' cannot be used with partial_fit"):
        Perceptron(class_weight="balanced").partial_fit(X, y, [0, 1, 2])
    model = Perceptron().partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="is not the same as on the last call"):
        model.partial_fit(X, y, [0, 1, 3])
    with pytest.raises(ValueError, match="X has 2 features, but Perceptron is expecting 4"):
        model.partial_fit(X[:, :2], y)


@pytest.mark.parametrize("rule", ["single", "batch"])
def test_overflow_is_an_error_that_says_where(rule):
    X = np.array([[1e150, 0.0], [-1e150, 1.0], [1e150, -1.0], [1e150, 2.0]])
    model = Perceptron(rule=rule, eta=1e200, max_iter=5)
    with pytest.raises(ValueError, match=r"pass \d overflows float64; scale the data or lower eta"):
        model.fit(X, [1, 0, 1, 0])
    assert not hasattr(model, "coef_")


def test_arguments_of_the_bound_are_refused_by_name():
    X, y = [[1.0], [-1.0]], [1, 0]
    for arguments, options, words in [
        (([1.0, 2.0],), {}, "coef has 2 entries, must have 1"),
        (([np.nan],), {}, "coef: entry 0 is NaN, must be finite"),
        (([1.0], [1.0, 2.0]), {}, "intercept has 2 entries, must have 1"),
        (([1.0],), {"rule": "x"}, "rule must be one of 'single', 'batch', got 'x'"),
        (([1.0],), {"eta": 0.0}, "eta must be positive, got 0.0"),
        (([1.0], 0.5), {"fit_intercept": False}, "intercept is 0.5, must be 0 where"),
    ]:
        with pytest.raises(ValueError, match=words):
            convergence_bound(X, y, *arguments, **options)
    with pytest.raises(ValueError, match="y has 3 classes; the bound is for 2"):
        convergence_bound([[1.0], [2.0], [3.0]], [0, 1, 2], [1.0])


def test_nothing_is_there_before_a_fit(data):
    X, _ = data
    model = Perceptron()
    for name in ("coef_", "classes_", "n_iter_", "bound_", "mistakes_", "pocket_mistakes_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.predict(X)


def test_the_pocket_is_read_only_where_there_is_one(data):
    model = fit(*data, max_iter=2)
    assert not hasattr(model, "pocket_mistakes_")
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0] = 1


# ---- Non-separable


@pytest.mark.parametrize("rule", ["single", "batch"])
def test_the_warning_says_what_was_left(rule, data):
    X, y = data
    with pytest.warns(ConvergenceWarning) as caught:
        model = Perceptron(rule=rule, max_iter=20).fit(X, y == 1)
    assert str(caught[0].message) == (
        "Perceptron ended after max_iter=20 passes without separating the classes: the last pass "
        f"made {model.mistakes_[-1]} mistakes. They may not be linearly separable; pocket=True "
        "keeps the best vector."
    )
    assert caught[0].filename == __file__
    assert not model.converged_
    assert model.n_iter_ == 20


# ---- Copies


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_pickles_predict_and_learn_on(kind, form, data):
    X, y = form(data[0]), data[1]
    model = fit(X, y, max_iter=3, **KINDS[kind])
    other = pickle.loads(pickle.dumps(model))
    assert_same_model(other, model, X)
    assert other.n_iter_ == 3
    assert other.mistakes_.tolist() == model.mistakes_.tolist()
    assert_same_model(other.partial_fit(X, y), model.partial_fit(X, y), X)


def test_clones_have_the_parameters_alone(data):
    def eta(k):
        return 1.0

    model = fit(*data, eta=eta, margin=2.0, max_iter=2)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert not hasattr(other, "coef_")
    assert repr(Perceptron(rule="batch", margin=2.0)) == "Perceptron(margin=2.0, rule='batch')"


def test_names_of_features_are_kept_and_checked(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = fit(frame, pd.Series(y), max_iter=2)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert_same_bits(model.coef_, fit(X, y, max_iter=2).coef_)
    with pytest.warns(UserWarning, match="does not have valid feature names, but Perceptron"):
        model.predict(X)
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[list("dcba")])
    with pytest.raises(ValueError, match="unseen at fit time:\n- z"):
        model.partial_fit(frame.rename({"a": "z"}, axis=1), y)
    model.partial_fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")


def test_decision_values_are_the_same_bits_for_any_number_of_threads(rng):
    X = rng.standard_normal((30_000, 60))
    y = rng.integers(0, 3, 30_000)
    for kind in ("last", "direct"):
        model = fit(X, y, max_iter=1, **KINDS[kind])
        one = model.set_params(n_jobs=1).decision_function(X)
        assert_same_bits(model.set_params(n_jobs=2).decision_function(X), one)
        assert_same_bits(model.decision_function(X[77:78]), one[77:78])
        assert_same_bits(model.decision_function(np.asfortranarray(X)), one)
