/* kernel/kc_leaf_function.c: C functions of the caller's as kernels, alone and in expressions. */
#include "base/kc_rng.h"
#include "kernel_case.h"

static kc_context *ctx;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

/* ---- Functions ----------------------------------------------------------------------------- */

/* x.z of samples in any form, plus the number that `data` points to. */
static double dot(void *data, const kc_sample *x, const kc_sample *z)
{
    double sum = 0;

    for (int64_t i = 0; i < x->n; i++)
        for (int64_t j = 0; j < z->n; j++)
            if ((x->columns != NULL ? x->columns[i] : i) ==
                (z->columns != NULL ? z->columns[j] : j))
                sum += x->values[i] * z->values[j];
    return sum + *(const double *)data;
}

static void dots(void *data, const kc_sample *x, int64_t n_x, const kc_sample *z, int64_t n_z,
                 double *out, int64_t ld)
{
    for (int64_t i = 0; i < n_x; i++)
        for (int64_t j = 0; j < n_z; j++)
            out[i * ld + j] = dot(data, &x[i], &z[j]);
}

static double infinite(void *data, const kc_sample *x, const kc_sample *z)
{
    (void)data;
    return x->values[0] * z->values[0] > 0 ? INFINITY : 1.0;
}

static double term = 0.5;

static kc_kernel *make(kc_pair_fn *pair, kc_block_fn *block)
{
    const kc_kernel_function function = {.struct_size = sizeof function,
                                         .pair = pair,
                                         .block = block,
                                         .data = &term,
                                         .definiteness = KC_POSITIVE};
    kc_kernel *kernel = NULL;

    CHECK(kc_kernel_from_function(ctx, &function, &kernel, NULL) == KC_OK);
    return kernel;
}

/* ---- Values -------------------------------------------------------------------------------- */

#define N_X ((size_t)37)
#define N_Z ((size_t)70)

/* Dense and CSR on either side, within the bound of the value that it is. */
static void check_values(const kc_kernel *kernel, size_t d, kc_dtype dtype)
{
    ref_samples x = ref_random(d, N_X, d, 0.3, dtype), z = ref_random(d + 1, N_Z, d, 0.3, dtype);
    const ref_form forms[] = {REF_DENSE, REF_CSR};

    for (size_t a = 0; a < 2; a++)
        for (size_t b = 0; b < 2; b++) {
            ref_view xv, zv;
            kc_packed px = pack_samples(ctx, &x, forms[a], dtype, &xv);
            kc_packed pz = pack_samples(ctx, &z, forms[b], dtype, &zv);
            void *out = fill_all(kernel, &px, &pz);
            double worst = 0;

            for (size_t i = 0; i < N_X; i++)
                for (size_t j = 0; j < N_Z; j++) {
                    const ref_value exact = ref_dot(x.x + i * d, z.x + j * d, d, KC_F64);
                    const ref_value ref = ref_affine(exact, 1, term, dtype);

                    worst = fmax(worst, ref_excess(ref_get(out, i * N_Z + j, dtype), ref));
                }
            CHECK(worst <= 1);
            free(out);
            kc_packed_free(ctx, &px);
            kc_packed_free(ctx, &pz);
            ref_view_free(&xv);
            ref_view_free(&zv);
        }
    ref_samples_free(&x);
    ref_samples_free(&z);
}

static void a_function_is_asked_about_samples_in_either_form(void)
{
    kc_kernel *pair = make(dot, NULL), *block = make(NULL, dots);

    for (size_t k = 0; k < 2; k++) {
        check_values(pair, 5, dtypes[k]);
        check_values(pair, 200, dtypes[k]);
        check_values(block, 5, dtypes[k]);
        check_values(block, 200, dtypes[k]);
    }
    kc_kernel_free(ctx, pair);
    kc_kernel_free(ctx, block);
}

static void the_diagonal_is_that_of_the_matrix(void)
{
    ref_samples x = ref_random(3, N_X, 200, 0.3, KC_F64);
    ref_view view;
    kc_packed p = pack_samples(ctx, &x, REF_CSR, KC_F64, &view);
    kc_kernel *kernel = make(dot, NULL);
    const kc_plan plan = kc_plan_make(kernel, &p, &p);
    double *all = fill_all(kernel, &p, &p), diag[N_X];
    void *workspace = NULL;

    if (posix_memalign(&workspace, KC_ALIGN, kc_plan_workspace(&plan, 1)) != 0)
        abort();
    CHECK(kc_plan_diag(&plan, 0, N_X, diag, workspace));
    for (size_t i = 0; i < N_X; i++)
        CHECK(diag[i] == all[i * N_X + i]);
    free(workspace);
    free(all);
    kc_kernel_free(ctx, kernel);
    kc_packed_free(ctx, &p);
    ref_view_free(&view);
    ref_samples_free(&x);
}

static void a_value_that_is_not_finite_is_told(void)
{
    ref_samples x = ref_random(3, N_X, 5, 1, KC_F64);
    ref_view view;
    kc_packed p = pack_samples(ctx, &x, REF_DENSE, KC_F64, &view);
    kc_kernel *kernel = make(infinite, NULL);
    double out[N_X * N_X];
    const kc_block block = {.x = &p, .n_rows = N_X, .z = &p, .n_cols = N_X, .out = out, .ld = N_X};

    CHECK(!fill_block(kernel, &block));
    kc_kernel_free(ctx, kernel);
    kc_packed_free(ctx, &p);
    ref_view_free(&view);
    ref_samples_free(&x);
}

/* ---- As a leaf ----------------------------------------------------------------------------- */

static void functions_combine_with_other_leaves(void)
{
    kc_kernel *function = make(dot, NULL), *rbf = NULL, *sum = NULL, *twice = NULL;
    const double gamma = 0.1;
    ref_samples x = ref_random(3, N_X, 5, 1, KC_F64);
    ref_view view;
    kc_packed p = pack_samples(ctx, &x, REF_DENSE, KC_F64, &view);

    REQUIRE(kc_kernel_leaf(ctx, "rbf", &gamma, 1, &rbf, NULL) == KC_OK);
    const kc_kernel *terms[] = {function, rbf};
    REQUIRE(kc_kernel_sum(ctx, terms, 2, &sum, NULL) == KC_OK);
    REQUIRE(kc_kernel_scaled(ctx, sum, 2, &twice, NULL) == KC_OK);
    CHECK(kc_kernel_definiteness(twice) == KC_POSITIVE);
    double *a = fill_all(function, &p, &p), *b = fill_all(rbf, &p, &p),
           *c = fill_all(twice, &p, &p);
    for (size_t k = 0; k < N_X * N_X; k++)
        CHECK(c[k] == 2 * (a[k] + b[k]));
    free(a);
    free(b);
    free(c);
    kc_kernel *const kernels[] = {function, rbf, sum, twice};
    for (size_t k = 0; k < COUNT(kernels); k++)
        kc_kernel_free(ctx, kernels[k]);
    kc_packed_free(ctx, &p);
    ref_view_free(&view);
    ref_samples_free(&x);
}

/* A fit and its predictions ask the same function; nothing but the model is needed to predict. */
static void a_model_predicts_with_the_function_it_was_fitted_with(void)
{
    enum { N = 60, D = 4 };
    ref_samples x = ref_random(11, N, D, 1, KC_F64);
    ref_view view = ref_view_make(&x, REF_DENSE, KC_F64);
    kc_kernel *function = make(dot, NULL);
    kc_svm_settings settings;
    int32_t classes[N], predicted[N];
    kc_svm_data data = {
        .struct_size = sizeof data, .x = &view.points, .classes = classes, .n_classes = 2};
    kc_model *model = NULL;
    int n_right = 0;

    for (size_t i = 0; i < N; i++)
        classes[i] = x.x[i * D] + x.x[i * D + 1] > 0;
    kc_svm_settings_init(&settings, sizeof settings);
    settings.C = 100;
    REQUIRE(kc_svm_fit(ctx, NULL, &settings, function, &data, &model, NULL, NULL, NULL) == KC_OK);
    kc_kernel_free(ctx, function);
    CHECK(kc_function_predict(ctx, NULL, kc_model_function(model), &view.points, 0, predicted,
                              NULL) == KC_OK);
    for (size_t i = 0; i < N; i++)
        n_right += predicted[i] == classes[i];
    CHECK(n_right >= N - 2);
    kc_model_free(ctx, model);
    ref_view_free(&view);
    ref_samples_free(&x);
}

/* ---- Refusals ------------------------------------------------------------------------------ */

static void is_refused(kc_kernel_function function, const char *text)
{
    kc_kernel *kernel = NULL;
    kc_error err = {0};

    CHECK(kc_kernel_from_function(ctx, &function, &kernel, &err) == KC_ERR_ARG && kernel == NULL);
    CHECK(strcmp(err.text, text) == 0);
}

static void what_is_no_function_is_refused(void)
{
    const kc_kernel_function good = {
        .struct_size = sizeof good, .pair = dot, .definiteness = KC_POSITIVE};
    kc_kernel_function bad = good;

    bad.pair = NULL;
    is_refused(bad, "function: none of pair and block are given, must be one");
    bad = good;
    bad.block = dots;
    is_refused(bad, "function: both of pair and block are given, must be one");
    bad = good;
    bad.definiteness = (kc_definiteness)7;
    is_refused(bad, "function.definiteness is 7, must be 0 to 2");
    bad = good;
    bad.work = -1;
    is_refused(bad, "function.work is -1, must be finite and >= 0");
    CHECK(kc_kernel_from_function(ctx, NULL, NULL, NULL) == KC_ERR_ARG);
}

/* ---- Owners -------------------------------------------------------------------------------- */

static void hold(void *owner)
{
    ++*(int *)owner;
}

static void drop(void *owner)
{
    --*(int *)owner;
}

static void an_owner_is_held_by_every_kernel_that_calls_its_function(void)
{
    int n_holders = 0;
    const kc_kernel_function function = {.struct_size = sizeof function,
                                         .pair = dot,
                                         .data = &term,
                                         .owner = &n_holders,
                                         .retain = hold,
                                         .release = drop};
    const int32_t column = 0;
    kc_kernel *made = NULL, *sum = NULL, *on = NULL, *copy = NULL, *deep = NULL;
    kc_kernel_function bad = function;

    REQUIRE(kc_kernel_from_function(ctx, &function, &made, NULL) == KC_OK);
    CHECK(n_holders == 1 && kc_kernel_has_function(made) == 1);
    REQUIRE(kc_kernel_sum(ctx, (const kc_kernel *const[]){made, made}, 2, &sum, NULL) == KC_OK);
    CHECK(n_holders == 3);
    REQUIRE(kc_kernel_on(ctx, made, &column, 1, &on, NULL) == KC_OK);
    REQUIRE(kc_kernel_copy(ctx, sum, &copy, NULL) == KC_OK);
    CHECK(n_holders == 6);
    for (int i = 0; i < 9; i++) { /* to 1024 operands: refused, and nothing is held of them */
        kc_kernel *next = NULL;
        const kc_kernel *const twice[] = {sum, sum};

        if (kc_kernel_sum(ctx, twice, 2, &next, NULL) != KC_OK)
            break;
        kc_kernel_free(ctx, sum);
        sum = next;
    }
    kc_kernel_free(ctx, sum);
    CHECK(n_holders == 4);
    kc_kernel_free(ctx, made);
    kc_kernel_free(ctx, on);
    kc_kernel_free(ctx, copy);
    CHECK(n_holders == 0);
    bad.release = NULL;
    is_refused(bad, "function has one of retain and release, must have both");
    REQUIRE(kc_kernel_leaf(ctx, "linear", NULL, 0, &deep, NULL) == KC_OK);
    CHECK(kc_kernel_has_function(deep) == 0);
    kc_kernel_free(ctx, deep);
}

int main(void)
{
    ctx = new_context();
    RUN(a_function_is_asked_about_samples_in_either_form);
    RUN(the_diagonal_is_that_of_the_matrix);
    RUN(a_value_that_is_not_finite_is_told);
    RUN(functions_combine_with_other_leaves);
    RUN(a_model_predicts_with_the_function_it_was_fitted_with);
    RUN(what_is_no_function_is_refused);
    RUN(an_owner_is_held_by_every_kernel_that_calls_its_function);
    kc_context_free(ctx);
    return kc_test_end();
}
