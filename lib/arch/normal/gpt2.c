/* GPT-2: embeddings of long rows, learned positions. */
#include "arch/normal/rows.h"

const struct normal normal_gpt2[] = {
	WEIGHT(ROLE_EMBED, NORMAL_LENGTH, 0.05, 8, "0.14 × root of 768 on the smallest GPT-2"),
	WEIGHT(ROLE_POSITIONS, NORMAL_STD, 0.0005, 1, "v2 10.9, widened: 0.12 on GPT-2"),
	NORMAL_END
};
