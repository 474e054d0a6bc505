/* One vocabulary of vectors for lanes of doubles and of floats: what a file writes as vec_add
 * stands for vec_add_f64 or vec_add_f32, as KC_LANE says at that place. */
#ifndef KC_SMO_LANES_H
#define KC_SMO_LANES_H

#include "base/kc_base.h"

#define KC_LANED(name) KC_CONCAT(name, KC_LANE)

#define vec KC_LANED(vec)
#define lane KC_LANED(lane)
#define KC_V KC_LANED(KC_V)
#define vec_load KC_LANED(vec_load)
#define vec_store KC_LANED(vec_store)
#define vec_set KC_LANED(vec_set)
#define vec_add KC_LANED(vec_add)
#define vec_sub KC_LANED(vec_sub)
#define vec_mul KC_LANED(vec_mul)
#define vec_div KC_LANED(vec_div)
#define vec_max KC_LANED(vec_max)
#define vec_min KC_LANED(vec_min)
#define vec_fnma KC_LANED(vec_fnma)
#define vec_any_above KC_LANED(vec_any_above)
#define vec_where_above KC_LANED(vec_where_above)
#define vec_first_equal KC_LANED(vec_first_equal)
#define vec_highest KC_LANED(vec_highest)
#define vec_lowest KC_LANED(vec_lowest)
#define highest_block KC_LANED(highest_block)
#define highest_none KC_LANED(highest_none)
#define note_block KC_LANED(note_block)
#define find_top KC_LANED(find_top)
#define scan KC_LANED(scan)

#endif
