"""Hold the lists of the build to the files: nothing is forgotten in silence.

Every C source is compiled, every C test is run, every file of the Python package is installed.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build_faults(core: Path) -> Iterator[str]:
    """Say which sources the build does not name."""
    build = (core / "meson.build").read_text(encoding="utf-8")
    for path in sorted(core.rglob("*.c")):
        stem, _, isa = path.stem.rpartition("_")
        is_isa = path.parent.name == "simd" and f"'{stem}'" in build and f"'{isa}':" in build
        if f"'{path.name}'" not in build and not is_isa:
            yield f"{path} is not listed in {core / 'meson.build'}"


def test_faults(tests: Path) -> Iterator[str]:
    """Say which C tests are never run, or listed without being there."""
    build = (tests / "meson.build").read_text(encoding="utf-8")
    lists = re.findall(r"^test_stems\w* = \[(.*?)\]", build, re.M | re.S)
    listed = set(re.findall(r"'(\w+)'", " ".join(lists)))
    there = {path.stem.removeprefix("test_") for path in (tests / "c").glob("test_*.c")}
    for stem in sorted(there ^ listed):
        where = "not listed in" if stem in there else "not there, but listed in"
        yield f"tests/c/test_{stem}.c is {where} tests/meson.build"


def package_faults(package: Path) -> Iterator[str]:
    """Say which files of the Python package would not be installed."""
    build = (package / "meson.build").read_text(encoding="utf-8")
    for path in sorted([*package.glob("*.py"), *package.glob("*.pyi")]):
        if f"'{path.name}'" not in build:
            yield f"{path} is not listed in {package / 'meson.build'}"


def self_test() -> None:
    """Plant one fault of each kind and see that it is found, and nothing else."""
    files = {
        "base/kc_listed.c": "",
        "base/kc_forgotten.c": "",
        "simd/kc_ops_avx2.c": "",
        "meson.build": "'kc_listed.c' isa_stems = ['kc_ops'] isa_flags = {'avx2': []}",
        "tests/c/test_one.c": "",
        "tests/c/test_two.c": "",
        "tests/c/test_forgotten.c": "",
        "tests/meson.build": "test_stems = [\n  'one',\n]\ntest_stems_by_isa = ['two', 'gone']\n",
        "package/listed.py": "",
        "package/forgotten.py": "",
        "package/meson.build": "'listed.py'",
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        tests, package = folder / "tests", folder / "package"
        found = [*test_faults(tests), *package_faults(package)]
        for path in tests.rglob("*.c"):
            path.unlink()
        found += build_faults(folder)
        assert [Path(line.split()[0]).name for line in found] == [
            "test_forgotten.c",
            "test_gone.c",
            "forgotten.py",
            "kc_forgotten.c",
        ], found


def main() -> int:
    """Check the tree."""
    self_test()
    faults = [
        *build_faults(ROOT / "src" / "kcore"),
        *test_faults(ROOT / "tests"),
        *package_faults(ROOT / "python" / "kcore"),
    ]
    print(*faults, sep="\n")
    return min(len(faults), 1)


if __name__ == "__main__":
    sys.exit(main())
