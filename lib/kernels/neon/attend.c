/* Attention with NEON. */
#include <arm_neon.h>

#include "core/le.h"

#define ATTEND attend_neon
#define BYTES 16
#define WIDEN(p) vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(le32(p)))))
#define WIDEN_HALVES(p) vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)))
#ifdef __ARM_FEATURE_FMA /* not in WebAssembly */
#define FMA(x, y, z) (vector)vfmaq_f32((float32x4_t)(z), (float32x4_t)(x), (float32x4_t)(y))
#endif
#include "kernels/common/attend_loops.h"
