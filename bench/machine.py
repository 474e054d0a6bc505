"""Where a result comes from: machine, compiler, versions, commit.

Names of folders, users and hosts are left out: a result file may be published as it is.
"""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

PACKAGES = [
    "kcore",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "libsvm-official",
    "thundersvm-cpu",
    "threadpoolctl",
]


def first_line(command: list[str]) -> str | None:
    """Return the first line that `command` prints, or None where it fails."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.partition("\n")[0].strip()


def read_lines(path: str) -> list[str]:
    """Return the lines of a file of the system, none where it does not exist."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def fields_of(path: str) -> dict[str, str]:
    """Return the first value of each ``name : value`` in a file of the system."""
    fields: dict[str, str] = {}
    for line in read_lines(path):
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields


def cpu() -> dict[str, Any]:
    info = fields_of("/proc/cpuinfo")
    has = set(info.get("flags", "").split())
    caches = {}
    for entry in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (
            (read_lines(str(entry / name)) or ["?"])[0] for name in ("level", "type", "size")
        )
        caches[f"L{level} {kind.lower()}"] = size
    return {
        "model": info.get("model name", platform.processor()),
        "family": info.get("cpu family"),
        "family_model": info.get("model"),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "mhz": info.get("cpu MHz"),
        "flags": sorted(has & {"avx2", "fma", "avx512f", "f16c"}),
        "virtual": "hypervisor" in has,
        "caches": caches,
        "memory": fields_of("/proc/meminfo").get("MemTotal"),
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def libraries() -> list[dict[str, Any]]:
    """Return the BLAS and OpenMP libraries in this process."""
    from threadpoolctl import threadpool_info

    keys = ("user_api", "internal_api", "version", "threading_layer", "architecture")
    return [{key: entry[key] for key in keys if entry.get(key)} for entry in threadpool_info()]


def commit() -> dict[str, Any]:
    """Return the commit, and whether sources of the package differ from it."""
    changed = first_line(["git", "status", "--porcelain", "--", "src", "python", "meson.build"])
    return {"id": first_line(["git", "rev-parse", "HEAD"]), "is_changed": bool(changed)}


def load() -> float | None:
    """Return the mean number of running processes in the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def is_quiet() -> bool:
    """Whether times on several threads mean something: our own work, and hardly any other."""
    busy = load()
    return busy is None or busy <= len(os.sched_getaffinity(0)) + 1


def describe() -> dict[str, Any]:
    """Return everything that a reader of a result needs to know of its making."""
    import kcore

    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    return {
        "date": now.isoformat(),
        "commit": commit(),
        "cpu": cpu(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "compiler": first_line([os.environ.get("CC", "cc"), "--version"]),
        "isa": kcore.isa_name(),
        "versions": versions(),
        "libraries": libraries(),
        "load_at_start": load(),
    }


def summary(about: dict[str, Any]) -> str:
    """Return the description as a few lines of text."""
    names = about["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in names.items())
    chip = about["cpu"]
    state = " with changes" if about["commit"]["is_changed"] else ""
    return (
        f"{chip['model']} (family {chip['family']}, model {chip['family_model']}), "
        f"{chip['usable_cpus']} CPUs{', virtual' if chip['virtual'] else ''}, "
        f"{chip['memory']}; kcore uses {about['isa']}\n"
        f"{packages}; {about['compiler']}\n"
        f"commit {(about['commit']['id'] or 'unknown')[:12]}{state}, {about['date']}, "
        f"load {about['load_at_start']}"
    )
