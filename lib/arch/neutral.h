/* neutral: keys of GGUF for features that the forward pass does not have, with the values that
 * turn the features off.
 *
 * llama_model_save_to_file of llama.cpp writes every key that it knows, for every
 * architecture, with the values of its struct llama_hparams; a file from a converter has
 * only the keys that its model needs. A neutral value changes nothing; any other value makes
 * another model.
 *
 * Source: llama-hparams.h and llama-model-saver.cpp of llama.cpp, August 2026.
 */
#ifndef ARCH_NEUTRAL_H
#define ARCH_NEUTRAL_H

#include <stddef.h>
#include <stdint.h>

#include "model/value.h"

/* A list has an item for each block, or one value for all blocks. */
enum neutral_kind {
	NEUTRAL_WHOLE,  /* an integer */
	NEUTRAL_REAL,   /* F32 or F64, or an integer */
	NEUTRAL_TRUTH,  /* bool */
	NEUTRAL_WHOLES, /* integers or bools */
	NEUTRAL_REALS
};

struct neutral {
	const char *key;  /* without the architecture's name and the dot */
	enum neutral_kind kind;
	double value, other; /* both are neutral */
	const char *what; /* the feature that any other value turns on */
};

/* By index; NULL past the last. */
const struct neutral *neutral_row(size_t index);

/* Whether a value of n bytes (model/value.h) is neutral: 1 or 0; -1 if it is not of the row's
 * kind. */
int neutral_holds(const struct neutral *row, struct value_type type, const uint8_t *value,
                  size_t n);

#endif
