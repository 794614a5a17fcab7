/* key_value: metadata that a user sets: KEY=TYPE:VALUE with a TYPE of int (stored as
 * u32), float (f32), bool (true or false) or str. Names and meaning are
 * llama-quantize's, but a number that does not fit its type is an error here.
 */
#ifndef QUANT_KEY_VALUE_H
#define QUANT_KEY_VALUE_H

#include <stddef.h>

#include "core/err.h"
#include "model/model.h"

struct key_value {
	char *key;
	struct value_type type;
	struct buf wire;
};

/* All zero is an empty list. */
struct key_values {
	struct key_value *items; /* in the order given; of equal keys the last counts */
	size_t n, cap;
};

/* Append one. ERR_USAGE if text is not KEY=TYPE:VALUE. */
int key_values_add(struct key_values *v, const char *text, struct err *e);

/* Set all of them in the metadata, each at the end, wherever the key was. */
int key_values_apply(const struct key_values *v, struct model *m, struct err *e);

void key_values_free(struct key_values *v);

#endif
