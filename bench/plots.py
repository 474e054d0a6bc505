"""Draw a result of the SVM benchmark.

    python bench/plots.py result.json --output folder

``ratios.svg``: how many times as long each peer takes, case by case. ``scaling.svg``: time against
n on logarithmic axes, with the limit that no exact method can pass: the kernel values that the
gradient of all samples at the solution needs, at the speed of kcore's kernel.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

COLOURS = {
    "kcore": "#0b6e4f",
    "sklearn": "#f08a24",
    "sklearnex": "#2f6db5",
    "libsvm": "#8c8c8c",
    "thundersvm": "#a64ca6",
}


def best_seconds(case: dict[str, Any], library: str, threads: int) -> float | None:
    """Return the fastest valid fit of a library, with `threads` or, if it has only one, one."""
    found: dict[str, tuple[int, float]] = {}
    for entry in case["entries"]:
        is_usable = entry["library"] == library and entry["state"] == "ok"
        if not is_usable or entry["is_valid"] is False or entry["fit"] is None:
            continue
        best = entry["fit"]["min"]
        if threads == 1:
            best = min(best, entry["fit"]["min_cpu"])
        if entry["threads"] <= threads:
            kept = found.get(entry["variant"], (0, 0.0))
            found[entry["variant"]] = max(kept, (entry["threads"], best))
    return min((seconds for _, seconds in found.values()), default=None)


def n_support(case: dict[str, Any], library: str) -> int | None:
    for entry in case["entries"]:
        if entry["library"] == library and entry["audit"] is not None:
            return entry["audit"]["n_sv"]
    return None


def draw_ratios(result: dict[str, Any], path: Path) -> None:
    subject, threads = result["settings"]["subject"], result["settings"]["max_threads"]
    cases = [case for case in result["cases"] if case["group"] == "real"]
    cases = cases or [case for case in result["cases"] if case["group"] == "grid"]
    peers = [
        name
        for name in COLOURS
        if name != subject and any(best_seconds(case, name, threads) for case in cases)
    ]
    if not cases or not peers:
        return
    height = 0.8 / len(peers)
    figure, axes = plt.subplots(figsize=(7, 1 + 0.14 * len(cases) * (len(peers) + 1)))
    for p, peer in enumerate(peers):
        for c, case in enumerate(cases):
            ours, theirs = (best_seconds(case, name, threads) for name in (subject, peer))
            if ours is None or theirs is None:
                continue
            axes.barh(
                c + (p + 0.5) * height - 0.4,
                theirs / ours,
                height=height,
                color=COLOURS[peer],
                label=peer,
            )
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(cases)), [case["name"] for case in cases])
    axes.invert_yaxis()
    axes.set_xlabel(f"time of fit / time of {subject}, {threads} threads")
    axes.legend(*once_each(axes), loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(peers))
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)


def once_each(axes: Any) -> tuple[list[Any], list[str]]:
    """Return handles and labels of a legend, each label once."""
    handles, labels = axes.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    return list(by_label.values()), list(by_label)


def draw_scaling(result: dict[str, Any], path: Path) -> None:
    subject, threads = result["settings"]["subject"], result["settings"]["max_threads"]
    cases = [case for case in result["cases"] if case["group"] == "scaling"]
    costs = sorted({case["problem"]["C"] for case in cases})
    if not cases:
        return
    figure, panels = plt.subplots(
        1, len(costs), figsize=(4.2 * len(costs), 3.6), sharey=True, squeeze=False
    )
    for axes, C in zip(panels[0], costs, strict=True):
        same = [case for case in cases if case["problem"]["C"] == C]
        for library, colour in COLOURS.items():
            points = [
                (case["n"], seconds)
                for case in same
                if (seconds := best_seconds(case, library, threads)) is not None
            ]
            if points:
                axes.plot(*zip(*points, strict=True), "o-", color=colour, label=library)
        limit = [(case["n"], limit_of(result, case, subject, threads)) for case in same]
        known = [(n, seconds) for n, seconds in limit if seconds is not None]
        if known:
            axes.plot(*zip(*known, strict=True), "k--", label="limit")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("n")
        axes.set_title(f"d = {same[0]['d']}, C = {C:g}", fontsize=10)
        axes.grid(which="both", alpha=0.2)
    panels[0][0].set_ylabel(f"seconds of fit, {threads} threads")
    panels[0][-1].legend(fontsize=8)
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)


def limit_of(
    result: dict[str, Any], case: dict[str, Any], subject: str, threads: int
) -> float | None:
    per_value = result["limit_seconds_per_value"].get(str(case["d"]))
    n_sv = n_support(case, subject)
    if per_value is None or n_sv is None:
        return None
    return n_sv * (case["n"] - n_sv / 2) * per_value / threads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--output", type=Path, help="folder (that of the result)")
    args = parser.parse_args()
    result = json.loads(args.result.read_text(encoding="utf-8"))
    folder = args.output or args.result.parent
    folder.mkdir(parents=True, exist_ok=True)
    draw_ratios(result, folder / "ratios.svg")
    draw_scaling(result, folder / "scaling.svg")
    print(f"drawn into {folder}")


if __name__ == "__main__":
    main()
