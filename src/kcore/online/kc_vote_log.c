/* See kc_vote_log.h. */
#include "online/kc_vote_log.h"

#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_status.h"

kc_status kc_vote_log_reserve(kc_context *ctx, kc_vote_log *log, size_t n, kc_error *err)
{
    const size_t capacity = kc_max(n, log->capacity + log->capacity / 2);
    kc_perceptron_update *updates;

    if (n <= log->capacity)
        return KC_OK;
    updates = kc_alloc(ctx, capacity, sizeof *updates);
    if (updates == NULL)
        return kc_fail_nomem(err);
    if (log->n > 0)
        memcpy(updates, log->updates, log->n * sizeof *updates);
    kc_free(ctx, log->updates);
    log->updates = updates;
    log->capacity = capacity;
    return KC_OK;
}

void kc_vote_log_free(kc_context *ctx, kc_vote_log *log)
{
    kc_free(ctx, log->updates);
    *log = (kc_vote_log){0};
}
