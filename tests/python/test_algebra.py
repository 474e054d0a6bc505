"""Names of operands, formulas, text as kernels, and why a kernel is as definite as it is."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kcore import SVC, kernels
from kcore.kernels import (
    RBF,
    Delta,
    Function,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Product,
    Sigmoid,
    Sum,
    exp,
    parse,
    power_series,
)
from test_kernels import kernel_trees

# ---- Names


def test_operands_are_found_by_their_names():
    kernel = Sum(near=RBF(2), far=RBF(0.1)) + Linear()
    assert kernel.names == ("near", "far", "k3")
    assert kernel.get_params()["far__gamma"] == 0.1
    changed = kernel.replace(far__gamma=3, k3=Laplacian())
    assert changed == Sum(near=RBF(2), far=RBF(3), k3=Laplacian())
    assert changed == Sum(("near", RBF(2)), ("far", RBF(3)), Laplacian())
    assert changed != RBF(2) + RBF(3) + Laplacian()
    assert hash(changed) != hash(RBF(2) + RBF(3) + Laplacian())
    for one in (kernel, changed, Product(a=kernel, b=Linear()) ** 2):
        assert pickle.loads(pickle.dumps(one)) == one
        assert eval(repr(one), dict(vars(kernels))) == one


def test_names_are_parameters_of_a_grid_search(rng):
    model_selection = pytest.importorskip("sklearn.model_selection")
    X = rng.standard_normal((60, 3))
    y = X[:, 0] > 0
    kernel = Sum(shape=RBF(1).on([0]), trend=Linear().on([1, 2]))
    grid = {"kernel__shape__kernel__gamma": [0.1, 1.0], "kernel__trend": [Linear(), RBF()]}
    search = model_selection.GridSearchCV(SVC(kernel=kernel), grid, cv=2).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert search.best_estimator_.kernel.names == ("shape", "trend")


def test_names_do_not_change_values(rng):
    X = rng.standard_normal((9, 3))
    assert (Sum(a=RBF(), b=Linear())(X) == (RBF() + Linear())(X)).all()
    assert (Product(a=RBF(), b=Linear())(X) == (RBF() * Linear())(X)).all()


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Sum(a=RBF()), TypeError, "two kernels or more, got 1"),
        (lambda: Sum(RBF(), a=3), TypeError, "a must be a Kernel, got 3"),
        (lambda: Sum(RBF(), 3), TypeError, "k2 must be a Kernel, got 3"),
        (lambda: Sum(RBF(), k1=RBF()), ValueError, "'k1' cannot name an operand"),
        (lambda: Sum(RBF(), k12=RBF()), ValueError, "'k12' cannot name an operand"),
        (lambda: Sum(RBF(), a__b=RBF()), ValueError, "'a__b' cannot name an operand"),
        (lambda: Sum(RBF(), a_=RBF()), ValueError, "'a_' cannot name an operand"),
        (lambda: Sum(RBF(), ("a b", RBF())), ValueError, "'a b' cannot name an operand"),
        (lambda: Sum(a=RBF(), b=RBF()) + Sum(c=RBF(), a=RBF()), ValueError, "are named 'a'"),
        (lambda: Sum(RBF(), ("class", RBF())), ValueError, "'class' cannot name an operand"),
        (lambda: Sum(RBF(), ("\ufb01t", RBF())), ValueError, "cannot name an operand"),
        (lambda: Sum(("a", RBF()), a=RBF()), ValueError, "Sum: two operands are named 'a'"),
    ],
)
def test_names_that_cannot_be_are_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_an_operand_may_be_named_self():
    kernel = Sum(self=RBF(), other=Linear())
    assert kernel.replace(self=Linear(), other=RBF()).names == ("self", "other")
    assert kernel.replace(self__gamma=2).kernels[0] == RBF(2)
    assert parse(repr(kernel)) == kernel


def test_sums_and_products_are_flat_from_both_sides(rng):
    a, b, c, d = RBF(1), RBF(2), RBF(3), RBF(4)
    X = rng.standard_normal((20, 3))
    for one in (a + (b + c), (a + b) + c, Sum(a, b + c), Sum(a + b, c)):
        assert one.kernels == (a, b, c)
        assert (one(X) == a(X) + b(X) + c(X)).all()
    assert ((a + b) + (c + d)).names == ("k1", "k2", "k3", "k4")
    assert (a * (b * c)).kernels == (a, b, c)
    assert ((a + b) * (c + d)).kernels == (a + b, c + d)
    assert Sum(x=a + b, y=c).kernels == (a + b, c)  # an operand with a name stays one


# ---- Formulas


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (2 * RBF(0.5) + Linear() ** 2, "2 exp(-0.5 |x-z|^2) + (x.z)^2"),
        (RBF(1) - Laplacian(0.25), "exp(-|x-z|^2) - exp(-0.25 |x-z|_1)"),
        (Polynomial(2, 0.5, -1) * Sigmoid(1, 3), "(0.5 x.z - 1)^2 tanh(x.z + 3)"),
        (2 * (RBF() + Linear()), "2 (exp(-|x-z|^2) + x.z)"),
        ((RBF() + Linear()) * Linear(), "(exp(-|x-z|^2) + x.z) x.z"),
        (exp(Linear() * 0.5).normalized(), "normalized(exp(0.5 x.z))"),
        (RBF(3).on([0, 2]) + Delta().on("age"), "exp(-3 |x-z|^2) on [0, 2] + [x = z] on ['age']"),
        (Sum(seq=Delta(), table=RBF()), "{seq: [x = z]} + {table: exp(-|x-z|^2)}"),
        (power_series(Linear(), [1, 0, -0.5, 2]), "(1 - 0.5 k^2 + 2 k^3 with k = x.z)"),
        (RBF([1, 0.5]), "exp(-[1, 0.5] |x-z|^2)"),
        (Linear().on([[1, 2]]) ** 2, "((x.z) on [[1.0, 2.0]])^2"),
        (Matern(0.5, 2), "matern_0.5(|x-z| / 2)"),
    ],
)
def test_str_is_the_formula(kernel, text):
    assert str(kernel) == text
    assert f"{kernel}" == text


# ---- Text


@given(kernel_trees())
def test_what_repr_writes_is_read(kernel):
    assert parse(repr(kernel)) == kernel
    assert parse(f"\n  ({kernel!r})\n") == kernel


def test_a_long_sum_and_a_deep_kernel_are_read():
    kernel = sum(RBF(g) for g in range(300))
    assert parse(repr(kernel)) == kernel
    deep = Linear()
    for _ in range(90):
        deep = exp(deep)
    assert parse(repr(deep)) == deep


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("2 * RBF(0.5) + Linear() ** 2", 2 * RBF(0.5) + Linear() ** 2),
        ("RBF(gamma = .5).on(['age'])", RBF(0.5).on(["age"])),
        ("RBF(2).on(slice(1, None))", RBF(2).on(slice(1, None))),
        ("exp(0.5*Linear())", exp(0.5 * Linear())),
        ("(RBF() + Linear()).normalized()", (RBF() + Linear()).normalized()),
        ("RBF() / 4 - 1/2 * Linear()", 0.25 * RBF() - 0.5 * Linear()),
        ("-RBF()", -RBF()),
        ("Sum(seq=Delta(), table=RBF())", Sum(seq=Delta(), table=RBF())),
        ("power_series(Linear(), [1, -2, 3e-1])", power_series(Linear(), [1, -2, 0.3])),
        ("Delta().on('it\\'s')", Delta().on("it's")),
        ("(RBF() +\n Linear())", RBF() + Linear()),
        ("RBF([1, 2]) + RBF('scale')", RBF([1, 2]) + RBF("scale")),
        ("Linear().on([[1, 2.5], [0, -1]])", Linear().on([[1, 2.5], [0, -1]])),
    ],
)
def test_what_users_write_is_read(text, kernel):
    assert parse(text) == kernel


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("", 1, 1, "there is nothing"),
        ("RBF(gamma=x)", 1, 11, "'x': this is not known; there are ANOVA, Add"),
        ("RBF() + Foo(2)", 1, 9, "'Foo': this is not known"),
        ("(RBF() +\n  Foo())", 2, 3, "'Foo': this is not known"),
        ("  RBF(-1)", 1, 3, "'RBF(-1)': gamma must be a finite number >= 0, got -1"),
        ("RBF(1e999)", 1, 1, "gamma must be a finite number >= 0, got inf"),
        ("RBF(1, 2)", 1, 1, "takes from 1 to 2 positional arguments"),
        ("RBF(gamma=1, gamma=2)", 1, 14, "each parameter is given once"),
        ("RBF(*[1])", 1, 5, "this is no part of a kernel"),
        ("RBF(**x)", 1, 5, "this is no part of a kernel"),
        ("RBF(", 1, 4, "'(' was never closed"),
        ("3 + 4", 1, 1, "this is no kernel"),
        ("RBF", 1, 1, "this is not known"),
        ("RBF() + 1", 1, 1, "a kernel and a number have no sum"),
        ("2 ** RBF()", 1, 1, "raised to the power of, a kernel"),
        ("RBF() ** 0.5", 1, 1, "degree"),
        ("9 ** 9 ** 9 * RBF()", 1, 6, "a number has no power here"),
        ("1 / 0 * RBF()", 1, 1, "division by zero"),
        ("RBF().gamma", 1, 1, "this is no part of a kernel"),
        ("RBF().replace(gamma=2)", 1, 1, "what a kernel has is normalized and on"),
        ("().__class__", 1, 1, "this is no part of a kernel"),
        ("__import__('os')", 1, 1, "this is not known"),
        ("parse('RBF()')", 1, 1, "this is not known"),
        ("Kernel()", 1, 1, "this is not known"),
        ("Function(print)", 1, 10, "this is not known"),
        ("lambda: RBF()", 1, 1, "this is no part of a kernel"),
        ("[RBF() for x in y]", 1, 8, "this is no part of a kernel"),
        ("f'{RBF()}'", 1, 1, "this is no part of a kernel"),
        ("RBF(b'1')", 1, 5, "this is no part of a kernel"),
        ("RBF(); RBF()", 1, 6, "this is no part of a kernel"),
        ("RBF(1j)", 1, 5, "this is no part of a kernel"),
        ("RBF() # no", 1, 7, "this is no part of a kernel"),
        ("x = RBF()", 1, 3, "this is not an expression"),
        ("é + Linear()", 1, 1, "'é': this is not known"),
        ("RBF().on('é') + y", 1, 17, "'y': this is not known"),
    ],
)
def test_other_text_is_refused_by_place(text, line, column, what):
    with pytest.raises(ValueError) as caught:
        parse(text)
    said = str(caught.value)
    assert said.startswith("text ")
    assert re.search(rf"line {line}, column {column}\b", said), said
    assert what in said


@pytest.mark.parametrize(
    "text",
    [
        "(" * 50_000,
        "[" * 99 + "]" * 99,
        "-" * 50_000 + "RBF()",
        "- " * 50_000 + "RBF()",
        "+-" * 5000 + "RBF()",
        "RBF()" + "**2" * 30_000,
        "RBF()" + ".on([0])" * 12_000,
        "RBF()" + "+RBF()" * 16_000,
        "exp(" * 20_000 + "RBF()" + ")" * 20_000,
        "RBF(" + "9" * 90_000 + ")",
        "RBF(gamma=[" + "[1]," * 20_000 + "])",
        "RBF()" * 30_000,
        "exp" * 30_000,
        "'" + "\\" * 50_000,
        "RBF()\0",
        "\ud800",
    ],
    ids=lambda text: text[:8].encode("unicode_escape").decode(),
)
def test_hostile_text_is_an_error_like_any_other(text):
    with pytest.raises(ValueError, match="text "):
        parse(text)


@settings(max_examples=300)
@given(st.text(alphabet="RBFexpLinarSum()[],.*+-/= 012e'\"\\\n\rglobt_é", max_size=60))
@example("RBF()\r.on(0)")
@example("(\rx")
@example("RBF().on('\\x')")
def test_any_text_is_a_kernel_or_a_value_error(text):
    try:
        found = parse(text)
    except ValueError as caught:
        found, said = None, str(caught)
    assert isinstance(found, Kernel) or said.startswith("text ")


def test_only_text_is_read():
    with pytest.raises(TypeError, match="text must be a str, got 3"):
        parse(3)


# ---- Why

POSITIVE, CONDITIONAL, INDEFINITE = "positive", "conditional", "indefinite"


def _least(operands):
    order = [INDEFINITE, CONDITIONAL, POSITIVE]
    return order[min(map(order.index, operands))]


# What each reason claims of the operands' verdicts, and what follows from it by the theorem.
RULES = [
    (r"a sum of positive kernels", lambda o: set(o) == {POSITIVE} and POSITIVE),
    (r"a sum of conditional .*", lambda o: _least(o) == CONDITIONAL and CONDITIONAL),
    (r"a sum is as .* (\w+) is indefinite", lambda o: INDEFINITE in o and INDEFINITE),
    (r"a product of positive kernels \(Schur\)", lambda o: set(o) == {POSITIVE} and POSITIVE),
    (r"a product needs .* is (\w+)", lambda o: set(o) != {POSITIVE} and INDEFINITE),
    (r"the zero kernel|the constant 1|a constant that is not negative", lambda o: POSITIVE),
    (r"a negative multiple, by -.*", lambda o: INDEFINITE),
    (r"a series with a negative factor, coefficients\[\d+\] is -.*", lambda o: INDEFINITE),
    (r"a positive multiple is as definite as its kernel, (\w+)", lambda o: o[0]),
    (r"the kernel itself, (\w+)", lambda o: o[0]),
    (r"a constant, and a positive multiple of a kernel that is (\w+)", lambda o: o[0]),
    (r"as definite as the kernel of what it reads", lambda o: o[0]),
    (r"a power of a positive kernel \(Schur\)", lambda o: o == [POSITIVE] and POSITIVE),
    (r"a power needs .* is (\w+)", lambda o: o != [POSITIVE] and INDEFINITE),
    (r"a series of powers of a positive .*", lambda o: o == [POSITIVE] and POSITIVE),
    (r"a series of powers needs .* is (\w+)", lambda o: o != [POSITIVE] and INDEFINITE),
    (r"exp of a positive kernel.*", lambda o: o == [POSITIVE] and POSITIVE),
    (r"exp of a conditional kernel \(Schoenberg\)", lambda o: o == [CONDITIONAL] and POSITIVE),
    (r"exp needs .* is indefinite", lambda o: o == [INDEFINITE] and INDEFINITE),
    (r"a positive kernel times f\(x\) f\(z\).*", lambda o: o == [POSITIVE] and POSITIVE),
    (r"normalization needs .* is (\w+)", lambda o: o != [POSITIVE] and INDEFINITE),
]


def check_line(kernel, line):
    """The line has the core's verdict, and its reason gives the same."""
    verdict, reason = line.split(": ", 1)
    assert verdict == kernel.definiteness
    operands = [operand.definiteness for operand in kernel._inner()]
    if not operands:
        assert len(reason) > 10
        return
    found = [(re.fullmatch(words, reason), follows) for words, follows in RULES]
    (match, follows) = next(one for one in found if one[0])
    assert follows(operands) == verdict, (reason, operands)
    named = match.groups()[-1] if match.groups() else None
    if named in (POSITIVE, CONDITIONAL, INDEFINITE):
        assert named in operands


def check_why(kernel):
    lines = kernel.why().split("\n")
    check_line(kernel, lines[0])
    at = 1
    for name, operand in kernel.get_params(deep=False).items():
        if not isinstance(operand, Kernel):
            continue
        own = operand.why().split("\n")
        said = [line.removeprefix("  ") for line in lines[at : at + len(own)]]
        assert said == [f"{name} = {operand!r}: {own[0]}", *own[1:]]
        check_why(operand)
        at += len(own)
    assert at == len(lines)


CONDITIONAL_LEAF = Polynomial(degree=1, coef0=-5.0)


def any_kernels():
    leaves = st.sampled_from(
        [Linear(), RBF(), Sigmoid(), CONDITIONAL_LEAF, Polynomial(3, 1, -1), Polynomial(0, 1, -1)]
    )
    factors = st.sampled_from([-1.0, 0.0, 0.5])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, b: Product(left=a, right=b), inner, inner),
            st.builds(lambda a, k: a * k, factors, inner),
            st.builds(lambda k, n: k**n, inner, st.integers(0, 2)),
            st.builds(exp, inner),
            st.builds(kernels.Normalized, inner),
            st.builds(lambda k: k.on([0]), inner),
            st.builds(power_series, inner, st.lists(factors, min_size=1, max_size=3)),
        ),
        max_leaves=5,
    )


@given(any_kernels())
def test_words_and_verdict_agree_in_every_expression(kernel):
    check_why(kernel)


def test_every_kernel_says_why():
    operands = {
        "kernel": RBF(),
        "factor": 2,
        "degree": 2,
        "columns": [0],
        "coefficients": [1, 2],
        "matrix": [[1, 2]],
    }
    operands |= {"f": len, "phi": abs}
    for name in kernels.__all__:
        thing = getattr(kernels, name)
        if not isinstance(thing, type) or not issubclass(thing, Kernel) or thing is Kernel:
            continue
        if issubclass(thing, Sum | Product):
            kernel = thing(RBF(), Linear())
        elif thing is Function:
            kernel = Function(lambda A, B: A @ B.T)
        else:
            fields = thing.__dataclass_fields__
            kernel = thing(
                **{
                    key: operands[key]
                    for key in fields
                    if key in operands
                    and (fields[key].default is not fields[key].default_factory or key in operands)
                }
            )
        verdict, reason = kernel.why().split("\n")[0].split(": ", 1)
        assert verdict == kernel.definiteness
        assert reason


def test_why_is_a_tree():
    kernel = Sum(shape=RBF(0.5), edge=2 * Sigmoid())
    assert kernel.why().split("\n") == [
        "indefinite: a sum is as definite as its operands, edge is indefinite",
        "  shape = RBF(gamma=0.5): positive: |x-z|^2 is conditionally negative, exp(-gamma ...) of "
        "it positive (Schoenberg)",
        "  edge = 2.0 * Sigmoid(gamma=1.0, coef0=0.0): indefinite: a positive multiple is as "
        "definite as its kernel, indefinite",
        "    kernel = Sigmoid(gamma=1.0, coef0=0.0): indefinite: tanh of an inner product is not "
        "positive in general",
    ]


# ---- Series


@given(
    st.lists(st.floats(-3, 3), min_size=1, max_size=6),
    st.sampled_from([Linear(), RBF(0.4) + 0.2 * Linear(), (Linear() + RBF()).normalized()]),
)
def test_a_series_is_the_sum_of_its_powers(coefficients, inner):
    X = np.random.default_rng(1).uniform(-1, 1, (19, 4))
    K = inner(X)
    wanted = sum(a * K**i for i, a in enumerate(coefficients))
    kernel = power_series(inner, coefficients)
    size = sum(abs(a) * abs(K) ** i for i, a in enumerate(coefficients))
    assert (abs(kernel(X) - wanted) <= 40 * np.finfo(float).eps * size + 1e-300).all()
    assert (kernel.diag(X) == np.diag(kernel(X))).all()


def test_a_series_trains_and_is_normalized(rng):
    X = rng.standard_normal((50, 3))
    y = X[:, 0] * X[:, 1] > 0
    kernel = power_series(Linear(), [1, 1, 1]).normalized()
    K = 1 + X @ X.T + (X @ X.T) ** 2
    assert np.allclose(kernel(X), K / np.sqrt(np.outer(np.diag(K), np.diag(K))), rtol=1e-12)
    model = SVC(C=10, kernel=kernel).fit(X, y)
    given = SVC(C=10, kernel="precomputed").fit(kernel(X), y)
    assert np.allclose(model.decision_function(X), given.decision_function(kernel(X)), atol=1e-2)
    assert (
        pickle.loads(pickle.dumps(model)).decision_function(X) == model.decision_function(X)
    ).all()


@pytest.mark.parametrize(
    ("coefficients", "error", "text"),
    [
        ([1, np.nan], ValueError, r"coefficients\[1\] must be a finite number, got nan"),
        ([np.inf], ValueError, r"coefficients\[0\] must be a finite number, got inf"),
        ([1, 10**400], ValueError, r"coefficients\[1\] must be a finite number, got inf"),
        ([], ValueError, "coefficients must be 1 to 1001 numbers"),
        (2, ValueError, "coefficients must be 1 to 1001 numbers, got 2"),
        ([[1, 2]], ValueError, "coefficients must be 1 to 1001 numbers"),
        ([1] * 1002, ValueError, "coefficients must be 1 to 1001 numbers"),
        ("ab", TypeError, "coefficients"),
        ([1, "a"], TypeError, "coefficients"),
    ],
)
def test_coefficients_that_cannot_be_are_refused(coefficients, error, text):
    with pytest.raises(error, match=text):
        power_series(RBF(), coefficients)


# ---- Samples of length 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_report_counts_samples_that_are_normalized_to_0(dtype, rng):
    X = rng.standard_normal((30, 4)).astype(dtype)
    X[[3, 17]] = 0
    y = X[:, 0] > 0
    kernel = Linear().normalized()
    assert not kernel(X)[3].any()
    report = SVC(kernel=kernel).fit(X, y).fit_report_
    assert report.n_zero_samples == 2
    assert "2 samples are normalized to 0" in str(report)
    assert SVC(kernel=Linear()).fit(X, y).fit_report_.n_zero_samples == 0
    assert SVC(kernel=(Linear() + RBF()).normalized()).fit(X, y).fit_report_.n_zero_samples == 0


def test_a_negative_self_value_is_refused_by_row_in_predict_too():
    kernel = Polynomial(degree=1, coef0=-2.0).normalized()
    model = SVC(kernel=kernel).fit([[3.0], [2.0], [-2.0], [-3.0]], [1, 1, 0, 0])
    with pytest.raises(ValueError, match="X row 1 is -1"):
        model.predict([[2.0], [1.0]])
    with pytest.raises(ValueError, match="Z row 1 is -1"):
        kernel([[2.0], [3.0]], [[3.0], [1.0]])
