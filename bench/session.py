"""What every benchmark begins and ends with: options, the machine, goals, the result file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import machine
import programs
from report import Goal, count_goals, default_path, markdown_table, text_table, write_json


def option_parser(doc: str) -> argparse.ArgumentParser:
    """Return a parser with the options of all benchmarks; `doc` begins with what this one does."""
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    parser.add_argument("--output", type=Path, help="where to write the JSON result")
    parser.add_argument("--markdown", action="store_true", help="print tables as Markdown")
    return parser


def add_programs(parser: argparse.ArgumentParser) -> None:
    """Add the option of benchmarks that have a part in C."""
    parser.add_argument(
        "--programs",
        type=Path,
        default=programs.FOLDER,
        help="folder of the C benchmarks (build/release/bench)",
    )


class Session:
    """One run of a benchmark.

    Parameters
    ----------
    name : str
        Of the benchmark, in its result.
    args : argparse.Namespace
        With the options of `option_parser`.
    """

    def __init__(self, name: str, args: argparse.Namespace) -> None:
        self.name = name
        self.args = args
        self.table = markdown_table if args.markdown else text_table
        self.about = machine.describe()
        self.path: Path = args.output or default_path(name, self.about["date"])
        print(machine.summary(self.about))

    def print_goals(self, goals: Sequence[Goal]) -> None:
        cells = [goal.cells() for goal in goals]
        print("\n" + self.table(["goal", "found", "asked", ""], cells))
        print(f"\n{count_goals(goals)}")

    def run_programs(self, names: list[str], head: str) -> list[dict[str, Any]]:
        """Run benchmarks in C; print and return what they found."""
        print()
        lines = programs.run(names, self.args.programs)
        if lines:
            print(programs.table(lines, head))
        return lines

    def write(self, **parts: Any) -> None:
        """Write the result so far: a run that is broken off leaves what it has."""
        self.about["load_at_end"] = machine.load()
        write_json(self.path, {"benchmark": self.name, "about": self.about, **parts})

    def end(self) -> None:
        print(f"\nwritten to {self.path}")
