/* Functions as a caller sees them: made of parts, read back, evaluated; and those of models. */
#include "kcore/kcore.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "fault.h"
#include "kc_test.h"
#include "ref_kernel.h"
#include "ref_points.h"
#include "svm_case.h"

enum { N = 37, D = 4, N_ROWS = 11, MAX_OUTPUTS = 6 };

static kc_context *ctx;
static const ref_node rbf = {.op = OP_RBF, .gamma = 0.3};
static const ref_node dot = {.op = OP_LINEAR};

static kc_kernel *make_kernel(const ref_node *node)
{
    kc_kernel *kernel = NULL;

    CHECK(ref_kernel_make(ctx, node, 1, &kernel, NULL) == KC_OK);
    return kernel;
}

/* ---- Functions of parts ------------------------------------------------------------------- */

typedef struct function_case {
    ref_samples points, x;
    double coef[MAX_OUTPUTS * N], intercepts[MAX_OUTPUTS];
} function_case;

static function_case make_case(void)
{
    function_case c = {
        .points = ref_random(1, N, D, 0.7, KC_F64),
        .x = ref_random(2, N_ROWS, D, 1, KC_F64),
    };
    kc_rng rng = kc_rng_seed(3);

    for (size_t k = 0; k < MAX_OUTPUTS * N; k++)
        c.coef[k] = 2 * kc_rng_uniform(&rng) - 1;
    for (size_t o = 0; o < MAX_OUTPUTS; o++)
        c.intercepts[o] = kc_rng_uniform(&rng) - 0.5;
    return c;
}

static void free_case(function_case *c)
{
    ref_samples_free(&c->points);
    ref_samples_free(&c->x);
}

static kc_function_parts parts_of(const function_case *c, const kc_kernel *kernel,
                                  const kc_points *x, kc_decoder decoder, int32_t n_classes)
{
    const int32_t k = n_classes;

    return (kc_function_parts){
        .struct_size = sizeof(kc_function_parts),
        .kernel = kernel,
        .x = x,
        .dtype = KC_F64,
        .n_points = N,
        .n_cols = D,
        .n_outputs = decoder == KC_DECODE_PAIRS     ? k * (k - 1) / 2
                     : decoder == KC_DECODE_LARGEST ? k
                                                    : 1,
        .coef = c->coef,
        .intercepts = c->intercepts,
        .decoder = (int32_t)decoder,
        .n_classes = n_classes,
    };
}

static kc_function *make(const kc_function_parts *parts, kc_error *err)
{
    kc_function *f = NULL;

    CHECK((kc_function_create(ctx, NULL, parts, &f, err) == KC_OK) == (f != NULL));
    return f;
}

static kc_function_info info_of(const kc_function *f)
{
    kc_function_info info = {.struct_size = sizeof info};

    CHECK(kc_function_describe(f, &info, NULL) == KC_OK);
    return info;
}

static void a_function_is_the_sum_that_it_says(void)
{
    function_case c = make_case();

    for (int form = 0; form < REF_N_FORMS; form++)
        for (int k = 0; k < 2; k++) {
            const ref_node *node = k == 0 ? &rbf : &dot;
            kc_kernel *kernel = make_kernel(node);
            ref_view points = ref_view_make(&c.points, (ref_form)form, KC_F64);
            ref_view x = ref_view_make(&c.x, (ref_form)((form + 2) % REF_N_FORMS), KC_F64);
            kc_function_parts parts = parts_of(&c, kernel, &points.points, KC_DECODE_VALUES, 0);
            double out[N_ROWS * 3];

            parts.n_outputs = 3;
            kc_function *f = make(&parts, NULL);
            kc_kernel_free(ctx, kernel);
            ref_view_free(&points); /* the function owns all it needs */
            REQUIRE(f != NULL);
            CHECK(kc_function_evaluate(ctx, NULL, f, &x.points, KC_PER_OUTPUT, out, 3, NULL) ==
                  KC_OK);
            for (size_t i = 0; i < N_ROWS; i++)
                for (size_t o = 0; o < 3; o++) {
                    long double sum = c.intercepts[o];

                    for (size_t p = 0; p < N; p++)
                        sum +=
                            (long double)c.coef[o * N + p] *
                            ref_kernel(node, 1, c.points.x + p * D, c.x.x + i * D, D, KC_F64).value;
                    CHECK_NEAR(out[i * 3 + o], (double)sum, 1e-13 * (double)N);
                }
            kc_function_free(ctx, f);
            ref_view_free(&x);
        }
    free_case(&c);
}

static void what_goes_in_comes_out_again(void)
{
    function_case c = make_case();
    kc_kernel *kernel = make_kernel(&dot);
    ref_view dense = ref_view_make(&c.points, REF_REVERSED, KC_F64);
    kc_function_parts parts = parts_of(&c, kernel, &dense.points, KC_DECODE_LARGEST, 3);
    kc_function *f = make(&parts, NULL);
    double coef[3 * N], intercepts[3], points[N * D], weights[3 * D];

    REQUIRE(f != NULL);
    const kc_function_info info = info_of(f);
    CHECK(info.decoder == KC_DECODE_LARGEST && info.n_classes == 3 && info.label_bytes == 0);
    CHECK(info.n_outputs == 3 && info.n_points == N && info.n_cols == D && info.n_parts == 1);
    CHECK(info.dtype == KC_F64 && !info.is_given && info.is_linear);
    CHECK(kc_kernel_definiteness(kc_function_kernel(f)) == KC_POSITIVE);
    CHECK(kc_function_coef(f, coef, 3 * N, NULL) == KC_OK);
    CHECK(memcmp(coef, c.coef, sizeof coef) == 0);
    CHECK(kc_function_intercepts(f, intercepts, 3, NULL) == KC_OK);
    CHECK(memcmp(intercepts, c.intercepts, sizeof intercepts) == 0);
    CHECK(kc_function_points(f, 0, points, N * D, NULL) == KC_OK);
    CHECK(memcmp(points, c.points.x, sizeof points) == 0);
    CHECK(kc_function_weights(f, weights, 3 * D, NULL) == KC_OK);
    for (size_t k = 0; k < (size_t)3 * D; k++) {
        long double sum = 0;

        for (size_t p = 0; p < N; p++)
            sum += (long double)c.coef[k / D * N + p] * c.points.x[p * D + k % D];
        CHECK_NEAR(weights[k], (double)sum, 1e-13 * (double)N);
    }
    kc_function_free(ctx, f);
    ref_view_free(&dense);
    kc_kernel_free(ctx, kernel);
    free_case(&c);
}

static void sparse_points_come_out_as_csr(void)
{
    enum { WIDE = 700, FEW = 5 };
    ref_samples points = ref_random(4, FEW, WIDE, 0.02, KC_F64);
    ref_view csr = ref_view_make(&points, REF_CSR_UNSORTED, KC_F64);
    kc_kernel *kernel = make_kernel(&rbf);
    const double coef[FEW] = {1, -1, 1, -1, 1};
    const kc_function_parts parts = {
        .struct_size = sizeof parts,
        .kernel = kernel,
        .x = &csr.points,
        .dtype = KC_F64,
        .n_points = FEW,
        .n_cols = WIDE,
        .n_outputs = 1,
        .coef = coef,
        .decoder = KC_DECODE_VALUES,
    };
    kc_function *f = make(&parts, NULL);
    int64_t indptr[FEW + 1];

    REQUIRE(f != NULL);
    kc_part_info part = {.struct_size = sizeof part};
    REQUIRE(kc_function_part(f, 0, &part, NULL) == KC_OK);
    REQUIRE(part.storage == KC_CSR && part.n_values > 0);
    int32_t *indices = malloc((size_t)part.n_values * sizeof *indices);
    double *values = malloc((size_t)part.n_values * sizeof *values);
    CHECK(kc_function_points_csr(f, 0, indptr, FEW, indices, values, part.n_values, NULL) ==
          KC_ERR_SHAPE);
    CHECK(kc_function_points_csr(f, 0, indptr, FEW + 1, indices, values, part.n_values - 1, NULL) ==
          KC_ERR_SHAPE);
    CHECK(kc_function_points_csr(f, 0, indptr, FEW + 1, indices, values, part.n_values, NULL) ==
          KC_OK);
    for (size_t i = 0; i < FEW; i++)
        for (int64_t k = indptr[i]; k < indptr[i + 1]; k++)
            CHECK(values[k] == points.x[i * WIDE + (size_t)indices[k]]);
    free(indices);
    free(values);
    kc_function_free(ctx, f);
    kc_kernel_free(ctx, kernel);
    ref_view_free(&csr);
    ref_samples_free(&points);
}

static void arrays_of_another_length_are_refused(void)
{
    function_case c = make_case();
    kc_kernel *kernel = make_kernel(&rbf);
    ref_view points = ref_view_make(&c.points, REF_DENSE, KC_F64);
    kc_function_parts parts = parts_of(&c, kernel, &points.points, KC_DECODE_SIGN, 2);
    kc_function *f = make(&parts, NULL);
    double out[N * D + 1] = {-7};
    kc_error err;

    REQUIRE(f != NULL);
    CHECK(kc_function_coef(f, out, N + 1, &err) == KC_ERR_SHAPE);
    CHECK(strstr(err.text, "room for 38, must have 37") != NULL);
    CHECK(kc_function_coef(f, NULL, N, &err) == KC_ERR_ARG);
    CHECK(kc_function_intercepts(f, out, 0, &err) == KC_ERR_SHAPE);
    CHECK(kc_function_points(f, 0, out, N * D - 1, &err) == KC_ERR_SHAPE);
    CHECK(kc_function_points(f, 0, out, -1, &err) == KC_ERR_SHAPE);
    CHECK(out[0] == -7);
    CHECK(kc_function_points_csr(f, 0, NULL, 0, NULL, NULL, 0, &err) == KC_ERR_TYPE);
    CHECK(kc_function_weights(f, out, D, &err) == KC_ERR_TYPE);
    CHECK(kc_function_columns(f, NULL, 0, &err) == KC_ERR_TYPE);
    CHECK(kc_function_labels(f, out, 0, &err) == KC_ERR_TYPE);
    kc_function_free(ctx, f);
    kc_function_free(ctx, NULL);
    ref_view_free(&points);
    kc_kernel_free(ctx, kernel);
    free_case(&c);
}

/* ---- Decoders and labels ------------------------------------------------------------------ */

static void classes_follow_from_the_values(void)
{
    const struct {
        kc_decoder decoder;
        int32_t n_classes;
    } all[] = {{KC_DECODE_SIGN, 2}, {KC_DECODE_PAIRS, 4}, {KC_DECODE_LARGEST, 5}};
    function_case c = make_case();
    kc_kernel *kernel = make_kernel(&rbf);
    ref_view points = ref_view_make(&c.points, REF_DENSE, KC_F64);
    ref_view x = ref_view_make(&c.x, REF_DENSE, KC_F64);

    for (size_t a = 0; a < sizeof all / sizeof all[0]; a++) {
        const kc_function_parts parts =
            parts_of(&c, kernel, &points.points, all[a].decoder, all[a].n_classes);
        const int32_t n_columns = parts.n_outputs == 1 ? 1 : all[a].n_classes;
        double values[N_ROWS * MAX_OUTPUTS];
        int32_t classes[N_ROWS];
        kc_function *f = make(&parts, NULL);

        REQUIRE(f != NULL);
        CHECK(kc_function_evaluate(ctx, NULL, f, &x.points, KC_PER_CLASS, values, n_columns - 1,
                                   NULL) == KC_ERR_SHAPE);
        CHECK(kc_function_evaluate(ctx, NULL, f, &x.points, KC_PER_CLASS, values, n_columns,
                                   NULL) == KC_OK);
        CHECK(kc_function_predict(ctx, NULL, f, &x.points, 1, classes, NULL) == KC_OK);
        for (int32_t i = 0; i < N_ROWS; i++) {
            const double *row = values + i * n_columns;
            int32_t best = n_columns == 1 ? row[0] > 0 : 0;

            for (int32_t k = 1; k < n_columns; k++)
                best = row[k] > row[best] ? k : best;
            CHECK(classes[i] == best);
        }
        kc_function_free(ctx, f);
    }
    ref_view_free(&x);
    ref_view_free(&points);
    kc_kernel_free(ctx, kernel);
    free_case(&c);
}

static void labels_of_any_type_are_kept(void)
{
    const char names[] = "setosa\0\0\0\0virginica\0versicolor";
    const int64_t numbers[] = {1LL << 40, 5, -3, 7};
    const double reals[] = {0.5, -0.0, INFINITY};
    const struct {
        kc_labels given;
        const void *kept;
    } all[] = {
        {{names, 3, 10, 10}, names},
        {{numbers, 3, sizeof *numbers, sizeof *numbers}, numbers},
        {{reals, 3, sizeof *reals, sizeof *reals}, reals},
        {{reals + 2, 3, sizeof *reals, -(int64_t)sizeof *reals}, (double[]){INFINITY, -0.0, 0.5}},
    };
    function_case c = make_case();
    kc_kernel *kernel = make_kernel(&rbf);
    ref_view points = ref_view_make(&c.points, REF_DENSE, KC_F64);
    kc_function_parts parts = parts_of(&c, kernel, &points.points, KC_DECODE_PAIRS, 3);
    kc_error err;
    char out[30];

    for (size_t a = 0; a < sizeof all / sizeof all[0]; a++) {
        const int64_t n_bytes = all[a].given.n_bytes;

        parts.labels = &all[a].given;
        kc_function *f = make(&parts, NULL);
        REQUIRE(f != NULL);
        CHECK(info_of(f).label_bytes == n_bytes);
        CHECK(kc_function_labels(f, out, 3 * n_bytes - 1, &err) == KC_ERR_SHAPE);
        CHECK(kc_function_labels(f, out, 3 * n_bytes, NULL) == KC_OK);
        CHECK(memcmp(out, all[a].kept, 3 * (size_t)n_bytes) == 0);
        kc_function_free(ctx, f);
    }
    const kc_labels four = {numbers, 4, sizeof *numbers, sizeof *numbers};
    parts.labels = &four;
    CHECK(make(&parts, &err) == NULL && strstr(err.text, "4 labels and 3 classes") != NULL);
    ref_view_free(&points);
    kc_kernel_free(ctx, kernel);
    free_case(&c);
}

static void parts_that_do_not_fit_together_are_refused(void)
{
    function_case c = make_case();
    kc_kernel *kernel = make_kernel(&rbf);
    ref_view points = ref_view_make(&c.points, REF_DENSE, KC_F64);
    const kc_function_parts whole = parts_of(&c, kernel, &points.points, KC_DECODE_SIGN, 2);
    const int32_t columns[N] = {0};
    kc_function_parts parts = whole;
    kc_error err;

#define REFUSED(change, words)                                                                     \
    do {                                                                                           \
        parts = whole;                                                                             \
        change;                                                                                    \
        CHECK(make(&parts, &err) == NULL);                                                         \
        CHECK(strstr(err.text, words) != NULL);                                                    \
    } while (0)
    REFUSED(parts.struct_size = 0, "struct_size");
    REFUSED(parts.decoder = 0, "decoder is 0");
    REFUSED(parts.decoder = KC_DECODE_VALUES, "n_classes is 2");
    REFUSED(parts.decoder = KC_DECODE_PAIRS, "n_classes is 2");
    REFUSED(parts.n_classes = 3, "n_classes is 3");
    REFUSED(parts.n_outputs = 2, "n_outputs is 2, must be 1");
    REFUSED((parts.decoder = KC_DECODE_VALUES, parts.n_classes = 0, parts.n_outputs = 0),
            "n_outputs is 0");
    REFUSED(parts.class_of_zero = 2, "class_of_zero is 2");
    REFUSED(parts.dtype = (kc_dtype)7, "dtype is 7");
    REFUSED(parts.n_points = -1, "n_points is -1");
    REFUSED(parts.n_points = N - 1, "37 x 4");
    REFUSED(parts.n_cols = D + 1, "37 x 4");
    REFUSED(parts.n_points = 0, "parts.x is 37 x 4, must be 0 x 4");
    REFUSED(parts.x = NULL, "points");
    REFUSED(parts.columns = columns, "parts.columns is given beside parts.kernel");
    REFUSED(parts.kernel = NULL, "parts.x is given without parts.kernel");
    REFUSED(parts.coef = NULL, "coef is NULL");
    c.coef[3] = NAN;
    REFUSED((void)0, "coef has nan at position 3");
    c.coef[3] = 0;
    c.intercepts[0] = HUGE_VAL;
    REFUSED((void)0, "intercepts has inf at position 0");
    c.intercepts[0] = 0;
    c.points.x[5] = NAN;
    ref_view_free(&points);
    points = ref_view_make(&c.points, REF_DENSE, KC_F64);
    REFUSED(parts.x = &points.points, "row 1, column 1");
#undef REFUSED
    CHECK(kc_function_create(ctx, NULL, NULL, NULL, &err) == KC_ERR_ARG);
    ref_view_free(&points);
    kc_kernel_free(ctx, kernel);
    free_case(&c);
}

static void a_function_without_points_is_its_intercepts(void)
{
    function_case c = make_case();
    kc_kernel *kernel = make_kernel(&rbf);
    ref_view x = ref_view_make(&c.x, REF_CSR, KC_F32);
    kc_function_parts parts = parts_of(&c, kernel, NULL, KC_DECODE_VALUES, 0);
    double out[N_ROWS];

    parts.n_points = 0;
    parts.coef = NULL;
    kc_function *f = make(&parts, NULL);
    REQUIRE(f != NULL);
    CHECK(kc_function_evaluate(ctx, NULL, f, &x.points, KC_PER_OUTPUT, out, 1, NULL) == KC_OK);
    CHECK(out[0] == c.intercepts[0] && out[N_ROWS - 1] == c.intercepts[0]);
    CHECK(kc_function_coef(f, NULL, 0, NULL) == KC_OK);
    CHECK(kc_function_points(f, 0, NULL, 0, NULL) == KC_OK);
    kc_function_free(ctx, f);
    ref_view_free(&x);
    kc_kernel_free(ctx, kernel);
    free_case(&c);
}

static void without_a_kernel_columns_of_the_matrix_are_points(void)
{
    const int32_t columns[2] = {3, 1};
    const double coef[2] = {2, -1}, matrix[4] = {10, 20, 30, 40};
    const kc_points x = svm_view(matrix, 1, 4), part = svm_view(matrix, 1, 2);
    kc_function_parts parts = {
        .struct_size = sizeof parts,
        .columns = columns,
        .dtype = KC_F64,
        .n_points = 2,
        .n_cols = 4,
        .n_outputs = 1,
        .coef = coef,
        .decoder = KC_DECODE_VALUES,
    };
    kc_function *f = make(&parts, NULL);
    int32_t found[2];
    double out;
    kc_error err;

    REQUIRE(f != NULL);
    CHECK(info_of(f).is_given && kc_function_kernel(f) == NULL);
    CHECK(kc_function_evaluate(ctx, NULL, f, &x, KC_PER_OUTPUT, &out, 1, NULL) == KC_OK);
    CHECK(out == 2 * 40 - 20);
    CHECK(kc_function_evaluate(ctx, NULL, f, &part, KC_PER_OUTPUT, &out, 1, NULL) == KC_OK);
    CHECK(out == 2 * 10 - 20);
    CHECK(kc_function_columns(f, found, 2, NULL) == KC_OK);
    CHECK(found[0] == 3 && found[1] == 1);
    CHECK(kc_function_points(f, 0, &out, 0, &err) == KC_ERR_TYPE);
    kc_function_free(ctx, f);
    parts.n_cols = 3;
    CHECK(make(&parts, &err) == NULL && strstr(err.text, "columns[0] is 3") != NULL);
}

/* ---- Functions of models ------------------------------------------------------------------ */

/* Made again with a coefficient for each output, the sums are cut in other places. */
static void a_model_gives_its_function_in_plain_form(void)
{
    svm_case c = svm_case_make(5, 150, D, 4);
    kc_kernel *kernel = make_kernel(&rbf);
    kc_svm_settings settings = svm_settings(KC_C_SVC);
    kc_svm_data data = svm_data(&c);
    const int16_t years[] = {1990, 1980, 2000, 1970};
    const kc_labels labels = {years, 4, sizeof *years, sizeof *years};
    int16_t kept[4];

    data.labels = &labels;
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    REQUIRE(fit.status == KC_OK);
    const kc_function *of_model = kc_model_function(fit.model);
    const kc_function_info info = info_of(of_model);
    const int64_t n = info.n_points;
    double *coef = malloc(6 * (size_t)n * sizeof *coef), intercepts[6];
    double *points = malloc((size_t)n * D * sizeof *points), a[150 * 6], b[150 * 6];
    CHECK(info.decoder == KC_DECODE_PAIRS && info.n_outputs == 6 && info.n_classes == 4);
    CHECK(n == fit.function.n_points);
    CHECK(kc_function_labels(of_model, kept, sizeof kept, NULL) == KC_OK);
    CHECK(memcmp(kept, years, sizeof years) == 0);
    CHECK(kc_function_coef(of_model, coef, 6 * n, NULL) == KC_OK);
    CHECK(kc_function_intercepts(of_model, intercepts, 6, NULL) == KC_OK);
    CHECK(kc_function_points(of_model, 0, points, n * D, NULL) == KC_OK);
    const kc_points x = svm_view(points, (size_t)n, D);
    const kc_function_parts parts = {
        .struct_size = sizeof parts,
        .kernel = kc_function_kernel(of_model),
        .x = &x,
        .dtype = info.dtype,
        .n_points = n,
        .n_cols = D,
        .n_outputs = 6,
        .coef = coef,
        .intercepts = intercepts,
        .decoder = info.decoder,
        .n_classes = 4,
    };
    kc_function *f = make(&parts, NULL);
    REQUIRE(f != NULL);
    CHECK(kc_function_evaluate(ctx, NULL, of_model, &c.points, KC_PER_OUTPUT, a, 6, NULL) == KC_OK);
    CHECK(kc_function_evaluate(ctx, NULL, f, &c.points, KC_PER_OUTPUT, b, 6, NULL) == KC_OK);
    for (size_t i = 0; i < (size_t)150 * 6; i++)
        CHECK_NEAR(a[i], b[i], 1e-12);
    kc_function_free(ctx, f);
    free(coef);
    free(points);
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

static void one_class_is_labelled_outside_and_inside(void)
{
    svm_case c = svm_case_make(6, 80, D, 2);
    kc_kernel *kernel = make_kernel(&rbf);
    kc_svm_settings settings = svm_settings(KC_ONE_CLASS);
    const kc_svm_data data = svm_data(&c);
    int32_t labels[2], classes[80], n_outside = 0;
    double values[80];

    settings.nu = 0.3;
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    REQUIRE(fit.status == KC_OK);
    const kc_function *f = kc_model_function(fit.model);
    CHECK(kc_function_labels(f, labels, sizeof labels, NULL) == KC_OK);
    CHECK(labels[0] == -1 && labels[1] == 1);
    CHECK(kc_function_evaluate(ctx, NULL, f, &c.points, KC_PER_OUTPUT, values, 1, NULL) == KC_OK);
    CHECK(kc_function_predict(ctx, NULL, f, &c.points, 0, classes, NULL) == KC_OK);
    for (int i = 0; i < 80; i++) {
        CHECK(classes[i] == (values[i] > 0));
        n_outside += classes[i] == 0;
    }
    CHECK(n_outside > 0 && n_outside < 80);
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

/* ---- Refused memory ----------------------------------------------------------------------- */

static void refused_memory_is_an_error_and_leaves_nothing_behind(void)
{
    function_case c = make_case();
    ref_view points = ref_view_make(&c.points, REF_DENSE, KC_F64);
    const kc_labels labels = {"noyes", 2, 2, 3};
    size_t n = 1;

    for (;; n++) {
        kc_fault fault;
        kc_context *in = kc_fault_context((kc_context_config){.n_threads = 1}, &fault);
        kc_kernel *kernel = NULL;
        kc_function *f = NULL;

        REQUIRE(in != NULL && ref_kernel_make(in, &dot, 1, &kernel, NULL) == KC_OK);
        kc_function_parts parts = parts_of(&c, kernel, &points.points, KC_DECODE_SIGN, 2);
        parts.labels = &labels;
        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        const kc_status status = kc_function_create(in, NULL, &parts, &f, NULL);
        const bool has_failed = kc_fault_disarm(&fault);
        CHECK(status == (has_failed ? KC_ERR_NOMEM : KC_OK) || status == KC_OK);
        CHECK((status == KC_OK) == (f != NULL));
        kc_function_free(in, f);
        kc_kernel_free(in, kernel);
        kc_context_free(in);
        CHECK(kc_fault_is_clean(&fault));
        if (!has_failed)
            break;
    }
    CHECK(n > 5);
    ref_view_free(&points);
    free_case(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(a_function_is_the_sum_that_it_says);
    RUN(what_goes_in_comes_out_again);
    RUN(sparse_points_come_out_as_csr);
    RUN(arrays_of_another_length_are_refused);
    RUN(classes_follow_from_the_values);
    RUN(labels_of_any_type_are_kept);
    RUN(parts_that_do_not_fit_together_are_refused);
    RUN(a_function_without_points_is_its_intercepts);
    RUN(without_a_kernel_columns_of_the_matrix_are_points);
    RUN(a_model_gives_its_function_in_plain_form);
    RUN(one_class_is_labelled_outside_and_inside);
    RUN(refused_memory_is_an_error_and_leaves_nothing_behind);
    kc_context_free(ctx);
    return kc_test_end();
}
