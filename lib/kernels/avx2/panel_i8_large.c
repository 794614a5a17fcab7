/* Panels of blocks of 256 other than IQ; see panel_i8.h. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/panel_i8.h"

LARGE_PANELS(q2_k, q2_k_scales, 84, 16, 16, min, 0, true)
LARGE_PANELS(q3_k, q3_k_scales, 110, 16, 16, zero, 4, false)
LARGE_PANELS(q4_k, q4_k_scales, 144, 32, 32, min, 0, true)
LARGE_PANELS(q5_k, q4_k_scales, 176, 32, 16, min, 0, true)
LARGE_PANELS(q6_k, q6_k_scales, 210, 16, 16, zero, 32, false)
LARGE_PANELS(tq1_0, tq1_0_scales, 54, 32, 32, zero, 1, false)
LARGE_PANELS(tq2_0, tq2_0_scales, 66, 32, 32, zero, 1, false)
