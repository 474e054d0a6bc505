/* Models: what they say of themselves, made again from it, used by many threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "kc_test.h"
#include "svm_case.h"

static kc_context *ctx;

static const ref_node linear = {.op = OP_LINEAR};
static const ref_node rbf = {.op = OP_RBF, .gamma = 0.3};

static kc_kernel *make_kernel(const ref_node *node)
{
    kc_kernel *kernel = NULL;

    CHECK(ref_kernel_make(ctx, node, 1, &kernel, NULL) == KC_OK);
    return kernel;
}

static svm_fit fit_case(const svm_case *c, const kc_kernel *kernel, int32_t multiclass,
                        kc_precision precision)
{
    const kc_svm_data data = svm_data(c);
    kc_svm_settings settings = svm_settings(KC_C_SVC);

    settings.multiclass = multiclass;
    settings.precision = (int32_t)precision;
    return svm_fit_make(ctx, NULL, &settings, kernel, &data);
}

/* ---- Out and in again --------------------------------------------------------------------- */

/* The model made again from what it gave out; NULL on failure. */
static kc_model *make_again(const svm_fit *fit, const kc_kernel *kernel, const double *vectors,
                            kc_error *err)
{
    const kc_points x =
        svm_view(vectors, (size_t)fit->function.n_points, (size_t)fit->function.n_cols);
    const kc_model_parts parts = {
        .struct_size = sizeof parts,
        .type = fit->info.type,
        .multiclass = fit->info.multiclass,
        .n_classes = fit->info.n_classes,
        .dtype = fit->function.dtype,
        .n_problems = fit->function.n_outputs,
        .n_coef_rows = fit->info.n_coef_rows,
        .n_support = fit->function.n_points,
        .n_cols = fit->function.n_cols,
        .kernel = kernel,
        .x = vectors != NULL ? &x : NULL,
        .support = fit->support,
        .class_counts = fit->counts,
        .coef = fit->coef,
        .intercepts = fit->intercepts,
    };
    kc_model *model = NULL;

    CHECK((kc_model_create(ctx, &parts, &model, err) == KC_OK) == (model != NULL));
    return model;
}

static void check_round_trip(int32_t n_classes, int32_t multiclass, kc_precision precision,
                             const ref_node *node)
{
    svm_case c = svm_case_make(21, 120, 4, n_classes), at = svm_case_make(22, 50, 4, 2);
    kc_kernel *kernel = make_kernel(node);
    svm_fit fit = fit_case(&c, kernel, multiclass, precision);
    REQUIRE(fit.status == KC_OK);
    const size_t n_problems = (size_t)fit.function.n_outputs;
    double *vectors = malloc((size_t)fit.function.n_points * 4 * sizeof *vectors);
    double *a = malloc(50 * n_problems * sizeof *a), *b = malloc(50 * n_problems * sizeof *b);

    CHECK(kc_function_points(kc_model_function(fit.model), 0, vectors, fit.function.n_points * 4,
                             NULL) == KC_OK);
    for (size_t k = 0; k < (size_t)fit.function.n_points; k++)
        for (size_t t = 0; t < 4; t++) {
            const double x = c.x[(size_t)fit.support[k] * 4 + t];

            CHECK(vectors[k * 4 + t] == (precision == KC_PRECISION_F64 ? x : (double)(float)x));
        }
    kc_model *again = make_again(&fit, kernel, vectors, NULL);
    kc_kernel_free(ctx, kernel);
    REQUIRE(again != NULL);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(fit.model), &at.points, KC_PER_OUTPUT,
                               a, (int64_t)n_problems, NULL) == KC_OK);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(again), &at.points, KC_PER_OUTPUT, b,
                               (int64_t)n_problems, NULL) == KC_OK);
    CHECK(memcmp(a, b, 50 * n_problems * sizeof *a) == 0);
    kc_model_free(ctx, again);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
    svm_case_free(&at);
    free(vectors);
    free(a);
    free(b);
}

static void a_model_made_from_its_parts_gives_the_same_bits(void)
{
    check_round_trip(2, KC_ONE_VS_ONE, KC_PRECISION_F64, &rbf);
    check_round_trip(2, KC_ONE_VS_ONE, KC_PRECISION_F32, &linear);
    check_round_trip(4, KC_ONE_VS_ONE, KC_PRECISION_F32, &rbf);
    check_round_trip(4, KC_ONE_VS_REST, KC_PRECISION_F64, &rbf);
}

static void parts_that_do_not_fit_together_are_refused(void)
{
    svm_case c = svm_case_make(23, 60, 4, 3);
    kc_kernel *kernel = make_kernel(&rbf);
    svm_fit fit = fit_case(&c, kernel, KC_ONE_VS_ONE, KC_PRECISION_F64);
    REQUIRE(fit.status == KC_OK);
    const kc_model_info info = fit.info;
    const kc_function_info function = fit.function;
    const double coef = fit.coef[0];
    double *vectors = malloc((size_t)function.n_points * 4 * sizeof *vectors);
    kc_error err;

    CHECK(kc_function_points(kc_model_function(fit.model), 0, vectors, fit.function.n_points * 4,
                             NULL) == KC_OK);
#define REFUSED(change, words)                                                                     \
    do {                                                                                           \
        change;                                                                                    \
        CHECK(make_again(&fit, kernel, vectors, &err) == NULL);                                    \
        CHECK(strstr(err.text, words) != NULL);                                                    \
        fit.info = info;                                                                           \
        fit.function = function;                                                                   \
    } while (0)
    REFUSED(fit.info.type = 9, "type is 9");
    REFUSED(fit.info.n_classes = 1, "n_classes is 1");
    REFUSED(fit.info.multiclass = 0, "multiclass");
    REFUSED(fit.function.n_outputs = 4, "n_problems is 4");
    REFUSED(fit.info.n_coef_rows = 3, "n_coef_rows is 3");
    REFUSED(fit.function.n_points = -1, "n_support is -1");
    REFUSED(fit.function.dtype = (kc_dtype)7, "dtype");
    REFUSED(fit.counts[0]++, "add up");
    REFUSED(fit.counts[0] = -1, "class_counts[0]");
    fit.counts[0] = (int32_t)function.n_points - fit.counts[1] - fit.counts[2];
    REFUSED(fit.coef[0] = HUGE_VAL, "coef has inf");
    fit.coef[0] = coef;
    REFUSED(vectors[2] = (double)NAN, "row 0");
#undef REFUSED
    vectors[2] = 0;
    CHECK(make_again(&fit, NULL, vectors, &err) == NULL);
    CHECK(strstr(err.text, "parts.x is given without parts.kernel") != NULL);
    CHECK(make_again(&fit, kernel, NULL, &err) == NULL);
    CHECK(strcmp(err.text, "parts.x is NULL") == 0);
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
    free(vectors);
}

static void what_a_model_does_not_have_it_does_not_give(void)
{
    svm_case c = svm_case_make(23, 30, 4, 2);
    double k[900], out[30 * 4];
    kc_kernel *kernel = make_kernel(&rbf);
    const kc_points matrix = svm_view(k, 30, 30);
    kc_svm_data data = svm_data(&c);
    kc_svm_settings settings = svm_settings(KC_EPS_SVR);
    int32_t classes[30];
    kc_error err;

    CHECK(kc_gram(ctx, NULL, kernel, &c.points, NULL, KC_F64, k, 30, NULL) == KC_OK);
    data.x = &matrix;
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, NULL, &data);
    REQUIRE(fit.status == KC_OK);
    CHECK(kc_function_points(kc_model_function(fit.model), 0, out, 120, &err) == KC_ERR_TYPE);
    CHECK(kc_function_weights(kc_model_function(fit.model), out, 4, &err) == KC_ERR_TYPE);
    CHECK(kc_function_predict(ctx, NULL, kc_model_function(fit.model), &matrix, 0, classes, &err) ==
          KC_ERR_TYPE);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(fit.model), &c.points, KC_PER_OUTPUT,
                               out, 1, &err) == KC_ERR_SHAPE);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(fit.model), &matrix, KC_PER_OUTPUT, out,
                               0, &err) == KC_ERR_SHAPE);
    k[31 * 3] = (double)NAN; /* the diagonal of a support vector, or of none */
    const kc_status status = kc_function_evaluate(ctx, NULL, kc_model_function(fit.model), &matrix,
                                                  KC_PER_OUTPUT, out, 1, &err);
    CHECK(status == KC_OK ||
          (status == KC_ERR_NONFINITE && strstr(err.text, "row 3, column 3") != NULL));
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

/* ---- Given matrices ----------------------------------------------------------------------- */

static void support_columns_are_enough_of_a_matrix(void)
{
    svm_case c = svm_case_make(24, 80, 3, 2);
    double *k = malloc(80 * 80 * sizeof *k), *part = malloc(80 * 80 * sizeof *part);
    double a[80], b[80];
    kc_kernel *kernel = make_kernel(&rbf);
    const kc_points matrix = svm_view(k, 80, 80);
    kc_svm_data data = svm_data(&c);
    kc_svm_settings settings = svm_settings(KC_C_SVC);

    CHECK(kc_gram(ctx, NULL, kernel, &c.points, NULL, KC_F64, k, 80, NULL) == KC_OK);
    data.x = &matrix;
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, NULL, &data);
    REQUIRE(fit.status == KC_OK);
    const size_t n_support = (size_t)fit.function.n_points;
    REQUIRE(n_support < 80);
    for (size_t i = 0; i < 80; i++)
        for (size_t j = 0; j < n_support; j++)
            part[i * n_support + j] = k[i * 80 + (size_t)fit.support[j]];
    const kc_points columns = svm_view(part, 80, n_support);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(fit.model), &matrix, KC_PER_OUTPUT, a,
                               1, NULL) == KC_OK);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(fit.model), &columns, KC_PER_OUTPUT, b,
                               1, NULL) == KC_OK);
    CHECK(memcmp(a, b, sizeof a) == 0);
    kc_model *again = make_again(&fit, NULL, NULL, NULL);
    REQUIRE(again != NULL);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(again), &matrix, KC_PER_OUTPUT, b, 1,
                               NULL) == KC_OK);
    CHECK(memcmp(a, b, sizeof a) == 0);
    kc_model_free(ctx, again);
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
    free(k);
    free(part);
}

/* ---- Prediction --------------------------------------------------------------------------- */

static void predictions_follow_from_the_decision_values(void)
{
    svm_case c = svm_case_make(25, 200, 3, 4);
    kc_kernel *kernel = make_kernel(&rbf);

    for (int32_t multiclass = KC_ONE_VS_ONE; multiclass <= KC_ONE_VS_REST; multiclass++) {
        svm_fit fit = fit_case(&c, kernel, multiclass, KC_PRECISION_AUTO);
        double values[200 * 4];
        int32_t classes[200], broken[200];
        int n_right = 0;

        REQUIRE(fit.status == KC_OK);
        CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(fit.model), &c.points, KC_PER_CLASS,
                                   values, 4, NULL) == KC_OK);
        CHECK(kc_function_predict(ctx, NULL, kc_model_function(fit.model), &c.points, 0, classes,
                                  NULL) == KC_OK);
        CHECK(kc_function_predict(ctx, NULL, kc_model_function(fit.model), &c.points, 1, broken,
                                  NULL) == KC_OK);
        for (size_t i = 0; i < 200; i++) {
            int32_t best = 0;

            for (int32_t k = 1; k < 4; k++)
                best = values[i * 4 + (size_t)k] > values[i * 4 + (size_t)best] ? k : best;
            CHECK(broken[i] == best);
            n_right += classes[i] == c.classes[i];
        }
        CHECK(n_right > 100);
        svm_fit_free(ctx, &fit);
    }
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

typedef struct reader {
    const kc_model *model;
    const svm_case *c;
    const double *wanted;
    int n_wrong;
} reader;

static void *read_often(void *data)
{
    reader *r = data;
    double values[300 * 3];

    for (int round = 0; round < 20; round++) {
        const size_t n = round % 2 == 0 ? 300 : 1 + (size_t)round;
        const kc_points view = svm_view(r->c->x, n, r->c->d);

        r->n_wrong += kc_function_evaluate(ctx, NULL, kc_model_function(r->model), &view,
                                           KC_PER_OUTPUT, values, 3, NULL) != KC_OK ||
                      memcmp(values, r->wanted, n * 3 * sizeof *values) != 0;
    }
    return NULL;
}

static void eight_threads_may_use_one_model(void)
{
    svm_case c = svm_case_make(26, 300, 3, 3);
    kc_kernel *kernel = make_kernel(&rbf);
    svm_fit fit = fit_case(&c, kernel, KC_ONE_VS_ONE, KC_PRECISION_F32);
    double wanted[300 * 3];
    pthread_t threads[8];
    reader readers[8];

    REQUIRE(fit.status == KC_OK);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(fit.model), &c.points, KC_PER_OUTPUT,
                               wanted, 3, NULL) == KC_OK);
    for (size_t k = 0; k < 8; k++) {
        readers[k] = (reader){fit.model, &c, wanted, 0};
        REQUIRE(pthread_create(&threads[k], NULL, read_often, &readers[k]) == 0);
    }
    for (size_t k = 0; k < 8; k++) {
        pthread_join(threads[k], NULL);
        CHECK(readers[k].n_wrong == 0);
    }
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(a_model_made_from_its_parts_gives_the_same_bits);
    RUN(parts_that_do_not_fit_together_are_refused);
    RUN(what_a_model_does_not_have_it_does_not_give);
    RUN(support_columns_are_enough_of_a_matrix);
    RUN(predictions_follow_from_the_decision_values);
    RUN(eight_threads_may_use_one_model);
    kc_context_free(ctx);
    return kc_test_end();
}
