/* rows: how the files of this folder write their rows. */
#ifndef ARCH_NORMAL_ROWS_H
#define ARCH_NORMAL_ROWS_H

#include "arch/normal/normal.h"

#define WEIGHT(role, of, low, high, source) \
	{ role, NULL, false, IN_ALL, of, low, high, 0, 0, source }
#define BIAS(role, of, low, high, source) \
	{ role, NULL, true, IN_ALL, of, low, high, 0, 0, source }
/* With values that are wrong: outside least to most. */
#define STRICT(role, of, low, high, least, most, source) \
	{ role, NULL, false, IN_ALL, of, low, high, least, most, source }
#define FORM(role, form, of, low, high, source) \
	{ role, NULL, false, form, of, low, high, 0, 0, source }
#define NAME(name, of, low, high, least, most, source) \
	{ ROLES, name, false, IN_ALL, of, low, high, least, most, source }
#define NAME_BIAS(name, of, low, high, source) \
	{ ROLES, name, true, IN_ALL, of, low, high, 0, 0, source }
#define NORMAL_END { ROLES, NULL, false, IN_ALL, NORMAL_MEAN, 0, 0, 0, 0, NULL }

extern const struct normal normal_llama[], normal_qwen[], normal_gemma[], normal_layer_norm[],
	normal_gpt2[], normal_bert[], normal_t5[], normal_mamba[], normal_whisper[],
	normal_olmo[], normal_one_less[];

#endif
