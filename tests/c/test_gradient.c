/* kernel/kc_gradient.h, kernel/kc_tape.h and api/kc_gradient_api.c: gradients against differences
 * of slow values, what is refused, and how soon they stop. */
#include "kernel/kc_gradient.h"

#include "base/kc_clock.h"
#include "guarded.h"
#include "kernel/kc_leaf.h"
#include "kernel/kc_tape.h"
#include "kernel_case.h"

#define MAX_PARAMS 8

static kc_context *ctx;
static kc_error err;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

/* ---- What it must be ---------------------------------------------------------------------- */

typedef struct expression {
    ref_node nodes[8];
    size_t n;
} expression;

static const expression expressions[] = {
    {{{.op = OP_LINEAR}}, 1},
    {{{.op = OP_RBF, .gamma = 0.3}}, 1},
    {{{.op = OP_POLYNOMIAL, .gamma = 0.3, .coef0 = 0.5, .degree = 3}}, 1},
    {{{.op = OP_SIGMOID, .gamma = 0.2, .coef0 = -0.3}}, 1},
    {{{.op = OP_LAPLACIAN, .gamma = 0.2}}, 1},
    {{{.op = OP_MATERN, .gamma = 1.3, .degree = 0}}, 1},
    {{{.op = OP_MATERN, .gamma = 1.3, .degree = 1}}, 1},
    {{{.op = OP_MATERN, .gamma = 1.3, .degree = 2}}, 1},
    {{{.op = OP_CONSTANT, .gamma = 1.7}}, 1},
    {{{.op = OP_RATIONAL, .gamma = 1.3, .coef0 = 1}}, 1},
    {{{.op = OP_RATIONAL, .gamma = 0.9, .coef0 = 0.6}}, 1},
    {{{.op = OP_RATIONAL, .gamma = 4, .coef0 = 30}}, 1},
    {{{.op = OP_CHI2, .gamma = 0.3}}, 1},
    {{{.op = OP_ANOVA, .gamma = 0.3}}, 1},
    {{{.op = OP_ANOVA, .gamma = 0.3},
      {.op = OP_TANIMOTO},
      {.op = OP_ANOVA, .gamma = 0.7},
      {.op = OP_MUL},
      {.op = OP_ADD}},
     5},
    {{{.op = OP_MINMAX},
      {.op = OP_SCALE, .gamma = 0.4},
      {.op = OP_HAMMING},
      {.op = OP_MUL},
      {.op = OP_ADDITIVE_CHI2},
      {.op = OP_INTERSECTION},
      {.op = OP_ADD},
      {.op = OP_MUL}},
     8},
    {{{.op = OP_RBF, .gamma = 0.3},
      {.op = OP_RBF, .gamma = 0.1},
      {.op = OP_SCALE, .gamma = -0.7},
      {.op = OP_ADD},
      {.op = OP_POW, .degree = 3}},
     5},
    {{{.op = OP_CONSTANT, .gamma = 0.4},
      {.op = OP_LINEAR},
      {.op = OP_SCALE, .gamma = 0.2},
      {.op = OP_EXP},
      {.op = OP_LAPLACIAN, .gamma = 0.2},
      {.op = OP_MUL},
      {.op = OP_ADD}},
     7},
};

/* Parameters of a node by which there is a slope. */
static size_t params_of(ref_node *node, double **params)
{
    switch (node->op) {
    case OP_POLYNOMIAL:
    case OP_RATIONAL:
    case OP_SIGMOID:
        params[0] = &node->gamma;
        params[1] = &node->coef0;
        return 2;
    case OP_RBF:
    case OP_LAPLACIAN:
    case OP_MATERN:
    case OP_CHI2:
    case OP_ANOVA:
    case OP_CONSTANT:
    case OP_SCALE:
        params[0] = &node->gamma;
        return 1;
    default:
        return 0;
    }
}

static long double sum_at(const expression *e, const ref_samples *x, const ref_samples *z,
                          const double *g, long double *size)
{
    long double sum = 0;

    *size = 0;
    for (size_t i = 0; i < x->n; i++)
        for (size_t j = 0; j < z->n; j++) {
            const long double value =
                ref_kernel(e->nodes, e->n, x->x + i * x->d, z->x + j * z->d, x->d, KC_F64).value;

            sum += g[i * z->n + j] * value;
            *size += fabsl(g[i * z->n + j] * value);
        }
    return sum;
}

/* The derivatives of sum g K in the order of the nodes; how many. */
static size_t differences(const expression *e, const ref_samples *x, const ref_samples *z,
                          const double *g, double *out, double *tolerance)
{
    expression moved = *e;
    size_t n = 0;

    for (size_t i = 0; i < e->n; i++) {
        double *params[2];
        const size_t n_params = params_of(&moved.nodes[i], params);

        for (size_t k = 0; k < n_params; k++) {
            const double value = *params[k], above = value + 1e-5, below = value - 1e-5;
            long double high, low, size;

            *params[k] = above;
            high = sum_at(&moved, x, z, g, &size);
            *params[k] = below;
            low = sum_at(&moved, x, z, g, &size);
            *params[k] = value;
            tolerance[n] = (double)size;
            out[n++] = (double)((high - low) / ((long double)above - below));
        }
    }
    return n;
}

static kc_points view_of(const double *values, size_t n, size_t m)
{
    return (kc_points){.struct_size = sizeof(kc_points),
                       .storage = KC_DENSE,
                       .dtype = KC_F64,
                       .n_rows = (int64_t)n,
                       .n_cols = (int64_t)m,
                       .values = values,
                       .row_stride = (int64_t)(m * sizeof(double)),
                       .col_stride = sizeof(double),
                       .name = "weights"};
}

static kc_status run_gradient(const kc_kernel *kernel, const kc_points *x, const kc_points *z,
                              const kc_points *g, kc_dtype dtype, int32_t n_threads, double *out)
{
    const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};

    return kc_kernel_gradient(ctx, &run, kernel, x, z, g, dtype, out, kc_kernel_param_count(kernel),
                              &err);
}

static double *random_weights(size_t n, uint64_t seed)
{
    ref_samples s = ref_random(seed, n, 1, 1.0, KC_F64);
    double *weights = s.x;

    s.x = NULL;
    ref_samples_free(&s);
    return weights;
}

/* Without negative numbers, where a leaf takes none. */
static ref_samples samples_for(const expression *e, uint64_t seed, size_t n, size_t d,
                               double density)
{
    ref_samples s = ref_random(seed, n, d, density, KC_F32);

    for (size_t i = 0; i < e->n; i++)
        if (e->nodes[i].op == OP_CHI2 || e->nodes[i].op == OP_MINMAX)
            for (size_t k = 0; k < n * d; k++)
                s.x[k] = fabs(s.x[k]);
    return s;
}

static void it_is_what_differences_of_slow_values_say(void)
{
    enum { N_X = 53, N_Z = 19, D = 5 };
    double *g = random_weights(N_X * N_X, 3);

    for (size_t e = 0; e < COUNT(expressions); e++) {
        ref_samples x = samples_for(&expressions[e], 1, N_X, D, 0.5);
        ref_samples z = samples_for(&expressions[e], 2, N_Z, D, 0.5);

        for (size_t k = 0; k < 4; k++) {
            const kc_dtype dtype = dtypes[k % 2];
            const bool is_own = k < 2;
            const ref_samples *other = is_own ? &x : &z;
            ref_view vx = ref_view_make(&x, REF_DENSE, dtype);
            ref_view vz = ref_view_make(&z, REF_CSR, dtype);
            kc_kernel *kernel = new_kernel(ctx, expressions[e].nodes, expressions[e].n);
            const kc_points weights = view_of(g, N_X, other->n);
            double found[MAX_PARAMS], wanted[MAX_PARAMS], size[MAX_PARAMS];
            const size_t n = differences(&expressions[e], &x, other, g, wanted, size);

            CHECK(kc_kernel_param_count(kernel) == (int64_t)n);
            CHECK(run_gradient(kernel, &vx.points, is_own ? NULL : &vz.points, &weights, dtype, 2,
                               found) == KC_OK);
            for (size_t p = 0; p < n; p++)
                CHECK_NEAR(found[p], wanted[p], (dtype == KC_F32 ? 1e-4 : 1e-8) * (1 + size[p]));
            kc_kernel_free(ctx, kernel);
            ref_view_free(&vx);
            ref_view_free(&vz);
        }
        ref_samples_free(&x);
        ref_samples_free(&z);
    }
    free(g);
}

static void bits_do_not_depend_on_threads_or_forms(void)
{
    enum { N_X = 500, N_Z = 450, D = 70 };
    double *g = random_weights(N_X * N_X, 6);

    for (size_t e = 0; e < COUNT(expressions); e++) {
        ref_samples x = samples_for(&expressions[e], 4, N_X, D, 0.2);
        ref_samples z = samples_for(&expressions[e], 5, N_Z, D, 0.2);

        for (size_t k = 0; k < 4; k++) {
            const bool is_own = k < 2;
            kc_kernel *kernel = new_kernel(ctx, expressions[e].nodes, expressions[e].n);
            const kc_points weights = view_of(g, N_X, is_own ? N_X : N_Z);
            double expected[MAX_PARAMS] = {0}, found[MAX_PARAMS] = {0};

            for (int form = 0; form < REF_N_FORMS; form++) {
                ref_view vx = ref_view_make(&x, (ref_form)form, dtypes[k % 2]);
                ref_view vz =
                    ref_view_make(&z, (ref_form)((form + 1) % REF_N_FORMS), dtypes[k % 2]);

                CHECK(run_gradient(kernel, &vx.points, is_own ? NULL : &vz.points, &weights,
                                   dtypes[k % 2], 1 + form % 2,
                                   form == 0 ? expected : found) == KC_OK);
                CHECK(form == 0 || memcmp(found, expected, sizeof found) == 0);
                ref_view_free(&vx);
                ref_view_free(&vz);
            }
            kc_kernel_free(ctx, kernel);
        }
        ref_samples_free(&x);
        ref_samples_free(&z);
    }
    free(g);
}

/* ---- Series --------------------------------------------------------------------------------- */

/* sum_i a_i k^i of k = c x.z by a_i, and by c. */
static void series_have_slopes_by_their_coefficients(void)
{
    enum { N_X = 60, N_Z = 90, D = 3, N = 4 };
    static const double coefs[N] = {0.5, 0, -0.3, 0.2}, factor = 0.7;
    static const ref_node nodes[] = {{.op = OP_LINEAR}, {.op = OP_SCALE, .gamma = 0.7}};
    ref_samples x = ref_random(10, N_X, D, 0.5, KC_F64), z = ref_random(11, N_Z, D, 0.5, KC_F64);
    ref_view vx = ref_view_make(&x, REF_DENSE, KC_F64), vz = ref_view_make(&z, REF_CSR, KC_F64);
    double *g = random_weights(N_X * N_Z, 12), found[N + 1];
    const kc_points weights = view_of(g, N_X, N_Z);
    kc_kernel *inner = new_kernel(ctx, nodes, COUNT(nodes)), *kernel;
    long double wanted[N + 1] = {0}, size[N + 1] = {0};

    CHECK(kc_kernel_series(ctx, inner, coefs, N, &kernel, &err) == KC_OK);
    CHECK(kc_kernel_param_count(kernel) == N + 1);
    for (int32_t i = 0; i < N; i++) {
        kc_kernel_param param = {.struct_size = sizeof param};

        CHECK(kc_kernel_param_at(kernel, i + 1, &param, &err) == KC_OK);
        CHECK(param.node == 2 && param.entry == i && param.value == coefs[i]);
        CHECK(strcmp(param.kernel, "series") == 0 && strcmp(param.name, "coefficients") == 0);
    }
    CHECK(run_gradient(kernel, &vx.points, &vz.points, &weights, KC_F64, 2, found) == KC_OK);
    for (size_t i = 0; i < N_X; i++)
        for (size_t j = 0; j < N_Z; j++) {
            const long double dot = ref_dot(x.x + i * D, z.x + j * D, D, KC_F64).value;
            const long double k = factor * dot, weight = g[i * N_Z + j];
            const long double terms[N + 1] = {dot * (2 * coefs[2] * k + 3 * coefs[3] * k * k), 1, k,
                                              k * k, k * k * k};

            for (size_t p = 0; p <= N; p++) {
                wanted[p] += weight * terms[p];
                size[p] += fabsl(weight * terms[p]);
            }
        }
    for (size_t p = 0; p <= N; p++)
        CHECK_NEAR(found[p], (double)wanted[p], 1e-13 * (1 + (double)size[p]));
    free(g);
    kc_kernel_free(ctx, inner);
    kc_kernel_free(ctx, kernel);
    ref_view_free(&vx);
    ref_view_free(&vz);
    ref_samples_free(&x);
    ref_samples_free(&z);
}

/* ---- Weights of columns --------------------------------------------------------------------- */

static long double term_of(const char *leaf, double x, double z)
{
    const long double apart = (long double)x - z;

    return strcmp(leaf, "rbf") == 0         ? apart * apart
           : strcmp(leaf, "laplacian") == 0 ? fabsl(apart)
                                            : (long double)x * z;
}

/* sum g dK/d w_t, of exp(-sum_t w_t term_t), or of sum_t w_t term_t for linear. */
static long double slope_of_column(const char *leaf, const ref_samples *x, const ref_samples *z,
                                   const double *weights, const double *g, size_t column)
{
    long double sum = 0;

    for (size_t i = 0; i < x->n; i++)
        for (size_t j = 0; j < z->n; j++) {
            const double *a = x->x + i * x->d, *b = z->x + j * z->d;
            long double base = 0;

            for (size_t t = 0; t < x->d; t++)
                base += weights[t] * term_of(leaf, a[t], b[t]);
            sum += g[i * z->n + j] * term_of(leaf, a[column], b[column]) *
                   (strcmp(leaf, "linear") == 0 ? 1 : -expl(-base));
        }
    return sum;
}

static void columns_have_slopes_by_their_weights(void)
{
    enum { N_X = 101, N_Z = 300, D = 5 };
    static const char *const leaves[] = {"linear", "rbf", "laplacian"};
    const double factors[D] = {0.5, 0, -1, 0.25, 0.8};
    ref_samples x = ref_random(7, N_X, D, 0.5, KC_F64), z = ref_random(8, N_Z, D, 0.5, KC_F64);
    double *g = random_weights(N_X * N_Z, 9);

    for (size_t l = 0; l < COUNT(leaves); l++)
        for (int is_own = 0; is_own < 2; is_own++) {
            const ref_samples *other = is_own ? &x : &z;
            ref_view vx = ref_view_make(&x, REF_DENSE, KC_F64);
            ref_view vz = ref_view_make(&z, REF_CSR, KC_F64);
            const kc_points weights = view_of(g, N_X, other->n);
            kc_kernel *leaf, *kernel;
            double found[MAX_PARAMS], w[D];

            CHECK(kc_kernel_leaf(ctx, leaves[l], NULL, 0, &leaf, &err) == KC_OK);
            CHECK(kc_kernel_on_factors(ctx, leaf, factors, D, &kernel, &err) == KC_OK);
            CHECK(kc_kernel_param_count(kernel) == D + (l > 0));
            CHECK(run_gradient(kernel, &vx.points, is_own ? NULL : &vz.points, &weights, KC_F64, 2,
                               found) == KC_OK);
            for (int32_t t = 0; t < D; t++) {
                kc_kernel_param param = {.struct_size = sizeof param};

                CHECK(kc_kernel_param_at(kernel, t + (l > 0), &param, &err) == KC_OK);
                w[t] = l == 2 ? fabs(factors[t]) : factors[t] * factors[t];
                CHECK(param.entry == t && param.value == w[t]);
                CHECK(strcmp(param.name, "column") == 0);
            }
            for (size_t t = 0; t < D; t++)
                CHECK_NEAR(found[t + (l > 0)],
                           (double)slope_of_column(leaves[l], &x, other, w, g, t), 1e-9);
            kc_kernel_free(ctx, leaf);
            kc_kernel_free(ctx, kernel);
            ref_view_free(&vx);
            ref_view_free(&vz);
        }
    free(g);
    ref_samples_free(&x);
    ref_samples_free(&z);
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static void parameters_are_listed_in_the_order_of_the_nodes(void)
{
    static const struct {
        int32_t node;
        const char *kernel, *name;
        double value;
    } wanted[] = {{0, "polynomial", "gamma", 0.5},
                  {0, "polynomial", "coef0", 0.25},
                  {1, "matern", "length_scale", 2.0},
                  {2, "scaled", "factor", -3.0}};
    static const ref_node nodes[] = {
        {.op = OP_POLYNOMIAL, .gamma = 0.5, .coef0 = 0.25, .degree = 2},
        {.op = OP_MATERN, .gamma = 2.0, .degree = 1},
        {.op = OP_SCALE, .gamma = -3.0},
        {.op = OP_ADD},
    };
    kc_kernel *kernel = new_kernel(ctx, nodes, COUNT(nodes));
    kc_kernel_param param = {.struct_size = sizeof param};

    CHECK(kc_kernel_param_count(kernel) == COUNT(wanted));
    for (size_t k = 0; k < COUNT(wanted); k++) {
        CHECK(kc_kernel_param_at(kernel, (int64_t)k, &param, &err) == KC_OK);
        CHECK(param.node == wanted[k].node && param.value == wanted[k].value);
        CHECK(param.entry == -1);
        CHECK(strcmp(param.kernel, wanted[k].kernel) == 0);
        CHECK(strcmp(param.name, wanted[k].name) == 0);
    }
    CHECK(kc_kernel_param_at(kernel, 4, &param, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "index is 4, the kernel has 4 parameters") == 0);
    CHECK(kc_kernel_param_at(kernel, -1, &param, &err) == KC_ERR_ARG);
    CHECK(kc_kernel_param_at(NULL, 0, &param, &err) == KC_ERR_ARG);
    CHECK(kc_kernel_param_at(kernel, 0, NULL, &err) == KC_ERR_ARG);
    CHECK(kc_kernel_param_count(NULL) == 0);
    kc_kernel_free(ctx, kernel);
}

static void every_leaf_has_slopes(void)
{
    for (int32_t i = 0; i < kc_leaf_count(); i++) {
        kc_kernel *kernel = NULL;

        CHECK(kc_kernel_leaf(ctx, kc_leaf_at(i)->name, NULL, 0, &kernel, &err) == KC_OK);
        CHECK(kc_tape_check(kernel, &err) == KC_OK);
        kc_kernel_free(ctx, kernel);
    }
}

/* ---- Refused -------------------------------------------------------------------------------- */

static bool is_refused(kc_status status, kc_status wanted, const char *text)
{
    if (status == wanted && strcmp(err.text, text) == 0)
        return true;
    printf("    %d: said: %s\n", (int)status, err.text);
    return false;
}

static void a_leaf_without_slopes_is_refused_by_name(void)
{
    static const ref_node node = {.op = OP_RBF, .gamma = 0.5};
    kc_kernel *kernel = new_kernel(ctx, &node, 1);
    kc_leaf without = kc_leaf_rbf;

    without.slope = NULL;
    kernel->nodes[0].leaf = &without;
    CHECK(is_refused(kc_tape_check(kernel, &err), KC_ERR_ARG,
                     "the kernel rbf has no gradient by its parameters"));
    kc_kernel_free(ctx, kernel);
}

static void what_does_not_fit_is_refused(void)
{
    static const ref_node node = {.op = OP_RBF, .gamma = 0.5};
    double values[6] = {1, 2, 3, 4, 5, 6}, bad[4] = {1, 1, NAN, 1}, out = 7;
    const kc_points x = view_of(values, 2, 3), z = view_of(values, 3, 2);
    const kc_points g = view_of(values, 2, 2), nan = view_of(bad, 2, 2);
    kc_kernel *kernel = new_kernel(ctx, &node, 1);
    ref_samples samples = ref_random(1, 2, 2, 1, KC_F64);
    ref_view sparse = ref_view_make(&samples, REF_CSR, KC_F64);

    CHECK(is_refused(run_gradient(kernel, &x, NULL, &z, KC_F64, 1, &out), KC_ERR_SHAPE,
                     "weights is 3 x 2, must be 2 x 2"));
    CHECK(is_refused(run_gradient(kernel, &x, NULL, &nan, KC_F64, 1, &out), KC_ERR_NONFINITE,
                     "weights: row 1, column 0 is NaN, must be finite"));
    CHECK(is_refused(run_gradient(kernel, &x, NULL, NULL, KC_F64, 1, &out), KC_ERR_ARG,
                     "weights is NULL"));
    CHECK(run_gradient(kernel, &x, NULL, &sparse.points, KC_F64, 1, &out) == KC_ERR_TYPE);
    CHECK(is_refused(run_gradient(kernel, &x, NULL, &g, (kc_dtype)9, 1, &out), KC_ERR_TYPE,
                     "dtype is 9, must be KC_F32 or KC_F64"));
    CHECK(
        is_refused(run_gradient(kernel, NULL, NULL, &g, KC_F64, 1, &out), KC_ERR_ARG, "x is NULL"));
    CHECK(is_refused(run_gradient(NULL, &x, NULL, &g, KC_F64, 1, &out), KC_ERR_ARG,
                     "kernel is NULL"));
    CHECK(
        is_refused(run_gradient(kernel, &x, NULL, &g, KC_F64, 1, NULL), KC_ERR_ARG, "out is NULL"));
    CHECK(is_refused(kc_kernel_gradient(ctx, NULL, kernel, &x, NULL, &g, KC_F64, &out, 2, &err),
                     KC_ERR_SHAPE, "n_out is 2, the kernel has 1 parameters"));
    CHECK(out == 7);
    ref_view_free(&sparse);
    ref_samples_free(&samples);
    kc_kernel_free(ctx, kernel);
}

/* ---- Stops ---------------------------------------------------------------------------------- */

/* Seconds that a call with a time limit takes beyond it, at best. */
static double delay(const ref_node *node, size_t n, size_t d)
{
    const double limit = 0.02;
    kc_kernel *kernel = new_kernel(ctx, node, 1);
    double *values = calloc(n * kc_max(n, d), sizeof *values), best = HUGE_VAL, out;
    const kc_points x = view_of(values, n, d), g = view_of(values, n, n);
    const kc_run run = {.struct_size = sizeof run, .n_threads = 2, .time_limit = limit};

    for (int k = 0; k < 4 && best > 0.05; k++) {
        const double start = kc_clock();

        CHECK(kc_kernel_gradient(ctx, &run, kernel, &x, NULL, &g, KC_F64, &out, 1, &err) ==
              KC_ERR_TIME);
        best = fmin(best, kc_clock() - start - limit);
    }
    free(values);
    kc_kernel_free(ctx, kernel);
    return best;
}

static void it_stops_soon_after_it_is_told_to(void)
{
    static const ref_node rbf = {.op = OP_RBF, .gamma = 0.5};
    static const ref_node laplacian = {.op = OP_LAPLACIAN, .gamma = 0.5};

    CHECK(delay(&rbf, 3000, 1000) <= (IS_SANITIZED ? 2.0 : 0.05));
    CHECK(delay(&laplacian, 500, 20000) <= (IS_SANITIZED ? 2.0 : 0.05));
}

int main(void)
{
    ctx = new_context();
    RUN(it_is_what_differences_of_slow_values_say);
    RUN(bits_do_not_depend_on_threads_or_forms);
    RUN(series_have_slopes_by_their_coefficients);
    RUN(columns_have_slopes_by_their_weights);
    RUN(parameters_are_listed_in_the_order_of_the_nodes);
    RUN(every_leaf_has_slopes);
    RUN(a_leaf_without_slopes_is_refused_by_name);
    RUN(what_does_not_fit_is_refused);
    RUN(it_stops_soon_after_it_is_told_to);
    kc_context_free(ctx);
    return kc_test_end();
}
