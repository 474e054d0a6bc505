/* Strings and tables in everything that is learnt with a kernel: what comes of them is what comes
 * of their kernel matrix. */
#include "data/kc_points.h"
#include "fault.h"
#include "online_case.h"
#include "svm_case.h"
#include "table_case.h"

#define N ((size_t)90)

static kc_fault fault;
static kc_context *ctx;
static kc_context *own; /* of what the tests take for themselves */

typedef struct matrix { /* of kernel values, as samples of a fit without a kernel */
    double *values;
    kc_points points;
} matrix;

static matrix matrix_of(const kc_kernel *kernel, const kc_points *x)
{
    const size_t n = (size_t)x->n_rows;
    matrix m = {.values = malloc(n * n * sizeof(double))};

    CHECK(kc_gram(ctx, NULL, kernel, x, NULL, KC_F64, m.values, (int64_t)n, NULL) == KC_OK);
    m.points = svm_view(m.values, n, n);
    return m;
}

/* ---- Machines -------------------------------------------------------------------------------- */

static kc_svm_data data_of(const table *t, const kc_points *x)
{
    return (kc_svm_data){
        .struct_size = sizeof(kc_svm_data),
        .n_samples = (int64_t)t->n,
        .x = x,
        .classes = t->classes,
        .n_classes = 2,
        .targets = t->targets,
    };
}

static kc_svm_settings settings_of(kc_svm_type type)
{
    kc_svm_settings settings = svm_settings(type);

    settings.precision = KC_PRECISION_F64;
    settings.nu = 0.3;
    settings.tol = 1e-6;
    return settings;
}

/* Values of the model at the samples of the fit. */
static double *values_at(const svm_fit *fit, const kc_points *x)
{
    double *out = malloc((size_t)x->n_rows * sizeof *out);

    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(fit->model), x, KC_PER_OUTPUT, out, 1,
                               NULL) == KC_OK);
    return out;
}

static void check_machine(kc_svm_type type, const kc_kernel *kernel, const table *t,
                          const kc_points *x)
{
    const kc_svm_settings settings = settings_of(type);
    const kc_svm_data data = data_of(t, x);
    matrix m = matrix_of(kernel, x);
    const kc_svm_data given = data_of(t, &m.points);
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    svm_fit other = svm_fit_make(ctx, NULL, &settings, NULL, &given);
    double *a, *b;

    REQUIRE(fit.status == KC_OK && other.status == KC_OK);
    CHECK(fit.total.stop == KC_STOP_CONVERGED && fit.total.n_support > 0);
    CHECK_NEAR(fit.total.dual, other.total.dual, 1e-4 * (1 + fabs(other.total.dual)));
    a = values_at(&fit, x);
    b = values_at(&other, &m.points);
    for (size_t i = 0; i < t->n; i++)
        CHECK_NEAR(a[i], b[i], 1e-3);
    free(a);
    free(b);
    svm_fit_free(ctx, &fit);
    svm_fit_free(ctx, &other);
    free(m.values);
}

static void machines_of_strings_and_tables_are_those_of_their_kernel_matrix(void)
{
    kc_kernel *delta = delta_kernel(ctx), *kernel = table_kernel(ctx);
    table t;

    table_make(&t, 1, N, KC_F32, KC_F64);
    for (int type = KC_C_SVC; type <= KC_ONE_CLASS; type++) {
        if (type != KC_NU_SVC) /* whose hulls overlap, of so few strings */
            check_machine((kc_svm_type)type, delta, &t, &t.strings.points);
        check_machine((kc_svm_type)type, kernel, &t, t.parts);
    }
    table_free(&t);
    kc_kernel_free(ctx, delta);
    kc_kernel_free(ctx, kernel);
}

static void threads_do_not_change_a_bit_of_a_fit(void)
{
    const kc_svm_settings settings = settings_of(KC_C_SVC);
    const kc_run two = {.struct_size = sizeof two, .n_threads = 2};
    kc_kernel *kernel = table_kernel(ctx);
    table t;

    table_make(&t, 2, 300, KC_F32, KC_F64);
    const kc_svm_data data = data_of(&t, t.parts);
    svm_fit a = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    svm_fit b = svm_fit_make(ctx, &two, &settings, kernel, &data);
    REQUIRE(a.status == KC_OK && b.status == KC_OK);
    CHECK(svm_fit_equal(&a, &b));
    svm_fit_free(ctx, &a);
    svm_fit_free(ctx, &b);
    table_free(&t);
    kc_kernel_free(ctx, kernel);
}

static void every_refused_allocation_of_a_fit_is_an_error(void)
{
    const kc_svm_settings settings = settings_of(KC_C_SVC);
    kc_kernel *kernel = table_kernel(ctx);
    kc_status status = KC_OK;
    size_t n = 0;
    table t;

    table_make(&t, 3, 40, KC_F32, KC_F64);
    const kc_svm_data data = data_of(&t, t.parts);
    for (bool was_refused = true; was_refused; n++) {
        svm_fit fit;

        kc_context_trim(ctx);
        kc_fault_arm(&fault, n + 1, KC_FAULT_ALL);
        fit = (svm_fit){.total = {.struct_size = sizeof fit.total}};
        fit.problems = calloc(1, sizeof *fit.problems);
        status = kc_svm_fit(ctx, NULL, &settings, kernel, &data, &fit.model, &fit.total,
                            fit.problems, &fit.err);
        was_refused = kc_fault_disarm(&fault);
        CHECK(status == KC_OK || (was_refused && status == KC_ERR_NOMEM && fit.model == NULL));
        svm_fit_free(ctx, &fit);
    }
    CHECK(status == KC_OK && n > 10);
    table_free(&t);
    kc_kernel_free(ctx, kernel);
}

static int stop_at(void *data, const kc_progress *progress)
{
    (void)progress;
    return --*(int *)data <= 0 ? KC_CANCEL : KC_GO_ON;
}

static void a_fit_to_a_table_can_be_interrupted(void)
{
    const kc_svm_settings settings = settings_of(KC_C_SVC);
    kc_kernel *kernel = table_kernel(ctx);
    table t;

    table_make(&t, 4, 600, KC_F32, KC_F64);
    const kc_svm_data data = data_of(&t, t.parts);
    for (int left = 1; left < 4; left++) {
        int polls = left;
        const kc_run run = {
            .struct_size = sizeof run, .on_progress = stop_at, .progress_data = &polls};
        svm_fit fit = svm_fit_make(ctx, &run, &settings, kernel, &data);

        CHECK(fit.status == KC_ERR_CANCELLED || polls > 0);
        CHECK((fit.model == NULL) == (fit.status != KC_OK));
        svm_fit_free(ctx, &fit);
    }
    table_free(&t);
    kc_kernel_free(ctx, kernel);
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* The points of a function, part by part, in memory of their own. */
typedef struct points_out {
    kc_points parts[3];
    double *numbers[3];
    int64_t indptr[N + 1];
    char bytes[4 * N + 1];
} points_out;

static void read_strings(const kc_function *f, int64_t n, const kc_part_info *info, points_out *out)
{
    kc_points *part = &out->parts[1];
    double unused;

    CHECK(info->storage == KC_STRINGS && info->n_cols == 1);
    CHECK(kc_function_strings(f, 1, out->indptr, n + 1, out->bytes, info->n_values, NULL) == KC_OK);
    CHECK(kc_function_points(f, 1, &unused, n, NULL) == KC_ERR_TYPE);
    part->values = out->bytes;
    part->indptr = out->indptr;
    part->n_values = info->n_values;
}

static void read_numbers(const kc_function *f, int64_t p, int64_t n, const kc_part_info *info,
                         points_out *out)
{
    kc_points *part = &out->parts[p];

    CHECK(info->storage == KC_DENSE && info->n_cols == part->n_cols);
    out->numbers[p] = malloc((size_t)(n * info->n_cols) * sizeof(double));
    CHECK(kc_function_points(f, p, out->numbers[p], n * info->n_cols, NULL) == KC_OK);
    CHECK(kc_function_strings(f, p, out->indptr, n + 1, out->bytes, 0, NULL) == KC_ERR_TYPE);
    part->values = out->numbers[p];
    part->row_stride = info->n_cols * (int64_t)sizeof(double);
    part->col_stride = sizeof(double);
}

static void read_points(const kc_function *f, int64_t n, const table *t, points_out *out)
{
    kc_part_info info = {.struct_size = sizeof info};

    for (int64_t p = 0; p < 3; p++) {
        CHECK(kc_function_part(f, p, &info, NULL) == KC_OK);
        out->parts[p] = t->parts[p];
        out->parts[p].n_rows = n;
        out->parts[p].next = p < 2 ? &out->parts[p + 1] : NULL;
        if (p == 1)
            read_strings(f, n, &info, out);
        else
            read_numbers(f, p, n, &info, out);
    }
    for (int64_t p = -1; p < 4; p += 4)
        CHECK(kc_function_part(f, p, &info, NULL) == KC_ERR_ARG);
}

static kc_function *function_of(const kc_function *f, const kc_function_info *about,
                                const kc_kernel *kernel, const kc_points *x)
{
    double coef[N], intercept;
    const kc_function_parts made = {
        .struct_size = sizeof made,
        .kernel = kernel,
        .x = x,
        .dtype = about->dtype,
        .n_points = about->n_points,
        .n_cols = about->n_cols,
        .n_outputs = 1,
        .coef = coef,
        .intercepts = &intercept,
        .decoder = KC_DECODE_SIGN,
        .n_classes = 2,
    };
    kc_function *copy = NULL;

    CHECK(kc_function_coef(f, coef, about->n_points, NULL) == KC_OK);
    CHECK(kc_function_intercepts(f, &intercept, 1, NULL) == KC_OK);
    CHECK(kc_function_create(ctx, NULL, &made, &copy, NULL) == KC_OK);
    return copy;
}

static void a_function_of_a_table_comes_out_and_goes_in_again(void)
{
    const kc_svm_settings settings = settings_of(KC_C_SVC);
    kc_kernel *kernel = table_kernel(ctx);
    kc_function_info about = {.struct_size = sizeof about};
    kc_function *copy;
    points_out points = {.numbers = {NULL}};
    double a[N], b[N];
    table t;

    table_make(&t, 5, N, KC_F64, KC_F64);
    const kc_svm_data data = data_of(&t, t.parts);
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    REQUIRE(fit.status == KC_OK);
    const kc_function *f = kc_model_function(fit.model);
    CHECK(kc_function_describe(f, &about, NULL) == KC_OK);
    CHECK(about.n_parts == 3 && about.n_cols == TABLE_COLS && !about.is_linear);
    read_points(f, about.n_points, &t, &points);
    copy = function_of(f, &about, kernel, points.parts);
    CHECK(kc_function_evaluate(ctx, NULL, f, t.parts, KC_PER_OUTPUT, a, 1, NULL) == KC_OK);
    CHECK(kc_function_evaluate(ctx, NULL, copy, t.parts, KC_PER_OUTPUT, b, 1, NULL) == KC_OK);
    for (size_t i = 0; i < N; i++)
        CHECK_NEAR(a[i], b[i], 1e-12);
    CHECK(kc_function_evaluate(ctx, NULL, copy, &t.strings.points, KC_PER_OUTPUT, b, 1, NULL) ==
          KC_ERR_SHAPE);
    kc_function_free(ctx, copy);
    for (int p = 0; p < 3; p++)
        free(points.numbers[p]);
    svm_fit_free(ctx, &fit);
    table_free(&t);
    kc_kernel_free(ctx, kernel);
}

/* A view without rows says what samples are like, and may have no arrays. */
static void a_function_without_points_is_its_intercept(void)
{
    kc_points like[2] = {
        {.struct_size = sizeof *like, .storage = KC_STRINGS},
        {.struct_size = sizeof *like, .storage = KC_CSR, .dtype = KC_F64, .n_cols = 300},
    };
    const double intercept = 2.5;
    kc_kernel *delta = delta_kernel(ctx), *on = NULL;
    kc_function_info info = {.struct_size = sizeof info};
    kc_function_parts parts = {
        .struct_size = sizeof parts,
        .x = like,
        .dtype = KC_F64,
        .n_cols = 301,
        .n_outputs = 1,
        .intercepts = &intercept,
        .decoder = KC_DECODE_VALUES,
    };
    ref_samples samples = ref_random(3, 5, 300, 0.1, KC_F64);
    ref_view sparse = ref_view_make(&samples, REF_CSR, KC_F64);
    table_strings strings = table_strings_make(3, 5);
    kc_function *f = NULL;
    kc_error err = {0};
    double out[5] = {0};

    like[0].next = &like[1];
    CHECK(kc_kernel_on(ctx, delta, (int32_t[]){0}, 1, &on, NULL) == KC_OK);
    parts.kernel = on;
    REQUIRE(kc_function_create(ctx, NULL, &parts, &f, &err) == KC_OK);
    CHECK(kc_function_describe(f, &info, NULL) == KC_OK && info.n_parts == 2);
    CHECK(info.n_points == 0 && info.n_cols == 301);
    strings.points.next = &sparse.points;
    CHECK(kc_function_evaluate(ctx, NULL, f, &strings.points, KC_PER_OUTPUT, out, 1, &err) ==
          KC_OK);
    for (int i = 0; i < 5; i++)
        CHECK(out[i] == 2.5);
    CHECK(kc_function_evaluate(ctx, NULL, f, &sparse.points, KC_PER_OUTPUT, out, 1, &err) ==
          KC_ERR_SHAPE);
    kc_function_free(ctx, f);
    f = NULL;
    parts.kernel = delta; /* NULL: numbers, which it does not take */
    parts.x = NULL;
    CHECK(kc_function_create(ctx, NULL, &parts, &f, &err) == KC_ERR_TYPE && f == NULL);
    parts.kernel = on;
    like[1].storage = (kc_storage)9;
    parts.x = like;
    CHECK(kc_function_create(ctx, NULL, &parts, &f, &err) == KC_ERR_TYPE && f == NULL);
    ref_view_free(&sparse);
    ref_samples_free(&samples);
    table_strings_free(&strings);
    kc_kernel_free(ctx, delta);
    kc_kernel_free(ctx, on);
}

/* ---- Online learners ---------------------------------------------------------------------------
 */

static kc_online *new_learner(const kc_kernel *kernel, const kc_points *like, int64_t n_cols,
                              int64_t budget, int32_t strategy)
{
    static const uint64_t random[4] = {1, 2, 3, 4};
    const kc_online_config config = {
        .struct_size = sizeof config,
        .kernel = kernel,
        .dtype = KC_F64,
        .n_cols = n_cols,
        .n_classes = 2,
        .has_intercept = 1,
        .strategy = strategy,
        .budget = budget,
        .random = random,
        .like = like,
    };
    kc_online *online = NULL;
    kc_error err = {0};

    if (kc_online_create(ctx, &config, &online, &err) != KC_OK)
        printf("    said: %s\n", err.text);
    CHECK(online != NULL);
    return online;
}

/* Rows `begin` to `end` - 1 of the samples, in one call. */
static kc_status learn(kc_online *online, const table *t, const kc_points *x, size_t begin,
                       size_t end, bool is_fit)
{
    int32_t rows[N], classes[N];
    int64_t mistakes[3];
    double criterion[3];
    static const double eta[3] = {1, 1, 1};
    const kc_perceptron_settings settings = {.struct_size = sizeof settings,
                                             .rule = KC_RULE_SINGLE,
                                             .n_passes = is_fit ? 3 : 1,
                                             .eta = eta};
    kc_online_report report = {
        .struct_size = sizeof report, .mistakes = mistakes, .criterion = criterion};
    kc_points taken;
    kc_status status;
    kc_call call;

    for (size_t i = begin; i < end; i++) {
        rows[i - begin] = (int32_t)i;
        classes[i - begin] = t->classes[i];
    }
    CHECK(kc_call_begin(&call, own, NULL, "take", NULL) == KC_OK);
    CHECK(kc_points_take(&call, x, rows, end - begin, &taken) == KC_OK);
    const kc_perceptron_data data = {
        .struct_size = sizeof data, .x = &taken, .classes = classes, .n_classes = 2};
    status = is_fit ? kc_online_fit(ctx, NULL, online, &settings, &data, -1, 0, &report, NULL)
                    : kc_online_learn(ctx, NULL, online, &settings, &data, -1, &report, NULL);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    return status;
}

static kc_online *load_copy(const kc_online *online, const kc_kernel *kernel)
{
    const int64_t n_bytes = online_info(online).n_bytes;
    char *bytes = malloc((size_t)n_bytes);
    kc_online *twin = NULL;

    CHECK(kc_online_save(online, bytes, n_bytes, NULL) == KC_OK);
    CHECK(kc_online_load(ctx, kernel, bytes, n_bytes, &twin, NULL) == KC_OK);
    free(bytes);
    return twin;
}

/* One by one, in blocks, and through bytes in between: the same learner. */
static void check_stream(const kc_kernel *kernel, const table *t, const kc_points *x,
                         int64_t budget, int32_t strategy)
{
    const int64_t n_cols = x->next != NULL ? TABLE_COLS : 1;
    kc_online *one = new_learner(kernel, x, n_cols, budget, strategy);
    kc_online *many = new_learner(kernel, x, n_cols, budget, strategy), *twin;

    for (size_t i = 0; i < N; i++)
        CHECK(learn(one, t, x, i, i + 1, false) == KC_OK);
    CHECK(learn(many, t, x, 0, 50, false) == KC_OK);
    twin = load_copy(many, kernel);
    CHECK(online_equal(many, twin));
    kc_online_free(ctx, many);
    CHECK(learn(twin, t, x, 50, N, false) == KC_OK);
    CHECK(online_equal(one, twin));
    CHECK(online_info(one).n_points > 1);
    CHECK(budget == 0 || online_info(one).n_points <= budget);
    kc_online_free(ctx, one);
    kc_online_free(ctx, twin);
}

static void streams_of_strings_and_tables_are_learnt_however_they_are_cut(void)
{
    kc_kernel *delta = delta_kernel(ctx), *kernel = table_kernel(ctx);
    table t;

    table_make(&t, 6, N, KC_F64, KC_F64);
    for (int32_t strategy = 0; strategy <= KC_STRATEGY_MERGE; strategy++) {
        const int64_t budget = strategy == 0 ? 0 : 9;

        if (strategy == KC_STRATEGY_MERGE) /* of RBF kernels alone */
            continue;
        check_stream(delta, &t, &t.strings.points, budget, strategy);
        check_stream(kernel, &t, t.parts, budget, strategy);
    }
    table_free(&t);
    kc_kernel_free(ctx, delta);
    kc_kernel_free(ctx, kernel);
}

/* The single rule by its definition, on the kernel matrix. */
static void a_stream_of_a_table_is_learnt_by_the_rule(void)
{
    kc_kernel *kernel = table_kernel(ctx);
    double coef[N] = {0}, *found;
    kc_online *online;
    matrix m;
    table t;

    table_make(&t, 7, N, KC_F32, KC_F64);
    m = matrix_of(kernel, t.parts);
    online = new_learner(kernel, t.parts, TABLE_COLS, 0, 0);
    CHECK(learn(online, &t, t.parts, 0, N, false) == KC_OK);
    for (size_t i = 0; i < N; i++) {
        const double sign = t.classes[i] == 1 ? 1 : -1;
        double value = 0;

        for (size_t j = 0; j < i; j++)
            value += coef[j] * (m.values[i * N + j] + 1);
        if (sign * value <= 0)
            coef[i] = sign;
    }
    found = malloc(N * sizeof *found);
    CHECK(kc_online_decision(ctx, NULL, online, t.parts, KC_READING_LAST, found, NULL) == KC_OK);
    for (size_t i = 0; i < N; i++) {
        double value = 0;

        for (size_t j = 0; j < N; j++)
            value += coef[j] * (m.values[i * N + j] + 1);
        CHECK_NEAR(found[i], value, 1e-9);
    }
    free(found);
    free(m.values);
    kc_online_free(ctx, online);
    table_free(&t);
    kc_kernel_free(ctx, kernel);
}

static void a_learner_fits_a_table_in_passes_and_learns_on(void)
{
    kc_kernel *kernel = table_kernel(ctx);
    kc_online *online, *twin;
    table t;

    table_make(&t, 8, N, KC_F32, KC_F64);
    online = new_learner(kernel, t.parts, TABLE_COLS, 0, 0);
    CHECK(learn(online, &t, t.parts, 0, 60, true) == KC_OK);
    twin = load_copy(online, kernel);
    CHECK(learn(online, &t, t.parts, 60, N, false) == KC_OK);
    CHECK(learn(twin, &t, t.parts, 60, N, false) == KC_OK);
    CHECK(online_equal(online, twin));
    kc_online_free(ctx, online);
    kc_online_free(ctx, twin);
    table_free(&t);
    kc_kernel_free(ctx, kernel);
}

static void refused_memory_leaves_a_learner_that_learns_on(void)
{
    kc_kernel *kernel = table_kernel(ctx);
    table t;

    table_make(&t, 9, N, KC_F64, KC_F64);
    for (size_t n = 1, is_refused = 1; is_refused && n < 500; n++) {
        kc_online *online = new_learner(kernel, t.parts, TABLE_COLS, 0, 0);
        kc_status status;

        CHECK(learn(online, &t, t.parts, 0, 20, false) == KC_OK);
        kc_context_trim(ctx);
        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        status = learn(online, &t, t.parts, 20, 60, false);
        is_refused = kc_fault_disarm(&fault);
        CHECK(is_refused || status == KC_OK);
        CHECK(learn(online, &t, t.parts, 60, N, false) == KC_OK);
        kc_online_free(ctx, load_copy(online, kernel));
        kc_online_free(ctx, online);
    }
    table_free(&t);
    kc_kernel_free(ctx, kernel);
}

static void samples_unlike_those_of_the_learner_are_refused(void)
{
    kc_kernel *kernel = table_kernel(ctx);
    uint64_t random[4] = {1, 2, 3, 4};
    kc_online_config config = {.struct_size = sizeof config,
                               .dtype = KC_F64,
                               .n_cols = (int64_t)N,
                               .n_classes = 2,
                               .random = random};
    kc_online *online, *none = NULL;
    kc_points wide;
    double out[N];
    kc_error err = {0};
    table t;

    table_make(&t, 10, N, KC_F64, KC_F64);
    online = new_learner(kernel, t.parts, TABLE_COLS, 0, 0);
    wide = t.parts[0];
    wide.next = NULL;
    wide.n_cols = TABLE_COLS;
    wide.row_stride = wide.col_stride = 0;
    CHECK(kc_online_decision(ctx, NULL, online, &wide, KC_READING_LAST, out, &err) == KC_ERR_TYPE);
    CHECK(strstr(err.text, "column 2 holds numbers, in the fit it held strings") != NULL);
    CHECK(learn(online, &t, &wide, 0, 3, false) == KC_ERR_TYPE);
    CHECK(learn(online, &t, &t.strings.points, 0, 3, true) == KC_ERR_SHAPE);
    config.like = t.parts; /* kernel values are no samples */
    t.parts[2].next = t.parts;
    CHECK(kc_online_create(ctx, &config, &none, &err) == KC_ERR_ARG && none == NULL);
    CHECK(strstr(err.text, "without a kernel") != NULL);
    config.kernel = kernel;
    CHECK(kc_online_create(ctx, &config, &none, &err) == KC_ERR_SHAPE);
    t.parts[2].next = NULL;
    CHECK(kc_online_create(ctx, &config, &none, &err) == KC_ERR_SHAPE);
    CHECK(strstr(err.text, "X has 6 columns, n_cols is 90") != NULL);
    kc_online_free(ctx, online);
    table_free(&t);
    kc_kernel_free(ctx, kernel);
}

int main(void)
{
    ctx = kc_fault_context((kc_context_config){.n_threads = 1}, &fault);
    if (ctx == NULL || kc_context_create(NULL, &own, NULL) != KC_OK)
        return 1;
    RUN(machines_of_strings_and_tables_are_those_of_their_kernel_matrix);
    RUN(threads_do_not_change_a_bit_of_a_fit);
    RUN(every_refused_allocation_of_a_fit_is_an_error);
    RUN(a_fit_to_a_table_can_be_interrupted);
    RUN(a_function_of_a_table_comes_out_and_goes_in_again);
    RUN(a_function_without_points_is_its_intercept);
    RUN(streams_of_strings_and_tables_are_learnt_however_they_are_cut);
    RUN(a_stream_of_a_table_is_learnt_by_the_rule);
    RUN(a_learner_fits_a_table_in_passes_and_learns_on);
    RUN(refused_memory_leaves_a_learner_that_learns_on);
    RUN(samples_unlike_those_of_the_learner_are_refused);
    kc_context_free(ctx);
    kc_context_free(own);
    return kc_test_end() | !kc_fault_is_clean(&fault);
}
