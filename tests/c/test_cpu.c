/* base/kc_cpu.h: what counts as a number of threads, and as a usable CPU. */
#include "base/kc_cpu.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kc_os.h"
#include "kc_test.h"

static void the_first_number_of_a_list_counts(void)
{
    static const struct {
        const char *text;
        int32_t n;
    } cases[] = {
        {"1", 1},
        {"8", 8},
        {"4,2", 4},
        {"4,2,1", 4},
        {" 6 ", 6},
        {"\t7\t", 7},
        {"3 , 2", 3},
        {"007", 7},
        {"256", 256},
        {"257", KC_MAX_THREADS},
        {"99999999999999999999", KC_MAX_THREADS},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(kc_parse_threads(cases[i].text) == cases[i].n);
}

static void other_texts_count_as_none(void)
{
    static const char *const texts[] = {"",  " ",  "0",  "00",  "0,4", "-1",  "+4",   ",4",
                                        ",", "4x", "x4", "4 2", "4.0", "1e3", "0x10", "max"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(kc_parse_threads(texts[i]) == 0);
}

static void at_least_one_cpu_is_usable_and_no_more_than_there_are(void)
{
    CHECK(kc_usable_cpus() >= 1);
    CHECK(kc_usable_cpus() <= kc_os_cpus());
}

#if defined(__linux__)
static int count_with_one_cpu(void)
{
    cpu_set_t set;
    size_t first = 0;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 100;
    while (!CPU_ISSET(first, &set))
        first++;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? kc_usable_cpus() : 100;
}

static void the_affinity_mask_is_respected(void)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(count_with_one_cpu());
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}
#endif

int main(void)
{
    RUN(the_first_number_of_a_list_counts);
    RUN(other_texts_count_as_none);
    RUN(at_least_one_cpu_is_usable_and_no_more_than_there_are);
#if defined(__linux__)
    RUN(the_affinity_mask_is_respected);
#endif
    return kc_test_end();
}
