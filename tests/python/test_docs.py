"""The code in README.md and docs/*.md runs, and prints what stands below it.

A block runs by itself, or begins with a comment that says what it takes from the first block of its
page: ``# With X and y of the first block``.
"""

import contextlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
WITH = re.compile(r"# With (.*) of the first block\n")
NUMBER = re.compile(r"\d+(\.\d+)?(e[-+]?\d+)?")
UNIT = re.compile(r"# (us|ms|s|B|KiB|MiB|GiB)\b")


def shape(text):
    """Text without its numbers, which may differ from machine to machine."""
    return UNIT.sub("# unit", NUMBER.sub("#", text)).strip()


def blocks(page):
    """Give (line, language, text) of each block of code."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start()) + 2, match[1], match[2]


def programs(page):
    """Give (line, text, what it prints) of each block of Python; None where nothing is shown."""
    found = list(blocks(page))
    for (line, language, text), following in zip(found, [*found[1:], None], strict=False):
        if language == "python":
            is_shown = following is not None and following[1] == "text"
            yield line, text, following[2] if is_shown else None


def run(page, line, text, names):
    """Run a block with these names, add its own to them, and return what it prints."""
    code = compile("\n" * (line - 1) + text, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return printed.getvalue()


def names_for(page, text):
    """Return what the comment at the head of a block says that it takes."""
    head = WITH.match(text)
    if head is None:
        return {}
    line, first, _ = next(programs(page))
    names = {}
    run(page, line, first, names)
    return {name: names[name] for name in re.findall(r"\w+", head[1]) if name != "and"}


PROGRAMS = [(page, *program) for page in PAGES for program in programs(page)]


@pytest.mark.parametrize(
    ("page", "line", "text", "shown"),
    PROGRAMS,
    ids=[f"{page.name}:{line}" for page, line, *_ in PROGRAMS],
)
def test_every_block_runs_with_no_more_than_it_says(page, line, text, shown, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    printed = run(page, line, text, names_for(page, text))
    if shown is not None:
        assert shape(printed) == shape(shown)


def test_the_pages_have_examples():
    languages = [language for page in PAGES for _, language, _ in blocks(page)]
    assert set(languages) == {"python", "text"}  # what else there is would not be tested
    assert languages.count("python") >= 8
    assert languages.count("text") >= 3


# ---- What README's install command installs is enough for its first block

# Packages that are installed here but not by README's command are not there.
ALONE = """
import sys
from importlib.machinery import PathFinder

class Installed:
    def find_spec(self, name, path=None, target=None):
        known = {*sys.stdlib_module_names, "kcore", "numpy", "scipy"}
        return PathFinder.find_spec(name, path) if name.partition(".")[0] in known else None

sys.meta_path[sys.meta_path.index(PathFinder)] = Installed()
exec(compile(sys.stdin.read(), "README.md", "exec"))
"""


def test_the_first_block_of_the_readme_runs_after_its_install_command():
    readme = (ROOT / "README.md").read_text()
    assert re.search(r"^    pip install \.$", readme, re.M)  # without extras
    _, text, shown = next(programs(ROOT / "README.md"))
    assert "scikit" not in text
    done = subprocess.run(
        [sys.executable, "-c", ALONE], input=text, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert shape(done.stdout) == shape(shown)


# ---- Commands


@pytest.mark.slow
def test_the_commands_of_the_c_example_build_and_run_it(tmp_path):
    comment = (ROOT / "examples/c/fit_predict.c").read_text().partition("*/")[0]
    commands = re.findall(r"^ \*     (.+?) *$", comment, re.M)
    assert commands[-1] == "./a.out"
    for name in ("src", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("meson.build", "meson.options", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    script = "\n".join(["set -e", *commands])
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400 of 400 samples predicted right" in done.stdout


MAKEFILE = (ROOT / "Makefile").read_text()


def named_steps(variable):
    """Return the words of a variable of the Makefile."""
    words = re.search(rf"^{variable} := ((?:.*\\\n)*.*)$", MAKEFILE, re.M)[1]
    return words.replace("\\\n", " ").split()


def dry_run(folder, target):
    """Return what make would do for a target in a folder where nothing was made yet."""
    for name in ("Makefile", "pyproject.toml", "meson.build", "meson.options"):
        (folder / name).write_text((ROOT / name).read_text())
    for name in ("src", "python", "tests", "bench", "examples"):
        (folder / name).mkdir(exist_ok=True)
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target],
        cwd=folder, capture_output=True, text=True, timeout=120,
        env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("step", [*named_steps("test_steps"), *named_steps("slow_steps")])
def test_every_step_of_make_sets_up_what_it_needs(step, tmp_path):
    said = dry_run(tmp_path, step)
    if said.startswith('echo "skipped'):
        pytest.skip(f"{step} needs a tool that is not installed")
    assert "making the environment .venv" in said
    assert "installing what the build needs" in said
    if step.startswith("c-"):
        assert "meson setup build/" in said
    else:
        assert "installing what the tests need" in said
    if step in ("python", "python-slow", "symbols", "mypy", "stubtest"):
        assert "building and installing kcore" in said


def test_every_make_command_that_is_written_down_is_one():
    text = "".join(path.read_text() for path in [*PAGES, ROOT / "CONTRIBUTING.md"])
    named = set(re.findall(r"^    make ([a-z-]+)", text, re.M)) | set(
        re.findall(r"`make ([a-z-]+)`", text)
    )
    assert len(named) >= 8
    known = set(re.findall(r"^([a-z][a-z -]*):(?!=)", MAKEFILE, re.M))
    known = {name for names in known for name in names.split()}
    known |= {*named_steps("test_steps"), *named_steps("slow_steps")}
    assert named <= known
