/* Passes over all points.  See kc_scout.h. */
#include "solver/kc_scout.h"

#include <math.h>

/* Lists of the worst go down by this share of the violation, or less or more as they turn out: some
 * times as many are listed as are taken. */
#define FIRST_REACH 0.1
#define LEAST_REACH 1e-3
#define MOST_REACH 0.5
#define REACH_LESS 0.8
#define REACH_MORE 1.5
#define FEW_LISTED ((size_t)2 * KC_SCOUT_PER_SIDE)
#define MANY_LISTED ((size_t)6 * KC_SCOUT_PER_SIDE)

/* Points of a part at the least: below, a round of the crew takes as long as it saves; and how many
 * more the caller's part has: those it goes over while orders and reports travel. */
#define PART_POINTS ((size_t)2048)
#define LEAD_POINTS ((size_t)1024)

static_assert(KC_SCOUT_MOST == KC_SCOUT_SIDES * KC_SCOUT_PER_SIDE, "room for all that are found");

/* What the crew is told of a pass: how many have moved, and from where on values are listed. */
typedef union order {
    struct {
        size_t n_moves;
        double high[2], deep[2];
    };
    char words[KC_CREW_BYTES];
} order;
static_assert(sizeof(order) == KC_CREW_BYTES, "an order has room for it");

/* What it has found in a part, whose lists begin where it does. */
typedef struct found {
    double max_up[2], min_low[2];
    uint32_t at[2];
    uint32_t n_listed[KC_SCOUT_SIDES];
} found;
static_assert(sizeof(found) <= KC_CREW_BYTES, "a report has room for it");

kc_status kc_scout_create(kc_call *call, size_t n, int32_t n_groups, kc_dtype rows, kc_scout *out)
{
    const size_t n_padded = kc_round_up(n, KC_SMO_PAD);
    const size_t n_sides = 2 * (size_t)n_groups;
    double *arrays = kc_call_take(call, n_padded * (1 + 2 * n_sides), sizeof *arrays);
    int32_t *listed = kc_call_take(call, n_padded * n_sides, sizeof *listed);

    *out = (kc_scout){.n = n,
                      .n_groups = n_groups,
                      .value_bytes = kc_dtype_bytes(rows),
                      .sweep = kc_smo_sweep(rows),
                      .survey = kc_smo_ops_chosen()->survey,
                      .grad = arrays};
    if (arrays == NULL || listed == NULL)
        return kc_fail_nomem(call->err);
    for (size_t side = 0; side < n_sides; side++) {
        double *values = arrays + (1 + side) * n_padded;
        out->listed_at[side] = listed + side * n_padded;
        out->listed_value[side] = values + n_sides * n_padded;
        (side % 2 == 0 ? out->up : out->low)[side / 2] = values;
        out->reach[side] = FIRST_REACH;
        for (size_t p = n; p < n_padded; p++) {
            out->grad[p] = 0;
            values[p] = side % 2 == 0 ? -HUGE_VAL : HUGE_VAL;
        }
    }
    return KC_OK;
}

/* ---- A pass, part by part ------------------------------------------------------------------ */

/* Positions begin .. end - 1, padding among them. */
typedef struct range {
    size_t begin, end;
} range;

static range part_range(const kc_scout *s, int32_t part)
{
    size_t end = s->lead_points + (size_t)part * s->part_points;

    return (range){part > 0 ? end - s->part_points : 0, end};
}

/* Rows of the matrix into the gradient; up and low of who has moved. */
static void sweep_range(const kc_scout *s, size_t n_moves, range r)
{
    const size_t bytes = s->value_bytes;
    const void *rows[KC_SCOUT_MOST];
    double delta[KC_SCOUT_MOST];

    for (size_t k = 0; k < n_moves; k++) {
        const kc_move *m = &s->moves[k];
        const size_t p = (size_t)m->at;
        rows[k] = (const char *)m->row + r.begin * bytes;
        delta[k] = m->delta;
        for (int32_t g = 0; g < s->n_groups && p >= r.begin && p < r.end; g++) {
            s->up[g][p] = m->up[g];
            s->low[g][p] = m->low[g];
        }
    }
    if (n_moves > 0)
        s->sweep(s->grad + r.begin, s->grad + r.begin, rows, delta, n_moves,
                 kc_min(r.end, s->n) - r.begin);
}

/* Puts a candidate where it belongs, if anywhere: after those that are as bad. */
static void put_worst(kc_worst *w, double value, int32_t at)
{
    if (w->n == KC_SCOUT_PER_SIDE && !(value > w->value[w->n - 1]))
        return;
    size_t place = w->n < KC_SCOUT_PER_SIDE ? w->n++ : w->n - 1;
    for (; place > 0 && value > w->value[place - 1]; place--) {
        w->value[place] = w->value[place - 1];
        w->at[place] = w->at[place - 1];
    }
    w->value[place] = value;
    w->at[place] = at;
}

static void choose_worst(const kc_worst_list *list, double sign, kc_worst *out)
{
    out->n = 0;
    for (size_t k = 0; k < list->n; k++)
        put_worst(out, sign * list->value[k], list->at[k]);
}

static void survey_range(kc_scout *s, const order *o, int32_t part, int32_t g, found *out)
{
    const range r = part_range(s, part);
    kc_worst_list rising = {s->listed_at[2 * g] + r.begin, s->listed_value[2 * g] + r.begin, 0};
    kc_worst_list falling = {s->listed_at[2 * g + 1] + r.begin,
                             s->listed_value[2 * g + 1] + r.begin, 0};
    kc_peak peak = s->survey(s->grad + r.begin, s->up[g] + r.begin, s->low[g] + r.begin,
                             r.end - r.begin, o->high[g], o->deep[g], r.begin, &rising, &falling);

    out->max_up[g] = peak.max_up;
    out->min_low[g] = peak.min_low;
    out->at[g] = (uint32_t)(peak.at + r.begin);
    out->n_listed[2 * g] = (uint32_t)rising.n;
    out->n_listed[2 * g + 1] = (uint32_t)falling.n;
    choose_worst(&rising, 1, &s->worst[part].of[2 * g]);
    choose_worst(&falling, -1, &s->worst[part].of[2 * g + 1]);
}

static void run_part(void *data, const void *words, int32_t part, void *report)
{
    kc_scout *s = data;
    const order *o = words;

    sweep_range(s, o->n_moves, part_range(s, part));
    for (int32_t g = 0; g < s->n_groups; g++)
        survey_range(s, o, part, g, report);
}

static const found *found_by(const kc_scout *s, int32_t part)
{
    return kc_crew_report(&s->crew, part);
}

/* The first of all parts with the highest max_up, and the least min_low. */
static void note_peaks(kc_scout *s)
{
    for (int32_t g = 0; g < s->n_groups; g++) {
        kc_peak peak = {-HUGE_VAL, 0, HUGE_VAL};
        for (int32_t part = 0; part < s->crew.n_parts; part++) {
            const found *f = found_by(s, part);
            peak.min_low = kc_lower(f->min_low[g], peak.min_low);
            if (f->max_up[g] > peak.max_up) {
                peak.max_up = f->max_up[g];
                peak.at = f->at[g];
            }
        }
        s->peak[g] = peak;
    }
}

/* From where on the next pass lists, judged by how things stand before it. */
static order aim(const kc_scout *s, size_t n_moves)
{
    order o = {.n_moves = n_moves};

    for (int32_t g = 0; g < s->n_groups; g++) {
        const kc_peak *peak = &s->peak[g];
        double violation = peak->max_up - peak->min_low;
        bool is_any = isfinite(violation) && violation > 0;
        o.high[g] = is_any ? peak->max_up - s->reach[2 * g] * violation : HUGE_VAL;
        o.deep[g] = is_any ? peak->min_low + s->reach[2 * g + 1] * violation : -HUGE_VAL;
    }
    return o;
}

void kc_scout_hire(kc_scout *s, kc_call *call, bool is_alone)
{
    const size_t most = is_alone ? 1 : kc_min(s->n / PART_POINTS, KC_CREW_MOST);

    kc_crew_hire(&s->crew, call, (int32_t)kc_max(most, 1), run_part, s);
    s->part_points = 0;
    if (s->crew.n_parts > 1)
        s->part_points = (s->n - LEAD_POINTS) / (size_t)s->crew.n_parts / KC_SMO_PAD * KC_SMO_PAD;
    s->lead_points = kc_round_up(s->n, KC_SMO_PAD) - (size_t)(s->crew.n_parts - 1) * s->part_points;
}

void kc_scout_run(kc_scout *s, size_t n_moves)
{
    const order o = aim(s, n_moves);

    kc_crew_run(&s->crew, &o);
    note_peaks(s);
}

/* ---- The worst ----------------------------------------------------------------------------- */

static size_t add_member(size_t *members, size_t n, size_t p)
{
    for (size_t k = 0; k < n; k++)
        if (members[k] == p)
            return n;
    members[n] = p;
    return n + 1;
}

/* The worst of a side of all parts, of equal ones the first; sets how far down the next list goes.
 */
static kc_worst find_worst(kc_scout *s, int32_t side)
{
    kc_worst all = s->worst[0].of[side];
    size_t n_listed = found_by(s, 0)->n_listed[side];

    for (int32_t part = 1; part < s->crew.n_parts; part++) {
        const kc_worst *w = &s->worst[part].of[side];
        for (size_t k = 0; k < w->n; k++)
            put_worst(&all, w->value[k], w->at[k]);
        n_listed += found_by(s, part)->n_listed[side];
    }
    if (n_listed > MANY_LISTED)
        s->reach[side] = kc_higher(REACH_LESS * s->reach[side], LEAST_REACH);
    else if (n_listed < FEW_LISTED)
        s->reach[side] = kc_lower(REACH_MORE * s->reach[side], MOST_REACH);
    return all;
}

static size_t find_lowest(const kc_scout *s, int32_t g)
{
    size_t p = 0;

    while (s->grad[p] + s->low[g][p] != s->peak[g].min_low)
        p++;
    return p;
}

size_t kc_scout_members(kc_scout *s, size_t *members)
{
    size_t n = 0;

    for (int32_t side = 0; side < 2 * s->n_groups; side++) {
        const int32_t g = side / 2;
        if (!(s->peak[g].max_up > s->peak[g].min_low))
            continue;
        kc_worst worst = find_worst(s, side);
        for (size_t k = 0; k < worst.n; k++)
            n = add_member(members, n, (size_t)worst.at[k]);
        if (worst.n == 0) /* the last pass aimed too high */
            n = add_member(members, n, side % 2 == 0 ? s->peak[g].at : find_lowest(s, g));
    }
    return n;
}
