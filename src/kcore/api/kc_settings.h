/* The caller's settings, read and checked. */
#ifndef KC_SETTINGS_H
#define KC_SETTINGS_H

#include "base/kc_status.h"

/* A copy of `from`, which may be of an older version's size, with every range checked: texts name
 * the setting, the value and the range. */
kc_status kc_settings_read(const kc_svm_settings *from, kc_svm_settings *out, kc_error *err);

#endif
