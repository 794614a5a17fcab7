/* hdf5: reads the HDF5 files that h5py writes by default, which are those of Keras.
 *
 *     superblock     the signature, the sizes of numbers, the address of the root group
 *     object header  a list of messages; version 1, or 2 ("OHDR") with a checksum. It
 *                    continues in other blocks
 *      group         links: in a B-tree ("TREE") whose leaves ("SNOD") refer to names in a
 *                    heap ("HEAP"); or each in a message of its own
 *      dataset       a space (dimensions), a type, a layout (where the values lie), filters
 *      attributes    messages with a name, a type, a space and values
 *     global heap    "GCOL": texts of variable length
 *
 * This is not the HDF5 library, because of what it can do beyond this: it opens other files
 * (external links, external data, virtual datasets) and loads plugins for filters; it has a long
 * record of memory errors in files that are damaged on purpose; and it reads through its own
 * calls of the system, which would have to be allowed in the sandbox. A model of Keras uses a
 * small part of the format, which fits into six files here.
 *
 * Read are superblocks 0 to 3 with addresses of 8 bytes, links of both kinds, attributes in the
 * header, and datasets that are compact, contiguous, or in chunks of a B-tree of version 1 with
 * the filters deflate, shuffle and fletcher32. Refused by name: soft and external links, links
 * and attributes in fractal heaps, external files, virtual datasets, shared messages, other
 * filters, types and chunk indexes, and files in several parts.
 *
 * Nothing is proved in advance: each function checks the bytes that it uses. What is read
 * repeatedly is bounded by a budget of work in proportion to the file. B-trees get lower by one
 * level at each step, so they cannot run in a circle; a caller bounds the depth of groups.
 *
 * Functions return 0, or -1 with the error of struct hdf5 filled, unless stated otherwise.
 *
 * Source: The HDF Group, "HDF5 File Format Specification Version 3.0".
 */
#ifndef WIRE_HDF5_H
#define WIRE_HDF5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define HDF5_NONE UINT64_MAX /* an address that is not set */
#define HDF5_DIMS 8          /* maximum number of dimensions */
#define HDF5_FILTERS 8       /* maximum number of filters */
#define HDF5_MAGIC "\x89HDF\r\n\x1a\n"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define HDF5_CHUNK (64u << 20) /* maximum bytes of a chunk */
#define HDF5_UNSET (64u << 20) /* maximum bytes of a file's values that are not stored */
#else
#define HDF5_CHUNK (1u << 16)
#define HDF5_UNSET (1u << 16)
#endif

struct hdf5 {
	const uint8_t *p;  /* the file; not owned */
	uint64_t n;
	const char *where; /* its name, for messages; not owned */
	struct err *err;
	uint64_t root;     /* address of the root group */
	uint64_t budget;   /* bytes that may be read, and */
	uint64_t work;     /* how many are left */
	uint64_t stored;   /* bytes that datasets may still take, so they cannot overlap much */
	uint64_t unset;    /* bytes of values that are not stored may still be as many */
};

/* Part of a message, all zero if the header does not have it. */
struct hdf5_part {
	const uint8_t *p;
	uint64_t n;
};

/* The kinds of messages that are used. */
enum hdf5_message { HDF5_SPACE, HDF5_TYPE, HDF5_OLD_FILL, HDF5_FILL, HDF5_LAYOUT, HDF5_PIPELINE,
	HDF5_TABLE, HDF5_LINK_INFO, HDF5_MESSAGES };

struct hdf5_object {
	uint64_t at; /* of its header */
	struct hdf5_part parts[HDF5_MESSAGES];
	bool links;  /* it has messages that are links */
};

enum hdf5_class { HDF5_INTEGER, HDF5_FLOAT, HDF5_TEXT, HDF5_TEXTS, HDF5_OPAQUE, HDF5_BOOL,
	HDF5_OTHER };

struct hdf5_type {
	enum hdf5_class class; /* TEXT: of a fixed size; TEXTS: of variable length; BOOL: h5py's
	                        * enumeration of FALSE and TRUE in a byte */
	const char *title;     /* of the class, for messages */
	uint32_t bytes;
	bool sign, big;        /* big: big-endian */
	uint8_t exponent, mantissa; /* bits of a FLOAT */
	uint32_t bias;
};

struct hdf5_space {
	unsigned ndim;
	uint64_t dims[HDF5_DIMS], count; /* count: of values */
	bool null;                       /* the dataset has no values */
};

struct hdf5_attribute {
	struct hdf5_type type;
	struct hdf5_space space;
	struct hdf5_part values;
};

/* A dataset's layout. */
struct hdf5_data {
	const uint8_t *p;   /* the values, if they lie in one piece, else NULL */
	uint64_t bytes;     /* of all values */
	uint64_t tree;      /* address of the chunks' B-tree; HDF5_NONE: without values */
	uint64_t chunk[HDF5_DIMS], chunk_bytes;
	struct hdf5_part fill; /* the value where none is stored; n is 0: zeros */
	unsigned filter_count;
	struct { unsigned id; uint64_t value; } filters[HDF5_FILTERS];
};

/* Start to read the n bytes at p, which outlive h. */
int hdf5_open(struct hdf5 *h, const uint8_t *p, uint64_t n, const char *where, struct err *e);

/* The object whose header is at an address. */
int hdf5_object(struct hdf5 *h, uint64_t at, struct hdf5_object *o);

/* True if the object is a group, or a dataset. */
bool hdf5_is_group(const struct hdf5_object *o);
bool hdf5_is_dataset(const struct hdf5_object *o);

/* Call `each` for all links of a group, by name in a B-tree. It returns 0, or another value that
 * ends the walk and is returned. */
typedef int hdf5_each(void *ctx, const char *name, size_t n, uint64_t at);
int hdf5_links(struct hdf5 *h, const struct hdf5_object *group, hdf5_each *each, void *ctx);

/* The object at the path, whose names are separated by slashes: 1, 0 if it does not exist, or
 * -1. */
int hdf5_find(struct hdf5 *h, const struct hdf5_object *group, const char *path, size_t n,
              struct hdf5_object *found);

/* An attribute: 1, 0 if the object does not have it, or -1. hdf5_text sets *p and *n to text i of
 * an attribute whose values are texts, without the bytes that fill it up. */
int hdf5_attribute(struct hdf5 *h, const struct hdf5_object *o, const char *name,
                   struct hdf5_attribute *a);
int hdf5_text(struct hdf5 *h, const struct hdf5_attribute *a, uint64_t i, const char **p,
              size_t *n);

/* The type, the space and the layout of a dataset. hdf5_data proves where the values lie. */
int hdf5_type(struct hdf5 *h, const struct hdf5_object *o, struct hdf5_type *t);
int hdf5_space(struct hdf5 *h, const struct hdf5_object *o, struct hdf5_space *s);
int hdf5_data(struct hdf5 *h, const struct hdf5_object *o, const struct hdf5_type *t,
              const struct hdf5_space *s, struct hdf5_data *d);

/* Write the d->bytes values of a dataset that is not in one piece to `to`. Everything is checked
 * again, because the file may have changed. */
int hdf5_gather(struct hdf5 *h, const struct hdf5_type *t, const struct hdf5_space *s,
                const struct hdf5_data *d, uint8_t *to);

/* ---- between the parts of the reader ---- */

/* n bytes at an address, or NULL with the error filled: `what` would end beyond the end. Work is
 * paid for the bytes. */
const uint8_t *hdf5_bytes(struct hdf5 *h, uint64_t at, uint64_t n, const char *what);

/* n bytes of a part, which gets shorter; NULL with the error filled if it has fewer. */
const uint8_t *hdf5_take(struct hdf5 *h, struct hdf5_part *part, uint64_t n);

/* A number of 1, 2, 4 or 8 bytes of a part; *ok becomes false if the part is too short. */
uint64_t hdf5_number(struct hdf5_part *part, unsigned bytes, bool *ok);

/* The file is refused. Always -1. */
int hdf5_fail(struct hdf5 *h, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Call `each` for all messages of an object whose header is at an address. type is the number of
 * the specification. */
typedef int hdf5_message(void *ctx, unsigned type, unsigned flags, struct hdf5_part part);
int hdf5_messages(struct hdf5 *h, uint64_t at, hdf5_message *each, void *ctx);

/* Take up to *budget; `fact` is the error if it does not suffice. */
int hdf5_spend(struct hdf5 *h, uint64_t *budget, uint64_t bytes, const char *fact);
#define HDF5_OVERLAP "has datasets that lie in the same bytes"
#define HDF5_TOO_FEW "stores too few of its values: more than 64 MiB would be fill values"

/* Read the filters of a dataset. hdf5_undo reverses those of a chunk: *p and *n become its
 * chunk_bytes, in one of the buffers or in the file. */
int hdf5_read_filters(struct hdf5 *h, struct hdf5_part m, struct hdf5_data *d);
int hdf5_undo(struct hdf5 *h, const struct hdf5_data *d, uint32_t mask, struct buf pair[2],
              const uint8_t **p, uint64_t *n);

/* Check the chunks of a dataset, and count their stored bytes. */
int hdf5_check_chunks(struct hdf5 *h, const struct hdf5_type *t, const struct hdf5_space *s,
                      const struct hdf5_data *d);

#endif
