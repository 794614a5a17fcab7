/* T5: RMS norms, attention that is not scaled, and embeddings of large values. */
#include "arch/normal/rows.h"

#define RMS(role) STRICT(role, NORMAL_MEAN, 0.001, 10, -1, 20, "facts, widened upwards")

const struct normal normal_t5[] = {
	RMS(ROLE_ENC_NORM), RMS(ROLE_ENC_FFN_NORM), RMS(ROLE_ENC_OUT_NORM), RMS(ROLE_DEC_NORM),
	RMS(ROLE_CROSS_NORM), RMS(ROLE_DEC_FFN_NORM), RMS(ROLE_DEC_OUT_NORM),
	WEIGHT(ROLE_EMBED, NORMAL_STD, 0.0005, 60, "embeddings start at 1 and grow"),
	NORMAL_END
};
