/* The dual form against the rules on weight vectors: with the linear kernel and whole numbers,
 * every mistake is the same one. */
#include "online_case.h"

static kc_context *ctx;

/* The perceptron on weight vectors, over the same samples. */
typedef struct primal {
    double weights[3 * 8], intercepts[3], time_weighted[3 * 8], time_weighted_intercepts[3];
    int64_t mistakes[ONLINE_PASSES], n_steps;
    double criterion[ONLINE_PASSES];
    kc_perceptron_state state;
} primal;

static void run_primal(const online_case *c, const online_call *call, bool is_direct,
                       size_t problem, primal *p)
{
    ref_view view = ref_view_make(&c->samples, REF_DENSE, c->dtype);
    double eta[ONLINE_PASSES];
    const kc_perceptron_settings settings = {
        .struct_size = sizeof settings,
        .rule = call->rule != 0 ? call->rule : KC_RULE_SINGLE,
        .is_direct = is_direct,
        .has_intercept = 1,
        .is_shuffled = call->is_shuffled,
        .margin = call->margin,
        .theta = call->theta,
        .n_passes = call->n_passes,
        .eta = eta,
    };
    const kc_perceptron_data data = {
        .struct_size = sizeof data,
        .x = &view.points,
        .classes = c->classes,
        .n_classes = c->n_classes,
        .weights = call->weights,
    };

    memset(p, 0, sizeof *p);
    for (int k = 0; k < ONLINE_PASSES; k++)
        eta[k] = 1;
    p->state = (kc_perceptron_state){
        .struct_size = sizeof p->state,
        .positive = c->n_classes == 2 ? 1 : (int32_t)problem,
        .weights = p->weights,
        .intercepts = p->intercepts,
        .time_weighted = call->rule == KC_RULE_BATCH ? NULL : p->time_weighted,
        .time_weighted_intercepts =
            call->rule == KC_RULE_BATCH ? NULL : p->time_weighted_intercepts,
        .mistakes = p->mistakes,
        .criterion = p->criterion,
    };
    for (size_t k = 0; k < 4; k++)
        p->state.random[k] = 7 * (4 * problem + k) + 1;
    CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, &p->state, 1, NULL) == KC_OK);
    ref_view_free(&view);
}

/* The weights that the coefficients of a learner stand for. */
static void weights_of(const kc_online *online, const online_case *c, kc_reading reading,
                       double *weights, double *intercepts)
{
    const kc_online_info info = online_info(online);
    const size_t n = (size_t)info.n_points, n_outputs = (size_t)info.n_outputs;
    double *coef = malloc((n * n_outputs + 1) * sizeof *coef);
    int64_t *ids = malloc((n + 1) * sizeof *ids);

    CHECK(kc_online_coef(online, reading, coef, (int64_t)(n * n_outputs), intercepts,
                         info.n_outputs, NULL) == KC_OK);
    CHECK(kc_online_ids(online, ids, info.n_points, NULL) == KC_OK);
    memset(weights, 0, n_outputs * c->d * sizeof *weights);
    for (size_t o = 0; o < n_outputs; o++)
        for (size_t i = 0; i < n; i++)
            for (size_t t = 0; t < c->d; t++)
                weights[o * c->d + t] += coef[o * n + i] * c->samples.x[(size_t)ids[i] * c->d + t];
    free(coef);
    free(ids);
}

static void compare(const online_case *c, online_call *call, bool is_direct)
{
    const online_options options = {.kernel = {.op = OP_LINEAR},
                                    .is_direct = is_direct,
                                    .is_averaged = call->rule != KC_RULE_BATCH};
    const size_t n_outputs = c->n_classes == 2 ? 1 : (size_t)c->n_classes;
    kc_online *online = online_make(ctx, c, &options);
    double last[3 * 8], mean[3 * 8], intercepts[3], mean_intercepts[3];
    int64_t mistakes[ONLINE_PASSES] = {0}, n_updates = 0, n_done = 0;
    double criterion[ONLINE_PASSES] = {0};

    CHECK(online_run(ctx, online, c, call, true) == KC_OK);
    weights_of(online, c, KC_READING_LAST, last, intercepts);
    if (options.is_averaged)
        weights_of(online, c, KC_READING_MEAN, mean, mean_intercepts);
    for (size_t problem = 0; problem < (is_direct ? 1 : n_outputs); problem++) {
        primal p;

        run_primal(c, call, is_direct, problem, &p);
        n_updates += p.state.n_updates;
        n_done = p.state.n_done > n_done ? p.state.n_done : n_done;
        for (int64_t k = 0; k < p.state.n_done; k++) {
            mistakes[k] += p.mistakes[k];
            criterion[k] += p.criterion[k];
        }
        for (size_t o = problem; o < (is_direct ? n_outputs : problem + 1); o++) {
            const size_t own = o - problem;
            const double t = (double)p.state.n_steps;

            CHECK(p.intercepts[own] == intercepts[o]);
            if (options.is_averaged)
                CHECK_NEAR(((t + 1) * p.intercepts[own] - p.time_weighted_intercepts[own]) / t,
                           mean_intercepts[o], 1e-12);
            for (size_t k = 0; k < c->d; k++) {
                CHECK(p.weights[own * c->d + k] == last[o * c->d + k]);
                if (options.is_averaged)
                    CHECK_NEAR(
                        ((t + 1) * p.weights[own * c->d + k] - p.time_weighted[own * c->d + k]) / t,
                        mean[o * c->d + k], 1e-11);
            }
        }
    }
    CHECK(call->report.n_updates == n_updates);
    CHECK(call->report.n_done == n_done);
    for (int64_t k = 0; k < n_done; k++) {
        CHECK(call->mistakes[k] == mistakes[k]);
        CHECK(call->criterion[k] == criterion[k]);
    }
    kc_online_free(ctx, online);
}

static void with_the_linear_kernel_every_mistake_is_that_of_the_weight_vector(void)
{
    for (int32_t n_classes = 2; n_classes <= 3; n_classes++)
        for (int is_direct = 0; is_direct < n_classes - 1; is_direct++)
            for (int rule = KC_RULE_SINGLE; rule <= KC_RULE_BATCH; rule++)
                for (int variant = 0; variant < 4; variant++) {
                    online_case c =
                        online_case_make(120, 7, n_classes, variant % 2 ? KC_F32 : KC_F64);
                    double weights[120];
                    online_call call = {
                        .rule = rule,
                        .n_passes = 12,
                        .theta = 1e-6,
                        .margin = variant == 1 ? 3 : 0,
                        .is_shuffled = variant == 2,
                        .weights = variant == 3 ? weights : NULL,
                    };

                    for (size_t i = 0; i < c.n; i++)
                        weights[i] = (double)(i % 4) / 2; /* some are not there */
                    compare(&c, &call, is_direct);
                    online_case_free(&c);
                }
}

static void caches_and_threads_of_any_size_give_the_same_bits(void)
{
    online_case c = online_case_make(700, 7, 3, KC_F32);
    const online_options options = {.is_averaged = 1};
    kc_online *first = online_make(ctx, &c, &options);
    online_call call = {.n_passes = 6};

    CHECK(online_run(ctx, first, &c, &call, true) == KC_OK);
    CHECK(call.report.rows_hit > 0 && call.report.rows_evicted == 0);
    for (int32_t n_threads = 1; n_threads <= 4; n_threads += 3)
        for (int64_t cache_bytes = 6000; cache_bytes < 10000000; cache_bytes *= 40) {
            const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};
            kc_online *other = online_make(ctx, &c, &options);
            online_call again = {.n_passes = 6, .run = &run, .cache_bytes = cache_bytes};

            CHECK(online_run(ctx, other, &c, &again, true) == KC_OK);
            CHECK(again.report.cache_bytes_used <= cache_bytes);
            CHECK(online_equal(first, other));
            kc_online_free(ctx, other);
        }
    kc_online_free(ctx, first);
    online_case_free(&c);
}

static void a_cache_without_room_for_two_rows_is_refused(void)
{
    online_case c = online_case_make(50, 3, 2, KC_F64);
    kc_online *online = online_make(ctx, &c, &(online_options){0});
    online_call call = {.cache_bytes = 500};

    CHECK(online_run(ctx, online, &c, &call, true) == KC_ERR_ARG);
    CHECK(strstr(call.err.text, "two rows") != NULL);
    CHECK(online_info(online).n_points == 0);
    kc_online_free(ctx, online);
    online_case_free(&c);
}

static void a_given_matrix_leads_to_the_same_mistakes(void)
{
    online_case c = online_case_make(90, 6, 3, KC_F64);
    online_case matrix = {
        .n = c.n, .d = c.n, .n_classes = 3, .dtype = KC_F64, .classes = c.classes};
    kc_online *online = online_make(ctx, &c, &(online_options){.kernel = {.op = OP_LINEAR}});
    online_call call = {.n_passes = 8}, given_call = {.n_passes = 8};
    kc_online *given;

    matrix.samples = (ref_samples){c.n, c.n, malloc(c.n * c.n * sizeof(double))};
    for (size_t i = 0; i < c.n; i++)
        for (size_t j = 0; j < c.n; j++) {
            double sum = 0;

            for (size_t t = 0; t < c.d; t++)
                sum += c.samples.x[i * c.d + t] * c.samples.x[j * c.d + t];
            matrix.samples.x[i * c.n + j] = sum;
        }
    given = online_make(ctx, &matrix, &(online_options){.is_given = 1});
    CHECK(online_run(ctx, online, &c, &call, true) == KC_OK);
    CHECK(online_run(ctx, given, &matrix, &given_call, true) == KC_OK);
    for (size_t k = 0; k < 8; k++)
        CHECK(call.mistakes[k] == given_call.mistakes[k]);

    double *a = online_values(ctx, online, &c, KC_READING_LAST);
    double *b = online_values(ctx, given, &matrix, KC_READING_LAST);
    CHECK(memcmp(a, b, 3 * c.n * sizeof *a) == 0);
    free(a);
    free(b);
    CHECK(online_run(ctx, given, &matrix, &given_call, false) == KC_ERR_ARG);
    kc_online_free(ctx, given);
    kc_online_free(ctx, online);
    free(matrix.samples.x);
    online_case_free(&c);
}

/* A kernel matrix that is asked for; after so many answers it fails. */
typedef struct oracle {
    const double *k;
    size_t n;
    int64_t n_values, n_answers;
} oracle;

static int answer(void *data, const int64_t *rows, int64_t n_rows, const int64_t *cols,
                  int64_t n_cols, double *out)
{
    oracle *o = data;

    if (o->n_answers-- <= 0)
        return 1;
    o->n_values += n_rows * n_cols;
    for (int64_t i = 0; i < n_rows; i++)
        for (int64_t j = 0; j < n_cols; j++)
            out[i * n_cols + j] = o->k[(size_t)rows[i] * o->n + (size_t)cols[j]];
    return 0;
}

/* The kernel matrix of some samples in place of them. */
static online_case matrix_case(size_t n, int32_t n_classes)
{
    online_case c = online_case_make(n, 3, n_classes, KC_F64);
    double *k = malloc(n * n * sizeof *k);

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;

            for (size_t t = 0; t < 3; t++) {
                const double gap = c.samples.x[3 * i + t] - c.samples.x[3 * j + t];

                sum += gap * gap;
            }
            k[i * n + j] = exp(-sum / 8);
        }
    ref_samples_free(&c.samples);
    c.samples = (ref_samples){n, n, k};
    c.d = n;
    return c;
}

/* Fits once, and once more from there: with the matrix, and asking for it. */
static void check_user_kernel(const online_options *options, const online_call *how,
                              int32_t n_classes, size_t n_rows)
{
    online_case c = matrix_case(300, n_classes);
    kc_online *given = online_make(ctx, &c, options), *asked = online_make(ctx, &c, options);
    oracle o = {.k = c.samples.x, .n = c.n, .n_answers = INT64_MAX};

    for (int round = 0; round < 2; round++) {
        online_call a = *how, b = *how;

        b.kernel_fn = answer;
        b.kernel_data = &o;
        b.cache_bytes = (int64_t)(n_rows * (c.n * sizeof(double) + 128));
        CHECK(online_run(ctx, given, &c, &a, true) == KC_OK);
        CHECK(online_run(ctx, asked, &c, &b, true) == KC_OK);
        CHECK(online_equal(given, asked));
        CHECK(memcmp(a.mistakes, b.mistakes, sizeof a.mistakes) == 0);
        CHECK(memcmp(a.criterion, b.criterion, sizeof a.criterion) == 0);
        CHECK(b.report.cache_bytes_used <= b.cache_bytes);
    }
    kc_online_free(ctx, given);
    kc_online_free(ctx, asked);
    online_case_free(&c);
}

static void a_matrix_that_is_asked_for_gives_the_same_bits(void)
{
    static const online_options options[] = {{.is_given = 1},
                                             {.is_given = 1, .is_direct = 1, .is_averaged = 1},
                                             {.is_given = 1, .is_voted = 1, .no_intercept = 1}};

    for (int k = 0; k < 3; k++)
        for (int32_t n_classes = 2; n_classes <= 3; n_classes++)
            for (size_t n_rows = 2; n_rows <= 300; n_rows += 149)
                check_user_kernel(&options[k],
                                  &(online_call){.n_passes = 3, .is_shuffled = k == 1, .margin = k},
                                  n_classes, n_rows);
    check_user_kernel(&options[0], &(online_call){.n_passes = 5, .rule = KC_RULE_BATCH}, 3, 7);
}

static void few_mistakes_ask_for_few_values(void)
{
    online_case c = matrix_case(300, 2);
    kc_online *online = online_make(ctx, &c, &(online_options){.is_given = 1});
    oracle o = {.k = c.samples.x, .n = c.n, .n_answers = INT64_MAX};
    online_call call = {.n_passes = 1, .kernel_fn = answer, .kernel_data = &o};

    CHECK(online_run(ctx, online, &c, &call, true) == KC_OK);
    CHECK(call.report.n_updates < 60 && o.n_values < 300 * 300 / 2);
    kc_online_free(ctx, online);
    online_case_free(&c);
}

static void a_function_that_fails_leaves_the_learner_as_it_was(void)
{
    online_case c = matrix_case(100, 3);
    const online_options options = {.is_given = 1, .is_voted = 1};
    kc_online *online = online_make(ctx, &c, &options), *before = online_make(ctx, &c, &options);
    oracle o = {.k = c.samples.x, .n = c.n, .n_answers = INT64_MAX};
    online_call call = {.n_passes = 2, .kernel_fn = answer, .kernel_data = &o};

    CHECK(online_run(ctx, online, &c, &call, true) == KC_OK);
    CHECK(online_run(ctx, before, &c, &call, true) == KC_OK);
    for (int64_t n = 0; n < 20; n++) {
        o.n_answers = n;
        CHECK(online_run(ctx, online, &c, &call, true) == KC_ERR_CALLBACK);
        CHECK(strstr(call.err.text, "kernel function failed") != NULL);
        CHECK(online_equal(online, before));
    }
    kc_online_free(ctx, online);
    kc_online_free(ctx, before);
    online_case_free(&c);
}

static void a_function_is_for_fits_of_all_samples_without_a_kernel(void)
{
    online_case c = matrix_case(30, 2);
    kc_online *given = online_make(ctx, &c, &(online_options){.is_given = 1});
    kc_online *plain = online_make(ctx, &c, &(online_options){0});
    oracle o = {.k = c.samples.x, .n = c.n, .n_answers = INT64_MAX};
    online_call call = {.kernel_fn = answer, .kernel_data = &o};
    online_call part = {.end = 20, .kernel_fn = answer, .kernel_data = &o};
    online_call late = {.first = 30};

    CHECK(online_run(ctx, plain, &c, &call, true) == KC_ERR_ARG);
    CHECK(strstr(call.err.text, "a learner that has a kernel: set it to NULL") != NULL);
    CHECK(online_run(ctx, given, &c, &call, false) == KC_ERR_ARG);
    CHECK(online_run(ctx, given, &c, &part, true) == KC_ERR_SHAPE);
    CHECK(strstr(part.err.text, "20 samples, the learner takes 30") != NULL);
    /* Columns of a matrix are numbered by its own samples. */
    CHECK(online_run(ctx, given, &c, &late, true) == KC_ERR_ARG);
    CHECK(strstr(late.err.text, "first is 30") != NULL);
    CHECK(online_info(given).n_seen == 0 && o.n_values == 0);
    kc_online_free(ctx, given);
    kc_online_free(ctx, plain);
    online_case_free(&c);
}

/* Stops at the n-th question. */
static int stop_later(void *data, const kc_progress *progress)
{
    (void)progress;
    return --*(int *)data < 0;
}

static void a_stopped_fit_leaves_the_learner_as_it_was(void)
{
    online_case c = online_case_make(4000, 8, 2, KC_F64);
    kc_online *online = online_make(ctx, &c, &(online_options){0});
    kc_online *before = online_make(ctx, &c, &(online_options){0});
    int n_left = 0;
    kc_run run = {.struct_size = sizeof run, .on_progress = stop_later, .progress_data = &n_left};
    online_call call = {.n_passes = ONLINE_PASSES, .run = &run, .margin = 100};

    CHECK(online_run(ctx, online, &c, &call, true) == KC_ERR_CANCELLED);
    CHECK(online_equal(online, before));
    kc_online_free(ctx, online);
    kc_online_free(ctx, before);
    online_case_free(&c);
}

static void a_time_limit_leaves_what_was_learnt(void)
{
    online_case c = online_case_make(3000, 8, 2, KC_F64);
    kc_online *online = online_make(ctx, &c, &(online_options){0});
    const kc_run run = {.struct_size = sizeof run, .time_limit = 0.03};
    online_call call = {.n_passes = ONLINE_PASSES, .run = &run, .margin = 1e6};

    CHECK(online_run(ctx, online, &c, &call, true) == KC_OK);
    CHECK(!call.report.is_converged && call.report.n_done < ONLINE_PASSES);
    CHECK(online_info(online).n_updates == call.report.n_updates);
    kc_online_free(ctx, online);
    online_case_free(&c);
}

static void the_bound_of_the_theorem_holds(void)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        online_case c = online_case_make(40 + seed, 3, 2, KC_F64);
        kc_online *online = online_make(ctx, &c, &(online_options){0});
        online_call call = {.n_passes = ONLINE_PASSES};
        const kc_online_report *r = &call.report;

        CHECK(online_run(ctx, online, &c, &call, true) == KC_OK);
        if (r->is_converged) {
            double *values = online_values(ctx, online, &c, KC_READING_LAST);
            double least = INFINITY;

            for (size_t i = 0; i < c.n; i++)
                least = fmin(least, c.classes[i] == 1 ? values[i] : -values[i]);
            CHECK_NEAR(r->min_value, least, 1e-10);
            CHECK_NEAR(r->max_diag, 2, 0);
            CHECK((double)r->n_updates <= r->max_diag * r->sq_norm / (r->min_value * r->min_value));
            free(values);
        }
        kc_online_free(ctx, online);
        online_case_free(&c);
    }
}

static void a_fit_goes_on_where_the_last_one_ended(void)
{
    online_case c = online_case_make(200, 5, 3, KC_F64);
    const online_options options = {.kernel = {.op = OP_LINEAR}, .is_averaged = 1};
    kc_online *whole = online_make(ctx, &c, &options), *parts = online_make(ctx, &c, &options);
    online_call six = {.n_passes = 6}, three = {.n_passes = 3};

    CHECK(online_run(ctx, whole, &c, &six, true) == KC_OK);
    CHECK(online_run(ctx, parts, &c, &three, true) == KC_OK);
    CHECK(online_run(ctx, parts, &c, &three, true) == KC_OK);
    double *a = online_values(ctx, whole, &c, KC_READING_MEAN);
    double *b = online_values(ctx, parts, &c, KC_READING_MEAN);
    for (size_t k = 0; k < 3 * c.n; k++)
        CHECK_NEAR(a[k], b[k], 1e-9);
    CHECK(online_info(whole).n_updates == online_info(parts).n_updates);
    CHECK(online_info(whole).n_points == online_info(parts).n_points);
    free(a);
    free(b);
    kc_online_free(ctx, whole);
    kc_online_free(ctx, parts);
    online_case_free(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(with_the_linear_kernel_every_mistake_is_that_of_the_weight_vector);
    RUN(caches_and_threads_of_any_size_give_the_same_bits);
    RUN(a_cache_without_room_for_two_rows_is_refused);
    RUN(a_given_matrix_leads_to_the_same_mistakes);
    RUN(a_matrix_that_is_asked_for_gives_the_same_bits);
    RUN(few_mistakes_ask_for_few_values);
    RUN(a_function_that_fails_leaves_the_learner_as_it_was);
    RUN(a_function_is_for_fits_of_all_samples_without_a_kernel);
    RUN(a_stopped_fit_leaves_the_learner_as_it_was);
    RUN(a_time_limit_leaves_what_was_learnt);
    RUN(the_bound_of_the_theorem_holds);
    RUN(a_fit_goes_on_where_the_last_one_ended);
    kc_context_free(ctx);
    return kc_test_end();
}
