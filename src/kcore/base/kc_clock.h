/* Seconds on a clock that never goes back. */
#ifndef KC_CLOCK_H
#define KC_CLOCK_H

double kc_clock(void);

#endif
