/* Panels of the IQ types; see panel_i8.h. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/grids.h"
#include "kernels/avx2/panel_i8.h"

LARGE_PANELS(iq1_s, iq1_s_scales, 50, 32, 16, zero, ZERO_IQ1, false)
LARGE_PANELS(iq1_m, iq1_m_scales, 56, 16, 16, zero, ZERO_IQ1, false)
LARGE_PANELS(iq2_xxs, iq2_xxs_scales, 66, 32, 8, zero, ZERO_IQ2, false)
LARGE_PANELS(iq2_xs, iq2_xs_scales, 74, 16, 8, zero, ZERO_IQ2, false)
LARGE_PANELS(iq2_s, iq2_s_scales, 82, 16, 8, zero, ZERO_IQ2, false)
LARGE_PANELS(iq3_xxs, iq3_xxs_scales, 98, 32, 16, zero, ZERO_IQ3_XXS, false)
LARGE_PANELS(iq3_s, iq3_s_scales, 110, 32, 16, zero, ZERO_IQ3_S, false)
