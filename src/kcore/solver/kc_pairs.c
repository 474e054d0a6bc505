/* Pair steps.  See kc_pairs.h.
 *
 * A step is three named parts: choose (i, j), search the line, move.  The line search walks over
 * the kinks of epsilon |beta|, so that a variable can change its sign in one step. */
#include "solver/kc_pairs.h"

#include <float.h>
#include <string.h>

static void write_at(kc_dtype dtype, void *array, size_t p, double value)
{
    if (dtype == KC_F64)
        ((double *)array)[p] = value;
    else
        ((float *)array)[p] = (float)value;
}

static double diag_at(const kc_pairs *pairs, size_t p)
{
    return kc_number_at(pairs->diag, p, pairs->dtype);
}

/* The low-value at p, rounded as the loops round it. */
static double low_at(const kc_pairs *pairs, int32_t g, size_t p)
{
    double low =
        kc_number_at(pairs->grad, p, pairs->lanes) + kc_number_at(pairs->low[g], p, pairs->lanes);

    return pairs->lanes == KC_F64 ? low : (double)(float)low;
}

/* Where entry p of an array of lanes is. */
static void *lane_at(const kc_pairs *pairs, void *array, size_t p)
{
    return (char *)array + p * kc_dtype_bytes(pairs->lanes);
}

static void refresh_point(kc_pairs *pairs, int32_t g, size_t p)
{
    double beta = pairs->beta[g][p];

    write_at(pairs->lanes, pairs->up[g], p, kc_rise(pairs->epsilon, beta, pairs->hi[g][p]));
    write_at(pairs->lanes, pairs->low[g], p, kc_fall(pairs->epsilon, beta, pairs->lo[g][p]));
}

/* The positions at which group g has variables that can move, widened to whole vectors. */
static void find_range(kc_pairs *pairs, int32_t g)
{
    size_t begin = 0;
    size_t end = pairs->n;

    while (begin < end && pairs->lo[g][begin] == pairs->hi[g][begin])
        begin++;
    while (end > begin && pairs->lo[g][end - 1] == pairs->hi[g][end - 1])
        end--;
    pairs->begin[g] = begin / KC_SMO_PAD * KC_SMO_PAD;
    pairs->end[g] = kc_round_up(end, KC_SMO_PAD);
}

static void scan_group(kc_pairs *pairs, int32_t g)
{
    size_t begin = pairs->begin[g];

    pairs->peak[g] =
        pairs->ops->scan(lane_at(pairs, pairs->grad, begin), lane_at(pairs, pairs->up[g], begin),
                         lane_at(pairs, pairs->low[g], begin), pairs->end[g] - begin);
    pairs->peak[g].at += begin;
}

bool kc_pairs_suit_floats(const kc_pairs_tuning *tuning, kc_dtype dtype, const double *grad,
                          size_t n, double tol)
{
    double largest = 0;

    if (dtype == KC_F64)
        return false;
    for (size_t p = 0; p < n; p++)
        largest = kc_higher(fabs(grad[p]), largest);
    return largest <= tuning->float_largest &&
           tol >= tuning->float_ulps * (double)FLT_EPSILON * largest;
}

static void load_gradient(kc_pairs *pairs, const double *grad)
{
    if (pairs->lanes == KC_F32)
        for (size_t p = 0; p < pairs->n; p++)
            ((float *)pairs->grad)[p] = (float)grad[p];
    else if (grad != pairs->grad)
        memcpy(pairs->grad, grad, pairs->n * sizeof *grad);
}

void kc_pairs_start(kc_pairs *pairs, const double *grad)
{
    const kc_smo_ops *ops = kc_smo_ops_chosen();
    size_t n_padded = kc_round_up(pairs->n, KC_SMO_PAD);

    assert(pairs->lanes == KC_F64 || pairs->dtype == KC_F32);
    pairs->ops = pairs->lanes == KC_F64 ? kc_smo_steps(ops, pairs->dtype) : &ops->single;
    load_gradient(pairs, grad);
    for (size_t p = pairs->n; p < n_padded; p++) {
        write_at(pairs->lanes, pairs->grad, p, 0);
        write_at(pairs->dtype, pairs->diag, p, 1);
    }
    for (int32_t g = 0; g < pairs->n_layers; g++) {
        for (size_t p = 0; p < pairs->n; p++)
            refresh_point(pairs, g, p);
        for (size_t p = pairs->n; p < n_padded; p++) {
            write_at(pairs->lanes, pairs->up[g], p, -HUGE_VAL);
            write_at(pairs->lanes, pairs->low[g], p, HUGE_VAL);
        }
        find_range(pairs, g);
        scan_group(pairs, g);
    }
}

double kc_pairs_violation(const kc_pairs *pairs, int32_t *group)
{
    double largest = -HUGE_VAL;

    *group = 0;
    for (int32_t g = 0; g < pairs->n_layers; g++) {
        double violation = pairs->peak[g].max_up - pairs->peak[g].min_low;
        if (violation > largest || isnan(violation)) {
            largest = violation;
            *group = g;
        }
    }
    return largest;
}

double kc_pairs_mu(const kc_pairs *pairs, int32_t g, size_t *n_free)
{
    double total = 0;

    *n_free = 0;
    for (size_t p = 0; p < pairs->n; p++)
        if (kc_is_free(pairs->epsilon, pairs->beta[g][p], pairs->lo[g][p], pairs->hi[g][p])) {
            total += kc_number_at(pairs->grad, p, pairs->lanes) +
                     kc_number_at(pairs->up[g], p, pairs->lanes);
            ++*n_free;
        }
    return *n_free > 0 ? total / (double)*n_free
                       : 0.5 * (pairs->peak[g].max_up + pairs->peak[g].min_low);
}

/* One step along +1 for variable i, -1 for variable j. */
typedef struct step {
    double beta_i, beta_j; /* where it ends */
    double length;
    double gain;
} step;

/* What the step to the minimum is multiplied by: it goes beyond it, as far as bounds and kinks let
 * it, as in successive over-relaxation (Mangasarian and Musicant 1999), the more the two rows have
 * in common, since steps would undo each other else.  2 K_ij is what is missing from K_ii + K_jj;
 * below twice the length to the minimum every step gains. */
static double relaxation(const kc_pairs *pairs, size_t i, size_t j, double curvature,
                         double violation)
{
    const double both = diag_at(pairs, i) + diag_at(pairs, j);
    const double share = both != 0 ? 1 - curvature / both : curvature < 0 ? HUGE_VAL : 0;

    if (violation < pairs->exact_below)
        return 1;
    if (pairs->over > 0)
        return pairs->over;
    const kc_pairs_tuning *tuning = &pairs->tuning->pairs;
    return 1 + tuning->over_max *
                   kc_lower(kc_higher(tuning->over_per_share * share, 0), 1); /* NaN: 1 */
}

/* Along the line: a parabola between breakpoints, which are kinks (the slope changes by 2 epsilon)
 * and bounds (the end).  `violation` is minus the slope at the start. */
static step search_line(const kc_pairs *pairs, int32_t g, size_t i, size_t j, double violation,
                        double curvature)
{
    double factor = relaxation(pairs, i, j, curvature, violation);
    double hi = pairs->hi[g][i];
    double lo = pairs->lo[g][j];
    step s = {pairs->beta[g][i], pairs->beta[g][j], 0, 0};

    if (!(curvature > 0))
        curvature = KC_SMO_TAU;
    while (violation > 0 && s.beta_i < hi && s.beta_j > lo) {
        bool i_to_kink = pairs->epsilon > 0 && s.beta_i < 0 && hi >= 0;
        bool j_to_kink = pairs->epsilon > 0 && s.beta_j > 0 && lo <= 0;
        double goal_i = i_to_kink ? 0 : hi;
        double goal_j = j_to_kink ? 0 : lo;
        double room_i = goal_i - s.beta_i;
        double room_j = s.beta_j - goal_j;
        double room = kc_lower(room_i, room_j);
        double length = factor * violation / curvature;
        if (length < room) {
            s.beta_i = kc_lower(s.beta_i + length, goal_i);
            s.beta_j = kc_higher(s.beta_j - length, goal_j);
            s.length += length;
            s.gain += length * (violation - 0.5 * curvature * length);
            return s;
        }
        s.beta_i = room_i <= room ? goal_i : kc_lower(s.beta_i + room, goal_i);
        s.beta_j = room_j <= room ? goal_j : kc_higher(s.beta_j - room, goal_j);
        s.length += room;
        s.gain += room * (violation - 0.5 * curvature * room);
        violation -= curvature * room;
        if (i_to_kink && s.beta_i == 0)
            violation -= 2 * pairs->epsilon;
        if (j_to_kink && s.beta_j == 0)
            violation -= 2 * pairs->epsilon;
    }
    return s;
}

static kc_status fetch_rows(kc_pairs *pairs, const size_t *positions, size_t n_rows,
                            const void **out)
{
    size_t row_bytes = pairs->ld * kc_dtype_bytes(pairs->dtype);

    if (pairs->gram == NULL)
        return pairs->fetch(pairs->fetch_data, positions, n_rows, out);
    for (size_t r = 0; r < n_rows; r++)
        out[r] = (const char *)pairs->gram + positions[r] * row_bytes;
    return KC_OK;
}

/* The most violating variable that can fall. */
static size_t find_lowest(const kc_pairs *pairs, int32_t g)
{
    size_t j = pairs->begin[g];

    while (low_at(pairs, g, j) != pairs->peak[g].min_low)
        j++;
    return j;
}

/* The second variable for i; notes the least low-value, on which the violation stands. */
static size_t pick_second(kc_pairs *pairs, int32_t g, size_t i, const void *row_i)
{
    kc_peak *peak = &pairs->peak[g];
    size_t begin = pairs->begin[g];
    size_t end = kc_min(pairs->end[g], pairs->n);
    size_t skip = begin * kc_dtype_bytes(pairs->dtype);
    double reach = peak->max_up - peak->min_low;
    kc_second second =
        pairs->ops->pick(lane_at(pairs, pairs->grad, begin), lane_at(pairs, pairs->low[g], begin),
                         (const char *)row_i + skip, (const char *)pairs->diag + skip, end - begin,
                         peak->max_up, isfinite(reach) && reach > 0 ? reach : 1, diag_at(pairs, i));

    peak->min_low = second.min_low;
    /* Gains below the smallest number leave none.  Where values are large beside the violation,
     * their rounding may look like a violation of i by itself, with no curvature to divide by. */
    return second.at != KC_SMO_NONE && second.at + begin != i ? second.at + begin : KC_SMO_NONE;
}

static void move_pair(kc_pairs *pairs, int32_t g, size_t i, size_t j, const step *s,
                      const void *const *rows)
{
    pairs->beta[g][i] = s->beta_i;
    pairs->beta[g][j] = s->beta_j;
    refresh_point(pairs, g, i);
    refresh_point(pairs, g, j);
    pairs->n_steps++;
    pairs->objective -= s->gain;
    if (pairs->n_layers == 1) {
        kc_top top =
            pairs->ops->move(pairs->grad, rows[0], rows[1], s->length, pairs->up[0], pairs->n);
        pairs->peak[0].max_up = top.max_up;
        pairs->peak[0].at = top.at;
        return;
    }
    pairs->ops->shift(pairs->grad, rows[0], rows[1], s->length, pairs->n);
    scan_group(pairs, 0);
    scan_group(pairs, 1);
}

/* One step from `rows[0]`, the row of pair[0]; false where rounding leaves both variables where
 * they were, with the second variable picked and with the most violating one. */
static kc_status try_pair_step(kc_pairs *pairs, int32_t g, size_t *pair, const void **rows,
                               bool *moved)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        size_t i = pair[0];
        size_t j = pair[1];
        double low_j = low_at(pairs, g, j);
        KC_TRY(fetch_rows(pairs, pair, 2, rows));
        double curvature =
            diag_at(pairs, i) + diag_at(pairs, j) - 2 * kc_number_at(rows[0], j, pairs->dtype);
        step s = search_line(pairs, g, i, j, pairs->peak[g].max_up - low_j, curvature);
        *moved = s.beta_i != pairs->beta[g][i] || s.beta_j != pairs->beta[g][j];
        if (*moved) {
            move_pair(pairs, g, i, j, &s, rows);
            return KC_OK;
        }
        pair[1] = find_lowest(pairs, g);
    }
    return KC_OK;
}

/* One step, in the group of the largest violation.  Where there is one group, its violation is
 * known only when the second variable is picked: *violation is then what it was before the step. */
static kc_status take_step(kc_pairs *pairs, double tol, double *violation, bool *moved)
{
    const void *rows[2];
    int32_t g;

    *violation = kc_pairs_violation(pairs, &g);
    if (pairs->n_layers == 2 && !(*violation >= tol))
        return KC_OK;
    size_t pair[2] = {pairs->peak[g].at, 0};
    if (!isfinite(pairs->peak[g].max_up)) {
        scan_group(pairs, g);
        *violation = kc_pairs_violation(pairs, &g);
        return KC_OK;
    }
    KC_TRY(fetch_rows(pairs, pair, 1, rows));
    pair[1] = pick_second(pairs, g, pair[0], rows[0]);
    *violation = pairs->peak[g].max_up - pairs->peak[g].min_low;
    if (!(*violation >= tol) || !isfinite(*violation))
        return KC_OK;
    if (pair[1] == KC_SMO_NONE)
        pair[1] = find_lowest(pairs, g);
    return try_pair_step(pairs, g, pair, rows, moved);
}

static void tell(kc_call *call, const kc_pairs *pairs, double violation)
{
    call->progress.n_iter = pairs->n_steps;
    if (!pairs->is_rounded)
        call->progress.objective = pairs->objective;
    call->progress.violation = pairs->scale > 0 ? violation / pairs->scale : violation;
}

static kc_status run_pair_steps(kc_call *call, kc_pairs *pairs, double tol, int64_t last,
                                kc_stop *stop)
{
    const kc_pairs_tuning *tuning = &pairs->tuning->pairs;
    const bool has_reserve = pairs->reserve != NULL && kc_call_is_limited(call);
    int64_t poll_every = (int64_t)(tuning->poll_entries / pairs->n) + 1;

    if (has_reserve && poll_every > tuning->reserve_steps)
        poll_every = tuning->reserve_steps;
    /* A run may be shorter than that: then the next one goes on counting. */
    if (pairs->next_poll <= pairs->n_steps)
        pairs->next_poll = pairs->n_steps + poll_every;
    for (;;) {
        double violation;
        bool moved = false;

        if (pairs->n_steps >= last) {
            *stop = KC_STOP_MAX_ITER;
            return KC_OK;
        }
        KC_TRY(take_step(pairs, tol, &violation, &moved));
        if (!moved) {
            *stop = violation < tol ? KC_STOP_CONVERGED : KC_STOP_STALLED;
            return KC_OK;
        }
        if (pairs->n_steps >= pairs->next_poll) {
            pairs->next_poll += poll_every;
            tell(call, pairs, violation);
            if (has_reserve)
                pairs->reserve(pairs->reserve_data);
            if (kc_stop_of(kc_call_poll(call), stop))
                return KC_OK;
        }
    }
}

kc_status kc_pairs_run(kc_call *call, kc_pairs *pairs, double tol, int64_t max_steps, kc_stop *stop)
{
    int64_t last = max_steps < INT64_MAX - pairs->n_steps ? pairs->n_steps + max_steps : INT64_MAX;
    kc_status status = run_pair_steps(call, pairs, tol, last, stop);

    if (kc_stop_of(status, stop))
        status = KC_OK;
    if (*stop == KC_STOP_MAX_ITER && status == KC_OK) {
        int32_t g;
        scan_group(pairs, 0);
        if (kc_pairs_violation(pairs, &g) < tol)
            *stop = KC_STOP_CONVERGED;
    }
    return status;
}
