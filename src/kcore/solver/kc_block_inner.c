/* A block by itself.  See kc_block_impl.h.
 *
 * Where rows are doubles, the matrix of a larger working set has floats all the same.  Each block
 * starts from the gradient of the rows, so that the rounding of its own moves is all there is. What
 * that makes is told from the moves of the block before it, and afterwards by the rows: where it is
 * more than the block is to be solved to, values are taken as they are from then on. */
#include <math.h>
#include <string.h>

#include "solver/kc_block_impl.h"
#include "solver/kc_newton.h"

/* ---- Its matrix ---------------------------------------------------------------------------- */

static bool is_rounded(const kc_blocks *s)
{
    return s->sub.dtype != kc_store_dtype(s->state->store);
}

static void set_type(kc_blocks *s, kc_dtype dtype)
{
    s->size_limit = kc_min(kc_block_size_limit(s->state->tuning, dtype), s->state->dual.n_points);
    s->max_size = kc_min(s->max_size, s->size_limit);
    kc_subgram_retype(s->state->call->ctx, s->state->store, &s->sub, dtype, s->size_limit);
}

static double choose_inner_tol(const kc_blocks *s, double violation)
{
    const kc_block_tuning *tuning = &s->state->tuning->block;
    const bool is_late = violation < tuning->late_tols * s->inner_tol && !kc_block_is_too_full(s);

    return fmax(tuning->inner_tol_share * s->state->tol,
                (is_late ? tuning->inner_share_late : tuning->inner_share) * violation);
}

/* For moves as long as the last ones, and a block that is to be solved to inner_tol. */
static bool may_round(const kc_blocks *s)
{
    return !s->has_rounding_failed &&
           s->state->tuning->block.rounding_share * s->state->largest_diag * s->moved_length <=
               s->inner_tol;
}

kc_status kc_block_load(kc_blocks *s, double violation, size_t size)
{
    s->inner_tol = choose_inner_tol(s, violation);
    if (is_rounded(s) && !may_round(s)) {
        s->has_rounding_failed = true;
        set_type(s, kc_store_dtype(s->state->store));
    } else if (s->sub.dtype == KC_F64 && may_round(s) &&
               (size >= s->state->tuning->block.rounded_members || s->is_long)) {
        set_type(s, KC_F32);
    }
    return kc_subgram_change(s->state->call, s->state->store, &s->sub, s->set.members,
                             kc_min(s->set.n_members, s->size_limit), kc_min(size, s->size_limit));
}

bool kc_block_use_exact_values(kc_blocks *s, bool has_moved)
{
    s->has_rounding_failed |= is_rounded(s) && !has_moved;
    if (!s->has_rounding_failed || !is_rounded(s))
        return false;
    set_type(s, kc_store_dtype(s->state->store));
    return true;
}

/* ---- Its problem --------------------------------------------------------------------------- */

/* For the rows of all support vectors, if the block ended here, and so many more. */
static void reserve_rows(const kc_blocks *s, size_t n_more)
{
    size_t n_sv = s->front.n_sv + n_more;

    for (size_t k = 0; k < s->pairs.n; k++) {
        n_sv += kc_pairs_coefficient(&s->pairs, k) != 0;
        n_sv -= s->old_coefficient[k] != 0;
    }
    kc_state_reserve(s->state, n_sv);
}

static void reserve_block_end(void *data)
{
    reserve_rows(data, 0);
}

/* Copies of everything that belongs to the members, in the order of their slots. */
static void load_block(kc_blocks *s)
{
    const kc_dual *dual = &s->state->dual;
    kc_pairs *pairs = &s->pairs;
    size_t w = s->sub.n_slots;
    size_t stride = kc_round_up(w, KC_SMO_PAD);
    double *grad = s->inner;
    double *next = grad;
    size_t bytes = kc_dtype_bytes(s->sub.dtype);
    double *lo[2] = {NULL, NULL};
    double *hi[2] = {NULL, NULL};

    *pairs = (kc_pairs){.tuning = s->state->tuning,
                        .n = w,
                        .n_layers = dual->n_layers,
                        .epsilon = dual->epsilon,
                        .exact_below = s->state->tuning->pairs.exact_tols * s->state->tol,
                        .dtype = s->sub.dtype,
                        .is_rounded = is_rounded(s),
                        .gram = s->sub.values,
                        .ld = s->sub.ld,
                        .reserve = reserve_block_end,
                        .reserve_data = s,
                        .scale = s->state->scale,
                        .n_steps = pairs->n_steps,
                        .objective = pairs->objective};
    pairs->grad = next += stride;
    pairs->diag = next += stride;
    for (int32_t g = 0; g < dual->n_layers; g++) {
        pairs->beta[g] = next += stride;
        pairs->lo[g] = lo[g] = next += stride;
        pairs->hi[g] = hi[g] = next += stride;
        pairs->up[g] = next += stride;
        pairs->low[g] = next += stride;
    }
    for (size_t k = 0; k < w; k++) {
        size_t p = (size_t)s->sub.position_of[k];
        grad[k] = s->state->grad[p];
        memcpy((char *)pairs->diag + k * bytes,
               (const char *)s->sub.values + k * (s->sub.ld + 1) * bytes, bytes);
        for (int32_t g = 0; g < dual->n_layers; g++) {
            size_t v = (size_t)g * dual->n_points + p;
            pairs->beta[g][k] = s->state->beta[v];
            lo[g][k] = dual->lo[v];
            hi[g][k] = dual->hi[v];
        }
        s->old_coefficient[k] = kc_dual_coefficient(dual, s->state->beta, p);
    }
    /* Floats do: the gradient of all points is computed from what the block finds, in doubles. */
    pairs->lanes =
        kc_pairs_suit_floats(&s->state->tuning->pairs, pairs->dtype, grad, w, s->inner_tol)
            ? KC_F32
            : KC_F64;
    kc_pairs_start(pairs, grad);
}

kc_status kc_block_run(kc_blocks *s, int64_t last_step, bool *has_moved)
{
    const kc_block_tuning *tuning = &s->state->tuning->block;
    kc_stop inner_stop;

    load_block(s);
    const int64_t before = s->pairs.n_steps;
    const int64_t limit = tuning->inner_steps_per_member * (int64_t)s->pairs.n;
    const int64_t left = last_step - before;
    KC_TRY(kc_newton_run(s->state->call, &s->pairs, s->inner_tol, left < limit ? left : limit,
                         &inner_stop));
    *has_moved = s->pairs.n_steps > before;
    s->is_long = s->pairs.n_steps - before > tuning->rounded_steps_per_member * (int64_t)s->pairs.n;
    return KC_OK;
}

/* ---- What comes of it ---------------------------------------------------------------------- */

/* A row is wanted again while its variable is free: it will move again. */
static kc_keep find_keep(const kc_pairs *pairs, size_t k)
{
    for (int32_t g = 0; g < pairs->n_layers; g++)
        if (kc_is_free(pairs->epsilon, pairs->beta[g][k], pairs->lo[g][k], pairs->hi[g][k]))
            return KC_KEEP_HIGH;
    return KC_KEEP_NOT;
}

/* Whether there is time for so many rows now and those of all support vectors at the end. */
static kc_status expect_time(kc_blocks *s, size_t n_rows)
{
    kc_status status;

    if (!kc_call_is_limited(s->state->call))
        return KC_OK;
    reserve_rows(s, n_rows);
    status = kc_call_poll(s->state->call);
    reserve_rows(s, 0);
    return status;
}

/* The gradient after the block, into next_grad. */
static kc_status apply_block(kc_blocks *s)
{
    kc_state *state = s->state;
    const kc_pairs *pairs = &s->pairs;
    kc_moved moved = {.points = s->moved_points, .delta = s->moved_delta, .keep = s->moved_keep};
    double moved_square = 0;

    for (size_t k = 0; k < pairs->n; k++) {
        double delta = kc_pairs_coefficient(pairs, k) - s->old_coefficient[k];
        moved_square += delta * delta;
        if (delta == 0)
            continue;
        s->moved_points[moved.n] =
            (int32_t)kc_cols_point(&state->dual.cols, (size_t)s->sub.position_of[k]);
        s->moved_delta[moved.n] = delta;
        s->moved_keep[moved.n++] = (uint8_t)find_keep(pairs, k);
    }
    state->n_visits += (int64_t)moved.n;
    s->moved_length = sqrt(moved_square);
    KC_TRY(expect_time(s, moved.n));
    return kc_store_apply(state->call, state->store, &state->dual.cols, &moved, state->grad,
                          state->next_grad);
}

/* What the block has gained by the rows, now that the gradient after it is known. */
static double find_block_gain(const kc_blocks *s)
{
    const kc_state *state = s->state;
    const kc_pairs *pairs = &s->pairs;
    double gain = 0;

    for (size_t k = 0; k < pairs->n; k++) {
        const size_t p = (size_t)s->sub.position_of[k];
        const double delta = kc_pairs_coefficient(pairs, k) - s->old_coefficient[k];
        gain += 0.5 * delta * (state->grad[p] + state->next_grad[p]);
        for (int32_t g = 0; g < pairs->n_layers; g++)
            gain -= pairs->epsilon * (fabs(pairs->beta[g][k]) -
                                      fabs(state->beta[(size_t)g * state->dual.n_points + p]));
    }
    return gain;
}

/* Whether rounded values have led to where the rows would have, to within the block's tolerance. */
static bool is_near(const kc_blocks *s)
{
    bool is_all = true; /* NaN is not */

    for (size_t k = 0; k < s->pairs.n; k++)
        is_all &= fabs(kc_number_at(s->pairs.grad, k, s->pairs.lanes) -
                       s->state->next_grad[s->sub.position_of[k]]) <= s->inner_tol;
    return is_all;
}

/* Takes over what the block found. */
static void store_block(kc_blocks *s)
{
    kc_state *state = s->state;
    const kc_pairs *pairs = &s->pairs;

    for (size_t k = 0; k < pairs->n; k++) {
        const size_t p = (size_t)s->sub.position_of[k];
        for (int32_t g = 0; g < pairs->n_layers; g++)
            state->beta[(size_t)g * state->dual.n_points + p] = pairs->beta[g][k];
        s->front.n_sv += kc_dual_coefficient(&state->dual, state->beta, p) != 0;
        s->front.n_sv -= s->old_coefficient[k] != 0;
        kc_state_refresh_at(state, p);
    }
    s->n_sets++;
    state->n_sets++;
}

/* A block that the end of time met is taken without its gradient: one of all that was found is
 * computed at the end, at the same cost. */
static kc_status apply_or_end(kc_blocks *s)
{
    const kc_status status = apply_block(s);

    if (status == KC_ERR_TIME)
        store_block(s);
    return status;
}

kc_status kc_block_take(kc_blocks *s, double objective, bool *is_taken)
{
    KC_TRY(apply_or_end(s));
    *is_taken = true;
    if (is_rounded(s)) {
        const double gain = find_block_gain(s);
        *is_taken = gain > 0;
        s->has_rounding_failed = !*is_taken || !is_near(s);
        s->pairs.objective = objective - gain;
    }
    if (*is_taken) {
        kc_state_swap(s->state);
        store_block(s);
    }
    return KC_OK;
}
