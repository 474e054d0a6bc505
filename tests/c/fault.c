/* Blocks stand behind a header of one alignment that remembers what was asked for. */
#include "fault.h"

#include <stdlib.h>
#include <string.h>

#include "kc_test.h"

#define MAGIC 0x6b636661756c7421u
#define TOO_LARGE ((size_t)1 << 40) /* sanitizers end a program that asks for more */
#define PATTERN 0xff                /* all ones: a NaN as float and as double, -1 as an integer */

typedef struct header {
    uint64_t magic;
    size_t n_bytes;
    size_t alignment;
} header;

static header *find_header(void *ptr)
{
    return (header *)((char *)ptr - sizeof(header));
}

static bool must_fail(kc_fault *fault)
{
    size_t n = atomic_fetch_add(&fault->n_allocs, 1) + 1;
    size_t fail_at = atomic_load(&fault->fail_at);

    if (fail_at == 0 || n < fail_at)
        return false;
    if (n > fail_at && atomic_load(&fault->mode) == KC_FAULT_ONCE)
        return false;
    atomic_store(&fault->has_failed, true);
    return true;
}

static void *fault_alloc(void *data, size_t n_bytes, size_t alignment)
{
    kc_fault *fault = data;
    void *base;

    if (must_fail(fault) || alignment < sizeof(header) || n_bytes > TOO_LARGE ||
        posix_memalign(&base, alignment, n_bytes + alignment) != 0)
        return NULL;
    void *ptr = (char *)base + alignment;
    *find_header(ptr) = (header){MAGIC, n_bytes, alignment};
    memset(ptr, PATTERN, n_bytes);
    atomic_fetch_add(&fault->n_blocks, 1);
    atomic_fetch_add(&fault->n_bytes, n_bytes);
    return ptr;
}

static void fault_free(void *data, void *ptr, size_t n_bytes)
{
    kc_fault *fault = data;
    header *h = find_header(ptr);

    if (h->magic != MAGIC || h->n_bytes != n_bytes) {
        atomic_fetch_add(&fault->n_misuses, 1);
        return;
    }
    h->magic = 0;
    memset(ptr, PATTERN, n_bytes);
    atomic_fetch_sub(&fault->n_blocks, 1);
    atomic_fetch_sub(&fault->n_bytes, n_bytes);
    free((char *)ptr - h->alignment);
}

void kc_fault_init(kc_fault *fault)
{
    memset(fault, 0, sizeof *fault);
    fault->allocator = (kc_allocator){fault_alloc, fault_free, fault};
}

kc_context *kc_fault_context(kc_context_config config, kc_fault *fault)
{
    kc_context *ctx = NULL;

    config.struct_size = sizeof config;
    if (fault != NULL) {
        kc_fault_init(fault);
        config.allocator = &fault->allocator;
    }
    CHECK(kc_context_create(&config, &ctx, NULL) == KC_OK);
    return ctx;
}

void kc_fault_arm(kc_fault *fault, size_t n, kc_fault_mode mode)
{
    atomic_store(&fault->has_failed, false);
    atomic_store(&fault->mode, mode);
    atomic_store(&fault->n_allocs, 0);
    atomic_store(&fault->fail_at, n);
}

bool kc_fault_disarm(kc_fault *fault)
{
    atomic_store(&fault->fail_at, 0);
    return atomic_load(&fault->has_failed);
}

bool kc_fault_is_clean(const kc_fault *fault)
{
    return atomic_load(&fault->n_blocks) == 0 && atomic_load(&fault->n_bytes) == 0 &&
           atomic_load(&fault->n_misuses) == 0;
}
