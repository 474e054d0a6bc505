"""What is installed beside the code: one version, the header, the marks of a typed package."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

import pytest

import kcore
from kcore import _core


def test_library_package_header_and_metadata_state_one_version():
    header = files(kcore).joinpath("include/kcore/base.h").read_text(encoding="utf-8")
    numbers = re.findall(r"^#define KC_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M)
    assert ".".join(numbers) == _core.version() == kcore.__version__ == version("kcore")


def test_the_package_is_marked_as_typed():
    assert files(kcore).joinpath("py.typed").is_file()
    assert files(kcore).joinpath("_core.pyi").is_file()


def test_learners_and_modules_are_loaded_when_asked_for():
    assert kcore.Perceptron is kcore.perceptron.Perceptron
    assert kcore.KernelPerceptron is kcore.perceptron.KernelPerceptron
    assert kcore.SVC is kcore.svm.SVC
    assert kcore.features.Quadratic.__name__ == "Quadratic"
    assert set(kcore.__all__) <= set(dir(kcore))
    with pytest.raises(AttributeError, match="has no attribute 'Perceptrons'"):
        _ = kcore.Perceptrons


@pytest.mark.parametrize("name", ["avx1024", "AVX2", "generic,avx2"])
def test_an_instruction_set_that_does_not_exist_is_not_ignored(name):
    done = subprocess.run(
        [sys.executable, "-c", "import kcore"],
        env={**os.environ, "KCORE_ISA": name},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    words = f"ImportError: the environment variable KCORE_ISA is '{name}', must be generic, avx2 or"
    assert words in done.stderr


FITS = """
import hashlib
import numpy as np
import kcore

rng = np.random.default_rng(0)
X, y = rng.normal(size=(700, 21)), rng.integers(3, size=700)
found = hashlib.sha256()
for dtype in (np.float32, np.float64):
    for model in (kcore.SVC(C=10, gamma=0.05), kcore.SVR(C=2), kcore.Perceptron(max_iter=3)):
        model.fit(X.astype(dtype), y)
        found.update(np.ascontiguousarray(model.predict(X)).tobytes())
        found.update(getattr(model, "dual_coef_", model.intercept_).tobytes())
print(kcore.isa_name(), found.hexdigest())
"""


def test_results_are_the_same_bits_with_avx2_and_avx512():
    found = {}
    for name in ("avx2", "avx512"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", FITS],
            env={**os.environ, "KCORE_ISA": name},
            capture_output=True,
            text=True,
        )
        if "which this CPU or this build does not have" in done.stderr:
            pytest.skip(f"no {name} here")
        assert done.returncode == 0, done.stderr
        isa, found[name] = done.stdout.split()
        assert isa == name
    assert found["avx2"] == found["avx512"]
