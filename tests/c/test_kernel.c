/* kernel/kc_kernel.h: what a kernel may be, and the values of its leaves.  Sparse columns by
 * themselves: test_kernel_csr.c; composed kernels: test_kernel_expr.c. */
#include "kernel/kc_kernel.h"

#include "kernel_case.h"

static kc_context *ctx;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

/* ---- Creation ----------------------------------------------------------------------------- */

/* The expression is refused in these words, and the result is left alone. */
static bool is_refused(const kc_kernel_node *nodes, size_t n_nodes, const char *text)
{
    kc_kernel *const untouched = (kc_kernel *)&ctx;
    kc_kernel *kernel = untouched;
    kc_error err = {0};
    const bool is_right = kc_kernel_create(ctx, nodes, n_nodes, &kernel, &err) == KC_ERR_ARG &&
                          err.status == KC_ERR_ARG && strcmp(err.text, text) == 0 &&
                          kernel == untouched &&
                          kc_kernel_create(ctx, nodes, n_nodes, &kernel, NULL) == KC_ERR_ARG;

    if (!is_right)
        printf("    said: %s\n", err.text);
    return is_right;
}

static bool node_is_refused(kc_kernel_node node, const char *text)
{
    return is_refused(&node, 1, text);
}

static void unknown_operations_are_refused(void)
{
    static const int32_t ops[] = {0, -1, 6, 63, 69, 1000000};
    char text[100];

    for (size_t i = 0; i < COUNT(ops); i++) {
        snprintf(text, sizeof text, "kernel node 0: op %d is not known", (int)ops[i]);
        CHECK(node_is_refused((kc_kernel_node){.op = ops[i]}, text));
    }
}

static void gamma_must_be_finite_and_not_negative(void)
{
    static const int32_t ops[] = {KC_RBF, KC_POLYNOMIAL, KC_SIGMOID, KC_LAPLACIAN};

    for (size_t i = 0; i < COUNT(ops); i++) {
        CHECK(node_is_refused((kc_kernel_node){.op = ops[i], .gamma = NAN},
                              "kernel node 0: gamma is nan, must be finite and >= 0"));
        CHECK(node_is_refused((kc_kernel_node){.op = ops[i], .gamma = -0.5},
                              "kernel node 0: gamma is -0.5, must be finite and >= 0"));
        CHECK(node_is_refused((kc_kernel_node){.op = ops[i], .gamma = INFINITY},
                              "kernel node 0: gamma is inf, must be finite and >= 0"));
    }
    CHECK(is_refused((const kc_kernel_node[]){{.op = KC_LINEAR}, {.op = KC_SCALE, .gamma = -1}}, 2,
                     "kernel node 1: gamma is -1, must be finite and >= 0"));
}

static void coef0_must_be_finite(void)
{
    CHECK(node_is_refused((kc_kernel_node){.op = KC_POLYNOMIAL, .coef0 = NAN},
                          "kernel node 0: coef0 is nan, must be finite"));
    CHECK(node_is_refused((kc_kernel_node){.op = KC_SIGMOID, .coef0 = -INFINITY},
                          "kernel node 0: coef0 is -inf, must be finite"));
}

static void degrees_are_from_0_to_1000(void)
{
    CHECK(node_is_refused((kc_kernel_node){.op = KC_POLYNOMIAL, .degree = -1},
                          "kernel node 0: degree is -1, must be 0 to 1000"));
    CHECK(node_is_refused((kc_kernel_node){.op = KC_POLYNOMIAL, .degree = 1001},
                          "kernel node 0: degree is 1001, must be 0 to 1000"));
    CHECK(is_refused((const kc_kernel_node[]){{.op = KC_LINEAR}, {.op = KC_POW, .degree = 1001}}, 2,
                     "kernel node 1: degree is 1001, must be 0 to 1000"));
}

static void parameters_that_an_operation_does_not_have_are_ignored(void)
{
    const kc_kernel_node nodes[] = {{.op = KC_LINEAR, .gamma = NAN, .coef0 = NAN, .degree = -1},
                                    {.op = KC_RBF, .gamma = 1, .coef0 = NAN, .degree = -1},
                                    {.op = KC_ADD, .gamma = NAN, .coef0 = NAN, .degree = -1},
                                    {.op = KC_EXP, .gamma = NAN, .coef0 = NAN, .degree = -1}};

    kc_kernel_free(ctx, new_kernel(ctx, nodes, COUNT(nodes)));
}

static void operands_must_be_there_and_none_be_left(void)
{
    const kc_kernel_node add[] = {{.op = KC_LINEAR}, {.op = KC_ADD}};
    const kc_kernel_node power[] = {{.op = KC_POW, .degree = 2}};
    const kc_kernel_node two[] = {{.op = KC_LINEAR}, {.op = KC_LINEAR}};

    CHECK(is_refused(add, 2, "kernel node 1: needs 2 operands, has 1"));
    CHECK(is_refused(power, 1, "kernel node 0: needs 1 operands, has 0"));
    CHECK(is_refused(two, 2, "kernel expression leaves 2 values, must leave 1"));
}

static void sizes_and_depths_have_limits(void)
{
    kc_kernel_node nodes[MAX_NODES + 1];

    for (size_t i = 0; i < MAX_NODES + 1; i++)
        nodes[i] = (kc_kernel_node){.op = i == 0 ? KC_LINEAR : KC_POW, .degree = 1};
    CHECK(is_refused(nodes, 0, "kernel has 0 nodes, must have 1 to 1000"));
    CHECK(is_refused(nodes, MAX_NODES + 1, "kernel has 1001 nodes, must have 1 to 1000"));
    CHECK(
        is_refused(nodes, SIZE_MAX, "kernel has 18446744073709551615 nodes, must have 1 to 1000"));
    kc_kernel_free(ctx, new_kernel(ctx, nodes, MAX_NODES));
    for (size_t i = 0; i < MAX_NODES; i++)
        nodes[i].op = KC_LINEAR;
    CHECK(is_refused(nodes, 33, "kernel node 32: expression deeper than 32"));
}

static void missing_pointers_are_named(void)
{
    const kc_kernel_node node = {.op = KC_LINEAR};
    kc_kernel *kernel = NULL;
    kc_error err;

    CHECK(kc_kernel_create(NULL, &node, 1, &kernel, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "ctx is NULL") == 0);
    CHECK(kc_kernel_create(ctx, NULL, 1, &kernel, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "nodes is NULL") == 0);
    CHECK(kc_kernel_create(ctx, &node, 1, NULL, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "out is NULL") == 0);
    CHECK(kernel == NULL);
    kc_kernel_free(ctx, NULL);
}

static kc_definiteness definiteness_of(const kc_kernel_node *nodes, size_t n_nodes)
{
    kc_kernel *kernel = new_kernel(ctx, nodes, n_nodes);
    const kc_definiteness definiteness = kc_kernel_definiteness(kernel);

    kc_kernel_free(ctx, kernel);
    return definiteness;
}

static void definiteness_follows_from_the_expression(void)
{
    const kc_kernel_node rbf = {.op = KC_RBF, .gamma = 1}, linear = {.op = KC_LINEAR};
    const kc_kernel_node sigmoid = {.op = KC_SIGMOID, .gamma = 1};
    const kc_kernel_node laplacian = {.op = KC_LAPLACIAN, .gamma = 1};
    kc_kernel_node poly = {.op = KC_POLYNOMIAL, .gamma = 1, .degree = 3, .coef0 = 1};
    kc_kernel_node nodes[] = {linear, rbf, {.op = KC_ADD}};

    CHECK(definiteness_of(&linear, 1) == KC_POSITIVE);
    CHECK(definiteness_of(&rbf, 1) == KC_POSITIVE);
    CHECK(definiteness_of(&laplacian, 1) == KC_POSITIVE);
    CHECK(definiteness_of(&sigmoid, 1) == KC_INDEFINITE);
    CHECK(definiteness_of(&poly, 1) == KC_POSITIVE);
    poly.coef0 = -1;
    CHECK(definiteness_of(&poly, 1) == KC_INDEFINITE);
    poly.degree = 0; /* the constant 1 */
    CHECK(definiteness_of(&poly, 1) == KC_POSITIVE);
    CHECK(definiteness_of(nodes, 3) == KC_POSITIVE);
    nodes[2].op = KC_MUL;
    CHECK(definiteness_of(nodes, 3) == KC_POSITIVE);
    nodes[0] = sigmoid;
    CHECK(definiteness_of(nodes, 3) == KC_INDEFINITE);
    nodes[1] = (kc_kernel_node){.op = KC_EXP};
    CHECK(definiteness_of(nodes, 2) == KC_INDEFINITE);
    nodes[1] = (kc_kernel_node){.op = KC_POW, .degree = 0};
    CHECK(definiteness_of(nodes, 2) == KC_POSITIVE);
    nodes[1] = (kc_kernel_node){.op = KC_SCALE, .gamma = 0};
    CHECK(definiteness_of(nodes, 2) == KC_POSITIVE);
    nodes[1].gamma = 2;
    CHECK(definiteness_of(nodes, 2) == KC_INDEFINITE);
}

static void both_sides_must_fit_together(void)
{
    const kc_kernel_node node = {.op = KC_LINEAR};
    kc_kernel *kernel = new_kernel(ctx, &node, 1);
    kc_points x = {.storage = KC_DENSE, .n_cols = 36, .name = "X"}, z = x;
    kc_error err;

    CHECK(kc_kernel_check(kernel, &x, &z, &err) == KC_OK);
    z = (kc_points){.storage = KC_CSR, .n_cols = 37, .name = "Z"};
    CHECK(kc_kernel_check(kernel, &x, &z, &err) == KC_ERR_SHAPE);
    CHECK(strcmp(err.text, "X has 36 columns, Z has 37") == 0);
    z.storage = KC_STRINGS;
    CHECK(kc_kernel_check(kernel, &x, &z, &err) == KC_ERR_TYPE);
    CHECK(strcmp(err.text, "Z holds strings, the kernel takes numbers") == 0);
    kc_kernel_free(ctx, kernel);
}

static void the_expression_is_copied_and_can_be_read(void)
{
    kc_kernel_node nodes[] = {{.op = KC_RBF, .gamma = 1.5}, {.op = KC_POW, .degree = 2}};
    kc_kernel *kernel = new_kernel(ctx, nodes, 2);
    const kc_kernel_node *kept;
    size_t n_nodes;

    nodes[0].gamma = 7;
    kept = kc_kernel_expression(kernel, &n_nodes);
    CHECK(n_nodes == 2 && kept[0].op == KC_RBF && kept[0].gamma == 1.5 && kept[1].degree == 2);
    kc_kernel_free(ctx, kernel);
}

/* ---- Values of leaves --------------------------------------------------------------------- */

#define N_X ((size_t)41)
#define N_Z ((size_t)70)

static size_t list_leaves(size_t d, kc_kernel_node *leaves)
{
    const double scale = 1.0 / (double)d;
    const kc_kernel_node all[] = {
        {.op = KC_LINEAR},
        {.op = KC_RBF, .gamma = 0.8 * scale},
        {.op = KC_RBF, .gamma = 30 * scale},
        {.op = KC_POLYNOMIAL, .gamma = scale, .coef0 = 1, .degree = 3},
        {.op = KC_POLYNOMIAL, .gamma = 5 * scale, .coef0 = -0.25, .degree = 2},
        {.op = KC_POLYNOMIAL, .gamma = scale, .coef0 = 0.5, .degree = 7},
        {.op = KC_SIGMOID, .gamma = 3 * scale, .coef0 = -0.3},
        {.op = KC_LAPLACIAN, .gamma = 0.9 * scale},
    };

    memcpy(leaves, all, sizeof all);
    return COUNT(all);
}

/* Two sets of points in every storage. */
typedef struct sides {
    ref_samples x, z;
    ref_view views[2][2]; /* [side][dense, CSR] */
    kc_packed packed[2][2];
} sides;

static sides make_sides(size_t d, double density, kc_dtype dtype)
{
    sides s = {.x = ref_random(d, N_X, d, density, dtype),
               .z = ref_random(d + 1, N_Z, d, density, dtype)};

    for (size_t side = 0; side < 2; side++)
        for (size_t k = 0; k < 2; k++)
            s.packed[side][k] =
                pack_samples(ctx, side == 0 ? &s.x : &s.z, k == 0 ? REF_DENSE : REF_CSR, dtype,
                             &s.views[side][k]);
    return s;
}

static void free_sides(sides *s)
{
    for (size_t side = 0; side < 2; side++)
        for (size_t k = 0; k < 2; k++) {
            kc_packed_free(ctx, &s->packed[side][k]);
            ref_view_free(&s->views[side][k]);
        }
    ref_samples_free(&s->x);
    ref_samples_free(&s->z);
}

/* Within the bound; the same bits from every storage, and as K(z, x). */
static double check_leaf(const kc_kernel_node *leaf, const sides *s, kc_dtype dtype)
{
    kc_kernel *kernel = new_kernel(ctx, leaf, 1);
    void *expected = fill_all(kernel, &s->packed[0][0], &s->packed[1][0]);
    const double excess = worst_excess(leaf, 1, expected, &s->x, &s->z, dtype);

    for (size_t kx = 0; kx < 2; kx++)
        for (size_t kz = 0; kz < 2; kz++) {
            void *out = fill_all(kernel, &s->packed[0][kx], &s->packed[1][kz]);
            void *turned = fill_all(kernel, &s->packed[1][kz], &s->packed[0][kx]);
            size_t n_other = 0;

            CHECK(is_same(out, expected, N_X * N_Z, dtype));
            for (size_t i = 0; i < N_X; i++)
                for (size_t j = 0; j < N_Z; j++)
                    n_other +=
                        ref_get(out, i * N_Z + j, dtype) != ref_get(turned, j * N_X + i, dtype);
            CHECK(n_other == 0);
            free(out);
            free(turned);
        }
    free(expected);
    kc_kernel_free(ctx, kernel);
    return excess;
}

static void leaves_are_within_their_bounds_and_do_not_depend_on_storage_or_order(void)
{
    static const size_t features[] = {1, 2, 7, 60, 64, 65, 300, 2100};
    double worst[2][8] = {{0}};
    kc_kernel_node leaves[8];
    size_t n_leaves = 0;

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < COUNT(features); i++) {
            sides s = make_sides(features[i], features[i] > 1000 ? 0.02 : 0.3, dtypes[k]);

            n_leaves = list_leaves(features[i], leaves);
            for (size_t l = 0; l < n_leaves; l++)
                worst[k][l] = fmax(worst[k][l], check_leaf(&leaves[l], &s, dtypes[k]));
            free_sides(&s);
        }
    for (size_t l = 0; l < n_leaves; l++) {
        printf("     leaf %zu: error / bound %.3f (f32), %.3f (f64)\n", l, worst[0][l],
               worst[1][l]);
        CHECK(worst[0][l] <= 1 && worst[1][l] <= 1);
    }
}

/* The error of an RBF value beyond that of exp, relative, in units of u gamma |x - z|^2 up to 24
 * features and of u gamma (|x|^2 + |z|^2) beyond: what docs/numerics.md quotes.  The roundings of a
 * chain add up like a random walk. */
static double rbf_error(const kc_kernel_node *leaf, const double *x, const double *z, size_t d,
                        double computed, kc_dtype dtype)
{
    const long double u = dtype == KC_F64 ? 0x1p-53L : 0x1p-24L;
    const long double ref = ref_kernel(leaf, 1, x, z, d, dtype).value;
    const long double size = d <= KC_DIRECT_DIFF_MAX
                                 ? ref_sq_dist(x, z, d, true, dtype).value
                                 : ref_dot(x, x, d, dtype).value + ref_dot(z, z, d, dtype).value;

    return (double)((fabsl(computed - ref) / ref - 2 * u) / (u * leaf->gamma * size));
}

static void rbf_errors_grow_like_the_root_of_the_number_of_features(void)
{
    static const size_t features[] = {5, 64, 65, 100, 800, 3000};

    for (size_t k = 0; k < 2; k++)
        for (size_t f = 0; f < COUNT(features); f++) {
            const size_t d = features[f];
            const kc_kernel_node leaf = {.op = KC_RBF, .gamma = 1.0 / (double)d};
            sides s = make_sides(d, 1.0, dtypes[k]);
            kc_kernel *kernel = new_kernel(ctx, &leaf, 1);
            void *out = fill_all(kernel, &s.packed[0][0], &s.packed[1][0]);
            double worst = 0;

            for (size_t i = 0; i < N_X * N_Z; i++)
                worst = fmax(worst, rbf_error(&leaf, s.x.x + i / N_Z * d, s.z.x + i % N_Z * d, d,
                                              ref_get(out, i, dtypes[k]), dtypes[k]));
            printf("     rbf %s, %4zu features: %5.2f u gamma %s\n", ref_dtype_name(dtypes[k]), d,
                   worst, d <= KC_DIRECT_DIFF_MAX ? "|x - z|^2" : "(|x|^2 + |z|^2)");
            CHECK(worst <= 2 + 0.8 * sqrt((double)d));
            free(out);
            kc_kernel_free(ctx, kernel);
            free_sides(&s);
        }
}

/* ---- Blocks ------------------------------------------------------------------------------- */

/* Columns from a multiple of 16 on, rows in any order, repeated or by range, rows of out apart. */
static void check_cut(const kc_kernel *kernel, const kc_packed *x, const kc_packed *z,
                      const void *expected, size_t col_begin, size_t n_cols, bool has_list)
{
    static const int32_t rows[] = {40, 3, 3, 0, 17, 39, 16, 5, 6, 7, 1, 2, 31, 32, 33};
    const size_t n_rows = COUNT(rows), row_begin = 11, ld = n_cols + 2;
    const kc_dtype dtype = x->dtype;
    void *out = malloc(n_rows * ld * kc_dtype_bytes(dtype));
    const kc_block block = {.x = x,
                            .rows = has_list ? rows : NULL,
                            .row_begin = row_begin,
                            .n_rows = n_rows,
                            .z = z,
                            .col_begin = col_begin,
                            .n_cols = n_cols,
                            .out = out,
                            .ld = ld};
    size_t n_other = 0;

    for (size_t i = 0; i < n_rows * ld; i++)
        ref_put(out, i, dtype, -77);
    CHECK(fill_block(kernel, &block));
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < ld; j++) {
            const size_t row = has_list ? (size_t)rows[i] : row_begin + i;

            n_other += ref_get(out, i * ld + j, dtype) !=
                       (j < n_cols ? ref_get(expected, row * N_Z + col_begin + j, dtype) : -77);
        }
    CHECK(n_other == 0);
    free(out);
}

static void a_value_does_not_depend_on_the_block(void)
{
    static const size_t features[] = {3, 80, 2100};
    kc_kernel_node leaves[8];

    for (size_t k = 0; k < 2; k++)
        for (size_t f = 0; f < COUNT(features); f++) {
            sides s = make_sides(features[f], 0.1, dtypes[k]);
            const size_t n_leaves = list_leaves(features[f], leaves);

            for (size_t l = 0; l < n_leaves; l++)
                for (size_t kind = 0; kind < 4; kind++) {
                    const kc_packed *x = &s.packed[0][kind / 2], *z = &s.packed[1][kind % 2];
                    kc_kernel *kernel = new_kernel(ctx, &leaves[l], 1);
                    void *expected = fill_all(kernel, x, z);

                    for (size_t n = 1; n <= 70; n += n < 19 ? 1 : 17) {
                        check_cut(kernel, x, z, expected, 0, n, n % 2);
                        check_cut(kernel, x, z, expected, 48, kc_min(n, N_Z - 48), n % 2 == 0);
                    }
                    free(expected);
                    kc_kernel_free(ctx, kernel);
                }
            free_sides(&s);
        }
}

static void the_diagonal_has_the_bits_of_the_matrix(void)
{
    static const size_t features[] = {1, 64, 65, 130, 2100};
    kc_kernel_node leaves[8];
    double diag[N_Z + 1];

    for (size_t k = 0; k < 2; k++)
        for (size_t f = 0; f < COUNT(features); f++) {
            sides s = make_sides(features[f], 0.1, dtypes[k]);
            const size_t n_leaves = list_leaves(features[f], leaves);

            for (size_t l = 0; l < 2 * n_leaves; l++) {
                const kc_kernel_node *leaf = &leaves[l / 2];
                const kc_packed *z = &s.packed[1][l % 2];
                kc_kernel *kernel = new_kernel(ctx, leaf, 1);
                void *all = fill_all(kernel, z, z), *workspace = NULL;

                if (posix_memalign(&workspace, KC_ALIGN, kc_kernel_workspace(kernel, z, z)) != 0)
                    abort();
                CHECK(kc_kernel_diag(kernel, z, 5, N_Z - 5, diag, workspace));
                for (size_t i = 5; i < N_Z; i++) {
                    CHECK(ref_get(diag, i - 5, dtypes[k]) == ref_get(all, i * N_Z + i, dtypes[k]));
                    if (leaf->op == KC_RBF || leaf->op == KC_LAPLACIAN)
                        CHECK(ref_get(diag, i - 5, dtypes[k]) == 1);
                }
                free(workspace);
                free(all);
                kc_kernel_free(ctx, kernel);
            }
            free_sides(&s);
        }
}

int main(void)
{
    ctx = new_context();
    printf("%s\n", kc_isa_name());
    RUN(unknown_operations_are_refused);
    RUN(gamma_must_be_finite_and_not_negative);
    RUN(coef0_must_be_finite);
    RUN(degrees_are_from_0_to_1000);
    RUN(parameters_that_an_operation_does_not_have_are_ignored);
    RUN(operands_must_be_there_and_none_be_left);
    RUN(sizes_and_depths_have_limits);
    RUN(missing_pointers_are_named);
    RUN(definiteness_follows_from_the_expression);
    RUN(both_sides_must_fit_together);
    RUN(the_expression_is_copied_and_can_be_read);
    RUN(leaves_are_within_their_bounds_and_do_not_depend_on_storage_or_order);
    RUN(rbf_errors_grow_like_the_root_of_the_number_of_features);
    RUN(a_value_does_not_depend_on_the_block);
    RUN(the_diagonal_has_the_bits_of_the_matrix);
    kc_context_free(ctx);
    return kc_test_end();
}
