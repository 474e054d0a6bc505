/* Counted blocks.  A block begins with a header of one cache line that holds its size, so that
 * kc_free needs no size and the payload stays aligned.  What is counted, and held below the limit,
 * is what the allocator is asked for, header included. */
#include "base/kc_alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/kc_context.h"
#include "base/kc_os.h"

/* Blocks from this size on start on a huge page and ask for huge ones: fresh memory then costs a
 * fifth to touch, and the rows of a large Gram matrix miss the TLB less. */
#define HUGE_BLOCK ((size_t)1 << 21)

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

static void raise_peak(kc_context *ctx, size_t now)
{
    size_t peak = atomic_load(&ctx->peak);

    while (now > peak && !atomic_compare_exchange_weak(&ctx->peak, &peak, now))
        continue;
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
    return block;
}

void *kc_alloc(kc_context *ctx, size_t count, size_t size)
{
    size_t n_bytes;

    /* Beyond PTRDIFF_MAX, differences of pointers into the block would overflow. */
    if (!kc_mul_size(count, size, &n_bytes) || n_bytes > PTRDIFF_MAX - sizeof(header))
        return NULL;
    n_bytes += sizeof(header);
    header *block = take_block(ctx, n_bytes);
    if (block == NULL && kc_context_drop_spare(ctx))
        block = take_block(ctx, n_bytes);
    if (block == NULL)
        return NULL;
    block->n_bytes = n_bytes;
    return block + 1;
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

    ctx->allocator.free(ctx->allocator.data, block, n_bytes);
    atomic_fetch_sub(&ctx->current, n_bytes);
}
