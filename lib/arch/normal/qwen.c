/* Qwen2 and Qwen3: biases of queries and keys, which are large in the first blocks, and final
 * norms above those of LLaMA. */
#include "arch/normal/rows.h"

const struct normal normal_qwen[] = {
	STRICT(ROLE_OUT_NORM, NORMAL_MEAN, 0.001, 10, -1, 20, "facts, widened upwards"),
	BIAS(ROLE_Q, NORMAL_MEAN, -50, 50, "biases of keys reach some hundred"),
	BIAS(ROLE_K, NORMAL_MEAN, -50, 50, "biases of keys reach some hundred"),
	BIAS(ROLE_V, NORMAL_MEAN, -5, 5, "biases of values stay near 0"),
	NORMAL_END
};
