/* The fork counter: the one variable of the library that changes after start-up.
 *
 * A forked child has the memory of its parent but only one of its threads.  The handler runs in the
 * child before fork returns there and does nothing but count, which is safe whatever the other
 * threads of the parent were doing; everything else is settled at the next use of the pool. */
#include <pthread.h>

#include "base/kc_context.h"

static atomic_uint fork_count = 1;
static atomic_bool is_watching;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    atomic_fetch_add(&fork_count, 1);
}

static void watch_forks(void)
{
    atomic_store(&is_watching, pthread_atfork(NULL, NULL, count_fork) == 0);
}

unsigned kc_fork_count(void)
{
    return atomic_load(&fork_count);
}

bool kc_fork_watch(void)
{
    return pthread_once(&watch_once, watch_forks) == 0 && atomic_load(&is_watching);
}
