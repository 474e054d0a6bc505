"""What is installed beside the code: one version, the header, the marks of a typed package."""

import re
from importlib.metadata import version
from importlib.resources import files

import kcore
from kcore import _core


def test_library_package_header_and_metadata_state_one_version():
    header = files(kcore).joinpath("include/kcore/kcore.h").read_text(encoding="utf-8")
    numbers = re.findall(r"^#define KC_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M)
    assert ".".join(numbers) == _core.version() == kcore.__version__ == version("kcore")


def test_the_package_is_marked_as_typed():
    assert files(kcore).joinpath("py.typed").is_file()
    assert files(kcore).joinpath("_core.pyi").is_file()
