/* base/kc_memory.h and the memory part of base/kc_cgroup.h, on trees of files made for the purpose.
 */
#include "base/kc_memory.h"

#include "base/kc_cgroup.h"
#include "file_tree.h"
#include "kc_test.h"

static void without_files_nothing_is_known(void)
{
    CHECK(isinf(kc_cgroup_memory(root)));
    CHECK(isinf(kc_machine_memory(root)));
}

static void the_machine_says_what_it_has_available(void)
{
    write_file("/proc/meminfo", "MemTotal: 100 kB\nMemFree:  10 kB\nMemAvailable:   50 kB\n");
    CHECK(kc_machine_memory(root) == 50 * 1024);
}

static void the_tightest_group_counts_and_idle_file_pages_are_free(void)
{
    write_file("/proc/self/mountinfo", "41 31 0:38 / /cg2 rw,relatime - cgroup2 cgroup2 rw\n"
                                       "42 31 0:39 / /cg1 rw - cgroup cgroup rw,memory\n");
    write_file("/proc/self/cgroup", "5:memory:/b\n0::/a/c\n");
    write_file("/cg2/a/c/memory.max", "max\n");
    write_file("/cg2/a/c/memory.current", "900\n");
    CHECK(isinf(kc_cgroup_memory(root)));
    write_file("/cg2/a/memory.max", "1000\n");
    write_file("/cg2/a/memory.current", "900\n");
    CHECK(kc_cgroup_memory(root) == 100);
    write_file("/cg2/a/memory.stat", "anon 1\ninactive_file 300\n");
    CHECK(kc_cgroup_memory(root) == 400);
    write_file("/cg1/b/memory.limit_in_bytes", "500\n");
    write_file("/cg1/b/memory.usage_in_bytes", "450\n");
    CHECK(kc_cgroup_memory(root) == 50);
    write_file("/cg1/b/memory.stat", "total_inactive_file 20\n");
    CHECK(kc_cgroup_memory(root) == 70);
    write_file("/cg1/b/memory.usage_in_bytes", "700\n");
    CHECK(kc_cgroup_memory(root) == 0);
}

static void a_context_leaves_what_its_limit_leaves(void)
{
    const kc_context_config config = {.struct_size = sizeof config, .memory_limit = 100000};
    kc_context *free_ctx = NULL, *tight_ctx = NULL;

    REQUIRE(kc_context_create(NULL, &free_ctx, NULL) == KC_OK);
    REQUIRE(kc_context_create(&config, &tight_ctx, NULL) == KC_OK);
    CHECK(kc_memory_available(free_ctx) > 1e6);
    CHECK(isfinite(kc_memory_available(free_ctx)));
    CHECK(kc_memory_available(tight_ctx) <= 100000);
    kc_context_free(free_ctx);
    kc_context_free(tight_ctx);
}

int main(void)
{
    if (!make_tree())
        return 1;
    RUN(without_files_nothing_is_known);
    RUN(the_machine_says_what_it_has_available);
    RUN(the_tightest_group_counts_and_idle_file_pages_are_free);
    RUN(a_context_leaves_what_its_limit_leaves);
    remove_tree();
    return kc_test_end();
}
