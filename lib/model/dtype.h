/* dtype: the one table of tensor types.
 *
 * A row says what a type is called, how many values share a block of how many
 * bytes, and by which number each container knows it. Block types run along
 * the last dimension; a few of our own run over the whole tensor, of which the last
 * block may be partly empty. Rows are constant and compared by address.
 *
 * A type that only a plugin knows has its block in its name, NAME[VALUES,BYTES]: a row
 * is made when the name is first met, so that every container can carry it.
 *
 * Sources: sizes of GGML types from ggml's block layouts; safetensors names
 * from its format description; APR2 codes from apr2(5).
 */
#ifndef MODEL_DTYPE_H
#define MODEL_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTYPE_HEAD 8 /* bytes of the longest head */
#define DTYPE_NONE (-1) /* a container has no number for the type */

struct dtype {
	const char *name; /* upper case, as in streams: "F32", "Q4_K", "GGML_57" */
	uint16_t items;   /* values a block; 1 for plain types, 0 if unknown */
	uint16_t bytes;   /* bytes a block; 0 if unknown */
	uint8_t head;     /* bytes before the blocks, for all of the tensor's values */
	bool whole;       /* blocks run over the whole tensor, not over each row */
	int16_t ggml;     /* GGML type number, or DTYPE_NONE */
	int16_t apr2;     /* APR2 code written, or DTYPE_NONE */
	int16_t apr2_old; /* a second APR2 code that is read, or DTYPE_NONE */
	const char *safetensors; /* safetensors name, or NULL */
	bool quantized;   /* true for block types that lose precision */
};

/* Names of plugins' types: capital letters, digits and "_", a letter first; blocks of
 * a power of two up to DTYPE_NAMED_ITEMS. Rows for them never go: a process has room
 * for DTYPE_NAMED of them. */
#define DTYPE_NAMED 256
#define DTYPE_NAMED_ITEMS 256
#define DTYPE_NAMED_BYTES 4096
#define DTYPE_NAMED_NAME 24
#define DTYPE_APR2_NAMED 51 /* APR2's code for all of them */

/* Rows by identity. NULL where there is none. dtype_by_name takes any case and
 * "GGML_n" for 0 <= n < 256; so does dtype_by_ggml: a number without a row of
 * its own gives a row of unknown size, whose tensors pass through untouched. */
const struct dtype *dtype_by_name(const char *name);
const struct dtype *dtype_by_ggml(uint32_t number);
const struct dtype *dtype_by_apr2(uint8_t code);

/* A type by the name that a person gives: dtype_by_name's, that of a plugin's type
 * without its block, and those of the version 1 specification, int8 for Q8_TENSOR and
 * int4 for Q4_0. */
const struct dtype *dtype_asked(const char *name);

/* The row of a plugin's type; NULL where that is none, its name is another type's, or
 * there is no more room. */
const struct dtype *dtype_named(const char *name, uint32_t items, uint32_t bytes);

/* All rows of known size, for lists and tests: NULL past the last. */
const struct dtype *dtype_row(unsigned index);

/* APR2 code of a type: its own, or 64 + GGML number up to 63, or DTYPE_NONE. */
int dtype_apr2_code(const struct dtype *t);

static inline bool
dtype_sized(const struct dtype *t)
{
	return t->items != 0;
}

/* Do rows of that many values fill blocks? */
static inline bool
dtype_fills(const struct dtype *t, uint64_t row)
{
	return t->whole || row % t->items == 0;
}

/* The bytes that n values take without the head, whole blocks of a known size; n
 * is a number of values in memory. */
static inline size_t
dtype_span(const struct dtype *t, size_t n)
{
	return (n / t->items + (n % t->items != 0)) * t->bytes;
}

#endif
