"""Perceptrons against their rules in a few lines of NumPy.

Samples, steps and weights are small whole numbers, so that all sums are exact in any order, and
results are compared to the bit. The references are those of the ordinary tests.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import samples
from conftest import assert_same_bits
from families import Case, pick
from kcore.kernels import Delta, Linear
from kcore.perceptron import KernelPerceptron, Perceptron, convergence_bound
from test_kernel_perceptron import Definition
from test_perceptron import augmented, batch, direct, single

SIMPLEST: Case = {
    "what": "linear", "rule": "single", "n": 3, "d": 1, "classes": 2, "max_iter": 1, "margin": 0.0,
    "eta": 1.0, "weights": False, "average": False, "has_intercept": True, "storage": "C",
    "dtype": "float64", "seed": 0, "noise": 0.0, "n_blocks": 1, "degree": 1,
    "strings": False,
}  # fmt: skip


def draw(rng: np.random.Generator) -> Case:
    what = pick(rng, "linear", "linear", "kernel", "kernel", "stream", "theorem")
    return {
        "what": what,
        "rule": pick(rng, "single", "single", "batch"),
        "n": int(rng.integers(3, 60)),
        "d": int(rng.integers(1, 8)),
        "classes": pick(rng, 2, 2, 3, 4),
        "max_iter": int(rng.integers(1, 12)),
        "margin": pick(rng, 0.0, 0.0, 1.0, 10.0),
        "eta": pick(rng, 1.0, 0.5, 4.0, "inverse"),
        "weights": bool(rng.random() < 0.3),
        "average": bool(rng.random() < 0.3),
        "has_intercept": bool(rng.random() < 0.8),
        "storage": pick(rng, *samples.STORAGES),
        "dtype": pick(rng, "float32", "float64", "int64"),
        "seed": int(rng.integers(2**31)),
        "noise": pick(rng, 0.0, 0.1, 0.5),
        "n_blocks": int(rng.integers(1, 6)),
        "degree": int(rng.integers(1, 3)),
        "strings": bool(rng.random() < 0.3),
    }


def data_of(case: Case) -> tuple[Any, Any, Any, Any]:
    """Samples as they are stored, their numbers, codes and weights: all small whole numbers."""
    rng = np.random.default_rng(case["seed"])
    X = rng.integers(-4, 5, (case["n"], case["d"])).astype(float)
    score = X @ rng.integers(-3, 4, case["d"])
    cuts = np.quantile(score, np.linspace(0, 1, case["classes"] + 1)[1:-1])
    codes = np.digitize(score, cuts)
    wrong = rng.random(case["n"]) < case["noise"]
    codes = np.where(wrong, rng.integers(0, case["classes"], case["n"]), codes)
    codes[: case["classes"]] = np.arange(case["classes"])[: case["n"]]
    weights = rng.integers(1, 4, case["n"]).astype(float) if case["weights"] else None
    stored, values = samples.store(X, case["storage"], case["dtype"])
    return stored, values, codes, weights


def eta_of(case: Case) -> Any:
    """The step as a function of the pass; thirds and fifths are not exact, halves are."""
    eta = case["eta"]
    return (lambda k: 2.0**-k) if eta == "inverse" else (lambda k: eta)


def check(case: Case) -> str:
    warnings.simplefilter("ignore")
    if len(set(data_of(case)[2])) < case["classes"]:
        return "too few labels"
    found = {"linear": check_linear, "kernel": check_kernel, "stream": check_stream}
    return str(found.get(case["what"], check_theorem)(case))


# ---- The linear one


def check_linear(case: Case) -> str:
    X, x, codes, weights = data_of(case)
    is_direct = case["classes"] > 2 and case["average"] and weights is None
    params = {
        "rule": "single" if is_direct else case["rule"], "eta": eta_of(case), "theta": 0.0,
        "margin": case["margin"], "max_iter": case["max_iter"],
        "fit_intercept": case["has_intercept"] or is_direct,
        "multi_class": "direct" if is_direct else "ovr",
    }  # fmt: skip
    model = Perceptron(**params).fit(X, codes, sample_weight=weights)
    if is_direct:
        trail, mistakes = direct(x, codes, case["max_iter"], eta_of(case), case["margin"])
        assert_same_bits(np.column_stack([model.intercept_, model.coef_]), trail[-1])
        assert model.mistakes_.tolist() == mistakes
        return "linear, direct"
    classes = [1] if case["classes"] == 2 else range(case["classes"])
    rule = single if case["rule"] == "single" else batch
    more = {"theta": 1e-300} if rule is batch else {}
    for row, k in enumerate(classes):
        Y = augmented(x, np.where(codes == k, 1.0, -1.0), case["has_intercept"])
        trail, mistakes, _ = rule(
            Y, case["max_iter"], eta_of(case), case["margin"], weights=weights, **more
        )
        a = trail[-1] if case["has_intercept"] else np.r_[0.0, trail[-1]]
        assert (model.intercept_[row], *model.coef_[row]) == tuple(a), (k, a, model.coef_)
        if len(classes) == 1:
            assert_mistakes(model, mistakes)
    return f"linear, {case['rule']}"


def assert_mistakes(model: Any, expected: list[int]) -> None:
    """Where corrections add up to nothing, the definition ends; with theta=0, passes go on."""
    found = model.mistakes_.tolist()
    assert found[: len(expected)] == expected, (found, expected)
    if len(found) > len(expected):
        assert model.rule == "batch", (found, expected)
        assert set(found[len(expected) - 1 :]) == {expected[-1]} != {0}, (found, expected)


# ---- In the space of a kernel


def definition_of(case: Case, x: Any, codes: Any, weights: Any) -> tuple[Definition, Any]:
    K = x @ x.T if case["degree"] == 1 else (x @ x.T + 1.0) ** 2
    if case["strings"]:
        words = samples.words(case["n"], case["seed"])
        K = x @ x.T + samples.equal(words, words)
    is_direct = case["classes"] > 2
    signs = (
        np.where(codes == np.arange(case["classes"])[:, None], 1.0, -1.0)
        if is_direct
        else np.where(codes == 1, 1.0, -1.0)[None, :]
    )
    return Definition(K, signs, case["margin"], eta_of(case), weights), K


def machine_of(case: Case) -> KernelPerceptron:
    kernel: dict[str, Any] = {"kernel": "linear"}
    if case["strings"]:
        numbers = Linear().on(samples.names(case["d"]))
        kernel = {"kernel": numbers + Delta().on("s")}
    elif case["degree"] != 1:
        kernel = {"kernel": "poly", "coef0": 1.0}
    return KernelPerceptron(
        **kernel, degree=2, gamma=1.0, rule=case["rule"], eta=eta_of(case), theta=0.0,
        margin=case["margin"], max_iter=case["max_iter"], multi_class="direct",
    )  # fmt: skip


def given(case: Case, X: Any, x: Any) -> Any:
    """Samples as they are stored, or with strings among them."""
    if not case["strings"]:
        return X
    return samples.frame(x, samples.words(case["n"], case["seed"]), case["seed"])


def check_kernel(case: Case) -> str:
    X, x, codes, weights = data_of(case)
    X = given(case, X, x)
    expected, K = definition_of(case, x, codes, weights)
    expected.run(case["max_iter"], case["rule"], theta=1e-300)
    model = machine_of(case).fit(X, codes, sample_weight=weights)
    found = np.zeros_like(expected.a)
    found[:, model.support_] = model.dual_coef_
    off = found - expected.a  # corrections that add up to nothing
    is_nothing = case["rule"] == "batch" and not (off @ (K + 1.0)).any()
    assert is_nothing or not off.any(), (found, expected.a)
    assert_mistakes(model, expected.mistakes)
    # Corrections that add up to nothing end the definition, but not the passes of the library: they
    # move its coefficients, and it goes on as far as max_iter lets it.
    goes_on = len(model.mistakes_) > len(expected.mistakes) or expected.mistakes[-1] > 0
    assert model.converged_ == (expected.converged and not goes_on)
    return f"kernel, {case['rule']}"


def check_stream(case: Case) -> str:
    """Blocks cut anyhow are one pass of the single rule."""
    X, x, codes, weights = data_of({**case, "storage": "C" if case["storage"] == "coo" else
                                    case["storage"]})  # fmt: skip
    X = given(case, X, x)
    case = {**case, "rule": "single"}
    expected, K = definition_of({**case, "eta": 1.0}, x, codes, weights)
    expected.run(1)
    model = machine_of(case).set_params(eta=1.0)
    cuts = np.sort(np.random.default_rng(case["seed"]).integers(0, case["n"], case["n_blocks"] - 1))
    for rows in np.split(np.arange(case["n"]), cuts):
        if len(rows):
            part = None if weights is None else weights[rows]
            span = slice(rows[0], rows[-1] + 1)
            model.partial_fit(
                X[span], codes[rows], classes=list(range(case["classes"])), sample_weight=part
            )
    found = model.decision_function(given(case, x, x)).reshape(case["n"], -1)
    assert_same_bits(np.ascontiguousarray(found), np.ascontiguousarray((K + 1.0) @ expected.a.T))
    return "stream"


# ---- The theorem


def check_theorem(case: Case) -> str:
    """Corrections on separable samples stay below the bound of any vector that separates them."""
    case = {**case, "classes": 2, "noise": 0.0, "rule": "single", "margin": 0.0}
    X, x, codes, _ = data_of(case)
    model = Perceptron(max_iter=3000).fit(X, codes)
    if not model.converged_:
        return "theorem: not separated"
    bound = convergence_bound(X, codes, model.coef_, model.intercept_)
    assert bound is not None, "the vector that was found separates the samples"
    assert model.n_updates_ <= bound, (model.n_updates_, bound)
    assert (np.sign(x @ model.coef_[0] + model.intercept_[0]) == np.where(codes, 1, -1)).all()
    return "theorem"
