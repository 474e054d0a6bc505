"""Bad calls: hostile values for the arguments of every public callable, one or two at a time.

A call may succeed, and then what it leaves must be of use; or it raises TypeError, ValueError (or a
subclass) or MemoryError with a text that names the argument, and then everything is as it was.
"""

from __future__ import annotations

import math
import re
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import entries
import hostile
import kcore
from families import Case, pick
from kcore.exceptions import (
    ConvergenceWarning,
    DataConversionWarning,
    IndefiniteKernelWarning,
)

SECONDS = 10.0
SIMPLEST: Case = {"entry": "", "hostile": [], "is_fitted": True}

# Other words by which texts may name an argument.
WORDS = {
    "X": ["X", "feature", "features", "samples", "n_samples"],
    "Z": ["Z", "feature", "features"],
    "phi": ["phi", "columns"],
    "y": ["y", "labels?", "class", "classes", "targets?"],
    "sample_weight": ["sample_weight", "weights?", "share of the smaller class", "overflows"],
    "class_weight": ["class_weight", "weights?", "labels?"],
    "classes": ["classes", "labels?"],
    "kernel": ["kernel", "KernelPerceptron"],
    "random_state": ["random_state", "seed"],
    "cache_size": ["cache_size", "cache"],
}


# Flags that scikit-learn's own methods take for what they are.
NOT_CHECKED = {"deep"}


def draw(rng: np.random.Generator) -> Case:
    found = {
        name: entry
        for name, entry in entries.entries().items()
        if not NOT_CHECKED.issuperset(entry.names)
    }
    name = pick(rng, *found)
    chosen = []
    for _ in range(pick(rng, 1, 1, 1, 2)):
        # The call's own arguments are not lost among the parameters of the class.
        own = found[name].arguments
        names = own if own and rng.random() < 0.5 else found[name].names
        if name in entries.OPERATORS:  # of two strangers, the operator is not the package's
            names = names[1:]
        chosen.append([pick(rng, *names), pick(rng, *hostile.VALUES)])
    return {"entry": name, "hostile": chosen, "is_fitted": bool(rng.random() < 0.9)}


def check(case: Case) -> str:
    entry = entries.entries()[case["entry"]]
    me = entries.receiver(entry, case["is_fitted"])
    values = {name: hostile.VALUES[value]() for name, value in case["hostile"]}
    before = state_of(me)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = entries.run(entry, me, values)
        except hostile.HostileError:
            assert_same_state(before, me)
            return "let through"
        except (TypeError, ValueError, MemoryError) as error:
            if entry.name not in entries.OPERATORS:  # whose errors may be those of the other side
                assert_names(error, values, case)
            assert_same_state(before, me)
            return "refused"
        except Exception as error:
            if entry.name in entries.OPERATORS and is_of_others(error):
                return "refused by the other side"
            if type(error).__name__ != "NotFittedError":  # of what only fitted ones have
                raise
            return "refused"
        finally:
            kcore.set_num_threads(None)
    for one in caught if entry.name not in entries.OPERATORS else []:
        assert is_documented(one), f"{one.category.__name__}: {one.message}"
    check_result(entry, me, result)
    return "accepted"


def is_of_others(error: Exception) -> bool:
    """Whether the error was raised outside of the package, as by an operator of the other side."""
    return "kcore" not in Path(traceback.extract_tb(error.__traceback__)[-1].filename).parts


def is_documented(warning: warnings.WarningMessage) -> bool:
    kinds = ConvergenceWarning | DataConversionWarning | IndefiniteKernelWarning
    if issubclass(warning.category, kinds):
        return True
    return any(words in str(warning.message) for words in ("feature names", "n_components="))


def assert_names(error: Exception, values: dict[str, Any], case: Case) -> None:
    """The text says which argument it is about."""
    text = str(error)
    if isinstance(error, MemoryError) or (not case["is_fitted"] and "not fitted" in text):
        return
    if "margin is zero" in text:  # of all samples together
        return
    if any(callable(values.get(name)) for name in ("kernel", "eta", "callback")):
        return  # what a function of the caller's raises comes through
    words = [word for name in values for word in WORDS.get(name, [name])]
    assert re.search(rf"\b({'|'.join(words)})\b", text), (
        f"{type(error).__name__} {text!r} names none of {sorted(values)}"
    )


# ---- What is left behind


def state_of(me: Any) -> Any:
    """Return the fitted state of an estimator and what it predicts; of others, their repr."""
    if not hasattr(me, "fit"):
        return repr(me)
    fitted = me.__dict__.get("_fitted")
    return fitted, None if fitted is None else answers(me, fitted)


def answers(me: Any, fitted: Any) -> bytes:
    """What the fitted state says of good samples, whatever the parameters are now."""
    probe = type(me)()
    probe._fitted = fitted
    ask = getattr(probe, "transform", None) or getattr(probe, "decision_function", probe.predict)
    return bytes(np.ascontiguousarray(ask(hostile.good_samples())).tobytes())


def assert_same_state(before: Any, me: Any) -> None:
    after = state_of(me)
    if not hasattr(me, "fit"):
        assert after == before
        return
    assert after[0] is before[0], "a call that failed has changed the fitted state"
    assert after[1] == before[1], "a call that failed has changed what is predicted"


def check_result(entry: entries.Entry, me: Any, result: Any) -> None:
    """What a successful call returned can be used; learners can predict."""
    if entry.is_learner and result is me and hasattr(me, "fit"):
        check_model(me)
    elif isinstance(result, np.ndarray) and result.dtype.kind == "f":
        assert np.isfinite(result).all(), "values that are not finite"
    elif sp.issparse(result):
        assert np.isfinite(result.data).all(), "values that are not finite"
    elif isinstance(result, float):
        assert not math.isnan(result), "NaN"


def check_model(me: Any) -> None:
    """A fitted learner has an answer for samples like those that it saw, or a documented error."""
    if "_fitted" not in me.__dict__:
        return
    shape = (2, me.n_features_in_)
    if shape[1] > 10_000:
        return
    ask = me.transform if hasattr(me, "transform") else me.predict
    try:
        found = ask(np.zeros(shape))
    except (TypeError, ValueError, MemoryError, hostile.HostileError) as error:
        assert len(str(error)) > 10, error
        return
    assert found.shape[0] == 2
    if found.dtype.kind == "f":
        assert np.isfinite(found).all(), "predictions that are not finite"
