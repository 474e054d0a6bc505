"""Tables of text and Markdown, result files, and the marks for goals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass
class Goal:
    """A figure, what it should reach, and whether it does."""

    what: str
    value: float
    limit: float
    unit: str = "x"
    at_least: bool = True
    is_judged: bool = True  # False: the machine was too busy to tell

    @property
    def is_met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def mark(self) -> str:
        if not self.is_judged:
            return "busy"
        return "met" if self.is_met else "MISSED"

    def cells(self) -> list[str]:
        sign = "≥" if self.at_least else "≤"
        return [
            self.what,
            f"{figure(self.value)} {self.unit}",
            f"{sign} {self.limit:g} {self.unit}",
            self.mark,
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "value": self.value,
            "limit": self.limit,
            "unit": self.unit,
            "at_least": self.at_least,
            "is_met": self.is_met,
            "is_judged": self.is_judged,
        }


def count_goals(goals: Sequence[Goal]) -> str:
    """Return how many goals were met, and how many could not be judged."""
    judged = [goal for goal in goals if goal.is_judged]
    text = f"{sum(goal.is_met for goal in judged)} of {len(judged)} goals met"
    busy = len(goals) - len(judged)
    return f"{text}; the machine was too busy to judge {busy}" if busy else text


def figure(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` significant digits and no exponent, or a dash."""
    if value is None or value != value:
        return "-"
    if value == 0:
        return "0"
    size = len(str(int(abs(value))))
    return f"{value:.{max(0, digits - size)}f}" if abs(value) >= 0.01 else f"{value:.2g}"


def milliseconds(seconds: float | None) -> str:
    return figure(None if seconds is None else 1e3 * seconds)


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned table; the first column to the left, the others to the right."""
    widths = [max(len(row[c]) for row in [head, *rows]) for c in range(len(head))]
    lines = []
    for row in [head, ["-" * width for width in widths], *rows]:
        cells = [row[0].ljust(widths[0]), *(row[c].rjust(widths[c]) for c in range(1, len(head)))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    align = [":--", *["--:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, align, *rows])


def write_json(path: Path, result: dict[str, Any]) -> None:
    """Write a result; one case per line would be shorter, but differences read worse."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def default_path(benchmark: str, date: str) -> Path:
    """Return where results go that nobody asked to keep; git ignores that folder."""
    stamp = date[:19].replace(":", "").replace("-", "")
    return RESULTS / "local" / f"{benchmark}-{stamp}.json"
