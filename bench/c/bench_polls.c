/* The longest piece of work between two polls, in every regime there is: how late a call may hear
 * that it is to stop.
 *
 *   bench_polls [name]      all cases, or those whose name contains the word
 *
 * The linker hands every kc_call_poll to this program first (--wrap), which asks how long the
 * thread has worked since its last one.  Time is that of the CPU in this thread, so that other work
 * on the machine is not counted; one thread does all the work, since that of others would not show.
 * A call ends after CASE_SECONDS by KC_FINISH, so that the end of a fit is looked at as well.
 * Output is JSON lines: milliseconds of the longest gap, and of the rest after the last poll that
 * was told to stop; --places adds the stacks around the longest gap,
 * as addresses for `addr2line -fpe`. */
#include <execinfo.h>
#include <math.h>
#include <string.h>

#include "base/kc_call.h"
#include "kc_bench.h"

#define CASE_SECONDS 2.0
#define N_FRAMES 16

extern const char __executable_start; /* by the linker */

/* ---- Gaps --------------------------------------------------------------------------------- */

typedef struct place {
    void *frames[N_FRAMES];
    int n_frames;
} place;

static struct {
    double last, longest, stopped_at;
    place here, from, to; /* the last poll; those around the longest gap */
} gaps;

static bool shows_places;

static void note_gap(void)
{
    const double now = bench_cpu_seconds();
    const place before = gaps.here;

    if (shows_places)
        gaps.here.n_frames = backtrace(gaps.here.frames, N_FRAMES);
    if (now - gaps.last > gaps.longest) {
        gaps.longest = now - gaps.last;
        gaps.from = before;
        gaps.to = gaps.here;
    }
    gaps.last = bench_cpu_seconds();
}

/* For addr2line, which knows static functions as well. */
static void show_place(const char *word, const place *p)
{
    printf("%s", word);
    for (int i = 2; i < p->n_frames; i++)
        printf(" 0x%zx", (size_t)((const char *)p->frames[i] - (const char *)&__executable_start));
    printf("\n");
}

kc_status __real_kc_call_poll(kc_call *call);
kc_status __wrap_kc_call_poll(kc_call *call);

kc_status __wrap_kc_call_poll(kc_call *call)
{
    note_gap();
    const kc_status status = __real_kc_call_poll(call);

    if (status != KC_OK && gaps.stopped_at == 0)
        gaps.stopped_at = gaps.last;
    gaps.last = bench_cpu_seconds(); /* the callback is not the call's own work */
    return status;
}

/* ---- Samples ------------------------------------------------------------------------------ */

static kc_rng rng;

static double normal(void)
{
    const double u = 1 - kc_rng_uniform(&rng), v = kc_rng_uniform(&rng);

    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

typedef struct samples {
    kc_points points;
    int32_t *classes;
    double *targets;
    void *arrays[3];
} samples;

static void make_labels(samples *s, int32_t n_classes)
{
    const size_t n = (size_t)s->points.n_rows;

    s->classes = bench_alloc(n, sizeof *s->classes);
    s->targets = bench_alloc(n, sizeof *s->targets);
    for (size_t i = 0; i < n; i++) {
        s->classes[i] =
            (int32_t)(i < (size_t)n_classes ? i : kc_rng_below(&rng, (uint64_t)n_classes));
        s->targets[i] = normal();
    }
}

/* Floats, for they take less room. */
static samples make_dense(size_t n, size_t d, int32_t n_classes)
{
    float *values = bench_alloc(n * d, sizeof *values);
    samples s = {.arrays = {values}};

    for (size_t k = 0; k < n * d; k++)
        values[k] = k < 1000000 ? (float)normal() : values[k * 7919 % 1000000];
    s.points = (kc_points){.struct_size = sizeof(kc_points),
                           .storage = KC_DENSE,
                           .dtype = KC_F32,
                           .n_rows = (int64_t)n,
                           .n_cols = (int64_t)d,
                           .values = values,
                           .row_stride = (int64_t)(d * sizeof *values),
                           .col_stride = sizeof *values,
                           .name = "X"};
    make_labels(&s, n_classes);
    return s;
}

/* `nnz` numbers a row; every `heavy`-th row has `nnz_heavy`. */
static samples make_sparse(size_t n, size_t d, size_t nnz, size_t heavy, size_t nnz_heavy,
                           int32_t n_classes)
{
    int64_t *indptr = bench_alloc(n + 1, sizeof *indptr);
    size_t total = 0;

    for (size_t i = 0; i < n; i++) {
        indptr[i] = (int64_t)total;
        total += heavy > 0 && i % heavy == 0 ? nnz_heavy : nnz;
    }
    indptr[n] = (int64_t)total;
    int64_t *indices = bench_alloc(total, sizeof *indices);
    double *values = bench_alloc(total, sizeof *values);

    for (size_t i = 0; i < n; i++) {
        const size_t count = (size_t)(indptr[i + 1] - indptr[i]), step = d / count;
        for (size_t k = 0; k < count; k++) {
            indices[(size_t)indptr[i] + k] = (int64_t)(k * step + kc_rng_below(&rng, step));
            values[(size_t)indptr[i] + k] = kc_rng_uniform(&rng);
        }
    }
    samples s = {.points = {.struct_size = sizeof(kc_points),
                            .storage = KC_CSR,
                            .dtype = KC_F64,
                            .n_rows = (int64_t)n,
                            .n_cols = (int64_t)d,
                            .values = values,
                            .indices = indices,
                            .indptr = indptr,
                            .index_bytes = 8,
                            .n_values = (int64_t)total,
                            .name = "X"},
                 .arrays = {values, indices, indptr}};
    make_labels(&s, n_classes);
    return s;
}

static void free_samples(samples *s)
{
    for (size_t i = 0; i < 3; i++)
        free(s->arrays[i]);
    free(s->classes);
    free(s->targets);
}

/* ---- Cases -------------------------------------------------------------------------------- */

typedef enum work { FIT, GRAM, DIAG, PREDICT, PERCEPTRON, ONLINE_FIT, ONLINE_LEARN } work;

typedef struct poll_case {
    const char *name;
    work work;
    size_t n, d;
    size_t nnz, heavy, nnz_heavy; /* 0: dense */
    int32_t n_classes;
    kc_svm_type type;
    const char *kernel; /* NULL: X is a kernel matrix */
    double gamma, C;
    bool is_ovr;
    double time_limit;
    kc_precision precision;
    int64_t budget;
    kc_strategy strategy;
    kc_reading reading;
} poll_case;

static const poll_case cases[] = {
    {"csvc random C=1e4", FIT, 24000, 50, .n_classes = 2, .kernel = "rbf", .gamma = 0.02, .C = 1e4},
    {"csvc random C=1e4 f64", FIT, 24000, 50, .n_classes = 2, .kernel = "rbf", .gamma = 0.02,
     .C = 1e4, .precision = KC_PRECISION_F64},
    {"csvc random C=1e4 limit", FIT, 24000, 50, .n_classes = 2, .kernel = "rbf", .gamma = 0.02,
     .C = 1e4, .time_limit = 2},
    {"csvc wide", FIT, 20000, 500, .n_classes = 2, .kernel = "rbf", .gamma = 0.002, .C = 1},
    {"csvc wide limit", FIT, 20000, 500, .n_classes = 2, .kernel = "rbf", .gamma = 0.002, .C = 1,
     .time_limit = 1},
    {"csvc wider", FIT, 3000, 20000, .n_classes = 2, .kernel = "rbf", .gamma = 1e-4, .C = 10},
    {"csvc many", FIT, 400000, 10, .n_classes = 2, .kernel = "rbf", .gamma = 0.1, .C = 1},
    {"csvc few C=1e6", FIT, 400, 10, .n_classes = 2, .kernel = "rbf", .gamma = 0.1, .C = 1e6},
    {"csvc pairs C=100", FIT, 3000, 200, .n_classes = 2, .kernel = "rbf", .gamma = 0.005, .C = 100},
    {"csvc middle C=1e3", FIT, 8000, 20, .n_classes = 2, .kernel = "rbf", .gamma = 0.05, .C = 1e3},
    {"csvc middle C=1e3 f64", FIT, 8000, 20, .n_classes = 2, .kernel = "rbf", .gamma = 0.05,
     .C = 1e3, .precision = KC_PRECISION_F64},
    {"csvc small box", FIT, 30000, 20, .n_classes = 2, .kernel = "rbf", .gamma = 0.05, .C = 0.01},
    {"csvc linear", FIT, 30000, 50, .n_classes = 2, .kernel = "linear", .C = 1},
    {"csvc linear wide", FIT, 4000, 20000, .n_classes = 2, .kernel = "linear", .C = 1},
    {"csvc laplacian", FIT, 10000, 50, .n_classes = 2, .kernel = "laplacian", .gamma = 0.02,
     .C = 10},
    {"csvc sparse", FIT, 20000, 100000, 100, .n_classes = 2, .kernel = "rbf", .gamma = 0.02,
     .C = 10},
    {"csvc sparse uneven", FIT, 20000, 100000, 20, 500, 50000, .n_classes = 2, .kernel = "rbf",
     .gamma = 0.02, .C = 10},
    {"csvc sparse linear", FIT, 50000, 1000000, 100, .n_classes = 2, .kernel = "linear", .C = 1},
    {"csvc sparse linear uneven", FIT, 20000, 1000000, 20, 500, 50000, .n_classes = 2,
     .kernel = "linear", .C = 1},
    {"csvc sparse laplacian", FIT, 3000, 20000, 50, .n_classes = 2, .kernel = "laplacian",
     .gamma = 0.02, .C = 1},
    {"csvc sparse large", FIT, 200000, 1000000, 100, .n_classes = 2, .kernel = "linear", .C = 1},
    {"csvc matrix", FIT, 8000, 8000, .n_classes = 2, .C = 1},
    {"csvc pairs of classes", FIT, 20000, 50, .n_classes = 10, .kernel = "rbf", .gamma = 0.02,
     .C = 10},
    {"csvc pairs of classes whole", FIT, 12000, 300, .n_classes = 30, .kernel = "rbf",
     .gamma = 0.003, .C = 10},
    {"csvc rest of classes", FIT, 20000, 50, .n_classes = 10, .kernel = "rbf", .gamma = 0.02,
     .C = 10, .is_ovr = true},
    {"csvc hard margin", FIT, 3000, 3000, .n_classes = 2, .kernel = "linear", .C = INFINITY},
    {"nusvc", FIT, 20000, 50, .n_classes = 2, .type = KC_NU_SVC, .kernel = "rbf", .gamma = 0.02},
    {"svr", FIT, 20000, 50, .type = KC_EPS_SVR, .kernel = "rbf", .gamma = 0.02, .C = 10},
    {"svr C=1e4", FIT, 20000, 50, .type = KC_EPS_SVR, .kernel = "rbf", .gamma = 0.02, .C = 1e4},
    {"nusvr", FIT, 20000, 50, .type = KC_NU_SVR, .kernel = "rbf", .gamma = 0.02, .C = 10},
    {"oneclass", FIT, 20000, 50, .type = KC_ONE_CLASS, .kernel = "rbf", .gamma = 0.02},
    {"gram", GRAM, 10000, 500, .kernel = "rbf", .gamma = 0.002},
    {"gram wide", GRAM, 1000, 200000, .kernel = "rbf", .gamma = 1e-5},
    {"gram polynomial", GRAM, 10000, 20, .kernel = "polynomial", .gamma = 0.01},
    {"gram laplacian", GRAM, 6000, 200, .kernel = "laplacian", .gamma = 0.01},
    {"gram sparse", GRAM, 10000, 20000, 200, .kernel = "rbf", .gamma = 0.02},
    {"gram sparse wide", GRAM, 10000, 1000000, 200, .kernel = "rbf", .gamma = 0.02},
    {"gram sparse uneven", GRAM, 10000, 100000, 20, 500, 50000, .kernel = "rbf", .gamma = 0.02},
    {"gram sparse uneven end", GRAM, 10000, 100000, 20, 9999, 50000, .kernel = "rbf",
     .gamma = 0.02},
    {"gram sparse laplacian", GRAM, 6000, 100000, 100, .kernel = "laplacian", .gamma = 0.02},
    {"gram sparse laplacian wide", GRAM, 2000, 2000000, 100, .kernel = "laplacian", .gamma = 0.02},
    {"gram sparse laplacian uneven", GRAM, 6000, 100000, 20, 500, 50000, .kernel = "laplacian",
     .gamma = 0.02},
    {"diag", DIAG, 300000, 500, .kernel = "laplacian", .gamma = 0.002},
    {"diag sparse", DIAG, 100000, 1000000, 100, .kernel = "laplacian", .gamma = 0.002},
    {"predict", PREDICT, 20000, 500, .n_classes = 2, .kernel = "rbf", .gamma = 0.002},
    {"predict linear", PREDICT, 200000, 300, .n_classes = 2, .kernel = "linear"},
    {"predict sparse", PREDICT, 20000, 100000, 100, .n_classes = 2, .kernel = "rbf", .gamma = 0.02},
    {"predict sparse uneven", PREDICT, 20000, 100000, 20, 500, 50000, .n_classes = 2,
     .kernel = "rbf", .gamma = 0.02},
    {"predict classes", PREDICT, 20000, 50, .n_classes = 30, .kernel = "rbf", .gamma = 0.02},
    {"perceptron", PERCEPTRON, 200000, 200, .n_classes = 2},
    {"perceptron classes", PERCEPTRON, 50000, 500, .n_classes = 50},
    {"perceptron wide", PERCEPTRON, 200, 1000000, .n_classes = 2},
    {"perceptron sparse", PERCEPTRON, 200000, 1000000, 100, .n_classes = 2},
    {"perceptron sparse uneven", PERCEPTRON, 20000, 1000000, 20, 500, 200000, .n_classes = 2},
    {"online fit", ONLINE_FIT, 20000, 100, .n_classes = 2, .kernel = "rbf", .gamma = 0.01},
    {"online fit votes", ONLINE_FIT, 20000, 100, .n_classes = 2, .kernel = "rbf", .gamma = 0.01,
     .reading = KC_READING_VOTES},
    {"online learn", ONLINE_LEARN, 20000, 100, .n_classes = 5, .kernel = "rbf", .gamma = 0.01},
    {"online learn votes", ONLINE_LEARN, 20000, 100, .n_classes = 2, .kernel = "rbf", .gamma = 0.01,
     .reading = KC_READING_VOTES},
    {"online projection", ONLINE_LEARN, 20000, 100, .n_classes = 2, .kernel = "rbf", .gamma = 0.01,
     .budget = 2000, .strategy = KC_STRATEGY_PROJECTION},
    {"online merge", ONLINE_LEARN, 20000, 100, .n_classes = 2, .kernel = "rbf", .gamma = 0.01,
     .budget = 2000, .strategy = KC_STRATEGY_MERGE},
    {"online sparse", ONLINE_LEARN, 20000, 100000, 100, .n_classes = 2, .kernel = "rbf",
     .gamma = 0.01, .budget = 2000, .strategy = KC_STRATEGY_SMALLEST},
};

static kc_context *ctx;
static kc_error err;

static double deadline;

static int finish_in_time(void *data, const kc_progress *progress)
{
    (void)data;
    (void)progress;
    return bench_cpu_seconds() >= deadline ? KC_FINISH : KC_GO_ON;
}

static kc_run run_of(const poll_case *c)
{
    deadline = bench_cpu_seconds() + CASE_SECONDS;
    gaps.longest = gaps.stopped_at = 0;
    gaps.last = bench_cpu_seconds();
    return (kc_run){.struct_size = sizeof(kc_run),
                    .n_threads = 1,
                    .time_limit = c->time_limit,
                    .on_progress = finish_in_time};
}

static kc_kernel *make_kernel(const poll_case *c)
{
    const double cubic[] = {3, c->gamma, 1};
    const bool is_cubic = c->kernel != NULL && strcmp(c->kernel, "polynomial") == 0;
    const int32_t n_params = is_cubic ? 3 : c->gamma > 0 ? 1 : 0;
    kc_kernel *kernel = NULL;

    if (c->kernel != NULL && kc_kernel_leaf(ctx, c->kernel, is_cubic ? cubic : &c->gamma, n_params,
                                            &kernel, &err) != KC_OK)
        exit(1);
    return kernel;
}

static kc_status fit(const poll_case *c, const samples *s, const kc_run *run, kc_kernel *kernel,
                     kc_model **model)
{
    kc_svm_settings settings;
    const kc_svm_data data = {.struct_size = sizeof data,
                              .x = &s->points,
                              .classes = s->classes,
                              .n_classes = c->n_classes,
                              .targets = s->targets};

    kc_svm_settings_init(&settings, sizeof settings);
    settings.type = (int32_t)(c->type != 0 ? c->type : KC_C_SVC);
    settings.multiclass = c->is_ovr ? KC_ONE_VS_REST : KC_ONE_VS_ONE;
    settings.precision = (int32_t)c->precision;
    settings.C = c->C > 0 ? c->C : 1;
    settings.nu = 0.3;
    return kc_svm_fit(ctx, run, &settings, kernel, &data, model, NULL, NULL, &err);
}

static kc_status predict(const poll_case *c, const samples *s, kc_kernel *kernel)
{
    const kc_run unlimited = {.struct_size = sizeof unlimited, .time_limit = 1};
    kc_model *model = NULL;
    int32_t *out = bench_alloc((size_t)s->points.n_rows, sizeof *out);
    kc_status status = fit(c, s, &unlimited, kernel, &model);

    if (status == KC_OK) {
        const kc_run run = run_of(c);
        status = kc_function_predict(ctx, &run, kc_model_function(model), &s->points, 1, out, &err);
        note_gap();
    }
    kc_model_free(ctx, model);
    free(out);
    return status;
}

static kc_status fit_perceptron(const poll_case *c, const samples *s)
{
    static const double eta[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const size_t d = (size_t)s->points.n_cols,
                 n_outputs = c->n_classes > 2 ? (size_t)c->n_classes : 1;
    const kc_perceptron_settings settings = {.struct_size = sizeof settings,
                                             .rule = KC_RULE_SINGLE,
                                             .is_direct = c->n_classes > 2,
                                             .has_intercept = 1,
                                             .is_shuffled = 1,
                                             .n_passes = 8,
                                             .eta = eta};
    const kc_perceptron_data data = {.struct_size = sizeof data,
                                     .x = &s->points,
                                     .classes = s->classes,
                                     .n_classes = c->n_classes};
    int64_t mistakes[8];
    double criterion[8];
    double *weights = bench_alloc(4 * n_outputs * (d + 1), sizeof *weights);
    kc_perceptron_state state = {
        .struct_size = sizeof state, .positive = 1, .random = {1, 2, 3, 4}};

    memset(weights, 0, 4 * n_outputs * (d + 1) * sizeof *weights);
    state.weights = weights;
    state.intercepts = weights + n_outputs * d;
    state.time_weighted = weights + n_outputs * (d + 1);
    state.time_weighted_intercepts = state.time_weighted + n_outputs * d;
    state.best_weights = weights + 2 * n_outputs * (d + 1);
    state.best_intercepts = state.best_weights + n_outputs * d;
    state.mistakes = mistakes;
    state.criterion = criterion;
    const kc_run run = run_of(c);
    const kc_status status = kc_perceptron_run(ctx, &run, &settings, &data, &state, 1, &err);
    note_gap();
    free(weights);
    return status;
}

static kc_status learn_online(const poll_case *c, const samples *s, kc_kernel *kernel)
{
    static const double eta[4] = {1, 1, 1, 1};
    uint64_t random[4 * 64];
    const kc_online_config config = {.struct_size = sizeof config,
                                     .kernel = kernel,
                                     .dtype = KC_F32,
                                     .n_cols = s->points.n_cols,
                                     .is_sparse = s->points.storage == KC_CSR,
                                     .n_classes = c->n_classes,
                                     .has_intercept = 1,
                                     .is_voted = c->reading == KC_READING_VOTES,
                                     .strategy = (int32_t)c->strategy,
                                     .budget = c->budget,
                                     .random = random};
    const kc_perceptron_settings settings = {.struct_size = sizeof settings,
                                             .rule = KC_RULE_SINGLE,
                                             .has_intercept = 1,
                                             .n_passes = 4,
                                             .eta = eta};
    const kc_perceptron_data data = {.struct_size = sizeof data,
                                     .x = &s->points,
                                     .classes = s->classes,
                                     .n_classes = c->n_classes};
    int64_t mistakes[4];
    double criterion[4];

    for (size_t k = 0; k < sizeof random / sizeof *random; k++)
        random[k] = kc_rng_next(&rng);
    kc_online_report report = {
        .struct_size = sizeof report, .mistakes = mistakes, .criterion = criterion};
    kc_online *online = NULL;
    kc_status status = kc_online_create(ctx, &config, &online, &err);

    if (status == KC_OK) {
        const kc_run run = run_of(c);
        status = c->work == ONLINE_FIT
                     ? kc_online_fit(ctx, &run, online, &settings, &data, 0, 0, &report, &err)
                     : kc_online_learn(ctx, &run, online, &settings, &data, -1, &report, &err);
        note_gap();
    }
    if (status == KC_OK && c->reading == KC_READING_VOTES) {
        double *out = bench_alloc((size_t)s->points.n_rows, sizeof *out);
        const double longest = gaps.longest;
        const kc_run run = run_of(c);
        status = kc_online_decision(ctx, &run, online, &s->points, c->reading, out, &err);
        note_gap();
        gaps.longest = fmax(gaps.longest, longest);
        free(out);
    }
    kc_online_free(ctx, online);
    return status;
}

static kc_status fill(const poll_case *c, const samples *s, kc_kernel *kernel)
{
    const int64_t n = s->points.n_rows;
    float *out = bench_alloc((size_t)(c->work == DIAG ? n : n * n), sizeof *out);
    const kc_run run = run_of(c);
    const kc_status status =
        c->work == DIAG ? kc_diag(ctx, &run, kernel, &s->points, s->points.dtype, out, &err)
                        : kc_gram(ctx, &run, kernel, &s->points, NULL, KC_F32, out, n, &err);

    note_gap();
    free(out);
    return status;
}

static kc_status work_on(const poll_case *c, const samples *s, kc_kernel *kernel)
{
    kc_model *model = NULL;
    kc_status status;

    switch (c->work) {
    case GRAM:
    case DIAG:
        return fill(c, s, kernel);
    case PREDICT:
        return predict(c, s, kernel);
    case PERCEPTRON:
        return fit_perceptron(c, s);
    case ONLINE_FIT:
    case ONLINE_LEARN:
        return learn_online(c, s, kernel);
    case FIT:
        break;
    }
    const kc_run run = run_of(c);
    status = fit(c, s, &run, kernel, &model);
    note_gap();
    kc_model_free(ctx, model);
    return status;
}

static void run_case(const poll_case *c)
{
    rng = kc_rng_seed(1);
    samples s = c->nnz > 0 ? make_sparse(c->n, c->d, c->nnz, c->heavy, c->nnz_heavy,
                                         (int32_t)kc_max(1, (size_t)c->n_classes))
                           : make_dense(c->n, c->d, (int32_t)kc_max(1, (size_t)c->n_classes));
    if (c->kernel == NULL) /* a kernel matrix */
        for (size_t i = 0; i < c->n; i++)
            ((float *)s.arrays[0])[i * c->d + i] += 200;
    kc_kernel *kernel = make_kernel(c);
    const kc_status status = work_on(c, &s, kernel);

    printf("{\"case\": \"%s\", \"longest_ms\": %.2f, \"after_stop_ms\": %.2f, \"status\": %d}\n",
           c->name, 1e3 * gaps.longest,
           gaps.stopped_at > 0 ? 1e3 * (bench_cpu_seconds() - gaps.stopped_at) : 0, (int)status);
    fflush(stdout);
    if (status != KC_OK && status != KC_ERR_CANCELLED)
        fprintf(stderr, "%s: %s\n", c->name, err.text);
    if (shows_places) {
        show_place("from", &gaps.from);
        show_place("to", &gaps.to);
    }
    kc_kernel_free(ctx, kernel);
    free_samples(&s);
}

int main(int argc, char **argv)
{
    const char *word = "";

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--places") == 0)
            shows_places = true;
        else
            word = argv[i];
    if (kc_context_create(NULL, &ctx, &err) != KC_OK)
        return 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strstr(cases[i].name, word) != NULL)
            run_case(&cases[i]);
    kc_context_free(ctx);
    return 0;
}
