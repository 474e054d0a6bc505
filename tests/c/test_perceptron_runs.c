/* Calls of the perceptron: overflow, stopping, refused memory, bad arguments; decision values and
 * margins. */
#include "perceptron_case.h"

static void overflow_is_refused(void)
{
    sample_set s = make_set();
    static result r;

    for (int k = 0; k < 4; k++) {
        options o = make_options(k);
        ref_view v = ref_view_make(&s.x, REF_DENSE, KC_F64);
        const kc_perceptron_data data = data_of(&s, &v.points, false);
        const kc_perceptron_settings settings = settings_of(&o, PASSES);

        for (int pass = 0; pass < PASSES; pass++)
            o.eta[pass] = 1e308;
        r.state = state_of(&r, &o, 1);
        CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, &r.state, 1, &err) == KC_ERR_RANGE);
        CHECK(strstr(err.text, "pass ") != NULL && strstr(err.text, "eta") != NULL);
        ref_view_free(&v);
    }
    ref_samples_free(&s.x);
}

/* ---- Stopping ----------------------------------------------------------------------------- */

typedef struct big_set {
    float *x;
    int32_t *classes;
    kc_points points;
    kc_perceptron_data data;
    double *eta, *criterion;
    int64_t *mistakes;
    double w[8], b[1];
    kc_perceptron_settings settings;
    kc_perceptron_state state;
} big_set;

/* Both classes alike: no end but from outside. */
static void make_big(big_set *s, int64_t n, int64_t n_passes)
{
    *s = (big_set){.x = malloc((size_t)n * 8 * sizeof *s->x)};
    s->classes = malloc((size_t)n * sizeof *s->classes);
    s->eta = malloc((size_t)n_passes * sizeof *s->eta);
    s->criterion = malloc((size_t)n_passes * sizeof *s->criterion);
    s->mistakes = malloc((size_t)n_passes * sizeof *s->mistakes);
    for (int64_t k = 0; k < n * 8; k++)
        s->x[k] = (float)kc_rng_below(&rng, 9) - 4;
    for (int64_t i = 0; i < n; i++)
        s->classes[i] = (int32_t)kc_rng_below(&rng, 2);
    for (int64_t k = 0; k < n_passes; k++)
        s->eta[k] = 1;
    s->points = (kc_points){.struct_size = sizeof(kc_points),
                            .storage = KC_DENSE,
                            .dtype = KC_F32,
                            .n_rows = n,
                            .n_cols = 8};
    s->points.values = s->x;
    s->points.row_stride = 32;
    s->points.col_stride = 4;
    s->data = (kc_perceptron_data){.struct_size = sizeof s->data, .x = &s->points, .n_classes = 2};
    s->data.classes = s->classes;
    s->settings = (kc_perceptron_settings){.struct_size = sizeof s->settings,
                                           .rule = KC_RULE_SINGLE,
                                           .has_intercept = 1,
                                           .n_passes = n_passes};
    s->settings.eta = s->eta;
    s->state = (kc_perceptron_state){.struct_size = sizeof s->state, .positive = 1, .random = {1}};
    s->state.weights = s->w;
    s->state.intercepts = s->b;
    s->state.mistakes = s->mistakes;
    s->state.criterion = s->criterion;
}

static void free_big(big_set *s)
{
    free(s->x);
    free(s->classes);
    free(s->eta);
    free(s->criterion);
    free(s->mistakes);
}

static void a_time_limit_ends_with_what_there_is(void)
{
    for (int rule = KC_RULE_SINGLE; rule <= KC_RULE_BATCH; rule++)
        for (int is_direct = 0; is_direct < 2; is_direct++) {
            kc_run run = {.struct_size = sizeof run, .time_limit = 0.02};
            double w[16] = {0}, b[2] = {0};
            big_set s;

            make_big(&s, 20000, 100000);
            s.settings.rule = rule;
            s.settings.is_direct = is_direct;
            s.state.weights = w;
            s.state.intercepts = b;
            CHECK(kc_perceptron_run(ctx, &run, &s.settings, &s.data, &s.state, 1, &err) == KC_OK);
            CHECK(!s.state.is_converged && s.state.n_done < 100000);
            CHECK(isfinite(w[0]) && isfinite(b[0]));
            if (rule == KC_RULE_SINGLE) {
                CHECK(s.state.n_steps >= 20000 * s.state.n_done);
                CHECK(s.state.n_steps < 20000 * (s.state.n_done + 1));
            }
            free_big(&s);
        }
}

/* Also where there was no time for the later problems at all. */
static void a_time_limit_ends_all_problems_of_a_call(void)
{
    const kc_run run = {.struct_size = sizeof run, .time_limit = 0.02};
    double w[3][8] = {{0}}, b[3] = {0};
    kc_perceptron_state states[3];
    big_set s;

    make_big(&s, 20000, 100000);
    for (int k = 0; k < 3; k++) {
        states[k] = s.state;
        states[k].weights = w[k];
        states[k].intercepts = &b[k];
        states[k].n_done = -1;
    }
    CHECK(kc_perceptron_run(ctx, &run, &s.settings, &s.data, states, 3, &err) == KC_OK);
    CHECK(states[0].n_done >= 0 && states[0].n_done < 100000);
    for (int k = 1; k < 3; k++) {
        CHECK(states[k].n_done == 0 && states[k].n_steps == 0 && !states[k].is_converged);
        CHECK(w[k][0] == 0 && b[k] == 0);
    }
    free_big(&s);
}

static int stop_third(void *data, const kc_progress *progress)
{
    int *n_asked = data;

    CHECK(strcmp(progress->phase, "perceptron") == 0);
    CHECK(progress->n_iter >= 0 && !(progress->objective < 0));
    return ++*n_asked == 3;
}

static void the_caller_is_asked_and_may_stop(void)
{
    int n_asked = 0;
    kc_run run = {.struct_size = sizeof run, .on_progress = stop_third};
    big_set s;

    make_big(&s, 20000, 1000000);
    run.progress_data = &n_asked;
    CHECK(kc_perceptron_run(ctx, &run, &s.settings, &s.data, &s.state, 1, &err) ==
          KC_ERR_CANCELLED);
    CHECK(n_asked == 3);
    free_big(&s);
}

static void refused_memory_is_reported_and_nothing_is_lost(void)
{
    static result r;
    sample_set s = make_set();
    options o = make_options(1 + 2 + 4 + 8);
    ref_view v = ref_view_make(&s.x, REF_FORTRAN, KC_F32);
    const kc_perceptron_data data = data_of(&s, &v.points, true);
    const kc_perceptron_settings settings = settings_of(&o, PASSES);
    int n_refused = 0; /* at its end, a call can do without more memory for the next one */

    for (size_t n = 1;; n++) {
        kc_context_config config = {.struct_size = sizeof config, .allocator = &fault.allocator};
        kc_context *own; /* a new one, so that it has no memory in store */

        REQUIRE(kc_context_create(&config, &own, &err) == KC_OK);
        r.state = state_of(&r, &o, 0);
        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        const kc_status status = kc_perceptron_run(own, NULL, &settings, &data, &r.state, 1, &err);
        const bool has_failed = kc_fault_disarm(&fault);
        kc_context_free(own);
        n_refused += status == KC_ERR_NOMEM;
        CHECK(status == KC_OK || (has_failed && status == KC_ERR_NOMEM));
        if (!has_failed)
            break;
    }
    CHECK(n_refused >= 2);
    ref_view_free(&v);
    ref_samples_free(&s.x);
}

/* ---- Words -------------------------------------------------------------------------------- */

typedef struct bad_call {
    kc_perceptron_settings settings;
    kc_perceptron_data data;
    kc_perceptron_state state;
    int32_t classes[N];
    double weights[N];
    double eta[PASSES];
    int32_t n_states;
} bad_call;

static kc_points *bad_points;
static result bad_result;

static bad_call good_call(const sample_set *s)
{
    const options o = make_options(0);
    bad_call c = {.settings = settings_of(&o, PASSES), .n_states = 1};

    memcpy(c.classes, s->classes, sizeof c.classes);
    memcpy(c.weights, s->weights, sizeof c.weights);
    memcpy(c.eta, o.eta, sizeof c.eta);
    c.data = data_of(s, bad_points, true);
    c.state = state_of(&bad_result, &o, 0);
    return c;
}

static void check_refused(bad_call c, const char *words)
{
    c.settings.eta = c.settings.eta != NULL ? c.eta : NULL;
    c.data.classes = c.data.classes != NULL ? c.classes : NULL;
    c.data.weights = c.weights;
    CHECK(kc_perceptron_run(ctx, NULL, &c.settings, &c.data, &c.state, c.n_states, &err) ==
          KC_ERR_ARG);
    if (strstr(err.text, words) == NULL)
        printf("    \"%s\" lacks \"%s\"\n", err.text, words);
    CHECK(strstr(err.text, words) != NULL);
}

#define REFUSED(change, words)                                                                     \
    do {                                                                                           \
        bad_call c = good_call(&s);                                                                \
        change;                                                                                    \
        check_refused(c, words);                                                                   \
    } while (0)

static void bad_arguments_are_named_with_place_and_value(void)
{
    sample_set s = make_set();
    ref_view v = ref_view_make(&s.x, REF_DENSE, KC_F64);

    bad_points = &v.points;
    REFUSED(c.settings.struct_size = 3, "settings.struct_size is 3");
    REFUSED(c.settings.rule = 9, "rule is 9");
    REFUSED(c.settings.margin = -1, "margin is -1");
    REFUSED(c.settings.margin = NAN, "margin is nan");
    REFUSED(c.settings.margin = HUGE_VAL, "margin is inf");
    REFUSED(c.settings.theta = -0.5, "theta is -0.5");
    REFUSED(c.settings.n_passes = 0, "n_passes is 0");
    REFUSED(c.settings.eta = NULL, "eta");
    REFUSED(c.eta[2] = 0, "eta(2) is 0");
    REFUSED(c.eta[5] = NAN, "eta(5) is nan");
    REFUSED(c.data.struct_size = 4, "data.struct_size is 4");
    REFUSED(c.data.classes = NULL, "classes is NULL");
    REFUSED(c.data.x = NULL, "data.x is NULL");
    REFUSED(c.data.n_classes = 1, "there are 1 classes");
    REFUSED(c.classes[7] = 3, "classes[7] is 3, must be 0 to 2");
    REFUSED(c.classes[7] = -1, "classes[7] is -1");
    REFUSED(c.weights[9] = -2, "sample_weight[9] is -2");
    REFUSED(c.weights[9] = HUGE_VAL, "sample_weight[9] is inf");
    REFUSED(c.n_states = 0, "there are 0 states");
    REFUSED((c.settings.is_direct = 1, c.n_states = 2), "there are 2 states, must be 1");
    REFUSED(c.state.struct_size = 5, "states[0].struct_size is 5");
    REFUSED(c.state.positive = 3, "states[0]: positive is 3, must be 0 to 2");
    REFUSED(c.state.weights = NULL, "states[0].weights is NULL");
    REFUSED(c.state.time_weighted = bad_result.time_weighted,
            "states[0].time_weighted_intercepts is NULL");
    REFUSED(c.state.best_weights = bad_result.best_weights, "states[0].best_intercepts is NULL");
    REFUSED(memset(c.state.random, 0, sizeof c.state.random), "random is all zeros");
    CHECK(kc_perceptron_run(ctx, NULL, NULL, NULL, NULL, 1, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "settings is NULL") != NULL);
    ref_view_free(&v);
    ref_samples_free(&s.x);
}

/* Fields that an older caller's struct does not have are as if they were zero; what lies behind it
 * is not written. */
static void callers_with_older_structs_are_served(void)
{
    static result whole, older;
    sample_set s = make_set();
    options o = make_options(1);
    ref_view v = ref_view_make(&s.x, REF_FORTRAN, KC_F32);
    const kc_perceptron_data data = data_of(&s, &v.points, true);
    const kc_perceptron_settings settings = settings_of(&o, PASSES);
    const size_t size = offsetof(kc_perceptron_state, has_best);
    kc_perceptron_state old;

    whole.state = state_of(&whole, &o, 0);
    memset(&old, 0x5a, sizeof old);
    memcpy(&old, &(kc_perceptron_state){.struct_size = 0}, size);
    older.state = state_of(&older, &o, 0);
    memcpy(&old, &older.state, size);
    old.struct_size = size;
    CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, &whole.state, 1, &err) == KC_OK);
    CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, &old, 1, &err) == KC_OK);
    CHECK(old.struct_size == size && old.n_updates == whole.state.n_updates);
    CHECK(memcmp(whole.weights, older.weights, sizeof whole.weights) == 0);
    for (size_t k = size; k < sizeof old; k++)
        CHECK(((unsigned char *)&old)[k] == 0x5a);
    ref_view_free(&v);
    ref_samples_free(&s.x);
}

/* ---- Decision values and margins ---------------------------------------------------------- */

static void decision_values_do_not_depend_on_threads_or_form(void)
{
    const size_t n = 300, d = 11;
    ref_samples x = ref_random(9, n, d, 0.4, KC_F32);
    double w[33], b[3] = {0.5, -0.25, 0};
    double *first = malloc(n * 3 * sizeof *first), *values = malloc(n * 3 * sizeof *values);

    for (size_t k = 0; k < 33; k++)
        w[k] = kc_rng_uniform(&rng);
    for (int form = 0; form < REF_N_FORMS; form++)
        for (int32_t n_threads = 1; n_threads <= 3; n_threads++) {
            kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};
            ref_view v = ref_view_make(&x, (ref_form)form, KC_F32);

            CHECK(kc_linear_decision(ctx, &run, &v.points, w, b, 3, values, &err) == KC_OK);
            if (n_threads == 1)
                memcpy(first, values, n * 3 * sizeof *first);
            CHECK(memcmp(first, values, n * 3 * sizeof *first) == 0);
            for (size_t k = 0; k < n * 3; k++) {
                double want = b[k % 3];
                for (size_t t = 0; t < d; t++)
                    want += w[k % 3 * d + t] * x.x[k / 3 * d + t];
                CHECK_NEAR(values[k], want, 1e-14);
            }
            ref_view_free(&v);
        }
    free(first);
    free(values);
    ref_samples_free(&x);
}

/* A point of the linear kernel for each output: its weights are the vectors. */
static void weight_vectors_end_in_a_function(void)
{
    enum { N_OUT = 3, N_X = 40 };
    ref_samples x = ref_random(10, N_X, D, 0.4, KC_F64);
    const double ones[N_OUT * N_OUT] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, b[N_OUT] = {0.5, -0.25, 0};
    const kc_labels labels = {"xyz", N_OUT, 1, 1};
    double w[N_OUT * D], found[N_OUT * D], values[N_X * N_OUT], expected[N_X * N_OUT];
    int32_t classes[N_X];
    char names[N_OUT];
    kc_kernel *kernel = NULL;
    kc_function *f = NULL;

    for (size_t k = 0; k < N_OUT * D; k++)
        w[k] = kc_rng_uniform(&rng) - 0.5;
    ref_view vectors = ref_view_make(&(ref_samples){N_OUT, D, w}, REF_DENSE, KC_F64);
    ref_view v = ref_view_make(&x, REF_DENSE, KC_F64);
    CHECK(kc_kernel_leaf(ctx, "linear", NULL, 0, &kernel, &err) == KC_OK);
    const kc_function_parts parts = {
        .struct_size = sizeof parts,
        .kernel = kernel,
        .x = &vectors.points,
        .dtype = KC_F64,
        .n_points = N_OUT,
        .n_cols = D,
        .n_outputs = N_OUT,
        .coef = ones,
        .intercepts = b,
        .decoder = KC_DECODE_LARGEST,
        .n_classes = N_OUT,
        .labels = &labels,
    };
    REQUIRE(kc_function_create(ctx, NULL, &parts, &f, &err) == KC_OK);
    CHECK(kc_function_weights(f, found, N_OUT * D, &err) == KC_OK);
    CHECK(memcmp(found, w, sizeof w) == 0);
    CHECK(kc_function_labels(f, names, N_OUT, &err) == KC_OK && memcmp(names, "xyz", N_OUT) == 0);
    CHECK(kc_function_evaluate(ctx, NULL, f, &v.points, KC_PER_OUTPUT, values, N_OUT, &err) ==
          KC_OK);
    CHECK(kc_linear_decision(ctx, NULL, &v.points, w, b, N_OUT, expected, &err) == KC_OK);
    CHECK(kc_function_predict(ctx, NULL, f, &v.points, 0, classes, &err) == KC_OK);
    for (size_t k = 0; k < N_X * N_OUT; k++) {
        CHECK_NEAR(values[k], expected[k], 1e-14);
        CHECK(values[k / N_OUT * N_OUT + (size_t)classes[k / N_OUT]] >= values[k]);
    }
    kc_function_free(ctx, f);
    kc_kernel_free(ctx, kernel);
    ref_view_free(&vectors);
    ref_view_free(&v);
    ref_samples_free(&x);
}

static void the_margin_is_the_least_signed_value(void)
{
    sample_set s = make_set();

    for (int form = 0; form < REF_N_FORMS; form++) {
        ref_view v = ref_view_make(&s.x, (ref_form)form, KC_F64);
        const options o = {.has_weights = form % 2 == 1};
        const kc_perceptron_data data = data_of(&s, &v.points, o.has_weights);
        const double w[D] = {1, -2, 3, -1, 0.5};
        kc_perceptron_margin found = {.struct_size = sizeof found};
        double least = HUGE_VAL, norm = 0, loss;
        static result r;

        r.state.positive = 2;
        memcpy(r.weights, w, sizeof w);
        r.intercepts[0] = 0.25;
        for (size_t i = 0; i < N; i++) {
            double square = 0;
            for (size_t t = 0; t < D; t++)
                square += s.x.x[i * D + t] * s.x.x[i * D + t];
            norm = fmax(norm, square);
            if (weight_of(&s, &o, i) > 0)
                least = fmin(least, judge(&s, &o, &r, 2, i).value);
        }
        CHECK(kc_perceptron_measure(ctx, NULL, &data, 2, w, 0.25, &found, &err) == KC_OK);
        CHECK(found.max_sq_norm == norm && found.min_value == least);
        CHECK(found.n_mistakes == count_mistakes(&s, &o, &r, r.weights, r.intercepts, &loss));
        found = (kc_perceptron_margin){.struct_size = offsetof(kc_perceptron_margin, n_mistakes),
                                       .n_mistakes = -1};
        CHECK(kc_perceptron_measure(ctx, NULL, &data, 2, w, 0.25, &found, &err) == KC_OK);
        CHECK(found.min_value == least && found.n_mistakes == -1);
        found.struct_size = 0;
        CHECK(kc_perceptron_measure(ctx, NULL, &data, 2, w, 0.25, &found, &err) == KC_ERR_ARG);
        CHECK(strstr(err.text, "out.struct_size is 0") != NULL);
        ref_view_free(&v);
    }
    ref_samples_free(&s.x);
}

int main(void)
{
    perceptron_case_begin();
    RUN(overflow_is_refused);
    RUN(a_time_limit_ends_with_what_there_is);
    RUN(a_time_limit_ends_all_problems_of_a_call);
    RUN(the_caller_is_asked_and_may_stop);
    RUN(refused_memory_is_reported_and_nothing_is_lost);
    RUN(bad_arguments_are_named_with_place_and_value);
    RUN(callers_with_older_structs_are_served);
    RUN(decision_values_do_not_depend_on_threads_or_form);
    RUN(weight_vectors_end_in_a_function);
    RUN(the_margin_is_the_least_signed_value);
    return perceptron_case_end();
}
