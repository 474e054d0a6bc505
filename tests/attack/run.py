"""Attack kcore for some minutes, and say what came of it.

    python tests/attack/run.py --minutes 10 --seed 1
    python tests/attack/run.py --family calls --seed 1 --number 4711    one case, in this process
    python tests/attack/run.py --record                                 counts go into docs/

Every case follows from its family, the seed and its number. Each family runs in a process of its
own. A defect is shrunk to a program of a few lines that shows it, which is printed.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import families
import record
from families import FAMILIES, Case
from shrink import shrink
from worker import Verdict, Worker, verdict_of

MAX_DEFECTS = 40  # kinds of them, after which a family gives up
SHRINK_SECONDS = 60.0  # and as many more as the case itself takes to hang


@dataclass
class Defect:
    """The first case of one kind of defect, and how many there were."""

    family: str
    seed: int
    number: int
    case: Case
    verdict: Verdict
    n_times: int = 1

    def __str__(self) -> str:
        return "\n".join([
            f"==== {self.family}, seed {self.seed}, number {self.number}: {self.verdict.kind}",
            self.verdict.text.rstrip(),
            "---- shown by",
            families.program(self.family, self.case),
        ])  # fmt: skip


@dataclass
class Tally:
    """What came of the cases of one family."""

    family: str
    seconds: float = 0.0
    words: Counter[str] = field(default_factory=Counter)
    defects: dict[str, Defect] = field(default_factory=dict)

    @property
    def n_cases(self) -> int:
        return self.words.total()

    @property
    def n_defects(self) -> int:
        return sum(defect.n_times for defect in self.defects.values())

    def row(self) -> list[str]:
        """Return the cells of the table: name, cases, defects, words."""
        words = ", ".join(
            f"{count} {word}" for word, count in self.words.most_common() if word != "defect"
        )
        return [self.family, str(self.n_cases), str(self.n_defects), words]


def attack(name: str, seed: int, seconds: float, n_most: float = math.inf) -> Tally:
    """Check so many cases of one family, or fewer where the time is up; that of loading is free."""
    tally = Tally(name)
    with Worker(name) as worker:
        worker.start()
        begin = time.monotonic()
        number = 0
        end = begin + seconds
        while number < n_most and time.monotonic() < end and len(tally.defects) < MAX_DEFECTS:
            case = families.draw(name, seed, number)
            verdict = worker.ask(case, families.seconds_of(name))
            tally.words[verdict.word] += 1
            if verdict.is_defect:
                _note(tally, worker, Defect(name, seed, number, case, verdict))
            number += 1
    tally.seconds = time.monotonic() - begin
    return tally


def _note(tally: Tally, worker: Worker, defect: Defect) -> None:
    """Count a defect, or shrink it where it is the first of its kind."""
    kind = defect.verdict.kind
    if kind in tally.defects:
        tally.defects[kind].n_times += 1
        return
    tally.defects[kind] = defect
    seconds = families.seconds_of(defect.family)
    is_hang = kind == "hangs"
    end = time.monotonic() + SHRINK_SECONDS + (4 * seconds if is_hang else 0)

    def fails(case: Case) -> bool:
        if time.monotonic() > end:
            return False
        return worker.ask(case, seconds).kind == kind

    simplest = families.family(defect.family).SIMPLEST
    defect.case = shrink(defect.case, simplest, fails)
    with _printing:
        print(defect, end="\n\n", flush=True)


_printing = threading.Lock()


def attack_all(
    names: list[str], seed: int, minutes: float, n_jobs: int, n_most: float
) -> list[Tally]:
    """Run all families, so many at a time, the longest first."""
    total = sum(FAMILIES[name][1] for name in names)
    share = {name: 60 * minutes * n_jobs * FAMILIES[name][1] / total for name in names}
    with ThreadPoolExecutor(n_jobs) as pool:
        found = pool.map(
            lambda name: attack(name, seed, min(share[name], 60 * minutes), n_most),
            sorted(names, key=lambda name: -share[name]),
        )
        return sorted(found, key=lambda tally: names.index(tally.family))


def show_one(name: str, seed: int, number: int) -> int:
    """Run one case in this process, so that a debugger can look at it."""
    case = families.draw(name, seed, number)
    print(families.program(name, case))
    verdict = verdict_of(name, case)
    print(verdict.text or verdict.word)
    return int(verdict.is_defect)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="N")
    parser.add_argument(
        "--cases", type=float, default=math.inf, metavar="N", help="of each family at the most"
    )
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--number", type=int, help="run this case only, in this process")
    parser.add_argument("--record", action="store_true", help="write the counts into docs/")
    args = parser.parse_args()
    if args.number is not None:
        return show_one(args.family[0], args.seed, args.number)
    begin = time.monotonic()
    tallies = attack_all(args.family, args.seed, args.minutes, args.jobs, args.cases)
    n_defects = sum(tally.n_defects for tally in tallies)
    print(record.plain([tally.row() for tally in tallies]))
    print(
        f"attack: {sum(tally.n_cases for tally in tallies)} cases, {n_defects} defects, "
        f"seed {args.seed}, {(time.monotonic() - begin) / 60:.1f} minutes"
    )
    if args.record:
        record.write(tallies, args.seed, (time.monotonic() - begin) / 60)
    return int(n_defects > 0)


if __name__ == "__main__":
    sys.exit(main())
