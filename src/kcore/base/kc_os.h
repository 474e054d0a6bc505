/* What differs between operating systems, one file for each: kc_os_linux.c, kc_os_posix.c.
 * All of them may be compiled everywhere; each is empty where it does not apply. */
#ifndef KC_OS_H
#define KC_OS_H

#include <pthread.h>

#include "base/kc_base.h"

/* CPUs that this process may be scheduled on; at least 1. */
int32_t kc_os_cpus(void);

/* Asks for huge pages in the whole huge pages of a fresh block.  A wish: nothing fails. */
void kc_os_use_huge_pages(void *block, size_t n_bytes);

/* Says that what is in the block is of no use: the system may take its whole huge pages, which then
 * read as zeros, until they are written to again.  False where it cannot: it has no such way, or
 * they are locked. */
bool kc_os_offer_pages(void *block, size_t n_bytes);

/* What debuggers and top show for the calling thread; at most 15 characters. */
void kc_os_name_thread(const char *name);

/* Lets other threads have the CPU, if any wait for it. */
void kc_os_yield(void);

/* A condition with a wait of limited time, on a clock deaf to changes of date where there is one.
 * init: 0, or an error number. */
int kc_os_cond_init(pthread_cond_t *cond);
void kc_os_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, double seconds);

#endif
