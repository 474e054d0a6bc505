/* How many CPUs' worth of time, and how much memory, are left to this process. */
#ifndef KC_CGROUP_H
#define KC_CGROUP_H

#include "base/kc_base.h"

/* The least quota on the way from the process's group up to the root, rounded up to whole CPUs;
 * 0 where there is none.  `root` stands before every path that is read: "" for the system's own,
 * another folder in tests. */
int32_t kc_cgroup_cpus(const char *root);

/* Bytes that the control groups leave below their limits; infinity where there is none. */
double kc_cgroup_memory(const char *root);

/* Bytes that the machine has available; infinity where it does not say. */
double kc_machine_memory(const char *root);

#endif
