/* Creation and accounts of a context, cancel tokens, and structs of callers old and new. */
#include "base/kc_context.h"

#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_cpu.h"
#include "base/kc_isa.h"
#include "base/kc_pool.h"
#include "base/kc_spin_team.h"
#include "base/kc_status.h"

/* No struct of this interface will be larger: what says more was not filled in. */
#define STRUCT_MAX 4096

kc_status kc_struct_check(const void *to, size_t n_bytes, const char *name, kc_error *err)
{
    size_t size;

    memcpy(&size, to, sizeof size);
    if (size < sizeof size || size > STRUCT_MAX)
        return kc_fail(err, KC_ERR_ARG, "%s.struct_size is %zu, must be sizeof: %zu here", name,
                       size, n_bytes);
    return KC_OK;
}

void kc_struct_write(void *to, const void *from, size_t n_bytes)
{
    size_t size;

    memcpy(&size, to, sizeof size);
    memset(to, 0, size);
    memcpy(to, from, kc_min(size, n_bytes));
    memcpy(to, &size, sizeof size);
}

/* Whether what a newer caller has behind the n_bytes of this version is all zeros. */
static kc_status check_unknown(const void *from, size_t n_bytes, const char *name, kc_error *err)
{
    const unsigned char *bytes = from;
    size_t size;

    memcpy(&size, from, sizeof size);
    for (size_t i = n_bytes; i < size; i++)
        if (bytes[i] != 0)
            return kc_fail(err, KC_ERR_ARG,
                           "%s.struct_size is %zu with a field set that this version (%zu) does "
                           "not know",
                           name, size, n_bytes);
    return KC_OK;
}

kc_status kc_struct_read(void *to, size_t n_bytes, const void *from, const char *name,
                         kc_error *err)
{
    size_t size;

    memset(to, 0, n_bytes);
    if (from == NULL)
        return KC_OK;
    KC_TRY(kc_struct_check(from, n_bytes, name, err));
    KC_TRY(check_unknown(from, n_bytes, name, err));
    memcpy(&size, from, sizeof size);
    memcpy(to, from, kc_min(size, n_bytes));
    return KC_OK;
}

kc_status kc_struct_check_whole(const void *from, size_t n_bytes, const char *name, kc_error *err)
{
    size_t size;

    memcpy(&size, from, sizeof size);
    if (size < n_bytes)
        return kc_fail(err, KC_ERR_ARG, "%s.struct_size is %zu, must be at least %zu", name, size,
                       n_bytes);
    return size == n_bytes ? KC_OK : check_unknown(from, n_bytes, name, err);
}

static kc_status check_config(const kc_context_config *config, kc_error *err)
{
    const kc_allocator *allocator = config->allocator;

    if (config->n_threads < 0)
        return kc_fail(err, KC_ERR_ARG, "config.n_threads is %d, must be 0 or more",
                       (int)config->n_threads);
    if (allocator != NULL && (allocator->alloc == NULL || allocator->free == NULL))
        return kc_fail(err, KC_ERR_ARG, "config.allocator.%s is NULL",
                       allocator->alloc == NULL ? "alloc" : "free");
    return KC_OK;
}

kc_status kc_context_create(const kc_context_config *config, kc_context **out, kc_error *err)
{
    kc_context_config c;

    if (out == NULL)
        return kc_fail(err, KC_ERR_ARG, "out is NULL");
    KC_TRY(kc_struct_read(&c, sizeof c, config, "config", err));
    KC_TRY(check_config(&c, err));
    KC_TRY(kc_isa_check(err));
    if (!kc_fork_watch())
        return kc_fail_nomem(err);
    kc_allocator allocator = c.allocator != NULL ? *c.allocator : kc_system_allocator;
    /* The context cannot count its own block: it is outside memory_limit and kc_context_memory. */
    kc_context *ctx = allocator.alloc(allocator.data, sizeof *ctx, KC_ALIGN);
    if (ctx == NULL)
        return kc_fail_nomem(err);
    memset(ctx, 0, sizeof *ctx);
    ctx->allocator = allocator;
    ctx->memory_limit = c.memory_limit != 0 ? c.memory_limit : SIZE_MAX;
    ctx->n_cpus = kc_usable_cpus();
    ctx->spin_patience = KC_SPIN_PATIENCE;
    ctx->default_threads = c.n_threads != 0 ? c.n_threads : kc_default_threads();
    if (ctx->default_threads > KC_MAX_THREADS)
        ctx->default_threads = KC_MAX_THREADS;
    atomic_init(&ctx->current, 0);
    atomic_init(&ctx->peak, 0);
    atomic_init(&ctx->recent_peak, 0);
    atomic_init(&ctx->n_calls, 0);
    atomic_init(&ctx->n_threads, 0);
    atomic_init(&ctx->pool_holder, 0);
    atomic_init(&ctx->spare, NULL);
    atomic_init(&ctx->shelf_bytes, 0);
    atomic_init(&ctx->shelf_max, 0);
    for (size_t i = 0; i < KC_SHELF_PLACES; i++)
        atomic_init(&ctx->shelf[i], NULL);
    *out = ctx;
    return KC_OK;
}

void kc_context_free(kc_context *ctx)
{
    if (ctx == NULL)
        return;
    kc_pool_free(ctx, ctx->pool);
    kc_context_drop_spare(ctx);
    kc_allocator allocator = ctx->allocator;
    allocator.free(allocator.data, ctx, sizeof *ctx);
}

bool kc_context_drop_spare(kc_context *ctx)
{
    kc_arena *spare = atomic_exchange(&ctx->spare, NULL);

    kc_arena_free(ctx, spare); /* onto the shelf */
    return kc_alloc_trim(ctx) || spare != NULL;
}

void kc_context_trim(kc_context *ctx)
{
    kc_context_drop_spare(ctx);
}

int32_t kc_context_threads(const kc_context *ctx)
{
    int n_threads = atomic_load(&ctx->n_threads);

    return n_threads != 0 ? n_threads : ctx->default_threads;
}

void kc_context_set_threads(kc_context *ctx, int32_t n_threads)
{
    int n = n_threads < 0 ? 0 : n_threads; /* nowhere to complain: no threads means the default */

    atomic_store(&ctx->n_threads, n < KC_MAX_THREADS ? n : KC_MAX_THREADS);
}

kc_memory kc_context_memory(const kc_context *ctx)
{
    kc_memory memory;

    memory.current = atomic_load(&ctx->current);
    /* A block counted just now may not have raised the peak yet. */
    memory.peak = kc_max(atomic_load(&ctx->peak), memory.current);
    return memory;
}

kc_status kc_cancel_create(kc_context *ctx, kc_cancel **out, kc_error *err)
{
    if (ctx == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", ctx == NULL ? "ctx" : "out");
    kc_cancel *cancel = kc_alloc(ctx, 1, sizeof *cancel);
    if (cancel == NULL)
        return kc_fail_nomem(err);
    atomic_init(&cancel->is_set, false);
    *out = cancel;
    return KC_OK;
}

void kc_cancel_set(kc_cancel *cancel)
{
    atomic_store(&cancel->is_set, true);
}

void kc_cancel_clear(kc_cancel *cancel)
{
    atomic_store(&cancel->is_set, false);
}

void kc_cancel_free(kc_context *ctx, kc_cancel *cancel)
{
    kc_free(ctx, cancel);
}
