/* Newton steps.  See kc_newton.h. */
#include "solver/kc_newton.h"

#include <math.h>
#include <string.h>

/* Rows by which the others are reduced at a time. */
#define PANEL 8

/* A variable that may move, on one side of the kink of epsilon |beta|. */
typedef struct variable {
    double start, beta;
    double least, most;
    double shift; /* what epsilon adds to the gradient there */
    int32_t at, group;
    bool is_free;
} variable;

typedef struct newton {
    kc_call *call;
    const kc_pairs *pairs;
    variable *vars;
    size_t n_vars;
    double *grad; /* where they are */

    /* The system of the free variables. */
    int32_t *list;
    size_t n_free;
    double *matrix; /* the upper half; then U of U' D^-1 U, D its diagonal */
    size_t ld;
    double *delta;
    double *ones[2]; /* solutions for the ones of each group */
    const void **rows;
} newton;

/* ---- Variables that take part -------------------------------------------------------------- */

/* 1 if the variable is free or wants to rise, -1 if it wants to fall, else 0. */
static int direction(const kc_pairs *pairs, int32_t g, size_t p, double mu, double slack)
{
    const double grad = kc_number_at(pairs->grad, p, pairs->lanes);

    if (kc_is_free(pairs->epsilon, pairs->beta[g][p], pairs->lo[g][p], pairs->hi[g][p]) ||
        grad + kc_number_at(pairs->up[g], p, pairs->lanes) > mu + slack)
        return 1;
    return grad + kc_number_at(pairs->low[g], p, pairs->lanes) < mu - slack ? -1 : 0;
}

static size_t count_free_members(const kc_pairs *pairs, double tol)
{
    size_t n = 0;

    for (int32_t g = 0; g < pairs->n_layers; g++) {
        size_t n_free;
        const double mu = kc_pairs_mu(pairs, g, &n_free);
        for (size_t p = 0; p < pairs->n; p++)
            n += direction(pairs, g, p, mu, 0.5 * tol) != 0;
    }
    return n;
}

static variable make_variable(const kc_pairs *pairs, int32_t g, size_t p, bool is_rising)
{
    const double beta = pairs->beta[g][p];
    variable v = {.start = beta,
                  .beta = beta,
                  .least = pairs->lo[g][p],
                  .most = pairs->hi[g][p],
                  .at = (int32_t)p,
                  .group = g,
                  .is_free = true};

    if (pairs->epsilon > 0 && (beta > 0 || (beta == 0 && is_rising))) {
        v.shift = -pairs->epsilon;
        v.least = kc_higher(v.least, 0);
    } else if (pairs->epsilon > 0) {
        v.shift = pairs->epsilon;
        v.most = kc_lower(v.most, 0);
    }
    return v;
}

static void list_variables(newton *w, double tol)
{
    const kc_pairs *pairs = w->pairs;

    for (size_t p = 0; p < pairs->n; p++)
        w->grad[p] = kc_number_at(pairs->grad, p, pairs->lanes);
    for (int32_t g = 0; g < pairs->n_layers; g++) {
        size_t n_free;
        const double mu = kc_pairs_mu(pairs, g, &n_free);
        for (size_t p = 0; p < pairs->n; p++) {
            int way = direction(pairs, g, p, mu, 0.5 * tol);
            if (way != 0)
                w->vars[w->n_vars++] = make_variable(pairs, g, p, way > 0);
        }
    }
}

/* ---- The system of the free variables ----------------------------------------------------- */

static const variable *free_one(const newton *w, size_t i)
{
    return &w->vars[w->list[i]];
}

static void load_matrix(newton *w)
{
    const kc_pairs *pairs = w->pairs;
    const kc_newton_tuning *tuning = &pairs->tuning->newton;
    const double ridge = pairs->dtype == KC_F64 ? tuning->ridge_f64 : tuning->ridge_f32;
    double trace = 0;

    w->n_free = 0;
    for (size_t k = 0; k < w->n_vars; k++)
        if (w->vars[k].is_free)
            w->list[w->n_free++] = (int32_t)k;
    for (size_t i = 0; i < w->n_free; i++) {
        const size_t row = (size_t)free_one(w, i)->at * pairs->ld;
        double *to = w->matrix + i * w->ld;
        for (size_t j = i; j < w->n_free; j++)
            to[j] = kc_number_at(pairs->gram, row + (size_t)free_one(w, j)->at, pairs->dtype);
        trace += to[i];
    }
    for (size_t i = 0; i < w->n_free; i++)
        w->matrix[i * (w->ld + 1)] += ridge * trace / (double)w->n_free;
}

/* The rows of a panel, which starts at row k, are reduced by those before them in it, then all rows
 * below by the panel.  False where the matrix is not positive. */
static bool reduce(newton *w, size_t k)
{
    kc_sweep_fn *sweep = kc_smo_sweep(KC_F64);
    const size_t end = kc_min(k + PANEL, w->n_free);
    const void *rows[PANEL];
    double factor[PANEL];

    for (size_t i = k; i < w->n_free; i++) {
        const size_t n_rows = kc_min(i, end) - k;
        double *row = w->matrix + i * w->ld + i;
        for (size_t r = 0; r < n_rows; r++) {
            const double *u = w->matrix + (k + r) * w->ld;
            rows[r] = u + i;
            factor[r] = u[i] / u[k + r];
        }
        if (n_rows > 0)
            sweep(row, row, rows, factor, n_rows, w->n_free - i);
        if (i < end && !(*row > 0))
            return false;
    }
    return true;
}

static kc_status factorise(newton *w, bool *is_positive)
{
    *is_positive = true;
    for (size_t k = 0; k < w->n_free && *is_positive; k += PANEL) {
        *is_positive = reduce(w, k);
        KC_TRY(kc_call_poll(w->call));
    }
    return KC_OK;
}

/* x becomes the solution for the right-hand side x. */
static void substitute(const newton *w, double *x)
{
    const size_t n = w->n_free;

    for (size_t k = 0; k < n; k++) {
        const double *u = w->matrix + k * w->ld;
        const double factor = x[k] / u[k];
        for (size_t j = k + 1; j < n; j++)
            x[j] -= factor * u[j];
    }
    for (size_t k = n; k-- > 0;) {
        const double *u = w->matrix + k * w->ld;
        double sums[PANEL] = {0};
        for (size_t j = k + 1; j < n; j++)
            sums[j % PANEL] += u[j] * x[j];
        for (size_t r = 0; r < PANEL; r++)
            x[k] -= sums[r];
        x[k] /= u[k];
    }
}

/* mu from the sums: those of delta are to undo `off`, by which the sums of beta are off.  False
 * where they are beyond the range of a double, as with kernel values above 1e160. */
static bool find_shares(const newton *w, const double *off, double *mu)
{
    double a[2][2] = {{0, 0}, {0, 0}};
    double b[2] = {off[0], off[1]};

    for (size_t i = 0; i < w->n_free; i++) {
        const int32_t g = free_one(w, i)->group;
        b[g] += w->delta[i];
        for (int32_t h = 0; h < w->pairs->n_layers; h++)
            a[g][h] += w->ones[h][i];
    }
    for (int32_t g = 0; g < 2; g++)
        if (a[g][g] == 0) /* it has no free variable */
            a[g][g] = 1;
    const double det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    if (det == 0 || !isfinite(det))
        return false;
    mu[0] = (b[0] * a[1][1] - a[0][1] * b[1]) / det;
    mu[1] = (a[0][0] * b[1] - a[1][0] * b[0]) / det;
    return true;
}

static bool solve_system(newton *w, const double *off)
{
    double mu[2];

    for (size_t i = 0; i < w->n_free; i++) {
        const variable *v = free_one(w, i);
        w->delta[i] = w->grad[v->at] + v->shift;
        for (int32_t g = 0; g < w->pairs->n_layers; g++)
            w->ones[g][i] = v->group == g;
    }
    substitute(w, w->delta);
    for (int32_t g = 0; g < w->pairs->n_layers; g++)
        substitute(w, w->ones[g]);
    if (!find_shares(w, off, mu))
        return false;
    for (size_t i = 0; i < w->n_free; i++)
        for (int32_t g = 0; g < w->pairs->n_layers; g++)
            w->delta[i] -= mu[g] * w->ones[g][i];
    return true;
}

/* ---- The step ------------------------------------------------------------------------------ */

/* By how much the sums are off. */
static void find_off(const newton *w, double *off)
{
    off[0] = off[1] = 0;
    for (size_t k = 0; k < w->n_vars; k++)
        off[w->vars[k].group] += w->vars[k].beta - w->vars[k].start;
}

static const void *row_of(const newton *w, const variable *v)
{
    const kc_pairs *pairs = w->pairs;

    return (const char *)pairs->gram + (size_t)v->at * pairs->ld * kc_dtype_bytes(pairs->dtype);
}

/* Moves the free ones as far as their bounds, and the gradient; how many were stopped. */
static size_t move(newton *w)
{
    const kc_pairs *pairs = w->pairs;
    size_t n_stopped = 0;

    for (size_t i = 0; i < w->n_free; i++) {
        variable *v = &w->vars[w->list[i]];
        const double from = v->beta;
        v->beta += w->delta[i];
        if (!(v->beta > v->least && v->beta < v->most)) {
            v->beta = v->beta >= v->most ? v->most : v->least;
            v->is_free = false;
            n_stopped++;
        }
        w->delta[i] = v->beta - from;
        w->rows[i] = row_of(w, v);
    }
    kc_smo_sweep(pairs->dtype)(w->grad, w->grad, w->rows, w->delta, w->n_free, pairs->n);
    return n_stopped;
}

/* What rounding has left of the sums goes to the free variable with most room; false where none has
 * enough. */
static bool settle_sums(newton *w)
{
    const kc_pairs *pairs = w->pairs;
    double off[2];

    find_off(w, off);
    for (int32_t g = 0; g < pairs->n_layers; g++) {
        variable *best = NULL;
        double max_room = fabs(off[g]);
        for (size_t k = 0; k < w->n_vars; k++) {
            variable *v = &w->vars[k];
            double room = kc_lower(v->beta - v->least, v->most - v->beta);
            if (v->group == g && v->is_free && room > max_room) {
                max_room = room;
                best = v;
            }
        }
        if (best == NULL && off[g] != 0)
            return false;
        if (best == NULL)
            continue;
        const void *row = row_of(w, best);
        off[g] = -off[g];
        best->beta += off[g];
        kc_smo_sweep(pairs->dtype)(w->grad, w->grad, &row, &off[g], 1, pairs->n);
    }
    return true;
}

/* Solves until no variable is stopped at a bound; false where it is given up. */
static kc_status find_step(newton *w, int *n_rounds, bool *is_found)
{
    const kc_newton_tuning *tuning = &w->pairs->tuning->newton;

    *is_found = false;
    for (*n_rounds = 0; *n_rounds < tuning->rounds_max;) {
        double off[2];
        bool is_positive;
        load_matrix(w);
        if (w->n_free < tuning->free_min)
            return KC_OK;
        ++*n_rounds;
        KC_TRY(factorise(w, &is_positive));
        if (!is_positive)
            return KC_OK;
        find_off(w, off);
        if (!solve_system(w, off))
            return KC_OK;
        const size_t n_stopped = move(w);
        if (n_stopped == 0) {
            *is_found = settle_sums(w);
            return KC_OK;
        }
        if ((double)n_stopped > tuning->stopped_share * (double)w->n_free)
            return KC_OK;
    }
    return KC_OK;
}

/* What the step gains, from the gradients before and after it. */
static double find_newton_gain(const newton *w)
{
    const kc_pairs *pairs = w->pairs;
    double gain = 0;

    for (size_t k = 0; k < w->n_vars; k++) {
        const variable *v = &w->vars[k];
        const double before = kc_number_at(pairs->grad, (size_t)v->at, pairs->lanes);
        gain += 0.5 * (v->beta - v->start) * (before + w->grad[v->at]) -
                pairs->epsilon * (fabs(v->beta) - fabs(v->start));
    }
    return gain;
}

static kc_status take_memory(newton *w, size_t n)
{
    const size_t n_padded = kc_round_up(w->pairs->n, KC_SMO_PAD);

    w->ld = kc_round_up(n, PANEL) + PANEL;
    double *arrays = kc_call_take(w->call, n * (w->ld + 3) + n_padded, sizeof *arrays);
    w->vars = kc_call_take(w->call, n, sizeof *w->vars);
    w->list = kc_call_take(w->call, n, sizeof *w->list);
    w->rows = kc_call_take(w->call, n, sizeof *w->rows);
    if (!arrays || !w->vars || !w->list || !w->rows)
        return kc_fail_nomem(w->call->err);
    w->matrix = arrays;
    w->delta = arrays + n * w->ld;
    w->ones[0] = w->delta + n;
    w->ones[1] = w->ones[0] + n;
    w->grad = w->ones[1] + n;
    return KC_OK;
}

/* n: how many variables take part. */
static kc_status newton_step(newton *w, kc_pairs *pairs, size_t n, double tol, int *n_rounds)
{
    bool is_found;

    KC_TRY(take_memory(w, n));
    list_variables(w, tol);
    KC_TRY(find_step(w, n_rounds, &is_found));
    const double gain = is_found ? find_newton_gain(w) : 0;
    if (!(gain > 0))
        return KC_OK;
    for (size_t k = 0; k < w->n_vars; k++)
        pairs->beta[w->vars[k].group][w->vars[k].at] = w->vars[k].beta;
    pairs->objective -= gain;
    pairs->n_steps++;
    kc_pairs_start(pairs, w->grad);
    return KC_OK;
}

static kc_status try_newton_step(kc_call *call, kc_pairs *pairs, size_t n, double tol,
                                 int *n_rounds)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    newton w = {.call = call, .pairs = pairs};
    kc_status status = newton_step(&w, pairs, n, tol, n_rounds);

    kc_arena_release(call->arena, point);
    return status;
}

/* ---- Between pair steps -------------------------------------------------------------------- */

/* In pair steps. */
static double find_cost(const kc_pairs *pairs, size_t n_free)
{
    const kc_newton_tuning *tuning = &pairs->tuning->newton;
    const double m = (double)n_free;

    return m * m * (m * tuning->factor_cost + tuning->value_cost) / (double)pairs->n;
}

static double find_wait(const kc_pairs *pairs, size_t n_free, double patience)
{
    return fmax(patience * find_cost(pairs, n_free),
                pairs->tuning->newton.steps_per_free_min * (double)n_free);
}

/* Pair steps until they have cost what a Newton step is to wait for, or there is an end to them;
 * *n_free: how many variables it is for, 0 for an end. */
static kc_status run_pairs_before(kc_call *call, kc_pairs *pairs, double tol, int64_t last,
                                  double patience, kc_stop *stop, size_t *n_free)
{
    const int64_t first = pairs->n_steps;
    double wait = pairs->tuning->newton.steps_min;

    for (;;) {
        const int64_t left = last - pairs->n_steps;
        const double more = wait - (double)(pairs->n_steps - first);
        KC_TRY(
            kc_pairs_run(call, pairs, tol, more < (double)left ? (int64_t)more + 1 : left, stop));
        *n_free = 0;
        if (*stop != KC_STOP_MAX_ITER || pairs->n_steps >= last)
            return KC_OK;
        *n_free = count_free_members(pairs, tol);
        wait = find_wait(pairs, *n_free, patience);
        if (*n_free > pairs->tuning->newton.free_max)
            wait = fmax(wait, 2 * (double)(pairs->n_steps - first));
        else if (wait <= (double)(pairs->n_steps - first))
            return KC_OK;
    }
}

kc_status kc_newton_run(kc_call *call, kc_pairs *pairs, double tol, int64_t max_steps,
                        kc_stop *stop)
{
    const int64_t last =
        max_steps < INT64_MAX - pairs->n_steps ? pairs->n_steps + max_steps : INT64_MAX;
    const double least = pairs->tuning->newton.patience;
    double patience = least;

    for (;;) {
        const int64_t first = pairs->n_steps;
        const double start = pairs->objective;
        size_t n_free;
        int n_rounds = 0;
        KC_TRY(run_pairs_before(call, pairs, tol, last, patience, stop, &n_free));
        if (n_free == 0)
            return KC_OK;
        const double middle = pairs->objective;
        const double gain_per_step = (start - middle) / (double)(pairs->n_steps - first);
        kc_status status = try_newton_step(call, pairs, n_free, tol, &n_rounds);
        if (kc_stop_of(status, stop))
            return KC_OK;
        KC_TRY(status);
        const double cost = n_rounds * find_cost(pairs, n_free);
        const bool is_worth_it = middle - pairs->objective > cost * gain_per_step;
        patience = is_worth_it ? fmax(0.5 * patience, least) : 2 * patience;
    }
}
