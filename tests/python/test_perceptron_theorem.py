"""The convergence theorem of the perceptron: separable samples end within its bound, XOR never."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kcore import SVC
from kcore.exceptions import ConvergenceWarning
from kcore.features import Quadratic
from kcore.perceptron import KernelPerceptron, Perceptron, convergence_bound
from test_perceptron import augmented, fit, signs, vectors

# ---- The bound


@st.composite
def separable(draw):
    """Whole numbers and labels that a vector of whole numbers separates."""
    d = draw(st.integers(1, 4))
    n = draw(st.integers(2, 14))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, (n, d)).astype(float)
    values = X @ rng.integers(-5, 6, d) + rng.integers(-5, 6)
    X, values = X[values != 0], values[values != 0]
    assume((values > 0).any() and (values < 0).any())
    return X, (values > 0).astype(int)


@settings(max_examples=300)
@given(
    separable(),
    st.sampled_from(["single", "batch"]),
    st.sampled_from([0.0, 0.5, 20.0]),
    st.sampled_from([0.25, 1.0, 3.0]),
    st.booleans(),
)
def test_corrections_are_within_the_bound_of_any_separating_vector(data, rule, margin, eta, mixed):
    X, y = data
    model = Perceptron(
        rule=rule, margin=margin, eta=eta, shuffle=mixed, random_state=0, max_iter=10**7
    ).fit(X, y)
    assert model.converged_
    assert model.mistakes_[-1] == 0
    assert 1 <= model.n_updates_ <= model.bound_
    own = convergence_bound(X, y, model.coef_, model.intercept_, rule=rule, margin=margin, eta=eta)
    assert own == model.bound_
    machine = SVC(kernel="linear", C=np.inf, tol=1e-6).fit(X, y)
    best = convergence_bound(
        X, y, machine.coef_, machine.intercept_, rule=rule, margin=margin, eta=eta
    )
    assert model.n_updates_ <= best


@given(separable(), st.sampled_from(["single", "batch"]), st.sampled_from([0.0, 3.0]))
def test_the_bound_is_the_formula(data, rule, margin):
    X, y = data
    model = Perceptron(rule=rule, margin=margin, eta=0.5, max_iter=10**7).fit(X, y)
    Y, a = augmented(X, signs(y)), vectors(model)[0]
    longest = (Y**2).sum(axis=1).max() + 2 * margin / 0.5
    bound = longest * (a @ a) / (Y @ a).min() ** 2 * (len(Y) if rule == "batch" else 1)
    assert bound <= model.bound_ <= bound * (1 + 1e-9)


@given(separable(), st.sampled_from([{}, {"rule": "batch"}, {"average": True}, {"pocket": True}]))
def test_separable_samples_are_told_apart_at_the_end(data, params):
    X, y = data
    model = Perceptron(max_iter=10**7, **params).fit(sp.csr_array(X), y)
    assert model.converged_
    if "average" not in params:
        assert model.score(X, y) == 1
    assert model.n_updates_ <= model.bound_


def test_there_is_no_bound_where_there_is_no_theorem():
    X = np.array([[2.0], [1.0], [-1.0], [-3.0]])
    y = [1, 1, 0, 0]
    assert Perceptron().fit(X, y).bound_ is not None
    assert Perceptron(eta="inverse").fit(X, y).bound_ is None
    assert Perceptron(eta=lambda k: 1.0).fit(X, y).bound_ is None
    assert Perceptron().fit(X, y, np.ones(4)).bound_ is None
    assert Perceptron(class_weight={0: 2}).fit(X, y).bound_ is None
    assert fit(X, [0, 0, 1, 2], max_iter=10).bound_ is None
    assert fit(X, [0, 1, 0, 1], max_iter=10).bound_ is None
    again = Perceptron(warm_start=True).fit(X, y)
    assert again.bound_ is not None
    assert again.fit(X, y).bound_ is None
    assert Perceptron().partial_fit(X, y, [0, 1]).bound_ is None
    assert convergence_bound(X, y, [-1.0]) is None
    assert convergence_bound(X, y, [1.0], -2.0) is None
    assert convergence_bound(X, y, [1.0], fit_intercept=False) == pytest.approx(9)


# ---- XOR

XOR = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])


@pytest.mark.parametrize("X", [XOR, (XOR + 1) / 2])
def test_xor_is_not_separable_but_with_the_quadratic_map(X):
    y = (X[:, 0] != X[:, 1]).astype(int)
    for rule in ("single", "batch"):
        with pytest.warns(ConvergenceWarning, match="may not be linearly separable"):
            line = Perceptron(rule=rule).fit(X, y)
        assert (line.predict(X) != y).any()
        assert line.mistakes_[-1] > 0
        assert line.bound_ is None
        curve = Perceptron(rule=rule).fit(Quadratic().fit_transform(X), y)
        assert curve.converged_
        assert curve.n_updates_ <= curve.bound_
        assert (curve.predict(Quadratic().fit_transform(X)) == y).all()


# ---- Numbers at the ends of float64


def spread_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("eta", [5e-324, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("gamma", [10, 100, 300, 1000, 1e5, 1e308])
def test_a_bound_that_is_beyond_numbers_costs_no_fit(gamma, eta, fit_intercept):
    X, y = spread_out()
    model = KernelPerceptron(gamma=gamma, eta=eta, fit_intercept=fit_intercept).fit(X, y)
    assert model.score(X, y) == 1
    assert model.bound_ is None or model.n_updates_ <= model.bound_


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("eta", [5e-324, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-160, 1.0, 1e120, 1e150])
def test_a_bound_of_tiny_or_huge_samples_is_one_or_none(scale, eta, fit_intercept):
    X, y = spread_out()
    model = Perceptron(eta=eta, fit_intercept=fit_intercept, max_iter=500)
    if scale * eta > 1e300:
        with pytest.raises(ValueError, match="pass 1 overflows float64"):
            model.fit(scale * X, y)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(scale * X, y)
    assert model.bound_ is None or model.n_updates_ <= model.bound_


def test_the_bound_does_not_depend_on_the_length_of_the_vector():
    X, y = [[1.0], [-1.0]], [1, 0]
    bound = convergence_bound(X, y, [1.0])
    for scale in (1e-200, 1e200):
        assert convergence_bound(X, y, [scale]) == pytest.approx(bound, rel=1e-12)
    assert convergence_bound(X, y, [5e-324]) is None
    assert convergence_bound(X, y, [1.0], margin=1.0, eta=5e-324) == np.inf
