/* Functions as elements of the space of their kernel: f(.) = sum_i a_i K(x_i, .), with the inner
 * product <f, g> = sum_ij a_i b_j K(x_i, z_j).
 *
 * All of these take functions of one output with a kernel and without an intercept, as
 * kc_space_output makes them. */
#ifndef KC_SPACE_H
#define KC_SPACE_H

#include "function/kc_function.h"

/* Whether f is such a function; `name` is what the text calls it. */
kc_status kc_space_check(const kc_function *f, const char *name, kc_error *err);

/* Whether f and g are such functions, of one kernel and with points of the same parts. */
kc_status kc_space_check_pair(const kc_function *f, const kc_function *g, kc_error *err);

/* Output o of a function with a kernel, without its intercept.  Of several outputs, points that do
 * not belong to this one are left out; the values of a single output keep their bits. */
kc_status kc_space_output(kc_call *call, const kc_function *f, size_t o, kc_function **out);

/* a f + b g, in the wider type of the two; g NULL: a f. */
kc_status kc_space_combine(kc_call *call, double a, const kc_function *f, double b,
                           const kc_function *g, kc_function **out);

/* f with equal points put together, in the order in which they first appear: their coefficients are
 * added, and points whose sum is 0 left out. */
kc_status kc_space_merge(kc_call *call, const kc_function *f, kc_function **out);

/* <f, g>, with kernel values of the wider type.  The sums have one order, whatever the number of
 * threads, and the same for <g, f>. */
kc_status kc_space_inner(kc_call *call, const kc_function *f, const kc_function *g, double *out);

#endif
