#!/usr/bin/env python3
"""Print the version that kcore/base.h declares: the one place where it is written."""

import re
from pathlib import Path

header = (Path(__file__).parent / "include" / "kcore" / "base.h").read_text(encoding="utf-8")
numbers = dict(re.findall(r"^#define KC_VERSION_(MAJOR|MINOR|PATCH) (\d+)$", header, re.M))
print(numbers["MAJOR"], numbers["MINOR"], numbers["PATCH"], sep=".")
