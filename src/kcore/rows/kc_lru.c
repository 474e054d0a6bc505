/* Doubly linked rings over the slots, one per rank; a ring's head is an extra slot of its own, so
 * that linking has no special cases.  The next of a head is the least recent.  Free slots that were
 * used before form a stack through `next`. */
#include "rows/kc_lru.h"

#include "base/kc_alloc.h"

enum { NO_SLOT = -1, NO_KEY = -1 };

struct kc_lru {
    size_t n_keys;
    int32_t n_slots;
    int32_t n_dealt;    /* slots that may be dealt: n_slots, or fewer */
    int32_t n_used;     /* slots below were dealt at least once */
    int32_t first_free; /* stack of slots given back */
    int32_t *slot_of;   /* by key; of unpublished keys too */
    int32_t *key_of;    /* by slot */
    int32_t *next;      /* by slot, then heads; next[slot] == slot: held */
    int32_t *prev;
    bool *is_public; /* by slot */
};

static int32_t head_of(const kc_lru *lru, int32_t rank)
{
    return lru->n_slots + rank;
}

static void make_ring(kc_lru *lru, int32_t slot)
{
    lru->next[slot] = slot;
    lru->prev[slot] = slot;
}

/* Out of its ring; afterwards the slot is a ring of its own, which is to be held. */
static void unlink_slot(kc_lru *lru, int32_t slot)
{
    lru->next[lru->prev[slot]] = lru->next[slot];
    lru->prev[lru->next[slot]] = lru->prev[slot];
    make_ring(lru, slot);
}

static void link_before(kc_lru *lru, int32_t slot, int32_t head)
{
    lru->next[slot] = head;
    lru->prev[slot] = lru->prev[head];
    lru->next[lru->prev[head]] = slot;
    lru->prev[head] = slot;
}

kc_lru *kc_lru_create(kc_context *ctx, size_t n_keys, size_t n_slots)
{
    assert(n_keys <= INT32_MAX && n_slots <= INT32_MAX - KC_LRU_RANKS);
    kc_lru *lru = kc_calloc(ctx, 1, sizeof *lru);
    if (lru == NULL)
        return NULL;
    lru->n_keys = n_keys;
    lru->n_slots = lru->n_dealt = (int32_t)n_slots;
    lru->slot_of = kc_alloc(ctx, n_keys, sizeof *lru->slot_of);
    lru->key_of = kc_alloc(ctx, n_slots, sizeof *lru->key_of);
    lru->next = kc_alloc(ctx, n_slots + KC_LRU_RANKS, sizeof *lru->next);
    lru->prev = kc_alloc(ctx, n_slots + KC_LRU_RANKS, sizeof *lru->prev);
    lru->is_public = kc_calloc(ctx, n_slots, sizeof *lru->is_public);
    if (!lru->slot_of || !lru->key_of || !lru->next || !lru->prev || !lru->is_public) {
        kc_lru_free(ctx, lru);
        return NULL;
    }
    kc_lru_clear(lru);
    return lru;
}

void kc_lru_clear(kc_lru *lru)
{
    lru->n_used = 0;
    lru->first_free = NO_SLOT;
    for (size_t key = 0; key < lru->n_keys; key++)
        lru->slot_of[key] = NO_SLOT;
    for (int32_t rank = 0; rank < KC_LRU_RANKS; rank++)
        make_ring(lru, head_of(lru, rank));
}

void kc_lru_limit(kc_lru *lru, size_t n_slots)
{
    assert(n_slots >= 1 && n_slots <= (size_t)lru->n_slots && n_slots >= (size_t)lru->n_used);
    lru->n_dealt = (int32_t)n_slots;
}

void kc_lru_free(kc_context *ctx, kc_lru *lru)
{
    if (lru == NULL)
        return;
    kc_free(ctx, lru->slot_of);
    kc_free(ctx, lru->key_of);
    kc_free(ctx, lru->next);
    kc_free(ctx, lru->prev);
    kc_free(ctx, lru->is_public);
    kc_free(ctx, lru);
}

int32_t kc_lru_find(const kc_lru *lru, int32_t key)
{
    int32_t slot = lru->slot_of[key];

    return slot != NO_SLOT && lru->is_public[slot] ? slot : KC_LRU_MISS;
}

int32_t kc_lru_hold(kc_lru *lru, int32_t key)
{
    int32_t slot = kc_lru_find(lru, key);

    if (slot != KC_LRU_MISS)
        unlink_slot(lru, slot);
    return slot;
}

/* The least recent slot of the lowest rank up to `rank`. */
static int32_t find_victim(const kc_lru *lru, int32_t rank)
{
    for (int32_t r = 0; r <= rank; r++) {
        int32_t slot = lru->next[head_of(lru, r)];
        if (slot != head_of(lru, r))
            return slot;
    }
    return NO_SLOT;
}

int32_t kc_lru_reserve(kc_lru *lru, int32_t key, int32_t rank, bool *evicted)
{
    int32_t slot;

    assert(lru->slot_of[key] == NO_SLOT);
    *evicted = false;
    if (lru->first_free != NO_SLOT) {
        slot = lru->first_free;
        lru->first_free = lru->next[slot];
        make_ring(lru, slot);
    } else if (lru->n_used < lru->n_dealt) {
        slot = lru->n_used++;
        make_ring(lru, slot);
    } else {
        slot = find_victim(lru, rank);
        if (slot == NO_SLOT)
            return KC_LRU_MISS;
        unlink_slot(lru, slot);
        lru->slot_of[lru->key_of[slot]] = NO_SLOT;
        *evicted = true;
    }
    lru->key_of[slot] = key;
    lru->slot_of[key] = slot;
    lru->is_public[slot] = false;
    return slot;
}

void kc_lru_publish(kc_lru *lru, int32_t key, int32_t rank)
{
    int32_t slot = lru->slot_of[key];

    assert(slot != NO_SLOT && lru->next[slot] == slot);
    lru->is_public[slot] = true;
    link_before(lru, slot, head_of(lru, rank));
}

void kc_lru_drop(kc_lru *lru, int32_t key)
{
    int32_t slot = lru->slot_of[key];

    if (slot == NO_SLOT)
        return;
    unlink_slot(lru, slot);
    lru->slot_of[key] = NO_SLOT;
    lru->key_of[slot] = NO_KEY;
    lru->is_public[slot] = false;
    lru->next[slot] = lru->first_free;
    lru->first_free = slot;
}

size_t kc_lru_used(const kc_lru *lru)
{
    return (size_t)lru->n_used;
}
