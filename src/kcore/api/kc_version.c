/* The version as text, made from the header's numbers. */
#include "base/kc_base.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *kc_version(void)
{
    return TEXT(KC_VERSION_MAJOR) "." TEXT(KC_VERSION_MINOR) "." TEXT(KC_VERSION_PATCH);
}
