/* The kernel matrix of a working set that changes a part of its members at a time.
 *
 * A member keeps its slot (row and column) as long as it stays, so that only the values of new
 * members are computed.  Members that are no longer wanted stay too, until their slot is: they cost
 * nothing.
 *
 * Values are those of the rows, or floats where rows are doubles: larger sets fit the caches then,
 * and steps take half of the time. */
#ifndef KC_SUBGRAM_H
#define KC_SUBGRAM_H

#include "rows/kc_store.h"
#include "solver/kc_tuning.h"

typedef struct kc_subgram {
    void *values; /* row of slot s at values + s * ld entries */
    size_t ld;
    size_t n_slots;       /* in use: slots 0 .. n_slots - 1 hold a position each */
    int32_t *position_of; /* by slot */

    const kc_block_tuning *tuning;
    kc_dtype dtype; /* of the values */
    const kc_cols *cols;
    int32_t *slot_of; /* by position; -1: none */
    uint8_t *is_wanted;
    size_t capacity; /* slots that values has room for */
    size_t largest;  /* slots there may ever be */
} kc_subgram;

/* For at most `largest` slots; cols is borrowed.  Its memory is taken from the store's cache, as
 * far as that goes. */
kc_status kc_subgram_create(kc_call *call, const kc_store *store, const kc_block_tuning *tuning,
                            const kc_cols *cols, size_t largest, kc_subgram *out);
void kc_subgram_free(kc_context *ctx, kc_store *store, kc_subgram *sub);

/* From now on values are of this type, for at most `largest` slots, no more than at first.  The
 * matrix is empty. */
void kc_subgram_retype(kc_context *ctx, kc_store *store, kc_subgram *sub, kc_dtype dtype,
                       size_t largest);

/* All of positions[0 .. n) have slots afterwards, n <= size <= largest, and at most `size` slots
 * are in use.  On failure the matrix is empty, or as it was. */
kc_status kc_subgram_change(kc_call *call, kc_store *store, kc_subgram *sub,
                            const int32_t *positions, size_t n, size_t size);

#endif
