"""Hold the compiled code to what the design says of symbols.

usage: check_symbols.py BUILD_DIRECTORY

* The extension module exports its init function and nothing else.
* Global names of the core start with kc_; an instruction-set object exports its table alone.
* The core calls nothing of the C library but the functions below: it cannot print, exit, draw
  unseeded random numbers, change the locale or catch signals.
* Heap, threads, files and environment are reached from the few sources that are their doors.
* There is no mutable state but the few objects below.
"""

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ANYWHERE = set(
    """
    memchr memcmp memcpy memmove memset strchr strcmp strcspn strlen strncmp strnlen strspn strstr
    snprintf vsnprintf
    fabs fabsf fma fmaf fmax fmin ceil floor frexp ldexp log nearbyint pow rint sqrt sqrtf trunc
    exp expf tanh tanhf
    __stack_chk_fail _GLOBAL_OFFSET_TABLE_
    """.split()
)

# Doors: what one source may call beside that.
DOORS = {
    # Memory; malloc keeps lists of small blocks, posix_memalign does not.
    "base/kc_alloc.c": "free malloc posix_memalign",
    # Threads.
    "base/kc_call.c": "pthread_self",
    "base/kc_fork.c": "pthread_atfork pthread_once",
    "base/kc_pool.c": """
        pthread_attr_destroy pthread_attr_init pthread_attr_setstacksize
        pthread_cond_broadcast pthread_cond_destroy pthread_cond_signal pthread_cond_wait
        pthread_create pthread_join
        pthread_mutex_destroy pthread_mutex_init pthread_mutex_lock pthread_mutex_unlock
        pthread_sigmask sigdelset sigfillset
        """,
    "base/kc_spin_team.c": "fegetenv fesetenv",
    "base/kc_thread.c": "fegetenv fesetenv",
    # The machine and the environment.
    "base/kc_cgroup.c": "close open open64 read",
    "base/kc_clock.c": "clock_gettime",
    "base/kc_cpu.c": "getenv",
    "base/kc_os_linux.c": """
        __sched_cpucount clock_gettime madvise sched_getaffinity sched_yield sysconf
        pthread_cond_init pthread_cond_timedwait
        pthread_condattr_destroy pthread_condattr_init pthread_condattr_setclock
        pthread_self pthread_setname_np
        """,
    "base/kc_isa.c": "__cpu_indicator_init __cpu_model getenv",
    # Numbers: what is left after whole periods, which has no rounding.
    "data/kc_reading_steps.c": "remainder",
}

# Objects that change while the program runs, and why each is global.
MUTABLE = {
    ("base/kc_fork.c", "fork_count"): "a child of fork sees that its parent's threads are gone",
    ("base/kc_fork.c", "is_watching"): "whether pthread_atfork took the handler",
    ("base/kc_fork.c", "watch_once"): "the handler is installed once",
    ("base/kc_isa.c", "chosen"): "the instruction set is chosen once",
}

ISA_CALLS = {"memcpy", "memset", "_GLOBAL_OFFSET_TABLE_"}


@dataclass
class ObjectFile:
    """What one object file defines and asks for."""

    source: str  # such as base/kc_alloc.c
    exported: set[str] = field(default_factory=set)
    undefined: set[str] = field(default_factory=set)
    mutable: set[str] = field(default_factory=set)


def read_object(path: Path, source: str) -> ObjectFile:
    """Read the symbol table of the object file at `path`."""
    result = ObjectFile(source)
    table = subprocess.run(
        ["objdump", "--syms", path], check=True, capture_output=True, text=True
    ).stdout
    # value, seven flag columns, section, tab, size, optional visibility, name
    for flags, section, name in re.findall(
        r"^[0-9a-f]+ (.{7}) (\S+)\t[0-9a-f]+ +(?:\.hidden |\.protected |\.internal )?(\S+)$",
        table,
        re.M,
    ):
        if "d" in flags or "f" in flags:  # sections and file names
            continue
        if section == "*UND*":
            result.undefined.add(re.sub(r"^__(\w+)_chk$", r"\1", name))
            continue
        if flags[0] in "gu" or flags[1] == "w":
            result.exported.add(name)
        is_data = re.match(r"\.(data|bss|tdata|tbss)\b|\*COM\*", section)
        if is_data and not section.startswith(".data.rel.ro"):
            result.mutable.add(re.sub(r"\.\d+$", "", name))
    return result


def core_faults(objects: list[ObjectFile]) -> Iterator[str]:
    """Say what the object files of the core do that they may not."""
    ours = set[str]().union(*(obj.exported for obj in objects))
    for obj in objects:
        for name in sorted(obj.exported):
            if not name.startswith("kc_"):
                yield f"{obj.source} exports {name}: global names start with kc_"
        for name in sorted(obj.mutable):
            if (obj.source, name) not in MUTABLE:
                yield f"{obj.source} keeps state in {name}"
        allowed = ours | ANYWHERE | set(DOORS.get(obj.source, "").split())
        for name in sorted(obj.undefined - allowed):
            yield f"{obj.source} calls {name}"
        isa = re.fullmatch(r"simd/kc_\w+_(generic|avx2|avx512|neon)\.c", obj.source)
        if isa:
            if [name.endswith(isa[1]) for name in obj.exported] != [True]:
                yield f"{obj.source} exports {sorted(obj.exported)}: its table alone may be seen"
            for name in sorted(obj.undefined - ISA_CALLS):
                yield f"{obj.source} calls {name}: inner loops stand alone"


def stale_entries(objects: list[ObjectFile]) -> Iterator[str]:
    """Say which permissions nothing uses any more."""
    mutable = {(obj.source, name) for obj in objects for name in obj.mutable}
    for source, name in sorted(MUTABLE.keys() - mutable):
        yield f"MUTABLE names {name} of {source}, which is no more"
    for source in sorted(DOORS.keys() - {obj.source for obj in objects}):
        yield f"DOORS names {source}, which is no more"


def extension_faults(path: Path, init: str) -> Iterator[str]:
    """Say what the extension module exports beside its init function."""
    table = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--format=posix", path],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = {line.split()[0].split("@")[0] for line in table.splitlines()}
    if names != {init}:
        yield f"{path} exports {sorted(names)}, not {init} alone"


def self_test() -> None:
    """Compile a source that breaks every rule and see that each fault is found."""
    source = """
    #include <math.h>
    #include <stdio.h>
    #include <stdlib.h>
    int counter = 3;
    static int calls;
    static _Thread_local int depth;
    const char *const kc_names[] = {"a", "b"};
    void *oops(double x) {
        static int seen;
        printf("%d", ++calls + ++depth + ++seen);
        return malloc((unsigned)(exp(x) + counter++));
    }
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "planted.c"
        path.write_text(source, encoding="utf-8")
        for name, flags in {"planted.o": ["-c"], "planted.so": ["-shared"]}.items():
            output = str(path.with_name(name))
            subprocess.run(["cc", "-O1", "-fPIC", *flags, str(path), "-o", output], check=True)
        planted = read_object(path.with_suffix(".o"), "simd/kc_ops_avx2.c")
        assert planted.mutable == {"counter", "calls", "depth", "seen"}, planted
        assert planted.exported == {"counter", "kc_names", "oops"}, planted
        assert planted.undefined >= {"printf", "malloc", "exp"}, planted
        text = "\n".join(core_faults([planted]))
        for part in [
            "exports oops",
            "state in calls",
            "calls printf",
            "calls malloc",
            "alone may",
        ]:
            assert part in text, text
        assert list(extension_faults(path.with_suffix(".so"), "PyInit_planted"))


def main(build: Path) -> int:
    """Check the objects of the release build and the installed extension module."""
    self_test()
    objects = [
        read_object(path, re.sub(r"^([a-z]+)_(kc_\w+\.c)\.o$", r"\1/\2", path.name))
        for path in sorted((build / "src" / "kcore").glob("lib*.a.p/*.o"))
    ]
    faults = [*core_faults(objects), *stale_entries(objects)]
    if not objects:
        faults.append(f"{build} holds no objects of the core")
    extension = importlib.util.find_spec("kcore") and importlib.util.find_spec("kcore._core")
    if extension is None or extension.origin is None:
        faults.append("kcore._core is not installed")
    else:
        faults += extension_faults(Path(extension.origin), "PyInit__core")
    print(*faults, sep="\n")
    return min(len(faults), 1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
