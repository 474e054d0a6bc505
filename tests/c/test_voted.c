/* Votes of all functions that a perceptron had, against functions that are kept one by one. */
#include "function/kc_voted.h"

#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "kc_test.h"
#include "ref_points.h"

enum { N = 40, D = 5, N_ROWS = 23, N_UPDATES = 150, N_STEPS = 700, MAX_OUTPUTS = 4 };

static kc_context *ctx;

/* Samples and updates of small whole numbers: products and their sums are exact. */
typedef struct votes_case {
    ref_samples samples, x;
    kc_perceptron_update updates[N_UPDATES];
} votes_case;

static ref_samples whole_numbers(kc_rng *rng, size_t n)
{
    ref_samples samples = {n, D, malloc(n * D * sizeof(double))};

    for (size_t i = 0; i < n * D; i++)
        samples.x[i] = (double)kc_rng_below(rng, 7) - 3;
    return samples;
}

static votes_case make_case(int32_t n_outputs)
{
    kc_rng rng = kc_rng_seed((uint64_t)n_outputs);
    votes_case c = {.samples = whole_numbers(&rng, N), .x = whole_numbers(&rng, N_ROWS)};
    int64_t at = 1;

    for (int32_t u = 0; u < N_UPDATES; u++) {
        kc_perceptron_update *update = &c.updates[u];

        at += (int64_t)kc_rng_below(&rng, 5);
        *update = (kc_perceptron_update){
            .at = at,
            .sample = (int32_t)kc_rng_below(&rng, N),
            .raised = (int32_t)kc_rng_below(&rng, (uint64_t)n_outputs),
            .lowered = -1,
            .step = kc_rng_below(&rng, 2) == 0 ? 1 : -2,
        };
        if (n_outputs > 1)
            update->lowered = (update->raised + 1) % n_outputs;
    }
    CHECK(at < N_STEPS);
    return c;
}

static void free_case(votes_case *c)
{
    ref_samples_free(&c->samples);
    ref_samples_free(&c->x);
}

static kc_perceptron_history history_of(const votes_case *c, const kc_points *samples,
                                        int32_t n_outputs)
{
    return (kc_perceptron_history){
        .struct_size = sizeof(kc_perceptron_history),
        .x = samples,
        .updates = c->updates,
        .n_updates = N_UPDATES,
        .n_steps = N_STEPS,
        .n_outputs = n_outputs,
        .has_intercept = 1,
    };
}

/* One vote after the other, sample by sample, of weight vectors (w, b) that are written out. */
static void expected_votes(const votes_case *c, size_t row, int32_t n_outputs, double *votes)
{
    double w[MAX_OUTPUTS][D + 1] = {{0}};
    int32_t u = 0;

    memset(votes, 0, (size_t)n_outputs * sizeof *votes);
    for (int64_t at = 1; at <= N_STEPS; at++) {
        double values[MAX_OUTPUTS];
        int32_t best = 0;

        for (; u < N_UPDATES && c->updates[u].at == at; u++) {
            const kc_perceptron_update *update = &c->updates[u];

            for (size_t t = 0; t <= D; t++) {
                const double y =
                    update->step * (t == D ? 1 : c->samples.x[(size_t)update->sample * D + t]);

                w[update->raised][t] += y;
                if (update->lowered >= 0)
                    w[update->lowered][t] -= y;
            }
        }
        for (int32_t o = 0; o < n_outputs; o++) {
            values[o] = w[o][D];
            for (size_t t = 0; t < D; t++)
                values[o] += w[o][t] * c->x.x[row * D + t];
            if (values[o] > values[best])
                best = o;
        }
        votes[best] += n_outputs > 1 || values[0] > 0 ? 1 : -1;
    }
}

static void every_vector_votes_as_often_as_it_survived(void)
{

    for (int32_t n_outputs = 1; n_outputs <= MAX_OUTPUTS; n_outputs += 3)
        for (int form = 0; form < REF_N_FORMS; form++) {
            votes_case c = make_case(n_outputs);
            ref_view samples = ref_view_make(&c.samples, (ref_form)form, KC_F64);
            ref_view x = ref_view_make(&c.x, (ref_form)((form + 3) % REF_N_FORMS), KC_F32);
            const kc_perceptron_history history = history_of(&c, &samples.points, n_outputs);
            double out[N_ROWS * (MAX_OUTPUTS + 1)], expected[MAX_OUTPUTS];

            for (size_t i = 0; i < sizeof out / sizeof out[0]; i++)
                out[i] = -7;
            CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, n_outputs + 1, NULL) ==
                  KC_OK);
            for (size_t i = 0; i < N_ROWS; i++) {
                const double *row = out + i * ((size_t)n_outputs + 1);

                expected_votes(&c, i, n_outputs, expected);
                CHECK(memcmp(row, expected, (size_t)n_outputs * sizeof *row) == 0);
                CHECK(row[n_outputs] == -7);
            }
            ref_view_free(&x);
            ref_view_free(&samples);
            free_case(&c);
        }
}

static void without_updates_the_zero_vector_has_all_votes(void)
{
    votes_case c = make_case(1);
    ref_view x = ref_view_make(&c.x, REF_DENSE, KC_F64);
    kc_perceptron_history history = history_of(&c, NULL, 1);
    double out[N_ROWS * 3];

    history.n_updates = 0;
    CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, 1, NULL) == KC_OK);
    CHECK(out[0] == -N_STEPS && out[N_ROWS - 1] == -N_STEPS);
    history.n_outputs = 3; /* rivals: the first of equals */
    CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, 3, NULL) == KC_OK);
    CHECK(out[0] == (double)N_STEPS && out[1] == 0 && out[2] == 0);
    ref_view_free(&x);
    free_case(&c);
}

static void what_does_not_fit_is_refused_by_place(void)
{
    votes_case c = make_case(2);
    ref_view samples = ref_view_make(&c.samples, REF_DENSE, KC_F64);
    ref_view x = ref_view_make(&c.x, REF_DENSE, KC_F64);
    kc_perceptron_history history = history_of(&c, &samples.points, 2);
    double out[N_ROWS * 2];
    kc_error err;

    CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, 1, &err) == KC_ERR_ARG);
    c.updates[7].sample = N;
    CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, 2, &err) == KC_ERR_INDEX);
    CHECK(strstr(err.text, "updates[7]") != NULL);
    c.updates[7].sample = 0;
    c.updates[9].raised = 2;
    CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, 2, &err) == KC_ERR_INDEX);
    CHECK(strstr(err.text, "updates[9]") != NULL);
    c.updates[9].raised = 1;
    c.updates[9].lowered = -2;
    CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, 2, &err) == KC_ERR_INDEX);
    c.updates[9].lowered = 0;
    c.updates[11].at = c.updates[10].at - 1;
    CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, 2, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "updates[11].at") != NULL);
    c.updates[11].at = c.updates[10].at;
    x.points.n_cols = D - 1;
    CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, 2, &err) == KC_ERR_SHAPE);
    x.points.n_cols = D;
    x.points.storage = KC_STRINGS;
    CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, 2, &err) == KC_ERR_TYPE);
    x.points.storage = KC_DENSE;
    CHECK(kc_perceptron_votes(ctx, NULL, &history, &x.points, out, 2, &err) == KC_OK);
    ref_view_free(&x);
    ref_view_free(&samples);
    free_case(&c);
}

static int refuse(void *data, const kc_progress *progress)
{
    (void)data;
    (void)progress;
    return KC_CANCEL;
}

/* One row and very many updates: nothing but the walk through them takes time. */
static void a_walk_through_many_updates_can_be_stopped(void)
{
    enum { MANY = 20 * 1000 * 1000 };
    const double sample[D] = {1, 2, 3, 4, 5};
    const kc_points x = {
        .struct_size = sizeof(kc_points),
        .storage = KC_DENSE,
        .dtype = KC_F64,
        .n_rows = 1,
        .n_cols = D,
        .values = sample,
        .row_stride = sizeof sample,
        .col_stride = sizeof *sample,
    };
    kc_perceptron_update *updates = calloc(MANY, sizeof *updates);
    kc_perceptron_history history = {
        .struct_size = sizeof history,
        .x = &x,
        .updates = updates,
        .n_updates = MANY,
        .n_steps = MANY,
        .n_outputs = 1,
    };
    kc_run run = {.struct_size = sizeof run, .on_progress = refuse};
    double out;

    for (int64_t u = 0; u < MANY; u++) {
        updates[u].at = u + 1;
        updates[u].lowered = -1;
        updates[u].step = 1;
    }
    CHECK(kc_perceptron_votes(ctx, &run, &history, &x, &out, 1, NULL) == KC_ERR_CANCELLED);
    free(updates);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(every_vector_votes_as_often_as_it_survived);
    RUN(without_updates_the_zero_vector_has_all_votes);
    RUN(what_does_not_fit_is_refused_by_place);
    RUN(a_walk_through_many_updates_can_be_stopped);
    kc_context_free(ctx);
    return kc_test_end();
}
