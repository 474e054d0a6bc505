"""_capi.pxd and its parts say what kcore.h and the files it includes say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "src" / "kcore" / "include" / "kcore"
PARTS = ("base.h", "kernels.h", "functions.h", "kcore.h", "perceptrons.h", "stores.h")
HEADER = "".join((INCLUDE / name).read_text() for name in PARTS)
DECLARATIONS = "".join(
    (ROOT / "python" / "kcore" / name).read_text()
    for name in ("_capi.pxd", "_capi_perceptrons.pxd", "_capi_stores.pxd")
)

FUNCTION = re.compile(r"([\w ]+[ *]+)(kc_\w+)\(([^()]*)\)")


def plain(text):
    """One spelling for one declaration: stars stick to the name, one space elsewhere."""
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\s*\*\s*", " *", text).replace("* *", "**").replace("( *", "(*")


def argument_types(text):
    arguments = [plain(a) for a in text.split(",")]
    if arguments in (["void"], [""]):
        return []
    return [re.sub(r"\w+$", "", a).strip() for a in arguments]


def signature(statement):
    """(name, (result, types of the arguments)) of a function or function type, or None."""
    match = FUNCTION.fullmatch(plain(statement))
    if match is None:
        return None
    result, name, arguments = match.groups()
    return name, (plain(result), argument_types(arguments))


def expand(field):
    """'int64_t a, b' -> ['int64_t a', 'int64_t b']."""
    if "(" in field:
        return [plain(field)]
    first, *others = field.split(",")
    kind = re.sub(r"[\s*]*\w+(\[\d+\])?$", "", plain(first))
    return [plain(first), *(plain(f"{kind} {name}") for name in others)]


def members(text, separator):
    """Enumerators in order, with their values."""
    pairs = (part.split("=") for part in text.split(separator) if part.strip())
    return [(name.strip(), int(value)) for name, value in pairs]


def of_header(text):
    """What a C header declares: name -> description."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^#.*(\\\n.*)*$", "", text, flags=re.M)
    text = re.sub(r'extern "C" \{|^\}$|\b(KC_API|KC_MUST_CHECK)\b', "", text, flags=re.M)
    found = {}
    for kind, name, body in re.findall(r"typedef (struct|enum) (\w+) \{(.*?)\} \2;", text, re.S):
        if kind == "enum":
            found[name] = ("enum", members(body, ","))
        else:
            own = re.sub(r"\bstruct ", "", body)  # of a member that points at its own kind
            fields = [f for part in own.split(";") if part.strip() for f in expand(part)]
            found[name] = ("struct", fields)
    for name in re.findall(r"typedef struct (\w+) \1;", text):
        found[name] = ("struct", [])
    rest = re.sub(r"typedef (struct|enum) (\w+) (\{.*?\} )?\2;", "", text, flags=re.S)
    for statement in rest.split(";"):
        named = signature(re.sub(r"\btypedef\b", "", statement))
        if named:
            found[named[0]] = ("function", named[1])
    return found


def of_pxd(text):
    """What a Cython declaration file declares: name -> description."""
    text = re.sub(r"#.*", "", text)
    text = re.sub(r"\(([^()]*)\)", lambda m: "(" + plain(m[1]) + ")", text)
    found = {}
    for block in re.split(r"\n(?=    \S)", text):
        head, *body = [line for line in block.splitlines() if line.strip()] or [""]
        match = re.fullmatch(r"    ctypedef (struct|enum) (\w+):", head)
        if match and match[1] == "enum":
            found[match[2]] = ("enum", members("\n".join(body), "\n"))
        elif match:
            fields = [f for line in body if line.strip() != "pass" for f in expand(line)]
            found[match[2]] = ("struct", fields)
        else:
            named = signature(head.replace("ctypedef ", ""))
            if named:
                found[named[0]] = ("function", named[1])
    return found


def differences(header, declarations):
    ours, theirs = of_pxd(declarations), of_header(header)
    return [name for name in ours | theirs if ours.get(name) != theirs.get(name)]


def test_every_declaration_agrees_with_the_header():
    assert differences(HEADER, DECLARATIONS) == []


def test_the_reader_sees_functions_structs_and_enumerations():
    found = of_header(HEADER)
    kinds = [kind for kind, _ in found.values()]
    assert kinds.count("function") >= 18
    assert kinds.count("struct") >= 11
    assert kinds.count("enum") >= 5
    assert found["kc_kernel_free"] == ("function", ("void", ["kc_context *", "kc_kernel *"]))
    assert "int64_t col_stride" in found["kc_points"][1]
    assert ("KC_ERR_INDEX", 15) in found["kc_status"][1]


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("int64_t out_ld", "int32_t out_ld", "kc_gram"),
        ("const kc_points *x", "kc_points *x", "kc_diag"),
        ("int32_t kc_usable_cpus()", "", "kc_usable_cpus"),
        ("KC_ERR_SHAPE = 11", "KC_ERR_SHAPE = 12", "kc_status"),
        ("        int64_t row_stride\n", "", "kc_points"),
        ("        kc_pair_fn *pair\n        kc_block_fn *block",
         "        kc_block_fn *block\n        kc_pair_fn *pair", "kc_kernel_function"),
        ("kc_progress_fn *on_progress", "void *on_progress", "kc_run"),
        ("int kc_progress_fn(void *data", "void kc_progress_fn(void *data", "kc_progress_fn"),
    ],
)  # fmt: skip
def test_a_planted_difference_is_found(old, new, name):
    declarations = DECLARATIONS
    assert old in declarations
    assert name in differences(HEADER, declarations.replace(old, new))
