"""Kernel perceptrons against their definition, written out in NumPy, and online."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_same_bits, quietly
from kcore.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from kcore.perceptron import KernelPerceptron, Perceptron

KERNELS = {
    "linear": Linear(),
    "poly": Polynomial(degree=3, gamma=0.5, coef0=1.0),
    "rbf": RBF(0.4),
    "sigmoid": Sigmoid(gamma=0.1, coef0=0.2),
    "laplacian": Laplacian(0.3),
    "composed": 0.5 * RBF(0.4) + Linear() * Polynomial(degree=2, gamma=0.2, coef0=1.0),
}
STRATEGIES = ["oldest", "smallest", "projection", "merge"]
READINGS = [("single", False), ("single", True), ("single", "voted"), ("batch", False)]


def blobs(rng, n, n_classes=2, d=4, noise=1.2):
    """Classes that overlap, so that mistakes never end."""
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    centres = 1.5 * np.eye(max(n_classes, d))[:n_classes, :d]
    return centres[y] + noise * rng.standard_normal((n, d)), y


# ---- The definition


class Definition:
    """The functions of a perceptron as coefficients of all samples, after each sample.

    K is the matrix of the samples; with an intercept, feature space has one coordinate more, which
    is 1 for all. `passes` has one entry for each: mistakes, and the criterion.
    """

    def __init__(self, K, signs, margin=0.0, eta=lambda k: 1.0, weights=None):
        self.K, self.signs, self.margin, self.eta = K + 1.0, signs, margin, eta
        self.n_outputs, self.n = signs.shape
        self.w = np.ones(self.n) if weights is None else weights
        self.a = np.zeros((self.n_outputs, self.n))
        self.history = []
        self.mistakes, self.criterion = [], []
        self.n_updates, self.converged = 0, False

    def steps(self, i):
        """The change of each output for eta = 1, and a.y; binary: one output."""
        values = self.a @ self.K[i]
        if self.n_outputs == 1:
            return self.signs[:, i], self.signs[0, i] * values[0]
        own = int(np.argmax(self.signs[:, i]))
        others = np.where(np.arange(self.n_outputs) == own, -np.inf, values)
        other = int(np.argmax(others))
        change = np.zeros(self.n_outputs)
        change[own], change[other] = 1.0, -1.0
        return change, values[own] - values[other]

    def single_pass(self, k):
        n_mistakes, criterion = 0, 0.0
        for i in np.flatnonzero(self.w):
            change, value = self.steps(i)
            if value <= self.margin:
                n_mistakes += 1
                criterion += self.w[i] * (self.margin - value)
                self.a[:, i] += self.eta(k) * self.w[i] * change
            self.history.append(self.a.copy())
        self.n_updates += n_mistakes
        self.converged = n_mistakes == 0
        return n_mistakes, criterion

    def batch_pass(self, k, theta):
        total, n_mistakes, criterion = np.zeros_like(self.a), 0, 0.0
        for i in np.flatnonzero(self.w):
            change, value = self.steps(i)
            if value <= self.margin:
                n_mistakes += 1
                criterion += self.w[i] * (self.margin - value)
                total[:, i] += self.w[i] * change
        step = self.eta(k) * total
        self.a += step
        self.n_updates += n_mistakes > 0
        self.converged = n_mistakes == 0 or np.sqrt(np.sum(step * (step @ self.K))) < theta
        return n_mistakes, criterion

    def run(self, max_iter, rule="single", theta=1e-6):
        for k in range(max_iter):
            found = self.single_pass(k) if rule == "single" else self.batch_pass(k, theta)
            self.mistakes.append(found[0])
            self.criterion.append(found[1])
            if self.converged:
                break
        return self

    def mean(self):
        return np.mean(self.history, axis=0)

    def votes(self, rows):
        """Votes of the functions after each sample; rows: K(x, x_i) of points x."""
        total = np.zeros((len(rows), self.n_outputs))
        for a in self.history:
            values = (rows + 1.0) @ a.T
            if self.n_outputs == 1:
                total += np.where(values > 0, 1, -1)
            else:
                total[np.arange(len(rows)), np.argmax(values, axis=1)] += 1
        return total


def signs_of(y, n_classes, multi_class):
    """Signs of the samples in each problem: a list of problems of one or more outputs."""
    if n_classes == 2:
        return [np.where(y == 1, 1.0, -1.0)[None]]
    signs = np.where(np.arange(n_classes)[:, None] == y, 1.0, -1.0)
    return [signs] if multi_class == "direct" else [row[None] for row in signs]


def define(K, y, multi_class="ovr", max_iter=5, rule="single", **more):
    parts = [
        Definition(K, signs, **more).run(max_iter, rule)
        for signs in signs_of(y, y.max() + 1, multi_class)
    ]
    n_passes = max(len(part.mistakes) for part in parts)
    mistakes, criterion = np.zeros(n_passes, int), np.zeros(n_passes)
    for part in parts:
        mistakes[: len(part.mistakes)] += part.mistakes
        criterion[: len(part.criterion)] += part.criterion
    return parts, mistakes, criterion


def spread(model, n):
    """Coefficients of all n samples."""
    out = np.zeros((len(model.dual_coef_), n))
    out[:, model.support_] = model.dual_coef_
    return out


def check_against_definition(model, parts, mistakes, criterion, exact):
    a = np.concatenate([part.a for part in parts])
    assert model.mistakes_.tolist() == mistakes.tolist()
    assert model.n_iter_ == len(mistakes)
    assert model.n_updates_ == sum(part.n_updates for part in parts)
    assert model.converged_ == all(part.converged for part in parts)
    if exact:
        np.testing.assert_array_equal(spread(model, a.shape[1]), a)
        np.testing.assert_array_equal(model.intercept_, a.sum(axis=1))
        np.testing.assert_array_equal(model.criterion_, criterion)
    else:
        np.testing.assert_allclose(spread(model, a.shape[1]), a, atol=1e-12)
        np.testing.assert_allclose(model.intercept_, a.sum(axis=1), atol=1e-12)
        np.testing.assert_allclose(model.criterion_, criterion, rtol=1e-9, atol=1e-9)


RULES = st.sampled_from(["single", "batch"])


@st.composite
def whole_numbers(draw, max_classes=3):
    """Samples whose products are exact in any order, and labels."""
    n = draw(st.integers(2, 24))
    d = draw(st.integers(1, 4))
    n_classes = draw(st.integers(2, max_classes)) if n >= max_classes else 2
    values = draw(st.lists(st.integers(-4, 4), min_size=n * d, max_size=n * d))
    labels = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    labels[:n_classes] = range(n_classes)
    return np.array(values, float).reshape(n, d), np.array(labels)


@given(
    data=whole_numbers(),
    rule=RULES,
    multi_class=st.sampled_from(["ovr", "direct"]),
    margin=st.sampled_from([0.0, 1.0, 7.5]),
    eta=st.sampled_from([1.0, 0.5, 4.0]),
    degree=st.integers(1, 3),
    is_weighted=st.booleans(),
)
def test_every_rule_makes_the_mistakes_of_its_definition(
    data, rule, multi_class, margin, eta, degree, is_weighted
):
    X, y = data
    K = (X @ X.T + 1.0) ** degree
    weights = np.array([1.0, 2.0, 0.5, 0.0])[np.arange(len(y)) % 4] if is_weighted else None
    more = {"margin": margin, "eta": lambda k: eta, "weights": weights}
    found = define(K, y, multi_class, 6, rule, **more)
    kernel = Polynomial(degree=degree, gamma=1.0, coef0=1.0)
    model = KernelPerceptron(
        kernel=kernel, rule=rule, margin=margin, eta=eta, multi_class=multi_class, max_iter=6
    )
    quietly(model, X, y, sample_weight=weights)
    check_against_definition(model, *found, exact=True)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("multi_class", ["ovr", "direct"])
@pytest.mark.parametrize("rule", ["single", "batch"])
def test_every_kernel_makes_the_mistakes_of_the_definition(kernel, multi_class, rule, rng):
    X, y = blobs(rng, 120, 3)
    kernel = KERNELS[kernel]
    found = define(kernel(X), y, multi_class, 4, rule, eta=lambda k: 1 / (k + 1))
    model = KernelPerceptron(
        kernel=kernel,
        rule=rule,
        multi_class=multi_class,
        max_iter=4,
        eta="inverse",
        precision="float64",
    )
    check_against_definition(quietly(model, X, y), *found, exact=False)
    Z = rng.standard_normal((30, 4))
    a = np.concatenate([part.a for part in found[0]])
    np.testing.assert_allclose(
        model.decision_function(Z), (kernel(Z, X) + 1) @ a.T, rtol=1e-9, atol=1e-9
    )


def test_without_an_intercept_the_kernel_is_not_raised(rng):
    X, y = blobs(rng, 80)
    K = RBF(0.5)(X)
    parts, mistakes, _ = define(K - 1, y, max_iter=3)  # the definition adds the one
    model = quietly(KernelPerceptron(kernel=RBF(0.5), fit_intercept=False, max_iter=3), X, y)
    assert model.mistakes_.tolist() == mistakes.tolist()
    assert (model.intercept_ == 0).all()
    np.testing.assert_allclose(model.decision_function(X), K @ parts[0].a[0], atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("multi_class", ["ovr", "direct"])
@pytest.mark.parametrize("is_online", [False, True])
def test_averaged_and_voted_predictions_are_those_of_all_functions(
    n_classes, multi_class, is_online, rng
):
    X, y = blobs(rng, 150, n_classes)
    Z = rng.standard_normal((60, 4))
    kernel = RBF(0.4)
    parts, *_ = define(kernel(X), y, multi_class, 1 if is_online else 3)
    mean = (kernel(Z, X) + 1) @ np.concatenate([part.mean() for part in parts]).T
    votes = np.concatenate([part.votes(kernel(Z, X)) for part in parts], axis=1)
    for average, expected in ((True, mean), ("voted", votes)):
        model = KernelPerceptron(
            kernel=kernel, average=average, multi_class=multi_class, max_iter=3
        )
        if is_online:
            for rows in np.split(np.arange(150), [1, 2, 40, 41]):
                model.partial_fit(X[rows], y[rows], classes=np.arange(n_classes))
        else:
            quietly(model, X, y)
        found = model.decision_function(Z).reshape(60, -1)
        if average is True:
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
        else:
            np.testing.assert_array_equal(found, expected)
        if n_classes == 2:
            assert (model.predict(Z) == (expected[:, 0] > 0)).all()
        else:
            assert (model.predict(Z) == expected.argmax(axis=1)).all()


def test_a_function_and_a_matrix_are_kernels_too(rng):
    X, y = blobs(rng, 90, 3)
    Z = rng.standard_normal((20, 4))
    kernel = RBF(0.4)
    for average in (False, True, "voted"):
        plain = quietly(KernelPerceptron(kernel=kernel, average=average, max_iter=4), X, y)
        called = quietly(
            KernelPerceptron(kernel=lambda A, B: kernel(A, B), average=average, max_iter=4), X, y
        )
        given = KernelPerceptron(kernel="precomputed", average=average, max_iter=4)
        quietly(given, kernel(X), y)
        for model in (called, given):
            assert model.mistakes_.tolist() == plain.mistakes_.tolist()
            assert model.support_.tolist() == plain.support_.tolist()
            assert_same_bits(model.dual_coef_, plain.dual_coef_)
        expected = plain.decision_function(Z)
        np.testing.assert_allclose(called.decision_function(Z), expected, atol=1e-10)
        K = kernel(Z, X)
        np.testing.assert_allclose(given.decision_function(K), expected, atol=1e-10)
        kept = given.decision_function(np.ascontiguousarray(K[:, given.support_]))
        assert_same_bits(kept, given.decision_function(K))


# ---- The linear perceptron


@given(
    data=whole_numbers(),
    rule=RULES,
    multi_class=st.sampled_from(["ovr", "direct"]),
    margin=st.sampled_from([0.0, 2.0]),
    fit_intercept=st.booleans(),
    shuffle=st.booleans(),
    is_sparse=st.booleans(),
    average=st.booleans(),
)
def test_with_the_linear_kernel_it_is_the_linear_perceptron(
    data, rule, multi_class, margin, fit_intercept, shuffle, is_sparse, average
):
    X, y = data
    if is_sparse:
        X = sp.csr_array(X)
    common = {
        "rule": rule, "multi_class": multi_class, "margin": margin, "max_iter": 5,
        "fit_intercept": fit_intercept, "shuffle": shuffle, "random_state": 3,
        "average": average and rule == "single",
    }  # fmt: skip
    primal = quietly(Perceptron(**common), X, y)
    dual = quietly(KernelPerceptron(kernel="linear", **common), X, y)
    assert dual.mistakes_.tolist() == primal.mistakes_.tolist()
    np.testing.assert_array_equal(dual.criterion_, primal.criterion_)
    assert dual.n_updates_ == primal.n_updates_
    assert dual.n_iter_ == primal.n_iter_
    assert dual.converged_ == primal.converged_
    if common["average"]:  # a quotient: rounded once more in one form than in the other
        np.testing.assert_allclose(dual.coef_, primal.coef_, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(dual.coef_, primal.coef_)
        np.testing.assert_array_equal(dual.intercept_, primal.intercept_)
        assert (dual.predict(X) == primal.predict(X)).all()
    if dual.bound_ is not None:
        # Both are raised by what their own arithmetic may be off: docs of the bound say how much.
        off = 8 * (X.shape[1] + 4 + int(dual.mistakes_.sum())) * 2.0**-53
        assert dual.bound_ == pytest.approx(primal.bound_, rel=2 * off * (1 + primal.bound_))


@given(data=whole_numbers(max_classes=2), rule=RULES, degree=st.integers(1, 3))
def test_there_are_no_more_updates_than_the_bound(data, rule, degree):
    X, y = data
    model = KernelPerceptron(
        kernel="poly", degree=degree, gamma=1.0, coef0=1.0, rule=rule, max_iter=3000, theta=0.0
    )
    quietly(model, X, y)
    if model.converged_:
        assert model.n_updates_ <= model.bound_
        assert (model.predict(X) == y).all()
    else:
        assert model.bound_ is None


@st.composite
def measured(draw):
    """Numbers that no type holds exactly, and labels that a line through zero separates."""
    n, d = draw(st.integers(2, 14)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, d)) * 10.0 ** draw(st.integers(-3, 3))
    X[1] = -X[0]
    return X, (X @ rng.standard_normal(d) > 0).astype(int)


@given(
    data=measured(),
    rule=RULES,
    kernel=st.sampled_from(["linear", "poly", "rbf", "laplacian"]),
    eta=st.sampled_from([0.1, 0.3, 1.0]),
    margin=st.sampled_from([0.0, 0.7]),
    fit_intercept=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_rounding_does_not_make_more_updates_than_the_bound(
    data, rule, kernel, eta, margin, fit_intercept, dtype
):
    X, y = data
    model = KernelPerceptron(
        kernel=kernel, rule=rule, eta=eta, margin=margin, fit_intercept=fit_intercept,
        max_iter=1000, theta=0.0,
    )  # fmt: skip
    quietly(model, X.astype(dtype), y)
    # Smaller values have too few digits for a bound.
    are_large = np.abs(model.decision_function(X.astype(dtype))).min() > 2.0**-900
    assert (model.bound_ is not None) == (model.converged_ and len(set(y)) == 2 and are_large)
    if model.bound_ is not None:
        assert 1 <= model.n_updates_ <= model.bound_


@pytest.mark.parametrize("estimator", [Perceptron(), KernelPerceptron(kernel="linear")])
def test_one_update_is_within_a_bound_of_one(estimator):
    x = [-0.1321048632913019, 0.6404226504432821, 0.10490011715303971, -0.535669373161111]
    model = estimator.set_params(fit_intercept=False, eta=0.3)
    model.fit(np.array([x, [-v for v in x]]), [1, 0])
    assert model.n_updates_ == 1
    assert 1 <= model.bound_ <= 1 + 1e-12


# ---- Online


@given(
    data=whole_numbers(),
    multi_class=st.sampled_from(["ovr", "direct"]),
    average=st.sampled_from([False, True, "voted"]),
    margin=st.sampled_from([0.0, 3.0]),
    cuts=st.lists(st.integers(1, 23), max_size=5),
)
def test_one_pass_of_fit_is_partial_fit_of_the_samples_in_any_parts(
    data, multi_class, average, margin, cuts
):
    X, y = data
    common = {"multi_class": multi_class, "average": average, "margin": margin}
    kernel = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    whole = quietly(KernelPerceptron(kernel=kernel, max_iter=1, **common), X, y)
    online = KernelPerceptron(kernel=kernel, **common)
    mistakes, criterion = 0, 0.0
    for rows in np.split(np.arange(len(y)), sorted({c for c in cuts if c < len(y)})):
        online.partial_fit(X[rows], y[rows], classes=whole.classes_)
        mistakes += online.mistakes_.sum()
        criterion += online.criterion_.sum()
    assert [mistakes] == whole.mistakes_.tolist()
    assert criterion == whole.criterion_[0]
    assert online.n_updates_ == whole.n_updates_
    np.testing.assert_array_equal(spread(online, len(y)), spread(whole, len(y)))
    assert_same_bits(online.intercept_, whole.intercept_)
    assert_same_bits(online.decision_function(X), whole.decision_function(X))


@given(data=whole_numbers(), multi_class=st.sampled_from(["ovr", "direct"]), cut=st.integers(1, 23))
def test_partial_fit_by_the_batch_rule_is_a_step_for_the_samples_of_a_call(data, multi_class, cut):
    X, y = data
    parts = [
        Definition((X @ X.T + 1.0) ** 2, signs) for signs in signs_of(y, y.max() + 1, multi_class)
    ]
    model = KernelPerceptron(kernel="poly", degree=2, gamma=1.0, coef0=1.0, rule="batch")
    model.set_params(multi_class=multi_class)
    for rows in (slice(0, cut), slice(cut, None)):
        if len(X[rows]) == 0:
            continue
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
        for part in parts:
            part.w = np.zeros(len(y))
            part.w[rows] = 1.0
            part.batch_pass(0, 0.0)
    np.testing.assert_array_equal(spread(model, len(y)), np.concatenate([part.a for part in parts]))


@pytest.mark.parametrize("limits", [{}, *({"budget": 20, "strategy": s} for s in STRATEGIES)])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "sigmoid"])
def test_parts_forms_and_threads_give_the_same_bits(kernel, limits, rng):
    X, y = blobs(rng, 300, 3)
    X = X.astype(np.float32)
    Z = rng.standard_normal((40, 4)).astype(np.float32)

    def learn(parts, form=lambda X: X, n_jobs=None):
        model = KernelPerceptron(
            kernel=KERNELS[kernel], n_jobs=n_jobs, precision="float32", **limits
        )
        for rows in parts:
            model.partial_fit(form(X[rows]), y[rows], classes=[0, 1, 2])
        return model

    rows = np.arange(300)
    expected = learn([rows])
    others = [
        learn(np.split(rows, 300)),
        learn(np.split(rows, [7, 8, 150])),
        learn([rows], n_jobs=2),
        learn([rows], sp.csr_matrix),
        learn(np.split(rows, 300), sp.csr_array),
        learn([rows], np.asfortranarray),
        learn(np.split(rows, 3), lambda X: X.astype(np.float64)),
    ]
    for model in others:
        assert_same_bits(model.dual_coef_, expected.dual_coef_)
        assert_same_bits(model.decision_function(Z), expected.decision_function(Z))
        assert model.support_.tolist() == expected.support_.tolist()
        assert model.n_updates_ == expected.n_updates_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rule", "average"), READINGS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_caches_and_threads_of_any_size_give_the_same_bits(dtype, rule, average, form, rng):
    X, y = blobs(rng, 900, 3, d=6)
    X = form((X * (abs(X) > 0.3)).astype(dtype))

    def fitted(**more):
        model = KernelPerceptron(kernel=RBF(0.5), rule=rule, average=average, max_iter=4, **more)
        return quietly(model, X, y)

    expected = fitted(n_jobs=1)
    values = expected.decision_function(X)
    smallest = 8 * 900 * X.dtype.itemsize / 2**20
    for more in ({"n_jobs": 2}, {"n_jobs": 3, "cache_size": 1.0}, {"cache_size": smallest}):
        model = fitted(**more)
        assert_same_bits(model.dual_coef_, expected.dual_coef_)
        assert_same_bits(model.decision_function(X), values)
        assert model.mistakes_.tolist() == expected.mistakes_.tolist()
        assert_same_bits(model.criterion_, expected.criterion_)
    report = model.cache_report_  # of the smallest
    assert report.rows_computed > 900
    # The batch rule does not keep rows of so few features: to compute them is as fast.
    assert (report.rows_evicted > 0) == (rule == "single")
    assert report.bytes_used <= report.bytes_allowed <= 2**20 * smallest


def test_float32_samples_are_kept_as_they_are(rng):
    X, y = blobs(rng, 100)
    for dtype in (np.float32, np.float64):
        model = quietly(KernelPerceptron(max_iter=3), X.astype(dtype), y)
        assert model.support_vectors_.dtype == dtype
        np.testing.assert_array_equal(model.support_vectors_, X.astype(dtype)[model.support_])
    for form in (sp.csr_matrix, sp.csr_array):
        wide = form(sp.hstack([form(X), form((100, 200))], format="csr"))
        model = quietly(KernelPerceptron(max_iter=3), wide, y)
        assert type(model.support_vectors_) is form
        np.testing.assert_array_equal(
            model.support_vectors_.toarray(), wide.toarray()[model.support_]
        )
