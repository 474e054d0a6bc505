/* The operating system's part on Linux. */
#include "base/kc_os.h"

#if defined(__linux__)

#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)1 << 21) /* of x86-64, and of aarch64 with 4 KiB pages */

/* 65536 CPUs, eight times the most that Linux can be built for.  The kernel refuses a set smaller
 * than its own, so the 1024 of cpu_set_t would fail on large machines. */
#define CPU_SET_BYTES 8192

int32_t kc_os_cpus(void)
{
    union {
        cpu_set_t set;
        unsigned char bytes[CPU_SET_BYTES];
    } cpus;

    CPU_ZERO_S(sizeof cpus, &cpus.set);
    if (sched_getaffinity(0, sizeof cpus, &cpus.set) == 0) {
        int32_t n = CPU_COUNT_S(sizeof cpus, &cpus.set);

        if (n >= 1)
            return n;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online >= 1 ? (int32_t)online : 1;
}

/* Only pages that lie wholly inside: the block takes no more memory than it was asked for. */
static bool advise_huge_pages(void *block, size_t n_bytes, int advice)
{
    uintptr_t first = kc_round_up((uintptr_t)block, HUGE_PAGE);
    uintptr_t end = ((uintptr_t)block + n_bytes) / HUGE_PAGE * HUGE_PAGE;

    return first < end &&
           madvise((char *)block + (first - (uintptr_t)block), end - first, advice) == 0;
}

void kc_os_use_huge_pages(void *block, size_t n_bytes)
{
    (void)advise_huge_pages(block, n_bytes, MADV_HUGEPAGE);
}

bool kc_os_offer_pages(void *block, size_t n_bytes)
{
    return advise_huge_pages(block, n_bytes, MADV_FREE);
}

void kc_os_name_thread(const char *name)
{
    (void)pthread_setname_np(pthread_self(), name);
}

void kc_os_yield(void)
{
    (void)sched_yield();
}

int kc_os_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    int failed = pthread_condattr_init(&attr);

    if (failed)
        return failed;
    failed = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (!failed)
        failed = pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
    return failed;
}

void kc_os_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, double seconds)
{
    struct timespec until;

    assert(seconds >= 0 && seconds < 1);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(seconds * 1e9);
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(cond, mutex, &until);
}

#endif
