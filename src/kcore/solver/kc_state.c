/* The state of a problem, and the ends that are no optimum.  See kc_state.h. */
#include "solver/kc_scale.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Rows of a matrix that lie a page apart would share the ways of a cache. */
#define PAGE_BYTES 4096

/* ---- Life ---------------------------------------------------------------------------------- */

static kc_status take_state_arrays(kc_state *s)
{
    const size_t n = s->dual.n_points, n_padded = kc_round_up(n, KC_SMO_PAD);
    const size_t n_layers = (size_t)s->dual.n_layers;
    double *arrays = kc_call_take(s->call, n_padded * (2 + 2 * n_layers), sizeof *arrays);

    if (arrays == NULL)
        return kc_fail_nomem(s->call->err);
    s->grad = arrays;
    s->next_grad = arrays + n_padded;
    for (size_t g = 0; g < n_layers; g++) {
        s->up[g] = arrays + n_padded * (2 + 2 * g);
        s->low[g] = arrays + n_padded * (3 + 2 * g);
    }
    for (size_t p = n; p < n_padded; p++) {
        s->grad[p] = s->next_grad[p] = 0;
        for (size_t g = 0; g < n_layers; g++) {
            s->up[g][p] = -HUGE_VAL;
            s->low[g][p] = HUGE_VAL;
        }
    }
    return KC_OK;
}

static double find_largest_diag(const kc_dual *dual, const kc_store *store)
{
    const void *diag = kc_store_diag(store);
    double largest = 0;

    for (size_t p = 0; p < dual->n_points; p++)
        largest = kc_higher(
            fabs(kc_number_at(diag, kc_cols_point(&dual->cols, p), kc_store_dtype(store))),
            largest);
    return largest;
}

kc_status kc_state_open(kc_call *call, kc_store *store, const kc_dual *dual,
                        const kc_tuning *tuning, double *beta, kc_state *out)
{
    *out = (kc_state){.call = call, .store = store, .dual = *dual, .tuning = tuning, .beta = beta};
    out->scale = 1;
    out->tol = dual->is_scaled ? HUGE_VAL : dual->tol; /* until the scale is read */
    out->plain_steps = -1;
    out->largest_diag = find_largest_diag(dual, store);
    for (size_t v = 0; v < (size_t)dual->n_layers * dual->n_points; v++) {
        out->is_hard |= isinf(dual->lo[v]) || isinf(dual->hi[v]);
        out->is_tube |= isinf(dual->lo[v]) && isinf(dual->hi[v]);
    }
    return take_state_arrays(out);
}

void kc_state_close(kc_state *s)
{
    if (s->matrix != NULL) {
        kc_store_free(s->call->ctx, s->matrix);
        s->store = s->source;
        s->dual.cols = s->source_cols;
        s->matrix = NULL;
    }
    s->gram = NULL;
}

void kc_state_refresh(kc_state *s)
{
    for (size_t p = 0; p < s->dual.n_points; p++)
        kc_state_refresh_at(s, p);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Sums over rows are to be the same whether there is a whole matrix or not: those through w stay
 * with the store they come from. */
static kc_status use_matrix(kc_state *s)
{
    const size_t n = s->dual.n_points;

    if (kc_store_is_linear(s->store))
        return KC_OK;
    KC_TRY(kc_store_make_given(s->call, kc_store_dtype(s->store), s->gram, n, s->ld, &s->matrix));
    s->source = s->store;
    s->source_cols = s->dual.cols;
    s->store = s->matrix;
    s->dual.cols = (kc_cols){.span = {{0, n}}, .n_spans = 1};
    return KC_OK;
}

kc_status kc_state_take_matrix(kc_state *s)
{
    const kc_cols *cols = &s->dual.cols;
    const size_t n = s->dual.n_points, bytes = kc_dtype_bytes(kc_store_dtype(s->store));
    const char *given;
    void *gram;

    if (s->gram != NULL)
        return KC_OK;
    given = kc_store_matrix(s->store, &s->ld);
    if (given != NULL && cols->n_spans == 1) {
        s->gram = given + cols->span[0].begin * (s->ld + 1) * bytes;
        return KC_OK;
    }
    s->ld = kc_round_up(n, KC_ALIGN / bytes);
    if (s->ld * bytes % PAGE_BYTES == 0)
        s->ld += KC_ALIGN / bytes;
    if (s->ld * bytes > kc_store_whole_bytes(s->store) / n)
        return KC_OK;
    gram = kc_call_take(s->call, n, s->ld * bytes);
    if (gram == NULL)
        return kc_fail_nomem(s->call->err);
    KC_TRY(kc_store_gram(s->call, s->store, cols, gram, s->ld));
    s->gram = gram;
    return use_matrix(s);
}

double kc_state_length_at(const kc_state *s, size_t p)
{
    const size_t point = kc_cols_point(&s->dual.cols, p);

    return sqrt(fabs(kc_number_at(kc_store_diag(s->store), point, kc_store_dtype(s->store))));
}

kc_status kc_state_freshen(kc_state *s)
{
    KC_TRY(kc_dual_gradient(s->call, s->store, &s->dual, s->beta, s->next_grad));
    memcpy(s->grad, s->next_grad, s->dual.n_points * sizeof *s->grad);
    s->fresh_size = s->fresh_length = 0;
    for (size_t p = 0; p < s->dual.n_points; p++) {
        const double size = fabs(kc_dual_coefficient(&s->dual, s->beta, p));

        if (size == 0)
            continue;
        s->fresh_size += size;
        s->fresh_length += size * kc_state_length_at(s, p);
    }
    return KC_OK;
}

/* ---- The caller ---------------------------------------------------------------------------- */

size_t kc_state_count_support(const kc_state *s)
{
    size_t count = 0;

    for (size_t p = 0; p < s->dual.n_points; p++)
        count += kc_dual_coefficient(&s->dual, s->beta, p) != 0;
    return count;
}

void kc_state_reserve(const kc_state *s, size_t n_support)
{
    const size_t n = s->dual.n_whole > 0 ? s->dual.n_whole : s->dual.n_points;

    if (kc_call_is_limited(s->call))
        kc_call_reserve(s->call,
                        s->tuning->finish.reserve_factor *
                            kc_store_apply_seconds(s->matrix != NULL ? s->source : s->store,
                                                   s->dual.n_outside + n_support, n));
}

void kc_state_tell(const kc_state *s, double objective, double violation)
{
    s->call->progress.n_iter = s->n_steps;
    s->call->progress.objective = objective;
    s->call->progress.violation = violation / s->scale;
}

/* ---- Ends that are no optimum -------------------------------------------------------------- */

kc_stall kc_stall_start(void)
{
    return (kc_stall){.objective = HUGE_VAL, .violation = HUGE_VAL};
}

/* b'K b of one group. */
static double squared_norm(const kc_state *s)
{
    double total = 0;

    for (size_t p = 0; p < s->dual.n_points; p++)
        total += s->beta[p] * (s->dual.t[p] - s->grad[p]);
    return total;
}

/* The sum of |beta| of all groups. */
static double weight(const kc_state *s)
{
    double total = 0;

    for (size_t v = 0; v < (size_t)s->dual.n_layers * s->dual.n_points; v++)
        total += fabs(s->beta[v]);
    return total;
}

/* t'b - sum of phi of one layer: what the objective falls by along beta, to first order. */
static double slope_along(const kc_state *s)
{
    double total = 0;

    for (size_t p = 0; p < s->dual.n_points; p++)
        total += s->beta[p] * s->dual.t[p] - s->dual.epsilon * fabs(s->beta[p]);
    return total;
}

static double half_range(const kc_dual *dual)
{
    double low = HUGE_VAL, high = -HUGE_VAL;

    for (size_t p = 0; p < dual->n_points; p++) {
        low = kc_lower(dual->t[p], low);
        high = kc_higher(dual->t[p], high);
    }
    return (high - low) / 2;
}

/* |w| / sum |beta| is half the distance of the points of the hulls that beta stands for. */
static bool do_hulls_meet(const kc_state *s, double size)
{
    const double norm = sqrt(fmax(squared_norm(s), 0));

    return 2 * norm < s->tuning->finish.hulls_meet_share * sqrt(s->largest_diag) * size;
}

/* Every function in a hard tube has a norm of at least slope / |w|, by weak duality.  |w|^2 is
 * known up to its rounding. */
static bool is_tube_empty(const kc_state *s, double size)
{
    const kc_finish_tuning *tuning = &s->tuning->finish;
    const double noise = tuning->noise_ulps * DBL_EPSILON * size * size * s->largest_diag;
    const double norm = sqrt(fmax(squared_norm(s), 0) + noise);

    return half_range(&s->dual) * norm <
           tuning->tube_empty_share * sqrt(s->largest_diag) * slope_along(s);
}

static bool is_unbounded(const kc_state *s, double size)
{
    if (!s->is_hard || s->dual.is_box_only || !(size > 0)) /* there are no hulls without a sum */
        return false;
    return s->is_tube ? is_tube_empty(s, size) : do_hulls_meet(s, size);
}

bool kc_stall_look(kc_stall *stall, kc_state *s, double violation)
{
    const kc_finish_tuning *tuning = &s->tuning->finish;
    const double objective = kc_dual_objective(&s->dual, s->beta, s->grad);
    const double size = weight(s);

    if (kc_scale_has_no_end(s))
        return true;
    if (is_unbounded(s, size)) {
        s->stop = KC_STOP_UNBOUNDED;
        return true;
    }
    /* Below the rounding of the gradient, violations come and go for ever. */
    bool is_noise = violation < tuning->noise_ulps * DBL_EPSILON * size * s->largest_diag;
    bool gains = stall->objective - objective > tuning->gain_share * fabs(objective);
    bool nears = violation < tuning->progress_share * stall->violation;
    stall->n_gainless = !is_noise && (gains || nears) ? 0 : stall->n_gainless + 1;
    stall->objective = fmin(stall->objective, objective);
    stall->violation = fmin(stall->violation, violation);
    if (stall->n_gainless < tuning->gainless_looks_max)
        return false;
    s->stop = KC_STOP_STALLED;
    return true;
}

bool kc_state_scale_along_ray(kc_state *s)
{
    const kc_dual *dual = &s->dual;
    double most = HUGE_VAL;

    if (!s->is_hard || dual->n_layers != 1 || dual->sum[0] != 0)
        return false;
    for (size_t p = 0; p < dual->n_points; p++)
        if (s->beta[p] != 0)
            most = fmin(most, (s->beta[p] > 0 ? dual->hi[p] : dual->lo[p]) / s->beta[p]);
    double factor = fmin(slope_along(s) / fmax(squared_norm(s), DBL_MIN), most);
    if (!(factor > s->tuning->finish.ray_factor_min) || !isfinite(factor))
        return false;
    for (size_t p = 0; p < dual->n_points; p++) {
        s->beta[p] = fmin(fmax(s->beta[p] * factor, dual->lo[p]), dual->hi[p]);
        s->grad[p] = dual->t[p] - factor * (dual->t[p] - s->grad[p]);
    }
    kc_state_refresh(s);
    return true;
}
