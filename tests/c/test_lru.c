/* Slots by worth and least recent use: the rules one by one, then against a list that is searched.
 */
#include "rows/kc_lru.h"

#include "base/kc_rng.h"
#include "kc_test.h"

static kc_context *ctx;

static void fill(kc_lru *lru, int32_t key, int32_t rank)
{
    bool evicted;

    CHECK(kc_lru_reserve(lru, key, rank, &evicted) != KC_LRU_MISS);
    kc_lru_publish(lru, key, rank);
}

static void slots_never_used_are_dealt_in_ascending_order(void)
{
    kc_lru *lru = kc_lru_create(ctx, 10, 3);
    bool evicted;

    REQUIRE(lru != NULL);
    for (int32_t k = 0; k < 3; k++) {
        CHECK(kc_lru_used(lru) == (size_t)k);
        CHECK(kc_lru_reserve(lru, 7 - k, 0, &evicted) == k);
        CHECK(!evicted);
    }
    CHECK(kc_lru_used(lru) == 3);
    kc_lru_free(ctx, lru);
}

static void an_unpublished_key_is_a_miss(void)
{
    kc_lru *lru = kc_lru_create(ctx, 4, 2);
    bool evicted;

    REQUIRE(lru != NULL);
    CHECK(kc_lru_reserve(lru, 3, 0, &evicted) == 0);
    CHECK(kc_lru_find(lru, 3) == KC_LRU_MISS);
    CHECK(kc_lru_hold(lru, 3) == KC_LRU_MISS);
    kc_lru_publish(lru, 3, 0);
    CHECK(kc_lru_find(lru, 3) == 0);
    kc_lru_free(ctx, lru);
}

static void the_least_recent_key_is_evicted(void)
{
    kc_lru *lru = kc_lru_create(ctx, 5, 3);
    bool evicted;

    REQUIRE(lru != NULL);
    fill(lru, 0, 0);
    fill(lru, 1, 0);
    fill(lru, 2, 0);
    CHECK(kc_lru_hold(lru, 0) == 0); /* used: now 1 is the least recent */
    kc_lru_publish(lru, 0, 0);
    CHECK(kc_lru_reserve(lru, 3, 0, &evicted) == 1);
    CHECK(evicted);
    CHECK(kc_lru_find(lru, 1) == KC_LRU_MISS);
    CHECK(kc_lru_find(lru, 0) == 0 && kc_lru_find(lru, 2) == 2);
    kc_lru_free(ctx, lru);
}

static void a_key_of_higher_rank_is_evicted_last(void)
{
    kc_lru *lru = kc_lru_create(ctx, 6, 2);
    bool evicted;

    REQUIRE(lru != NULL);
    fill(lru, 0, 1);
    fill(lru, 1, 0);
    fill(lru, 2, 0); /* drives out 1, though 0 is older */
    CHECK(kc_lru_find(lru, 0) == 0 && kc_lru_find(lru, 1) == KC_LRU_MISS);
    fill(lru, 3, 1);
    CHECK(kc_lru_find(lru, 2) == KC_LRU_MISS);
    CHECK(kc_lru_reserve(lru, 4, 0, &evicted) == KC_LRU_MISS); /* nothing so low is there */
    CHECK(kc_lru_reserve(lru, 4, 1, &evicted) == 0 && evicted);
    kc_lru_free(ctx, lru);
}

static void a_held_key_is_not_evicted(void)
{
    kc_lru *lru = kc_lru_create(ctx, 5, 2);
    bool evicted;

    REQUIRE(lru != NULL);
    fill(lru, 0, 0);
    fill(lru, 1, 0);
    CHECK(kc_lru_hold(lru, 0) == 0);
    CHECK(kc_lru_hold(lru, 0) == 0); /* twice is once */
    fill(lru, 2, 0);
    CHECK(kc_lru_hold(lru, 2) == 1);
    CHECK(kc_lru_reserve(lru, 3, 1, &evicted) == KC_LRU_MISS);
    CHECK(kc_lru_find(lru, 0) == 0 && kc_lru_find(lru, 2) == 1);
    kc_lru_free(ctx, lru);
}

static void a_dropped_slot_is_dealt_again_first(void)
{
    kc_lru *lru = kc_lru_create(ctx, 5, 3);
    bool evicted;

    REQUIRE(lru != NULL);
    fill(lru, 0, 0);
    fill(lru, 1, 1);
    kc_lru_drop(lru, 0);
    kc_lru_drop(lru, 0); /* has none: left alone */
    CHECK(kc_lru_find(lru, 0) == KC_LRU_MISS);
    CHECK(kc_lru_reserve(lru, 4, 0, &evicted) == 0);
    CHECK(!evicted);
    CHECK(kc_lru_reserve(lru, 3, 0, &evicted) == 2);
    kc_lru_drop(lru, 3); /* reserved, never filled */
    CHECK(kc_lru_reserve(lru, 2, 0, &evicted) == 2);
    kc_lru_clear(lru);
    CHECK(kc_lru_find(lru, 1) == KC_LRU_MISS && kc_lru_used(lru) == 0);
    CHECK(kc_lru_reserve(lru, 1, 0, &evicted) == 0);
    kc_lru_free(ctx, lru);
}

/* ---- Against a list ------------------------------------------------------------------------ */

enum { N_KEYS = 20, N_SLOTS = 7 };

typedef struct plain {
    int32_t rank[N_KEYS]; /* -1: not in */
    int64_t time[N_KEYS];
    int64_t now;
} plain;

static int32_t plain_victim(const plain *p)
{
    int32_t victim = -1;

    for (int32_t k = 0; k < N_KEYS; k++)
        if (p->rank[k] >= 0 && (victim < 0 || p->rank[k] < p->rank[victim] ||
                                (p->rank[k] == p->rank[victim] && p->time[k] < p->time[victim])))
            victim = k;
    return victim;
}

static size_t plain_count(const plain *p)
{
    size_t n = 0;

    for (int32_t k = 0; k < N_KEYS; k++)
        n += p->rank[k] >= 0;
    return n;
}

static void want(kc_lru *lru, plain *p, int32_t key, int32_t rank)
{
    bool evicted = false;

    if (p->rank[key] >= 0) {
        CHECK(kc_lru_hold(lru, key) != KC_LRU_MISS);
    } else {
        int32_t victim = plain_count(p) == N_SLOTS ? plain_victim(p) : -1;
        bool is_refused = victim >= 0 && p->rank[victim] > rank;
        CHECK((kc_lru_reserve(lru, key, rank, &evicted) == KC_LRU_MISS) == is_refused);
        if (is_refused)
            return;
        CHECK(evicted == (victim >= 0));
        if (victim >= 0)
            p->rank[victim] = -1;
    }
    kc_lru_publish(lru, key, rank);
    p->rank[key] = rank;
    p->time[key] = p->now++;
}

static void a_long_random_use_agrees_with_a_searched_list(void)
{
    kc_lru *lru = kc_lru_create(ctx, N_KEYS, N_SLOTS);
    kc_rng rng = kc_rng_seed(3);
    plain p = {0};

    REQUIRE(lru != NULL);
    for (int32_t k = 0; k < N_KEYS; k++)
        p.rank[k] = -1;
    for (int step = 0; step < 20000; step++) {
        int32_t key = (int32_t)kc_rng_below(&rng, N_KEYS);
        if (kc_rng_below(&rng, 10) == 0) {
            kc_lru_drop(lru, key);
            p.rank[key] = -1;
        } else {
            want(lru, &p, key, (int32_t)kc_rng_below(&rng, KC_LRU_RANKS));
        }
        bool is_slot_taken[N_SLOTS] = {false};
        for (int32_t k = 0; k < N_KEYS; k++) {
            int32_t slot = kc_lru_find(lru, k);
            CHECK((slot != KC_LRU_MISS) == (p.rank[k] >= 0));
            if (slot == KC_LRU_MISS)
                continue;
            CHECK(slot < N_SLOTS && !is_slot_taken[slot]);
            is_slot_taken[slot] = true;
        }
    }
    kc_lru_free(ctx, lru);
}

static void a_limit_leaves_slots_undealt(void)
{
    kc_lru *lru = kc_lru_create(ctx, 10, 5);
    bool evicted;

    REQUIRE(lru != NULL);
    kc_lru_limit(lru, 2);
    for (int32_t key = 0; key < 2; key++) {
        CHECK(kc_lru_reserve(lru, key, 0, &evicted) == key && !evicted);
        kc_lru_publish(lru, key, 0);
    }
    CHECK(kc_lru_reserve(lru, 2, 0, &evicted) == 0 && evicted);
    kc_lru_publish(lru, 2, 0);
    kc_lru_limit(lru, 5);
    CHECK(kc_lru_reserve(lru, 3, 0, &evicted) == 2 && !evicted);
    kc_lru_free(ctx, lru);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(slots_never_used_are_dealt_in_ascending_order);
    RUN(an_unpublished_key_is_a_miss);
    RUN(the_least_recent_key_is_evicted);
    RUN(a_key_of_higher_rank_is_evicted_last);
    RUN(a_held_key_is_not_evicted);
    RUN(a_dropped_slot_is_dealt_again_first);
    RUN(a_limit_leaves_slots_undealt);
    RUN(a_long_random_use_agrees_with_a_searched_list);
    kc_context_free(ctx);
    return kc_test_end();
}
