/* Which instruction set this process uses: chosen once, by what the CPU has and KCORE_ISA asks. */
#ifndef KC_ISA_H
#define KC_ISA_H

#include "base/kc_status.h"

/* From the least to the best. */
typedef enum kc_isa { KC_ISA_GENERIC, KC_ISA_AVX2, KC_ISA_AVX512, KC_N_ISAS } kc_isa;

/* The best one compiled in that this CPU has; KCORE_ISA takes the one it names instead, as long as
 * it is compiled in and the CPU has it. */
kc_isa kc_isa_chosen(void);

/* Whether it is compiled in and this CPU has it; its name. */
bool kc_isa_is_there(kc_isa isa);
const char *kc_isa_name_of(kc_isa isa);

/* KC_ERR_ARG where KCORE_ISA names one that is not known or cannot be had: a context is not made
 * then.  Empty is as if it were not set. */
kc_status kc_isa_check(kc_error *err);

#endif
