/* Learning sample by sample.
 *
 * Samples are looked at in blocks: kernel values of a block with the set are computed together, by
 * all threads, then the samples are learnt from one by one.  Where a sample changes a point of the
 * set, the values of the samples behind it with that point are computed again.
 *
 * A decision value is a sum over the places of the set, in a fixed order: it does not depend on how
 * samples are cut into blocks or calls. */
#include <math.h>
#include <string.h>

#include "base/kc_rng.h"
#include "base/kc_thread.h"
#include "online/kc_online.h"

/* Samples of a block: tiles of six rows, the more the larger the set, since values with a changed
 * point are computed for the rest of the block. */
#define MAX_TILES ((size_t)16)
#define POINTS_PER_TILE ((size_t)64)

/* Columns of one chunk of parallel work; work that is worth a second thread, in multiply-adds. */
#define CHUNK_COLS ((size_t)512)
#define PARALLEL_WORK ((size_t)1 << 20)

/* Columns of a kernel block begin at multiples of this. */
#define COL_STEP ((size_t)16)

/* ---- A block of samples -------------------------------------------------------------------- */

typedef struct online_pass {
    kc_call *call;
    kc_online *online;
    const kc_training_input *input;
    kc_online_report *report;
    const kc_packed *x;
    int64_t first;        /* number of sample 0 */
    bool may_be_known;    /* samples may be in the set already */
    size_t n_used;        /* samples with a weight that is not zero: others are not there */
    const int32_t *order; /* of them; NULL: all as they stand */
    int64_t pass;
    bool has_learnt; /* a sample was looked at: what is not done can fail, but not be undone */

    /* The block at hand. */
    size_t begin, n_rows;
    bool is_backward;
    char *k; /* kernel values, ld apart */
    size_t ld;
    char *workspace; /* of all workers, one after the other */
    size_t workspace_bytes;
    double *values, *sums, *steps; /* n_outputs */
    atomic_bool has_overflowed;
} online_pass;

static size_t sample_at(const online_pass *s, size_t place)
{
    return s->order != NULL ? (size_t)s->order[place] : place;
}

/* Of the samples with the points, as they are now. */
static kc_plan plan_of(const online_pass *s)
{
    return kc_plan_make(s->online->set.kernel, s->x, &s->online->set.points.points);
}

/* Kernel values of rows first .. n_rows - 1 of the block with some points. */
static void fill_columns(online_pass *s, size_t first, size_t col_begin, size_t n_cols,
                         void *workspace)
{
    const kc_active *set = &s->online->set;
    const kc_plan plan = plan_of(s);
    const kc_block block = {
        .rows = s->order != NULL ? s->order + s->begin + first : NULL,
        .row_begin = s->begin + first,
        .n_rows = s->n_rows - first,
        .col_begin = col_begin,
        .n_cols = n_cols,
        .out = s->k + (first * s->ld + col_begin) * kc_dtype_bytes(set->dtype),
        .ld = s->ld,
        .is_backward = s->is_backward,
    };

    if (!kc_plan_block(&plan, &block, workspace))
        atomic_store_explicit(&s->has_overflowed, true, memory_order_relaxed);
}

static void fill_chunk(void *data, size_t chunk, int32_t worker)
{
    online_pass *s = data;
    const size_t begin = chunk * CHUNK_COLS;

    fill_columns(s, 0, begin, kc_min(CHUNK_COLS, s->online->set.n - begin),
                 s->workspace + (size_t)worker * s->workspace_bytes);
}

static kc_status check_values(online_pass *s)
{
    if (atomic_load_explicit(&s->has_overflowed, memory_order_relaxed))
        return kc_fail(s->call->err, KC_ERR_RANGE,
                       "kernel values overflow: scale the data, or lower gamma or the degree");
    return KC_OK;
}

static size_t work_of(const online_pass *s)
{
    return s->n_rows * s->online->set.n * plan_of(s).work;
}

/* Kernel values of all samples of the block with all points. */
static kc_status fill_block(online_pass *s)
{
    const size_t n = s->online->set.n;

    if (n == 0)
        return KC_OK;
    if (work_of(s) < PARALLEL_WORK || s->call->n_threads == 1)
        for (size_t begin = 0; begin < n; begin += CHUNK_COLS)
            fill_chunk(s, begin / CHUNK_COLS, 0);
    else
        KC_TRY(kc_parallel_for(s->call, kc_ceil_div(n, CHUNK_COLS), fill_chunk, s));
    return check_values(s);
}

/* ---- One sample ---------------------------------------------------------------------------- */

static double weight_of(const online_pass *s, size_t i)
{
    const double *weights = s->input->data->weights;

    return weights != NULL ? weights[i] : 1.0;
}

static void count_mistake(const online_pass *s, size_t i, double value)
{
    s->report->mistakes[s->pass]++;
    s->report->criterion[s->pass] += weight_of(s, i) * (s->input->settings->margin - value);
    s->report->n_updates++;
    kc_count(&s->online->n_updates, 1);
}

/* Each output on its own: z f <= margin is a mistake. */
static bool find_separate_steps(online_pass *s, size_t i, double step)
{
    const double margin = s->input->settings->margin;
    bool is_any = false;

    for (size_t o = 0; o < s->online->set.n_outputs; o++) {
        const bool is_own = s->input->data->classes[i] == kc_online_positive(s->online, o);
        const double value = is_own ? s->values[o] : -s->values[o];

        s->steps[o] = 0;
        if (value <= margin) {
            count_mistake(s, i, value);
            s->steps[o] = is_own ? step : -step;
            is_any = true;
        }
    }
    return is_any;
}

/* The output of the class against the best of the others. */
static bool find_direct_steps(online_pass *s, size_t i, double step)
{
    const size_t own = (size_t)s->input->data->classes[i];
    size_t other = own == 0 ? 1 : 0;

    for (size_t o = 0; o < s->online->set.n_outputs; o++) {
        s->steps[o] = 0;
        if (o != own && s->values[o] > s->values[other])
            other = o;
    }
    const double value = s->values[own] - s->values[other];
    if (value > s->input->settings->margin)
        return false;
    count_mistake(s, i, value);
    s->steps[own] = step;
    s->steps[other] = -step;
    return true;
}

static void log_update(kc_online *online, size_t place, const double *steps)
{
    const kc_active *set = &online->set;
    kc_perceptron_update update = {.sample = (int32_t)place, .lowered = -1};

    for (size_t o = 0; o < set->n_outputs; o++) {
        update.at = set->n_steps[o];
        if (online->is_direct && steps[o] < 0) {
            update.lowered = (int32_t)o;
        } else if (steps[o] != 0) {
            update.raised = (int32_t)o;
            update.step = steps[o];
            if (!online->is_direct)
                kc_vote_log_add(&online->votes, update);
        }
    }
    if (online->is_direct)
        kc_vote_log_add(&online->votes, update);
}

/* K(x, x) + offset: what budgets weigh points by. */
static kc_status find_diag(const online_pass *s, size_t i, double *out)
{
    const kc_active *set = &s->online->set;
    double value[1] = {0}; /* of either type */

    *out = 0;
    if (s->online->budget == 0)
        return KC_OK;
    const kc_plan plan = plan_of(s);

    if (!kc_plan_diag(&plan, i, 1, value, s->workspace))
        return kc_fail(s->call->err, KC_ERR_RANGE, "K(x, x) of sample %zu overflows", i);
    *out = kc_number_at(value, 0, set->dtype) + set->offset;
    return KC_OK;
}

static kc_status find_values(online_pass *s, const void *k)
{
    const kc_active *set = &s->online->set;

    kc_active_values(set, k, s->sums, s->values);
    for (size_t o = 0; o < set->n_outputs; o++)
        if (!isfinite(s->values[o]))
            return kc_fail(s->call->err, KC_ERR_RANGE,
                           "pass %lld overflows float64; scale the data or lower eta",
                           (long long)s->pass + 1);
    return KC_OK;
}

/* Learns from row r of the block; *changed: the place that has another point now. */
static kc_status learn_row(online_pass *s, size_t r, double eta, size_t *changed)
{
    kc_online *online = s->online;
    kc_active *set = &online->set;
    const size_t i = sample_at(s, s->begin + r);
    const double step = eta * weight_of(s, i);
    kc_candidate x = {
        .x = s->x,
        .row = i,
        .id = s->first + (int64_t)i,
        .k = s->k + r * s->ld * kc_dtype_bytes(set->dtype),
        .steps = s->steps,
    };
    size_t place;

    *changed = KC_NOWHERE;
    KC_TRY(find_diag(s, i, &x.diag));
    KC_TRY(find_values(s, x.k));
    s->has_learnt = true;
    for (size_t o = 0; o < set->n_outputs; o++)
        kc_count(&set->n_steps[o], 1);
    if (!(online->is_direct ? find_direct_steps(s, i, step) : find_separate_steps(s, i, step)))
        return KC_OK;
    place = s->may_be_known ? kc_active_find(set, x.id) : set->n;
    if (place < set->n) {
        kc_active_step(set, place, s->steps);
    } else {
        place = *changed = kc_budget_admit(online, &x);
    }
    if (online->is_voted)
        log_update(online, place, s->steps);
    return KC_OK;
}

/* Learns from the samples of the block, values of which are there. */
static kc_status learn_block(online_pass *s, double eta)
{
    const kc_active *set = &s->online->set;

    for (size_t r = 0; r < s->n_rows; r++) {
        size_t changed;

        KC_TRY(learn_row(s, r, eta, &changed));
        if (changed != KC_NOWHERE && r + 1 < s->n_rows) {
            const size_t begin = changed / COL_STEP * COL_STEP;

            fill_columns(s, r + 1, begin, kc_min(COL_STEP, set->n - begin), s->workspace);
            KC_TRY(check_values(s));
            KC_TRY(kc_call_poll(s->call));
        }
    }
    return KC_OK;
}

/* ---- One dense sample: no memory is taken --------------------------------------------------- */

static kc_status learn_one(online_pass *s)
{
    kc_online *online = s->online;
    kc_call *call = s->call;
    const double eta = s->input->settings->eta[0];

    KC_TRY(kc_online_prepare(call->ctx, online, 1, NULL, call->err));
    KC_TRY(kc_online_prepare_probe(call->ctx, online, call->err));
    KC_TRY(kc_growing_read(&online->probe, s->input->data->x, 0, call->err));
    online->probe.points.name = kc_points_name(s->input->data->x);
    KC_TRY(kc_refuse(call, online->set.kernel, NULL, &online->probe.points));
    s->x = &online->probe.points;
    s->n_rows = 1;
    s->k = online->k;
    s->ld = online->set.capacity;
    s->workspace = online->workspace;
    /* To and fro: the points that the last sample came to last are still in the second-level cache.
     */
    s->is_backward = online->n_seen % 2 != 0;
    if (online->set.n > 0)
        fill_columns(s, 0, 0, online->set.n, s->workspace);
    KC_TRY(check_values(s));
    KC_TRY(learn_block(s, eta));
    s->report->n_done = 1;
    s->report->is_converged = s->report->mistakes[0] == 0;
    return KC_OK;
}

/* ---- Many samples --------------------------------------------------------------------------- */

static size_t block_rows(const kc_online *online)
{
    const size_t tiles = online->set.n / POINTS_PER_TILE;

    return KC_TILE_ROWS * kc_max(1, kc_min(MAX_TILES, tiles));
}

static kc_status reserve_block(online_pass *s)
{
    const kc_growing *points = &s->online->set.points;
    kc_value_counts counts;

    kc_growing_count(points, &counts);
    for (size_t r = 0; r < s->n_rows; r++)
        kc_growing_count_row(points, s->x, sample_at(s, s->begin + r), &counts);
    return kc_online_prepare(s->call->ctx, s->online, s->n_rows, &counts, s->call->err);
}

static kc_status run_block(online_pass *s, double eta)
{
    kc_call *call = s->call;
    const kc_active *set = &s->online->set;
    const kc_arena_point point = kc_arena_mark(call->arena);
    kc_status status;

    s->n_rows = kc_min(block_rows(s->online), s->n_used - s->begin);
    KC_TRY(reserve_block(s));
    s->ld = set->capacity;
    s->k = kc_call_take(call, s->n_rows * s->ld, kc_dtype_bytes(set->dtype));
    status = s->k != NULL ? fill_block(s) : kc_fail_nomem(call->err);
    if (status == KC_OK)
        status = learn_block(s, eta);
    if (status == KC_OK && s->begin + s->n_rows < s->n_used)
        status = kc_call_poll(call);
    kc_arena_release(call->arena, point);
    return status;
}

/* The samples that are there, in an order that is made from scratch for every pass: passes may be
 * made by several calls. */
static void set_order(online_pass *s, int32_t *order)
{
    uint64_t *random = s->online->random;
    size_t n = 0;
    kc_rng rng;

    for (size_t i = 0; i < s->x->n; i++)
        if (weight_of(s, i) != 0.0)
            order[n++] = (int32_t)i;
    s->n_used = n;
    s->order = order;
    if (!s->input->settings->is_shuffled)
        return;
    memcpy(rng.state, random, sizeof rng.state);
    kc_rng_shuffle(&rng, order, n);
    memcpy(random, rng.state, sizeof rng.state);
}

static kc_status run_pass(online_pass *s, int32_t *order)
{
    s->n_used = s->x->n;
    if (order != NULL)
        set_order(s, order);
    for (s->begin = 0; s->begin < s->n_used; s->begin += s->n_rows)
        KC_TRY(run_block(s, s->input->settings->eta[s->pass]));
    return KC_OK;
}

static kc_status run_passes(online_pass *s)
{
    const kc_perceptron_settings *settings = s->input->settings;
    kc_call *call = s->call;
    kc_online_report *report = s->report;
    const bool has_order = settings->is_shuffled || s->input->data->weights != NULL;
    int32_t *order = NULL;

    const kc_plan plan = plan_of(s);

    s->workspace_bytes = kc_aligned(kc_plan_workspace(&plan, SIZE_MAX));
    s->workspace = kc_call_take(call, (size_t)call->n_threads, s->workspace_bytes);
    if (has_order)
        order = kc_call_take(call, s->x->n, sizeof *order);
    if (s->workspace == NULL || (has_order && order == NULL))
        return kc_fail_nomem(call->err);
    for (s->pass = 0; s->pass < settings->n_passes && !report->is_converged; s->pass++) {
        KC_TRY(run_pass(s, order));
        report->n_done = s->pass + 1;
        report->is_converged = report->mistakes[s->pass] == 0;
        call->progress.n_iter = s->pass + 1;
        call->progress.objective = report->criterion[s->pass];
        s->may_be_known = true;
        if (s->pass + 1 < settings->n_passes && !report->is_converged)
            KC_TRY(kc_call_poll(call)); /* what is done cannot be stopped any more */
    }
    return KC_OK;
}

static kc_status learn_many(online_pass *s)
{
    kc_call *call = s->call;
    kc_packed x;
    kc_status status;

    KC_TRY(
        kc_prepare(call, s->online->set.kernel, s->input->data->x, NULL, s->online->set.dtype, &x));
    s->x = &x;
    status = run_passes(s);
    kc_packed_free(call->ctx, &x);
    return status;
}

static bool is_plain(const kc_online *online, const kc_training_input *input)
{
    return input->data->x->n_rows == 1 && input->settings->n_passes == 1 &&
           kc_online_takes_probes(online) &&
           (input->data->weights == NULL || input->data->weights[0] != 0.0);
}

kc_status kc_online_run_passes(kc_call *call, kc_online *online, const kc_training_input *input,
                               kc_online_report *report)
{
    const size_t n_outputs = online->set.n_outputs;
    const int64_t first = input->first >= 0 ? input->first : online->n_seen;
    int64_t end = first;
    online_pass s = {
        .call = call,
        .online = online,
        .input = input,
        .report = report,
        .first = first,
        .may_be_known = first < online->n_seen,
        .values = online->room, /* free for budgets once there are steps, as are sums */
        .sums = online->room + n_outputs,
        .steps = online->room + 2 * n_outputs,
    };
    kc_status status;

    kc_count(&end, input->data->x->n_rows);
    KC_TRY(kc_online_check(call, online, input->data));
    online->is_learning = true;
    status = is_plain(online, input) ? learn_one(&s) : learn_many(&s);
    online->is_learning = false;
    if (status == KC_OK || s.has_learnt) /* numbers of samples that may be kept are taken */
        online->n_seen = end > online->n_seen ? end : online->n_seen;
    if (kc_call_stopped(call)) /* a time limit leaves what there is */
        return kc_call_poll(call) == KC_ERR_TIME ? KC_OK : kc_call_stop_error(call);
    return status;
}
