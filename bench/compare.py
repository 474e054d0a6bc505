"""Compare two result files of the same benchmark: what became faster, what slower.

    python bench/compare.py before.json after.json

A difference counts if it is larger than --noise (15 %) and larger than the spread, from minimum to
median, of both runs: on a machine with other work, smaller ones are not findings. Times are
compared by the fastest repeat. The exit status is 1 where something of the subject's own became
slower or invalid.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report import figure, text_table


@dataclass(frozen=True)
class Point:
    """A time in one result, and the spread of its repeats."""

    best: float
    median: float
    is_ours: bool
    is_valid: bool = True

    @property
    def spread(self) -> float:
        return self.median / self.best - 1 if self.best > 0 else 0.0


def points_of(result: dict[str, Any]) -> Iterator[tuple[str, Point]]:
    """Give every time of a result under a name that is the same in every run."""
    if result["benchmark"] == "kernels":
        for case in result["cases"]:
            for name, times in case["seconds"].items():
                best = times["min"]
                if case["threads"] == 1:
                    best = min(best, times["min_cpu"])
                label = f"{case['name']} {name}"
                yield label, Point(best, times["median"], name.startswith("kcore"))
    else:
        for case in result["cases"]:
            yield from fit_points(case, result["settings"]["subject"])
    for line in result.get("programs", []):
        if "name" in line:
            yield (
                line["name"],
                Point(line["ns_per_entry"] * 1e-9, line["median_ns_per_entry"] * 1e-9, True),
            )


def fit_points(case: dict[str, Any], subject: str) -> Iterator[tuple[str, Point]]:
    for entry in case["entries"]:
        is_ours = entry["library"] == subject
        works = [("fit", entry["fit"])]
        works += [(f"predict {rows}", times) for rows, times in entry["predict"].items()]
        for work, times in works:
            if times is None:
                continue
            best = times["min"]
            if entry["threads"] == 1:
                best = min(best, times["min_cpu"])
            label = f"{case['name']} {entry['variant']} t{entry['threads']} {work}"
            yield label, Point(best, times["median"], is_ours, entry["is_valid"] is not False)


def verdict(before: Point, after: Point, noise: float) -> str:
    """Return what to say of a pair of times, nothing where they are the same within noise."""
    if before.is_valid and not after.is_valid:
        return "INVALID"
    ratio = after.best / before.best
    # The spread of a busy machine is no excuse for any difference: it counts up to four times.
    room = 1 + max(noise, min(4 * noise, before.spread, after.spread))
    if ratio > room:
        return "slower"
    return "faster" if ratio < 1 / room else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--noise", type=float, default=0.15, help="part that is no finding (0.15)")
    parser.add_argument("--all", action="store_true", help="also what stayed the same")
    args = parser.parse_args()
    results = [json.loads(path.read_text(encoding="utf-8")) for path in (args.before, args.after)]
    if results[0]["benchmark"] != results[1]["benchmark"]:
        raise SystemExit("these are results of different benchmarks")
    for which, result in zip(("before", "after"), results, strict=True):
        about = result["about"]
        commit = (about["commit"]["id"] or "unknown")[:12]
        print(f"{which:6}  {commit}  {about['date']}  {about['cpu']['model']}, ", end="")
        print(f"load {about['load_at_start']} .. {about.get('load_at_end')}")
    before, after = (dict(points_of(result)) for result in results)
    rows, is_worse = [], False
    for name in [name for name in before if name in after]:
        said = verdict(before[name], after[name], args.noise)
        is_worse |= said in ("slower", "INVALID") and after[name].is_ours
        if said or args.all:
            rows.append(
                [
                    name,
                    figure(1e6 * before[name].best),
                    figure(1e6 * after[name].best),
                    figure(after[name].best / before[name].best),
                    said,
                ]
            )
    print("\n" + text_table(["microseconds", "before", "after", "after/before", ""], rows))
    shared = len(before.keys() & after.keys())
    print(
        f"\n{len(rows)} of {shared} times listed; {len(before.keys() ^ after.keys())} in one only"
    )
    return 1 if is_worse else 0


if __name__ == "__main__":
    sys.exit(main())
