"""Fitted estimators are kept as arrays and numbers, by pickle and by skops."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import MACHINES, quietly
from kcore import SVC, SVR, KernelPerceptron, NuSVC, NuSVR, OneClassSVM
from kcore.features import PolynomialMap, Quadratic
from kcore.kernels import RBF, Linear
from kcore.maps import (
    EmpiricalKernelMap,
    KernelPCA,
    Nystroem,
    PolynomialKernelMap,
    RandomFourierMap,
    TaylorMap,
)
from kcore.perceptron import Perceptron

ESTIMATORS = [
    SVC(),
    SVC(kernel="linear", multi_class="ovr"),
    SVC(kernel=RBF(0.3) + 2.0 * Linear()),
    NuSVC(nu=0.3),
    SVR(),
    NuSVR(precision="float32"),
    OneClassSVM(),
    Perceptron(max_iter=5),
    Perceptron(max_iter=5, average=True),
    Perceptron(max_iter=5, average="voted"),
    Perceptron(max_iter=5, pocket=True, shuffle=True, random_state=1),
    Perceptron(max_iter=5, multi_class="direct"),
    KernelPerceptron(max_iter=5),
    KernelPerceptron(kernel="linear", max_iter=5, average="voted"),
    KernelPerceptron(max_iter=5, budget=7, strategy="projection"),
    PolynomialMap(degree=3),
    Quadratic(),
    EmpiricalKernelMap(),
    KernelPCA(n_components=3, kernel=RBF(0.3) + 2.0 * Linear()),
    KernelPCA(n_components=3, kernel="rbf", eigen_solver="iterative", random_state=0),
    Nystroem(n_components=10, random_state=0),
    PolynomialKernelMap(degree=2),
    TaylorMap(degree=2),
    RandomFourierMap(n_components=8, random_state=0),
]
PLAIN = (type(None), bool, int, float, str, bytes, np.ndarray)


def shared_letters(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], float)


def by_pickle(model):
    return pickle.loads(pickle.dumps(model))


def by_skops(model):
    sio = pytest.importorskip("skops.io")
    data = sio.dumps(model)
    unknown = sio.get_untrusted_types(data=data)
    assert all(name.startswith("kcore.") for name in unknown), unknown
    return sio.loads(data, trusted=unknown)


def outputs(model, X):
    names = ("predict", "decision_function", "transform")
    found = [getattr(model, name)(X) for name in names if hasattr(model, name)]
    return [one.toarray() if sp.issparse(one) else one for one in found]


def assert_same_outputs(model, other, X):
    for found, expected in zip(outputs(other, X), outputs(model, X), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.fixture
def samples(rng):
    X = rng.standard_normal((60, 4))
    return np.where(abs(X) > 0.3, X, 0)


def labels_for(model, X, kind):
    codes = np.argmax(X[:, :3], axis=1)
    if kind == "two" or isinstance(model, SVR | NuSVR | NuSVC):
        return (X[:, 0] > 0).astype(int)
    return codes if kind == "three" else np.array(["a", "b", "c"])[codes]


@pytest.mark.parametrize("kind", ["two", "three", "names"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("keep", [by_pickle, by_skops])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_what_was_kept_predicts_the_same_bits(estimator, keep, form, kind, samples):
    X = form(samples)
    model = quietly(copy.deepcopy(estimator), X, labels_for(estimator, samples, kind))
    other = keep(model)
    assert_same_outputs(model, other, X)
    assert other.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    for name in ("fit_report_", "n_iter_", "cache_report_", "mistakes_", "classes_"):
        if hasattr(model, name):
            assert repr(getattr(other, name)) == repr(getattr(model, name))
    if hasattr(model, "support_vectors_"):
        assert type(other.support_vectors_) is type(model.support_vectors_)


@pytest.mark.parametrize("keep", [by_pickle, by_skops])
@pytest.mark.parametrize(
    "estimator", [e for e in ESTIMATORS if hasattr(e, "partial_fit")], ids=repr
)
def test_what_was_kept_learns_on_to_the_same_bits(estimator, keep, samples):
    y = labels_for(estimator, samples, "names")
    model = quietly(copy.deepcopy(estimator), samples, y)
    other = keep(model)
    for rows in (slice(0, 1), slice(1, 40)):
        model.partial_fit(samples[rows], y[rows])
        other.partial_fit(samples[rows], y[rows])
    assert_same_outputs(model, other, samples)


@pytest.mark.parametrize("keep", [by_pickle, by_skops])
@pytest.mark.parametrize("machine", [*MACHINES, KernelPerceptron])
def test_kernel_values_and_functions_are_kept(machine, keep, samples):
    y = labels_for(machine(), samples, "two")
    model = quietly(machine(kernel="precomputed"), samples @ samples.T, y)
    assert_same_outputs(model, keep(model), samples @ samples.T)
    words = ["ab", "abc", "b", "xyz", "x", "zy"]
    model = quietly(machine(kernel=shared_letters), words, [0, 0, 0, 1, 1, 1])
    if keep is by_pickle:  # skops does not take functions of tests
        assert_same_outputs(model, keep(model), words)


@pytest.mark.parametrize("keep", [by_pickle, by_skops])
def test_names_of_features_are_kept(keep, samples):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(samples, columns=list("abcd"))
    for estimator in (SVC(), KernelPerceptron(), Perceptron(max_iter=2), Quadratic()):
        model = quietly(estimator, frame, labels_for(estimator, samples, "names"))
        other = keep(model)
        np.testing.assert_array_equal(other.feature_names_in_, list("abcd"))
        assert_same_outputs(model, other, frame)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("machine", [*MACHINES, KernelPerceptron])
def test_the_state_of_a_kernel_machine_is_plain(machine, form, samples):
    y = labels_for(machine(), samples, "two")
    state = quietly(machine(), form(samples), y)._fitted.__getstate__()

    def check(value):
        if type(value) in (tuple, list):
            return all(map(check, value))
        if type(value) is dict:
            return all(type(key) is str for key in value) and all(map(check, value.values()))
        return type(value) in PLAIN or isinstance(value, np.number)

    assert all(check(value) for value in state.values()), state


@pytest.mark.parametrize("keep", [by_pickle, by_skops])
@pytest.mark.parametrize(
    "columns", [slice(1, None), slice(0, 3, 2), slice(None, None, -1), [0, 3, 2], -1]
)
def test_columns_of_a_kernel_are_kept(columns, keep, samples):
    kernel = RBF("scale").on(columns) + Linear().on([0])
    landmarks = Nystroem(kernel, n_components=9)
    for estimator in (SVC(kernel=kernel), KernelPerceptron(kernel=kernel), landmarks):
        model = quietly(estimator, samples, labels_for(SVC(), samples, "two"))
        other = keep(model)
        assert other.kernel_ == model.kernel_
        assert other.kernel == kernel
        assert_same_outputs(model, other, samples)
