/* What the tests of the inner loops share: the instruction sets to try, and arrays with guards
 * around them, so that a write outside the result shows.  Under the address sanitizer the array
 * ends where its memory does, so that a read outside shows, too. */
#ifndef GUARDED_H
#define GUARDED_H

#include <stdlib.h>
#include <string.h>

#include "kc_test.h"
#include "ref_points.h"
#include "simd/kc_ops.h"

/* Sanitizers look at fewer numbers. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

typedef struct tier {
    const char *name;
    const kc_ops_table *table;
} tier;

#define MAX_TIERS KC_N_ISAS

/* Those compiled in that this CPU has; the first is the portable one, the last the best. */
static inline size_t list_tiers(tier *tiers)
{
    size_t n = 0;

    for (int isa = 0; isa < KC_N_ISAS; isa++)
        if (kc_isa_is_there((kc_isa)isa))
            tiers[n++] = (tier){kc_isa_name_of((kc_isa)isa), kc_ops_table_of((kc_isa)isa)};
    return n;
}

static inline const kc_ops *ops_of(const tier *t, kc_dtype dtype)
{
    return dtype == KC_F64 ? &t->table->f64 : &t->table->f32;
}

#define GUARD ((size_t)64) /* elements on either side */
#define GUARD_BYTE 0x5a

#ifdef __SANITIZE_ADDRESS__
#define GUARD_BEHIND ((size_t)0)
#else
#define GUARD_BEHIND GUARD
#endif

typedef struct guarded {
    unsigned char *block;
    void *data;
    size_t begin, n_bytes, n_all; /* in bytes */
} guarded;

/* n elements, `shift` elements away from an alignment of 64 bytes. */
static inline guarded guarded_make(size_t n, size_t shift, kc_dtype dtype)
{
    const size_t bytes = kc_dtype_bytes(dtype);
    guarded g = {.begin = (GUARD + shift) * bytes, .n_bytes = n * bytes};

    g.n_all = g.begin + g.n_bytes + GUARD_BEHIND * bytes;
    if (posix_memalign((void **)&g.block, 64, g.n_all) != 0)
        abort();
    memset(g.block, GUARD_BYTE, g.n_all);
    g.data = g.block + g.begin;
    return g;
}

/* Whether every byte outside the n_rows rows of n_cols elements, ld apart, is as it was made. */
static inline bool guarded_is_whole(const guarded *g, size_t n_rows, size_t n_cols, size_t ld,
                                    kc_dtype dtype)
{
    const size_t bytes = kc_dtype_bytes(dtype);

    for (size_t k = 0; k < g->n_all; k++) {
        const size_t place = (k - g->begin) / bytes;
        const bool is_inside = k >= g->begin && place / ld < n_rows && place % ld < n_cols;

        if (!is_inside && g->block[k] != GUARD_BYTE)
            return false;
    }
    return true;
}

static inline void guarded_free(guarded *g)
{
    free(g->block);
}

#endif
