/* An allocator for tests: counts, refuses when told to, and notices misuse.
 *
 *   for (size_t n = 1;; n++) {
 *       kc_fault_arm(&fault, n, KC_FAULT_ONCE);
 *       status = work(ctx);
 *       if (!kc_fault_disarm(&fault))
 *           break;                            the work allocates fewer than n times: all are tried
 *       CHECK(status == KC_ERR_NOMEM);        unless the work can do without what was refused
 *   }
 *
 * Fresh memory is filled with a pattern that is NaN in both float types, so that reading what was
 * not written shows.  Every block must come back whole, once, with the size it was taken with. */
#ifndef FAULT_H
#define FAULT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "kcore/kcore.h"

typedef enum kc_fault_mode {
    KC_FAULT_ONCE = 1, /* the n-th allocation fails, later ones succeed again */
    KC_FAULT_ALL = 2   /* the n-th and all later ones fail */
} kc_fault_mode;

typedef struct kc_fault {
    kc_allocator allocator;  /* for kc_context_config; its data is this object */
    atomic_size_t n_allocs;  /* asked for since the allocator was armed (or made) */
    atomic_size_t n_blocks;  /* held now */
    atomic_size_t n_bytes;   /* held now */
    atomic_size_t n_misuses; /* frees of what is not a block, or with another size */
    atomic_size_t fail_at;   /* 0: never */
    atomic_int mode;
    atomic_bool has_failed;
} kc_fault;

void kc_fault_init(kc_fault *fault);

/* A context by `config`, but for its size and allocator, on a fresh one of these; NULL: on the
 * heap. */
kc_context *kc_fault_context(kc_context_config config, kc_fault *fault);

/* n counts from 1, from now on. */
void kc_fault_arm(kc_fault *fault, size_t n, kc_fault_mode mode);

/* Whether an allocation was refused since the allocator was armed; from now on, none is. */
bool kc_fault_disarm(kc_fault *fault);

/* Nothing held, nothing misused: what must be true after kc_context_free. */
bool kc_fault_is_clean(const kc_fault *fault);

#endif
