/* Functions of the space of a kernel, as a caller sees them: what the definitions say, whatever the
 * storage, the type and the number of threads. */
#include "fault.h"
#include "kc_test.h"
#include "kcore/functions.h"
#include "ref_points.h"
#include "table_case.h"

enum { N = 60, M = 31, D = 70 }; /* more columns than are packed dense at once */

static kc_fault fault;
static kc_context *ctx;

static kc_kernel *make_kernel(const char *name, double gamma)
{
    kc_kernel *kernel = NULL;

    CHECK(kc_kernel_leaf(ctx, name, &gamma, strcmp(name, "linear") != 0, &kernel, NULL) == KC_OK);
    return kernel;
}

static kc_function *make(const kc_kernel *kernel, const kc_points *x, kc_dtype dtype,
                         const double *coef)
{
    int64_t n_cols = 0;
    kc_function *f = NULL;

    for (const kc_points *part = x; part != NULL; part = part->next)
        n_cols += part->storage == KC_STRINGS ? 1 : part->n_cols;
    const kc_function_parts parts = {
        .struct_size = sizeof parts,
        .kernel = kernel,
        .x = x,
        .dtype = dtype,
        .n_points = x->n_rows,
        .n_cols = n_cols,
        .n_outputs = 1,
        .coef = coef,
        .decoder = KC_DECODE_VALUES,
    };
    CHECK(kc_function_create(ctx, NULL, &parts, &f, NULL) == KC_OK);
    return f;
}

typedef struct pair { /* f of N points and g of M, of the same samples in any form */
    ref_samples x, z;
    double a[N], b[M];
} pair;

static pair make_pair(void)
{
    pair p = {.x = ref_random(1, N, D, 0.1, KC_F32), .z = ref_random(2, M, D, 0.1, KC_F32)};
    kc_rng rng = kc_rng_seed(3);

    for (size_t i = 0; i < N; i++)
        p.a[i] = 2 * kc_rng_uniform(&rng) - 1;
    for (size_t i = 0; i < M; i++)
        p.b[i] = 2 * kc_rng_uniform(&rng) - 1;
    return p;
}

static void free_pair(pair *p)
{
    ref_samples_free(&p->x);
    ref_samples_free(&p->z);
}

static kc_function *make_of(const kc_kernel *kernel, const ref_samples *x, ref_form form,
                            kc_dtype dtype, const double *coef)
{
    ref_view view = ref_view_make(x, form, dtype);
    kc_function *f = make(kernel, &view.points, dtype, coef);

    ref_view_free(&view);
    return f;
}

static double inner(const kc_function *f, const kc_function *g, int32_t n_threads)
{
    const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};
    double out = NAN;

    CHECK(kc_function_inner(ctx, &run, f, g, &out, NULL) == KC_OK);
    return out;
}

/* sum_ij a_i b_j K(x_i, z_j) in float64. */
static double inner_by_hand(const kc_kernel *kernel, const pair *p)
{
    ref_view x = ref_view_make(&p->x, REF_DENSE, KC_F64),
             z = ref_view_make(&p->z, REF_DENSE, KC_F64);
    double k[N * M];
    long double sum = 0;

    CHECK(kc_gram(ctx, NULL, kernel, &x.points, &z.points, KC_F64, k, M, NULL) == KC_OK);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < M; j++)
            sum += (long double)p->a[i] * p->b[j] * k[i * M + j];
    ref_view_free(&x);
    ref_view_free(&z);
    return (double)sum;
}

static void inner_products_are_their_sums_in_every_storage_and_type(void)
{
    pair p = make_pair();

    for (int k = 0; k < 2; k++) {
        kc_kernel *kernel = make_kernel(k == 0 ? "rbf" : "linear", 0.02);
        const double wanted = inner_by_hand(kernel, &p);
        double first = NAN;

        for (int form = 0; form < REF_N_FORMS; form++)
            for (int types = 0; types < 4; types++) {
                const kc_dtype left = types & 1 ? KC_F32 : KC_F64;
                const kc_dtype right = types & 2 ? KC_F32 : KC_F64;
                kc_function *f = make_of(kernel, &p.x, (ref_form)form, left, p.a);
                kc_function *g =
                    make_of(kernel, &p.z, (ref_form)((form + 3) % REF_N_FORMS), right, p.b);
                const double found = inner(f, g, 1);

                CHECK_NEAR(found, wanted, types == 3 ? 1e-5 : 1e-12);
                CHECK(inner(g, f, 2) == found);
                if (types == 0 && form == 0)
                    first = found;
                CHECK(types == 3 || found == first); /* samples are the same, and so are values */
                kc_function_free(ctx, f);
                kc_function_free(ctx, g);
            }
        kc_kernel_free(ctx, kernel);
    }
    free_pair(&p);
}

static void evaluate(const kc_function *f, const ref_samples *x, double *out)
{
    ref_view view = ref_view_make(x, REF_DENSE, KC_F64);

    CHECK(kc_function_evaluate(ctx, NULL, f, &view.points, KC_PER_OUTPUT, out, 1, NULL) == KC_OK);
    ref_view_free(&view);
}

static int64_t n_points(const kc_function *f)
{
    kc_function_info info = {.struct_size = sizeof info};

    CHECK(kc_function_describe(f, &info, NULL) == KC_OK);
    return info.n_points;
}

static void combinations_have_the_values_they_say(void)
{
    pair p = make_pair();
    kc_kernel *kernel = make_kernel("rbf", 0.02);
    double of_f[M], of_g[M], found[M];

    for (int form = 0; form < REF_N_FORMS; form++) {
        kc_function *f = make_of(kernel, &p.x, (ref_form)form, KC_F64, p.a), *sum = NULL;
        kc_function *g = make_of(kernel, &p.z, REF_CSR, KC_F64, p.b), *scaled = NULL;

        evaluate(f, &p.z, of_f);
        evaluate(g, &p.z, of_g);
        REQUIRE(kc_function_combine(ctx, NULL, 2, f, -3, g, &sum, NULL) == KC_OK);
        REQUIRE(kc_function_combine(ctx, NULL, -0.5, f, 0, NULL, &scaled, NULL) == KC_OK);
        CHECK(n_points(sum) == N + M && n_points(scaled) == N);
        evaluate(sum, &p.z, found);
        for (size_t i = 0; i < M; i++)
            CHECK_NEAR(found[i], 2 * of_f[i] - 3 * of_g[i], 1e-12);
        evaluate(scaled, &p.z, found);
        for (size_t i = 0; i < M; i++)
            CHECK(found[i] == -0.5 * of_f[i]);
        kc_function_free(ctx, sum);
        kc_function_free(ctx, scaled);
        kc_function_free(ctx, f);
        kc_function_free(ctx, g);
    }
    kc_kernel_free(ctx, kernel);
    free_pair(&p);
}

/* Of tables too, whose strings are few: f + g + g - g has as many points as f + g. */
static void merging_puts_equal_points_together(void)
{
    table t;
    kc_kernel *kernel = table_kernel(ctx);
    kc_function *sum = NULL, *twice = NULL, *merged = NULL, *none = NULL;
    double coef[N], before[N], after[N];

    table_make(&t, 5, N, KC_F32, KC_F64);
    for (size_t i = 0; i < N; i++)
        coef[i] = 1 + (double)(i % 7);
    kc_function *f = make(kernel, t.parts, KC_F64, coef);
    REQUIRE(kc_function_combine(ctx, NULL, 1, f, 2, f, &sum, NULL) == KC_OK);
    REQUIRE(kc_function_merge(ctx, NULL, sum, &merged, NULL) == KC_OK);
    CHECK(n_points(merged) == N);
    CHECK(kc_function_coef(merged, after, N, NULL) == KC_OK);
    for (size_t i = 0; i < N; i++)
        CHECK(after[i] == 3 * coef[i]);
    CHECK(kc_function_evaluate(ctx, NULL, merged, t.parts, KC_PER_OUTPUT, after, 1, NULL) == KC_OK);
    CHECK(kc_function_evaluate(ctx, NULL, f, t.parts, KC_PER_OUTPUT, before, 1, NULL) == KC_OK);
    for (size_t i = 0; i < N; i++)
        CHECK_NEAR(after[i], 3 * before[i], 1e-11);
    CHECK_NEAR(inner(merged, f, 1), 3 * inner(f, f, 1), 1e-9);

    REQUIRE(kc_function_combine(ctx, NULL, 1, sum, -1, sum, &twice, NULL) == KC_OK);
    REQUIRE(kc_function_merge(ctx, NULL, twice, &none, NULL) == KC_OK);
    CHECK(n_points(none) == 0 && inner(none, f, 1) == 0);
    CHECK(kc_function_evaluate(ctx, NULL, none, t.parts, KC_PER_OUTPUT, after, 1, NULL) == KC_OK);
    CHECK(after[0] == 0);
    kc_function_free(ctx, none);
    kc_function_free(ctx, twice);
    kc_function_free(ctx, merged);
    kc_function_free(ctx, sum);
    kc_function_free(ctx, f);
    kc_kernel_free(ctx, kernel);
    table_free(&t);
}

static void sections_reproduce_values(void)
{
    pair p = make_pair();
    kc_kernel *kernel = make_kernel("rbf", 0.02);
    kc_function *f = make_of(kernel, &p.x, REF_CSR, KC_F64, p.a);
    double values[M];
    kc_error err;

    evaluate(f, &p.z, values);
    for (size_t i = 0; i < M; i++) {
        const ref_samples one = {.n = 1, .d = D, .x = p.z.x + i * D};
        ref_view x = ref_view_make(&one, REF_DENSE, KC_F64);
        kc_function *section = NULL;

        REQUIRE(kc_kernel_section(ctx, NULL, kernel, &x.points, KC_F64, &section, NULL) == KC_OK);
        CHECK_NEAR(inner(section, f, 1), values[i], 1e-13);
        CHECK(inner(section, section, 1) == 1);
        kc_function_free(ctx, section);
        ref_view_free(&x);
    }
    ref_view many = ref_view_make(&p.z, REF_DENSE, KC_F64);
    kc_function *section = NULL;
    CHECK(kc_kernel_section(ctx, NULL, kernel, &many.points, KC_F64, &section, &err) ==
          KC_ERR_SHAPE);
    CHECK(strstr(err.text, "31 rows, must be one sample") != NULL);
    ref_view_free(&many);
    kc_function_free(ctx, f);
    kc_kernel_free(ctx, kernel);
    free_pair(&p);
}

static void outputs_leave_intercepts_and_other_points_behind(void)
{
    enum { FEW = 4 };
    ref_samples x = ref_random(7, FEW, 2, 1, KC_F64);
    ref_view view = ref_view_make(&x, REF_DENSE, KC_F64);
    kc_kernel *kernel = make_kernel("rbf", 0.5);
    const double coef[2 * FEW] = {1, 0, 2, 0, 0, 0, 3, 0}, intercepts[2] = {5, 7};
    const kc_function_parts parts = {
        .struct_size = sizeof parts,
        .kernel = kernel,
        .x = &view.points,
        .dtype = KC_F64,
        .n_points = FEW,
        .n_cols = 2,
        .n_outputs = 2,
        .coef = coef,
        .intercepts = intercepts,
        .decoder = KC_DECODE_VALUES,
    };
    kc_function *f = NULL, *output = NULL;
    double both[2 * FEW], one[FEW], found[2];
    kc_error err;

    REQUIRE(kc_function_create(ctx, NULL, &parts, &f, NULL) == KC_OK);
    CHECK(kc_function_evaluate(ctx, NULL, f, &view.points, KC_PER_OUTPUT, both, 2, NULL) == KC_OK);
    REQUIRE(kc_function_output(ctx, NULL, f, 0, &output, NULL) == KC_OK);
    CHECK(n_points(output) == 2 && kc_function_coef(output, found, 2, NULL) == KC_OK);
    CHECK(found[0] == 1 && found[1] == 2);
    evaluate(output, &x, one);
    for (size_t i = 0; i < FEW; i++)
        CHECK_NEAR(one[i] + 5, both[2 * i], 1e-14);
    CHECK(kc_function_inner(ctx, NULL, f, output, found, &err) == KC_ERR_SHAPE);
    CHECK(strstr(err.text, "f has 2 outputs") != NULL);
    kc_function_free(ctx, output);
    CHECK(kc_function_output(ctx, NULL, f, 2, &output, &err) == KC_ERR_ARG);
    kc_function_free(ctx, f);
    kc_kernel_free(ctx, kernel);
    ref_view_free(&view);
    ref_samples_free(&x);
}

static void functions_that_do_not_fit_together_are_refused(void)
{
    pair p = make_pair();
    kc_kernel *kernel = make_kernel("rbf", 0.5), *other = make_kernel("rbf", 0.25);
    kc_kernel *left = NULL, *right = NULL;
    const int32_t columns[] = {1, 2, 1};
    ref_samples narrow = {.n = 1, .d = 3, .x = p.x.x};
    kc_function *f = make_of(kernel, &p.x, REF_DENSE, KC_F64, p.a), *out = NULL;
    kc_function *g = make_of(other, &p.x, REF_DENSE, KC_F64, p.a);
    kc_function *h = make_of(kernel, &narrow, REF_DENSE, KC_F64, p.a);
    double value;
    kc_error err;

    CHECK(kc_function_combine(ctx, NULL, 1, f, 1, g, &out, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "different kernels") != NULL);
    CHECK(kc_function_inner(ctx, NULL, f, g, &value, &err) == KC_ERR_ARG);
    CHECK(kc_function_inner(ctx, NULL, f, h, &value, &err) == KC_ERR_SHAPE);
    CHECK(strstr(err.text, "70 and 3") != NULL);
    CHECK(kc_function_combine(ctx, NULL, 1e308, f, 1, NULL, &out, &err) == KC_OK);
    kc_function_free(ctx, out);
    CHECK(kc_function_combine(ctx, NULL, HUGE_VAL, f, 1, NULL, &out, &err) == KC_ERR_RANGE);
    CHECK(kc_function_inner(ctx, NULL, NULL, f, &value, &err) == KC_ERR_ARG);
    CHECK(kc_function_merge(ctx, NULL, f, NULL, &err) == KC_ERR_ARG);
    kc_function_free(ctx, g);
    kc_function_free(ctx, h);

    CHECK(kc_kernel_on(ctx, kernel, columns, 2, &left, NULL) == KC_OK);
    CHECK(kc_kernel_on(ctx, kernel, columns + 1, 2, &right, NULL) == KC_OK);
    g = make_of(left, &p.x, REF_DENSE, KC_F64, p.a);
    h = make_of(right, &p.x, REF_DENSE, KC_F64, p.a);
    CHECK(kc_function_inner(ctx, NULL, g, h, &value, &err) == KC_ERR_ARG); /* other columns */
    CHECK(kc_function_inner(ctx, NULL, g, f, &value, &err) == KC_ERR_ARG);
    CHECK(kc_function_inner(ctx, NULL, g, g, &value, &err) == KC_OK);
    kc_function_free(ctx, f);
    kc_function_free(ctx, g);
    kc_function_free(ctx, h);
    kc_kernel_free(ctx, left);
    kc_kernel_free(ctx, right);
    kc_kernel_free(ctx, kernel);
    kc_kernel_free(ctx, other);
    free_pair(&p);
}

/* All that may fail for want of memory: the sum of f and g, merged, times f. */
static kc_status run_all(const kc_function *f, const kc_function *g, kc_error *err)
{
    kc_function *sum = NULL, *merged = NULL;
    double value;
    kc_status status = kc_function_combine(ctx, NULL, 1, f, 1, g, &sum, err);

    if (status == KC_OK)
        status = kc_function_merge(ctx, NULL, sum, &merged, err);
    if (status == KC_OK)
        status = kc_function_inner(ctx, NULL, merged, g, &value, err);
    kc_function_free(ctx, sum);
    kc_function_free(ctx, merged);
    return status;
}

static void refused_memory_is_an_error_and_nothing_more(void)
{
    pair p = make_pair();
    kc_kernel *kernel = make_kernel("rbf", 0.5);
    kc_function *f = make_of(kernel, &p.x, REF_CSR, KC_F32, p.a);
    kc_function *g = make_of(kernel, &p.z, REF_DENSE, KC_F64, p.b);
    size_t n_refused = 0;
    kc_error err;

    kc_context_trim(ctx);
    for (size_t n = 1;; n++) {
        const size_t held = atomic_load(&fault.n_blocks);

        kc_fault_arm(&fault, n, KC_FAULT_ALL);
        const kc_status status = run_all(f, g, &err);
        if (!kc_fault_disarm(&fault)) {
            CHECK(status == KC_OK);
            break;
        }
        /* Without memory for helping threads, one does the work. */
        CHECK(status == KC_ERR_NOMEM || status == KC_OK);
        n_refused += status == KC_ERR_NOMEM;
        kc_context_trim(ctx);
        CHECK(atomic_load(&fault.n_blocks) <= held);
    }
    CHECK(n_refused > 5);
    kc_function_free(ctx, f);
    kc_function_free(ctx, g);
    kc_kernel_free(ctx, kernel);
    free_pair(&p);
}

static int stop(void *data, const kc_progress *progress)
{
    (void)data;
    (void)progress;
    return KC_CANCEL;
}

static void a_long_inner_product_can_be_stopped(void)
{
    enum { MANY = 20000 };
    ref_samples x = ref_random(9, MANY, 3, 1, KC_F64);
    kc_kernel *kernel = make_kernel("rbf", 0.5);
    double *coef = calloc(MANY, sizeof *coef), value;
    kc_function *f = make_of(kernel, &x, REF_DENSE, KC_F64, coef);
    const kc_run run = {.struct_size = sizeof run, .n_threads = 1, .on_progress = stop};

    CHECK(kc_function_inner(ctx, &run, f, f, &value, NULL) == KC_ERR_CANCELLED);
    kc_function_free(ctx, f);
    free(coef);
    kc_kernel_free(ctx, kernel);
    ref_samples_free(&x);
}

int main(void)
{
    ctx = kc_fault_context((kc_context_config){.n_threads = 2}, &fault);
    RUN(inner_products_are_their_sums_in_every_storage_and_type);
    RUN(combinations_have_the_values_they_say);
    RUN(merging_puts_equal_points_together);
    RUN(sections_reproduce_values);
    RUN(outputs_leave_intercepts_and_other_points_behind);
    RUN(functions_that_do_not_fit_together_are_refused);
    RUN(refused_memory_is_an_error_and_nothing_more);
    RUN(a_long_inner_product_can_be_stopped);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
    return kc_test_end();
}
