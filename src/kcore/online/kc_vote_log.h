/* The updates of a learner that predicts by votes (function/kc_voted.h).
 *
 * The points of all updates must stay in the set, and `sample` of an update is a place there. */
#ifndef KC_VOTE_LOG_H
#define KC_VOTE_LOG_H

#include "base/kc_base.h"

typedef struct kc_vote_log {
    kc_perceptron_update *updates; /* those of one output in the order in which they were made */
    size_t n, capacity;
} kc_vote_log;

kc_status kc_vote_log_reserve(kc_context *ctx, kc_vote_log *log, size_t n, kc_error *err);
void kc_vote_log_free(kc_context *ctx, kc_vote_log *log);

/* There is room for it. */
KC_INLINE void kc_vote_log_add(kc_vote_log *log, kc_perceptron_update update)
{
    assert(log->n < log->capacity);
    log->updates[log->n++] = update;
}

#endif
