/* CSR arrays that another thread writes to during a call: what comes of it may be any values or an
 * error, but nothing is read or written outside of the arrays there are.
 *
 * A call is disturbed between any two of its steps that take memory, by an allocator that writes
 * wild numbers over the arrays when it is asked for the n-th time: for every n, so that the same
 * moments are met in every run.  Sanitizers see what is read then; without them, the numbers are
 * such that most wild places are no memory. */
#include <math.h>
#include <stdlib.h>

#include "fault.h"
#include "kc_test.h"
#include "ref_expr.h"
#include "ref_points.h"
#include "table_case.h"

#define N ((size_t)60)
#define PASSES 3

static struct {
    kc_fault fault; /* the allocator that memory comes from */
    ref_view *view;
    size_t at; /* the allocation, from 1, before which the arrays change; 0: never */
    size_t n_allocs;
    bool are_values_spoilt;
    int64_t *offsets; /* N + 1 of strings beside the view; NULL: there are none */
} spoiler;

/* Where no strings are: before the first byte, behind the last one, beyond memory. */
static void spoil_offsets(void)
{
    const int64_t wild[] = {-1, INT64_MAX, INT64_MIN, (int64_t)1 << 40, 5, 0};

    for (size_t i = 0; spoiler.offsets != NULL && i <= N; i++)
        spoiler.offsets[i] = wild[i % 6];
}

static void *spoil_and_alloc(void *data, size_t n_bytes, size_t alignment)
{
    const kc_points *p = &spoiler.view->points;

    (void)data;
    if (++spoiler.n_allocs == spoiler.at) {
        spoil_offsets();
        if (p->storage == KC_CSR)
            ref_view_spoil(spoiler.view);
        for (size_t k = 0; spoiler.are_values_spoilt && k < (size_t)p->n_values; k++)
            ref_put(spoiler.view->owned[0], k, p->dtype, k % 3 != 0 ? NAN : 1e30);
    }
    return spoiler.fault.allocator.alloc(&spoiler.fault, n_bytes, alignment);
}

static void free_as_ever(void *data, void *ptr, size_t n_bytes)
{
    (void)data;
    spoiler.fault.allocator.free(&spoiler.fault, ptr, n_bytes);
}

/* ---- What is called ----------------------------------------------------------------------- */

typedef struct inputs {
    const kc_points *x;
    int32_t classes[N];
    double *out; /* N x N, and what else there is room for */
} inputs;

typedef void call_fn(kc_context *ctx, const inputs *in);

static kc_kernel *kernel_of(kc_context *ctx, ref_op op)
{
    const ref_node node = {.op = op, .gamma = 0.1, .coef0 = 1, .degree = 2};
    kc_kernel *kernel = NULL;

    return ref_kernel_make(ctx, &node, 1, &kernel, NULL) == KC_OK ? kernel : NULL;
}

static void compute_gram(kc_context *ctx, const inputs *in)
{
    for (ref_op op = OP_LINEAR; op <= OP_LAPLACIAN; op++) {
        kc_kernel *kernel = kernel_of(ctx, op);

        CHECK(kernel == NULL || kc_gram(ctx, NULL, kernel, in->x, NULL, KC_F64, in->out, (int64_t)N,
                                        NULL) != KC_ERR_ARG);
        kc_kernel_free(ctx, kernel);
    }
}

static void look_at_values(kc_context *ctx, const inputs *in)
{
    CHECK(kc_variance(ctx, NULL, in->x, NULL, in->out, NULL) != KC_ERR_ARG);
    CHECK(kc_check_finite(ctx, NULL, in->x, NULL) != KC_ERR_ARG);
    CHECK(kc_check_points(ctx, NULL, in->x, NULL) != KC_ERR_ARG);
}

static void fit_and_decide(kc_context *ctx, const inputs *in)
{
    const kc_svm_data data = {
        .struct_size = sizeof data,
        .n_samples = (int64_t)N,
        .x = in->x,
        .classes = in->classes,
        .n_classes = 2,
    };
    kc_kernel *kernel = kernel_of(ctx, OP_LINEAR);
    kc_svm_settings settings;
    kc_model *model = NULL;
    kc_fit_info total = {.struct_size = sizeof total}, problem = {.struct_size = sizeof problem};

    kc_svm_settings_init(&settings, sizeof settings);
    settings.max_iter = 1000;
    CHECK(kc_svm_fit(ctx, NULL, &settings, kernel, &data, &model, &total, &problem, NULL) !=
          KC_ERR_ARG);
    CHECK(model == NULL || kc_function_evaluate(ctx, NULL, kc_model_function(model), in->x,
                                                KC_PER_OUTPUT, in->out, 1, NULL) != KC_ERR_ARG);
    kc_model_free(ctx, model);
    kc_kernel_free(ctx, kernel);
}

static kc_perceptron_settings rule_of(int32_t is_direct)
{
    static const double eta[PASSES] = {1, 1, 1};

    return (kc_perceptron_settings){
        .struct_size = sizeof(kc_perceptron_settings),
        .rule = KC_RULE_SINGLE,
        .is_direct = is_direct,
        .has_intercept = 1,
        .n_passes = PASSES,
        .eta = eta,
    };
}

static kc_perceptron_data samples_of(const inputs *in)
{
    return (kc_perceptron_data){
        .struct_size = sizeof(kc_perceptron_data),
        .x = in->x,
        .classes = in->classes,
        .n_classes = 2,
        .n_samples = (int64_t)N,
    };
}

static void learn_weights(kc_context *ctx, const inputs *in)
{
    const kc_perceptron_data data = samples_of(in);
    double *weights = in->out, intercepts[2] = {0};
    int64_t mistakes[PASSES];
    double criterion[PASSES];
    kc_perceptron_margin margin = {.struct_size = sizeof margin};

    for (int32_t is_direct = 0; is_direct < 2; is_direct++) {
        const kc_perceptron_settings settings = rule_of(is_direct);
        kc_perceptron_state state = {
            .struct_size = sizeof state,
            .weights = weights,
            .intercepts = intercepts,
            .random = {1, 2, 3, 4},
            .mistakes = mistakes,
            .criterion = criterion,
        };

        for (size_t t = 0; t < 2 * (size_t)in->x->n_cols; t++)
            weights[t] = 0;
        CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, &state, 1, NULL) != KC_ERR_ARG);
    }
    CHECK(kc_linear_decision(ctx, NULL, in->x, weights, intercepts, 1, in->out + N * N / 2, NULL) !=
          KC_ERR_ARG);
    CHECK(kc_perceptron_measure(ctx, NULL, &data, 1, weights, 0, &margin, NULL) != KC_ERR_ARG);
}

static void learn_online(kc_context *ctx, const inputs *in)
{
    const kc_perceptron_settings settings = rule_of(0);
    const kc_perceptron_data data = samples_of(in);
    uint64_t random[4] = {1, 2, 3, 4};
    kc_kernel *kernel = kernel_of(ctx, OP_RBF);
    const kc_online_config config = {
        .struct_size = sizeof config,
        .kernel = kernel,
        .dtype = KC_F64,
        .n_cols = in->x->n_cols,
        .is_sparse = 1,
        .n_classes = 2,
        .has_intercept = 1,
        .random = random,
    };
    int64_t mistakes[PASSES];
    double criterion[PASSES];

    for (int is_fit = 0; is_fit < 2; is_fit++) {
        kc_online_report report = {
            .struct_size = sizeof report, .mistakes = mistakes, .criterion = criterion};
        kc_online *online = NULL;

        if (kc_online_create(ctx, &config, &online, NULL) != KC_OK)
            continue;
        CHECK((is_fit
                   ? kc_online_fit(ctx, NULL, online, &settings, &data, -1, 1 << 20, &report, NULL)
                   : kc_online_learn(ctx, NULL, online, &settings, &data, -1, &report, NULL)) !=
              KC_ERR_ARG);
        CHECK(kc_online_decision(ctx, NULL, online, in->x, KC_READING_LAST, in->out, NULL) !=
              KC_ERR_ARG);
        kc_online_free(ctx, online);
    }
    kc_kernel_free(ctx, kernel);
}

/* ---- Tables: the strings are the column behind the numbers ---------------------------------- */

static kc_kernel *kernel_on(kc_context *ctx, const char *name, int32_t column)
{
    kc_kernel *leaf = NULL, *on = NULL;

    if (kc_kernel_leaf(ctx, name, NULL, 0, &leaf, NULL) == KC_OK)
        (void)!kc_kernel_on(ctx, leaf, &column, 1, &on, NULL);
    kc_kernel_free(ctx, leaf);
    return on;
}

static kc_kernel *mixed_kernel(kc_context *ctx, const kc_points *x)
{
    kc_kernel *parts[] = {kernel_on(ctx, "delta", (int32_t)x->n_cols), kernel_on(ctx, "rbf", 1)};
    kc_kernel *sum = NULL;

    if (parts[0] != NULL && parts[1] != NULL)
        (void)!kc_kernel_sum(ctx, (const kc_kernel *const *)parts, 2, &sum, NULL);
    kc_kernel_free(ctx, parts[0]);
    kc_kernel_free(ctx, parts[1]);
    return sum;
}

static void use_table(kc_context *ctx, const inputs *in)
{
    const kc_svm_data data = {
        .struct_size = sizeof data,
        .x = in->x,
        .classes = in->classes,
        .n_classes = 2,
    };
    const kc_perceptron_settings rule = rule_of(0);
    const kc_perceptron_data samples = samples_of(in);
    uint64_t random[4] = {1, 2, 3, 4};
    kc_kernel *kernel = mixed_kernel(ctx, in->x);
    const kc_online_config config = {
        .struct_size = sizeof config,
        .kernel = kernel,
        .dtype = KC_F64,
        .n_cols = in->x->n_cols + 1,
        .n_classes = 2,
        .random = random,
        .like = in->x,
    };
    kc_svm_settings settings;
    kc_model *model = NULL;
    kc_online *online = NULL;
    kc_fit_info total = {.struct_size = sizeof total}, problem = {.struct_size = sizeof problem};
    int64_t mistakes[PASSES];
    double criterion[PASSES];
    kc_online_report report = {
        .struct_size = sizeof report, .mistakes = mistakes, .criterion = criterion};

    CHECK(kernel != NULL);
    CHECK(kc_gram(ctx, NULL, kernel, in->x, NULL, KC_F64, in->out, (int64_t)N, NULL) != KC_ERR_ARG);
    kc_svm_settings_init(&settings, sizeof settings);
    settings.max_iter = 1000;
    CHECK(kc_svm_fit(ctx, NULL, &settings, kernel, &data, &model, &total, &problem, NULL) !=
          KC_ERR_ARG);
    CHECK(model == NULL || kc_function_evaluate(ctx, NULL, kc_model_function(model), in->x,
                                                KC_PER_OUTPUT, in->out, 1, NULL) != KC_ERR_ARG);
    if (kc_online_create(ctx, &config, &online, NULL) == KC_OK) {
        CHECK(kc_online_learn(ctx, NULL, online, &rule, &samples, -1, &report, NULL) != KC_ERR_ARG);
        CHECK(kc_online_decision(ctx, NULL, online, in->x, KC_READING_LAST, in->out, NULL) !=
              KC_ERR_ARG);
    }
    kc_online_free(ctx, online);
    kc_model_free(ctx, model);
    kc_kernel_free(ctx, kernel);
}

/* ---- Every moment ------------------------------------------------------------------------- */

/* Whether the arrays were changed before the calls came to their end. */
static bool run_with_strings(call_fn *call, const ref_samples *samples, ref_form form, size_t at,
                             table_strings *strings)
{
    const kc_allocator allocator = {spoil_and_alloc, free_as_ever, NULL};
    const kc_context_config config = {
        .struct_size = sizeof config, .allocator = &allocator, .n_threads = 1};
    ref_view view = ref_view_make(samples, form, KC_F64);
    inputs in = {.x = &view.points, .out = calloc(N * N, sizeof(double))};
    kc_context *ctx = NULL;

    for (size_t i = 0; i < N; i++)
        in.classes[i] = i % 3 == 0;
    if (strings != NULL)
        view.points.next = &strings->points;
    kc_fault_init(&spoiler.fault);
    spoiler.view = &view;
    spoiler.offsets = strings != NULL ? strings->indptr : NULL;
    spoiler.at = 0;
    CHECK(kc_context_create(&config, &ctx, NULL) == KC_OK);
    spoiler.n_allocs = 0;
    spoiler.at = at;
    call(ctx, &in);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&spoiler.fault));
    free(in.out);
    ref_view_free(&view);
    return spoiler.n_allocs >= at;
}

static bool run_disturbed(call_fn *call, const ref_samples *samples, ref_form form, size_t at)
{
    return run_with_strings(call, samples, form, at, NULL);
}

static bool run_disturbed_table(call_fn *call, const ref_samples *samples, ref_form form, size_t at)
{
    table_strings strings = table_strings_make(1, N);
    const bool was_changed = run_with_strings(call, samples, form, at, &strings);

    table_strings_free(&strings);
    return was_changed;
}

static void disturb_tables(call_fn *call)
{
    const struct {
        size_t d;
        ref_form form;
    } kinds[] = {{3, REF_DENSE}, {7, REF_CSR}, {300, REF_CSR_UNSORTED}};

    for (size_t k = 0; k < 3; k++) {
        ref_samples samples = ref_random(k, N, kinds[k].d, 0.1, KC_F64);
        size_t at = 1;

        while (run_disturbed_table(call, &samples, kinds[k].form, at))
            at++;
        CHECK(at > 10);
        ref_samples_free(&samples);
    }
}

/* As panels (few columns, or many values) and as CSR. */
static void disturb(call_fn *call)
{
    static const struct {
        size_t d;
        double density;
    } sizes[] = {{7, 0.5}, {90, 0.6}, {300, 0.1}};

    for (size_t k = 0; k < 3; k++) {
        ref_samples samples = ref_random(k, N, sizes[k].d, sizes[k].density, KC_F64);

        for (int form = REF_CSR; form < REF_N_FORMS; form++)
            for (int spoilt = 0; spoilt < 2; spoilt++) {
                size_t at = 1;

                spoiler.are_values_spoilt = spoilt;
                while (run_disturbed(call, &samples, (ref_form)form, at))
                    at++;
                CHECK(at > 1);
            }
        ref_samples_free(&samples);
    }
}

static void kernels_stay_within_arrays_that_change(void)
{
    disturb(compute_gram);
}

static void checks_stay_within_arrays_that_change(void)
{
    disturb(look_at_values);
}

static void machines_stay_within_arrays_that_change(void)
{
    disturb(fit_and_decide);
}

static void perceptrons_stay_within_arrays_that_change(void)
{
    disturb(learn_weights);
}

static void online_learners_stay_within_arrays_that_change(void)
{
    disturb(learn_online);
}

static void tables_stay_within_arrays_that_change(void)
{
    disturb_tables(use_table);
}

int main(void)
{
    RUN(kernels_stay_within_arrays_that_change);
    RUN(checks_stay_within_arrays_that_change);
    RUN(machines_stay_within_arrays_that_change);
    RUN(perceptrons_stay_within_arrays_that_change);
    RUN(online_learners_stay_within_arrays_that_change);
    RUN(tables_stay_within_arrays_that_change);
    return kc_test_end();
}
