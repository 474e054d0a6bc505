/* Counted blocks.  A block begins with a header of one cache line that holds its size, so that
 * kc_free needs no size and the payload stays aligned.  What is counted, and held below the limit,
 * is what the allocator is asked for, header included.
 *
 * Large blocks of the system's memory are not given back at once but shelved for the next one of
 * their size: the system clears every page it hands out, a tenth of the time of some fits, and a
 * virtual machine may have to ask its host for it first, which takes many times as long.  Shelved
 * blocks are not counted; beyond SHELF_FIRM, the system may take their pages where it is short of
 * memory.  Where a limit or an allocator of the caller's is set, and under
 * AddressSanitizer, nothing is shelved. */
#include "base/kc_alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/kc_context.h"
#include "base/kc_memory.h"
#include "base/kc_os.h"

/* Blocks up to this size are aligned by hand; none where AddressSanitizer is to see their ends. */
#define SMALL_BLOCK ((size_t)1 << 16)

/* Blocks from this size on start on a huge page and ask for huge ones: fresh memory then costs a
 * fifth to touch, and the rows of a large Gram matrix miss the TLB less. */
#define HUGE_BLOCK ((size_t)1 << 21)

/* Blocks from this size on are shelved: SHELF_BYTES, and beyond them what brings memory back to the
 * most that was ever held at once, up to a quarter of the memory available, or SHELF_SURE.  So no
 * shelf makes a process larger than its needs have been, but by SHELF_BYTES.  Beyond SHELF_FIRM the
 * system may take them; where it cannot, SHELF_SURE is the most. */
#define SHELVED_BLOCK ((size_t)1 << 18)
#define SHELF_BYTES ((size_t)128 << 20)
#define SHELF_FIRM ((size_t)256 << 20)
#define SHELF_SURE ((size_t)512 << 20)
#define SHELF_SHARE 4

/* How much is available is asked for when a block of this size comes. */
#define SHELF_ASKING ((size_t)128 << 20)

/* A shelved block serves a need that is smaller by up to this share of the need. */
#define SHELF_SLACK 4

typedef struct header {
    _Alignas(KC_ALIGN) size_t n_bytes; /* of header and payload */
} header;

/* Of small blocks, which a fit of few samples takes many of, malloc keeps lists, and posix_memalign
 * does not: they are aligned here, behind the address that is to be freed. */
static bool is_small(size_t n_bytes)
{
    return !KC_ASAN && n_bytes < SMALL_BLOCK;
}

static void *small_alloc(size_t n_bytes, size_t alignment)
{
    char *memory = malloc(n_bytes + alignment + sizeof memory);
    uintptr_t begin = (uintptr_t)memory + sizeof memory;
    char *block;

    if (memory == NULL)
        return NULL;
    block = memory + sizeof memory + (alignment - begin % alignment) % alignment;
    memcpy(block - sizeof memory, &memory, sizeof memory);
    return block;
}

static void small_free(void *block)
{
    char *memory;

    memcpy(&memory, (char *)block - sizeof memory, sizeof memory);
    free(memory);
}

static void *system_alloc(void *data, size_t n_bytes, size_t alignment)
{
    void *block;

    (void)data;
    if (is_small(n_bytes))
        return small_alloc(n_bytes, alignment);
    if (posix_memalign(&block, n_bytes >= HUGE_BLOCK ? HUGE_BLOCK : alignment, n_bytes) != 0)
        return NULL;
    if (n_bytes >= HUGE_BLOCK)
        kc_os_use_huge_pages(block, n_bytes);
    return block;
}

static void system_free(void *data, void *ptr, size_t n_bytes)
{
    (void)data;
    if (is_small(n_bytes))
        small_free(ptr);
    else
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

/* What may be there while so many bytes are held. */
static size_t shelf_room(const kc_context *ctx, size_t held)
{
    size_t peak = atomic_load(&ctx->peak);
    size_t most = kc_max(atomic_load(&ctx->shelf_max), SHELF_SURE);

    return kc_min(SHELF_BYTES + peak - kc_min(held, peak), most);
}

/* Sees to how much that may be, now that the block is no longer needed. */
static void ask_for_room(kc_context *ctx, const header *block)
{
    double room = (kc_memory_available(ctx) + (double)block->n_bytes) / SHELF_SHARE;

    atomic_store(&ctx->shelf_max, room < (double)(SIZE_MAX / 2) ? (size_t)room : SIZE_MAX / 2);
}

/* False where there is none left. */
static bool find_place(kc_context *ctx, header *block)
{
    for (size_t i = 0; i < KC_SHELF_PLACES; i++) {
        void *none = NULL;

        if (atomic_compare_exchange_strong(&ctx->shelf[i], &none, block))
            return true;
    }
    return false;
}

static void free_now(kc_context *ctx, header *block)
{
    ctx->allocator.free(ctx->allocator.data, block, block->n_bytes);
}

/* Gives back the shelved blocks of up to `largest` bytes until at most `most` bytes are left. */
static bool trim_blocks(kc_context *ctx, size_t largest, size_t most)
{
    bool was_any = false;

    for (size_t i = 0; i < KC_SHELF_PLACES && atomic_load(&ctx->shelf_bytes) > most; i++) {
        header *block = atomic_exchange(&ctx->shelf[i], NULL);

        if (block == NULL || (block->n_bytes > largest && find_place(ctx, block)))
            continue;
        atomic_fetch_sub(&ctx->shelf_bytes, block->n_bytes);
        free_now(ctx, block);
        was_any = true;
    }
    return was_any;
}

/* The same, small ones first: what a block is worth is its size. */
static bool trim_to(kc_context *ctx, size_t largest, size_t most)
{
    bool was_any = false;

    for (size_t n_bytes = SHELVED_BLOCK; n_bytes < largest / 4; n_bytes *= 4)
        was_any |= trim_blocks(ctx, n_bytes, most);
    return trim_blocks(ctx, largest, most) || was_any;
}

/* Smaller blocks make room for it; false where that is not enough. */
static bool shelve(kc_context *ctx, header *block)
{
    if (block->n_bytes >= SHELF_ASKING)
        ask_for_room(ctx, block);
    size_t room = shelf_room(ctx, atomic_load(&ctx->current) - block->n_bytes);

    if (block->n_bytes <= room)
        trim_to(ctx, block->n_bytes / 2, room - block->n_bytes);
    size_t held = atomic_load(&ctx->shelf_bytes);
    do {
        if (held > room || block->n_bytes > room - held)
            return false;
    } while (!atomic_compare_exchange_weak(&ctx->shelf_bytes, &held, held + block->n_bytes));
    bool is_firm = held + block->n_bytes > SHELF_FIRM &&
                   !kc_os_offer_pages(block + 1, block->n_bytes - sizeof *block);
    bool is_kept = !is_firm || held + block->n_bytes <= SHELF_SURE;
    if (is_kept && find_place(ctx, block))
        return true;
    atomic_fetch_sub(&ctx->shelf_bytes, block->n_bytes);
    return false;
}

static bool has_shelf(const kc_context *ctx)
{
    return !KC_ASAN && ctx->memory_limit == SIZE_MAX && ctx->allocator.alloc == system_alloc;
}

/* A shelved block of n_bytes or a little more, or NULL. */
static header *find_shelved(kc_context *ctx, size_t n_bytes)
{
    for (size_t i = 0; i < KC_SHELF_PLACES && n_bytes >= SHELVED_BLOCK; i++) {
        header *block = atomic_exchange(&ctx->shelf[i], NULL);
        bool is_fit = block != NULL && block->n_bytes >= n_bytes &&
                      block->n_bytes - n_bytes <= n_bytes / SHELF_SLACK;

        if (block == NULL || (!is_fit && find_place(ctx, block)))
            continue;
        atomic_fetch_sub(&ctx->shelf_bytes, block->n_bytes);
        if (is_fit)
            return block;
        free_now(ctx, block);
    }
    return NULL;
}

bool kc_alloc_trim(kc_context *ctx)
{
    return trim_to(ctx, SIZE_MAX, 0);
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
        if (n_bytes >= HUGE_BLOCK) { /* what grows would leave its smaller selves there */
            size_t room = shelf_room(ctx, atomic_load(&ctx->current));
            trim_to(ctx, SIZE_MAX, n_bytes < room ? room - n_bytes : 0);
        }
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
