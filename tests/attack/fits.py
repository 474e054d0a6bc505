"""Fits of the five machines, audited from the definition of their problem in float64.

Whatever the solver did, its coefficients are judged alone: they keep their bounds and sums, the
report has their objectives, gap and violation, a fit that says it converged did, decision values
are those of the coefficients, and libsvm's solution is no further away than both gaps allow. The
tolerances are bounds of rounding, from those of the kernel values (see ``conftest.reference``).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import audit
import cases
import kcore
import samples
from conftest import reference
from families import Case, between, pick
from kcore import kernels
from kcore.exceptions import ConvergenceWarning, IndefiniteKernelWarning, NotSeparableError

SIMPLEST: Case = {
    "machine": "SVC", "kernel": "linear", "data": "normal", "n": 3, "d": 1, "classes": 2,
    "seed": 0, "storage": "C", "dtype": "float64", "weights": "none", "class_weight": False,
    "C": 1.0, "nu": 0.3, "epsilon": 0.1, "gamma": 1.0, "degree": 2, "coef0": 0.0, "tol": 1e-3,
    "max_iter": -1, "time_limit": 0.0, "precision": "auto", "cache_size": 0.0, "shrinking": True,
    "n_jobs": 1, "multi_class": "ovo", "start": False, "with_peer": False,
}  # fmt: skip

KINDS = {name: kind for kind, name in cases.MACHINES.items()}
PEER_KERNELS = ["linear", "rbf", "poly", "precomputed"]
KERNELS = ["linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed", "callable", "tree",
           "strings", "table"]  # fmt: skip


def draw(rng: np.random.Generator) -> Case:
    machine = pick(rng, *KINDS)
    is_large = rng.random() < 0.03
    n = int(rng.integers(601, 900)) if is_large else int(between(rng, 2.5, 120))
    hard = rng.random() < 0.04
    case = {
        "machine": machine,
        "kernel": pick(rng, *KERNELS),
        "data": pick(rng, *samples.KINDS, *3 * ["normal"]),
        "n": n,
        "d": int(rng.integers(1, 5 if is_large else 12)),
        "classes": 2 if n < 8 else pick(rng, 2, 2, 2, 3, 4),
        "seed": int(rng.integers(2**31)),
        "storage": pick(rng, *samples.STORAGES, *3 * ["C"]),
        "dtype": pick(rng, *samples.DTYPES[:2], *samples.DTYPES[:2], *samples.DTYPES),
        "weights": pick(rng, "none", "none", "real", "whole", "extreme"),
        "class_weight": machine == "SVC" and rng.random() < 0.2,
        "C": math.inf if hard and machine in ("SVC", "SVR") else between(rng, 1e-8, 1e8),
        "nu": float(f"{rng.uniform(0.01, 1.0):.3g}"),
        "epsilon": pick(rng, 0.0, 0.1, 1.0, 1e6, 1e-9),
        "gamma": between(rng, 1e-6, 1e4) if rng.random() < 0.3 else between(rng, 0.03, 10),
        "degree": int(rng.integers(0, 6)),
        "coef0": pick(rng, 0.0, 1.0, -1.0),
        "tol": between(rng, 1e-10, 1.0) if rng.random() < 0.5 else 1e-3,
        "max_iter": pick(rng, 100_000, 100_000, int(between(rng, 1, 3000))),
        "time_limit": between(rng, 1e-6, 1e-2) if rng.random() < 0.05 else 0.0,
        "precision": pick(rng, "auto", "float32", "float64"),
        "cache_size": pick(rng, 0.0, 0.0, 0.001, 0.02),
        "shrinking": bool(rng.random() < 0.7),
        "n_jobs": pick(rng, 1, 1, 2),
        "multi_class": pick(rng, "ovo", "ovr"),
        "start": bool(rng.random() < 0.15),
        "with_peer": False,
    }
    if rng.random() < 0.3:
        case |= {
            "kernel": pick(rng, *PEER_KERNELS), "C": between(rng, 1e-3, 1e4), "max_iter": -1,
            "data": pick(rng, "normal", "duplicates", "grid", "line", "pixels"), "coef0": 1.0,
            "gamma": between(rng, 0.03, 10), "tol": pick(rng, 1e-3, 1e-6), "multi_class": "ovo",
            "class_weight": False, "degree": int(rng.integers(1, 4)), "with_peer": True,
        }  # fmt: skip
    return case


# ---- From choices to a problem


class Problem(cases.Case):
    """A case of the ordinary tests, with the kernels and options that are drawn here."""

    choices: Case
    words: list[str]  # of "strings" and "table"

    def kernel_object(self) -> kernels.Kernel:
        gamma, c = self.gamma, self.choices
        if self.kernel == "strings":
            return kernels.Delta()
        if self.kernel == "table":
            names = samples.names(self.dense.shape[1])
            numbers = kernels.RBF(gamma).on(names), kernels.Linear().on(names)
            return numbers[0] * kernels.Delta().on("s") + 0.5 * numbers[1]
        if self.kernel == "tree":
            return kernels.RBF(gamma) * kernels.Linear() + 0.5 * kernels.Laplacian(gamma)
        return {
            "linear": kernels.Linear(),
            "poly": kernels.Polynomial(c["degree"], gamma, c["coef0"]),
            "sigmoid": kernels.Sigmoid(gamma, c["coef0"]),
            "laplacian": kernels.Laplacian(gamma),
        }.get(self.kernel, kernels.RBF(gamma))

    def values(self, Z: Any, dtype: str) -> tuple[Any, Any]:
        """K(z, x) of given samples, and how far values computed in `dtype` may be from it."""
        if self.kernel not in ("strings", "table"):
            return self.of_numbers(self.kernel_object(), Z, dtype)
        same = samples.equal(self.words[: len(Z)], self.words)
        if self.kernel == "strings":
            return same, np.full(same.shape, 1e-300)
        near, near_error = self.of_numbers(kernels.RBF(self.gamma), Z, dtype)
        dot, dot_error = self.of_numbers(kernels.Linear(), Z, dtype)
        rounding = 4 * np.finfo(dtype).eps * (near + abs(dot))
        return near * same + 0.5 * dot, near_error * same + 0.5 * dot_error + rounding

    def given(self, Z: Any) -> Any:
        """Numbers to predict as the machine takes them."""
        if self.kernel == "strings":
            return self.words[: len(Z)]
        if self.kernel == "table":
            return samples.frame(Z, self.words[: len(Z)], self.choices["seed"])
        return Z

    def of_numbers(self, kernel: kernels.Kernel, Z: Any, dtype: str) -> tuple[Any, Any]:
        """The same of a kernel of numbers."""
        K, E = reference(kernel, Z, self.dense, np.dtype(dtype))
        K, E = K.astype(np.float64), E.astype(np.float64)
        if dtype == "float32":  # samples are rounded first
            rounded = [A.astype(np.float32).astype(np.float64) for A in (Z, self.dense)]
            E = 2 * E + abs(K - reference(kernel, *rounded, np.dtype(dtype))[0].astype(np.float64))
        return K, np.nan_to_num(E, nan=1e30, posinf=1e30) + 1e-300  # no bound: exp of infinity

    def gram(self, dtype: str) -> tuple[Any, Any]:
        """Values between all samples, with their bounds; given values have no error but type."""
        if self.kernel in ("precomputed", "callable"):
            K = np.asarray(self.X if self.kernel == "precomputed" else self.asked(self.dense, None))
            K = K.astype(np.float64)
            return K, abs(K) * np.finfo(dtype).eps
        return self.values(self.dense, dtype)

    def asked(self, A: Any, B: Any) -> Any:
        """The values as a function gives them, to the bit."""
        B = self.dense if B is None else B
        A, B = (np.asarray(C.toarray() if sp.issparse(C) else C, np.float64) for C in (A, B))
        apart = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
        return np.exp(-self.gamma * apart)


def build(case: Case) -> Problem:
    """Return the problem that the choices name."""
    raw = samples.make(case["data"], case["n"], case["d"], case["seed"])
    storage = "C" if case["kernel"] == "precomputed" else case["storage"]
    X, dense = samples.store(raw, storage, case["dtype"])
    gamma = case["gamma"] / (case["d"] * max(float(dense.var()), 1e-12))
    problem = Problem(
        number=0, kind=KINDS[case["machine"]], kernel=case["kernel"], gamma=min(gamma, 1e12),
        degree=case["degree"], coef0=case["coef0"], X=X, dense=dense, Z=dense[:7] + 0.125, y=None,
        weights=samples.weights(case["weights"], case["n"], case["seed"]), tol=case["tol"],
    )  # fmt: skip
    problem.choices = case
    _set_targets(problem, case)
    if case["kernel"] in ("strings", "table"):
        problem.words = samples.words(case["n"], case["seed"])
        problem.X = problem.given(dense)
    if case["kernel"] == "precomputed":
        with np.errstate(all="ignore"):
            dtype = case["dtype"] if case["dtype"] in ("float32", ">f8") else "float64"
            problem.X = problem.values(dense, "float64")[0].astype(dtype)
    return problem


def _set_targets(problem: Problem, case: Case) -> None:
    if problem.kind in ("c_svc", "nu_svc"):
        problem.y = samples.labels(problem.dense, case["classes"], case["seed"])
        if problem.weights is not None:
            for k in range(case["classes"]):  # every class keeps a sample
                first = np.flatnonzero(problem.y == k)[:1]
                problem.weights[first] = np.maximum(problem.weights[first], 1e-6)
    elif problem.kind != "one_class":
        problem.y = samples.targets(problem.dense, case["seed"])
    names = {"c_svc": ["C"], "nu_svc": ["nu"], "eps_svr": ["C", "epsilon"], "nu_svr": ["C", "nu"],
             "one_class": ["nu"]}  # fmt: skip
    problem.params = {name: case[name] for name in names[problem.kind]}
    if problem.kind == "nu_svc" and case["nu"] < 0.9:  # the rest finds out what is refused
        problem.params["nu"] = case["nu"] * cases.max_nu(problem)


# ---- The fit


def machine_of(problem: Problem) -> Any:
    """Return the estimator, not fitted."""
    case = problem.choices
    kernel: Any = case["kernel"]
    if kernel in ("tree", "strings", "table"):
        kernel = problem.kernel_object()
    elif kernel == "callable":
        kernel = problem.asked
    params = {
        "kernel": kernel, "gamma": problem.gamma, "degree": case["degree"], "coef0": case["coef0"],
        "tol": case["tol"], "max_iter": case["max_iter"], "precision": case["precision"],
        "cache_size": case["cache_size"] or "auto", "shrinking": case["shrinking"],
        "n_jobs": case["n_jobs"], "time_limit": case["time_limit"] or 10.0, **problem.params,
    }  # fmt: skip
    if problem.kind in ("c_svc", "nu_svc"):
        params["multi_class"] = case["multi_class"]
    if case["class_weight"] and problem.kind == "c_svc":
        params["class_weight"] = {0: 2.5}
    return getattr(kcore, case["machine"])(**params)


def fit(problem: Problem) -> Any:
    """Return the fitted machine; None where it says, in known words, that there is none."""
    machine = machine_of(problem)
    more = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if problem.choices["start"]:
                first = machine_of(problem).set_params(max_iter=7, time_limit=None)
                more["init"] = first.fit(problem.X, problem.y, sample_weight=problem.weights)
                caught.clear()
            machine.fit(problem.X, problem.y, sample_weight=problem.weights, **more)
        except (NotSeparableError, ValueError) as error:
            assert is_known_refusal(problem, str(error)), error
            return None
    is_warned = any(one.category is IndefiniteKernelWarning for one in caught)
    assert is_warned == (not is_definite_enough(machine)), machine
    caught = [one for one in caught if one.category is not IndefiniteKernelWarning]
    kinds = {str(one.category.__name__) for one in caught}
    assert kinds <= {"ConvergenceWarning"}, [str(one.message) for one in caught]
    assert bool(caught) == (not machine.fit_report_.converged), machine.fit_report_
    assert all(issubclass(one.category, ConvergenceWarning) for one in caught)
    return machine


def is_definite_enough(machine: Any) -> bool:
    """Say whether the kernel is as definite as the machine needs, where that is known."""
    kernel = machine.kernel
    if kernel == "sigmoid":
        return False
    if kernel == "poly":
        kernel = kernels.Polynomial(machine.degree, 1.0, machine.coef0)
    if not isinstance(kernel, kernels.Kernel) or kernel.definiteness == "positive":
        return True
    return kernel.definiteness == "conditional" and not isinstance(machine, kcore.OneClassSVM)


def is_known_refusal(problem: Problem, words: str) -> bool:
    """Say whether the words are those of a problem that has no solution in floating point."""
    case = problem.choices
    may_overflow = case["kernel"] in ("poly", "linear", "tree", "table", "precomputed")
    return (
        (problem.kind == "nu_svc" and ("margin is zero" in words or "nu" in words))
        or (
            math.isinf(case["C"])
            and any(word in words for word in ("separa", "hard margin", "within epsilon"))
        )
        or (may_overflow and ("overflows" in words or "finite" in words))
        or (case["weights"] == "extreme" and "weight" in words)
        or (case["cache_size"] > 0 and "has no room for two rows" in words)
    )


# ---- The audit


@dataclass(frozen=True)
class Part:
    """One of the problems that a machine has solved, and its solution.

    `scale` is what nu-SVC divides coefficients and intercept by; here they are as they were before.
    Its report and its tolerance are of the function after the division.
    """

    problem: audit.Problem
    b: Any
    intercept: float
    members: Any
    scale: float = 1.0


def parts_of(problem: Problem, model: Any, K: Any) -> list[Part]:
    """Return the problems that the machine has solved, as their definitions have them."""
    w, params = problem.w.copy(), problem.params
    if problem.choices["class_weight"] and problem.kind == "c_svc":
        w[problem.y == 0] *= 2.5
    if problem.kind in ("c_svc", "nu_svc"):
        is_ovr = problem.choices["multi_class"] == "ovr" and len(model.classes_) > 2
        found = (audit.rests if is_ovr else audit.pairs)(model, problem.y)
        return [_class_part(problem, K, w, *one) for one in found]
    if problem.kind == "eps_svr":
        bounds = np.multiply(params["C"], w, out=np.zeros_like(w), where=w > 0)
        whole = audit.eps_svr(K, problem.y, bounds, params["epsilon"])
    elif problem.kind == "nu_svr":
        whole = audit.nu_svr(K, problem.y, params["nu"], params["C"] * w)
    else:
        whole = audit.one_class(K, params["nu"], w)
    b = audit.spread(model, problem.n)
    return [Part(whole, b, float(model.intercept_[0]), np.arange(problem.n))]


def _class_part(
    problem: Problem, K: Any, w: Any, i: int, j: int, members: Any, b: Any, intercept: float
) -> Part:
    is_there = w[members] > 0
    assert not b[~is_there].any(), "a sample without weight has a coefficient"
    members, b = members[is_there], b[is_there]
    sign = np.where(problem.y[members] == i, 1, -1)
    K, w = K[np.ix_(members, members)], w[members]
    if problem.kind == "c_svc":
        return Part(audit.c_svc(K, sign, problem.params["C"] * w), b, intercept, members)
    nu = problem.params["nu"]
    scale = nu * w.sum() / abs(b).sum()
    b, intercept = audit.unscale(b, intercept, nu, w)
    return Part(audit.nu_svc(K, sign, nu, w), b, intercept, members, scale)


def check(case: Case) -> str:
    problem = build(case)
    model = fit(problem)
    if model is None:
        return "refused"
    report = model.fit_report_
    said = report.problems or (report,)
    errors = {}
    for dtype in {type_of(one.precision) for one in said}:
        K, errors[dtype] = problem.gram(dtype)
    parts = parts_of(problem, model, K)
    assert len(parts) == len(said), (len(parts), len(said))
    for part, one in zip(parts, said, strict=True):
        E = errors[type_of(one.precision)]
        check_part(problem, part, E[np.ix_(part.members, part.members)], one)
    check_decision_values(problem, model)
    if case["with_peer"] and is_for_libsvm(problem) and report.converged:
        return "as libsvm" if check_peer(problem, model, parts) else "audited"
    return "audited" if report.converged else f"stopped ({report.stop})"


def type_of(precision: str) -> str:
    """Return what the numbers of a report are exact for."""
    return "float64" if precision == "mixed" else precision


def check_part(problem: Problem, part: Part, E: Any, said: Any) -> None:
    """Bounds, sums, and what the report says of this problem."""
    b, a, n, whole = part.b, abs(part.b), len(part.b), part.problem
    assert np.isfinite(b).all()
    assert math.isfinite(part.intercept)
    is_scaled = problem.kind == "nu_svc"
    slack = (1e-12 if is_scaled else 4e-16) * np.maximum(abs(whole.hi), abs(whole.lo))
    slack = np.where(np.isfinite(slack), slack, 0)
    assert (b <= whole.hi + slack).all(), "above the box"
    assert (b >= whole.lo - slack).all(), "below the box"
    halves = problem.params["nu"] * whole.hi.sum() if problem.kind == "nu_svr" else 0.0
    for mask, total in whole.groups:
        off = abs(math.fsum(b[mask]) - total)
        assert off <= 4e-16 * (2 + n) * (a[mask].sum() + abs(total) + halves), ("sum", off, total)
    if not said.is_certified:
        assert said.stop == "time_limit", said
        return
    assert said.gap >= 0, said
    assert said.violation >= 0, said
    error = E @ a + 1e-15 * (n + 8) * (abs(whole.K) @ a + abs(whole.t) + whole.epsilon)
    if said.precision == "mixed":  # as much as was measured and left, and twice that elsewhere
        error += part.scale * problem.tol / 4
    # Coefficients were larger on the way, and those of nu-SVR are differences of halves that are.
    size = np.maximum(abs(whole.hi), abs(whole.lo))
    if problem.kind in ("c_svc", "eps_svr"):
        size = np.minimum(size, 4 * a.max(initial=0.0))
    error += 4e-16 * (abs(whole.K) @ size)
    if said.precision == "float32" and problem.kind not in ("c_svc", "eps_svr"):
        error += E @ size
    check_numbers(problem, part, error, said)


def check_numbers(problem: Problem, part: Part, error: Any, said: Any) -> None:
    """Objectives, gap and violation of the report, within `error` of the decision values."""
    b, r, whole = part.b, part.scale, part.problem
    found = whole.audit(b, part.intercept)
    # Rounding moves coefficients too, which counts where they are as small themselves.
    moved = 4e-16 * np.maximum(abs(whole.hi), abs(whole.lo))
    of_dual = (abs(b) + np.where(np.isfinite(moved), moved, 0.0)) @ error + 1e-300
    expected = found.dual
    if problem.kind == "eps_svr":  # of a hard tube, what is certified is the tube that was kept
        expected -= (said.epsilon - whole.epsilon) * abs(b).sum()
        of_dual += error.max() * abs(b).sum() if said.epsilon != whole.epsilon else 0.0
    if problem.kind == "nu_svr":
        of_dual += 4e-16 * (whole.hi @ (abs(whole.t) + abs(whole.K @ b)))
    off = abs(r * r * said.dual - expected)
    assert off <= of_dual, ("dual", r * r * said.dual, expected, of_dual)
    if not is_folded(problem, whole, b):
        violation, tol = max(found.violation, 0.0), r * problem.tol
        allowed = 2 * error.max() + 1e-12 * violation
        off = abs(r * said.violation - violation)
        if may_fold_unseen(problem, whole):
            off = violation - r * said.violation
        assert off <= allowed, ("violation", r * said.violation, violation, allowed)
        if said.converged:
            assert violation <= tol + allowed, ("tol", violation, tol, allowed)
    size = np.maximum(abs(whole.hi), abs(whole.lo))
    if problem.kind in ("c_svc", "eps_svr", "one_class") and math.isfinite(size.max()):
        of_primal = of_dual + size @ (error + 4e-16 * abs(part.intercept))
        off = abs(said.primal - found.primal)
        assert off <= of_primal, ("primal", said.primal, found.primal, of_primal)
        off = abs(said.gap - found.gap)
        assert off <= of_primal + of_dual, ("gap", said.gap, found.gap, of_primal)


def is_folded(problem: Problem, whole: audit.Problem, b: Any) -> bool:
    """Whether nu-SVR has closed its tube, so that signs do not tell its two halves apart."""
    if problem.kind != "nu_svr":
        return False
    return bool(abs(b).sum() < problem.params["nu"] * whole.hi.sum() * (1 - 1e-9))


def may_fold_unseen(problem: Problem, whole: audit.Problem) -> bool:
    """Whether nu-SVR may close its tube at samples of so little weight that no sum shows it.

    Both halves of such a sample may move, so that its report may only say more than is seen here.
    """
    width = whole.hi[whole.hi > 0]
    return problem.kind == "nu_svr" and bool(width.min() < 1e-9 * width.sum())


def check_decision_values(problem: Problem, model: Any) -> None:
    """Decision values are those of the coefficients, from the definition."""
    dtype = type_of(model.fit_report_.precision)
    if problem.kernel == "precomputed":
        points, (K, E) = problem.X, problem.gram(dtype)
    elif problem.kernel == "callable":
        points, K = problem.Z, problem.asked(problem.Z, None)
        E = abs(K) * 1e-15
    else:
        points, (K, E) = problem.given(problem.Z), problem.values(problem.Z, dtype)
    if problem.kind in ("c_svc", "nu_svc") and len(model.classes_) > 2:
        return  # votes: see the ordinary tests
    b, intercept = audit.spread(model, problem.n), model.intercept_[0]
    decide = model.predict if problem.kind.endswith("svr") else model.decision_function
    try:
        found = decide(points)
    except ValueError as error:
        assert "overflows" in str(error), error
        return
    error = E @ abs(b) + 1e-15 * (len(b) + 8) * (abs(K) @ abs(b) + abs(intercept)) + 1e-300
    off = abs(found - (K @ b + intercept))
    worst = int(np.argmax(off - error))
    assert off[worst] <= error[worst], ("decision value", worst, off[worst], error[worst])


# ---- Against libsvm


def is_for_libsvm(problem: Problem) -> bool:
    """Whether libsvm can solve the problem, and its solution be told from the coefficients."""
    case = problem.choices
    return bool(
        case["kernel"] in PEER_KERNELS
        and problem.kind != "nu_svr"
        and not (problem.kind == "eps_svr" and math.isinf(case["C"]))
        and case["n"] <= 120
        and abs(problem.dense).max() < 1e6
    )


def check_peer(problem: Problem, model: Any, parts: list[Part]) -> bool:
    """Decision values of both solutions are as close as their gaps say."""
    found, _ = cases.reference(problem)
    if found is None:
        return False
    others = parts_of(problem, found, problem.gram("float64")[0])
    for part, other in zip(parts, others, strict=True):
        K = part.problem.K
        mine = part.problem.audit(part.b, part.intercept)
        peer = other.problem.audit(other.b, other.intercept)
        size = max(abs(part.problem.hi).max(), abs(part.problem.lo).max())
        # libsvm's own rounding, which may also leave it without a number.
        is_number = math.isfinite(peer.gap)
        if not (is_number and peer.sums <= 1e-9 * size and peer.box <= 1e-9 * size):
            return False
        scale = 1e-9 * abs(K).max() * (abs(part.b).sum() + abs(other.b).sum()) + 1e-12
        # 1/2 |w - w*|^2 is below the gap, and |f(x) - f*(x)| below |w - w*| sqrt(K(x, x)).
        apart = math.sqrt(2 * max(mine.gap, 0)) + math.sqrt(2 * max(peer.gap, 0))
        off = abs(K @ (part.b - other.b))
        allowed = apart * np.sqrt(np.maximum(np.diag(K), 0)) + np.sqrt(scale) + scale
        assert (off <= allowed).all(), ("libsvm", off.max(), mine, peer)
    return True
