/* The public side of base/kc_context.c. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_context.h"
#include "base/kc_cpu.h"
#include "fault.h"
#include "kc_test.h"

static void a_context_needs_no_configuration(void)
{
    kc_context *ctx = NULL;

    REQUIRE(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    CHECK(kc_context_threads(ctx) == kc_default_threads());
    CHECK(kc_context_memory(ctx).current == 0 && kc_context_memory(ctx).peak == 0);
    kc_context_free(ctx);
}

static void expect_refusal(const kc_context_config *config, const char *text)
{
    kc_context *const untouched = (kc_context *)(uintptr_t)16;
    kc_context *ctx = untouched;
    kc_error err = {.status = KC_OK};

    CHECK(kc_context_create(config, &ctx, &err) == KC_ERR_ARG);
    CHECK(ctx == untouched);
    CHECK(err.status == KC_ERR_ARG && strstr(err.text, text) != NULL);
}

static void nonsense_is_refused_by_name(void)
{
    kc_fault fault;
    kc_context_config config = {.struct_size = sizeof config, .n_threads = -2};
    kc_error err;

    expect_refusal(&config, "config.n_threads is -2");
    kc_fault_init(&fault);
    fault.allocator.alloc = NULL;
    config = (kc_context_config){.struct_size = sizeof config, .allocator = &fault.allocator};
    expect_refusal(&config, "config.allocator.alloc is NULL");
    kc_fault_init(&fault);
    fault.allocator.free = NULL;
    expect_refusal(&config, "config.allocator.free is NULL");
    config = (kc_context_config){.struct_size = 0};
    expect_refusal(&config, "config.struct_size is 0");
    CHECK(kc_context_create(NULL, NULL, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "out is NULL") == 0);
}

static void an_older_configuration_is_taken_as_far_as_it_goes(void)
{
    kc_context_config config;
    kc_context *ctx = NULL;

    memset(&config, 0xff, sizeof config);
    config.struct_size = offsetof(kc_context_config, memory_limit);
    config.allocator = NULL;
    REQUIRE(kc_context_create(&config, &ctx, NULL) == KC_OK);
    CHECK(kc_context_threads(ctx) == kc_default_threads());
    kc_context_free(ctx);
}

static void the_allocator_is_copied(void)
{
    kc_fault fault;
    kc_context_config config = {.struct_size = sizeof config};
    kc_context *ctx = NULL;

    kc_fault_init(&fault);
    kc_allocator allocator = fault.allocator;
    config.allocator = &allocator;
    REQUIRE(kc_context_create(&config, &ctx, NULL) == KC_OK);
    memset(&allocator, 0, sizeof allocator);
    void *block = kc_alloc(ctx, 1000, 1);
    CHECK(block != NULL && atomic_load(&fault.n_blocks) == 2);
    kc_free(ctx, block);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
}

static void without_memory_there_is_no_context_and_no_token(void)
{
    kc_fault fault;
    kc_context_config config = {.struct_size = sizeof config, .allocator = &fault.allocator};
    kc_context *ctx = NULL;
    kc_cancel *cancel = NULL;
    kc_error err = {.status = KC_OK};

    kc_fault_init(&fault);
    kc_fault_arm(&fault, 1, KC_FAULT_ALL);
    CHECK(kc_context_create(&config, &ctx, &err) == KC_ERR_NOMEM);
    CHECK(ctx == NULL && err.status == KC_ERR_NOMEM);
    CHECK(kc_fault_disarm(&fault));
    REQUIRE(kc_context_create(&config, &ctx, &err) == KC_OK);
    kc_fault_arm(&fault, 1, KC_FAULT_ALL);
    CHECK(kc_cancel_create(ctx, &cancel, &err) == KC_ERR_NOMEM);
    CHECK(cancel == NULL);
    CHECK(kc_fault_disarm(&fault));
    CHECK(kc_cancel_create(NULL, &cancel, &err) == KC_ERR_ARG);
    CHECK(kc_cancel_create(ctx, NULL, &err) == KC_ERR_ARG);
    kc_cancel_free(ctx, NULL);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
}

static void the_number_of_threads_can_be_set_and_set_back(void)
{
    kc_context_config config = {.struct_size = sizeof config, .n_threads = 5};
    kc_context *ctx = NULL;

    REQUIRE(kc_context_create(&config, &ctx, NULL) == KC_OK);
    CHECK(kc_context_threads(ctx) == 5);
    kc_context_set_threads(ctx, 2);
    CHECK(kc_context_threads(ctx) == 2);
    kc_context_set_threads(ctx, 0);
    CHECK(kc_context_threads(ctx) == 5);
    kc_context_set_threads(ctx, INT32_MAX);
    CHECK(kc_context_threads(ctx) == KC_MAX_THREADS);
    kc_context_set_threads(ctx, INT32_MIN);
    CHECK(kc_context_threads(ctx) == 5);
    kc_context_free(ctx);
    config.n_threads = 100000;
    REQUIRE(kc_context_create(&config, &ctx, NULL) == KC_OK);
    CHECK(kc_context_threads(ctx) == KC_MAX_THREADS);
    kc_context_free(ctx);
}

/* -1: the context could not be made. */
static int32_t threads_of_new_context(void)
{
    kc_context *ctx = NULL;

    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return -1;
    int32_t n = kc_context_threads(ctx);
    kc_context_free(ctx);
    return n;
}

static void the_environment_gives_the_default_in_order(void)
{
    setenv("KCORE_NUM_THREADS", "3", 1);
    setenv("OMP_NUM_THREADS", "4,2", 1);
    CHECK(threads_of_new_context() == 3);
    setenv("KCORE_NUM_THREADS", "many", 1);
    CHECK(threads_of_new_context() == 4);
    unsetenv("KCORE_NUM_THREADS");
    CHECK(threads_of_new_context() == 4);
    setenv("OMP_NUM_THREADS", "-4", 1);
    CHECK(threads_of_new_context() == kc_usable_cpus());
    unsetenv("OMP_NUM_THREADS");
    CHECK(threads_of_new_context() == kc_usable_cpus());

    kc_context_config config = {.struct_size = sizeof config, .n_threads = 6};
    kc_context *ctx = NULL;
    setenv("KCORE_NUM_THREADS", "3", 1);
    REQUIRE(kc_context_create(&config, &ctx, NULL) == KC_OK);
    CHECK(kc_context_threads(ctx) == 6); /* a number that is said counts */
    kc_context_free(ctx);
    unsetenv("KCORE_NUM_THREADS");
}

static void *make_and_free(void *data)
{
    (void)data;
    for (int i = 0; i < 20; i++)
        CHECK(threads_of_new_context() >= 1);
    return NULL;
}

static void contexts_may_be_made_on_many_threads(void)
{
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, make_and_free, NULL) == 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void what_is_kept_for_the_next_call_can_be_given_back(void)
{
    kc_context *ctx;

    REQUIRE(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    kc_free(ctx, kc_alloc(ctx, (size_t)8 << 20, 1));
    CHECK(atomic_load(&ctx->shelf_bytes) > 0 || KC_ASAN);
    kc_context_trim(ctx);
    CHECK(atomic_load(&ctx->shelf_bytes) == 0);
    kc_context_trim(ctx); /* nothing is left */
    CHECK(kc_context_memory(ctx).current == 0);
    kc_context_free(ctx);
}

int main(void)
{
    unsetenv("KCORE_NUM_THREADS");
    unsetenv("OMP_NUM_THREADS");
    RUN(contexts_may_be_made_on_many_threads); /* first: registering the fork handler is raced */
    RUN(a_context_needs_no_configuration);
    RUN(nonsense_is_refused_by_name);
    RUN(an_older_configuration_is_taken_as_far_as_it_goes);
    RUN(the_allocator_is_copied);
    RUN(without_memory_there_is_no_context_and_no_token);
    RUN(the_number_of_threads_can_be_set_and_set_back);
    RUN(the_environment_gives_the_default_in_order);
    RUN(what_is_kept_for_the_next_call_can_be_given_back);
    return kc_test_end();
}
