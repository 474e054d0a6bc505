/* Scaled problems: their tolerance, and their end where there is no margin.  See kc_scale.h. */
#include "solver/kc_scale.h"

#include <float.h>
#include <math.h>

/* ---- The scale ----------------------------------------------------------------------------- */

static void read_scale(kc_state *s)
{
    double mu[2];

    kc_dual_multipliers(&s->dual, s->beta, s->grad, mu);
    s->scale = kc_dual_scale(&s->dual, s->beta, s->grad, mu);
    s->tol = kc_higher(s->dual.tol * s->scale, DBL_MIN); /* NaN: the second */
}

bool kc_scale_is_solved(kc_state *s, double violation)
{
    if (s->dual.is_scaled) {
        read_scale(s);
        if (s->plain_steps < 0 && violation < s->dual.tol * s->largest_diag)
            s->plain_steps = s->n_steps;
    }
    return violation < s->tol;
}

double kc_scale_goal(const kc_state *s, double violation)
{
    return s->dual.is_scaled ? kc_higher(s->tuning->scale.goal_share * violation, s->tol) : s->tol;
}

/* ---- No margin ----------------------------------------------------------------------------- */

/* What errors of kernel values make of |w|^2 = b'K b: they go either way. */
static double find_noise(const kc_state *s)
{
    const double ulp = kc_store_dtype(s->store) == KC_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
    double total = 0;

    for (size_t v = 0; v < (size_t)s->dual.n_layers * s->dual.n_points; v++)
        total += s->beta[v] * s->beta[v];
    return s->tuning->scale.noise_ulps * ulp * total * s->largest_diag;
}

/* The least |w|^2 that the solution may have. */
static double find_least_square(const kc_state *s)
{
    double mu[2];

    kc_dual_multipliers(&s->dual, s->beta, s->grad, mu);
    return kc_dual_norm_squared(&s->dual, s->beta, s->grad) -
           2 * kc_dual_gap(&s->dual, s->beta, s->grad, mu);
}

bool kc_scale_has_margin(kc_state *s)
{
    if (!s->has_margin && s->dual.n_whole == 0)
        s->has_margin = find_least_square(s) > find_noise(s);
    return s->has_margin;
}

static bool do_hulls_meet(const kc_state *s)
{
    const double square = kc_dual_norm_squared(&s->dual, s->beta, s->grad);
    const double distance = 2 * sqrt(fmax(square, 0)) / (s->dual.sum[0] - s->dual.sum[1]);

    return distance < s->tuning->finish.hulls_meet_share * sqrt(s->largest_diag) ||
           square < find_noise(s);
}

/* So many steps are worth it without a margin. */
static bool has_taken_long(const kc_state *s)
{
    const kc_scale_tuning *tuning = &s->tuning->scale;

    return s->dual.max_iter == 0 && s->n_steps >= tuning->steps_min &&
           s->n_steps >= tuning->steps_per_point * (int64_t)s->dual.n_points &&
           s->n_steps >= tuning->steps_per_plain * s->plain_steps;
}

bool kc_scale_has_no_end(kc_state *s)
{
    if (!s->dual.is_scaled || s->has_margin || s->plain_steps < 0)
        return false;
    if (do_hulls_meet(s))
        s->stop = KC_STOP_UNBOUNDED;
    else if (has_taken_long(s) && !kc_scale_has_margin(s))
        s->stop = KC_STOP_NO_MARGIN;
    else
        return false;
    return true;
}
