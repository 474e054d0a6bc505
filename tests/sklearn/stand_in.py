"""A pytest plugin that runs scikit-learn's own tests of its support vector machines on kcore's.

The five classes are replaced in `sklearn.svm` before the test files are imported. Tests whose
source names none of them are left out. What kcore does not pass is listed in `differences.toml`,
with reasons: any other failure fails the run, and so does a listed test that passes, or that is not
there any more.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import sklearn
import sklearn.svm

import kcore.svm

CLASSES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
_NAMES_A_CLASS = re.compile(rf"\b({'|'.join(CLASSES)})\b")
_LIST = Path(__file__).with_name("differences.toml")


def _stand_in(name: str) -> type:
    """Return a subclass that takes ``probability=True`` for False.

    Sixty tests set it without a need; those that then ask for probabilities are listed.
    """
    members = {"__module__": __name__, "_refuse_probability": lambda self: None}
    return type(name, (getattr(kcore.svm, name),), members)


for _name in CLASSES:
    globals()[_name] = _stand_in(_name)  # pickles find them here
    setattr(sklearn.svm, _name, globals()[_name])


def _listed() -> dict[str, str]:
    """Return the reasons by ``file::test`` or ``file::test[case]``."""
    table: dict[str, Any] = tomllib.loads(_LIST.read_text(encoding="utf-8"))
    if not sklearn.__version__.startswith(table["version"] + "."):
        raise pytest.UsageError(
            f"{_LIST.name} is for scikit-learn {table['version']}, {sklearn.__version__} is "
            "installed: see what differs, and list it"
        )
    return {test: part["reason"] for part in table["difference"] for test in part["tests"]}


def _concerns_us(item: pytest.Item) -> bool:
    function = getattr(item, "function", None)
    return function is not None and bool(_NAMES_A_CLASS.search(inspect.getsource(function)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    reasons = _listed()
    unused = set(reasons)
    others = [item for item in items if not _concerns_us(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
    for item in items:
        test = f"{item.path.name}::{item.name}"
        for name in (test, test.partition("[")[0]):
            if name in reasons:
                unused.discard(name)
                item.add_marker(pytest.mark.xfail(reason=reasons[name], strict=True))
    if unused:
        raise pytest.UsageError(f"{_LIST.name} lists what is not there: {sorted(unused)}")
