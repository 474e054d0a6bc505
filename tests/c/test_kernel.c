/* kernel/kc_kernel.h: what a kernel may be, and the values of its leaves.  Sparse columns by
 * themselves: test_kernel_csr.c; composed kernels: test_kernel_expr.c. */
#include "kernel/kc_kernel.h"

#include "kernel_case.h"

static kc_context *ctx;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

/* ---- Creation ----------------------------------------------------------------------------- */

/* The leaf is refused in these words, and the result is left alone. */
static bool leaf_is_refused(const char *name, const double *params, int32_t n, const char *text)
{
    kc_kernel *const untouched = (kc_kernel *)&ctx;
    kc_kernel *kernel = untouched;
    kc_error err = {0};
    const bool is_right = kc_kernel_leaf(ctx, name, params, n, &kernel, &err) == KC_ERR_ARG &&
                          err.status == KC_ERR_ARG && strcmp(err.text, text) == 0 &&
                          kernel == untouched &&
                          kc_kernel_leaf(ctx, name, params, n, &kernel, NULL) == KC_ERR_ARG;

    if (!is_right)
        printf("    said: %s\n", err.text);
    return is_right;
}

static kc_kernel *linear(void)
{
    return new_kernel(ctx, &(ref_node){.op = OP_LINEAR}, 1);
}

static void the_table_of_leaves_says_what_there_is(void)
{
    CHECK(kc_leaf_count() >= 6);
    CHECK(kc_leaf_at(-1) == NULL && kc_leaf_at(kc_leaf_count()) == NULL);
    for (int32_t i = 0; i < kc_leaf_count(); i++) {
        const kc_leaf_info *leaf = kc_leaf_at(i);
        kc_kernel *kernel = NULL;

        CHECK(kc_kernel_leaf(ctx, leaf->name, NULL, 0, &kernel, NULL) == KC_OK);
        CHECK(strlen(leaf->formula) > 0);
        for (int32_t k = 0; k < leaf->n_params; k++) {
            const kc_setting *p = &leaf->params[k];

            CHECK(p->default_value >= p->min && p->default_value <= p->max);
            CHECK(strcmp(p->type, "int") == 0 || strcmp(p->type, "real") == 0);
            CHECK(strlen(p->help) > 0);
        }
        for (int32_t j = 0; j < i; j++)
            CHECK(strcmp(leaf->name, kc_leaf_at(j)->name) != 0);
        kc_kernel_free(ctx, kernel);
    }
}

static void unknown_leaves_are_refused(void)
{
    CHECK(leaf_is_refused("", NULL, 0, "there is no leaf ''"));
    CHECK(leaf_is_refused("RBF", NULL, 0, "there is no leaf 'RBF'"));
    CHECK(leaf_is_refused("function", NULL, 0, "there is no leaf 'function'"));
}

static void the_number_of_parameters_is_checked(void)
{
    const double params[] = {1, 1, 1, 1};

    CHECK(leaf_is_refused("rbf", params, 2, "rbf: 2 parameters are given, there are 1"));
    CHECK(leaf_is_refused("rbf", params, -1, "rbf: -1 parameters are given, there are 1"));
    CHECK(leaf_is_refused("linear", params, 1, "linear: 1 parameters are given, there are 0"));
    CHECK(leaf_is_refused("matern", (const double[]){1}, 1, "matern: nu must be 0.5, 1.5 or 2.5"));
    CHECK(leaf_is_refused("matern", (const double[]){1.5, 0}, 2,
                          "matern: length_scale is 0, must be finite and > 0"));
    CHECK(leaf_is_refused("rbf", NULL, 1, "rbf: 0 parameters are given, there are 1"));
}

static void gamma_must_be_finite_and_not_negative(void)
{
    static const char *const names[] = {"rbf", "laplacian", "sigmoid"};
    static const double wrong[] = {NAN, -0.5, INFINITY};
    char text[100];

    for (size_t i = 0; i < COUNT(names); i++)
        for (size_t k = 0; k < COUNT(wrong); k++) {
            snprintf(text, sizeof text, "%s: gamma is %g, must be finite and >= 0", names[i],
                     wrong[k]);
            CHECK(leaf_is_refused(names[i], &wrong[k], 1, text));
        }
    CHECK(leaf_is_refused("polynomial", (const double[]){3, -1}, 2,
                          "polynomial: gamma is -1, must be finite and >= 0"));
}

static void coef0_must_be_finite(void)
{
    CHECK(leaf_is_refused("polynomial", (const double[]){3, 1, NAN}, 3,
                          "polynomial: coef0 is nan, must be finite"));
    CHECK(leaf_is_refused("sigmoid", (const double[]){1, -INFINITY}, 2,
                          "sigmoid: coef0 is -inf, must be finite"));
}

static void degrees_are_whole_and_from_0_to_1000(void)
{
    CHECK(leaf_is_refused("polynomial", (const double[]){-1}, 1,
                          "polynomial: degree is -1, must be 0 to 1000"));
    CHECK(leaf_is_refused("polynomial", (const double[]){1001}, 1,
                          "polynomial: degree is 1001, must be 0 to 1000"));
    CHECK(leaf_is_refused("polynomial", (const double[]){2.5}, 1,
                          "polynomial: degree is 2.5, must be 0 to 1000"));
}

static void combinations_check_their_numbers(void)
{
    kc_kernel *kernel = linear(), *out = NULL;
    const kc_kernel *operands[] = {kernel, NULL};
    kc_error err;

    CHECK(kc_kernel_scaled(ctx, kernel, -INFINITY, &out, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "factor is -inf, must be finite") == 0);
    CHECK(kc_kernel_scaled(ctx, kernel, NAN, &out, NULL) == KC_ERR_ARG);
    CHECK(kc_kernel_power(ctx, kernel, 1001, &out, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "degree is 1001, must be 0 to 1000") == 0);
    CHECK(kc_kernel_sum(ctx, operands, 0, &out, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "n is 0, must be at least 1") == 0);
    CHECK(kc_kernel_product(ctx, operands, 2, &out, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "kernel 1 is NULL") == 0);
    CHECK(kc_kernel_exp(ctx, NULL, &out, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "kernel 0 is NULL") == 0);
    CHECK(out == NULL);
    kc_kernel_free(ctx, kernel);
}

static void a_sum_of_one_kernel_is_that_kernel(void)
{
    kc_kernel *kernel = linear(), *sum = NULL;
    const kc_kernel *operands[] = {kernel};

    REQUIRE(kc_kernel_sum(ctx, operands, 1, &sum, NULL) == KC_OK);
    CHECK(kc_kernel_is_linear(sum));
    kc_kernel_free(ctx, kernel);
    kc_kernel_free(ctx, sum);
}

static void sizes_and_depths_have_limits(void)
{
    ref_node nodes[1000];
    kc_kernel *kernel = NULL, *larger = NULL;
    kc_error err;

    for (size_t i = 0; i < COUNT(nodes); i++)
        nodes[i] = (ref_node){.op = i == 0 ? OP_LINEAR : OP_POW, .degree = 1};
    kernel = new_kernel(ctx, nodes, COUNT(nodes));
    CHECK(kc_kernel_exp(ctx, kernel, &larger, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "kernel has 1001 nodes, must have at most 1000") == 0);
    kc_kernel_free(ctx, kernel);
    for (size_t i = 0; i < 32; i++)
        nodes[i].op = OP_LINEAR;
    for (size_t i = 32; i < 63; i++)
        nodes[i].op = OP_ADD;
    kernel = new_kernel(ctx, nodes, 63); /* its operands wait, all 32 */
    const kc_kernel *all[] = {kernel, kernel};
    CHECK(kc_kernel_sum(ctx, all, 2, &larger, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "kernel: the expression is deeper than 32") == 0);
    CHECK(larger == NULL);
    kc_kernel_free(ctx, kernel);
}

static void missing_pointers_are_named(void)
{
    kc_kernel *kernel = NULL;
    kc_error err;

    CHECK(kc_kernel_leaf(NULL, "rbf", NULL, 0, &kernel, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "ctx is NULL") == 0);
    CHECK(kc_kernel_leaf(ctx, NULL, NULL, 0, &kernel, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "name is NULL") == 0);
    CHECK(kc_kernel_leaf(ctx, "rbf", NULL, 0, NULL, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "out is NULL") == 0);
    CHECK(kernel == NULL);
    kc_kernel_free(ctx, NULL);
}

static kc_definiteness definiteness_of(const ref_node *nodes, size_t n_nodes)
{
    kc_kernel *kernel = new_kernel(ctx, nodes, n_nodes);
    const kc_definiteness definiteness = kc_kernel_definiteness(kernel);

    kc_kernel_free(ctx, kernel);
    return definiteness;
}

static void definiteness_follows_from_the_expression(void)
{
    const ref_node rbf = {.op = OP_RBF, .gamma = 1}, linear = {.op = OP_LINEAR};
    const ref_node sigmoid = {.op = OP_SIGMOID, .gamma = 1};
    const ref_node laplacian = {.op = OP_LAPLACIAN, .gamma = 1};
    const ref_node additive[] = {{.op = OP_ADDITIVE_CHI2}, {.op = OP_EXP}};
    ref_node poly = {.op = OP_POLYNOMIAL, .gamma = 1, .degree = 3, .coef0 = 1};
    ref_node nodes[] = {linear, rbf, {.op = OP_ADD}};

    CHECK(definiteness_of(&linear, 1) == KC_POSITIVE);
    CHECK(definiteness_of(&rbf, 1) == KC_POSITIVE);
    CHECK(definiteness_of(&laplacian, 1) == KC_POSITIVE);
    CHECK(definiteness_of(&sigmoid, 1) == KC_INDEFINITE);
    CHECK(definiteness_of(additive, 1) == KC_CONDITIONAL);
    CHECK(definiteness_of(additive, 2) == KC_POSITIVE);
    CHECK(definiteness_of(&poly, 1) == KC_POSITIVE);
    poly.coef0 = -1;
    CHECK(definiteness_of(&poly, 1) == KC_INDEFINITE);
    poly.degree = 0; /* the constant 1 */
    CHECK(definiteness_of(&poly, 1) == KC_POSITIVE);
    poly.degree = 1;
    CHECK(definiteness_of(&poly, 1) == KC_CONDITIONAL);
    CHECK(definiteness_of(nodes, 3) == KC_POSITIVE);
    nodes[2].op = OP_MUL;
    CHECK(definiteness_of(nodes, 3) == KC_POSITIVE);
    nodes[0] = sigmoid;
    CHECK(definiteness_of(nodes, 3) == KC_INDEFINITE);
    nodes[1] = (ref_node){.op = OP_EXP};
    CHECK(definiteness_of(nodes, 2) == KC_INDEFINITE);
    nodes[1] = (ref_node){.op = OP_POW, .degree = 0};
    CHECK(definiteness_of(nodes, 2) == KC_POSITIVE);
    nodes[1] = (ref_node){.op = OP_SCALE, .gamma = 0};
    CHECK(definiteness_of(nodes, 2) == KC_POSITIVE);
    nodes[1].gamma = 2;
    CHECK(definiteness_of(nodes, 2) == KC_INDEFINITE);
}

static void both_sides_must_fit_together(void)
{
    const ref_node node = {.op = OP_LINEAR};
    kc_kernel *kernel = new_kernel(ctx, &node, 1);
    kc_points x = {.struct_size = sizeof x, .storage = KC_DENSE, .n_cols = 36, .name = "X"};
    kc_points z = x;
    kc_error err;

    CHECK(kc_kernel_check(kernel, &x, &z, &err) == KC_OK);
    z = (kc_points){.struct_size = sizeof(kc_points), .storage = KC_CSR, .n_cols = 37, .name = "Z"};
    CHECK(kc_kernel_check(kernel, &x, &z, &err) == KC_ERR_SHAPE);
    CHECK(strcmp(err.text, "X has 36 columns, Z has 37") == 0);
    z.storage = KC_STRINGS;
    CHECK(kc_kernel_check(kernel, &x, &z, &err) == KC_ERR_TYPE);
    CHECK(strcmp(err.text, "Z holds strings, the kernel linear takes numbers: take a "
                           "kernel of strings, such as delta") == 0);
    kc_kernel_free(ctx, kernel);
}

static void a_copy_is_an_equal_kernel_of_its_own(void)
{
    const ref_node nodes[] = {{.op = OP_RBF, .gamma = 1.5}, {.op = OP_POW, .degree = 2}};
    kc_kernel *kernel = new_kernel(ctx, nodes, 1), *power = new_kernel(ctx, nodes, 2), *copy = NULL;

    REQUIRE(kc_kernel_copy(ctx, kernel, &copy, NULL) == KC_OK);
    kc_kernel_free(ctx, kernel);
    CHECK(kc_kernel_is_rbf(copy) && !kc_kernel_is_linear(copy));
    CHECK(kc_kernel_params(copy)[0] == 1.5);
    CHECK(!kc_kernel_is_rbf(power));
    kc_kernel_free(ctx, copy);
    kc_kernel_free(ctx, power);
}

/* ---- Values of leaves --------------------------------------------------------------------- */

#define N_X ((size_t)41)
#define N_Z ((size_t)70)

#define MAX_LEAVES 24

static size_t list_leaves(size_t d, ref_node *leaves)
{
    const double scale = 1.0 / (double)d;
    const ref_node all[] = {
        {.op = OP_LINEAR},
        {.op = OP_RBF, .gamma = 0.8 * scale},
        {.op = OP_RBF, .gamma = 30 * scale},
        {.op = OP_POLYNOMIAL, .gamma = scale, .coef0 = 1, .degree = 3},
        {.op = OP_POLYNOMIAL, .gamma = 5 * scale, .coef0 = -0.25, .degree = 2},
        {.op = OP_POLYNOMIAL, .gamma = scale, .coef0 = 0.5, .degree = 7},
        {.op = OP_SIGMOID, .gamma = 3 * scale, .coef0 = -0.3},
        {.op = OP_LAPLACIAN, .gamma = 0.9 * scale},
        {.op = OP_MATERN, .gamma = 0.7 * sqrt((double)d), .degree = 0},
        {.op = OP_MATERN, .gamma = 1.5 * sqrt((double)d), .degree = 1},
        {.op = OP_MATERN, .gamma = 2.5, .degree = 2},
        {.op = OP_RATIONAL, .gamma = 0.9 * sqrt((double)d), .coef0 = 1},
        {.op = OP_RATIONAL, .gamma = 0.4 * sqrt((double)d), .coef0 = 2.5},
        {.op = OP_TANIMOTO},
        {.op = OP_HAMMING},
        {.op = OP_ANOVA, .gamma = 0.5}, /* the last one: it overflows where there are many */
    };

    _Static_assert(COUNT(all) <= MAX_LEAVES, "room for all");
    memcpy(leaves, all, sizeof all);
    return d < 100 ? COUNT(all) : COUNT(all) - 1;
}

/* The leaves that take no negative numbers. */
static size_t list_histogram_leaves(size_t d, ref_node *leaves)
{
    const ref_node all[] = {
        {.op = OP_CHI2, .gamma = 0.7 / (double)d},
        {.op = OP_ADDITIVE_CHI2},
        {.op = OP_INTERSECTION},
        {.op = OP_MINMAX},
    };

    memcpy(leaves, all, sizeof all);
    return COUNT(all);
}

/* Two sets of points in every storage. */
typedef size_t list_fn(size_t d, ref_node *leaves);

static list_fn *const lists[] = {list_leaves, list_histogram_leaves};

typedef struct sides {
    ref_samples x, z;
    ref_view views[2][2]; /* [side][dense, CSR] */
    kc_packed packed[2][2];
} sides;

static sides make_sides(size_t d, double density, bool is_histogram, kc_dtype dtype)
{
    sides s = {.x = ref_random(d, N_X, d, density, dtype),
               .z = ref_random(d + 1, N_Z, d, density, dtype)};

    for (size_t i = 0; is_histogram && i < N_X * d; i++)
        s.x.x[i] = fabs(s.x.x[i]);
    for (size_t i = 0; is_histogram && i < N_Z * d; i++)
        s.z.x[i] = fabs(s.z.x[i]);
    for (size_t t = 0; t < d; t++) /* some that are equal, some that are 0 */
        s.z.x[3 * d + t] = s.x.x[2 * d + t], s.z.x[5 * d + t] = s.x.x[4 * d + t] = 0;
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
static double check_leaf(const ref_node *leaf, const sides *s, kc_dtype dtype)
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

static void check_list(list_fn *list, bool is_histogram)
{
    static const size_t features[] = {1, 2, 7, 60, 64, 65, 300, 1024, 1025, 2100};
    double worst[2][MAX_LEAVES] = {{0}};
    ref_node leaves[MAX_LEAVES];
    size_t n_leaves = 0, n_most = 0;

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < COUNT(features); i++) {
            sides s =
                make_sides(features[i], features[i] > 1000 ? 0.02 : 0.3, is_histogram, dtypes[k]);

            n_leaves = list(features[i], leaves);
            n_most = kc_max(n_most, n_leaves);
            for (size_t l = 0; l < n_leaves; l++)
                worst[k][l] = fmax(worst[k][l], check_leaf(&leaves[l], &s, dtypes[k]));
            free_sides(&s);
        }
    for (size_t l = 0; l < n_most; l++) {
        printf("     leaf %zu: error / bound %.3f (f32), %.3f (f64)\n", l, worst[0][l],
               worst[1][l]);
        CHECK(worst[0][l] <= 1 && worst[1][l] <= 1);
    }
}

static void leaves_are_within_their_bounds_and_do_not_depend_on_storage_or_order(void)
{
    for (size_t i = 0; i < COUNT(lists); i++)
        check_list(lists[i], i == 1);
}

/* The error of an RBF value beyond that of exp, relative, in units of u gamma |x - z|^2 up to 24
 * features and of u gamma (|x|^2 + |z|^2) beyond: what docs/numerics.md quotes.  The roundings of a
 * chain add up like a random walk. */
static double rbf_error(const ref_node *leaf, const double *x, const double *z, size_t d,
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
            const ref_node leaf = {.op = OP_RBF, .gamma = 1.0 / (double)d};
            sides s = make_sides(d, 1.0, false, dtypes[k]);
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
    ref_node leaves[MAX_LEAVES];

    for (size_t k = 0; k < 2 * COUNT(lists); k++)
        for (size_t f = 0; f < COUNT(features); f++) {
            sides s = make_sides(features[f], 0.1, k / 2 == 1, dtypes[k % 2]);
            const size_t n_leaves = lists[k / 2](features[f], leaves);

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

static bool is_one_with_itself(ref_op op)
{
    return op == OP_RBF || op == OP_LAPLACIAN || op == OP_RATIONAL || op == OP_CHI2 ||
           op == OP_MINMAX || op == OP_TANIMOTO || op == OP_HAMMING;
}

static void the_diagonal_has_the_bits_of_the_matrix(void)
{
    static const size_t features[] = {1, 64, 65, 130, 2100};
    ref_node leaves[MAX_LEAVES];
    double diag[N_Z + 1];

    for (size_t k = 0; k < 2 * COUNT(lists); k++)
        for (size_t f = 0; f < COUNT(features); f++) {
            const kc_dtype dtype = dtypes[k % 2];
            sides s = make_sides(features[f], 0.1, k / 2 == 1, dtype);
            const size_t n_leaves = lists[k / 2](features[f], leaves);

            for (size_t l = 0; l < 2 * n_leaves; l++) {
                const ref_node *leaf = &leaves[l / 2];
                const kc_packed *z = &s.packed[1][l % 2];
                kc_kernel *kernel = new_kernel(ctx, leaf, 1);
                void *all = fill_all(kernel, z, z), *workspace = NULL;

                const kc_plan plan = kc_plan_make(kernel, z, z);
                if (posix_memalign(&workspace, KC_ALIGN, kc_plan_workspace(&plan, 1)) != 0)
                    abort();
                CHECK(kc_plan_diag(&plan, 5, N_Z - 5, diag, workspace));
                for (size_t i = 5; i < N_Z; i++) {
                    CHECK(ref_get(diag, i - 5, dtype) == ref_get(all, i * N_Z + i, dtype));
                    if (is_one_with_itself(leaf->op))
                        CHECK(ref_get(diag, i - 5, dtype) == 1);
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
    RUN(the_table_of_leaves_says_what_there_is);
    RUN(unknown_leaves_are_refused);
    RUN(the_number_of_parameters_is_checked);
    RUN(gamma_must_be_finite_and_not_negative);
    RUN(coef0_must_be_finite);
    RUN(degrees_are_whole_and_from_0_to_1000);
    RUN(combinations_check_their_numbers);
    RUN(a_sum_of_one_kernel_is_that_kernel);
    RUN(sizes_and_depths_have_limits);
    RUN(missing_pointers_are_named);
    RUN(definiteness_follows_from_the_expression);
    RUN(both_sides_must_fit_together);
    RUN(a_copy_is_an_equal_kernel_of_its_own);
    RUN(leaves_are_within_their_bounds_and_do_not_depend_on_storage_or_order);
    RUN(rbf_errors_grow_like_the_root_of_the_number_of_features);
    RUN(a_value_does_not_depend_on_the_block);
    RUN(the_diagonal_has_the_bits_of_the_matrix);
    kc_context_free(ctx);
    return kc_test_end();
}
