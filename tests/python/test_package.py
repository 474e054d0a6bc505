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
    header = files(kcore).joinpath("include/kcore/kcore.h").read_text(encoding="utf-8")
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
    words = f"ImportError: the environment variable KCORE_ISA is '{name}', must be generic or avx2"
    assert words in done.stderr
