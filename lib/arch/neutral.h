/* neutral: keys of GGUF that stand for something the forward pass does not do, and the
 * values with which they stand for nothing.
 *
 * llama_model_save_to_file of llama.cpp writes every key that it knows, for every
 * architecture, with the values of its struct llama_hparams; a file from a converter has
 * only those that its model needs. A key with its neutral value says nothing; with another
 * value it makes another model.
 *
 * Source: llama-hparams.h and llama-model-saver.cpp of llama.cpp, August 2026.
 */
#ifndef ARCH_NEUTRAL_H
#define ARCH_NEUTRAL_H

#include <stddef.h>
#include <stdint.h>

#include "model/value.h"

/* The lists have an item for each block, or one value for all of them. */
enum neutral_kind {
	NEUTRAL_WHOLE,  /* an integer */
	NEUTRAL_REAL,   /* F32 or F64, or an integer */
	NEUTRAL_TRUTH,  /* bool */
	NEUTRAL_WHOLES, /* integers or bools */
	NEUTRAL_REALS
};

struct neutral {
	const char *key;  /* behind the architecture's name and a point */
	enum neutral_kind kind;
	double value, other; /* both are neutral */
	const char *what; /* it stands for, if it has another value */
};

/* By index; NULL past the last. */
const struct neutral *neutral_row(size_t index);

/* Is the value, n bytes as model/value.h tells, neutral? 1; 0: it is not; -1: it is not of
 * the row's kind. */
int neutral_holds(const struct neutral *row, struct value_type type, const uint8_t *value,
                  size_t n);

#endif
