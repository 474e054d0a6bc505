/* base/kc_arena.h: pieces that do not overlap, marks that hold, one block that remains. */
#include "base/kc_arena.h"

#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_rng.h"
#include "fault.h"
#include "kc_test.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

static kc_context *make_context(size_t memory_limit, kc_fault *fault)
{
    return kc_fault_context((kc_context_config){.memory_limit = memory_limit}, fault);
}

static void end_context(kc_context *ctx, kc_arena *arena, const kc_fault *fault)
{
    kc_arena_free(ctx, arena);
    CHECK(kc_context_memory(ctx).current == 0);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(fault));
}

/* A piece filled with a byte of its own, and whether it still is. */
typedef struct piece {
    unsigned char *at;
    size_t n_bytes;
    unsigned char byte;
} piece;

static piece take_piece(kc_arena *arena, size_t n_bytes, unsigned char byte)
{
    piece p = {kc_arena_take(arena, n_bytes, 1), n_bytes, byte};

    CHECK(p.at != NULL && (uintptr_t)p.at % KC_ALIGN == 0);
    if (p.at != NULL)
        memset(p.at, byte, n_bytes);
    return p;
}

static bool is_whole(piece p)
{
    for (size_t i = 0; i < p.n_bytes; i++) {
        if (p.at[i] != p.byte)
            return false;
    }
    return true;
}

static void pieces_are_aligned_and_do_not_overlap(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);
    kc_arena *arena = kc_arena_create(ctx);
    kc_rng rng = kc_rng_seed(1);
    piece pieces[300];

    REQUIRE(arena != NULL);
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < 300; i++) {
            size_t most = kc_rng_below(&rng, 20) == 0 ? 300000 : 500;

            pieces[i] = take_piece(arena, (size_t)kc_rng_below(&rng, most), (unsigned char)i);
        }
        for (size_t i = 0; i < 300; i++)
            CHECK(is_whole(pieces[i]));
        kc_arena_reset(arena);
    }
    end_context(ctx, arena, &fault);
}

static void a_round_like_the_last_one_allocates_nothing(void)
{
    static const size_t sizes[] = {100, 1 << 20, 1, 5 << 20, 70000, 300000};
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);
    kc_arena *arena = kc_arena_create(ctx);

    REQUIRE(arena != NULL);
    for (int round = 0; round < 4; round++) {
        kc_fault_arm(&fault, 0, KC_FAULT_ONCE); /* counts from here */
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            take_piece(arena, sizes[i], 1);
        kc_arena_reset(arena);
        CHECK(round == 0 || atomic_load(&fault.n_allocs) == 0);
        CHECK(atomic_load(&fault.n_blocks) == 3); /* context, arena, one block */
    }
    end_context(ctx, arena, &fault);
}

static void an_immodest_round_leaves_nothing_behind(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);
    kc_arena *arena = kc_arena_create(ctx);

    REQUIRE(arena != NULL);
    size_t empty = kc_context_memory(ctx).current;
    CHECK(kc_arena_take(arena, 40 << 20, 1) != NULL);
    CHECK(kc_arena_take(arena, 40 << 20, 1) != NULL);
    kc_arena_reset(arena);
    CHECK(kc_context_memory(ctx).current == empty);
    CHECK(kc_arena_take(arena, 40 << 20, 1) != NULL);
    kc_arena_reset(arena); /* but this much is kept */
    CHECK(kc_context_memory(ctx).current > 40 << 20);
    end_context(ctx, arena, &fault);
}

static void what_was_taken_before_a_mark_survives_its_release(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);
    kc_arena *arena = kc_arena_create(ctx);
    kc_rng rng = kc_rng_seed(5);
    piece kept[50];

    REQUIRE(arena != NULL);
    for (size_t i = 0; i < 50; i++) {
        kept[i] = take_piece(arena, (size_t)kc_rng_below(&rng, 9000), (unsigned char)i);
        kc_arena_point outer = kc_arena_mark(arena);
        take_piece(arena, (size_t)kc_rng_below(&rng, 200000), 0xee);
        kc_arena_point inner = kc_arena_mark(arena);
        for (int k = 0; k < 5; k++)
            take_piece(arena, (size_t)kc_rng_below(&rng, 200000), 0xdd);
        if (i % 2 == 0) /* the outer release covers the inner one */
            kc_arena_release(arena, inner);
        kc_arena_release(arena, outer);
    }
    for (size_t i = 0; i < 50; i++)
        CHECK(is_whole(kept[i]));
    end_context(ctx, arena, &fault);
}

static void a_released_piece_is_dealt_again(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);
    kc_arena *arena = kc_arena_create(ctx);

    REQUIRE(arena != NULL);
    take_piece(arena, 100, 1);
    kc_arena_point point = kc_arena_mark(arena);
    void *first = kc_arena_take(arena, 1000, 1);
    kc_arena_release(arena, point);
    CHECK(kc_arena_take(arena, 1000, 1) == first);
    end_context(ctx, arena, &fault);
}

static void rounds_of_large_pieces_reuse_one_block(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);
    kc_arena *arena = kc_arena_create(ctx);

    REQUIRE(arena != NULL);
    take_piece(arena, 100, 1);
    for (int round = 0; round < 10; round++) {
        kc_arena_point point = kc_arena_mark(arena);

        if (round == 1)
            kc_fault_arm(&fault, 0, KC_FAULT_ONCE);
        take_piece(arena, 3 << 20, 2);
        kc_arena_release(arena, point);
    }
    CHECK(atomic_load(&fault.n_allocs) == 0);
    end_context(ctx, arena, &fault);
}

static void a_mark_of_an_empty_arena_releases_everything(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);
    kc_arena *arena = kc_arena_create(ctx);

    REQUIRE(arena != NULL);
    kc_arena_point point = kc_arena_mark(arena);
    for (int i = 0; i < 5; i++)
        take_piece(arena, 1 << 20, 1);
    kc_arena_release(arena, point);
    CHECK(atomic_load(&fault.n_blocks) == 3);
    end_context(ctx, arena, &fault);
}

static void sizes_that_do_not_fit_are_refused(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);
    kc_arena *arena = kc_arena_create(ctx);

    REQUIRE(arena != NULL);
    CHECK(kc_arena_take(arena, SIZE_MAX, 2) == NULL);
    CHECK(kc_arena_take(arena, SIZE_MAX / 2 + 1, 2) == NULL);
    CHECK(kc_arena_take(arena, SIZE_MAX, 1) == NULL);
    for (size_t below = 0; below < 300; below++)
        CHECK(kc_arena_take(arena, (size_t)PTRDIFF_MAX - below, 1) == NULL);
    CHECK(kc_arena_take(arena, 0, 8) != NULL); /* NULL means no memory, and nothing else */
    take_piece(arena, 100, 1);
    end_context(ctx, arena, &fault);
}

static void a_tight_limit_is_used_to_the_last_piece(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(300000, &fault);
    kc_arena *arena = kc_arena_create(ctx);
    size_t n_taken = 0;

    REQUIRE(arena != NULL);
    while (kc_arena_take(arena, 1000, 1) != NULL)
        n_taken++;
    CHECK(n_taken >= 265); /* of 300: comfortable blocks alone would end at 256 */
    CHECK(kc_context_memory(ctx).peak <= 300000);
    kc_arena_reset(arena);
    CHECK(kc_arena_take(arena, 200000, 1) != NULL);
    end_context(ctx, arena, &fault);
}

static void every_failed_allocation_is_survived(void)
{
    for (int mode = KC_FAULT_ONCE; mode <= KC_FAULT_ALL; mode++) {
        bool has_failed = true;

        for (size_t n = 1; has_failed; n++) {
            kc_fault fault;
            kc_context *ctx = make_context(0, &fault);

            kc_fault_arm(&fault, n, (kc_fault_mode)mode);
            kc_arena *arena = kc_arena_create(ctx);
            if (arena != NULL) {
                void *kept = kc_arena_take(arena, 50000, 1);
                kc_arena_point point = kc_arena_mark(arena);
                (void)kc_arena_take(arena, 80000, 1);
                (void)kc_arena_take(arena, 3 << 20, 1);
                kc_arena_release(arena, point);
                (void)kc_arena_take(arena, 4 << 20, 1);
                if (kept != NULL)
                    memset(kept, 1, 50000);
                kc_arena_reset(arena);
            }
            has_failed = kc_fault_disarm(&fault);
            if (arena != NULL)
                take_piece(arena, 1 << 20, 1);
            end_context(ctx, arena, &fault);
            CHECK(n < 20);
        }
    }
}

#if defined(__SANITIZE_ADDRESS__)
static void the_sanitizer_sees_reads_past_a_piece_and_after_its_release(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);
    kc_arena *arena = kc_arena_create(ctx);

    REQUIRE(arena != NULL);
    kc_arena_point point = kc_arena_mark(arena);
    char *first = kc_arena_take(arena, 128, 1);
    char *second = kc_arena_take(arena, 61, 1);
    CHECK(!__asan_address_is_poisoned(first) && !__asan_address_is_poisoned(first + 127));
    CHECK(__asan_address_is_poisoned(first + 128));
    CHECK(!__asan_address_is_poisoned(second + 60) && __asan_address_is_poisoned(second + 61));
    kc_arena_release(arena, point);
    CHECK(__asan_address_is_poisoned(first));
    end_context(ctx, arena, &fault);
}
#endif

int main(void)
{
    RUN(pieces_are_aligned_and_do_not_overlap);
    RUN(a_round_like_the_last_one_allocates_nothing);
    RUN(an_immodest_round_leaves_nothing_behind);
    RUN(what_was_taken_before_a_mark_survives_its_release);
    RUN(a_released_piece_is_dealt_again);
    RUN(rounds_of_large_pieces_reuse_one_block);
    RUN(a_mark_of_an_empty_arena_releases_everything);
    RUN(sizes_that_do_not_fit_are_refused);
    RUN(a_tight_limit_is_used_to_the_last_piece);
    RUN(every_failed_allocation_is_survived);
#if defined(__SANITIZE_ADDRESS__)
    RUN(the_sanitizer_sees_reads_past_a_piece_and_after_its_release);
#endif
    return kc_test_end();
}
