/* base/kc_cgroup.h, on trees of files made for the purpose. */
#include "base/kc_cgroup.h"

#include "base/kc_cpu.h"
#include "base/kc_os.h"
#include "file_tree.h"
#include "kc_test.h"

#define MOUNTS "/proc/self/mountinfo"
#define GROUPS "/proc/self/cgroup"
#define V1 "32 31 0:29 / /cg/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
#define V2 "41 31 0:38 / /cg2 rw,relatime - cgroup2 cgroup2 rw\n"

static void a_system_without_groups_has_no_quota(void)
{
    clear_tree();
    CHECK(kc_cgroup_cpus(root) == 0);
    write_file(MOUNTS, V2);
    CHECK(kc_cgroup_cpus(root) == 0);
    write_file(GROUPS, "0::/a\n");
    CHECK(kc_cgroup_cpus(root) == 0);
    CHECK(kc_cgroup_cpus("/nonexistent") == 0);
}

static void version_2_is_read_and_rounded_up(void)
{
    static const struct {
        const char *text;
        int32_t n;
    } cases[] = {
        {"200000 100000\n", 2}, {"150000 100000\n", 2},
        {"1000 100000\n", 1},   {"max 100000\n", 0},
        {"100000 50000", 2},    {"250001 50000\n", 6},
        {"junk\n", 0},          {"", 0},
        {"100000\n", 0},        {"100000 0\n", 0},
        {"0 100000\n", 1},      {"-1 100000\n", 0},
        {"12x 100000\n", 0},    {"99999999999999999999999999 1\n", 1 << 20},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clear_tree();
        write_file(MOUNTS, V2);
        write_file(GROUPS, "0::/a\n");
        write_file("/cg2/a/cpu.max", cases[i].text);
        CHECK(kc_cgroup_cpus(root) == cases[i].n);
    }
}

static void version_1_is_read_and_rounded_up(void)
{
    clear_tree();
    write_file(MOUNTS, "31 23 0:28 / /cg rw - tmpfs tmpfs rw\n" V1);
    write_file(GROUPS, "9:name=systemd:/\n4:memory:/m\n1:cpu,cpuacct:/a/b\n");
    write_file("/cg/cpu/a/b/cpu.cfs_quota_us", "250000\n");
    CHECK(kc_cgroup_cpus(root) == 0); /* a quota of no known period */
    write_file("/cg/cpu/a/b/cpu.cfs_period_us", "100000\n");
    CHECK(kc_cgroup_cpus(root) == 3);
    write_file("/cg/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    CHECK(kc_cgroup_cpus(root) == 0);
}

static void the_least_quota_on_the_way_up_counts(void)
{
    clear_tree();
    write_file(MOUNTS, V2);
    write_file(GROUPS, "0::/a/b/c\n");
    write_file("/cg2/a/b/c/cpu.max", "max 100000\n");
    write_file("/cg2/a/b/cpu.max", "700000 100000\n");
    CHECK(kc_cgroup_cpus(root) == 7);
    write_file("/cg2/a/cpu.max", "300000 100000\n");
    CHECK(kc_cgroup_cpus(root) == 3);
    write_file("/cg2/a/b/c/cpu.max", "500000 100000\n");
    CHECK(kc_cgroup_cpus(root) == 3);
    write_file("/cg2/cpu.max", "200000 100000\n"); /* the root of a container's own hierarchy */
    CHECK(kc_cgroup_cpus(root) == 2);
    write_file("/cpu.max", "100000 100000\n"); /* above the mount point: not a group */
    CHECK(kc_cgroup_cpus(root) == 2);
}

static void both_versions_side_by_side_are_asked(void)
{
    clear_tree();
    write_file(MOUNTS, V1 V2);
    write_file(GROUPS, "1:cpu,cpuacct:/a\n0::/b\n");
    write_file("/cg/cpu/a/cpu.cfs_quota_us", "400000\n");
    write_file("/cg/cpu/a/cpu.cfs_period_us", "100000\n");
    write_file("/cg2/b/cpu.max", "600000 100000\n");
    CHECK(kc_cgroup_cpus(root) == 4);
    write_file("/cg2/b/cpu.max", "300000 100000\n");
    CHECK(kc_cgroup_cpus(root) == 3);
}

static void the_group_that_the_mount_shows_is_taken_off(void)
{
    clear_tree();
    write_file(MOUNTS, "32 31 0:29 /docker/id /cg2 rw - cgroup2 cgroup2 rw\n");
    write_file(GROUPS, "0::/docker/id/job\n");
    write_file("/cg2/job/cpu.max", "500000 100000\n");
    CHECK(kc_cgroup_cpus(root) == 5);
    write_file(GROUPS, "0::/docker/id\n");
    write_file("/cg2/cpu.max", "400000 100000\n");
    CHECK(kc_cgroup_cpus(root) == 4);
    write_file(GROUPS, "0::/docker/identical/job\n"); /* begins alike, but is another group */
    CHECK(kc_cgroup_cpus(root) == 4);
    write_file(GROUPS, "0::/../../other\n"); /* outside of this namespace */
    CHECK(kc_cgroup_cpus(root) == 4);
}

static void a_group_above_the_namespace_is_not_followed(void)
{
    clear_tree();
    write_file(MOUNTS, V2);
    write_file(GROUPS, "0::/../other\n");
    write_file("/other/cpu.max", "100000 100000\n");
    write_file("/cg2/cpu.max", "300000 100000\n");
    CHECK(kc_cgroup_cpus(root) == 3);
}

static void the_usable_cpus_are_bounded_by_quota_and_by_affinity(void)
{
    clear_tree();
    CHECK(kc_cpus_under(root) == kc_os_cpus());
    write_file(MOUNTS, V2);
    write_file(GROUPS, "0::/a\n");
    write_file("/cg2/a/cpu.max", "100000 100000\n");
    CHECK(kc_cpus_under(root) == 1);
    write_file("/cg2/a/cpu.max", "99900000 100000\n");
    CHECK(kc_cpus_under(root) == kc_os_cpus());
}

static void controllers_are_compared_as_whole_words(void)
{
    clear_tree();
    write_file(MOUNTS, "32 31 0:29 / /cg/set rw - cgroup cgroup rw,cpuset\n"
                       "33 31 0:30 / /cg/acct rw - cgroup cgroup rw,cpuacct\n" V1);
    write_file(GROUPS, "3:cpuset:/x\n2:cpuacct:/y\n1:cpuacct,cpu:/a\n");
    write_file("/cg/cpu/a/cpu.cfs_quota_us", "200000\n");
    write_file("/cg/cpu/a/cpu.cfs_period_us", "100000\n");
    write_file("/cg/set/x/cpu.cfs_quota_us", "100000\n");
    write_file("/cg/set/x/cpu.cfs_period_us", "100000\n");
    CHECK(kc_cgroup_cpus(root) == 2);
}

static void damaged_and_endless_lines_do_no_harm(void)
{
    size_t n = 300000;
    char *text = malloc(n + 1);

    REQUIRE(text != NULL);
    memset(text, 'a', n);
    text[n] = '\0';
    clear_tree();
    write_file(MOUNTS, text);
    write_file(GROUPS, text);
    CHECK(kc_cgroup_cpus(root) == 0);
    memset(text, ' ', n);
    write_file(MOUNTS, text);
    memset(text, ':', n);
    write_file(GROUPS, text);
    CHECK(kc_cgroup_cpus(root) == 0);
    write_file(MOUNTS, "1 2 3\n-\n- - - - - - - -\n32 31 0:29 / /cg2 rw -\n\n" V2);
    memset(text, 'a', n);
    memcpy(text, "x\n:\n::\n0::/", 11);
    write_file(GROUPS, text); /* a path longer than any */
    write_file("/cg2/cpu.max", "200000 100000\n");
    int32_t cpus = kc_cgroup_cpus(root);
    CHECK(cpus == 2 || cpus == 0);
    free(text);
}

int main(void)
{
    if (!make_tree())
        return 1;
    RUN(a_system_without_groups_has_no_quota);
    RUN(version_2_is_read_and_rounded_up);
    RUN(version_1_is_read_and_rounded_up);
    RUN(the_least_quota_on_the_way_up_counts);
    RUN(both_versions_side_by_side_are_asked);
    RUN(the_group_that_the_mount_shows_is_taken_off);
    RUN(a_group_above_the_namespace_is_not_followed);
    RUN(the_usable_cpus_are_bounded_by_quota_and_by_affinity);
    RUN(controllers_are_compared_as_whole_words);
    RUN(damaged_and_endless_lines_do_no_harm);
    remove_tree();
    return kc_test_end();
}
