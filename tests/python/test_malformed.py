"""Sparse matrices whose arrays do not fit together are refused by every method, before it begins.

Classes, methods and arguments are found by looking at the package: what is added is tested, too.
"""

import importlib
import inspect
import pkgutil
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import kcore
from kcore._base import Estimator
from kcore.kernels import RBF, Kernel, Linear
from kcore.maps import RandomFourierMap
from processes import in_child

N, D = 6, 3
DENSE = np.arange(N * D, dtype=float).reshape(N, D) % 5 - 1
LABELS = np.arange(N) % 2
MATRICES = ("X", "Z")  # what public arguments that may be sparse are called


# ---- Twelve malformed matrices


def damaged(part, change):
    matrix = sp.csr_array(np.ones((N, D)))
    setattr(matrix, part, change(getattr(matrix, part).copy()))
    return matrix


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


MALFORMED = {
    "indptr that falls": (damaged("indptr", put(2, 1)), r"indptr\[2\] is 1, below indptr\[1\] = 3"),
    "indptr that leaps": (
        damaged("indptr", put(2, 10**9)),
        r"indptr\[3\] is 9, below indptr\[2\] = 1000000000",
    ),
    "indptr that starts late": (damaged("indptr", put(0, 1)), r"indptr\[0\] is 1, must be 0"),
    "indptr below zero": (damaged("indptr", put(0, -(2**31))), r"indptr\[0\] is -2147483648, must"),
    "indptr beyond the values": (
        damaged("indptr", put(N, 2**31 - 1)),
        "indptr ends at 2147483647, but there are 18 values",
    ),
    "indptr too short": (damaged("indptr", lambda a: a[:-2]), r"indptr has shape \(5,\), must be"),
    "column too large": (
        damaged("indices", put(4, 10**9)),
        "row 1 has column index 1000000000 at position 4, must be 0 to 2",
    ),
    "column below zero": (
        damaged("indices", put(17, -1)),
        "row 5 has column index -1 at position 17, must be 0 to 2",
    ),
    "indices that are none": (damaged("indices", lambda _: None), "indices is None"),
    "indices that are real": (damaged("indices", lambda a: a / 2), "indices has dtype float64"),
    "indices too short": (
        damaged("indices", lambda a: a[:5]),
        r"data has shape \(18,\), .*indices has shape \(5,\)",
    ),
    "values in two dimensions": (
        damaged("data", lambda a: a[:, None]),
        r"data has shape \(18, 1\), .*indices has shape \(18,\)",
    ),
}
assert len(MALFORMED) == 12


# ---- Every public callable with an argument that may be sparse


def public_objects():
    """Give (module, name, object) of what the public modules of the package define."""
    modules = [kcore] + [
        importlib.import_module(f"kcore.{m.name}")
        for m in pkgutil.iter_modules(kcore.__path__)
        if not m.name.startswith("_")
    ]
    for module in modules:
        for name in getattr(module, "__all__", vars(module)):
            thing = getattr(module, name)
            if not name.startswith("_") and getattr(thing, "__module__", "").startswith("kcore"):
                yield thing


CLASSES = sorted(
    {c for c in public_objects() if inspect.isclass(c)}, key=lambda c: (c.__module__, c.__name__)
)
FUNCTIONS = sorted(
    {f for f in public_objects() if inspect.isfunction(f)}, key=lambda f: f.__qualname__
)
ESTIMATORS = [c for c in CLASSES if issubclass(c, Estimator)]
KERNELS = [c for c in CLASSES if issubclass(c, Kernel) and c is not Kernel]


def product(X, Z):
    return np.asarray((X @ Z.T).todense() if sp.issparse(X) else X @ Z.T)


# Ways of an estimator that lead through other code, by the parameters that it has.
WAYS = [
    {},
    {"kernel": "linear"},
    {"kernel": "precomputed"},
    {"kernel": product},
    {"warm_start": True},
    {"average": "voted"},
    {"gamma": 1.0},
    {"multi_class": "ovr"},
    {"budget": 2},
]
OTHERS = {
    "y": LABELS,
    "classes": [0, 1],
    "coef": np.ones(D),
    "K_or_kernel": RBF(),
    "kernels": [RBF(), Linear()],
    "weights": np.ones((len(DENSE), len(DENSE))),
}


def ways(cls):
    known = set(inspect.signature(cls).parameters)
    if cls is RandomFourierMap:  # of a few kernels alone
        known.remove("kernel")
    return [way for way in WAYS if set(way) <= known]


def takers(thing):
    """Give (method name, names of matrices) of what takes samples."""
    for name, method in inspect.getmembers(thing, callable):
        if name.startswith("_") and name != "__call__":
            continue
        try:
            known = inspect.signature(method).parameters
        except (TypeError, ValueError):
            continue
        found = [p for p in known if p in MATRICES]
        if found and not name.startswith("set_"):  # requests of metadata
            yield name, found


def refuse_all(call, name):
    """Send all malformed matrices as the argument `name`."""
    known = inspect.signature(call).parameters
    for matrix, words in MALFORMED.values():
        arguments = {p: OTHERS[p] for p in known if p in OTHERS}
        arguments |= {p: DENSE for p in known if p in MATRICES}
        arguments[name] = matrix
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises((TypeError, ValueError), match=f"^{name}.*{words}"):
                call(**arguments)


def fitted(model):
    X = DENSE
    if getattr(model, "kernel", None) == "precomputed":
        X = DENSE @ DENSE.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, LABELS)
    return model


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda c: c.__name__)
def test_estimators_refuse_malformed_matrices_before_anything_changes(cls):
    found = dict(takers(cls))
    assert "fit" in found
    for way in ways(cls):
        for model in (cls(**way), fitted(cls(**way))):
            before = model.__dict__.copy()
            for method, names in found.items():
                if "_fitted" not in before and "fit" not in method:
                    continue
                for name in names:
                    refuse_all(getattr(model, method), name)
                    assert model.__dict__ == before


def row_sums(samples):
    return np.asarray(samples.sum(axis=1)).ravel()


def kernel_of(cls):
    """Return a kernel of this class, whatever it is made of."""
    known = inspect.signature(cls).parameters
    parts = {"kernel": RBF(), "k1": RBF(), "k2": RBF(), "factor": 2.0, "degree": 2, "columns": [0]}
    parts |= {"phi": row_sums, "matrix": np.eye(D), "f": row_sums}
    parts |= {"coefficients": [1.0, 0.5], "function": lambda A, B: A @ B.T}
    needed = {n: parts[n] for n, p in known.items() if p.default is p.empty and n in parts}
    if any(p.kind is p.VAR_POSITIONAL for p in known.values()):
        return cls(RBF(), RBF())
    return cls(**needed)


@pytest.mark.parametrize("cls", KERNELS, ids=lambda c: c.__name__)
def test_kernels_refuse_malformed_matrices(cls):
    kernel = kernel_of(cls)
    found = dict(takers(kernel)) | {"__call__": ["X", "Z"]}
    assert "diag" in found
    for method, names in found.items():
        for name in names:
            refuse_all(getattr(kernel, method), name)


def test_functions_refuse_malformed_matrices():
    n_tested = 0
    for function in FUNCTIONS:
        for name in inspect.signature(function).parameters:
            if name in MATRICES:
                refuse_all(function, name)
                n_tested += 1
    assert n_tested >= 1  # convergence_bound


def test_the_search_finds_what_there_is():
    names = {c.__name__ for c in ESTIMATORS}
    assert names >= {"SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "Perceptron"}
    assert names >= {"KernelPerceptron", "PolynomialMap", "Quadratic"}
    assert names >= {"KernelPCA", "EmpiricalKernelMap", "Nystroem", "TaylorMap"}
    assert {c.__name__ for c in KERNELS} >= {"Linear", "RBF", "Sum", "Product", "Power", "Scaled"}


# ---- Other formats, whose conversion trusts its input


def changed(matrix, part, place, value):
    array = np.array(getattr(matrix, part))
    array[place] = value
    setattr(matrix, part, array)
    return matrix


def unequal_lists():
    matrix = sp.lil_array(np.ones((N, D)))
    matrix.data[3] = [1.0] * 10**5
    return matrix


def column(matrix, value):
    matrix.rows[2] = [0, 1, value]
    return matrix


def key(matrix, place):
    matrix._dict[place] = 1.0
    return matrix


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: changed(sp.csc_array(DENSE + 5), "indices", 7, 10**9),
            "X.T: row 1 has column index 1000000000 at position 7, must be 0 to 5",
        ),
        (lambda: changed(sp.csc_array(DENSE + 5), "indptr", 2, 1), "X.T: indptr[2] is 1, below"),
        (
            lambda: changed(sp.coo_array(DENSE + 5), "row", 7, 10**9),
            "X.row: index 7 is 1000000000, must be 0 to 5",
        ),
        (
            lambda: changed(sp.coo_array(DENSE + 5), "col", 7, -1),
            "X.col: index 7 is -1, must be 0 to 2",
        ),
        (
            lambda: changed(sp.bsr_array(DENSE + 5, blocksize=(2, 3)), "indices", 1, 10**8),
            "X is not a bsr matrix: ",
        ),
        (
            lambda: changed(sp.bsr_array(DENSE + 5, blocksize=(2, 3)), "indptr", 1, 10**8),
            "X is not a bsr matrix: ",
        ),
        (unequal_lists, "X is not a lil matrix: row 3 has 3 columns and 100000 values"),
        (lambda: column(sp.lil_array(DENSE + 5), 10**8), "X is not a lil matrix: "),
        (lambda: key(sp.dok_array(DENSE + 5), (1, 10**8)), "X is not a dok matrix: "),
    ],
)  # fmt: skip
def test_malformed_matrices_of_other_formats_are_refused(make, words):
    with pytest.raises(ValueError) as caught:
        RBF()(make())
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("format_", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_sound_matrices_of_every_format_are_taken(format_):
    matrix = sp.csr_array(DENSE).asformat(format_)
    np.testing.assert_array_equal(RBF()(matrix), RBF()(DENSE))


def test_masked_and_huge_indices_are_named():
    matrix = sp.csr_array(np.ones((N, D)))
    matrix.indices = matrix.indices.astype(np.uint64)
    matrix.indices[3] = 2**64 - 1
    with pytest.raises(ValueError, match=r"^X.indices: index 3 is 18446744073709551615, too large"):
        RBF()(matrix)
    matrix = sp.csr_array(np.ones((N, D)))
    matrix.data = np.ma.masked_array(matrix.data, np.arange(N * D) == 7)
    with pytest.raises(ValueError, match=r"^X.data: index 7 is masked"):
        RBF()(matrix)


# ---- Changed by another thread, after the check


def test_rows_taken_from_a_matrix_that_changes_are_sound_or_an_error():
    def check():
        from kcore._points import take_rows
        from kcore._validate import as_points

        points = as_points(sp.csr_array(np.ones((N, D))), "X")
        points.indices[4] = 10**9
        with pytest.raises(ValueError, match="column index 1000000000"):
            take_rows(points, np.arange(N))
        points.indptr[3] = 10**9
        with pytest.raises((IndexError, MemoryError, ValueError)):
            take_rows(points, np.arange(N))
        return True

    in_child(check)
