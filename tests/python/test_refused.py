"""What is no real number, or no label, is refused by name and place: nothing is lost in silence."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import quietly
from kcore import SVC, SVR, KernelPerceptron, NuSVR, OneClassSVM, Perceptron
from kcore.kernels import RBF, Sum, exp
from kcore.perceptron import convergence_bound

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0], [4.0, 4.0], [5.0, 1.0]])
Y = np.array([0, 1, 0, 1, 1, 0])


def masked(values, *place):
    mask = np.zeros(values.shape, bool)
    mask[place] = True
    return np.ma.masked_array(values, mask)


def objects(values, place, value):
    changed = values.astype(object)
    changed[place] = value
    return changed


# ---- Functions as kernels

BAD_VALUES = [
    (lambda K: K.astype(complex), TypeError, "has dtype complex128, must be real numbers"),
    (lambda K: K.astype(str), TypeError, "has dtype <U32, must be real numbers"),
    (lambda K: K.astype("M8[s]"), TypeError, r"has dtype datetime64\[s\], must be real numbers"),
    (lambda K: masked(K, 0, 1), ValueError, ": row 0, column 1 is masked; fill masked entries"),
    (lambda K: objects(K, (0, 1), "7"), TypeError, ": row 0, column 1 is '7', must be a real"),
    (lambda K: objects(K, (0, 1), 1j), TypeError, ": row 0, column 1 is 1j, must be a real"),
    (lambda K: None, TypeError, " is None, must be a real number"),
    (lambda K: [[1.0], [1.0, 2.0]], ValueError, " is not a table of numbers"),
    (lambda K: sp.csr_array(K.astype(complex)), TypeError, "has dtype complex128"),
]


@pytest.mark.parametrize(("spoil", "exception", "words"), BAD_VALUES)
@pytest.mark.parametrize("estimator", [SVC, SVR, OneClassSVM, KernelPerceptron])
def test_values_of_a_function_are_real_numbers(estimator, spoil, exception, words):
    words = f"^what the function given as kernel returned.*{words}"
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        with pytest.raises(exception, match=words):
            estimator(kernel=lambda A, B: spoil(A @ B.T)).fit(X, Y)
    is_spoilt = False
    model = estimator(kernel=lambda A, B: spoil(A @ B.T) if is_spoilt else A @ B.T)
    quietly(model, X, Y)
    is_spoilt = True
    with pytest.raises(exception, match=words):
        model.predict(X)


@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist, sp.csr_array, sp.csc_array])
def test_values_of_a_function_may_be_anything_that_holds_real_numbers(convert):
    expected = SVC(kernel=lambda A, B: A @ B.T).fit(X, Y)
    for dtype in (np.float32, np.longdouble, np.int64, object):
        if dtype is object and convert not in (np.asarray, np.ndarray.tolist):
            continue
        model = SVC(kernel=lambda A, B, dtype=dtype: convert((A @ B.T).astype(dtype))).fit(X, Y)
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


# ---- Starts and vectors


@pytest.mark.parametrize(
    ("init", "exception", "words"),
    [
        (np.zeros(6, complex), TypeError, "init has dtype complex128, must be real numbers"),
        (["1"] * 6, TypeError, "init has dtype <U1, must be real numbers"),
        (masked(np.zeros(6), 4), ValueError, "init: row 4 is masked"),
        ([0, 0, None, 0, 0, 0], TypeError, "init: row 2 is None, must be a real number"),
        ([0, 0, np.inf, 0, 0, 0], ValueError, "init: row 0, sample 2 is infinity, must be finite"),
        ([[0] * 6, [0] * 5], ValueError, "init is not a table of numbers"),
    ],
)
def test_a_start_holds_real_numbers(init, exception, words):
    with pytest.raises(exception, match=f"^{words}"):
        SVC().fit(X, Y, init=init)


@pytest.mark.parametrize("name", ["coef", "intercept"])
@pytest.mark.parametrize(
    ("value", "exception", "words"),
    [
        ([1j], TypeError, " has dtype complex128, must be real numbers"),
        (["1"], TypeError, " has dtype <U1, must be real numbers"),
        (masked(np.ones(1), 0), ValueError, ": row 0 is masked"),
        ([np.nan], ValueError, ": entry 0 is NaN, must be finite"),
    ],
)
def test_a_separating_vector_holds_real_numbers(name, value, exception, words):
    vector = {"coef": [1.0], name: value}
    with pytest.raises(exception, match=f"^{name}{words}"):
        convergence_bound([[1.0], [-1.0]], [1, 0], **vector)


# ---- Labels that are listed


@pytest.mark.parametrize("estimator", [Perceptron, KernelPerceptron])
@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ([None], "classes: entry 0 is None; labels are numbers or strings"),
        ([0, 1, None], "classes: entry 2 is None; labels are numbers or strings"),
        ([0, np.nan], "classes: entry 1 is nan; labels are numbers or strings"),
        ([0, 1j], "classes has dtype complex128; labels are numbers or strings"),
        (np.array([0, 1], "M8[s]"), r"classes has dtype datetime64\[s\]; labels are numbers"),
        ([[0, 1]], r"classes must be 1-D, got shape \(1, 2\)"),
        (3, r"classes must be 1-D, got shape \(\)"),
        ([[0], [1, 2]], "classes is not a list of labels"),
        (masked(np.arange(2), 1), "classes: row 1 is masked"),
        (np.array([0, "a"], object), "classes has labels without an order"),
        ([1], r"classes has 1 label\(s\); there must be at least 2"),
    ],
)
def test_classes_that_are_no_labels_are_refused(estimator, classes, words):
    model = estimator()
    with pytest.raises(ValueError, match=f"^{words}"):
        model.partial_fit(X, Y, classes=classes)
    assert not model.__sklearn_is_fitted__()
    model.partial_fit(X, Y, classes=[0, 1])
    before = model._fitted
    with pytest.raises(ValueError, match=r"^classes"):
        model.partial_fit(X, Y, classes=classes)
    assert model._fitted is before


# ---- Numbers beyond float64


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SVC(C=10**400), "C is too large for float64"),
        (SVC(gamma=10**400), "gamma must be 'scale', 'auto' or a finite number"),
        (SVC(tol=10**400), "tol is too large for float64"),
        (Perceptron(eta=10**400), "eta is too large for float64"),
        (Perceptron(margin=10**400), "margin is too large for float64"),
        (KernelPerceptron(eta=lambda k: 10**400), r"eta\(0\) is inf, must be finite and > 0"),
    ],
)
def test_integers_beyond_float64_are_refused_in_words(model, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        model.fit(X, Y)


# ---- Objects that are nearly what they should be


class Everything:
    """Has every attribute, and each is another such object."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Everything()


class Silent:
    """Cannot even say what it is."""

    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize("model", [SVC(), Perceptron(), KernelPerceptron()], ids=repr)
@pytest.mark.parametrize("bad", [Everything(), np.array([[1.0, [2.0]]], dtype=object)])
def test_objects_that_hold_no_table_are_no_samples(model, bad):
    model = quietly(model, X, Y)
    for call in (lambda: model.predict(bad), lambda: type(model)().fit(bad, Y)):
        with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
            call()


@pytest.mark.parametrize(
    ("name", "value"),
    [("degree", np.full((2, 2), 3)), ("multi_class", sp.csr_array(np.eye(2))), ("gamma", Silent())],
)
def test_parameters_that_change_while_learning_goes_on_are_refused_by_name(name, value):
    model = KernelPerceptron(gamma=0.5).partial_fit(X, Y, classes=[0, 1])
    before = model.decision_function(X)
    setattr(model, name, value)
    for rows in (slice(1), slice(None)):
        with pytest.raises(ValueError, match=f"{name} was .* in the first call"):
            model.partial_fit(X[rows], Y[rows])
    np.testing.assert_array_equal(model.set_params(**{name: 0.5}).decision_function(X), before)


def test_what_cannot_be_shown_is_named_by_its_type():
    for make in (
        lambda: exp(Silent()),
        lambda: SVC(gamma=Silent()).fit(X, Y),
        lambda: SVC(class_weight=Silent()).fit(X, Y),
        lambda: Perceptron(rule=Silent()).fit(X, Y),
        lambda: KernelPerceptron(cache_size=Silent()).fit(X, Y),
    ):
        with pytest.raises((TypeError, ValueError), match="got an object of type Silent"):
            make()


def test_a_flag_is_not_notimplemented():
    with pytest.raises(TypeError, match="shuffle must be True or False"):
        KernelPerceptron(shuffle=NotImplemented).fit(X, Y)


# ---- Numbers that are too large


@pytest.mark.parametrize("machine", [SVR, NuSVR])
def test_targets_whose_squares_overflow_are_refused(machine):
    with pytest.raises(
        ValueError, match="the target of sample 2 is -1e\\+200: its square overflows"
    ):
        machine().fit(X, [0.0, 1.0, -1e200, 0.0, 1.0, 0.0])
    assert np.isfinite(quietly(machine(), X, np.linspace(-1e150, 1e150, 6)).predict(X)).all()


def test_weights_whose_sum_overflows_have_a_mean(rng):
    huge = np.full(6, 1e308)
    model = SVC().fit(X, Y)
    assert model.score(X, Y, huge) == model.score(X, Y)
    regression = SVR().fit(X, X[:, 0])
    assert regression.score(X, X[:, 0], huge) == pytest.approx(regression.score(X, X[:, 0]))
    assert regression.score(X, huge) <= 0
    online = KernelPerceptron(gamma="scale").partial_fit(X, Y, [0, 1], 1e308)
    assert np.isfinite(online.decision_function(X)).all() or online.n_updates_ == 0


@pytest.mark.parametrize("weights", [[np.nan] * 6, ["a"] * 6, np.ones(6, "M8[D]"), -np.ones(6)])
@pytest.mark.parametrize("machine", [SVC, SVR])
def test_weights_of_a_score_are_weights(machine, weights):
    with pytest.raises((TypeError, ValueError), match="sample_weight"):
        machine().fit(X, Y).score(X, Y, weights)


def test_a_result_beyond_the_address_space_is_a_memory_error():
    with pytest.raises(MemoryError, match="does not fit into memory"):
        RBF()(X[:, :1], np.broadcast_to(1.0, (2**58, 1)))


def test_other_parameters_are_refused_by_name():
    for make, words in (
        (lambda: SVC(decision_function_shape=np.ones(3)).fit(X, Y).decision_function(X), "shape"),
        (lambda: SVC(probability=Silent()).fit(X, Y), "probability must be False"),
        (lambda: KernelPerceptron(random_state=np.zeros(3)).fit(X, Y), "random_state must be"),
        (lambda: Perceptron(random_state=Everything(), shuffle=True).fit(X, Y), "random_state"),
        (lambda: SVC(callback=3).fit(X, Y), "callback must be a function"),
        (lambda: convergence_bound(X, Y, [1.0, 0.0], rule=Silent()), "rule must be one of"),
        (lambda: Perceptron(rule=memoryview(bytearray(3))).fit(X, Y), "rule must be one of"),
        (lambda: Sum(RBF() + RBF(), "x"), "k2 must be a Kernel"),
        (
            lambda: SVR(kernel=lambda A, B: np.full((len(A), len(B)), 1e308)).fit(X, Y).predict(X),
            "1e.308",
        ),
        (lambda: SVC().fit(X, Y).score(X, np.zeros(6, [("a", float)])), "y has dtype"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            make()


def test_fit_predict_that_fails_changes_nothing():
    n_calls, most = 0, np.inf

    def kernel(A, B):
        nonlocal n_calls
        n_calls += 1
        if n_calls > most:
            raise ArithmeticError
        return A @ B.T

    model = OneClassSVM().fit(X)
    before = model.decision_function(X)
    OneClassSVM(kernel=kernel).fit(X)
    n_calls, most = 0, n_calls  # as many as a fit takes
    with pytest.raises(ArithmeticError):
        model.set_params(kernel=kernel).fit_predict(X)
    np.testing.assert_array_equal(model.set_params(kernel="rbf").decision_function(X), before)
