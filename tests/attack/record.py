"""The counts of a run as a table: on the terminal, and in docs/reliability.md."""

from __future__ import annotations

import datetime
import platform
from typing import TYPE_CHECKING

from families import FAMILIES, ROOT

if TYPE_CHECKING:
    from run import Tally

HEAD = ["family", "cases", "defects", "what became of the cases"]
NOTE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- counts: written by make attack ATTACK_RECORD=1 -->", "<!-- end of counts -->"


def plain(rows: list[list[str]]) -> str:
    """Return the table for a terminal."""
    widths = [max(len(row[k]) for row in [HEAD, *rows]) for k in range(3)]
    return "\n".join(
        f"{row[0]:{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}"
        for row in [HEAD, *rows]
    )


def markdown(rows: list[list[str]]) -> str:
    """Return the table for the note."""
    lines = [HEAD, ["---", "---:", "---:", "---"], *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def write(tallies: list[Tally], seed: int, minutes: float) -> None:
    """Put date, machine and table between the two marks of the note."""
    import kcore

    head, rest = NOTE.read_text(encoding="utf-8").split(BEGIN)
    tail = rest.split(END)[1]
    said = (
        f"{datetime.date.today():%Y-%m-%d}, {minutes:.0f} minutes, seed {seed}, "
        f"kcore {kcore.__version__} ({kcore.isa_name()}), Python {platform.python_version()}:"
    )
    table = markdown([tally.row() for tally in tallies if tally.family in FAMILIES])
    NOTE.write_text(f"{head}{BEGIN}\n\n{said}\n\n{table}\n\n{END}{tail}", encoding="utf-8")
