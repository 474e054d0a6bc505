/* Which of n_keys keys sit in n_slots slots, by worth and least recent use.
 *
 * Knows nothing of rows or of memory: it only deals slot numbers, so it is tested alone.  Calls are
 * O(1) and allocate nothing.  Slots never used before are dealt in ascending order.
 *
 *   slot = kc_lru_hold(lru, key);            hit: the slot cannot be evicted until published again
 *   slot = kc_lru_reserve(lru, key, rank);   miss: fill the slot, then
 *   kc_lru_publish(lru, key, rank);          only now can find and hold see it
 *   kc_lru_drop(lru, key);                   or: the slot was not filled, or is no longer wanted
 */
#ifndef KC_LRU_H
#define KC_LRU_H

#include "base/kc_base.h"

typedef struct kc_lru kc_lru;

#define KC_LRU_MISS (-1)

/* Ranks are 0 .. KC_LRU_RANKS - 1; keys of a lower rank are evicted first. */
#define KC_LRU_RANKS 2

/* n_keys >= 1, n_slots >= 1; NULL where there is no memory. */
kc_lru *kc_lru_create(kc_context *ctx, size_t n_keys, size_t n_slots);

/* Accepts NULL. */
void kc_lru_free(kc_context *ctx, kc_lru *lru);

/* The slot of a published key, or KC_LRU_MISS; changes nothing. */
int32_t kc_lru_find(const kc_lru *lru, int32_t key);

/* The same, and keeps the slot from being evicted until the key is published or dropped.  Holding
 * twice is holding once. */
int32_t kc_lru_hold(kc_lru *lru, int32_t key);

/* A slot for a key that has none: a free one, or that of the least recently published key of the
 * lowest rank there is, up to `rank`; *evicted is then set.  The slot is held.  KC_LRU_MISS where
 * all slots are held or hold something of a higher rank. */
int32_t kc_lru_reserve(kc_lru *lru, int32_t key, int32_t rank, bool *evicted);

/* The key of a held slot can be found, and is the most recent of its rank. */
void kc_lru_publish(kc_lru *lru, int32_t key, int32_t rank);

/* Gives back the slot of a key, held or not; a key without a slot is left alone. */
void kc_lru_drop(kc_lru *lru, int32_t key);

/* From now on only the slots below n_slots are dealt, 1 <= n_slots <= those it was made for; none
 * above may have been dealt since it was new or cleared. */
void kc_lru_limit(kc_lru *lru, size_t n_slots);

/* As if new: no key has a slot.  None may be held. */
void kc_lru_clear(kc_lru *lru);

/* Slots that hold or have held something. */
size_t kc_lru_used(const kc_lru *lru);

#endif
