/* Passes over all points.  See kc_violator_scan.h. */
#include "solver/kc_violator_scan.h"

#include <math.h>

static_assert(KC_SCAN_MAX == KC_SCAN_SIDES * KC_SCAN_TAKEN, "room for all that are taken");

/* What the team is told of a pass: the moves, and where to put the worst violators. */
typedef union order {
    struct {
        const kc_move *moves;
        uint32_t n_moves;
        uint32_t turn;
    };
    char words[KC_SPIN_ORDER_BYTES];
} order;
static_assert(sizeof(order) == KC_SPIN_ORDER_BYTES, "an order has room for it");

void kc_scan_open(kc_state *state, kc_dtype rows, kc_scan *out)
{
    *out = (kc_scan){.state = state,
                     .n = state->dual.n_points,
                     .n_layers = state->dual.n_layers,
                     .value_bytes = kc_dtype_bytes(rows),
                     .sweep = kc_smo_sweep(rows),
                     .survey = kc_smo_ops_chosen()->survey};
}

/* ---- A pass, part by part ------------------------------------------------------------------ */

/* Positions begin .. end - 1, padding among them. */
typedef struct range {
    size_t begin, end;
} range;

static range part_range(const kc_scan *s, int32_t part)
{
    const size_t end = s->lead_points + (size_t)part * s->part_points;

    return (range){part > 0 ? end - s->part_points : 0, end};
}

/* Up and low of the variables that moved. */
static void note_moves(const kc_scan *s, const order *o, range r)
{
    for (size_t k = 0; k < o->n_moves; k++) {
        const kc_move *m = &o->moves[k];
        const size_t p = (size_t)m->at;
        for (int32_t g = 0; g < s->n_layers && p >= r.begin && p < r.end; g++) {
            s->state->up[g][p] = m->up[g];
            s->state->low[g][p] = m->low[g];
        }
    }
}

/* Rows of the matrix into the gradient. */
static void sweep_range(const kc_scan *s, const order *o, range r)
{
    const void *rows[KC_SCAN_MAX];
    double delta[KC_SCAN_MAX];

    for (size_t k = 0; k < o->n_moves; k++) {
        rows[k] = (const char *)o->moves[k].row + r.begin * s->value_bytes;
        delta[k] = o->moves[k].delta;
    }
    double *grad = s->state->grad + r.begin;
    if (o->n_moves > 0)
        s->sweep(grad, grad, rows, delta, o->n_moves, kc_min(r.end, s->n) - r.begin);
}

static void run_part(void *data, const void *words, int32_t part)
{
    kc_scan *s = data;
    const order *o = words;
    const range r = part_range(s, part);

    note_moves(s, o, r);
    sweep_range(s, o, r);
    for (int32_t g = 0; g < s->n_layers; g++)
        s->survey(s->state->grad, s->state->up[g], s->state->low[g], r.begin, r.end,
                  &s->part_found[o->turn][part][g]);
}

void kc_scan_hire(kc_scan *s, bool is_alone)
{
    const kc_greedy_tuning *tuning = &s->state->tuning->greedy;
    const size_t most = is_alone ? 1 : kc_min(s->n / tuning->part_points, KC_SPIN_MAX_PARTS);

    kc_spin_team_open(&s->team, s->state->call, (int32_t)kc_max(most, 1), run_part, s);
    const size_t n_parts = (size_t)s->team.n_parts;
    const size_t others = kc_max(n_parts - 1, 1);
    const size_t thinking =
        kc_min(kc_min(tuning->think_points, s->n * 2 / tuning->think_divisor), s->n / others);
    s->part_points = n_parts > 1 ? (s->n + thinking) / n_parts / KC_SMO_PAD * KC_SMO_PAD : 0;
    s->lead_points = kc_round_up(s->n, KC_SMO_PAD) - (n_parts - 1) * s->part_points;
    s->n_begun = s->n_ended = 0;
}

void kc_scan_begin(kc_scan *s, const kc_move *moves, size_t n_moves)
{
    const order o = {
        .moves = moves, .n_moves = (uint32_t)n_moves, .turn = s->n_begun++ % KC_SPIN_ROUNDS};

    kc_spin_team_begin(&s->team, &o);
}

/* The worse of each way; of equal ones that of `all`, which has the lower positions. */
static void add_part(kc_survey *all, const kc_survey *part)
{
    for (size_t way = 0; way < KC_SMO_WAYS; way++) {
        if (part->max_up[way] > all->max_up[way]) {
            all->max_up[way] = part->max_up[way];
            all->max_up_at[way] = part->max_up_at[way];
        }
        if (part->min_low[way] < all->min_low[way]) {
            all->min_low[way] = part->min_low[way];
            all->min_low_at[way] = part->min_low_at[way];
        }
    }
}

void kc_scan_end(kc_scan *s)
{
    kc_survey(*parts)[2] = s->part_found[s->n_ended++ % KC_SPIN_ROUNDS];

    kc_spin_team_end(&s->team);
    for (int32_t g = 0; g < s->n_layers; g++) {
        s->found[g] = parts[0][g];
        for (int32_t part = 1; part < s->team.n_parts; part++)
            add_part(&s->found[g], &parts[part][g]);
    }
}

/* ---- The worst violators
 * -------------------------------------------------------------------------- */

static double group_violation(const kc_survey *found)
{
    double max_up = -HUGE_VAL;
    double min_low = HUGE_VAL;

    for (size_t way = 0; way < KC_SMO_WAYS; way++) {
        max_up = kc_higher(found->max_up[way], max_up);
        min_low = kc_lower(found->min_low[way], min_low);
    }
    return max_up - min_low;
}

double kc_scan_violation(const kc_scan *s)
{
    double largest = -HUGE_VAL;

    for (int32_t g = 0; g < s->n_layers; g++) {
        double violation = group_violation(&s->found[g]);
        largest = violation > largest || isnan(violation) ? violation : largest;
    }
    return largest;
}

static bool is_moving(const kc_move *pending, size_t n_pending, int32_t at)
{
    bool is_any = false;

    for (size_t k = 0; k < n_pending; k++)
        is_any |= pending[k].at == at;
    return is_any;
}

/* The worst of a side, worst first; of equal ones, that of the lower way.  Returns how many. */
static size_t choose_side(const kc_survey *found, int32_t side, const kc_move *pending,
                          size_t n_pending, kc_violator *out)
{
    const bool is_up = side % 2 == 0;
    const double *values = is_up ? found->max_up : found->min_low;
    const double *at = is_up ? found->max_up_at : found->min_low_at;
    const double sign = is_up ? 1 : -1;
    size_t n = 0;

    for (size_t way = 0; way < KC_SMO_WAYS; way++) {
        const kc_violator v = {values[way], (int32_t)at[way], side};
        if (!isfinite(v.value) || is_moving(pending, n_pending, v.at) ||
            (n == KC_SCAN_TAKEN && !(sign * v.value > sign * out[n - 1].value)))
            continue;
        size_t place = n < KC_SCAN_TAKEN ? n++ : n - 1;
        for (; place > 0 && sign * v.value > sign * out[place - 1].value; place--)
            out[place] = out[place - 1];
        out[place] = v;
    }
    return n;
}

/* Adds those that are not there yet. */
static size_t join(kc_violator *all, size_t n_all, const kc_violator *more, size_t n_more)
{
    size_t n = n_all;

    for (size_t i = 0; i < n_more; i++) {
        bool is_there = false;
        for (size_t k = 0; k < n_all; k++)
            is_there |= all[k].at == more[i].at;
        all[n] = more[i];
        n += !is_there;
    }
    return n;
}

size_t kc_scan_violators(const kc_scan *s, const kc_move *pending, size_t n_pending,
                         kc_violator *out)
{
    kc_violator side_worst[KC_SCAN_TAKEN];
    size_t n = 0;

    for (int32_t side = 0; side < 2 * s->n_layers; side++) {
        const kc_survey *found = &s->found[side / 2];
        if (group_violation(found) > 0)
            n = join(out, n, side_worst, choose_side(found, side, pending, n_pending, side_worst));
    }
    return n;
}
