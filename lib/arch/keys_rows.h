/* keys_rows: the keys of each configuration class, in the order of GGUF, for the table of
 * classes in keys.c.
 */
#ifndef ARCH_KEYS_ROWS_H
#define ARCH_KEYS_ROWS_H

#include "arch/keys.h"

extern const struct arch_key *const keys_common[], *const keys_llama[],
	*const keys_qwen[], *const keys_qwen_experts[], *const keys_gemma2[],
	*const keys_gemma3[], *const keys_phi3[], *const keys_gpt2[], *const keys_gptneox[],
	*const keys_bert[], *const keys_roberta[], *const keys_olmo2[], *const keys_granite[],
	*const keys_deepseek[], *const keys_gptoss[], *const keys_t5[], *const keys_phi2[],
	*const keys_stablelm[], *const keys_falcon[], *const keys_cohere[],
	*const keys_nemotron[], *const keys_mamba[];

#endif
