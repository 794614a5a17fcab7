/* OLMo 2: norms stand behind attention and feed-forward, and their weights start small. */
#include "arch/normal/rows.h"

#define RMS(role) STRICT(role, NORMAL_MEAN, -0.5, 10, -1, 10, "facts")

const struct normal normal_olmo[] = {
	RMS(ROLE_ATTN_POST), RMS(ROLE_FFN_POST), RMS(ROLE_Q_NORM), RMS(ROLE_K_NORM),
	NORMAL_END
};
