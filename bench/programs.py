"""The benchmarks in C: programs that print JSON lines (bench/c/kc_bench.h)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from machine import ROOT
from report import figure, text_table

FOLDER = ROOT / "build" / "release" / "bench"


def run(names: list[str], folder: Path) -> list[dict[str, Any]]:
    """Return the lines that the programs print; those that are not built are named and left out."""
    lines: list[dict[str, Any]] = []
    for name in names:
        program = folder / name
        if not program.is_file():
            print(f"{name}: not built (make builds it), left out")
            continue
        done = subprocess.run([program], capture_output=True, text=True, check=True)
        lines += [json.loads(line) for line in done.stdout.splitlines()]
    return lines


def table(lines: list[dict[str, Any]], head: str) -> str:
    rows = [
        [
            line["name"],
            figure(line["ns_per_entry"]),
            figure(line["median_ns_per_entry"]),
            figure(line.get("ticks_per_entry")),
            figure(line.get("gflops")),
        ]
        for line in lines
        if "name" in line
    ]
    return text_table([head, "ns/entry", "median", "ticks/entry", "GFLOP/s"], rows)
