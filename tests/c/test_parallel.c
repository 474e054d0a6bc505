/* task/kc_parallel.h: several problems at once, with the same end as one after the other. */
#include "task/kc_parallel.h"

#include <string.h>

#include "kc_test.h"

#define N 200

/* Problems that write down that they were solved, and fail where they are told to. */
typedef struct work {
    int64_t found[N];
    size_t fails_from; /* this one and every seventh after it */
    size_t stops_at;   /* reaching this one, the caller's thread finds its time over */
    bool is_backward;  /* the last one is dealt first */
    atomic_int n_solved;
} work;

static kc_status solve(void *data, kc_call *call, size_t index, int32_t worker, kc_fit_info *info)
{
    work *w = data;

    CHECK(worker >= 0 && worker < 4);
    int64_t *squares = kc_call_take(call, index + 1, sizeof *squares);

    if (squares == NULL)
        return kc_fail_nomem(call->err);
    for (size_t k = 0; k <= index; k++)
        squares[k] = (int64_t)(k * k);
    if (index >= w->fails_from && (index - w->fails_from) % 7 == 0)
        return kc_fail(call->err, KC_ERR_RANGE, "problem %zu fails", index);
    if (index == w->stops_at)
        kc_call_stop(call->whole, KC_ERR_TIME, "time limit");
    info->n_iter = squares[index];
    w->found[index] = squares[index];
    atomic_fetch_add(&w->n_solved, 1);
    return KC_OK;
}

static kc_status run(work *w, int32_t n_threads, kc_fit_info *infos, bool *is_done, kc_error *err)
{
    kc_context *ctx = NULL;
    kc_call call;
    kc_run how = {.struct_size = sizeof how, .n_threads = n_threads};

    if (kc_context_create(NULL, &ctx, NULL) != KC_OK ||
        kc_call_begin(&call, ctx, &how, "solve", err) != KC_OK)
        return KC_ERR_NOMEM;
    memset(is_done, 0, N * sizeof *is_done);
    size_t backward[N];
    for (size_t k = 0; k < N; k++)
        backward[k] = N - 1 - k;
    kc_status status =
        kc_solve_parallel(&call, 0, N, w->is_backward ? backward : NULL, solve, w, infos, is_done);
    CHECK(kc_call_end(&call, status) == status);
    kc_context_free(ctx);
    return status;
}

static void every_problem_is_solved_once_and_reported_in_its_place(void)
{
    static kc_fit_info infos[N];
    static bool is_done[N];

    for (int32_t n_threads = 1; n_threads <= 4; n_threads++) {
        work w = {.fails_from = N, .stops_at = N, .is_backward = n_threads % 2 == 0};
        size_t n_right = 0;

        CHECK(run(&w, n_threads, infos, is_done, NULL) == KC_OK);
        for (size_t k = 0; k < N; k++)
            n_right += is_done[k] && infos[k].n_iter == (int64_t)(k * k) &&
                       w.found[k] == (int64_t)(k * k) && infos[k].seconds >= 0;
        CHECK(n_right == N);
        CHECK(atomic_load(&w.n_solved) == N);
    }
}

static void the_first_problem_that_fails_gives_the_error(void)
{
    static kc_fit_info infos[N];
    static bool is_done[N];

    for (int32_t n_threads = 1; n_threads <= 4; n_threads++) {
        work w = {.fails_from = 23, .stops_at = N, .is_backward = n_threads % 2 == 0};
        kc_error err = {0};

        CHECK(run(&w, n_threads, infos, is_done, &err) == KC_ERR_RANGE);
        CHECK(strcmp(err.text, "problem 23 fails") == 0);
        CHECK(err.status == KC_ERR_RANGE);
        CHECK(is_done[22] && !is_done[23] && is_done[24] && !is_done[30]);
    }
}

static void a_stopped_call_says_which_problems_are_done(void)
{
    static kc_fit_info infos[N];
    static bool is_done[N];

    for (int32_t n_threads = 1; n_threads <= 4; n_threads++) {
        work w = {.fails_from = N, .stops_at = 40};
        kc_error err = {0};
        int n_done = 0;

        CHECK(run(&w, n_threads, infos, is_done, &err) == KC_ERR_TIME);
        for (size_t k = 0; k < N; k++)
            n_done += is_done[k];
        CHECK(n_done == atomic_load(&w.n_solved));
        CHECK(n_done >= 1 && n_done < N);
    }
}

int main(void)
{
    RUN(every_problem_is_solved_once_and_reported_in_its_place);
    RUN(the_first_problem_that_fails_gives_the_error);
    RUN(a_stopped_call_says_which_problems_are_done);
    return kc_test_end();
}
