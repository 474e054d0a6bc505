/* Which instruction set this process uses: chosen once, by what the CPU has and KCORE_ISA asks. */
#ifndef KC_ISA_H
#define KC_ISA_H

#include "base/kc_status.h"

typedef enum kc_isa { KC_ISA_GENERIC, KC_ISA_AVX2 } kc_isa;

/* The best one compiled in that this CPU has; KCORE_ISA=generic or avx2 takes that one instead, as
 * long as it is compiled in and the CPU has it. */
kc_isa kc_isa_chosen(void);

/* KC_ERR_ARG where KCORE_ISA names one that is not known or cannot be had: a context is not made
 * then.  Empty is as if it were not set. */
kc_status kc_isa_check(kc_error *err);

#endif
