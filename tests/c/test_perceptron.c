/* The perceptron rules against their definition, written out with plain loops and compared bit for
 * bit: every form of the samples, every type, every option. */
#include "perceptron_case.h"

/* ---- The definition ----------------------------------------------------------------------- */

static void plain_add(const sample_set *s, const options *o, double *w, double *b, int32_t output,
                      double step, size_t i)
{
    for (size_t t = 0; t < D; t++)
        w[(size_t)output * D + t] += step * s->x.x[i * D + t];
    if (!o->has_no_intercept)
        b[output] += step;
}

static void plain_step(const sample_set *s, const options *o, result *r, const judgement *v,
                       double size, size_t i)
{
    const double late = (double)r->state.n_steps;

    for (int side = 0; side < (o->is_direct ? 2 : 1); side++) {
        const int32_t output = side == 0 ? v->raised : v->lowered;
        const double step = side == 0 ? size * v->sign : -size;

        plain_add(s, o, r->weights, r->intercepts, output, step, i);
        if (o->is_averaged)
            plain_add(s, o, r->time_weighted, r->time_weighted_intercepts, output, late * step, i);
    }
    r->log[r->state.n_log++] = (kc_perceptron_update){
        .at = r->state.n_steps,
        .sample = (int32_t)i,
        .raised = v->raised,
        .lowered = v->lowered,
        .step = size * v->sign,
    };
    r->state.n_updates++;
}

static void plain_batch(const sample_set *s, const options *o, result *r, int32_t positive,
                        double eta, int64_t *n_mistakes)
{
    result sum = {0};
    double square = 0;

    for (size_t i = 0; i < N; i++) {
        const judgement v = judge(s, o, r, positive, i);
        if (weight_of(s, o, i) > 0 && v.value <= o->margin)
            plain_step(s, o, &sum, &v, weight_of(s, o, i), i);
    }
    *n_mistakes = sum.state.n_updates;
    for (size_t k = 0; k < CLASSES * D; k++) {
        r->weights[k] += eta * sum.weights[k];
        square += sum.weights[k] * sum.weights[k];
    }
    for (size_t k = 0; k < CLASSES; k++) {
        r->intercepts[k] += eta * sum.intercepts[k];
        square += sum.intercepts[k] * sum.intercepts[k];
    }
    r->state.n_updates += *n_mistakes > 0;
    r->state.is_converged = eta * sqrt(square) < o->theta;
}

static void plain_run(const sample_set *s, const options *o, int32_t positive, result *r)
{
    kc_rng order_rng = kc_rng_seed(SEED + (uint64_t)positive);

    r->state = state_of(r, o, positive);
    for (int64_t pass = 0; pass < PASSES && !r->state.is_converged; pass++) {
        int32_t order[N];
        size_t n = 0;

        for (size_t i = 0; i < N; i++)
            if (weight_of(s, o, i) > 0)
                order[n++] = (int32_t)i;
        if (o->is_shuffled)
            kc_rng_shuffle(&order_rng, order, n);
        for (size_t k = 0; k < n; k++) {
            const size_t i = (size_t)order[k];
            const judgement v = judge(s, o, r, positive, i);
            r->state.n_steps += !o->is_batch;
            if (v.value > o->margin)
                continue;
            r->mistakes[pass]++;
            r->criterion[pass] += weight_of(s, o, i) * (o->margin - v.value);
            if (!o->is_batch)
                plain_step(s, o, r, &v, o->eta[pass] * weight_of(s, o, i), i);
        }
        if (o->is_batch)
            plain_batch(s, o, r, positive, o->eta[pass], &r->mistakes[pass]);
        r->state.is_converged |= r->mistakes[pass] == 0;
        r->state.n_done = pass + 1;
    }
}

static void check_same(const result *got, const result *want, const options *o)
{
    CHECK(memcmp(got->weights, want->weights, sizeof want->weights) == 0);
    CHECK(memcmp(got->intercepts, want->intercepts, sizeof want->intercepts) == 0);
    CHECK(memcmp(got->time_weighted, want->time_weighted, sizeof want->time_weighted) == 0);
    CHECK(memcmp(got->time_weighted_intercepts, want->time_weighted_intercepts,
                 sizeof want->time_weighted_intercepts) == 0);
    CHECK(got->state.n_done == want->state.n_done);
    CHECK(got->state.is_converged == want->state.is_converged);
    CHECK(got->state.n_updates == want->state.n_updates);
    CHECK(got->state.n_steps == want->state.n_steps);
    for (int64_t pass = 0; pass < want->state.n_done; pass++) {
        CHECK(got->mistakes[pass] == want->mistakes[pass]);
        CHECK(got->criterion[pass] == want->criterion[pass]);
    }
    CHECK(got->state.n_log == (o->is_batch ? 0 : want->state.n_log));
    for (int64_t k = 0; k < got->state.n_log; k++) {
        const kc_perceptron_update *a = &got->log[k], *b = &want->log[k];
        CHECK(a->at == b->at && a->sample == b->sample && a->step == b->step);
        CHECK(a->raised == b->raised && a->lowered == b->lowered);
    }
}

static void every_rule_is_its_definition_bit_for_bit(void)
{
    static result want[CLASSES], got[CLASSES];
    sample_set s = make_set();

    for (int k = 0; k < 256; k++) {
        const options o = make_options(k);
        const kc_perceptron_settings settings = settings_of(&o, PASSES);
        const int32_t n_states = o.is_direct ? 1 : CLASSES;

        for (int32_t p = 0; p < n_states; p++)
            plain_run(&s, &o, p, &want[p]);
        for (int form = 0; form < REF_N_FORMS; form++) {
            const kc_dtype dtype = (k + form) % 2 ? KC_F32 : KC_F64;
            ref_view v = ref_view_make(&s.x, (ref_form)form, dtype);
            const kc_perceptron_data data = data_of(&s, &v.points, o.has_weights);
            kc_perceptron_state states[CLASSES];

            for (int32_t p = 0; p < n_states; p++)
                states[p] = state_of(&got[p], &o, p);
            CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, states, n_states, &err) == KC_OK);
            for (int32_t p = 0; p < n_states; p++) {
                got[p].state = states[p];
                check_same(&got[p], &want[p], &o);
            }
            ref_view_free(&v);
        }
    }
    ref_samples_free(&s.x);
}

static void passes_in_several_calls_are_those_of_one(void)
{
    static result whole, parts;
    sample_set s = make_set();

    for (int k = 0; k < 32; k++) {
        options o = make_options(k & 1 ? k : k | 4);
        ref_view v = ref_view_make(&s.x, REF_DENSE, KC_F32);
        const kc_perceptron_data data = data_of(&s, &v.points, o.has_weights);
        kc_perceptron_settings settings = settings_of(&o, PASSES);

        whole.state = state_of(&whole, &o, 0);
        CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, &whole.state, 1, &err) == KC_OK);
        REQUIRE(!whole.state.is_converged);
        parts.state = state_of(&parts, &o, 0);
        settings.n_passes = 1;
        for (int pass = 0; pass < PASSES; pass++)
            CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, &parts.state, 1, &err) == KC_OK);
        CHECK(memcmp(whole.weights, parts.weights, sizeof whole.weights) == 0);
        CHECK(memcmp(whole.time_weighted, parts.time_weighted, sizeof whole.time_weighted) == 0);
        CHECK(whole.state.n_steps == parts.state.n_steps);
        CHECK(memcmp(whole.state.random, parts.state.random, sizeof whole.state.random) == 0);
        ref_view_free(&v);
    }
    ref_samples_free(&s.x);
}

/* ---- Ends --------------------------------------------------------------------------------- */

static void a_small_step_of_the_batch_rule_is_made_and_is_the_last(void)
{
    const double x[] = {1, 0, 0, 1};
    const int32_t classes[] = {1, 1};
    double w[2] = {0}, b[1] = {0}, criterion[PASSES];
    int64_t mistakes[PASSES];
    options o = {.is_batch = true, .has_no_intercept = true, .theta = 0.5, .eta = {0.25, 0.25}};
    kc_points points = {.struct_size = sizeof(kc_points),
                        .storage = KC_DENSE,
                        .dtype = KC_F64,
                        .n_rows = 2,
                        .n_cols = 2};
    kc_perceptron_data data = {.struct_size = sizeof data, .x = &points, .n_classes = 2};
    kc_perceptron_state state = {.struct_size = sizeof state, .positive = 1, .random = {1}};
    kc_perceptron_settings settings = settings_of(&o, 2);

    points.values = x;
    points.row_stride = 16;
    points.col_stride = 8;
    data.classes = classes;
    state.weights = w;
    state.intercepts = b;
    state.mistakes = mistakes;
    state.criterion = criterion;
    CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, &state, 1, &err) == KC_OK);
    CHECK(state.is_converged && state.n_done == 1 && state.n_updates == 1 && mistakes[0] == 2);
    CHECK(w[0] == 0.25 && w[1] == 0.25 && b[0] == 0);
}

static void the_pocket_is_no_worse_than_any_end_of_a_pass(void)
{
    static result r;
    sample_set s = make_set();
    ref_view v = ref_view_make(&s.x, REF_CSR, KC_F32);

    for (int k = 0; k < 256; k++) {
        options o = make_options(k);
        const kc_perceptron_data data = data_of(&s, &v.points, o.has_weights);
        kc_perceptron_settings settings = settings_of(&o, 1);
        double least = HUGE_VAL, loss;

        r.state = state_of(&r, &o, 1);
        r.state.best_weights = r.best_weights;
        r.state.best_intercepts = r.best_intercepts;
        for (int pass = 0; pass < PASSES; pass++) { /* its content goes from call to call */
            settings.eta = o.eta + pass;
            CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, &r.state, 1, &err) == KC_OK);
            count_mistakes(&s, &o, &r, r.weights, r.intercepts, &loss);
            least = fmin(least, loss);
        }
        CHECK(r.state.has_best && r.state.best_loss <= least);
        CHECK(!o.is_batch || r.state.best_loss == least); /* those are all its vectors */
        CHECK(r.state.best_mistakes ==
              count_mistakes(&s, &o, &r, r.best_weights, r.best_intercepts, &loss));
        CHECK(loss == r.state.best_loss);
    }
    ref_view_free(&v);
    ref_samples_free(&s.x);
}

static void what_the_pocket_held_is_judged_by_the_samples_at_hand(void)
{
    static result r;
    sample_set s = make_set();
    ref_view v = ref_view_make(&s.x, REF_DENSE, KC_F64);
    const options o = make_options(0);
    const kc_perceptron_data data = data_of(&s, &v.points, false);
    const kc_perceptron_settings settings = settings_of(&o, 1);
    double loss;

    r.state = state_of(&r, &o, 1);
    r.state.best_weights = r.best_weights;
    r.state.best_intercepts = r.best_intercepts;
    r.state.has_best = 1; /* a vector of zeros: every sample is a mistake of it */
    r.state.best_loss = 0;
    CHECK(kc_perceptron_run(ctx, NULL, &settings, &data, &r.state, 1, &err) == KC_OK);
    CHECK(r.state.best_mistakes < (int64_t)N);
    CHECK(r.state.best_mistakes <= count_mistakes(&s, &o, &r, r.weights, r.intercepts, &loss));
    CHECK(r.state.best_mistakes ==
          count_mistakes(&s, &o, &r, r.best_weights, r.best_intercepts, &loss));
    CHECK(r.state.best_loss == loss);
    ref_view_free(&v);
    ref_samples_free(&s.x);
}

int main(void)
{
    perceptron_case_begin();
    RUN(every_rule_is_its_definition_bit_for_bit);
    RUN(passes_in_several_calls_are_those_of_one);
    RUN(a_small_step_of_the_batch_rule_is_made_and_is_the_last);
    RUN(the_pocket_is_no_worse_than_any_end_of_a_pass);
    RUN(what_the_pocket_held_is_judged_by_the_samples_at_hand);
    return perceptron_case_end();
}
