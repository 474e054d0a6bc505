"""Draw a result of the SVM benchmark.

    python bench/plots.py result.json --output folder

``ratios.svg``: times of the other libraries divided by those of kcore, case by case, and their
geometric means. ``scaling.svg``: time against n on logarithmic axes, with the limit of any exact
method: the kernel values that the gradient of all samples at the solution needs, at the speed of
kcore's kernel.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

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
    height = 0.7 / len(peers)
    figure, axes = plt.subplots(figsize=(7, 1 + 0.27 * len(cases)))
    for p, peer in enumerate(peers):
        ratios = {
            c: theirs / ours
            for c, case in enumerate(cases)
            if (ours := best_seconds(case, subject, threads)) is not None
            and (theirs := best_seconds(case, peer, threads)) is not None
        }
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        places = [c + (p + 0.5) * height - 0.35 for c in ratios]
        # Bars begin at 1, where both take the same time.
        lengths = [ratio - 1 for ratio in ratios.values()]
        colour = COLOURS[peer]
        label = f"{peer}: {mean:.3g}x in the mean"
        axes.barh(places, lengths, left=1, height=height, color=colour, label=label)
        axes.axvline(mean, color=colour, linewidth=1, linestyle="--")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}x"))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(cases)), [case["name"] for case in cases], fontsize=8)
    axes.set_ylim(len(cases) - 0.5, -0.5)
    axes.set_title(f"Fits on real data: how many times faster {subject} is", fontsize=11)
    axes.set_xlabel(
        f"time of the other library / time of {subject}, {threads} threads (longer bars are better)"
    )
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.11), ncols=len(peers), fontsize=8)
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


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
        sizes = sorted({case["n"] for case in same})
        axes.set_xticks(sizes, [f"{n}" for n in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{1e3 * seconds:g}"))
        axes.set_xlabel("samples")
        axes.set_title(f"{same[0]['d']} features, C = {C:g}", fontsize=10)
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel(f"milliseconds of a fit, {threads} threads")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=len(labels), fontsize=8
    )
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
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
