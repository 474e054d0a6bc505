"""Random problems of all five kinds, by number, with the reference solution of libsvm.

A case is data, parameters and the audit's statement of the problem. `solve` fits kcore's machine;
`reference` asks libsvm, through scikit-learn where samples have weights (libsvm's own package takes
none) and directly for a part of the others.
"""

import warnings
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from sklearn import svm as reference_svm
from sklearn.exceptions import ConvergenceWarning

import audit
import kcore

KINDS = ["c_svc", "nu_svc", "eps_svr", "nu_svr", "one_class"]
MACHINES = {
    "c_svc": "SVC",
    "nu_svc": "NuSVC",
    "eps_svr": "SVR",
    "nu_svr": "NuSVR",
    "one_class": "OneClassSVM",
}
REFERENCE_STEPS = 100_000  # libsvm goes on for minutes on hard cases
OUR_STEPS = 1_000_000  # and kcore for seconds


@dataclass
class Case:
    number: int
    kind: str
    kernel: str
    gamma: float
    degree: int
    coef0: float
    X: object  # as it is fitted: an array or CSR matrix, of float32 or float64
    dense: np.ndarray  # its values in float64
    Z: np.ndarray  # points to predict
    y: np.ndarray | None
    weights: np.ndarray | None
    params: dict = field(default_factory=dict)  # C, nu, epsilon
    tol: float = 1e-3

    @property
    def n(self):
        return len(self.dense)

    @property
    def w(self):
        return np.ones(self.n) if self.weights is None else self.weights

    def K(self, X=None):  # noqa: N802  # the name of the subject
        name = "rbf" if self.kernel == "precomputed" else self.kernel
        X = self.dense if X is None else X
        return audit.kernel_matrix(name, X, self.dense, self.gamma, self.degree, self.coef0)

    def __repr__(self):
        storage = "csr" if sp.issparse(self.X) else "dense"
        words = ", ".join(f"{k}={v:.4g}" for k, v in self.params.items())
        return (
            f"case {self.number}: {self.kind} {self.kernel} n={self.n} d={self.dense.shape[1]} "
            f"{storage} {self.X.dtype} tol={self.tol:g} {words} "
            f"weights={self.weights is not None} classes={len(np.unique(self.y))}"
        )


def make(number, kind=None):
    """The case of this number; every five numbers have all kinds."""
    rng = np.random.default_rng([7, number])
    kind = kind or KINDS[number % 5]
    kernel = rng.choice(["linear", "rbf", "rbf", "poly", "sigmoid", "precomputed"])
    n = int(np.exp(rng.uniform(np.log(2), np.log(300.5))))
    d = int(rng.integers(1, 21))
    X = rng.standard_normal((n, d)) * rng.choice([0.3, 1.0, 3.0])
    if n > 5 and rng.random() < 0.2:  # duplicates
        X[: n // 4] = X[n // 4 : 2 * (n // 4)]
    is_sparse = kernel != "precomputed" and rng.random() < 0.3
    if is_sparse:
        X *= rng.random(X.shape) < 0.3
        if number % 2:  # among so many columns that are empty that CSR stays CSR
            X, narrow = np.zeros((n, 100)), X
            X[:, np.sort(rng.permutation(100)[:d])] = narrow
            d = 100
    dtype = np.float32 if rng.random() < 0.4 else np.float64
    X = X.astype(dtype)
    dense = X.astype(np.float64)
    gamma = float(10 ** rng.uniform(-1.5, 0.5) / (d * max(dense.var(), 1e-3)))
    if kernel == "poly":
        gamma = float(1 / (d * max(dense.var(), 1e-3)))
    weights = _weights(rng, n)
    case = Case(
        number=number, kind=kind, kernel=str(kernel), gamma=gamma,
        degree=int(rng.integers(1, 4)), coef0=float(rng.choice([0.0, 1.0])),
        X=sp.csr_array(X) if is_sparse else X, dense=dense, Z=rng.standard_normal((20, d)),
        y=None, weights=weights, tol=float(rng.choice([1e-3, 1e-6])),
    )  # fmt: skip
    _targets(rng, case)
    if kernel == "precomputed":
        case.X = case.K().astype(dtype)
        if dtype == np.float32:
            # What was given is what is solved.
            given = case.X.astype(np.float64)
            case.K = lambda X=None: given if X is None else Case.K(case, X)
    return case


def _weights(rng, n):
    kind = rng.choice(["none", "none", "real", "whole"])
    if kind == "real":
        return rng.uniform(0.1, 3.0, n)
    if kind == "whole" and n >= 6:
        return rng.integers(0, 4, n).astype(float)
    return None


def _targets(rng, case):
    X, n, kind = case.dense, case.n, case.kind
    score = X @ rng.standard_normal(X.shape[1]) / max(X.std(), 1e-6)
    score = score + rng.choice([0.1, 1.0]) * rng.standard_normal(n)
    C = float(10 ** rng.uniform(-3, 4))
    if kind in ("c_svc", "nu_svc"):
        n_classes = 2 if n < 12 or rng.random() < 0.7 else int(rng.integers(3, 6))
        cuts = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1] ** rng.uniform(0.5, 1.5))
        case.y = np.digitize(score, cuts)
        case.y[rng.permutation(n)[:n_classes]] = np.arange(n_classes)
        if case.weights is not None:  # every class keeps a sample
            for k in range(n_classes):
                case.weights[np.flatnonzero(case.y == k)[0]] = 1.0
    elif kind != "one_class":
        case.y = score * 10 ** rng.uniform(-1, 1)
    if case.weights is not None and not case.weights.any():
        case.weights[0] = 1.0
    if kind == "c_svc":
        case.params = {"C": C}
    elif kind == "nu_svc":
        case.params = {"nu": float(rng.uniform(0.05, 0.95)) * max_nu(case)}
    elif kind == "eps_svr":
        case.params = {"C": C, "epsilon": float(rng.choice([0.0, 0.1, 0.5]))}
    elif kind == "nu_svr":
        case.params = {"C": C, "nu": float(rng.uniform(0.05, 0.95))}
    else:
        case.params = {"nu": float(rng.uniform(0.05, 0.95))}


def max_nu(case):
    """The largest nu that is feasible for every pair of classes."""
    shares = np.bincount(case.y, case.w)
    most = 1.0
    for i in range(len(shares)):
        for j in range(i + 1, len(shares)):
            both = shares[i] + shares[j]
            most = min(most, 2 * min(shares[i], shares[j]) / both)
    return float(most)


# ---- Statements of the problems


def problems(case, model):
    """(problem, coefficients, intercept) for every problem that the model has solved."""
    K, w, params = case.K(), case.w, case.params
    if case.kind in ("c_svc", "nu_svc"):
        for i, _, samples, b, intercept in audit.pairs(model, case.y):
            sign = np.where(case.y[samples] == i, 1, -1)
            part, weights = K[np.ix_(samples, samples)], w[samples]
            keep = weights > 0
            part, sign, weights, b = part[np.ix_(keep, keep)], sign[keep], weights[keep], b[keep]
            if case.kind == "c_svc":
                yield audit.c_svc(part, sign, params["C"] * weights), b, intercept
            else:
                nu, scale = params["nu"], audit.scale_of(b, params["nu"], weights)
                b, intercept = audit.unscale(b, intercept, nu, weights)
                yield audit.nu_svc(part, sign, nu, weights, scale), b, intercept
        return
    b, intercept = audit.spread(model, case.n), model.intercept_[0]
    if case.kind == "eps_svr":
        problem = audit.eps_svr(K, case.y, params["C"] * w, params["epsilon"])
    elif case.kind == "nu_svr":
        problem = audit.nu_svr(K, case.y, params["nu"], params["C"] * w)
    else:
        problem = audit.one_class(K, params["nu"], w)
    yield problem, b, intercept


# ---- Solutions


def solve(case, **changes):
    """kcore's machine, fitted; float64 kernel values where the tolerance asks for them."""
    params = {
        "kernel": case.kernel, "gamma": case.gamma, "degree": case.degree, "coef0": case.coef0,
        "tol": case.tol, "precision": "float64" if case.tol < 1e-4 else "auto",
        "max_iter": OUR_STEPS, **case.params, **changes,
    }  # fmt: skip
    machine = getattr(kcore, MACHINES[case.kind])(**params)
    return machine.fit(case.X, case.y, sample_weight=case.weights)


def reference(case):
    """libsvm's solution and whether it converged; None where it found nothing finite."""
    is_easy = case.n <= 60 or case.params.get("C", 1) <= 10  # its own package knows no limit
    if case.weights is None and not sp.issparse(case.X) and case.number % 3 == 0 and is_easy:
        return _libsvm(case), True
    machine = getattr(reference_svm, MACHINES[case.kind])(
        kernel=case.kernel, gamma=case.gamma, degree=case.degree, coef0=case.coef0, tol=case.tol,
        max_iter=REFERENCE_STEPS, cache_size=100, **case.params,
    )  # fmt: skip
    # Samples without a weight are left out beforehand: support_ would not count them.
    keep = np.flatnonzero(case.w > 0)
    if case.kind == "one_class" and _starts_past_the_end(case.params["nu"], case.w[keep]):
        return None, False
    X = (sp.csr_matrix(case.X) if sp.issparse(case.X) else case.X)[keep].astype(np.float64)
    if case.kernel == "precomputed":
        X = X[:, keep]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            machine.fit(
                X,
                None if case.y is None else case.y[keep],
                sample_weight=None if case.weights is None else case.weights[keep],
            )
        except ValueError as error:
            if "not finite" not in str(error):
                raise
            return None, False
    found = SimpleNamespace(
        support_=keep[machine.support_],
        dual_coef_=machine.dual_coef_,
        intercept_=machine.intercept_,
        classes_=getattr(machine, "classes_", None),
    )
    return found, bool(np.max(machine.n_iter_) < REFERENCE_STEPS)


def _starts_past_the_end(nu, weights):
    """Whether libsvm's start of the one-class problem writes behind its arrays.

    It fills boxes until nothing of nu sum w is left: rounding may leave something for ever.
    """
    left = 0.0
    for w in weights.tolist():
        left += nu * w
    for w in weights.tolist():
        left -= min(w, left)
    return left > 0


def _libsvm(case):
    """The same from libsvm's own package, as an object with scikit-learn's attributes."""
    from libsvm.svmutil import svm_parameter, svm_problem, svm_train

    kinds = {"c_svc": 0, "nu_svc": 1, "one_class": 2, "eps_svr": 3, "nu_svr": 4}
    kernels = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3, "precomputed": 4}
    letters = {"C": "-c", "nu": "-n", "epsilon": "-p"}
    words = f"-q -s {kinds[case.kind]} -t {kernels[case.kernel]} -g {case.gamma!r} "
    words += f"-d {case.degree} -r {case.coef0!r} -e {case.tol!r} "
    words += " ".join(f"{letters[k]} {v!r}" for k, v in case.params.items())
    is_given = case.kernel == "precomputed"
    rows = np.asarray(case.X, np.float64)
    if is_given:
        rows = np.column_stack([np.arange(1, case.n + 1), rows])
    y = np.zeros(case.n) if case.y is None else case.y
    listed = [{k + (0 if is_given else 1): v for k, v in enumerate(row)} for row in rows.tolist()]
    model = svm_train(svm_problem(y.tolist(), listed, isKernel=is_given), svm_parameter(words))
    return _LibsvmModel(model, case)


class _LibsvmModel:
    def __init__(self, model, case):
        indices = np.array(model.get_sv_indices(), dtype=int) - 1
        coef = np.array([model.sv_coef[k][: model.l] for k in range(max(1, model.nr_class - 1))])
        n_problems = len(coef) * (len(coef) + 1) // 2
        rho = np.array(model.rho[:n_problems])
        self.support_, self.intercept_ = indices, -rho
        self.dual_coef_ = coef
        if case.kind in ("c_svc", "nu_svc"):
            # libsvm numbers classes as they appear; here they are sorted.
            order = np.array(model.get_labels())
            self.classes_ = np.sort(order)
            self._sort(order, np.array(model.nSV[: model.nr_class]))
        else:
            self.dual_coef_ = coef[:1]
            self.intercept_ = -rho[:1]

    def _sort(self, order, counts):
        k = len(order)
        of = np.repeat(np.arange(k), counts)  # in libsvm's numbers
        place = np.argsort(np.argsort(order))  # libsvm's number -> sorted number
        coef, intercept = np.zeros_like(self.dual_coef_), np.zeros_like(self.intercept_)
        numbers = {}
        for i in range(k):
            for j in range(i + 1, k):
                numbers[i, j] = len(numbers)
        for (i, j), number in numbers.items():
            a, b = sorted((place[i], place[j]))
            sign = 1.0 if place[i] < place[j] else -1.0
            if k == 2:
                sign = -sign  # of two classes, the second is +1
            intercept[numbers[a, b]] = sign * self.intercept_[number]
            for mine, other in ((i, j), (j, i)):
                row = other - 1 if other > mine else other
                target = place[other] - 1 if place[other] > place[mine] else place[other]
                coef[target, of == mine] = sign * self.dual_coef_[row, of == mine]
        self.dual_coef_, self.intercept_ = coef, intercept
