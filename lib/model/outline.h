/* outline: the parts of a file, in the order in which its structure names them, as far as the
 * structure can be followed. A format fills it (formats/format.h) from a file that may be
 * broken, so nothing in it is proved: parts may overlap and exceed the file.
 */
#ifndef MODEL_OUTLINE_H
#define MODEL_OUTLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/reader.h"
#include "model/dtype.h"

/* Parts and tensors that are kept; those beyond are counted. */
#define OUTLINE_PARTS 1024
#define OUTLINE_TENSORS (1u << 20)
/* Bytes of structure that are followed. */
#define OUTLINE_WALK ((uint64_t)256 << 20)

struct outline_part {
	uint64_t offset, bytes;
	char *what;               /* a phrase, with names as the file has them */
};

struct outline_tensor {
	char *name;               /* as the file has it, terminated */
	const struct dtype *type; /* NULL: not known */
	uint64_t offset;          /* in the file */
	uint64_t bytes;           /* as stored; 0 if not known */
	bool plain;               /* these are the tensor's bytes: not compressed */
};

/* One of several files of a model. */
struct outline_file {
	const char *name;
	size_t tensors;
	uint64_t bytes;           /* of these */
};

struct outline {
	struct outline_part *part;
	size_t parts, part_cap, parts_more;
	struct outline_tensor *tensor;
	size_t tensors, tensor_cap, tensors_more;
	bool stopped;             /* the structure breaks, or is too long: */
	uint64_t stop;            /* at this offset, */
	struct err err;           /* for this reason */
	bool failed;              /* out of memory */
};

/* All zero at the beginning, except for err (ERR_INIT). */
void outline_add(struct outline *o, uint64_t offset, uint64_t bytes, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds a tensor, whose bytes follow from type and dims if bytes is OUTLINE_OWN. */
#define OUTLINE_OWN UINT64_MAX
struct outline_shape {
	unsigned ndim;
	uint64_t dims[8];
};
void outline_tensor(struct outline *o, const void *name, size_t n, const struct dtype *type,
                    const struct outline_shape *shape, uint64_t offset, uint64_t bytes,
                    bool plain);

/* The structure breaks at the place of r: with its error, or with this one. Returns -1. */
int outline_stop(struct outline *o, struct reader *r, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The tensor with this name, or NULL. */
const struct outline_tensor *outline_find(const struct outline *o, const char *name);

void outline_free(struct outline *o);

#endif
