/* bare: the tensors of a GGUF file that lies in memory, for programs without an operating system.
 *
 * Nothing is allocated or copied. core/err.h has the errors. The file is hostile: each function checks
 * what it reads, and the work of a call grows at most with the bytes of the header. lib/formats/gguf/
 * is the reader for everybody else; this one accepts what it accepts, apart from the limits below, and
 * checks less: not that tensors do not overlap.
 */
#ifndef BARE_BARE_H
#define BARE_BARE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "model/dtype.h"

#define BARE_DIMS 4

struct bare {
	const uint8_t *p;   /* the file */
	size_t n;
	uint64_t keys, tensors;
	size_t keys_at, tensors_at, data_at;
};

struct bare_tensor {
	const char *name;   /* not terminated */
	size_t name_bytes;
	const struct dtype *type;
	unsigned dims;
	uint64_t dim[BARE_DIMS]; /* the first is the length of a row */
	uint64_t items;     /* values */
	const uint8_t *data;
	size_t bytes;
	uint64_t number;    /* among the tensors; private, */
	size_t next;        /* as is the place of the next one */
};

/* Opens the n bytes of a file of version 2 or 3. They stay the caller's and must not change. 0, or -1
 * with E001 (not GGUF, or a type of unknown size), E002 or E003. */
int bare_open(struct bare *b, const void *p, size_t n, struct err *e);

/* The first tensor; the one behind t, which such a call has filled. 1; 0 behind the last; -1 with e
 * filled. */
int bare_first(const struct bare *b, struct bare_tensor *t, struct err *e);
int bare_next(const struct bare *b, struct bare_tensor *t, struct err *e);

/* The tensor of this name. 0, or -1 with ERR_NO. */
int bare_find(const struct bare *b, const char *name, struct bare_tensor *t, struct err *e);

/* Decodes n values of a tensor, from one on: both are multiples of its block. 0, or -1: ERR_FORMAT for
 * the types F8, Q8_1, Q8_K, IQ1 to IQ3 and those of the apr tools. */
int bare_values(const struct bare_tensor *t, uint64_t from, float *y, size_t n, struct err *e);

/* The text of a key, not terminated, and its length; NULL if there is no such key, or it is not a
 * text. */
const char *bare_text(const struct bare *b, const char *key, size_t *n);

#endif
