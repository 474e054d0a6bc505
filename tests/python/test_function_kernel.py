"""Functions of the user's as operands of kernels: Python's and compiled ones."""

import ctypes
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

from conftest import assert_same_bits
from kcore import SVC, SVR, KernelPerceptron, OneClassSVM
from kcore.kernels import RBF, Function, Linear


def overlap(A, B):
    return np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2)


class Sample(ctypes.Structure):
    """kc_sample of kcore/kernels.h."""

    _fields_ = (
        ("n", ctypes.c_int64),
        ("values", ctypes.POINTER(ctypes.c_double)),
        ("columns", ctypes.POINTER(ctypes.c_int32)),
        ("bytes", ctypes.c_void_p),
        ("n_cols", ctypes.c_int64),
    )


PAIR = ctypes.CFUNCTYPE(
    ctypes.c_double, ctypes.c_void_p, ctypes.POINTER(Sample), ctypes.POINTER(Sample)
)
BLOCK = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.POINTER(Sample),
    ctypes.c_int64,
    ctypes.POINTER(Sample),
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_int64,
)


@PAIR
def c_pair(data, x, z):
    return 1.0 + sum(x[0].values[k] * z[0].values[k] for k in range(x[0].n))


@BLOCK
def c_block(data, x, n_x, z, n_z, out, ld):
    for i in range(n_x):
        for j in range(n_z):
            out[i * ld + j] = sum(x[i].values[k] * z[j].values[k] for k in range(x[i].n))


@pytest.fixture
def data(rng):
    X = rng.uniform(0, 1, (70, 3))
    return X, X[:, 0] + X[:, 1] > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_are_those_of_the_function(dtype, data):
    X = data[0].astype(dtype)
    kernel = Function(overlap)
    wanted = overlap(X.astype(float), X.astype(float))
    assert np.allclose(kernel(X), wanted, rtol=1e-6 if dtype == np.float32 else 1e-15)
    assert_same_bits(kernel(X), kernel(X, X.copy()))
    assert_same_bits(kernel.diag(X), np.diag(kernel(X)))
    both = (kernel * RBF(0.1) + Linear()).on([0, 2])(X[:, :])
    part = X[:, [0, 2]].astype(float)
    assert np.allclose(both, overlap(part, part) * RBF(0.1)(part) + Linear()(part), rtol=1e-5)
    assert kernel.definiteness == "indefinite"
    assert Function(overlap, definiteness="positive").normalized().definiteness == "positive"


def test_sparse_samples_come_as_rows(data):
    sp = pytest.importorskip("scipy.sparse")
    X = np.where(data[0] > 0.6, data[0], 0)
    wide = np.zeros((70, 400))
    wide[:, [5, 100, 399]] = X
    assert_same_bits(Function(overlap)(sp.csr_array(wide)), Function(overlap)(wide))


def test_strings_come_as_bytes():
    def common(A, B):
        assert all(isinstance(a, bytes) for a in A)
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    words = ["abc", "", "bcd", "é"]
    assert Function(common)(words).tolist()[0] == [3, 0, 2, 0]
    assert Function(common)(words)[3, 3] == 2


def decide(model, X):
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("learner", [SVC, SVR, OneClassSVM, KernelPerceptron])
def test_every_learner_trains_with_it(learner, n_threads, data):
    X, y = data
    target = None if learner is OneClassSVM else X[:, 0] if learner is SVR else y
    kernel = Function(overlap, definiteness="positive") * RBF(0.1)
    K = kernel(X)
    model = learner(kernel=kernel, n_jobs=n_threads).fit(X, target)
    given = learner(kernel="precomputed").fit(K, target)
    assert np.allclose(decide(model, X), decide(given, K), atol=0.05)
    again = pickle.loads(pickle.dumps(model))
    assert_same_bits(decide(again, X), decide(model, X))
    assert model.predict(X[:1]) == model.predict(X)[:1]  # one sample is a short call


def test_the_function_lives_as_long_as_what_calls_it(data):
    X, y = data

    class Overlap:
        def __call__(self, A, B):
            return overlap(A, B)

    function = Overlap()
    watched = weakref.ref(function)
    kernel = Function(function) + RBF()
    model = SVC(kernel=kernel).fit(X, y)
    wanted = model.decision_function(X)
    model.set_params(kernel="rbf")
    del function, kernel
    gc.collect()
    assert watched() is not None
    assert_same_bits(model.decision_function(X), wanted)
    del model
    gc.collect()
    assert watched() is None


# ---- Errors


class Failing:
    def __init__(self, n_answers):
        self.n_answers, self.error, self.n_asked = n_answers, LookupError("no such value"), 0
        self.lock = threading.Lock()

    def __call__(self, A, B):
        with self.lock:
            self.n_asked += 1
            if self.n_asked > self.n_answers:
                raise self.error
        return overlap(A, B)


@pytest.mark.parametrize("n_answers", [0, 1, 7])
@pytest.mark.parametrize("call", ["gram", "diag", "SVC", "KernelPerceptron"])
def test_an_exception_of_the_function_ends_the_call_and_comes_out(call, n_answers, data):
    X, y = data
    function = Failing(n_answers)
    kernel = Function(function) * RBF(0.1)
    calls = {
        "gram": lambda: kernel(X),
        "diag": lambda: kernel.diag(X),
        "SVC": lambda: SVC(kernel=kernel).fit(X, y),
        "KernelPerceptron": lambda: KernelPerceptron(kernel=kernel).fit(X, y),
    }
    with pytest.raises(LookupError) as caught:
        calls[call]()
    assert caught.value is function.error
    assert function.n_asked <= n_answers + 2  # one more for each other thread
    function.n_answers = 10**9
    assert np.isfinite(kernel(X)).all()  # and the next call is not told


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda A, B: 1.0, ValueError, r"returned shape \(1,\)"),
        (lambda A, B: overlap(A, B)[:, :1], ValueError, r"returned shape \(\d+, 1\)"),
        (lambda A, B: overlap(A, B) * np.nan, ValueError, "returned nan for row 0 of its first"),
        (lambda A, B: [["a"] * len(B)] * len(A), TypeError, "what the function given as kernel"),
    ],
)
def test_values_that_cannot_be_are_refused(function, error, text, data):
    with pytest.raises(error, match=text):
        Function(function)(data[0])
    with pytest.raises(error, match=text):
        SVC(kernel=Function(function) + RBF()).fit(*data)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Function(3.5), TypeError, "function must be a function, got 3.5"),
        (lambda: Function(0), ValueError, "address of a function, got 0"),
        (lambda: Function(RBF()), TypeError, "must not be a kernel"),
        (lambda: Function(overlap, definiteness="sure"), ValueError, "definiteness must be one"),
        (lambda: Function(overlap, form="pair"), ValueError, "form is that of a compiled"),
        (lambda: Function(c_pair, form="row"), ValueError, "form must be 'pair', 'block' or None"),
    ],
)
def test_what_is_no_function_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


# ---- Compiled functions


@pytest.mark.parametrize("how", ["ctypes", "address", "LowLevelCallable", "capsule"])
@pytest.mark.parametrize("form", ["pair", "block"])
def test_compiled_functions_are_called_in_their_form(form, how, data):
    scipy = pytest.importorskip("scipy")
    X, y = data
    function = c_pair if form == "pair" else c_block
    address = ctypes.cast(function, ctypes.c_void_p).value
    signature = {
        "pair": b"double (void *, kc_sample *, kc_sample *)",
        "block": b"void (void *, kc_sample *, int64_t)",
    }[form]
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new(address, signature, None)
    given = {
        "ctypes": lambda: Function(function),
        "address": lambda: Function(address, form=form),
        "LowLevelCallable": lambda: Function(scipy.LowLevelCallable(capsule)),
        "capsule": lambda: Function(capsule),
    }[how]()
    wanted = X @ X.T + (form == "pair")
    assert np.allclose((given * RBF(0.1))(X), wanted * RBF(0.1)(X), rtol=1e-13)
    assert SVC(C=100, kernel=given + RBF()).fit(X, y).score(X, y) > 0.9
    with pytest.raises(TypeError, match="is not pickled: its function is compiled"):
        pickle.dumps(given)


def test_functions_are_shown_by_their_names():
    assert repr(Function(overlap) + RBF()) == "Function(overlap) + RBF(gamma=1.0)"
    assert str(Function(overlap, definiteness="positive")) == "overlap(x, z)"
    shown = repr(Function(overlap, definiteness="positive"))
    assert shown == "Function(overlap, definiteness='positive')"
    assert eval(shown) == Function(overlap, definiteness="positive")


def test_functions_of_equal_kernels_are_added_and_multiplied(rng):
    X = rng.uniform(0, 1, (30, 4))
    y = X[:, 0] > 0.5
    kernels = [Function(overlap, definiteness="positive") for _ in range(2)]
    kernels.append(pickle.loads(pickle.dumps(kernels[0])))
    sections = [kernel.section(x) for kernel, x in zip(kernels, X, strict=False)]
    values = overlap(X[:3], X[:3])
    for i, f in enumerate(sections):
        for j, g in enumerate(sections):
            assert f @ g == values[i, j]
            assert_same_bits((f - g)(X), kernels[0](X, X[[i]])[:, 0] - kernels[0](X, X[[j]])[:, 0])
    models = [SVC(kernel=k + RBF(), C=c).fit(X, y) for k, c in zip(kernels, (1, 2), strict=False)]
    apart = models[0].function_.distance(models[1].function_)
    assert 0 < apart < models[0].function_.norm() + models[1].function_.norm()


def test_a_function_without_a_hash_is_one_by_itself(rng):
    class Overlap:
        __hash__ = None

        def __call__(self, A, B):
            return overlap(A, B)

    X = rng.uniform(0, 1, (10, 3))
    kernel = Function(Overlap(), definiteness="positive")
    assert_same_bits(kernel(X), overlap(X, X))
    model = SVC(kernel=kernel).fit(X, X[:, 0] > 0.5)
    assert_same_bits(model.function_(X) + model.intercept_, model.decision_function(X))
