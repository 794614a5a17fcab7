/* Gemma: norms multiply by 1 + weight. Folders store the weight, GGUF files 1 + weight. Weights of
 * Gemma 3 reach some hundred, so these ranges are wide. */
#include "arch/normal/rows.h"

#define RMS(role) \
	FORM(role, IN_FOLDERS, NORMAL_MEAN, -1, 100, "1 + weight is seldom negative"), \
	FORM(role, IN_GGUF, NORMAL_MEAN, 0, 101, "1 + weight is seldom negative")

const struct normal normal_gemma[] = {
	RMS(ROLE_ATTN_NORM), RMS(ROLE_FFN_NORM), RMS(ROLE_OUT_NORM), RMS(ROLE_Q_NORM),
	RMS(ROLE_K_NORM), RMS(ROLE_ATTN_POST), RMS(ROLE_FFN_POST),
	NORMAL_END
};
