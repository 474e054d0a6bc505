/* The operating system's part where nothing but POSIX can be relied on (macOS, the BSDs). */
#include "base/kc_os.h"

#if !defined(__linux__)

#include <sched.h>
#include <time.h>
#include <unistd.h>

int32_t kc_os_cpus(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    return online >= 1 ? (int32_t)online : 1;
}

void kc_os_use_huge_pages(void *block, size_t n_bytes)
{
    (void)block;
    (void)n_bytes;
}

bool kc_os_offer_pages(void *block, size_t n_bytes)
{
    (void)block;
    (void)n_bytes;
    return false;
}

void kc_os_name_thread(const char *name)
{
#if defined(__APPLE__)
    (void)pthread_setname_np(name);
#else
    (void)name;
#endif
}

void kc_os_yield(void)
{
    (void)sched_yield();
}

int kc_os_cond_init(pthread_cond_t *cond)
{
    return pthread_cond_init(cond, NULL);
}

void kc_os_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, double seconds)
{
    struct timespec until;

    assert(seconds >= 0 && seconds < 1);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(seconds * 1e9);
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(cond, mutex, &until);
}

#endif
