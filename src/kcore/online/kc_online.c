/* Making a learner, room for what it will learn, and reading it. */
#include "online/kc_online.h"

#include <string.h>

#include "base/kc_alloc.h"
#include "data/kc_points.h"
#include "function/kc_voted.h"

/* Up to so many features, points are dense whatever they come as. */
#define DENSE_COLS 128

/* ---- Life --------------------------------------------------------------------------------- */

/* Part by part, in the storage that they are kept in. */
static void describe_samples(const kc_online_config *config, kc_points *out)
{
    const kc_points numbers = {.storage = config->is_sparse ? KC_CSR : KC_DENSE,
                               .n_cols = config->n_cols};
    const kc_points *part = config->like != NULL ? config->like : &numbers;

    for (size_t i = 0; part != NULL; i++, part = part->next) {
        const bool is_dense = part->storage == KC_CSR && part->n_cols <= DENSE_COLS;

        out[i] = (kc_points){.storage = is_dense ? KC_DENSE : part->storage,
                             .n_cols = part->n_cols,
                             .next = part->next != NULL ? &out[i + 1] : NULL};
    }
}

static kc_status fill(kc_context *ctx, const kc_online_config *config, kc_online *online,
                      kc_error *err)
{
    const bool is_single = config->n_classes == 2;
    kc_points like[KC_MAX_PARTS];
    const kc_active_spec spec = {
        .kernel = config->kernel,
        .dtype = config->dtype,
        .like = like,
        .has_offset = config->has_intercept != 0,
        .has_mean = config->is_averaged != 0,
        .n_cols = (size_t)config->n_cols,
        .n_outputs = is_single ? 1 : (size_t)config->n_classes,
    };

    describe_samples(config, like);
    online->n_classes = config->n_classes;
    online->is_direct = config->is_direct && !is_single;
    online->is_voted = config->is_voted != 0;
    online->strategy = config->strategy;
    online->budget = (size_t)config->budget;
    online->n_problems = online->is_direct ? 1 : spec.n_outputs;
    KC_TRY(kc_active_create(ctx, &spec, &online->set, err));
    online->probe = kc_growing_none(config->dtype, KC_DENSE, spec.n_cols);
    online->random = kc_calloc(ctx, online->n_problems, 4 * sizeof *online->random);
    online->room = kc_alloc(ctx, spec.n_outputs, 3 * sizeof *online->room);
    if (online->random == NULL || online->room == NULL)
        return kc_fail_nomem(err);
    if (config->random != NULL)
        memcpy(online->random, config->random, online->n_problems * 4 * sizeof *online->random);
    return KC_OK;
}

kc_status kc_online_make(kc_context *ctx, const kc_online_config *config, kc_online **out,
                         kc_error *err)
{
    kc_online *online = kc_calloc(ctx, 1, sizeof *online);
    kc_status status = online != NULL ? fill(ctx, config, online, err) : kc_fail_nomem(err);

    if (status != KC_OK) {
        kc_online_free(ctx, online);
        return status;
    }
    *out = online;
    return KC_OK;
}

void kc_online_free(kc_context *ctx, kc_online *online)
{
    if (online == NULL)
        return;
    kc_active_free(ctx, &online->set);
    kc_vote_log_free(ctx, &online->votes);
    kc_projection_free(ctx, &online->projection);
    kc_growing_free(ctx, &online->probe);
    kc_free(ctx, online->random);
    kc_free(ctx, online->k);
    kc_free(ctx, online->workspace);
    kc_free(ctx, online->room);
    kc_free(ctx, online);
}

/* Points that a set of n has room for: no more than the budget. */
static size_t within_budget(const kc_online *online, size_t n)
{
    return online->budget > 0 ? kc_min(n, online->budget) : n;
}

kc_status kc_online_prepare(kc_context *ctx, kc_online *online, size_t n_more,
                            const kc_value_counts *counts, kc_error *err)
{
    kc_active *set = &online->set;
    const size_t n = within_budget(online, set->n + n_more);
    const size_t n_updates = n_more * (online->is_direct ? 1 : set->n_outputs);

    KC_TRY(kc_active_reserve(ctx, set, n, counts, err));
    if (online->is_voted)
        KC_TRY(kc_vote_log_reserve(ctx, &online->votes, online->votes.n + n_updates, err));
    if (online->budget > 0 && online->strategy == KC_STRATEGY_PROJECTION)
        KC_TRY(kc_projection_reserve(ctx, &online->projection, n + 1, err));
    return KC_OK;
}

kc_status kc_online_prepare_probe(kc_context *ctx, kc_online *online, kc_error *err)
{
    kc_active *set = &online->set;
    kc_packed *probe = &online->probe.points;

    if (online->workspace == NULL) {
        KC_TRY(kc_growing_reserve(ctx, &online->probe, 1, NULL, err));
        probe->n = 1;
        const kc_plan plan = kc_plan_make(set->kernel, probe, &set->points.points);

        online->workspace = kc_alloc(ctx, 1, kc_plan_workspace(&plan, 1));
        if (online->workspace == NULL)
            return kc_fail_nomem(err);
    }
    if (online->k_capacity < set->capacity) {
        void *k = kc_alloc(ctx, set->capacity, kc_dtype_bytes(set->dtype));

        if (k == NULL)
            return kc_fail_nomem(err);
        kc_free(ctx, online->k);
        online->k = k;
        online->k_capacity = set->capacity;
    }
    return KC_OK;
}

kc_status kc_online_make_room(kc_context *ctx, kc_online *online, size_t n_points, kc_error *err)
{
    const size_t n_more = n_points > online->set.n ? n_points - online->set.n : 0;

    KC_TRY(kc_online_prepare(ctx, online, n_more, NULL, err));
    return online->set.kernel != NULL && kc_online_takes_probes(online)
               ? kc_online_prepare_probe(ctx, online, err)
               : KC_OK;
}

kc_status kc_online_check(kc_call *call, const kc_online *online, const kc_perceptron_data *data)
{
    kc_error *err = call->err;
    const kc_active *set = &online->set;
    const kc_points *x = data->x;

    if (online->is_learning)
        return kc_fail(err, KC_ERR_ARG, "the learner is learning: a callback can only read it");
    if (data->kernel_fn != NULL && (size_t)data->n_samples != set->n_cols)
        return kc_fail(err, KC_ERR_SHAPE, "there are %lld samples, the learner takes %zu",
                       (long long)data->n_samples, set->n_cols);
    if (data->kernel_fn != NULL)
        return KC_OK;
    KC_TRY(kc_points_check_late(call, x));
    if (set->kernel != NULL)
        return kc_packed_check_alike(&set->points.points, x, err);
    KC_TRY(kc_points_check_numbers(x, err));
    if ((size_t)x->n_cols != set->n_cols)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %lld columns, the learner takes %zu",
                       kc_points_name(x), (long long)x->n_cols, set->n_cols);
    return KC_OK;
}

/* ---- Reading -------------------------------------------------------------------------------- */

typedef struct reading {
    double *out;
    size_t n_outputs;
} reading;

static void read_values(void *data, size_t row, const double *values)
{
    const reading *r = data;

    memcpy(r->out + row * r->n_outputs, values, r->n_outputs * sizeof *values);
}

static kc_status count_votes(kc_call *call, const kc_online *online, const kc_points *x,
                             double *out)
{
    const kc_active *set = &online->set;
    const kc_voted f = {
        .kernel = set->kernel,
        .dtype = set->dtype,
        .points = &set->points.points,
        .columns = set->ids,
        .n = set->n,
        .n_cols = set->n_cols,
        .offset = set->offset,
        .n_outputs = set->n_outputs,
        .is_joint = online->is_direct,
        .updates = online->votes.updates,
        .n_updates = online->votes.n,
        .n_steps = set->n_steps,
    };

    return kc_voted_count(call, &f, x, out, set->n_outputs);
}

kc_status kc_online_decide(kc_call *call, const kc_online *online, const kc_points *x,
                           kc_reading kind, double *out)
{
    reading r = {.out = out, .n_outputs = online->set.n_outputs};
    kc_expansion f;

    if (kind == KC_READING_VOTES)
        return count_votes(call, online, x, out);
    KC_TRY(kc_active_expansion(call, &online->set, kind == KC_READING_MEAN, &f));
    return kc_expansion_evaluate(call, &f, x, read_values, &r);
}
