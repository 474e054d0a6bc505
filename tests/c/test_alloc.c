/* base/kc_alloc.h: aligned, counted, limited. */
#include "base/kc_alloc.h"

#include <pthread.h>
#include <string.h>

#include "base/kc_arena.h"
#include "base/kc_call.h"
#include "base/kc_context.h"
#include "base/kc_memory.h"
#include "base/kc_rng.h"
#include "fault.h"
#include "kc_test.h"

static kc_context *make_context(size_t memory_limit, kc_fault *fault)
{
    return kc_fault_context((kc_context_config){.memory_limit = memory_limit}, fault);
}

static void blocks_of_any_size_are_aligned_and_writable(void)
{
    kc_context *ctx = make_context(0, NULL);
    static const size_t sizes[] = {
        0,       1,       63,      64,      65, 4095, 4096, 1 << 20, (2 << 20) - 64, (2 << 20) - 63,
        2 << 20, 3 << 20, 5000000, 33 << 20};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *block = kc_alloc(ctx, sizes[i], 1);

        REQUIRE(block != NULL);
        CHECK((uintptr_t)block % KC_ALIGN == 0);
        memset(block, 0xa5, sizes[i]);
        CHECK(sizes[i] == 0 || block[sizes[i] - 1] == 0xa5);
        kc_free(ctx, block);
    }
    CHECK(kc_context_memory(ctx).current == 0);
    kc_context_free(ctx);
}

static void zeroed_blocks_are_zero_where_memory_was_not(void)
{
    kc_fault fault; /* its memory is never zero */
    kc_context *ctx = make_context(0, &fault);
    unsigned char *block = kc_calloc(ctx, 1000, 3);
    size_t n_other = 0;

    REQUIRE(block != NULL);
    for (size_t i = 0; i < 3000; i++)
        n_other += block[i] != 0;
    CHECK(n_other == 0);
    kc_free(ctx, block);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
}

static void products_that_do_not_fit_are_refused(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);

    kc_fault_arm(&fault, 0, KC_FAULT_ONCE);
    CHECK(kc_alloc(ctx, SIZE_MAX, 2) == NULL);
    CHECK(kc_alloc(ctx, SIZE_MAX / 2 + 1, 2) == NULL); /* the product is 0 modulo 2^64 */
    CHECK(kc_alloc(ctx, SIZE_MAX, 1) == NULL);         /* with the header: 63 */
    CHECK(kc_alloc(ctx, PTRDIFF_MAX, 1) == NULL);
    CHECK(kc_calloc(ctx, SIZE_MAX / 8 + 2, 8) == NULL);
    CHECK(atomic_load(&fault.n_allocs) == 0); /* the allocator was not even asked */
    CHECK(kc_context_memory(ctx).current == 0 && kc_context_memory(ctx).peak == 0);
    kc_context_free(ctx);
}

static void freeing_nothing_is_legal(void)
{
    kc_context *ctx = make_context(0, NULL);

    kc_free(ctx, NULL);
    kc_context_free(ctx);
    kc_context_free(NULL);
}

static void the_count_is_what_the_allocator_was_asked_for(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);
    size_t own = atomic_load(&fault.n_bytes); /* the context itself */
    size_t most = 0;
    void *blocks[100] = {NULL};
    kc_rng rng = kc_rng_seed(1);

    for (int i = 0; i < 2000; i++) {
        size_t k = (size_t)kc_rng_below(&rng, 100);

        kc_free(ctx, blocks[k]);
        blocks[k] =
            kc_rng_below(&rng, 2) ? kc_alloc(ctx, (size_t)kc_rng_below(&rng, 3000), 8) : NULL;
        size_t held = atomic_load(&fault.n_bytes) - own;
        most = kc_max(most, held);
        CHECK(kc_context_memory(ctx).current == held);
        CHECK(kc_context_memory(ctx).peak == most);
    }
    for (size_t k = 0; k < 100; k++)
        kc_free(ctx, blocks[k]);
    CHECK(kc_context_memory(ctx).current == 0);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
}

static void the_limit_is_reached_exactly_and_never_passed(void)
{
    for (size_t limit = 200; limit < 400; limit++) {
        kc_context *ctx = make_context(limit, NULL);
        size_t n = limit;
        void *block;

        while ((block = kc_alloc(ctx, n, 1)) == NULL && n > 0) /* the largest that fits */
            n--;
        REQUIRE(block != NULL);
        CHECK(kc_context_memory(ctx).current == limit);
        CHECK(kc_alloc(ctx, 0, 1) == NULL);
        CHECK(kc_context_memory(ctx).peak == limit);
        kc_free(ctx, block);
        block = kc_alloc(ctx, n, 1);
        CHECK(block != NULL);
        kc_free(ctx, block);
        kc_context_free(ctx);
    }
}

typedef struct pressure {
    kc_context *ctx;
    size_t limit;
    atomic_size_t n_refused;
} pressure;

static void *press(void *data)
{
    pressure *p = data;
    kc_rng rng = kc_rng_seed((uintptr_t)&rng);
    void *blocks[8] = {NULL};

    for (int i = 0; i < 20000; i++) {
        size_t k = (size_t)i % 8;

        kc_free(p->ctx, blocks[k]);
        blocks[k] = kc_alloc(p->ctx, (size_t)kc_rng_below(&rng, 2000), 1);
        if (blocks[k] == NULL)
            atomic_fetch_add(&p->n_refused, 1);
        CHECK(kc_context_memory(p->ctx).current <= p->limit);
    }
    for (size_t k = 0; k < 8; k++)
        kc_free(p->ctx, blocks[k]);
    return NULL;
}

static void the_limit_holds_when_threads_race_for_it(void)
{
    pressure p = {.limit = 8000}; /* one thread alone would like about as much */
    pthread_t threads[4];

    p.ctx = make_context(p.limit, NULL);
    for (size_t i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, press, &p) == 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&p.n_refused) > 0);
    CHECK(kc_context_memory(p.ctx).peak <= p.limit);
    CHECK(kc_context_memory(p.ctx).current == 0);
    kc_context_free(p.ctx);
}

static void a_refused_allocation_counts_for_nothing(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);

    kc_fault_arm(&fault, 1, KC_FAULT_ONCE);
    CHECK(kc_alloc(ctx, 1000, 1) == NULL);
    CHECK(kc_fault_disarm(&fault));
    CHECK(kc_context_memory(ctx).current == 0);
    CHECK(kc_context_memory(ctx).peak == 0);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
}

/* Leaves an arena with about n_bytes in the context. */
static void leave_spare(kc_context *ctx, size_t n_bytes)
{
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "fill", NULL) == KC_OK);
    CHECK(kc_call_take(&call, n_bytes, 1) != NULL);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    CHECK(kc_context_memory(ctx).current >= n_bytes);
}

static void the_arena_kept_for_the_next_call_is_given_up_before_memory_is_refused(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(1 << 20, &fault);

    leave_spare(ctx, 700000); /* the limit stands in the way */
    void *block = kc_alloc(ctx, 1000000, 1);
    CHECK(block != NULL);
    CHECK(kc_context_memory(ctx).peak <= 1 << 20);
    kc_free(ctx, block);
    CHECK(kc_context_memory(ctx).current == 0);

    leave_spare(ctx, 700000); /* the allocator does */
    kc_fault_arm(&fault, 1, KC_FAULT_ONCE);
    block = kc_alloc(ctx, 100, 1);
    CHECK(kc_fault_disarm(&fault));
    CHECK(block != NULL);
    kc_free(ctx, block);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
}

/* ---- Large blocks kept for the next need ----------------------------------------------------- */

static void a_large_block_serves_the_next_need_of_its_size(void)
{
    const size_t n_bytes = (size_t)8 << 20;
    kc_context *ctx = make_context(0, NULL);
    void *block = kc_alloc(ctx, n_bytes, 1);
    void *first = block;

    REQUIRE(block != NULL);
    kc_free(ctx, block);
    CHECK(kc_context_memory(ctx).current == 0);
    block = kc_alloc(ctx, n_bytes / 2, 1); /* too small a need */
    CHECK(block != NULL && (block != first || KC_ASAN));
    kc_free(ctx, block);
    block = kc_alloc(ctx, n_bytes - 1000, 1);
    CHECK(block == first || KC_ASAN);
    CHECK(kc_context_memory(ctx).current >= n_bytes - 1000);
    kc_free(ctx, block);
    CHECK(kc_context_memory(ctx).current == 0);
    CHECK(kc_alloc_trim(ctx) != KC_ASAN);
    CHECK(!kc_alloc_trim(ctx));
    kc_context_free(ctx);
}

/* Memory that was held at once may be kept, up to a quarter of what is available, or 512 MiB; it is
 * not touched, so none is taken. */
static void the_shelf_has_an_end(void)
{
    kc_context *ctx = make_context(0, NULL);
    const double most = fmax(kc_memory_available(ctx) / 4, 512 * 0x1p20);
    const size_t n_bytes = (size_t)(most / 16);
    void *blocks[20];

    for (size_t i = 0; i < 20; i++) {
        blocks[i] = kc_alloc(ctx, n_bytes, 1);
        REQUIRE(blocks[i] != NULL);
    }
    for (size_t i = 0; i < 20; i++)
        kc_free(ctx, blocks[i]);
    const double kept = (double)atomic_load(&ctx->shelf_bytes);
    CHECK(kept <= 17 * (double)n_bytes); /* of 20: others may have freed some memory meanwhile */
    CHECK(kept >= 512 * 0x1p20 * 13 / 16 || KC_ASAN);
    kc_context_free(ctx);
}

/* What is kept and what is held are never more than was held at once and 64 MiB. */
static void the_shelf_makes_no_process_larger_than_it_was(void)
{
    const size_t n_bytes = (size_t)100 << 20;
    kc_context *ctx = make_context(0, NULL);

    for (size_t grown = n_bytes; grown < 4 * n_bytes; grown += n_bytes / 2) {
        void *block = kc_alloc(ctx, grown, 1);

        REQUIRE(block != NULL);
        const kc_memory memory = kc_context_memory(ctx);
        CHECK(memory.current + atomic_load(&ctx->shelf_bytes) <= memory.peak + ((size_t)64 << 20));
        kc_free(ctx, block);
        CHECK(atomic_load(&ctx->shelf_bytes) <= memory.peak + ((size_t)64 << 20));
    }
    kc_context_free(ctx);
}

/* The largest block that was used comes back to the next one of its size, whatever smaller ones
 * were freed before it or are wanted before it. */
static void large_blocks_stay_on_the_shelf_before_small_ones(void)
{
    const size_t large = (size_t)300 << 20, small = (size_t)30 << 20;
    kc_context *ctx = make_context(0, NULL);
    void *blocks[8];

    for (size_t i = 0; i < 8; i++)
        blocks[i] = kc_alloc(ctx, small, 1);
    for (size_t i = 0; i < 8; i++)
        kc_free(ctx, blocks[i]);
    void *used = kc_alloc(ctx, large, 1);
    REQUIRE(used != NULL);
    kc_free(ctx, used);
    CHECK(atomic_load(&ctx->shelf_bytes) >= large || KC_ASAN);
    for (size_t i = 0; i < 2; i++)
        blocks[i] = kc_alloc(ctx, 2 * small, 1); /* of no size that is there */
    CHECK(atomic_load(&ctx->shelf_bytes) >= large || KC_ASAN);
    for (size_t i = 0; i < 2; i++)
        kc_free(ctx, blocks[i]);
    kc_context_free(ctx);
}

/* Pages that were offered to the system can be written to and read as any others. */
static void a_block_from_the_shelf_is_as_good_as_new(void)
{
    const size_t n_bytes = (size_t)260 << 20;
    kc_context *ctx = make_context(0, NULL);

    for (int round = 0; round < 3; round++) {
        unsigned char *block = kc_alloc(ctx, n_bytes, 1);

        REQUIRE(block != NULL);
        for (size_t k = 0; k < n_bytes; k += (size_t)1 << 20)
            block[k] = (unsigned char)(round + 1);
        for (size_t k = 0; k < n_bytes; k += (size_t)1 << 20)
            CHECK(block[k] == round + 1);
        kc_free(ctx, block);
    }
    kc_context_free(ctx);
}

static void nothing_is_kept_of_a_callers_allocator_or_below_a_limit(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(0, &fault);

    kc_free(ctx, kc_alloc(ctx, (size_t)8 << 20, 1));
    CHECK(!kc_alloc_trim(ctx));
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
    ctx = make_context((size_t)1 << 30, NULL);
    kc_free(ctx, kc_alloc(ctx, (size_t)8 << 20, 1));
    CHECK(!kc_alloc_trim(ctx));
    kc_context_free(ctx);
}

int main(void)
{
    RUN(blocks_of_any_size_are_aligned_and_writable);
    RUN(zeroed_blocks_are_zero_where_memory_was_not);
    RUN(products_that_do_not_fit_are_refused);
    RUN(freeing_nothing_is_legal);
    RUN(the_count_is_what_the_allocator_was_asked_for);
    RUN(the_limit_is_reached_exactly_and_never_passed);
    RUN(the_limit_holds_when_threads_race_for_it);
    RUN(a_refused_allocation_counts_for_nothing);
    RUN(the_arena_kept_for_the_next_call_is_given_up_before_memory_is_refused);
    RUN(a_large_block_serves_the_next_need_of_its_size);
    RUN(the_shelf_has_an_end);
    RUN(the_shelf_makes_no_process_larger_than_it_was);
    RUN(large_blocks_stay_on_the_shelf_before_small_ones);
    RUN(a_block_from_the_shelf_is_as_good_as_new);
    RUN(nothing_is_kept_of_a_callers_allocator_or_below_a_limit);
    return kc_test_end();
}
