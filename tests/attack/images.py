"""Pickles whose numbers were tampered with: refused, or models that may be wrong but do no harm.

A pickle is a program, and one that calls what it likes cannot be guarded against. What is tampered
with here is data alone: the state is taken apart as pickle takes it apart, one or two leaves are
changed (numbers, arrays, the bytes of a learner's image), and it is put together again.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import kcore
import samples
from families import Case, pick
from kcore import kernels

SECONDS = 15.0
SIMPLEST: Case = {
    "machine": "SVC", "kernel": "linear", "classes": 2, "n": 6, "d": 2, "sparse": False,
    "more": "plain", "seed": 0, "changes": [], "strings": "none",
}  # fmt: skip

MACHINES = ["SVC", "NuSVC", "SVR", "OneClassSVM", "Perceptron", *3 * ["KernelPerceptron"]]
MORE: dict[str, dict[str, Any]] = {
    "plain": {},
    "averaged": {"average": True},
    "voted": {"average": "voted"},
    "direct": {"multi_class": "direct"},
    "pocket": {"pocket": True},
    "oldest": {"budget": 5, "strategy": "oldest"},
    "smallest": {"budget": 5, "strategy": "smallest"},
    "projection": {"budget": 5, "strategy": "projection"},
    "merge": {"budget": 5, "strategy": "merge"},
}


def draw(rng: np.random.Generator) -> Case:
    machine = pick(rng, *MACHINES)
    more = "plain"
    if machine == "KernelPerceptron":
        more = pick(rng, *(name for name in MORE if name != "pocket"))
    elif machine == "Perceptron":
        more = pick(rng, "plain", "averaged", "voted", "direct", "pocket")
    names = ["linear", "rbf", "poly", "precomputed"][: 4 if more == "plain" else 3]
    is_rbf = more == "merge" or machine == "NuSVC"  # which has no solution for every kernel
    n_changes = pick(rng, 1, 1, 2, 3)
    return {
        "machine": machine,
        "kernel": "rbf" if is_rbf else pick(rng, *names),
        "classes": pick(rng, 2, 3),
        "n": int(rng.integers(6, 40)),
        "d": int(rng.integers(2, 9)),
        "sparse": bool(rng.random() < 0.4),
        "more": more,
        "seed": int(rng.integers(2**31)),
        "strings": pick(rng, "none", "none", "alone", "table"),
        # Which leaf, which change, and where in it.
        "changes": [[int(rng.integers(2**31)) for _ in range(3)] for _ in range(n_changes)],
    }


def model_of(case: Case) -> tuple[Any, Any, Any]:
    """Return a fitted estimator, samples, and labels to learn on from."""
    rng = np.random.default_rng(case["seed"])
    X = rng.standard_normal((case["n"], case["d"])) * (rng.random((case["n"], case["d"])) < 0.6)
    y = np.arange(case["n"]) % case["classes"]
    X[:, 0] += y
    machine = getattr(kcore, case["machine"])()
    is_given = hasattr(machine, "kernel") and case["kernel"] == "precomputed"
    if hasattr(machine, "kernel"):
        machine.kernel = case["kernel"]
    data: Any = X @ X.T if is_given else sp.csr_array(X) if case["sparse"] else X
    if case["strings"] != "none" and hasattr(machine, "kernel") and not is_given:
        machine.kernel, data = _with_strings(case, X)
    machine.set_params(**MORE[case["more"]], time_limit=5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if machine.__class__.__name__ == "KernelPerceptron" and not is_given:
            machine.partial_fit(data, y, classes=list(range(case["classes"])))
        else:
            machine.fit(data, y)
    return machine, data, y


def _with_strings(case: Case, X: Any) -> tuple[kernels.Kernel, Any]:
    """Return a kernel and samples that it takes: strings, or a table."""
    words = samples.words(case["n"], case["seed"])
    if case["strings"] == "alone" and case["machine"] != "NuSVC":
        return kernels.Delta(), words
    near = kernels.RBF(0.5).on(samples.names(case["d"]))
    return near + kernels.Delta().on("s"), samples.frame(X, words, case["seed"])


# ---- Taking apart


class Parts:
    """What pickle would store of an object: a function, its arguments, and a state."""

    def __init__(self, value: Any) -> None:
        made = value.__reduce_ex__(4)
        self.make, self.arguments = made[0], [apart(one) for one in made[1]]
        self.state = apart(made[2]) if len(made) > 2 else None

    def together(self) -> Any:
        value = self.make(*[together(one) for one in self.arguments])
        if self.state is not None:
            state = together(self.state)
            if hasattr(value, "__setstate__"):
                value.__setstate__(state)
            else:
                value.__dict__.update(state[0] if isinstance(state, tuple) else state)
        return value


class Tuple(list[Any]):
    """The items of a tuple, and its type."""

    kind: type = tuple


def apart(value: Any) -> Any:
    """Return the value with containers that can be changed, and objects of kcore as parts."""
    if isinstance(value, tuple):
        items = Tuple(apart(one) for one in value)
        items.kind = type(value)
        return items
    if type(value) is list:
        return [apart(one) for one in value]
    if type(value) is dict:
        return {name: apart(one) for name, one in value.items() if name != "cache"}
    is_own = type(value).__module__.startswith("kcore") and not isinstance(value, type)
    return Parts(value) if is_own else value


def together(value: Any) -> Any:
    if isinstance(value, Parts):
        return value.together()
    if isinstance(value, Tuple):
        items = [together(one) for one in value]
        return tuple(items) if value.kind is tuple else value.kind(*items)
    if isinstance(value, list):
        return [together(one) for one in value]
    if type(value) is dict:
        return {name: together(one) for name, one in value.items()}
    return value


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Give (container, key) of everything that is not a container."""
    if isinstance(value, Parts):
        yield from leaves([value.arguments, value.state])
        return
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(one, Parts | list | dict):
            yield from leaves(one)
        if not isinstance(one, Parts):
            yield value, key


# ---- Changes


def changed(value: Any, how: int, where: int) -> Any:
    """Return another value in place of this one."""
    rng = np.random.default_rng([how, where])
    if isinstance(value, bytes):
        return _changed_bytes(value, rng)
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:  # the image of a learner
        return np.frombuffer(_changed_bytes(value.tobytes(), rng), np.uint8)
    if isinstance(value, np.ndarray):
        return _changed_array(value, rng)
    if isinstance(value, bool | None):
        return pick(rng, True, False, None, 1, "x")
    if isinstance(value, int):
        bit = value ^ (1 << int(rng.integers(0, 63)))
        return pick(rng, value + 1, value - 1, 0, -1, 2**31 - 1, 2**31, 2**62, -(2**62), bit,
                    value * 1000, 10**30, None, "x", 1.5)  # fmt: skip
    if isinstance(value, float):
        return pick(rng, np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 5e-324, None, "x")
    if isinstance(value, str):
        return pick(rng, "", "x", "rbf", None, 3)
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if rng.random() < 0.8}
    if isinstance(value, list):
        cut = value.__class__(value[: int(rng.integers(0, len(value) + 1))])
        if isinstance(value, Tuple):
            cut.kind = tuple
        return cut
    return pick(rng, None, 0, "x")


def _changed_bytes(value: bytes, rng: np.random.Generator) -> bytes:
    found = bytearray(value)
    way = pick(rng, "flip", "flip", "flip", "flip head", "flip head", "word", "cut", "longer")
    if way in ("flip", "flip head") and found:
        most = len(found) if way == "flip" else min(len(found), 200)
        for _ in range(pick(rng, 1, 1, 2, 8)):
            found[int(rng.integers(most))] ^= 1 << int(rng.integers(8))
    elif way == "word" and len(found) >= 8:
        place = 8 * int(rng.integers(min(len(found), 240) // 8))
        word = pick(rng, 0, 1, -1, 2**31 - 1, 2**62, 7, 2**32)
        found[place : place + 8] = int(word).to_bytes(8, "little", signed=True)
    elif way == "cut":
        return bytes(found[: int(rng.integers(len(found) + 1))])
    else:
        found += bytes(int(rng.integers(1, 100)))
    return bytes(found)


def _changed_array(value: Any, rng: np.random.Generator) -> Any:
    found = value.copy()
    way = pick(
        rng, "entry", "entry", "entry", "shorter", "longer", "type", "shape", "order", "other"
    )
    if way == "entry" and found.size and found.dtype.kind in "iuf":
        place = int(rng.integers(found.size))
        whole = [0, -1, 1, found.size, 2**31 - 1, -(2**31)]
        wild = [np.nan, np.inf, -1.0, 0.0, 1e308, 1e30]
        with np.errstate(all="ignore"):
            one = np.asarray(pick(rng, *(whole if found.dtype.kind == "i" else wild)))
            found.flat[place] = one.astype(found.dtype)
    elif way == "shorter":
        found = found[: int(rng.integers(len(found) + 1))] if found.ndim else found
    elif way == "longer" and found.ndim:
        found = np.concatenate([found, found[:1], found[:1]])
    elif way == "type":
        other = pick(rng, np.float32, np.float64, np.int8, np.int64, object, complex)
        if found.dtype == object:  # names
            other = pick(rng, "U", "S", object)
        found = found.astype(other) if found.dtype.kind != "V" else found.view(np.uint8)
    elif way == "shape":
        found = pick(rng, found[None], found.ravel(), found.T, np.zeros(0, found.dtype))
    elif way == "order":
        found = pick(rng, found[::-1], np.repeat(found, 2, axis=0)[::2], np.asfortranarray(found))
    else:
        found = pick(rng, None, 3, found.tolist(), [found])
    return found


# ---- The check


def check(case: Case) -> str:
    warnings.simplefilter("ignore")
    model, X, y = model_of(case)
    parts = Parts(model._fitted)
    for which, how, where in case["changes"]:
        found = list(leaves(parts))
        container, key = found[which % len(found)]
        container[key] = changed(container[key], how, where)
    try:
        fitted = parts.together()
    except Exception as error:
        assert str(error), f"{type(error).__name__} without a word"
        return "refused"
    twin = type(model)(**model.get_params(deep=False))
    twin._fitted = fitted
    n_good = sum(map(succeeds, questions(model, X, y)))
    n_answers = sum(map(succeeds, questions(twin, X, y)))
    K = kcore.kernels.Linear()(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert (K == [[5.0, 11.0], [11.0, 25.0]]).all()
    return "refused later" if n_answers < n_good else "accepted"


def questions(model: Any, X: Any, y: Any) -> Iterator[Callable[[], Any]]:
    """Ask the model for everything: it may be wrong, or refuse; it may not crash or hang."""
    for name in dir(type(model)):
        if name.endswith("_") and name[0] != "_":
            yield lambda name=name: getattr(model, name)
    yield lambda: model.predict(X)
    yield lambda: model.predict(X[:1])
    yield lambda: model.decision_function(X)
    yield lambda: repr(model.fit_report_)
    yield lambda: model.partial_fit(X[:1], y[:1])
    yield lambda: model.partial_fit(X, y[::-1])
    yield lambda: pickle.loads(pickle.dumps(model)).predict(X)


def succeeds(ask: Callable[[], Any]) -> bool:
    try:
        ask()
    except Exception:  # of a model that is none, anything that can be caught
        return False
    return True
