/* One vocabulary of vectors for lanes of doubles and of floats: what a file writes as smo_add
 * stands for smo_add_f64 or smo_add_f32, as KC_LANE says at that place. */
#ifndef KC_SMO_LANES_H
#define KC_SMO_LANES_H

#include "base/kc_base.h"

#define KC_LANED(name) KC_CONCAT(name, KC_LANE)

#define smo_vec KC_LANED(smo_vec)
#define smo_lane KC_LANED(smo_lane)
#define KC_SMO_LANES KC_LANED(KC_SMO_LANES)
#define smo_load KC_LANED(smo_load)
#define smo_store KC_LANED(smo_store)
#define smo_set KC_LANED(smo_set)
#define smo_add KC_LANED(smo_add)
#define smo_sub KC_LANED(smo_sub)
#define smo_mul KC_LANED(smo_mul)
#define smo_div KC_LANED(smo_div)
#define smo_max KC_LANED(smo_max)
#define smo_min KC_LANED(smo_min)
#define smo_fnma KC_LANED(smo_fnma)
#define smo_any_above KC_LANED(smo_any_above)
#define smo_where_above KC_LANED(smo_where_above)
#define smo_first_equal KC_LANED(smo_first_equal)
#define smo_highest KC_LANED(smo_highest)
#define smo_lowest KC_LANED(smo_lowest)
#define smo_top_block KC_LANED(smo_top_block)
#define smo_no_top KC_LANED(smo_no_top)
#define smo_note_block KC_LANED(smo_note_block)
#define smo_find_top KC_LANED(smo_find_top)
#define smo_scan KC_LANED(smo_scan)

#endif
