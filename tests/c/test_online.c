/* Learning sample by sample: the same bits however samples are cut into calls, budgets kept, no
 * memory taken by one sample, and nothing half done when a call fails or is stopped. */
#include "base/kc_context.h"
#include "fault.h"
#include "online_case.h"

static kc_context *ctx;

static const char *const strategy_names[] = {"", "oldest", "smallest", "projection", "merge"};

/* ---- Cuts ----------------------------------------------------------------------------------- */

/* How the points are kept. */
static kc_storage storage_of(const kc_online *online)
{
    kc_part_info part = {.struct_size = sizeof part};
    kc_function *f = NULL;

    CHECK(kc_online_function(ctx, NULL, online, KC_READING_LAST, NULL, &f, NULL) == KC_OK);
    CHECK(kc_function_part(f, 0, &part, NULL) == KC_OK);
    kc_function_free(ctx, f);
    return part.storage;
}

static void learn_in_parts(kc_context *context, kc_online *online, const online_case *c,
                           size_t part, ref_form form, int32_t n_threads)
{
    const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};

    for (size_t begin = 0; begin < c->n; begin += part) {
        online_call call = {
            .begin = begin,
            .end = begin + part < c->n ? begin + part : c->n,
            .form = form,
            .first = -1,
            .run = &run,
        };

        CHECK(online_run(context, online, c, &call, false) == KC_OK);
    }
}

static void samples_cut_into_calls_anyhow_give_the_same_bits(void)
{
    const size_t parts[] = {1, 7, 64};

    for (int32_t strategy = 0; strategy <= KC_STRATEGY_MERGE; strategy++)
        for (int dtype = KC_F32; dtype <= KC_F64; dtype++) {
            online_case c = online_case_make(250, 6, 3, (kc_dtype)dtype);
            const online_options options = {.budget = strategy > 0 ? 25 : 0, .strategy = strategy};
            kc_online *whole = online_make(ctx, &c, &options);

            learn_in_parts(ctx, whole, &c, c.n, REF_DENSE, 1);
            for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
                kc_online *other = online_make(ctx, &c, &options);

                learn_in_parts(ctx, other, &c, parts[k], REF_DENSE, 1 + (int32_t)k % 3);
                CHECK(online_equal(whole, other));
                kc_online_free(ctx, other);
            }
            kc_online_free(ctx, whole);
            online_case_free(&c);
        }
}

static void every_form_of_the_samples_gives_the_same_bits(void)
{
    for (int32_t strategy = 0; strategy <= KC_STRATEGY_MERGE; strategy++)
        for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
            online_case c = online_case_make(150, 140, 2, KC_F64);
            const online_options options = {
                .kernel = {.op = OP_RBF, .gamma = 1.0 / 512},
                .budget = strategy > 0 ? 20 : 0,
                .strategy = strategy,
                .is_sparse = is_sparse,
            };
            kc_online *first = online_make(ctx, &c, &options);

            for (size_t k = 0; k < c.n * c.d; k++) /* mostly zeros */
                c.samples.x[k] = k % 11 < 2 ? c.samples.x[k] : 0;
            learn_in_parts(ctx, first, &c, c.n, REF_DENSE, 1);
            CHECK(storage_of(first) == (is_sparse ? KC_CSR : KC_DENSE));
            for (int form = 1; form < REF_N_FORMS; form++)
                for (size_t part = 1; part <= 60; part += 59) {
                    kc_online *other = online_make(ctx, &c, &options);

                    learn_in_parts(ctx, other, &c, part, (ref_form)form, 1);
                    CHECK(online_equal(first, other));
                    kc_online_free(ctx, other);
                }
            kc_online_free(ctx, first);
            online_case_free(&c);
        }
}

static void points_of_few_columns_are_dense_whatever_they_come_as(void)
{
    online_case c = online_case_make(60, 128, 2, KC_F64);
    kc_online *online = online_make(ctx, &c, &(online_options){.is_sparse = 1});

    learn_in_parts(ctx, online, &c, 10, REF_CSR, 1);
    CHECK(storage_of(online) == KC_DENSE);
    kc_online_free(ctx, online);
    online_case_free(&c);
}

static void many_points_are_evaluated_by_all_threads_to_the_same_bits(void)
{
    online_case c = online_case_make(3000, 60, 2, KC_F32);
    const online_options options = {.kernel = {.op = OP_RBF, .gamma = 1.0 / 64}};
    kc_online *one = online_make(ctx, &c, &options), *four = online_make(ctx, &c, &options);

    learn_in_parts(ctx, one, &c, c.n, REF_DENSE, 1);
    learn_in_parts(ctx, four, &c, 1000, REF_DENSE, 4);
    CHECK(online_info(one).n_points > 400);
    CHECK(online_equal(one, four));
    kc_online_free(ctx, one);
    kc_online_free(ctx, four);
    online_case_free(&c);
}

/* ---- What is learnt -------------------------------------------------------------------------- */

static void a_pass_online_is_a_pass_in_dual_form(void)
{
    for (int32_t n_classes = 2; n_classes <= 3; n_classes++)
        for (int is_direct = 0; is_direct < n_classes - 1; is_direct++) {
            online_case c = online_case_make(300, 5, n_classes, KC_F64);
            const online_options options = {
                .kernel = {.op = OP_LINEAR}, .is_direct = is_direct, .is_voted = 1};
            kc_online *dual = online_make(ctx, &c, &options);
            kc_online *online = online_make(ctx, &c, &options);
            online_call a = {.n_passes = 4}, b = {.n_passes = 4};

            CHECK(online_run(ctx, dual, &c, &a, true) == KC_OK);
            CHECK(online_run(ctx, online, &c, &b, false) == KC_OK);
            for (size_t k = 0; k < 4; k++) {
                CHECK(a.mistakes[k] == b.mistakes[k]);
                CHECK_NEAR(a.criterion[k], b.criterion[k], 1e-9);
            }
            for (int reading = KC_READING_LAST; reading <= KC_READING_VOTES; reading += 2) {
                double *x = online_values(ctx, dual, &c, (kc_reading)reading);
                double *y = online_values(ctx, online, &c, (kc_reading)reading);

                for (size_t k = 0; k < c.n * (n_classes == 2 ? 1 : 3); k++)
                    CHECK(x[k] == y[k]);
                free(x);
                free(y);
            }
            kc_online_free(ctx, dual);
            kc_online_free(ctx, online);
            online_case_free(&c);
        }
}

static void a_decision_value_is_what_learning_saw(void)
{
    online_case c = online_case_make(500, 9, 2, KC_F32);
    kc_online *online = online_make(ctx, &c, &(online_options){.budget = 300, .strategy = 1});

    for (size_t i = 0; i < c.n; i++) {
        const ref_samples one = {1, c.d, c.samples.x + i * c.d};
        ref_view view = ref_view_make(&one, REF_DENSE, c.dtype);
        online_call call = {.begin = i, .end = i + 1, .first = -1};
        double value;

        CHECK(kc_online_decision(ctx, NULL, online, &view.points, KC_READING_LAST, &value, NULL) ==
              KC_OK);
        value = c.classes[i] == 1 ? value : -value;
        CHECK(online_run(ctx, online, &c, &call, false) == KC_OK);
        CHECK(call.mistakes[0] == (value <= 0));
        CHECK(call.criterion[0] == (value <= 0 ? -value : 0));
        ref_view_free(&view);
    }
    kc_online_free(ctx, online);
    online_case_free(&c);
}

static void the_budget_is_kept_and_the_intercept_is_the_sum_of_the_coefficients(void)
{
    for (int32_t strategy = 1; strategy <= KC_STRATEGY_MERGE; strategy++)
        for (int64_t budget = 1; budget <= 40; budget += 13) {
            online_case c = online_case_make(250, 4, 3, KC_F64);
            const online_options options = {.budget = budget, .strategy = strategy};
            kc_online *online = online_make(ctx, &c, &options);
            double coef[3 * 40], intercepts[3];

            for (size_t i = 0; i < c.n; i++) {
                online_call call = {.begin = i, .end = i + 1, .first = -1};
                kc_online_info info;

                CHECK(online_run(ctx, online, &c, &call, false) == KC_OK);
                info = online_info(online);
                CHECK(info.n_points <= budget);
                CHECK(kc_online_coef(online, KC_READING_LAST, coef, 3 * info.n_points, intercepts,
                                     3, NULL) == KC_OK);
                for (size_t o = 0; o < 3; o++) {
                    double sum = 0;

                    for (int64_t k = 0; k < info.n_points; k++)
                        sum += coef[(int64_t)o * info.n_points + k];
                    CHECK_NEAR(sum, intercepts[o], 1e-9);
                }
            }
            if (online_info(online).n_points != budget)
                printf("    %s: %lld points of %lld\n", strategy_names[strategy],
                       (long long)online_info(online).n_points, (long long)budget);
            CHECK(online_info(online).n_points == budget);
            kc_online_free(ctx, online);
            online_case_free(&c);
        }
}

static void a_budget_that_is_never_reached_changes_nothing(void)
{
    for (int32_t strategy = 1; strategy <= KC_STRATEGY_MERGE; strategy++) {
        online_case c = online_case_make(120, 30, 2, KC_F64);
        kc_online *plain = online_make(ctx, &c, &(online_options){0});
        kc_online *bounded =
            online_make(ctx, &c, &(online_options){.budget = 120, .strategy = strategy});
        online_call a = {.n_passes = 5}, b = {.n_passes = 5};

        CHECK(online_run(ctx, plain, &c, &a, false) == KC_OK);
        CHECK(online_run(ctx, bounded, &c, &b, false) == KC_OK);
        CHECK(online_predict_alike(ctx, plain, bounded, &c));
        kc_online_free(ctx, plain);
        kc_online_free(ctx, bounded);
        online_case_free(&c);
    }
}

static void projection_keeps_no_more_points_than_the_space_has_dimensions(void)
{
    online_case c = online_case_make(300, 4, 2, KC_F64);
    const ref_node linear = {.op = OP_LINEAR};
    kc_online *plain = online_make(ctx, &c, &(online_options){.kernel = linear});
    kc_online *few = online_make(
        ctx, &c,
        &(online_options){.kernel = linear, .budget = 50, .strategy = KC_STRATEGY_PROJECTION});
    /* Values are whole numbers: none is at the margin. */
    online_call a = {.n_passes = 5, .margin = 0.5}, b = {.n_passes = 5, .margin = 0.5};

    CHECK(online_run(ctx, plain, &c, &a, false) == KC_OK);
    CHECK(online_run(ctx, few, &c, &b, false) == KC_OK);
    CHECK(online_info(few).n_points == 5); /* four features and the intercept */
    for (size_t k = 0; k < 5; k++)
        CHECK(a.mistakes[k] == b.mistakes[k]);
    double *x = online_values(ctx, plain, &c, KC_READING_LAST);
    double *y = online_values(ctx, few, &c, KC_READING_LAST);
    for (size_t i = 0; i < c.n; i++)
        CHECK_NEAR(x[i], y[i], 1e-8);
    free(x);
    free(y);
    kc_online_free(ctx, plain);
    kc_online_free(ctx, few);
    online_case_free(&c);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void one_sample_takes_no_memory_once_there_is_room(void)
{
    kc_fault fault;
    kc_context *own = kc_fault_context((kc_context_config){0}, &fault);

    REQUIRE(own != NULL);
    for (int32_t strategy = 0; strategy <= KC_STRATEGY_MERGE; strategy++)
        for (int form = 0; form <= REF_CSR; form += REF_CSR) {
            online_case c = online_case_make(200, 20, 3, KC_F32);
            const online_options options = {.budget = strategy > 0 ? 30 : 0,
                                            .strategy = strategy,
                                            .is_averaged = strategy == 0};
            kc_online *online = online_make(own, &c, &options);
            online_call call = {.begin = 0, .end = 1, .first = -1, .form = (ref_form)form};

            CHECK(kc_online_reserve(own, online, 200, NULL) == KC_OK);
            CHECK(online_run(own, online, &c, &call, false) == KC_OK); /* the arena */
            kc_fault_arm(&fault, 0, KC_FAULT_ONCE);
            for (size_t i = 1; i < c.n; i++) {
                call.begin = i;
                call.end = i + 1;
                CHECK(online_run(own, online, &c, &call, false) == KC_OK);
            }
            CHECK(atomic_load(&fault.n_allocs) == 0);
            CHECK(online_info(online).n_points >= 30);
            kc_online_free(own, online);
            online_case_free(&c);
        }
    kc_context_free(own);
    CHECK(kc_fault_is_clean(&fault));
}

static void a_stream_with_a_budget_holds_no_more_memory_than_at_its_beginning(void)
{
    for (int32_t strategy = 1; strategy <= KC_STRATEGY_MERGE; strategy++)
        for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
            online_case c = online_case_make(300, is_sparse ? 200 : 10, 2, KC_F32);
            const online_options options = {.kernel = {.op = OP_RBF, .gamma = 1.0 / 256},
                                            .budget = 20,
                                            .strategy = strategy,
                                            .is_sparse = is_sparse};
            kc_online *online = online_make(ctx, &c, &options);
            size_t held = 0;

            for (int round = 0; round < 12; round++) {
                learn_in_parts(ctx, online, &c, 50, is_sparse ? REF_CSR : REF_DENSE, 1);
                if (round == 1)
                    held = kc_context_memory(ctx).current;
            }
            CHECK(kc_context_memory(ctx).current <= held);
            kc_online_free(ctx, online);
            online_case_free(&c);
        }
}

/* A little of everything, with every allocation refused in turn. */
static kc_status live(kc_context *own, const online_case *c, const online_options *options)
{
    kc_online *online = NULL;
    ref_view view = ref_view_make(&c->samples, REF_CSR_64, c->dtype);
    double *out = malloc(c->n * 3 * sizeof *out);
    online_call call = {.n_passes = 2, .form = REF_CSR_UNSORTED};
    kc_status status = online_create(own, c, options, &online, NULL);

    if (status == KC_OK && options->budget == 0)
        status = online_run(own, online, c, &call, true);
    call.first = -1;
    if (status == KC_OK)
        status = online_run(own, online, c, &call, false);
    if (status == KC_OK)
        status =
            kc_online_decision(own, NULL, online, &view.points,
                               options->is_voted ? KC_READING_VOTES : KC_READING_LAST, out, NULL);
    kc_online_free(own, online);
    ref_view_free(&view);
    free(out);
    return status;
}

static void refused_memory_is_told_and_nothing_is_lost(void)
{
    const online_options all[] = {
        {.is_voted = 1},
        {.is_averaged = 1, .is_direct = 1, .is_sparse = 1},
        {.budget = 9, .strategy = KC_STRATEGY_PROJECTION},
        {.budget = 9, .strategy = KC_STRATEGY_MERGE, .is_sparse = 1},
    };
    int n_refused = 0;

    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (int mode = KC_FAULT_ONCE; mode <= KC_FAULT_ALL; mode++)
            for (size_t n = 1;; n++) {
                online_case c = online_case_make(20, 130, 3, KC_F64);
                kc_fault fault;
                kc_context *own = kc_fault_context((kc_context_config){.n_threads = 1}, &fault);
                kc_status status;
                bool has_failed;

                REQUIRE(own != NULL);
                kc_fault_arm(&fault, n, (kc_fault_mode)mode);
                status = live(own, &c, &all[k]);
                has_failed = kc_fault_disarm(&fault);
                /* Memory that is held in reserve may make good for what was refused. */
                CHECK(status == KC_OK || (has_failed && status == KC_ERR_NOMEM));
                n_refused += status == KC_ERR_NOMEM;
                kc_context_free(own);
                CHECK(kc_fault_is_clean(&fault));
                online_case_free(&c);
                if (!has_failed)
                    break;
            }
    CHECK(n_refused > 200);
}

/* ---- Stops ----------------------------------------------------------------------------------- */

static int stop_amid(void *data, const kc_progress *progress)
{
    (void)progress;
    return online_info(data).n_updates > 0;
}

static void a_stopped_call_has_learnt_from_the_samples_before(void)
{
    online_case c = online_case_make(5000, 60, 2, KC_F64);
    const online_options options = {.kernel = {.op = OP_RBF, .gamma = 1.0 / 64}};
    kc_online *online = online_make(ctx, &c, &options), *replay = online_make(ctx, &c, &options);
    const kc_run run = {.struct_size = sizeof run,
                        .on_progress = stop_amid,
                        .progress_data = online,
                        .n_threads = 1};
    /* Nearly all samples are mistakes, so that one pass takes longer than the first question. */
    online_call call = {.first = -1, .run = &run, .margin = 20};
    size_t i = 0;

    CHECK(online_run(ctx, online, &c, &call, false) == KC_ERR_CANCELLED);
    const kc_online_info info = online_info(online);
    CHECK(info.n_seen == 5000 && info.n_updates > 0);
    CHECK(call.report.n_done == 0);
    for (; i < c.n && online_info(replay).n_updates < info.n_updates; i++) {
        online_call one = {.begin = i, .end = i + 1, .first = -1, .margin = 20};

        CHECK(online_run(ctx, replay, &c, &one, false) == KC_OK);
    }
    CHECK(online_info(replay).n_points == info.n_points);
    CHECK(online_predict_alike(ctx, online, replay, &c));
    kc_online_free(ctx, online);
    kc_online_free(ctx, replay);
    online_case_free(&c);
}

typedef struct meddler {
    kc_online *online;
    const online_case *c;
    kc_status status;
    double value;
    int n_calls;
} meddler;

static int meddle(void *data, const kc_progress *progress)
{
    meddler *m = data;
    online_call call = {.end = 1, .first = -1};
    const ref_samples one = {1, m->c->d, m->c->samples.x};
    ref_view view = ref_view_make(&one, REF_DENSE, m->c->dtype);

    (void)progress;
    m->n_calls++;
    m->status = online_run(ctx, m->online, m->c, &call, false);
    CHECK(strstr(call.err.text, "callback") != NULL);
    CHECK(kc_online_decision(ctx, NULL, m->online, &view.points, KC_READING_LAST, &m->value,
                             NULL) == KC_OK);
    ref_view_free(&view);
    return 1;
}

static void a_callback_may_read_the_learner_but_not_make_it_learn(void)
{
    online_case c = online_case_make(3000, 60, 2, KC_F64);
    kc_online *online = online_make(ctx, &c, &(online_options){0});
    meddler m = {.online = online, .c = &c};
    const kc_run run = {
        .struct_size = sizeof run, .on_progress = meddle, .progress_data = &m, .n_threads = 1};
    online_call call = {.first = -1, .run = &run, .margin = 10, .n_passes = ONLINE_PASSES};

    CHECK(online_run(ctx, online, &c, &call, false) == KC_ERR_CANCELLED);
    CHECK(m.n_calls > 0 && m.status == KC_ERR_ARG && isfinite(m.value));
    kc_online_free(ctx, online);
    online_case_free(&c);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void a_value_that_is_not_finite_is_named_and_nothing_is_learnt(void)
{
    online_case c = online_case_make(20, 5, 2, KC_F64);
    kc_online *online = online_make(ctx, &c, &(online_options){0});
    online_call call = {.first = -1};

    c.samples.x[13 * 5 + 2] = INFINITY;
    CHECK(online_run(ctx, online, &c, &call, false) == KC_ERR_NONFINITE);
    CHECK(strstr(call.err.text, "row 13") != NULL);
    CHECK(online_info(online).n_seen == 0 && online_info(online).n_points == 0);
    call.begin = 13;
    call.end = 14;
    CHECK(online_run(ctx, online, &c, &call, false) == KC_ERR_NONFINITE);
    CHECK(online_info(online).n_seen == 0);
    kc_online_free(ctx, online);
    online_case_free(&c);
}

static void values_that_overflow_are_told(void)
{
    online_case c = online_case_make(20, 5, 2, KC_F64);
    const ref_node power = {.op = OP_POLYNOMIAL, .degree = 900, .gamma = 10, .coef0 = 1};

    for (int budget = 0; budget < 2; budget++) {
        kc_online *online = online_make(
            ctx, &c, &(online_options){.kernel = power, .budget = budget, .strategy = 1});
        online_call call = {.first = -1};

        CHECK(online_run(ctx, online, &c, &call, false) == KC_ERR_RANGE);
        CHECK(strstr(call.err.text, "overflow") != NULL);
        kc_online_free(ctx, online);
    }
    online_case_free(&c);
}

typedef struct refusal {
    online_options options;
    const char *words;
} refusal;

static void wrong_learners_are_refused_with_words(void)
{
    const refusal all[] = {
        {{.budget = -1}, "budget is -1"},
        {{.budget = 5}, "strategy is 0"},
        {{.budget = 5, .strategy = 5}, "strategy is 5"},
        {{.budget = 5, .strategy = 1, .is_averaged = 1}, "budget is 5, must be 0 with"},
        {{.budget = 5, .strategy = 1, .is_voted = 1}, "budget is 5, must be 0 with"},
        {{.budget = 5, .strategy = 1, .is_given = 1},
         "budget is 5, must be 0 without config.kernel"},
    };
    online_case c = online_case_make(10, 3, 2, KC_F64);
    kc_online_config config = {.struct_size = sizeof config, .dtype = KC_F64, .n_cols = 3};
    kc_online *online = NULL;
    kc_error err = {0};

    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        CHECK(online_create(ctx, &c, &all[k].options, &online, &err) == KC_ERR_ARG);
        CHECK(strstr(err.text, all[k].words) != NULL);
    }
    config.n_classes = 1;
    CHECK(kc_online_create(ctx, &config, &online, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "1 classes") != NULL);
    config.n_classes = 2;
    CHECK(kc_online_create(ctx, &config, &online, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "config.random has no number but 0 for problem 0") != NULL);
    config.n_cols = 0;
    CHECK(kc_online_create(ctx, &config, &online, &err) == KC_ERR_ARG);
    config.struct_size = 3;
    CHECK(kc_online_create(ctx, &config, &online, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "struct_size is 3") != NULL && online == NULL);
    online_case_free(&c);
}

static void wrong_calls_are_refused_with_words(void)
{
    online_case c = online_case_make(30, 3, 2, KC_F64), wide = online_case_make(30, 4, 2, KC_F64);
    kc_online *online = online_make(ctx, &c, &(online_options){0});
    kc_online *bounded = online_make(ctx, &c, &(online_options){.budget = 5, .strategy = 1});
    online_call batch = {.rule = KC_RULE_BATCH}, plain = {0}, early = {.first = -2};
    online_call low = {.margin = -1}, negative = {.n_rows = -1};
    double out;
    ref_view view = ref_view_make(&c.samples, REF_DENSE, KC_F64);
    kc_error err = {0};

    CHECK(online_run(ctx, online, &wide, &plain, false) == KC_ERR_SHAPE);
    CHECK(strstr(plain.err.text, "4 columns, the model was fitted to 3") != NULL);
    CHECK(online_run(ctx, online, &wide, &plain, true) == KC_ERR_SHAPE);
    CHECK(online_run(ctx, online, &c, &batch, false) == KC_ERR_ARG);
    CHECK(strstr(batch.err.text, "must be single") != NULL);
    CHECK(online_run(ctx, bounded, &c, &plain, true) == KC_ERR_ARG);
    CHECK(strstr(plain.err.text, "budget (5)") != NULL);
    CHECK(online_run(ctx, online, &c, &early, false) == KC_ERR_ARG);
    CHECK(online_run(ctx, online, &c, &low, false) == KC_ERR_ARG);
    CHECK(strstr(low.err.text, "margin is -1") != NULL);
    CHECK(online_run(ctx, online, &c, &negative, false) == KC_ERR_SHAPE);
    CHECK(strstr(negative.err.text, "-1 rows") != NULL);
    c.classes[7] = 2;
    CHECK(online_run(ctx, online, &c, &plain, false) == KC_ERR_ARG);
    CHECK(strstr(plain.err.text, "classes[7] is 2") != NULL);
    CHECK(kc_online_decision(ctx, NULL, online, &view.points, KC_READING_MEAN, &out, &err) ==
          KC_ERR_ARG);
    CHECK(strstr(err.text, "the learner keeps no mean") != NULL);
    CHECK(kc_online_decision(ctx, NULL, online, &view.points, KC_READING_VOTES, &out, &err) ==
          KC_ERR_ARG);
    CHECK(kc_online_decision(ctx, NULL, online, &view.points, (kc_reading)9, &out, &err) ==
          KC_ERR_ARG);
    CHECK(online_info(online).n_seen == 0);
    ref_view_free(&view);
    kc_online_free(ctx, online);
    kc_online_free(ctx, bounded);
    kc_online_free(ctx, NULL);
    online_case_free(&c);
    online_case_free(&wide);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(samples_cut_into_calls_anyhow_give_the_same_bits);
    RUN(every_form_of_the_samples_gives_the_same_bits);
    RUN(points_of_few_columns_are_dense_whatever_they_come_as);
    RUN(many_points_are_evaluated_by_all_threads_to_the_same_bits);
    RUN(a_pass_online_is_a_pass_in_dual_form);
    RUN(a_decision_value_is_what_learning_saw);
    RUN(the_budget_is_kept_and_the_intercept_is_the_sum_of_the_coefficients);
    RUN(a_budget_that_is_never_reached_changes_nothing);
    RUN(projection_keeps_no_more_points_than_the_space_has_dimensions);
    RUN(one_sample_takes_no_memory_once_there_is_room);
    RUN(a_stream_with_a_budget_holds_no_more_memory_than_at_its_beginning);
    RUN(refused_memory_is_told_and_nothing_is_lost);
    RUN(a_stopped_call_has_learnt_from_the_samples_before);
    RUN(a_callback_may_read_the_learner_but_not_make_it_learn);
    RUN(a_value_that_is_not_finite_is_named_and_nothing_is_learnt);
    RUN(values_that_overflow_are_told);
    RUN(wrong_learners_are_refused_with_words);
    RUN(wrong_calls_are_refused_with_words);
    kc_context_free(ctx);
    return kc_test_end();
}
