/* BERT, RoBERTa: a norm behind each part. */
#include "arch/normal/rows.h"

#define NORM(role) \
	STRICT(role, NORMAL_MEAN, 0.3, 3, 0, 10, "v2 10.9, widened downwards"), \
	BIAS(role, NORMAL_MEAN, -0.5, 0.5, "v2 10.9")

const struct normal normal_bert[] = {
	NORM(ROLE_EMBED_NORM), NORM(ROLE_ATTN_OUT_NORM), NORM(ROLE_LAYER_OUT_NORM),
	WEIGHT(ROLE_POSITIONS, NORMAL_STD, 0.0005, 1, "v2 10.9, widened"),
	NORMAL_END
};
