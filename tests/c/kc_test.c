/* The counters of kc_test.h: one of each in a program, whichever of its files makes a check. */
#include "kc_test.h"

atomic_int kc_test_faults;
int kc_test_passed, kc_test_failed;
