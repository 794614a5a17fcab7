/* Mamba: A decays, so it is negative. Folders store log(-A). */
#include "arch/normal/rows.h"

const struct normal normal_mamba[] = {
	STRICT(ROLE_ATTN_NORM, NORMAL_MEAN, 0.001, 10, -1, 20, "facts, widened upwards"),
	STRICT(ROLE_OUT_NORM, NORMAL_MEAN, 0.001, 30, -1, 100, "facts, widened upwards"),
	FORM(ROLE_SSM_A, IN_GGUF, NORMAL_MAX, -1e6, 0, "formula: -exp(x)"),
	FORM(ROLE_SSM_A, IN_FOLDERS, NORMAL_MAX, -20, 20, "formula: a logarithm"),
	NORMAL_END
};
