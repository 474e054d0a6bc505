"""The linear perceptron against its definition in a few lines of NumPy, and its theorem.

Samples, steps and weights are small whole numbers or halves and quarters of them, so that every sum
is exact in any order and results can be compared bit for bit.
"""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import assert_same_bits, quietly
from kcore.exceptions import ConvergenceWarning
from kcore.perceptron import Perceptron

N, D = 40, 5
FORMS = {
    "f64": lambda X: X,
    "f32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "every second": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr": sp.csr_array,
    "csr f32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr int64": lambda X: with_long_indices(sp.csr_array(X)),
}


def with_long_indices(X):
    return sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)


# ---- References


def augmented(X, z, has_intercept=True):
    """Return the rows y = z (1, x), or z x."""
    return z[:, None] * (np.insert(X, 0, 1.0, axis=1) if has_intercept else X)


def single(Y, n_passes, eta=lambda k: 1.0, margin=0.0, weights=None):
    """Return the vector after each step, and mistakes and criterion of each pass."""
    a, trail, mistakes, criterion = np.zeros(Y.shape[1]), [], [], []
    weights = np.ones(len(Y)) if weights is None else weights
    while len(mistakes) < n_passes and 0 not in mistakes:
        mistakes.append(0)
        criterion.append(0.0)
        for y, weight in zip(Y, weights, strict=True):
            if a @ y <= margin:
                criterion[-1] += weight * (margin - a @ y)
                a = a + eta(len(mistakes) - 1) * weight * y
                mistakes[-1] += 1
            trail.append(a)
    return np.array(trail), mistakes, criterion


def batch(Y, n_passes, eta=lambda k: 1.0, margin=0.0, theta=1e-6, weights=None):
    """Return the vector after each pass, and mistakes and criterion of each pass."""
    a, trail, mistakes, criterion = np.zeros(Y.shape[1]), [], [], []
    weights = np.ones(len(Y)) if weights is None else weights
    for k in range(n_passes):
        wrong = Y @ a <= margin
        mistakes.append(int(wrong.sum()))
        criterion.append(float(weights[wrong] @ (margin - Y[wrong] @ a)))
        step = eta(k) * (weights[wrong] @ Y[wrong])
        a = a + step
        trail.append(a)
        if np.linalg.norm(step) < theta:
            break
    return np.array(trail), mistakes, criterion


def direct(X, codes, n_passes, eta=lambda k: 1.0, margin=0.0):
    """Return the vectors of all classes after each step, and mistakes of each pass."""
    Y = np.insert(X, 0, 1.0, axis=1)
    A, trail, mistakes = np.zeros((codes.max() + 1, Y.shape[1])), [], []
    while len(mistakes) < n_passes and 0 not in mistakes:
        mistakes.append(0)
        for y, own in zip(Y, codes, strict=True):
            values = A @ y
            other = int(np.argmax(np.where(np.arange(len(A)) == own, -np.inf, values)))
            if values[own] - values[other] <= margin:
                A = A.copy()
                A[own] += eta(len(mistakes) - 1) * y
                A[other] -= eta(len(mistakes) - 1) * y
                mistakes[-1] += 1
            trail.append(A)
    return np.array(trail), mistakes


def pocket(trail, is_wrong, n_passes, weights=None):
    """Return the vector that Gallant's ratchet keeps, and its number of mistakes.

    `trail` has the vector after each step of the single rule, `is_wrong` tells the mistakes of one.
    """
    n = len(trail) // n_passes
    weights = np.ones(n) if weights is None else weights
    best, least, best_run, run, n_rated = None, math.inf, -1, 0, 0
    for step, a in enumerate(trail):
        before = trail[step - 1] if step else np.zeros_like(a)
        place = step % n
        n_rated *= place > 0
        is_kept = np.array_equal(a, before)
        if not is_kept and run >= best_run and n_rated < 1 + 8 * place // n:
            n_rated += 1
            if weights @ is_wrong(before) < least:
                best, least, best_run = before, weights @ is_wrong(before), run
        run = run + 1 if is_kept else 0
        if place == n - 1 and weights @ is_wrong(a) < least:
            best, least, best_run = a, weights @ is_wrong(a), run
    return best, int(is_wrong(best).sum())


# ---- Data and fits


@pytest.fixture
def noisy(rng):
    """Whole numbers that no line separates: samples and labels."""
    X = rng.integers(-4, 5, (N, D)).astype(float)
    y = (X @ np.arange(1, D + 1) > 2).astype(int)
    return X, np.where(rng.random(N) < 0.1, 1 - y, y)


@pytest.fixture
def three(rng):
    """The same with three classes."""
    X = rng.integers(-4, 5, (N, D)).astype(float)
    y = np.digitize(X @ np.arange(1, D + 1), [-6, 6])
    return X, np.where(rng.random(N) < 0.1, (y + 1) % 3, y)


def fit(X, y, weights=None, **params):
    """Fit, whether or not the samples are separated."""
    return quietly(Perceptron(**params), X, y, sample_weight=weights)


def vectors(model):
    """Return (intercept, weights), a row for each problem."""
    return np.column_stack([model.intercept_, model.coef_])


def signs(y):
    return np.where(y == 1, 1.0, -1.0)


def assert_is(model, a, mistakes, criterion):
    assert_same_bits(vectors(model), np.ascontiguousarray(np.atleast_2d(a)))
    assert model.mistakes_.tolist() == mistakes
    assert_same_bits(model.criterion_, np.array(criterion))
    assert model.n_iter_ == len(mistakes)


# ---- The rules, bit for bit


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("margin", [0.0, 2.5])
def test_the_single_rule_is_its_definition(form, margin, noisy):
    X, y = noisy
    trail, mistakes, criterion = single(augmented(X, signs(y)), 7, margin=margin)
    model = fit(FORMS[form](X), y, margin=margin, max_iter=7)
    assert_is(model, trail[-1], mistakes, criterion)
    assert model.n_updates_ == sum(mistakes)
    assert not model.converged_
    assert model.bound_ is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("margin", [0.0, 2.5])
def test_the_batch_rule_is_its_definition(form, margin, noisy):
    X, y = noisy
    trail, mistakes, criterion = batch(augmented(X, signs(y)), 7, margin=margin)
    model = fit(FORMS[form](X), y, rule="batch", margin=margin, max_iter=7)
    assert_is(model, trail[-1], mistakes, criterion)
    assert model.n_updates_ == 7


@pytest.mark.parametrize("rule", ["single", "batch"])
def test_without_an_intercept_it_stays_zero(rule, noisy):
    X, y = noisy
    reference = {"single": single, "batch": batch}[rule]
    trail, mistakes, criterion = reference(augmented(X, signs(y), False), 5)
    model = fit(X, y, rule=rule, fit_intercept=False, max_iter=5)
    assert_is(model, np.insert(trail[-1], 0, 0.0), mistakes, criterion)


@pytest.mark.parametrize("rule", ["single", "batch"])
def test_eta_is_a_schedule_over_passes(rule, noisy):
    X, y = noisy
    reference = {"single": single, "batch": batch}[rule]
    asked = []

    def halves(k):
        asked.append(k)
        return 2.0**-k

    trail, mistakes, criterion = reference(augmented(X, signs(y)), 6, eta=lambda k: 2.0**-k)
    model = fit(X, y, rule=rule, eta=halves, max_iter=6)
    assert_is(model, trail[-1], mistakes, criterion)
    assert asked == list(range(6))
    constant = fit(X, y, rule=rule, eta=0.25, max_iter=6)
    trail, mistakes, criterion = reference(augmented(X, signs(y)), 6, eta=lambda k: 0.25)
    assert_is(constant, trail[-1], mistakes, criterion)


@pytest.mark.parametrize(
    ("name", "eta"), [("inverse", lambda k: 1 / (k + 1)), ("sqrt", lambda k: 1 / math.sqrt(k + 1))]
)
def test_schedules_by_name_are_those_of_the_texts(name, eta, noisy):
    X, y = noisy
    for rule in ("single", "batch"):
        model = fit(X, y, rule=rule, eta=name, max_iter=9)
        assert_same_bits(vectors(model), vectors(fit(X, y, rule=rule, eta=eta, max_iter=9)))
        assert model.bound_ is None
    first = fit(X, y, eta=name, max_iter=1)
    assert_same_bits(vectors(first), vectors(fit(X, y, max_iter=1)))


def test_a_schedule_goes_on_where_one_call_of_the_core_ends():
    # XOR, and more passes than one call makes.
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
    steps = {300: 2.0}
    trail, mistakes, criterion = single(augmented(X, signs(y)), 700, lambda k: steps.get(k, 1.0))
    model = fit(X, y, eta=lambda k: steps.get(k, 1.0), max_iter=700)
    assert_is(model, trail[-1], mistakes, criterion)


def test_a_batch_step_shorter_than_theta_is_the_last(noisy):
    X, y = noisy
    trail, mistakes, criterion = batch(
        augmented(X, signs(y)), 50, eta=lambda k: 2.0**-k, theta=0.25
    )
    assert 5 < len(mistakes) < 50
    model = Perceptron(rule="batch", eta=lambda k: 2.0**-k, theta=0.25, max_iter=50)
    with pytest.warns(ConvergenceWarning, match=r"mistakes left, since the step was shorter than"):
        model.fit(X, y)
    assert_is(model, trail[-1], mistakes, criterion)
    assert model.converged_
    assert model.bound_ is None


def test_separated_samples_end_after_a_pass_without_a_mistake(rng):
    X = rng.integers(-4, 5, (N, D)).astype(float)
    y = X @ [1, 2, 3, 4, 5] > 0.5
    trail, mistakes, criterion = single(augmented(X, signs(y)), 1000)
    model = Perceptron().fit(X, y)
    assert_is(model, trail[-1], mistakes, criterion)
    assert mistakes[-1] == 0
    assert model.converged_
    assert model.score(X, y) == 1
    assert_same_bits(model.decision_function(X), np.insert(X, 0, 1.0, axis=1) @ trail[-1])


# ---- The order


def test_a_shuffled_pass_takes_every_sample_once(noisy):
    X, y = noisy
    # With this margin all samples are mistakes, always: the sum does not depend on the order.
    model = fit(X, y, margin=1e9, shuffle=True, random_state=0, max_iter=3)
    assert_same_bits(vectors(model)[0], 3 * augmented(X, signs(y)).sum(axis=0))
    assert model.mistakes_.tolist() == [N] * 3


def test_orders_differ_by_pass_and_seed_and_come_back_with_the_seed(noisy):
    X, y = noisy
    params = {"margin": 1e9, "average": True}  # the mean depends on the order
    models = [
        fit(X, y, shuffle=True, random_state=seed, max_iter=1, **params) for seed in (0, 1, 0)
    ]
    assert_same_bits(vectors(models[0]), vectors(models[2]))
    assert (vectors(models[0]) != vectors(models[1])).any()
    assert (vectors(models[0]) != vectors(fit(X, y, max_iter=1, **params))).any()
    two = fit(X, y, shuffle=True, random_state=0, max_iter=2, **params)
    total = augmented(X, signs(y)).sum(axis=0)
    assert (2 * vectors(two) - vectors(models[0]) != vectors(models[0]) + total).any()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_are_seeds_that_go_on(make, noisy):
    X, y = noisy
    params = {"shuffle": True, "max_iter": 2}
    source = make(3)
    first, second = (fit(X, y, random_state=source, **params) for _ in range(2))
    assert_same_bits(vectors(first), vectors(fit(X, y, random_state=make(3), **params)))
    assert (vectors(first) != vectors(second)).any()


# ---- Averaged and voted


@pytest.mark.parametrize("form", ["f64", "f32", "csr"])
def test_the_average_is_over_the_vectors_after_every_sample(form, noisy):
    X, y = noisy
    trail, mistakes, criterion = single(augmented(X, signs(y)), 5)
    model = fit(FORMS[form](X), y, average=True, max_iter=5)
    assert_is(model, trail.sum(axis=0) / len(trail), mistakes, criterion)


@pytest.mark.parametrize("form", ["f64", "f32", "csr"])
@pytest.mark.parametrize("has_intercept", [True, False])
def test_voters_are_the_vectors_after_every_sample(form, has_intercept, noisy, rng):
    X, y = noisy
    trail, _, _ = single(augmented(X, signs(y), has_intercept), 5)
    Z = rng.integers(-4, 5, (30, D)).astype(float)
    values = augmented(Z, np.ones(30), has_intercept) @ trail.T
    votes = np.where(values > 0, 1.0, -1.0).sum(axis=1)
    model = fit(FORMS[form](X), y, average="voted", fit_intercept=has_intercept, max_iter=5)
    for other in ("f64", "csr"):
        assert_same_bits(model.decision_function(FORMS[other](Z)), votes)
    assert (model.predict(Z) == (votes > 0)).all()


# ---- More than two classes


@pytest.mark.parametrize("rule", ["single", "batch"])
def test_one_against_the_rest_is_a_problem_for_each_class(rule, three):
    X, y = three
    reference = {"single": single, "batch": batch}[rule]
    parts = [reference(augmented(X, np.where(y == k, 1.0, -1.0)), 6) for k in range(3)]
    labels = np.array(["a", "b", "c"])
    model = fit(X, labels[y], rule=rule, max_iter=6)
    assert_same_bits(vectors(model), np.array([trail[-1] for trail, _, _ in parts]))
    assert model.mistakes_.tolist() == np.sum([part[1] for part in parts], axis=0).tolist()
    values = np.insert(X, 0, 1.0, axis=1) @ vectors(model).T
    assert_same_bits(model.decision_function(X), np.ascontiguousarray(values))
    assert (model.predict(X) == labels[values.argmax(axis=1)]).all()
    assert model.bound_ is None


def test_problems_end_one_by_one(rng):
    X = rng.integers(-4, 5, (N, 2)).astype(float)
    y = np.digitize(X[:, 0], [-1.5, 1.5])  # the middle one is not separated from the others
    parts = [single(augmented(X, np.where(y == k, 1.0, -1.0)), 300) for k in range(3)]
    lengths = [len(part[1]) for part in parts]
    assert lengths[1] == 300 > max(lengths[0], lengths[2])
    model = fit(X, y, max_iter=300)
    assert_same_bits(vectors(model), np.array([part[0][-1] for part in parts]))
    for k in range(300):
        assert model.mistakes_[k] == sum(part[1][k] for part in parts if k < len(part[1]))


@pytest.mark.parametrize("form", ["f64", "f32", "csr"])
@pytest.mark.parametrize("margin", [0.0, 2.5])
def test_the_direct_rule_raises_one_class_and_lowers_the_best_other(form, margin, three):
    X, y = three
    trail, mistakes = direct(X, y, 6, margin=margin)
    params = {"multi_class": "direct", "margin": margin, "max_iter": 6}
    model = fit(FORMS[form](X), y, **params)
    assert_same_bits(vectors(model), trail[-1])
    assert model.mistakes_.tolist() == mistakes
    mean = fit(X, y, average=True, **params)
    assert_same_bits(vectors(mean), trail.sum(axis=0) / len(trail))


@pytest.mark.parametrize("multi_class", ["ovr", "direct"])
def test_classes_are_voted_for(multi_class, three, rng):
    X, y = three
    Z = np.insert(rng.integers(-4, 5, (30, D)).astype(float), 0, 1.0, axis=1)
    if multi_class == "direct":
        trail, _ = direct(X, y, 4)
        votes = np.eye(3)[(trail @ Z.T).argmax(axis=1)].sum(axis=0)
    else:
        trails = [single(augmented(X, np.where(y == k, 1.0, -1.0)), 4)[0] for k in range(3)]
        votes = np.column_stack([np.where(Z @ t.T > 0, 1.0, -1.0).sum(axis=1) for t in trails])
    model = fit(X, y, average="voted", multi_class=multi_class, max_iter=4)
    assert_same_bits(model.decision_function(Z[:, 1:]), votes)


def test_the_direct_rule_of_two_classes_is_the_rule_of_two_classes(noisy):
    X, y = noisy
    model = fit(X, y, multi_class="direct", max_iter=5)
    assert_same_bits(vectors(model), vectors(fit(X, y, max_iter=5)))


# ---- The pocket


@pytest.mark.parametrize("margin", [0.0, 2.5])
@pytest.mark.parametrize("form", ["f64", "f32", "csr"])
def test_the_pocket_is_that_of_the_ratchet(form, margin, noisy):
    X, y = noisy
    Y = augmented(X, signs(y))
    trail, mistakes, criterion = single(Y, 30, margin=margin)
    best, least = pocket(trail, lambda a: Y @ a <= 0, 30)
    at_ends = (Y @ trail[N - 1 :: N].T <= 0).sum(axis=0)
    assert least < at_ends.min() < at_ends[-1]
    model = fit(FORMS[form](X), y, margin=margin, pocket=True, max_iter=30)
    assert_is(model, best, mistakes, criterion)
    assert model.pocket_mistakes_ == least == (model.predict(X) != y).sum()


@pytest.mark.parametrize("margin", [0.0, 2.5])
def test_the_pocket_of_the_batch_rule_is_the_first_of_its_best_vectors(margin, noisy):
    X, y = noisy
    Y = augmented(X, signs(y))
    trail, mistakes, criterion = batch(Y, 30, margin=margin)
    wrong = (Y @ trail.T <= 0).sum(axis=0)
    assert wrong.min() < wrong[-1]
    model = fit(X, y, rule="batch", margin=margin, pocket=True, max_iter=30)
    assert_is(model, trail[wrong.argmin()], mistakes, criterion)
    assert model.pocket_mistakes_ == wrong.min() == (model.predict(X) != y).sum()


def test_a_pocket_for_each_class_and_of_the_direct_rule(three):
    X, y = three
    Z = np.insert(X, 0, 1.0, axis=1)
    model = fit(X, y, pocket=True, max_iter=20)
    total = 0
    for k in range(3):
        Y = augmented(X, np.where(y == k, 1.0, -1.0))
        best, least = pocket(single(Y, 20)[0], lambda a, Y=Y: Y @ a <= 0, 20)
        assert_same_bits(vectors(model)[k], best)
        total += least
    assert model.pocket_mistakes_ == total

    def is_wrong(A):
        values = A @ Z.T
        others = np.where(np.eye(3, dtype=bool)[y].T, -np.inf, values).max(axis=0)
        return values[y, np.arange(N)] <= others

    best, least = pocket(direct(X, y, 20)[0], is_wrong, 20)
    model = fit(X, y, pocket=True, multi_class="direct", max_iter=20)
    assert_same_bits(vectors(model), best)
    assert model.pocket_mistakes_ == least


def test_the_pocket_counts_samples_by_their_weights(noisy):
    X, y = noisy
    weights = np.where(y == 1, 8.0, 0.5)
    Y = augmented(X, signs(y))
    trail = single(Y, 30, weights=weights)[0]
    best, least = pocket(trail, lambda a: Y @ a <= 0, 30, weights)
    model = fit(X, y, weights, pocket=True, max_iter=30)
    assert_same_bits(vectors(model)[0], best)
    assert model.pocket_mistakes_ == least


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_the_pocket_finds_the_best_line_for_xor(order):
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])[list(order)]
    y = (X[:, 0] * X[:, 1] < 0).astype(int)
    assert fit(X, y, pocket=True, max_iter=1).pocket_mistakes_ == 1
    model = fit((X + 1) / 2, y, pocket=True, shuffle=True, eta="sqrt", random_state=0, max_iter=50)
    assert model.pocket_mistakes_ == 1 == (model.predict((X + 1) / 2) != y).sum()


def test_the_first_of_equals_stays_in_the_pocket(noisy):
    X, y = noisy
    model = fit(X, y, pocket=True, max_iter=30)
    held = vectors(model)
    right = np.flatnonzero(model.predict(X) == y)[:1]
    model.partial_fit(X[right], y[right])  # which the vector at hand may do as well
    assert model.pocket_mistakes_ == 0
    assert_same_bits(vectors(model), held)


# ---- Weights


@pytest.mark.parametrize("rule", ["single", "batch"])
def test_weights_are_factors_of_eta(rule, noisy, rng):
    X, y = noisy
    weights = rng.integers(1, 5, N) / 4
    reference = {"single": single, "batch": batch}[rule]
    trail, mistakes, criterion = reference(augmented(X, signs(y)), 6, weights=weights)
    model = fit(X, y, weights, rule=rule, max_iter=6)
    assert_is(model, trail[-1], mistakes, criterion)
    assert model.bound_ is None


@pytest.mark.parametrize("params", [{}, {"rule": "batch"}, {"average": True}, {"pocket": True}])
def test_samples_of_weight_zero_are_not_there(params, noisy, rng):
    X, y = noisy
    weights = rng.integers(0, 3, N) / 2
    there = weights > 0
    model = fit(X, y, weights, max_iter=6, **params)
    without = fit(X[there], y[there], weights[there], max_iter=6, **params)
    assert_same_bits(vectors(model), vectors(without))
    assert model.mistakes_.tolist() == without.mistakes_.tolist()


def test_a_weight_of_two_is_a_sample_twice_for_the_batch_rule(noisy):
    X, y = noisy
    weights = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(N), weights.astype(int))
    model = fit(X, y, weights, rule="batch", max_iter=8)
    assert_same_bits(vectors(model), vectors(fit(X[twice], y[twice], rule="batch", max_iter=8)))


def test_weights_of_classes_multiply_those_of_samples(noisy):
    X, y = noisy
    names = np.where(y == 1, "yes", "no")
    own = np.where(np.arange(N) % 2, 1.0, 0.5)
    model = fit(X, names, own, class_weight={"yes": 4}, max_iter=5)
    by_hand = fit(X, y, own * np.where(y == 1, 4, 1), max_iter=5)
    assert_same_bits(vectors(model), vectors(by_hand))
    balanced = fit(X, y, class_weight="balanced", max_iter=5)
    counts = np.bincount(y)
    assert_same_bits(vectors(balanced), vectors(fit(X, y, (N / (2 * counts))[y], max_iter=5)))
    assert balanced.bound_ is None
