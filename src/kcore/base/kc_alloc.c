/* Counted blocks.  A block begins with a header of one cache line that holds its size, so that
 * kc_free needs no size and the payload stays aligned.  What is counted, and held below the limit,
 * is what the allocator is asked for, header included.
 *
 * Large blocks of the system's memory are not given back at once but shelved for the next one of
 * their size: the system clears every page it hands out, a tenth of the time of some fits.  Shelved
 * blocks are not counted.  Where a limit or an allocator of the caller's is set, and under
 * AddressSanitizer, nothing is shelved. */
#include "base/kc_alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/kc_context.h"
#include "base/kc_os.h"

/* Blocks from this size on start on a huge page and ask for huge ones: fresh memory then costs a
 * fifth to touch, and the rows of a large Gram matrix miss the TLB less. */
#define HUGE_BLOCK ((size_t)1 << 21)

/* Blocks from this size on are shelved, as many bytes as this at the most. */
#define SHELVED_BLOCK ((size_t)1 << 18)
#define SHELF_BYTES ((size_t)64 << 20)

/* A shelved block serves a need that is smaller by up to this share of the need. */
#define SHELF_SLACK 4

typedef struct header {
    _Alignas(KC_ALIGN) size_t n_bytes; /* of header and payload */
} header;

static void *system_alloc(void *data, size_t n_bytes, size_t alignment)
{
    void *block;

    (void)data;
    if (posix_memalign(&block, n_bytes >= HUGE_BLOCK ? HUGE_BLOCK : alignment, n_bytes) != 0)
        return NULL;
    if (n_bytes >= HUGE_BLOCK)
        kc_os_use_huge_pages(block, n_bytes);
    return block;
}

static void system_free(void *data, void *ptr, size_t n_bytes)
{
    (void)data;
    (void)n_bytes;
    free(ptr);
}

const kc_allocator kc_system_allocator = {system_alloc, system_free, NULL};

/* Counts n_bytes more, unless that would pass the limit; *now gets the new count. */
static bool reserve_bytes(kc_context *ctx, size_t n_bytes, size_t *now)
{
    size_t held = atomic_load(&ctx->current);

    do {
        if (held > ctx->memory_limit || n_bytes > ctx->memory_limit - held)
            return false;
    } while (!atomic_compare_exchange_weak(&ctx->current, &held, held + n_bytes));
    *now = held + n_bytes;
    return true;
}

static void raise_to(atomic_size_t *peak, size_t now)
{
    size_t seen = atomic_load(peak);

    while (now > seen && !atomic_compare_exchange_weak(peak, &seen, now))
        continue;
}

static void raise_peak(kc_context *ctx, size_t now)
{
    raise_to(&ctx->peak, now);
    raise_to(&ctx->recent_peak, now);
}

/* ---- The shelf ------------------------------------------------------------------------------ */

/* False where the shelf is full. */
static bool shelve(kc_context *ctx, header *block)
{
    size_t held = atomic_load(&ctx->shelf_bytes);

    do {
        if (block->n_bytes > SHELF_BYTES - held)
            return false;
    } while (!atomic_compare_exchange_weak(&ctx->shelf_bytes, &held, held + block->n_bytes));
    for (size_t i = 0; i < KC_SHELF_PLACES; i++) {
        void *none = NULL;

        if (atomic_compare_exchange_strong(&ctx->shelf[i], &none, block))
            return true;
    }
    atomic_fetch_sub(&ctx->shelf_bytes, block->n_bytes);
    return false;
}

static header *unshelve(kc_context *ctx, size_t place)
{
    header *block = atomic_exchange(&ctx->shelf[place], NULL);

    if (block != NULL)
        atomic_fetch_sub(&ctx->shelf_bytes, block->n_bytes);
    return block;
}

static void free_now(kc_context *ctx, header *block)
{
    ctx->allocator.free(ctx->allocator.data, block, block->n_bytes);
}

static bool has_shelf(const kc_context *ctx)
{
    return !KC_ASAN && ctx->memory_limit == SIZE_MAX && ctx->allocator.alloc == system_alloc;
}

/* A shelved block of n_bytes or a little more, or NULL. */
static header *find_shelved(kc_context *ctx, size_t n_bytes)
{
    for (size_t i = 0; i < KC_SHELF_PLACES && n_bytes >= SHELVED_BLOCK; i++) {
        header *block = unshelve(ctx, i);

        if (block == NULL)
            continue;
        if (block->n_bytes >= n_bytes && block->n_bytes - n_bytes <= n_bytes / SHELF_SLACK)
            return block;
        if (!shelve(ctx, block))
            free_now(ctx, block);
    }
    return NULL;
}

/* Gives back shelved blocks until at most so many bytes are left there. */
static bool trim_to(kc_context *ctx, size_t most)
{
    bool was_any = false;

    for (size_t i = 0; i < KC_SHELF_PLACES && atomic_load(&ctx->shelf_bytes) > most; i++) {
        header *block = unshelve(ctx, i);

        if (block != NULL)
            free_now(ctx, block);
        was_any |= block != NULL;
    }
    return was_any;
}

bool kc_alloc_trim(kc_context *ctx)
{
    return trim_to(ctx, 0);
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static header *take_shelved(kc_context *ctx, size_t n_bytes)
{
    header *block = has_shelf(ctx) ? find_shelved(ctx, n_bytes) : NULL;

    if (block != NULL)
        raise_peak(ctx, atomic_fetch_add(&ctx->current, block->n_bytes) + block->n_bytes);
    return block;
}

static header *take_block(kc_context *ctx, size_t n_bytes)
{
    size_t now;

    if (!reserve_bytes(ctx, n_bytes, &now))
        return NULL;
    header *block = ctx->allocator.alloc(ctx->allocator.data, n_bytes, KC_ALIGN);
    if (block == NULL) {
        atomic_fetch_sub(&ctx->current, n_bytes);
        return NULL;
    }
    raise_peak(ctx, now);
    block->n_bytes = n_bytes;
    return block;
}

void *kc_alloc(kc_context *ctx, size_t count, size_t size)
{
    size_t n_bytes;

    /* Beyond PTRDIFF_MAX, differences of pointers into the block would overflow. */
    if (!kc_mul_size(count, size, &n_bytes) || n_bytes > PTRDIFF_MAX - sizeof(header))
        return NULL;
    n_bytes += sizeof(header);
    header *block = take_shelved(ctx, n_bytes);
    if (block == NULL) {
        if (n_bytes >= HUGE_BLOCK) /* what grows would leave its smaller selves there */
            trim_to(ctx, n_bytes < SHELF_BYTES ? SHELF_BYTES - n_bytes : 0);
        block = take_block(ctx, n_bytes);
    }
    if (block == NULL && kc_context_drop_spare(ctx))
        block = take_block(ctx, n_bytes);
    return block != NULL ? block + 1 : NULL;
}

void *kc_calloc(kc_context *ctx, size_t count, size_t size)
{
    void *ptr = kc_alloc(ctx, count, size);

    return ptr != NULL ? memset(ptr, 0, count * size) : NULL;
}

void kc_free(kc_context *ctx, void *ptr)
{
    if (ptr == NULL)
        return;
    header *block = (header *)ptr - 1;
    size_t n_bytes = block->n_bytes;

    if (n_bytes < SHELVED_BLOCK || !has_shelf(ctx) || !shelve(ctx, block))
        free_now(ctx, block);
    atomic_fetch_sub(&ctx->current, n_bytes);
}
