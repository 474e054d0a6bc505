/* The context, as base/ sees it: where memory comes from, the pool, the arena kept for the next
 * call.  Everything that changes is atomic or belongs to the holder of the pool, so that any number
 * of threads may use one context without a lock. */
#ifndef KC_CONTEXT_H
#define KC_CONTEXT_H

#include <stdatomic.h>

#include "base/kc_arena.h"
#include "base/kc_base.h"

typedef struct kc_pool kc_pool;

#define KC_SHELF_PLACES 64

struct kc_context {
    kc_allocator allocator;
    size_t memory_limit;       /* SIZE_MAX where there is none */
    atomic_size_t current;     /* bytes asked of the allocator and not yet given back */
    atomic_size_t peak;        /* the most that current has been */
    atomic_size_t recent_peak; /* ... since the last time a call began while none was running */
    atomic_int n_calls;        /* running now */
    int32_t n_cpus;            /* usable CPUs when the context was made */
    double spin_patience;      /* seconds: base/kc_spin_team.h */
    int32_t default_threads;
    atomic_int n_threads;      /* what kc_context_set_threads said; 0: default_threads */
    atomic_uint pool_holder;   /* 0: the pool is free; else the fork count of its holder */
    kc_pool *pool;             /* the holder's; NULL until the first use */
    _Atomic(kc_arena *) spare; /* the arena of the last call, empty; taken by exchange */
    _Atomic(void *) shelf[KC_SHELF_PLACES]; /* large blocks for the next need: base/kc_alloc.c */
    atomic_size_t shelf_bytes;              /* on it */
    atomic_size_t shelf_max; /* of them, as far as memory is concerned; 0: not known yet */
};

struct kc_cancel {
    atomic_bool is_set;
};

/* Gives back what is held but not needed: the spare arena and the shelf.  False where there is
 * nothing. */
bool kc_context_drop_spare(kc_context *ctx);

/* Reads a struct that begins with struct_size, made by a caller of this version, an older one
 * (whose missing fields become zero) or a newer one (whose further fields must be zero).  `name` is
 * what messages call it. */
kc_status kc_struct_read(void *to, size_t n_bytes, const void *from, const char *name,
                         kc_error *err);

/* Whether a struct can be read in place: it has all fields of this version, and none but zeros
 * behind them. */
kc_status kc_struct_check_whole(const void *from, size_t n_bytes, const char *name, kc_error *err);

/* Whether the caller's struct `to`, which is to be filled in, begins with a struct_size that can be
 * one; and filling it in, as far as it goes. */
kc_status kc_struct_check(const void *to, size_t n_bytes, const char *name, kc_error *err);
void kc_struct_write(void *to, const void *from, size_t n_bytes);

/* 1 in the first process, one more in a forked child, and so on: what was made under another count
 * belongs to threads that do not exist here. */
unsigned kc_fork_count(void);

/* Makes kc_fork_count count; false where there is no memory for it. */
bool kc_fork_watch(void);

#endif
