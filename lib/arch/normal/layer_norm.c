/* Decoders with layer norms: GPT-NeoX, Phi-2, StableLM, StarCoder2, Falcon, Command R, Nemotron. */
#include "arch/normal/rows.h"

/* Section 10.9 accepts 0.5 to 3.0 for Whisper; weights of first blocks of decoders are smaller, so only
 * what is far away is wrong here. */
#define NORM(role) \
	STRICT(role, NORMAL_MEAN, 0.02, 6, -0.5, 10, "v2 10.9, widened for decoders"), \
	BIAS(role, NORMAL_MEAN, -0.5, 0.5, "v2 10.9")
/* Nemotron's folders store the weight - 1. */
#define ONE_LESS(role) FORM(role, IN_FOLDERS, NORMAL_MEAN, -1, 5, "v2 10.9, less one")

const struct normal normal_layer_norm[] = {
	NORM(ROLE_ATTN_NORM), NORM(ROLE_ATTN_NORM2), NORM(ROLE_FFN_NORM), NORM(ROLE_OUT_NORM),
	NORM(ROLE_Q_NORM), NORM(ROLE_K_NORM), NORM(ROLE_EMBED_NORM),
	NORMAL_END
};

const struct normal normal_one_less[] = {
	ONE_LESS(ROLE_ATTN_NORM), ONE_LESS(ROLE_FFN_NORM), ONE_LESS(ROLE_OUT_NORM),
	NORMAL_END
};
