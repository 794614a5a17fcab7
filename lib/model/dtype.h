/* dtype: the one table of tensor types.
 *
 * A row gives the name of a type, the values and bytes of a block, and the number that
 * GGML assigns to the type: streams name a type without a row by that number. The codes
 * of a container are in the folder of that container.
 * Blocks run along the last dimension. A few types of the apr tools have blocks that run
 * over the whole tensor, and the last block may be partly empty. Rows are constant and
 * compared by address.
 *
 * A type that only a plugin knows has its block in its name, NAME[VALUES,BYTES]. Its row
 * is made when the name is first met, so every container can carry the type.
 *
 * Source: ggml's block layouts and type numbers.
 */
#ifndef MODEL_DTYPE_H
#define MODEL_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTYPE_HEAD 8 /* bytes of the longest head */
#define DTYPE_NONE (-1) /* the type has no number, in GGML or in a container */

struct dtype {
	const char *name; /* upper case, as in streams: "F32", "Q4_K", "GGML_57" */
	uint16_t items;   /* values a block; 1 for plain types, 0 if unknown */
	uint16_t bytes;   /* bytes a block; 0 if unknown */
	uint8_t head;     /* bytes before the first block, once for the whole tensor */
	bool whole;       /* blocks run over the whole tensor, not over each row */
	int16_t ggml;     /* GGML type number, or DTYPE_NONE */
	bool quantized;   /* true for block types that lose precision */
	bool named;       /* true for types of plugins */
};

/* Names of plugins' types consist of capital letters, digits and "_" and begin with a
 * letter. The number of values in a block is a power of two, at most DTYPE_NAMED_ITEMS.
 * Rows are never freed: a process has room for DTYPE_NAMED of them. */
#define DTYPE_NAMED 256
#define DTYPE_NAMED_ITEMS 256
#define DTYPE_NAMED_BYTES 4096
#define DTYPE_NAMED_NAME 24

/* Find a row, or NULL. dtype_by_name ignores case and accepts "GGML_n" for
 * 0 <= n < 256. A GGML number without a row of its own gives a row of unknown size, whose
 * tensors pass through unchanged. */
const struct dtype *dtype_by_name(const char *name);
const struct dtype *dtype_by_ggml(uint32_t number);

/* Find a type by a name that the user gives: a name that dtype_by_name takes, the name of
 * a plugin's type without its block, or a name of the version 1 specification (int8 for
 * Q8_TENSOR, int4 for Q4_0). */
const struct dtype *dtype_asked(const char *name);

/* The row of a plugin's type; NULL if the name or block is not allowed, if another type
 * has the name, or if there is no room for another row. */
const struct dtype *dtype_named(const char *name, uint32_t items, uint32_t bytes);

/* The rows of known size by index, for lists and tests. NULL past the last. */
const struct dtype *dtype_row(unsigned index);

static inline bool
dtype_sized(const struct dtype *t)
{
	return t->items != 0;
}

/* True if rows of this many values fill whole blocks. */
static inline bool
dtype_fills(const struct dtype *t, uint64_t row)
{
	return t->whole || row % t->items == 0;
}

/* Bytes of n values in whole blocks, without the head. The type has a known size, and n is
 * a number of values in memory, so that the result does not overflow. */
static inline size_t
dtype_span(const struct dtype *t, size_t n)
{
	return (n / t->items + (n % t->items != 0)) * t->bytes;
}

#endif
