/* Whisper: the table of section 10.9. The famous fault, a norm of mean 11, is one of it. */
#include "arch/normal/rows.h"

#define NORM(name) \
	NAME(name, NORMAL_MEAN, 0.5, 3, 0, 5, "v2 10.9"), \
	NAME_BIAS(name, NORMAL_MEAN, -0.5, 0.5, "v2 10.9")
/* Expected: 0.02 to 0.10, and 0.02 to 0.05 for fc1 and fc2. */
#define MATRIX(name) NAME(name, NORMAL_STD, 0.001, 1, 0, 0, "v2 10.9, widened")

const struct normal normal_whisper[] = {
	NORM("layer_norm"),
	MATRIX("q_proj"), MATRIX("k_proj"), MATRIX("v_proj"), MATRIX("out_proj"), MATRIX("fc1"),
	MATRIX("fc2"),
	NAME("embed_tokens", NORMAL_STD, 0.0005, 0.2, 0, 0, "v2 11, point 30"),
	/* the encoder's are sines */
	NAME("embed_positions", NORMAL_STD, 0.0005, 1, 0, 0, "v2 10.9, widened for sines"),
	NORMAL_END
};
