/* solver/kc_violator_scan.h: what passes add up and find, in any number of parts, one by one and
 * two at a time. */
#include "solver/kc_violator_scan.h"

#include <math.h>
#include <string.h>

#include "base/kc_rng.h"
#include "tally.h"

enum { N = 9000, N_ROWS = 40, N_PASSES = 60, MAX_MOVES = 9 };
enum { N_PADDED = (N + KC_SMO_PAD - 1) / KC_SMO_PAD * KC_SMO_PAD };

static float rows[N_ROWS][N];

/* Some variables can rise, some can fall, most can do both. */
static kc_state *make_state(kc_call *call, int32_t n_layers, kc_rng *rng)
{
    static double grad[N_PADDED], up[2][N_PADDED], low[2][N_PADDED];
    static kc_state s;

    s = (kc_state){.call = call,
                   .dual = {.n_points = N, .n_layers = n_layers},
                   .tuning = &kc_tuning_default,
                   .grad = grad,
                   .up = {up[0], up[1]},
                   .low = {low[0], low[1]}};
    for (size_t p = 0; p < N_PADDED; p++) {
        grad[p] = p < N ? kc_rng_uniform(rng) - 0.5 : 0;
        for (int32_t g = 0; g < n_layers; g++) {
            double kind = p < N ? kc_rng_uniform(rng) : 0;
            up[g][p] = kind < 0.2 ? -HUGE_VAL : -0.01 * g;
            low[g][p] = kind > 0.8 || p >= N ? HUGE_VAL : 0.01 * g;
        }
    }
    return &s;
}

/* The moves of a pass. */
static size_t make_moves(kc_rng *rng, int32_t n_layers, kc_move *out)
{
    const size_t n = 1 + (size_t)((double)MAX_MOVES * kc_rng_uniform(rng)) % MAX_MOVES;
    const size_t first = (size_t)((double)N * kc_rng_uniform(rng)) % N;

    for (size_t k = 0; k < n; k++) {
        out[k] = (kc_move){.row = rows[(first + 3 * k) % N_ROWS],
                           .delta = kc_rng_uniform(rng) - 0.5,
                           .at = (int32_t)((first + 997 * k) % N)};
        for (int32_t g = 0; g < n_layers; g++) {
            out[k].up[g] = k % 3 == 0 ? -HUGE_VAL : 0;
            out[k].low[g] = k % 3 == 1 ? HUGE_VAL : 0;
        }
    }
    return n;
}

/* What a number of passes leave behind. */
typedef struct outcome {
    double grad[N];
    double violation[N_PASSES];
    size_t n_violators[N_PASSES];
    kc_violator violators[N_PASSES][KC_SCAN_MAX];
} outcome;

static void note(const kc_scan *s, size_t pass, outcome *out)
{
    out->violation[pass] = kc_scan_violation(s);
    out->n_violators[pass] = kc_scan_violators(s, NULL, 0, out->violators[pass]);
}

/* Ends passes until so many have been. */
static void end_passes(kc_scan *s, size_t n, outcome *out)
{
    while (s->n_ended < n) {
        kc_scan_end(s);
        note(s, s->n_ended - 1, out);
    }
}

static void run_passes(int32_t n_threads, int32_t n_layers, bool is_overlapped, outcome *out)
{
    static kc_scan s;
    static kc_move moves[2][MAX_MOVES];
    kc_context *ctx = make_context(n_threads, NULL);
    kc_rng rng = kc_rng_seed(7);
    kc_call call;

    ctx->n_cpus = n_threads;
    memset(out, 0, sizeof *out);
    REQUIRE(kc_call_begin(&call, ctx, NULL, "passes", NULL) == KC_OK);
    kc_scan_open(make_state(&call, n_layers, &rng), KC_F32, &s);
    kc_scan_hire(&s, false);
    CHECK(s.team.n_parts == n_threads);
    for (size_t pass = 0; pass < N_PASSES; pass++) {
        size_t n_moves = make_moves(&rng, n_layers, moves[pass % 2]);
        kc_scan_begin(&s, moves[pass % 2], n_moves);
        end_passes(&s, is_overlapped ? pass : pass + 1, out);
        if (pass % 10 == 9) {
            end_passes(&s, pass + 1, out);
            kc_spin_team_wake(&s.team);
        }
    }
    kc_spin_team_close(&s.team);
    memcpy(out->grad, s.state->grad, sizeof out->grad);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_context_free(ctx);
}

static void what_is_found_does_not_depend_on_parts_or_on_passes_at_once(void)
{
    static outcome alone, other;

    for (int32_t n_layers = 1; n_layers <= 2; n_layers++) {
        run_passes(1, n_layers, false, &alone);
        CHECK(alone.n_violators[0] >= KC_SCAN_TAKEN && isfinite(alone.violation[0]));
        for (int32_t n_threads = 1; n_threads <= KC_SPIN_MAX_PARTS; n_threads++)
            for (int is_overlapped = 0; is_overlapped < 2; is_overlapped++) {
                run_passes(n_threads, n_layers, is_overlapped, &other);
                CHECK(memcmp(&alone, &other, sizeof alone) == 0);
            }
    }
}

/* One pass without moves over a problem of one group; then fn. */
static void after_a_look(void (*fn)(const kc_scan *))
{
    static kc_scan s;
    kc_context *ctx = make_context(1, NULL);
    kc_rng rng = kc_rng_seed(3);
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "look", NULL) == KC_OK);
    kc_scan_open(make_state(&call, 1, &rng), KC_F32, &s);
    kc_scan_hire(&s, true);
    kc_scan_begin(&s, NULL, 0);
    kc_scan_end(&s);
    fn(&s);
    kc_spin_team_close(&s.team);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_context_free(ctx);
}

static void check_worst(const kc_scan *scan)
{
    const kc_state *s = scan->state;
    double max_up = -HUGE_VAL, min_low = HUGE_VAL;
    kc_violator found[KC_SCAN_MAX];
    const size_t n = kc_scan_violators(scan, NULL, 0, found);
    size_t n_up = 0;

    for (size_t p = 0; p < N; p++) {
        max_up = fmax(max_up, s->grad[p] + s->up[0][p]);
        min_low = fmin(min_low, s->grad[p] + s->low[0][p]);
    }
    CHECK(kc_scan_violation(scan) == max_up - min_low);
    REQUIRE(n == 2 * KC_SCAN_TAKEN);
    for (size_t k = 0; k < n; k++) {
        const double *side = found[k].side == 0 ? s->up[0] : s->low[0];
        CHECK(found[k].side == (k < KC_SCAN_TAKEN ? 0 : 1));
        CHECK(found[k].value == s->grad[found[k].at] + side[found[k].at]);
        for (size_t i = 0; i < k; i++)
            CHECK(found[i].at != found[k].at);
        n_up += found[k].side == 0;
    }
    CHECK(found[0].value == max_up && found[n_up].value == min_low);
    for (size_t k = 1; k < n_up; k++)
        CHECK(found[k].value <= found[k - 1].value);
    for (size_t k = n_up + 1; k < n; k++)
        CHECK(found[k].value >= found[k - 1].value);
}

static void the_very_worst_are_found_worst_first(void)
{
    after_a_look(check_worst);
}

static void check_pending(const kc_scan *s)
{
    kc_violator all[KC_SCAN_MAX], rest[KC_SCAN_MAX];
    const size_t n_all = kc_scan_violators(s, NULL, 0, all);
    const kc_move pending[2] = {{.at = all[0].at}, {.at = all[KC_SCAN_TAKEN].at}};
    const size_t n_rest = kc_scan_violators(s, pending, 2, rest);

    CHECK(n_rest == n_all); /* others take their place */
    CHECK(rest[0].at == all[1].at && rest[KC_SCAN_TAKEN].at == all[KC_SCAN_TAKEN + 1].at);
    for (size_t k = 0; k < n_rest; k++)
        CHECK(rest[k].at != all[0].at && rest[k].at != all[KC_SCAN_TAKEN].at);
}

static void who_is_moving_is_left_out(void)
{
    after_a_look(check_pending);
}

int main(void)
{
    kc_rng rng = kc_rng_seed(1);

    for (size_t r = 0; r < N_ROWS; r++)
        for (size_t p = 0; p < N; p++)
            rows[r][p] = (float)kc_rng_uniform(&rng);
    RUN(what_is_found_does_not_depend_on_parts_or_on_passes_at_once);
    RUN(the_very_worst_are_found_worst_first);
    RUN(who_is_moving_is_left_out);
    return kc_test_end();
}
