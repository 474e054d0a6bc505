"""Kernel perceptrons under a budget, against the strategies written out in NumPy."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from conftest import assert_same_bits, quietly
from kcore.kernels import RBF, Linear, Polynomial, Sigmoid
from kcore.perceptron import KernelPerceptron
from test_kernel_perceptron import KERNELS, STRATEGIES, blobs

# ---- The definition


class Budgeted:
    """A learner with a budget as the strategies are defined, one sample after the other."""

    def __init__(self, kernel, n_outputs, budget, strategy):
        self.kernel, self.budget, self.strategy = kernel, budget, strategy
        self.points, self.ids, self.arrived = [], [], []
        self.a = np.zeros((n_outputs, 0))
        self.n_seen = self.n_arrived = 0

    def k(self, A, B):
        return self.kernel(np.atleast_2d(A), np.atleast_2d(B)) + 1.0

    def values(self, x):
        if not self.points:
            return np.zeros(len(self.a))
        return self.a @ self.k(np.array(self.points), x)[:, 0]

    def learn(self, x, y):
        """Learn from a sample of class y by the rule of its functions, one against the rest."""
        values = self.values(x)
        n_outputs = len(self.a)
        own = np.arange(n_outputs) == y if n_outputs > 1 else np.array([y == 1])
        signs = np.where(own, 1.0, -1.0)
        steps = np.where(signs * values <= 0, signs, 0.0)
        if steps.any():
            self.admit(x, steps)
        self.n_seen += 1

    def put(self, place, x, number, a):
        if place == len(self.points):
            self.points.append(None)
            self.ids.append(None)
            self.arrived.append(None)
            self.a = np.column_stack([self.a, np.zeros(len(self.a))])
        self.points[place], self.ids[place], self.arrived[place] = x, number, self.n_arrived
        self.n_arrived += 1
        self.a[:, place] = a

    def smallest(self):
        diag = np.array([self.k(x, x)[0, 0] for x in self.points])
        sizes = (self.a**2).sum(axis=0) * diag
        least = np.flatnonzero(sizes == sizes.min())
        return min(least, key=lambda i: self.arrived[i]), sizes.min()

    def admit(self, x, steps):
        if self.strategy == "projection":
            self.project(x, steps)
        elif len(self.points) < self.budget:
            self.put(len(self.points), x, self.n_seen, steps)
        elif self.strategy == "oldest":
            self.put(int(np.argmin(self.arrived)), x, self.n_seen, steps)
        elif self.strategy == "smallest":
            self.put(self.smallest()[0], x, self.n_seen, steps)
        else:
            self.merge(x, steps)

    def project(self, x, steps):
        P = np.array(self.points).reshape(-1, len(x))
        distance, shares = self.k(x, x)[0, 0], np.zeros(0)
        if len(P):
            shares = np.linalg.solve(self.k(P, P), self.k(P, x)[:, 0])
            distance -= shares @ self.k(P, x)[:, 0]
        if distance <= 1e-10 * self.k(x, x)[0, 0]:
            self.a += np.outer(steps, shares)
            return
        if len(P) < self.budget:
            self.put(len(P), x, self.n_seen, steps)
            return
        place = self.smallest()[0]
        others = np.vstack([np.delete(P, place, axis=0), x])
        onto = np.linalg.solve(self.k(others, others), self.k(others, P[place])[:, 0])
        lost = self.k(P[place], P[place])[0, 0] - onto @ self.k(others, P[place])[:, 0]
        old = self.a[:, place].copy()
        if (old**2).sum() * lost < (steps**2).sum() * distance:
            rest = np.delete(np.arange(len(P)), place)
            self.a[:, rest] += np.outer(old, onto[:-1])
            self.put(place, x, self.n_seen, steps + old * onto[-1])
        else:
            self.a += np.outer(steps, shares)

    def merge(self, x, steps):
        P = np.array(self.points)
        dx, k = self.k(x, x)[0, 0], self.k(P, x)[:, 0]
        dp = np.array([self.k(p, p)[0, 0] for p in P])
        squares = (self.a**2).sum(axis=0)
        losses = np.minimum((steps**2).sum() * (dx - k**2 / dp), squares * (dp - k**2 / dx))
        losses[steps @ self.a <= 0] = np.inf
        smallest, least = self.smallest()
        j = int(np.argmin(losses))
        if losses[j] == np.inf:
            self.put(smallest, x, self.n_seen, steps)
            return
        whole = dx * (steps**2).sum() + dp[j] * squares[j] + 2 * k[j] * (steps @ self.a[:, j])

        def become(z):
            """What the pair turns to at z: coefficients, and what is lost."""
            dz = self.k(z, z)[0, 0]
            a = (self.k(x, z)[0, 0] * steps + self.k(P[j], z)[0, 0] * self.a[:, j]) / dz
            return a, whole - dz * (a**2).sum()

        options = [(P[j], self.ids[j]), (x, self.n_seen)]
        if type(self.kernel) is RBF:
            best = minimize_scalar(
                lambda h: become(h * x + (1 - h) * P[j])[1], bounds=(0, 1), method="bounded",
                options={"xatol": 1e-11},
            )  # fmt: skip
            options.append((best.x * x + (1 - best.x) * P[j], -1))
        z, number = min(options, key=lambda option: become(option[0])[1])
        a, lost = become(z)
        if lost >= least:
            self.put(smallest, x, self.n_seen, steps)
        elif number == self.ids[j] and number >= 0:
            self.a[:, j] = a
        else:
            self.put(j, z, number, a)


# ---- The strategies


@pytest.mark.parametrize(
    ("strategy", "budget", "n_samples"),
    [
        *((strategy, 12, 160) for strategy in STRATEGIES),
        ("smallest", 141, 450),
        ("merge", 141, 450),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_strategies_do_what_they_are_defined_to(
    strategy, n_classes, kernel, budget, n_samples, rng
):
    # The line between two points has one best point only where they are close.
    kernel = RBF(0.05) if kernel == "rbf" else KERNELS[kernel]
    X, y = blobs(rng, n_samples, n_classes, noise=1.2 if budget < 20 else 2.5)
    reference = Budgeted(kernel, 1 if n_classes == 2 else n_classes, budget, strategy)
    model = KernelPerceptron(kernel=kernel, budget=budget, strategy=strategy)
    n_full = 0
    for x, label in zip(X, y, strict=True):
        reference.learn(x, label)
        model.partial_fit(x[None], [label], classes=range(n_classes))
        assert model.support_.tolist() == reference.ids
        np.testing.assert_allclose(
            model.support_vectors_, np.array(reference.points), rtol=1e-4, atol=1e-4
        )
        np.testing.assert_allclose(model.dual_coef_, reference.a, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(model.intercept_, reference.a.sum(axis=1), rtol=1e-4, atol=1e-4)
        n_full += len(model.support_) == budget
    assert n_full > 20
    if strategy == "merge" and type(kernel) is RBF:
        assert (model.support_ == -1).any()


def test_projection_keeps_no_point_in_the_span_of_the_others(rng):
    X, y = blobs(rng, 500, d=3)
    online = KernelPerceptron(kernel="linear", budget=100, strategy="projection")
    online.partial_fit(X, y, classes=[0, 1])
    assert len(online.support_) == 4  # three features, and the intercept
    free = KernelPerceptron(kernel="linear").partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(online.coef_, free.coef_, rtol=1e-9)
    np.testing.assert_allclose(online.intercept_, free.intercept_, rtol=1e-9, atol=1e-9)
    assert online.n_updates_ == free.n_updates_


@given(
    seed=st.integers(0, 2**32 - 1),
    budget=st.integers(1, 12),
    strategy=st.sampled_from(STRATEGIES),
    kernel=st.sampled_from(["linear", "rbf", "poly", "sigmoid", "laplacian", "composed"]),
    multi_class=st.sampled_from(["ovr", "direct"]),
    is_sparse=st.booleans(),
)
def test_the_budget_is_held_after_every_sample(
    seed, budget, strategy, kernel, multi_class, is_sparse
):
    rng = np.random.default_rng(seed)
    X, y = blobs(rng, 40, 3)
    model = KernelPerceptron(
        kernel=KERNELS[kernel], budget=budget, strategy=strategy, multi_class=multi_class
    )
    for i in range(40):
        x = sp.csr_array(X[i : i + 1]) if is_sparse else X[i : i + 1]
        model.partial_fit(x, y[i : i + 1], classes=[0, 1, 2])
        assert 1 <= len(model.support_) <= budget
        assert model.support_vectors_.shape == (len(model.support_), 4)
        np.testing.assert_allclose(
            model.intercept_, model.dual_coef_.sum(axis=1), rtol=1e-9, atol=1e-9
        )
    assert np.isfinite(model.decision_function(X)).all()
    whole = quietly(model.set_params(max_iter=3), X, y)
    assert len(whole.support_) <= budget


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_budget_that_is_never_reached_changes_nothing(strategy, rng):
    X, y = blobs(rng, 100)
    free = KernelPerceptron(kernel="rbf", gamma=0.5).partial_fit(X, y, classes=[0, 1])
    bound = KernelPerceptron(kernel="rbf", gamma=0.5, budget=100, strategy=strategy)
    bound.partial_fit(X, y, classes=[0, 1])
    assert_same_bits(bound.dual_coef_, free.dual_coef_)
    assert_same_bits(bound.decision_function(X), free.decision_function(X))


# ---- Kernels that are not positive


INDEFINITE = {
    "negative diagonal": Sigmoid(gamma=0.1, coef0=-2.0),
    "odd power": Polynomial(degree=3, gamma=1.0, coef0=-1.0),
    "difference": Sigmoid(gamma=1.0, coef0=-0.5) * Linear(),
    "both signs": Sigmoid(gamma=0.5, coef0=-1.0),
}


@pytest.mark.parametrize("strategy", ["projection", "merge"])
def test_one_point_of_length_zero_is_kept_as_it_is(strategy):
    kernel = Polynomial(degree=3, gamma=1.0, coef0=-1.0)  # K(x, x) = 0 at 1 and -1
    model = KernelPerceptron(kernel=kernel, budget=1, strategy=strategy, fit_intercept=False)
    for value, label in ((-1.0, 0), (-1.0, 1), (1.0, 1)):
        model.partial_fit([[value]], [label], classes=[0, 1])
        assert len(model.support_) == 1
        assert abs(model.dual_coef_[0, 0]) == 1


@given(
    seed=st.integers(0, 2**32 - 1),
    budget=st.integers(1, 12),
    strategy=st.sampled_from(STRATEGIES),
    kernel=st.sampled_from(sorted(INDEFINITE)),
    fit_intercept=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_steps_stay_as_large_as_they_are_where_a_kernel_is_not_positive(
    seed, budget, strategy, kernel, fit_intercept, dtype
):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((80, 1 + seed % 3)).astype(dtype), rng.integers(0, 2, 80)
    X[::7] = np.round(X[::7])
    model = KernelPerceptron(
        kernel=INDEFINITE[kernel], budget=budget, strategy=strategy, fit_intercept=fit_intercept
    )
    diag = np.diag(INDEFINITE[kernel](X)) + fit_intercept
    for i in range(80):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        assert 1 <= len(model.support_) <= budget
    # The length of a sum is no more than the sum of the lengths.
    points = model.support_vectors_
    lengths = abs(np.diag(INDEFINITE[kernel](points)) + fit_intercept) ** 0.5
    assert (lengths * abs(model.dual_coef_[0])).sum() <= 1e6 * (abs(diag) ** 0.5).sum()
    again = pickle.loads(pickle.dumps(model))
    assert_same_bits(again.partial_fit(X, y).dual_coef_, model.partial_fit(X, y).dual_coef_)


@pytest.mark.parametrize("strategy", ["projection", "merge"])
def test_a_kernel_that_is_negative_keeps_as_many_points_as_it_may(strategy, rng):
    X, y = blobs(rng, 600)
    model = KernelPerceptron(
        kernel="sigmoid", gamma=0.1, coef0=-2.0, budget=20, strategy=strategy, fit_intercept=False
    )
    model.partial_fit(X, y, classes=[0, 1])
    assert len(model.support_) == 20
    assert (abs(model.dual_coef_) == 1).all()


@pytest.mark.parametrize("strategy", ["projection", "merge"])
def test_a_sample_of_zeros_takes_no_place_where_nothing_depends_on_it(strategy):
    model = KernelPerceptron(kernel="linear", budget=2, strategy=strategy, fit_intercept=False)
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    model.partial_fit(X, [0, 1, 0, 1], classes=[0, 1])
    assert model.n_updates_ == 4
    assert model.support_.tolist() == [0, 1]
