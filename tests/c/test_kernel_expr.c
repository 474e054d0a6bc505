/* kernel/kc_kernel.c: composed kernels, evaluated as a stack machine over sub-blocks. */
#include "base/kc_rng.h"
#include "kernel_case.h"

static kc_context *ctx;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

/* ---- Expressions -------------------------------------------------------------------------- */

typedef struct expression {
    ref_node nodes[MAX_NODES];
    size_t n;
} expression;

static void push(expression *e, ref_node node)
{
    e->nodes[e->n++] = node;
}

static ref_node leaf_of(size_t kind)
{
    static const ref_node kinds[] = {
        {.op = OP_RBF, .gamma = 0.05},
        {.op = OP_LINEAR},
        {.op = OP_LAPLACIAN, .gamma = 0.02},
        {.op = OP_POLYNOMIAL, .gamma = 0.05, .coef0 = 0.5, .degree = 2},
        {.op = OP_SIGMOID, .gamma = 0.05, .coef0 = 0.1},
        {.op = OP_CONSTANT, .gamma = 0.75},
        {.op = OP_MATERN, .gamma = 5, .degree = 1},
    };

    return kinds[kind % COUNT(kinds)];
}

/* A random expression of bounded size: powers and exponentials of bounded operands only. */
static expression make_random(uint64_t seed, size_t n_leaves)
{
    expression e = {.n = 0};
    kc_rng rng = kc_rng_seed(seed);
    size_t depth = 0;

    for (size_t left = n_leaves; left > 0 || depth > 1;) {
        const uint64_t choice = kc_rng_below(&rng, 6);

        if (left > 0 && (depth < 2 || (depth < 32 && choice < 3))) {
            push(&e, leaf_of((size_t)kc_rng_below(&rng, 7)));
            depth++;
            left--;
        } else {
            push(&e, (ref_node){.op = choice % 2 == 0 ? OP_ADD : OP_MUL});
            push(&e, (ref_node){.op = OP_SCALE, .gamma = 0.01 + kc_rng_uniform(&rng) / 2});
            depth--;
        }
        if (choice == 4)
            push(&e, (ref_node){.op = OP_POW, .degree = 2});
        if (choice == 5)
            push(&e, (ref_node){.op = OP_SCALE, .gamma = 0.0625});
    }
    return e;
}

/* ---- Checks ------------------------------------------------------------------------------- */

#define N_X ((size_t)37)  /* more than one sub-block of rows */
#define N_Z ((size_t)530) /* and of columns */

/* Values within their bounds on a part, the same bits from dense and CSR, by parts, and on the
 * diagonal. */
static void check_expression(const expression *e, size_t d, kc_dtype dtype)
{
    ref_samples x = ref_random(d, N_X, d, 0.3, dtype), z = ref_random(d + 7, N_Z, d, 0.3, dtype);
    ref_samples few = {.n = N_X, .d = d, .x = z.x + (N_Z - N_X) * d};
    ref_view views[4];
    kc_packed px = pack_samples(ctx, &x, REF_DENSE, dtype, &views[0]);
    kc_packed pz = pack_samples(ctx, &z, REF_DENSE, dtype, &views[1]);
    kc_packed sz = pack_samples(ctx, &z, REF_CSR, dtype, &views[2]);
    kc_packed pf = pack_samples(ctx, &few, REF_DENSE, dtype, &views[3]);
    kc_kernel *kernel = new_kernel(ctx, e->nodes, e->n);
    void *all = fill_all(kernel, &px, &pz), *sparse = fill_all(kernel, &px, &sz);
    void *part = fill_all(kernel, &px, &pf), *square = fill_all(kernel, &px, &px);
    void *diag = malloc(N_X * kc_dtype_bytes(dtype)), *workspace = NULL;

    CHECK(worst_excess(e->nodes, e->n, part, &x, &few, dtype) <= 1);
    CHECK(is_same(all, sparse, N_X * N_Z, dtype));
    for (size_t i = 0; i < N_X; i++)
        for (size_t j = 0; j < N_X; j++)
            CHECK(ref_get(part, i * N_X + j, dtype) ==
                  ref_get(all, i * N_Z + N_Z - N_X + j, dtype));
    const kc_plan plan = kc_plan_make(kernel, &px, &px);
    if (posix_memalign(&workspace, KC_ALIGN, kc_plan_workspace(&plan, 1)) != 0)
        abort();
    CHECK(kc_plan_diag(&plan, 0, N_X, diag, workspace));
    for (size_t i = 0; i < N_X; i++) {
        CHECK(ref_get(diag, i, dtype) == ref_get(square, i * N_X + i, dtype));
        for (size_t j = 0; j < i; j++)
            CHECK(ref_get(square, i * N_X + j, dtype) == ref_get(square, j * N_X + i, dtype));
    }
    free(workspace);
    free(diag);
    free(all);
    free(sparse);
    free(part);
    free(square);
    kc_kernel_free(ctx, kernel);
    kc_packed *const packed[] = {&px, &pz, &sz, &pf};
    for (size_t i = 0; i < 4; i++) {
        kc_packed_free(ctx, packed[i]);
        ref_view_free(&views[i]);
    }
    ref_samples_free(&x);
    ref_samples_free(&z);
}

static void check_on_both_types(const expression *e)
{
    for (size_t k = 0; k < 2; k++) {
        check_expression(e, 5, dtypes[k]);
        check_expression(e, 80, dtypes[k]);
    }
}

static void every_operation_is_what_it_says(void)
{
    const ref_node operations[] = {
        {.op = OP_ADD},
        {.op = OP_MUL},
        {.op = OP_SCALE, .gamma = 0.3},
        {.op = OP_SCALE, .gamma = 0.0},
        {.op = OP_POW, .degree = 0},
        {.op = OP_POW, .degree = 1},
        {.op = OP_POW, .degree = 3},
        {.op = OP_EXP},
    };

    for (size_t i = 0; i < COUNT(operations); i++)
        for (size_t kind = 0; kind < 7; kind++) {
            expression e = {.n = 0};

            push(&e, leaf_of(kind));
            if (operations[i].op == OP_ADD || operations[i].op == OP_MUL)
                push(&e, leaf_of(kind + 1));
            push(&e, operations[i]);
            check_on_both_types(&e);
        }
}

static void expressions_of_any_form_are_within_their_bounds(void)
{
    for (size_t seed = 0; seed < 12; seed++) {
        const expression e = make_random(seed, 2 + seed * 2);

        check_on_both_types(&e);
    }
}

/* All operands first: the stack is as deep as it may be. */
static void thirty_two_operands_may_wait(void)
{
    expression e = {.n = 0};

    for (size_t i = 0; i < 32; i++)
        push(&e, leaf_of(i));
    for (size_t i = 0; i < 31; i++)
        push(&e, (ref_node){.op = i % 7 == 3 ? OP_MUL : OP_ADD});
    check_on_both_types(&e);
}

static void a_thousand_nodes_are_evaluated(void)
{
    expression e = {.n = 0};

    push(&e, leaf_of(0));
    while (e.n + 3 <= MAX_NODES) {
        push(&e, leaf_of(e.n / 3));
        push(&e, (ref_node){.op = OP_ADD});
        push(&e, (ref_node){.op = OP_SCALE, .gamma = 0.5});
    }
    check_expression(&e, 5, KC_F32);
    check_expression(&e, 80, KC_F64);
}

/* (K + K') K'' is not K + K' K'': which operand is which must not matter only for sums. */
static void the_order_of_operands_is_kept(void)
{
    const ref_node nodes[] = {{.op = OP_LINEAR}, leaf_of(0),     {.op = OP_POW, .degree = 3},
                              leaf_of(2),        {.op = OP_MUL}, {.op = OP_ADD}};
    expression e = {.n = COUNT(nodes)};

    memcpy(e.nodes, nodes, sizeof nodes);
    check_on_both_types(&e);
}

/* Leaves of one base read the same tile of it: their values are those that each has alone. */
static void leaves_that_share_a_tile_have_the_bits_of_leaves_alone(void)
{
    const ref_node pairs[][2] = {
        {{.op = OP_RBF, .gamma = 0.05}, {.op = OP_RBF, .gamma = 0.2}},
        {{.op = OP_LINEAR}, {.op = OP_POLYNOMIAL, .gamma = 0.05, .coef0 = 0.5, .degree = 2}},
        {{.op = OP_LAPLACIAN, .gamma = 0.02}, {.op = OP_LAPLACIAN, .gamma = 0.1}},
        {{.op = OP_SIGMOID, .gamma = 0.05}, {.op = OP_LINEAR}},
    };

    for (size_t k = 0; k < 2 * COUNT(pairs); k++)
        for (size_t form = 0; form < 2; form++) {
            const ref_node *pair = pairs[k / 2];
            const ref_node nodes[] = {pair[0], pair[1], {.op = OP_ADD}};
            const size_t d = k % 2 == 0 ? 7 : 90;
            ref_samples x = ref_random(k, N_X, d, 0.3, KC_F32);
            ref_view view;
            kc_packed p = pack_samples(ctx, &x, form == 0 ? REF_DENSE : REF_CSR, KC_F32, &view);
            kc_kernel *both = new_kernel(ctx, nodes, 3);
            kc_kernel *one = new_kernel(ctx, nodes, 1), *other = new_kernel(ctx, nodes + 1, 1);
            float *sum = fill_all(both, &p, &p), *a = fill_all(one, &p, &p);
            float *b = fill_all(other, &p, &p);

            for (size_t i = 0; i < N_X * N_X; i++)
                CHECK(sum[i] == a[i] + b[i]);
            free(sum);
            free(a);
            free(b);
            kc_kernel_free(ctx, both);
            kc_kernel_free(ctx, one);
            kc_kernel_free(ctx, other);
            kc_packed_free(ctx, &p);
            ref_view_free(&view);
            ref_samples_free(&x);
        }
}

/* ---- Overflow ----------------------------------------------------------------------------- */

/* Whether the values of a square block of points (1), (2), ... (n), and its diagonal, are finite.
 */
static bool is_finite(const ref_node *nodes, size_t n_nodes, double factor, kc_dtype dtype,
                      bool *is_diag_finite)
{
    enum { N = 40 };
    ref_samples s = {.n = N, .d = 1, .x = malloc(N * sizeof(double))};
    kc_kernel *kernel = new_kernel(ctx, nodes, n_nodes);
    void *workspace = NULL;
    double out[N * N], diag[N];
    ref_view view;
    kc_packed p;
    kc_block block = {.n_rows = N, .n_cols = N, .out = out, .ld = N};
    bool result;

    for (size_t i = 0; i < N; i++)
        s.x[i] = factor * (double)(i + 1);
    p = pack_samples(ctx, &s, REF_DENSE, dtype, &view);
    block.x = block.z = &p;
    result = fill_block(kernel, &block);
    const kc_plan plan = kc_plan_make(kernel, &p, &p);
    if (posix_memalign(&workspace, KC_ALIGN, kc_plan_workspace(&plan, 1)) != 0)
        abort();
    *is_diag_finite = kc_plan_diag(&plan, 0, N, diag, workspace);
    free(workspace);
    kc_packed_free(ctx, &p);
    kc_kernel_free(ctx, kernel);
    ref_view_free(&view);
    ref_samples_free(&s);
    return result;
}

static void check_overflow(const ref_node *nodes, size_t n_nodes, double safe, double unsafe,
                           kc_dtype dtype)
{
    bool is_diag_finite;

    CHECK(is_finite(nodes, n_nodes, safe, dtype, &is_diag_finite));
    CHECK(is_diag_finite);
    CHECK(!is_finite(nodes, n_nodes, unsafe, dtype, &is_diag_finite));
    CHECK(!is_diag_finite);
}

static void values_that_overflow_are_told(void)
{
    const ref_node poly[] = {{.op = OP_POLYNOMIAL, .gamma = 1, .degree = 3}};
    const ref_node power[] = {{.op = OP_LINEAR}, {.op = OP_POW, .degree = 3}};
    const ref_node product[] = {{.op = OP_LINEAR}, {.op = OP_LINEAR}, {.op = OP_MUL}};
    const ref_node scaled[] = {{.op = OP_LINEAR}, {.op = OP_SCALE, .gamma = 1e10}};
    const ref_node exponential[] = {{.op = OP_LINEAR}, {.op = OP_EXP}};

    check_overflow(poly, 1, 1, 1e6, KC_F32);
    check_overflow(power, 2, 1, 1e6, KC_F32);
    check_overflow(product, 3, 1, 1e10, KC_F32);
    check_overflow(scaled, 2, 1, 1e16, KC_F32);
    check_overflow(exponential, 2, 0.1, 1, KC_F32);
    check_overflow(poly, 1, 1, 1e55, KC_F64);
    check_overflow(exponential, 2, 0.1, 10, KC_F64);
}

/* Infinity that a later node would hide: exp of it times 0, a zeroth power, tanh. */
static void an_overflow_inside_is_told_though_the_result_is_finite(void)
{
    const ref_node nodes[] = {{.op = OP_POLYNOMIAL, .gamma = 1, .degree = 5},
                              {.op = OP_POW, .degree = 0}};
    bool is_diag_finite;

    CHECK(!is_finite(nodes, 2, 1e9, KC_F32, &is_diag_finite));
    CHECK(!is_diag_finite);
}

/* As f32 they would be infinite: refused, not cut to the largest number. */
static void parameters_beyond_the_type_overflow(void)
{
    const ref_node poly = {.op = OP_POLYNOMIAL, .gamma = 1, .coef0 = 1e300, .degree = 1};
    const ref_node scaled[] = {{.op = OP_LINEAR}, {.op = OP_SCALE, .gamma = 1e300}};
    bool is_diag_finite;

    CHECK(!is_finite(&poly, 1, 1, KC_F32, &is_diag_finite) && !is_diag_finite);
    CHECK(is_finite(&poly, 1, 1, KC_F64, &is_diag_finite) && is_diag_finite);
    CHECK(!is_finite(scaled, 2, 1e-20, KC_F32, &is_diag_finite) && !is_diag_finite);
    CHECK(is_finite(scaled, 2, 1e-20, KC_F64, &is_diag_finite) && is_diag_finite);
}

static void leaves_without_growth_never_overflow(void)
{
    const ref_node bounded[] = {{.op = OP_LINEAR},
                                {.op = OP_RBF, .gamma = 1e308},
                                {.op = OP_LAPLACIAN, .gamma = 1e308},
                                {.op = OP_SIGMOID, .gamma = 1e308, .coef0 = -1e308},
                                {.op = OP_MATERN, .gamma = 1e-300, .degree = 2},
                                {.op = OP_MATERN, .gamma = 1e300, .degree = 1},
                                {.op = OP_POLYNOMIAL, .gamma = 1e30, .degree = 0}};
    bool is_diag_finite;

    for (size_t i = 0; i < COUNT(bounded); i++) {
        CHECK(is_finite(&bounded[i], 1, 2e17, KC_F32, &is_diag_finite));
        CHECK(is_diag_finite);
        CHECK(is_finite(&bounded[i], 1, 1e152, KC_F64, &is_diag_finite));
        CHECK(is_diag_finite);
    }
}

int main(void)
{
    ctx = new_context();
    RUN(every_operation_is_what_it_says);
    RUN(expressions_of_any_form_are_within_their_bounds);
    RUN(thirty_two_operands_may_wait);
    RUN(a_thousand_nodes_are_evaluated);
    RUN(the_order_of_operands_is_kept);
    RUN(leaves_that_share_a_tile_have_the_bits_of_leaves_alone);
    RUN(values_that_overflow_are_told);
    RUN(an_overflow_inside_is_told_though_the_result_is_finite);
    RUN(parameters_beyond_the_type_overflow);
    RUN(leaves_without_growth_never_overflow);
    kc_context_free(ctx);
    return kc_test_end();
}
