"""The code in README.md and docs/*.md runs, and prints what stands below it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = {}
    printed = ""
    for line, language, text in blocks(page):
        if language == "python":
            capsys.readouterr()
            code = compile("\n" * (line - 1) + text, str(page), "exec")
            exec(code, names)
            printed = capsys.readouterr().out
        elif language == "text":
            assert shape(printed) == shape(text), f"{page}:{line}"


def test_the_pages_have_examples():
    languages = [language for page in PAGES for _, language, _ in blocks(page)]
    assert languages.count("python") >= 8
    assert languages.count("text") >= 3
