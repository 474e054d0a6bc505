"""Keep files short enough to read: 600 lines; and functions of the C code: 60."""

import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 600
FUNCTION_LINES = 60
FOLDERS = ["src", "python", "tests", "bench", "examples"]
C_FILES = {".c", ".h", ".inc"}
PYTHON_FILES = {".py", ".pyi", ".pyx", ".pxd", ".pxi"}
ROOT = Path(__file__).resolve().parents[2]


def function_spans(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Give the first and last line of each body; clang-format puts its braces in column 0."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line.startswith("}") and start is not None:
            yield start, number
            start = None


def size_faults(path: Path) -> Iterator[str]:
    """Say where the file at `path` is too long."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > FILE_LINES:
        yield f"{path}: {len(lines)} lines, more than {FILE_LINES}"
    for first, last in function_spans(lines) if path.suffix in C_FILES else ():
        if last - first - 1 > FUNCTION_LINES:
            yield f"{path}:{first}: a function of {last - first - 1} lines"


def self_test() -> None:
    """See that a function is measured from brace to brace."""
    assert list(
        function_spans(["int f(void)", "{", "    {", "    }", "}", "struct s {", "};"])
    ) == [(2, 5)]


def main() -> int:
    """Check the tree."""
    self_test()
    paths = (
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in C_FILES | PYTHON_FILES
    )
    faults = [fault for path in paths for fault in size_faults(path)]
    print(*faults, sep="\n")
    return min(len(faults), 1)


if __name__ == "__main__":
    sys.exit(main())
