"""Hold the includes of src/kcore to the layer table, and the layout of samples to few files.

Arrows point down only: a file may include headers of its own layer and of the layers that the table
names. How samples are laid out is known to data/, simd/ and the leaves of kernels.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

MAY_INCLUDE = {
    "base": "",
    "data": "base simd",
    "simd": "base",
    "kernel": "base data simd",
    "rows": "base data simd kernel",
    "solver": "base data simd rows",
    "function": "base data simd kernel",
    "task": "base data kernel rows solver function",
    "online": "base data simd solver function task",
    "api": "base data simd kernel rows function task online",
}
PUBLIC = "kcore"  # kcore/kcore.h, open to all
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
LAYOUT = re.compile(r"(?:->|\.)(?:panels|indptr|vals|sq_norms|max_row_nnz)\b")
MAY_LOOK = re.compile(r"data/|simd/|include/|kernel/kc_vectors|kernel/kc_(tiles|lanes)_body\.inc")
ROOT = Path(__file__).resolve().parents[2]


def layer_faults(core: Path) -> Iterator[str]:
    """Say which includes under the folder `core` point where they may not."""
    for path in sorted(core.rglob("*")):
        layer = path.relative_to(core).parts[0]
        if path.suffix not in {".c", ".h", ".inc"} or layer == "include":
            continue
        if layer not in MAY_INCLUDE:
            yield f"{path}: {layer} is not a layer of the table"
            continue
        allowed = {PUBLIC, layer, *MAY_INCLUDE[layer].split()}
        for mark, name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if mark == "<":
                if name.startswith(("kcore/", *(f"{other}/" for other in MAY_INCLUDE))):
                    yield f'{path}: <{name}> is ours, write "{name}"'
            elif "/" not in name or name.startswith("."):
                yield f'{path}: "{name}" must be written as "layer/{Path(name).name}"'
            elif name.split("/")[0] not in allowed:
                yield f'{path}: "{name}", but {layer} may include only {sorted(allowed)}'


def layout_faults(core: Path) -> Iterator[str]:
    """Say where a file looks into samples whose layout it must not know."""
    for path in sorted(core.rglob("*")):
        if path.suffix not in {".c", ".h", ".inc"} or MAY_LOOK.match(str(path.relative_to(core))):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if found := LAYOUT.search(line):
                yield f"{path}:{number}: {found[0]} is for data/ and the leaves of kernels"


def binding_faults(package: Path) -> Iterator[str]:
    """Say where the Python package reaches past the public header."""
    for path in sorted([*package.rglob("*.pyx"), *package.rglob("*.pxd")]):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r'cdef extern from\s+["\'<]+([^"\'>]+)', text):
            if name.split("/")[0] in MAY_INCLUDE or name.startswith("kc_"):
                yield f"{path}: {name} is internal, the package uses kcore/kcore.h only"


def guide_faults(guide: str) -> Iterator[str]:
    """Say where the table of layers in the contribution guide is not the one above."""
    rows = re.findall(r"^\| (\w+) \|[^|]*\|([^|]*)\|", guide, re.M)
    stated = {layer: set(names.split()) for layer, names in rows if layer in MAY_INCLUDE}
    for layer, names in MAY_INCLUDE.items():
        if stated.get(layer) != set(names.split()):
            yield f"CONTRIBUTING.md: {layer} may include {names!r}, the table says otherwise"


def self_test() -> None:
    """Plant one fault of each kind and see that it is found, and nothing else."""
    files = {
        "base/kc_good.c": '#include <math.h>\n#include "base/kc_a.h"\n#include "kcore/kcore.h"\n',
        "api/kc_fine.c": '#include "kernel/kc_kernel.h"\n  #  include "task/kc_task.h"\n',
        "solver/kc_reach.c": '#include "kernel/kc_kernel.h"\n',
        "base/kc_up.h": '#include "data/kc_points.h"\n',
        "simd/kc_body.inc": '#include "data/kc_points.h"\n',
        "data/kc_bare.c": '#include "kc_points.h"\n',
        "data/kc_angle.c": "#include <api/kc_gram.h>\n",
        "misc/kc_lost.c": "\n",
        "rows/kc_peek.c": "double first(const kc_packed *x) { return *(double *)x->panels; }\n",
        "kernel/kc_vectors_any.c": "return x->panels;\n",
    }
    wrong = ["solver/kc_reach.c", "base/kc_up.h", "simd/kc_body.inc", "data/kc_bare.c"]
    wrong += ["data/kc_angle.c", "misc/kc_lost.c"]
    with tempfile.TemporaryDirectory() as folder:
        core = Path(folder)
        for name, text in files.items():
            (core / name).parent.mkdir(exist_ok=True)
            (core / name).write_text(text, encoding="utf-8")
        (core / "_core.pyx").write_text('cdef extern from "base/kc_alloc.h":\n', encoding="utf-8")
        found = {line.split(":")[0] for line in layer_faults(core) if "_core.pyx" not in line}
        assert found == {str(core / name) for name in wrong}, found
        assert len(list(binding_faults(core))) == 1
        assert [line.split(":")[0] for line in layout_faults(core)] == [
            str(core / "rows/kc_peek.c")
        ]
        table = "".join(f"| {layer} | | {names} | |\n" for layer, names in MAY_INCLUDE.items())
        assert list(guide_faults(table)) == []
        assert len(list(guide_faults(table.replace("| data | | base", "| data | |")))) == 1


def main() -> int:
    """Check the tree."""
    self_test()
    core, package = ROOT / "src" / "kcore", ROOT / "python" / "kcore"
    faults = [
        *layer_faults(core),
        *layout_faults(core),
        *binding_faults(package),
        *guide_faults((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")),
    ]
    print(*faults, sep="\n")
    return min(len(faults), 1)


if __name__ == "__main__":
    sys.exit(main())
