/* How many threads to use where the caller does not say. */
#ifndef KC_CPU_H
#define KC_CPU_H

#include "base/kc_base.h"

#define KC_MAX_THREADS 256

/* CPUs of the affinity mask, but no more than the quota of the control groups that the files under
 * `root` tell of ("": the system's own, as in kc_usable_cpus). */
int32_t kc_cpus_under(const char *root);

/* The number that KCORE_NUM_THREADS, else OMP_NUM_THREADS, else the usable CPUs give: 1 ..
 * KC_MAX_THREADS. */
int32_t kc_default_threads(void);

/* The first number of a text such as "4" or "4,2"; 0 where it does not begin with a positive one.
 * Numbers above KC_MAX_THREADS give KC_MAX_THREADS. */
int32_t kc_parse_threads(const char *text);

#endif
