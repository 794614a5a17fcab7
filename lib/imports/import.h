/* import: what importers have in common. An importer fills the plan and, for each tensor, the
 * place of its values in the mapped file; the source here sends them.
 *
 * The whole file is in memory that costs nothing until it is read: a file is mapped, a pipe is
 * spooled. Values that the plan's type stores as the file does are sent from there; other values
 * are made from it in pieces.
 */
#ifndef IMPORTS_IMPORT_H
#define IMPORTS_IMPORT_H

#include "formats/container.h"
#include "formats/format.h"
#include "imports/whole.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define IMPORT_TENSORS (1u << 18) /* maximum number of tensors */
#define IMPORT_KEYS (96u << 20)   /* maximum bytes of all values that do not fit into the plan */
#else
#define IMPORT_TENSORS (1u << 10)
#define IMPORT_KEYS (1u << 20)
#endif

struct import;
struct import_place;

/* Writes the values of `count` units from unit `first` to `to`. */
typedef void import_make(const struct import_place *x, uint64_t first, uint64_t count,
                         uint8_t *to);

/* The place of a tensor's values. */
struct import_place {
	const uint8_t *p;       /* the stored bytes; unused if the tensor has no values */
	import_make *make;      /* NULL: the bytes at p are the values */
	uint32_t in, out;       /* bytes of a unit, stored and made, if make is set. in is 0 if units
	                         * have another order; there are as many bytes as in the tensor */
	uint8_t head[DTYPE_HEAD]; /* precedes the values, if the type has a head */
	uint64_t more[4];       /* of the importer */
	const void *data;       /* of the importer */
	const struct map *map;  /* of the file beside that holds p; NULL: import_tensor sets that
	                         * of the file itself */
};

/* A part of a side file. */
struct import_part {
	const uint8_t *p;
	uint64_t n;
	const struct map *map; /* of the file that holds p; NULL: memory of the importer */
};

struct import {
	struct source source;
	struct model plan;
	struct format_options options;
	const struct import_kind *kind;
	struct reader reader;
	struct err *err;
	const uint8_t *p;       /* the file from its first byte */
	uint64_t n, base;       /* base: the offset of p[0] in the file */

	struct import_place *places; /* of the plan's tensors */
	size_t place_count, place_cap;
	struct buf *values;     /* of the plan's blobs */
	size_t value_count, value_cap;
	uint64_t value_bytes;

	struct import_part *parts; /* of all side files, which follow the values */
	size_t part_count, part_cap;
	size_t *sides;          /* number of the first part of each */
	size_t side_count, side_cap;

	const void *given;      /* what the caller of import_open_with gave */

	/* The rest belongs to import.c. */
	struct import_beside *beside;
	struct whole whole;
	struct container_sent sent;
	const struct import_place *place;
	uint64_t head_left, done, units, left;
	const struct import_part *part; /* of the side file that is being sent; NULL: none */
	const uint8_t *body, *released;
	struct buf piece;
};

/* An importer: the structure of a source begins with a struct import and has `bytes` bytes. */
struct import_kind {
	const struct format *format;
	size_t bytes;
	/* Fill plan and places. 0, or -1 with im->err filled. */
	int (*read)(struct import *im);
	/* Called before values are sent: p of the place may change. NULL: nothing to do. */
	int (*begin)(struct import *im, struct import_place *x);
	/* Release what the importer owns. NULL: nothing. */
	void (*close)(struct import *im);
};

/* For struct format_reads. import_describe adds the members of the plan's source. */
struct source *import_open(const struct import_kind *kind, struct reader *r,
                           const struct format_options *options, void (*note)(const char *),
                           struct err *e);
json_t *import_describe(struct source *s, struct err *e);
uint64_t import_tensor_offset(const struct source *s, size_t i);

/* The outline of a zip or tar archive: its members. Of another file: nothing. */
void import_outline(struct reader *r, struct outline *o);

/* import_open with a pointer for the importer's own use while it fills the plan. */
struct source *import_open_with(const struct import_kind *kind, struct reader *r,
                                const struct format_options *options, void (*note)(const char *),
                                const void *given, struct err *e);

/* Map another file: name in the folder (core/dir.h). label: for messages. The source owns the map,
 * and reports a file that was truncated. NULL: an error. */
const struct map *import_beside(struct import *im, int folder, const char *name,
                                const char *label);

/* Add a tensor and its place. The stored bytes of x lie in im->p or in memory that outlives the
 * source. A place without `make` needs as many bytes as the tensor has at x->p. */
int import_tensor(struct import *im, const char *name, size_t name_bytes,
                  const struct dtype *type, unsigned ndim, const uint64_t *dims,
                  const struct import_place *x);

/* Append a key. A value that is too long for the plan becomes a blob. All return 0 or -1. */
int import_u32(struct import *im, const char *key, uint32_t v);
int import_f32(struct import *im, const char *key, float v);
int import_bool(struct import *im, const char *key, bool v);
int import_text(struct import *im, const char *key, const void *p, size_t n);
int import_value(struct import *im, const char *key, struct value_type type,
                 const struct buf *wire);

/* The wire form of an array, which the caller fills: its head, and a string of it. */
void import_array(struct buf *wire, enum value_kind item, uint64_t count);
void import_string(struct buf *wire, const void *p, size_t n);

/* What types and names of tensors do not tell is a JSON key, {"NAME":{MEMBERS},…}. import_relate adds
 * a tensor to its value; members, "MEMBER":VALUE,…, are freed, and none add nothing. import_related
 * adds the key, unless it has no tensors. */
int import_relate(struct import *im, struct buf *value, const char *name, size_t name_bytes,
                  struct buf *members);
int import_related(struct import *im, const char *key, struct buf *value);

/* Append a side file, after the last key: parts one after another, whose bytes outlive the source. */
int import_side(struct import *im, const char *name, const char *type,
                const struct import_part *parts, size_t count);

/* Set a member of the plan's source. Takes the reference of v. */
int import_source(struct import *im, const char *name, json_t *v);

/* The user's choice of an option of the importer, or NULL. */
const char *import_chosen(const struct import *im, const struct format_option *row);

/* Note a text of at most 300 bytes to the user. */
void import_note(const struct import *im, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A file that is refused: err_set with the name of the file. Always -1. */
int import_fail(const struct import *im, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
