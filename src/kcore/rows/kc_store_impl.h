/* What the files of the store share: the store itself and its slots. */
#ifndef KC_STORE_IMPL_H
#define KC_STORE_IMPL_H

#include "kernel/kc_kernel.h"
#include "kernel/kc_plan.h"
#include "rows/kc_lru.h"
#include "rows/kc_store.h"
#include "simd/kc_ops.h"

/* Rows whose values cost less than this are not kept: memory would give them back no sooner. */
#define KC_CHEAP_WORK ((size_t)32)

/* Below this much work, in multiply-adds, waking a thread costs more than it brings. */
#define KC_PARALLEL_WORK ((size_t)1 << 20)

struct kc_store {
    const kc_kernel *kernel; /* NULL: given */
    const kc_packed *points;
    kc_plan plan;      /* of the points with themselves, where there is a kernel */
    const char *given; /* the whole matrix: the caller's, or `whole` */
    size_t given_ld;
    char *whole;                /* computed at once */
    kc_user_values_fn *user_fn; /* NULL: values are computed or given */
    void *user_data;
    size_t n;
    kc_dtype dtype;
    size_t value_bytes;
    void *diag;
    size_t entry_work; /* multiply-adds of one kernel value */
    kc_packed own;     /* the points, where they are the store's own */
    kc_kernel *own_kernel;
    void *own_values;    /* what `given` is, where the store owns it */
    kc_context *ctx;     /* that it was made in */
    atomic_bool is_used; /* by a call, where it outlives calls */

    size_t *segments; /* n_segments + 1 bounds */
    size_t n_segments;
    uint8_t *has_segment; /* by slot and segment: whether it is computed */

    kc_lru *lru;
    size_t row_bytes;
    size_t n_slots;
    size_t slots_per_slab;
    char **slabs;
    size_t n_slabs;

    kc_store_counters counters; /* but for these, which several threads may add to at once */
    _Atomic int64_t values_computed;
    _Atomic int64_t nanoseconds;
    _Atomic double value_seconds; /* of one value, when some were timed last; 0: never */
};

/* The row of a slot that has memory. */
char *kc_slot_at(const kc_store *store, int32_t slot);

/* Whether the slot has memory, now if not before. */
bool kc_slot_take(kc_call *call, kc_store *store, int32_t slot);

/* The columns that a slot holds: none, those of `cols` too, whether all of them. */
void kc_slot_clear(kc_store *store, int32_t slot);
void kc_slot_add(kc_store *store, int32_t slot, const kc_cols *cols);
bool kc_slot_has(const kc_store *store, int32_t slot, const kc_cols *cols);

/* Values of a store with a user_fn, of the store's type: out has room for n_rows * n_cols
 * doubles, and holds the values side by side. */
kc_status kc_store_user_values(kc_call *call, kc_store *store, const int32_t *rows, size_t n_rows,
                               const int32_t *cols, size_t n_cols, void *out);

/* The same for the columns of a problem, and for the diagonal. */
kc_status kc_store_user_rows(kc_call *call, kc_store *store, const kc_cols *cols,
                             const int32_t *rows, size_t n_rows, void *out);
kc_status kc_store_user_diag(kc_call *call, kc_store *store, void *out);

/* kc_store_gather out of the matrix that is there. */
kc_status kc_store_pick(kc_call *call, const kc_store *store, const int32_t *points, size_t n_rows,
                        const int32_t *others, size_t n_cols, void *out, size_t ld);

/* kc_store_gather for a store with a user_fn. */
kc_status kc_store_user_gather(kc_call *call, kc_store *store, const int32_t *points, size_t n_rows,
                               const int32_t *others, size_t n_cols, void *out, size_t ld);

/* How many rows of n_cols values one call of user_fn computes. */
size_t kc_store_user_max_rows(size_t n_cols);

/* kc_store_apply for the linear kernel. */
kc_status kc_store_apply_linear(kc_call *call, kc_store *store, const kc_cols *cols,
                                const kc_moved *moved, const double *grad, double *out);

/* What kc_store_apply_seconds goes by: so many values of rows, computed or of a given matrix, have
 * taken the time since `start`. */
void kc_store_time_values(kc_store *store, size_t n_values, double start);

/* Counts the time since `start`. */
void kc_store_add_time(kc_store *store, double start);

kc_status kc_store_fail_overflow(const kc_call *call);

/* Rows are computed in multiples of this without loss. */
KC_INLINE size_t kc_store_row_step(const kc_store *store)
{
    return store->kernel != NULL ? kc_plan_row_step(&store->plan) : 12;
}

#endif
