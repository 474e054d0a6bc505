/* Active points.  See kc_active_set.h. */
#include "solver/kc_active_set.h"

#include <math.h>

/* Up-values below `low` and low-values above `high` are shrinkable. */
typedef struct window {
    double low, high;
} window;

static window find_window(const kc_state *s, int32_t g, double *violation)
{
    const kc_dual *dual = &s->dual;
    const double *lo = dual->lo + (size_t)g * dual->n_points;
    const double *hi = dual->hi + (size_t)g * dual->n_points;
    const double *beta = s->beta + (size_t)g * dual->n_points;
    double max_up = -HUGE_VAL, min_low = HUGE_VAL;

    for (size_t p = 0; p < dual->n_points; p++) {
        max_up = kc_higher(s->grad[p] + kc_rise(dual->epsilon, beta[p], hi[p]), max_up);
        min_low = kc_lower(s->grad[p] + kc_fall(dual->epsilon, beta[p], lo[p]), min_low);
    }
    *violation = max_up - min_low;
    double slack =
        isfinite(*violation) ? s->tuning->shrink.slack_share * fmax(*violation, 0) : HUGE_VAL;
    return (window){min_low - slack, max_up + slack};
}

kc_active_set kc_active_set_find(const kc_state *s, int32_t *positions)
{
    const kc_dual *dual = &s->dual;
    const size_t n = dual->n_points;
    kc_active_set active = {0, -HUGE_VAL};
    window windows[2];

    for (int32_t g = 0; g < dual->n_layers; g++) {
        double violation;
        windows[g] = find_window(s, g, &violation);
        active.violation = fmax(active.violation, violation);
    }
    for (size_t p = 0; p < n; p++) {
        bool is_shrinkable = true;
        for (int32_t g = 0; g < dual->n_layers; g++) {
            const size_t v = (size_t)g * n + p;
            is_shrinkable &=
                s->grad[p] + kc_rise(dual->epsilon, s->beta[v], dual->hi[v]) < windows[g].low &&
                s->grad[p] + kc_fall(dual->epsilon, s->beta[v], dual->lo[v]) > windows[g].high;
        }
        if (positions != NULL)
            positions[active.n] = (int32_t)p; /* overwritten if it is shrinkable */
        active.n += !is_shrinkable;
    }
    return active;
}

bool kc_active_set_is_worth_shrinking(const kc_shrink_tuning *tuning, const kc_active_set *active,
                                      size_t n_points)
{
    return n_points >= tuning->points_min && active->n > 0 &&
           (double)active->n <= tuning->active_share * (double)n_points;
}
