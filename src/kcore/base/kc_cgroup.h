/* How many CPUs' worth of time the control groups of this process allow. */
#ifndef KC_CGROUP_H
#define KC_CGROUP_H

#include "base/kc_base.h"

/* The least quota on the way from the process's group up to the root, rounded up to whole CPUs;
 * 0 where there is none.  `root` stands before every path that is read: "" for the system's own,
 * another folder in tests. */
int32_t kc_cgroup_cpus(const char *root);

#endif
