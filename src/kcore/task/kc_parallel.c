/* A member is a worker of kc_parallel_for with a branch of the call; problems are dealt as members
 * come free.  A solution depends on its problem alone, not on the member that finds it. */
#include "task/kc_parallel.h"

#include <string.h>

#include "base/kc_clock.h"
#include "base/kc_thread.h"

#define NONE SIZE_MAX

typedef struct member {
    kc_call call;
    kc_error err;       /* of the problem at hand */
    kc_error first_err; /* of the first problem that failed here */
    size_t first_failed;
    kc_status status;
} member;

typedef struct parallel_job {
    member *members;
    size_t begin;
    const size_t *order;
    kc_solve_fn *solve;
    void *data;
    kc_fit_info *infos;
    bool *is_done;
} parallel_job;

static void solve_one(void *data, size_t chunk, int32_t worker)
{
    parallel_job *t = data;
    member *m = &t->members[worker];
    const size_t place = t->order != NULL ? t->order[chunk] : chunk;
    const kc_arena_point point = kc_arena_mark(m->call.arena);
    const double start = kc_clock();
    kc_fit_info info = {.struct_size = sizeof info};
    const kc_status status = t->solve(t->data, &m->call, t->begin + place, worker, &info);

    info.seconds = info.seconds_solve = kc_clock() - start;
    kc_arena_release(m->call.arena, point);
    t->infos[place] = info;
    t->is_done[place] = status == KC_OK;
    if (status != KC_OK && place < m->first_failed) {
        m->first_failed = place;
        m->first_err = m->err;
        m->status = status;
    }
}

/* The error of the first problem that failed. */
static kc_status find_error(const kc_call *call, const parallel_job *t, size_t n_members)
{
    const member *first = NULL;

    for (size_t k = 0; k < n_members; k++)
        if (t->members[k].first_failed != NONE &&
            (first == NULL || t->members[k].first_failed < first->first_failed))
            first = &t->members[k];
    if (first == NULL)
        return KC_OK;
    if (call->err != NULL)
        *call->err = first->first_err;
    return first->status;
}

static kc_status make_members(kc_call *call, parallel_job *t, size_t n_members)
{
    t->members = kc_call_take(call, n_members, sizeof *t->members);
    if (t->members == NULL)
        return kc_fail_nomem(call->err);
    memset(t->members, 0, n_members * sizeof *t->members);
    for (size_t k = 0; k < n_members; k++) {
        t->members[k].first_failed = NONE;
        KC_TRY(kc_call_branch(&t->members[k].call, call, &t->members[k].err));
    }
    return KC_OK;
}

kc_status kc_solve_parallel(kc_call *call, size_t begin, size_t n, const size_t *order,
                            kc_solve_fn *solve, void *data, kc_fit_info *infos, bool *is_done)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    const size_t n_members = (size_t)kc_workers(call, n);
    parallel_job t = {.begin = begin,
                      .order = order,
                      .solve = solve,
                      .data = data,
                      .infos = infos,
                      .is_done = is_done};
    kc_status status = make_members(call, &t, n_members);

    if (status == KC_OK)
        status = kc_parallel_for(call, n, solve_one, &t);
    if (status == KC_OK)
        status = find_error(call, &t, n_members);
    for (size_t k = 0; t.members != NULL && k < n_members; k++)
        kc_call_join(&t.members[k].call);
    kc_arena_release(call->arena, point);
    return status;
}
