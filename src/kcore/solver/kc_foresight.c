/* Counts on a sample of all points.  See kc_foresight.h. */
#include "solver/kc_foresight.h"

/* Support vectors and free variables among the members, and the mean value of the latter, group by
 * group. */
static void count_members(const kc_pairs *pairs, kc_stats *c, double *mid)
{
    for (int32_t g = 0; g < pairs->n_layers; g++) {
        size_t n_free;
        mid[g] = kc_pairs_mu(pairs, g, &n_free);
        c->n_free += n_free;
    }
    for (size_t k = 0; k < pairs->n; k++)
        c->n_support += kc_pairs_coefficient(pairs, k) != 0;
}

static bool is_violator(const kc_state *s, size_t p, double grad, const double *mid)
{
    bool is_any = false;

    for (int32_t g = 0; g < s->dual.n_layers; g++)
        is_any |= s->up[g][p] != s->low[g][p] &&
                  (grad + s->up[g][p] > mid[g] || grad + s->low[g][p] < mid[g]);
    return is_any;
}

/* The position of the i-th point of the sample. */
static size_t sampled(const kc_state *s, size_t i)
{
    return i * s->dual.n_points / s->tuning->choose.sample_points;
}

/* Values of the sample against the members. */
static kc_status gather(const kc_state *s, const kc_block_view *view, void **out)
{
    const size_t n = view->pairs->n, n_sample = s->tuning->choose.sample_points;
    int32_t *points = kc_call_take(s->call, n_sample + n, sizeof *points);

    *out = kc_call_take(s->call, n_sample * n, kc_dtype_bytes(kc_store_dtype(s->store)));
    if (points == NULL || *out == NULL)
        return kc_fail_nomem(s->call->err);
    for (size_t i = 0; i < n_sample; i++)
        points[i] = (int32_t)kc_cols_point(&s->dual.cols, sampled(s, i));
    for (size_t k = 0; k < n; k++)
        points[n_sample + k] = (int32_t)kc_cols_point(&s->dual.cols, (size_t)view->position_of[k]);
    return kc_store_gather(s->call, s->store, points, n_sample, points + n_sample, n, *out, n);
}

/* How many of the points outside of the block will violate. */
static kc_status count_violators(const kc_state *s, const kc_block_view *view, const double *mid,
                                 size_t *count)
{
    const size_t n = view->pairs->n, n_sample = s->tuning->choose.sample_points;
    void *values;
    size_t n_found = 0;

    KC_TRY(gather(s, view, &values));
    for (size_t i = 0; i < n_sample; i++) {
        const size_t p = sampled(s, i);
        double grad = s->grad[p];
        for (size_t k = 0; k < n; k++)
            grad -= (kc_pairs_coefficient(view->pairs, k) - view->old_coefficient[k]) *
                    kc_number_at(values, i * n + k, kc_store_dtype(s->store));
        n_found += !view->is_member[p] && is_violator(s, p, grad, mid);
    }
    *count = n_found * s->dual.n_points / n_sample;
    return KC_OK;
}

kc_status kc_foresee(const kc_state *s, const kc_block_view *view, int64_t n_steps, kc_stats *out,
                     bool *is_known)
{
    kc_arena_point point = kc_arena_mark(s->call->arena);
    kc_status status = KC_OK;
    double mid[2];

    *out = (kc_stats){
        .method = KC_METHOD_BLOCKS, .n_sets = 1, .n_steps = n_steps, .n_slots = view->pairs->n};
    count_members(view->pairs, out, mid);
    *is_known = kc_is_foreseen(s, out);
    if (*is_known)
        status = count_violators(s, view, mid, &out->n_violators);
    kc_arena_release(s->call->arena, point);
    return status;
}
