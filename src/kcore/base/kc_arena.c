/* Blocks in a chain, pieces cut from the newest one.
 *
 * Within a call, blocks given back by kc_arena_release are not returned but the largest is kept
 * aside, so that work in rounds does not pay for fresh pages in every round.  Between calls, one
 * block remains that holds all that the last call took, so that the next call like it allocates
 * nothing.  Under AddressSanitizer the parts that are not taken are poisoned, and a gap stands
 * between pieces. */
#include "base/kc_arena.h"

#include "base/kc_alloc.h"
#include "base/kc_context.h"

#if KC_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(ptr, n) ASAN_POISON_MEMORY_REGION(ptr, n)
#define UNPOISON(ptr, n) ASAN_UNPOISON_MEMORY_REGION(ptr, n)
#define GAP KC_ALIGN
#else
#define POISON(ptr, n) ((void)(ptr), (void)(n))
#define UNPOISON(ptr, n) ((void)(ptr), (void)(n))
#define GAP 0
#endif

/* A new block is as large as all before it together, so that their number stays small, within: */
#define BLOCK_MIN ((size_t)1 << 16)
#define BLOCK_MAX ((size_t)1 << 20) /* beyond, growth by doubling wastes more than it saves */

/* The most that stays with the context between calls. */
#define KEEP_MAX ((size_t)64 << 20)

typedef struct block {
    _Alignas(KC_ALIGN) struct block *older;
    size_t n_bytes; /* of the payload */
    size_t used;
    size_t before; /* used bytes of all older blocks */
} block;

struct kc_arena {
    kc_context *ctx;
    block *newest;
    block *aside; /* released, kept for the next need */
    size_t most;  /* the most that was in use at once since the last reset */
};

static char *payload(block *b)
{
    return (char *)(b + 1);
}

static block *create_block(kc_context *ctx, size_t n_bytes)
{
    if (n_bytes > PTRDIFF_MAX - sizeof(block))
        return NULL;
    block *b = kc_alloc(ctx, 1, sizeof *b + n_bytes);
    if (b != NULL) {
        b->n_bytes = n_bytes;
        POISON(payload(b), n_bytes);
    }
    return b;
}

static void free_block(kc_context *ctx, block *b)
{
    if (b != NULL)
        UNPOISON(payload(b), b->n_bytes);
    kc_free(ctx, b);
}

static size_t bytes_in_use(const kc_arena *arena)
{
    return arena->newest != NULL ? arena->newest->before + arena->newest->used : 0;
}

/* A block with room for n_bytes: the one kept aside, a comfortable new one, or one that just fits
 * where the memory limit leaves no more. */
static block *find_block(kc_arena *arena, size_t n_bytes)
{
    block *b = arena->aside;

    if (b != NULL && b->n_bytes >= n_bytes) {
        arena->aside = NULL;
        return b;
    }
    size_t comfortable = kc_min(kc_max(bytes_in_use(arena), BLOCK_MIN), BLOCK_MAX);
    b = create_block(arena->ctx, kc_max(n_bytes, comfortable));
    if (b == NULL) {
        free_block(arena->ctx, arena->aside);
        arena->aside = NULL;
        b = create_block(arena->ctx, n_bytes);
    }
    return b;
}

void *kc_arena_take(kc_arena *arena, size_t count, size_t size)
{
    size_t exact;

    if (!kc_mul_size(count, size, &exact) || exact > PTRDIFF_MAX - 2 * KC_ALIGN)
        return NULL;
    size_t n_bytes = kc_round_up(exact, KC_ALIGN) + GAP;
    block *b = arena->newest;
    if (b == NULL || b->n_bytes - b->used < n_bytes) {
        b = find_block(arena, n_bytes);
        if (b == NULL)
            return NULL;
        b->before = bytes_in_use(arena);
        b->used = 0;
        b->older = arena->newest;
        arena->newest = b;
    }
    char *piece = payload(b) + b->used;
    b->used += n_bytes;
    arena->most = kc_max(arena->most, bytes_in_use(arena));
    UNPOISON(piece, exact);
    return piece;
}

kc_arena_point kc_arena_mark(const kc_arena *arena)
{
    kc_arena_point point = {arena->newest, arena->newest != NULL ? arena->newest->used : 0};

    return point;
}

void kc_arena_release(kc_arena *arena, kc_arena_point point)
{
    while (arena->newest != point.block) {
        block *released = arena->newest;

        assert(released != NULL); /* else the point is not of this arena, or was released before */
        arena->newest = released->older;
        if (arena->aside != NULL && arena->aside->n_bytes >= released->n_bytes) {
            free_block(arena->ctx, released);
        } else {
            free_block(arena->ctx, arena->aside);
            arena->aside = released;
            POISON(payload(released), released->n_bytes);
        }
    }
    if (arena->newest != NULL) {
        assert(point.used <= arena->newest->used);
        arena->newest->used = point.used;
        POISON(payload(arena->newest) + point.used, arena->newest->n_bytes - point.used);
    }
}

kc_arena *kc_arena_create(kc_context *ctx)
{
    kc_arena *arena = kc_calloc(ctx, 1, sizeof *arena);

    if (arena != NULL)
        arena->ctx = ctx;
    return arena;
}

void kc_arena_free(kc_context *ctx, kc_arena *arena)
{
    if (arena == NULL)
        return;
    kc_arena_release(arena, (kc_arena_point){NULL, 0});
    free_block(ctx, arena->aside);
    kc_free(ctx, arena);
}

size_t kc_arena_kept(const kc_arena *arena)
{
    return arena->aside != NULL ? arena->aside->n_bytes : 0;
}

size_t kc_arena_max(const kc_arena *arena)
{
    return arena->most;
}

void kc_arena_reset(kc_arena *arena)
{
    size_t most = arena->most;

    /* Everything into the block kept aside: it is the largest, and stays if it holds enough. */
    kc_arena_release(arena, (kc_arena_point){NULL, 0});
    arena->most = 0;
    block *kept = arena->aside;
    if (kept != NULL && (kept->n_bytes < most || kept->n_bytes > KEEP_MAX)) {
        free_block(arena->ctx, kept);
        kept = most <= KEEP_MAX ? create_block(arena->ctx, most) : NULL;
    }
    arena->aside = kept;
}
