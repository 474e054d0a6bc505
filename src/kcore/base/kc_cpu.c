/* Usable CPUs and the default number of threads.
 *
 * Counting the machine's CPUs is not enough: in a container with a quota of two CPUs of 64, 64
 * threads would be stopped by the scheduler most of the time. */
#include "base/kc_cpu.h"

#include <stdlib.h>

#include "base/kc_cgroup.h"
#include "base/kc_os.h"

int32_t kc_cpus_under(const char *root)
{
    int32_t cpus = kc_os_cpus();
    int32_t quota = kc_cgroup_cpus(root);

    return quota > 0 && quota < cpus ? quota : cpus;
}

int32_t kc_usable_cpus(void)
{
    return kc_cpus_under("");
}

int32_t kc_parse_threads(const char *text)
{
    const char *at = text;
    int32_t n = 0;

    while (*at == ' ' || *at == '\t')
        at++;
    for (; *at >= '0' && *at <= '9'; at++)
        n = n < KC_MAX_THREADS ? 10 * n + (*at - '0') : n;
    while (*at == ' ' || *at == '\t')
        at++;
    if (*at != '\0' && *at != ',')
        return 0;
    return n < KC_MAX_THREADS ? n : KC_MAX_THREADS;
}

int32_t kc_default_threads(void)
{
    static const char *const names[] = {"KCORE_NUM_THREADS", "OMP_NUM_THREADS"};

    for (size_t i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);
        int32_t n = text != NULL ? kc_parse_threads(text) : 0;

        if (n > 0)
            return n;
    }
    int32_t cpus = kc_usable_cpus();
    return cpus < KC_MAX_THREADS ? cpus : KC_MAX_THREADS;
}
