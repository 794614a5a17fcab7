/* apr1_layout: what existing software writes for each model type: bincode 1.3 in its
 * default form. Fixed widths, little-endian; a list is its u64 count and its items, text
 * is a list of bytes; what may be absent has a byte 0 or 1 before it; a variant is a u32;
 * a structure is its fields, with nothing between.
 *
 * A payload is taken for a layout only if it is used up by it to the last byte and
 * all that the layout demands holds. Its bytes follow from the tensors again, so a
 * layout is never a guess about the bytes, only about their names.
 */
#ifndef FORMATS_APR1_LAYOUT_H
#define FORMATS_APR1_LAYOUT_H

#include "formats/apr1/apr1.h"

enum apr1_kind {
	APR1_F32, APR1_U64, APR1_BOOL, /* scalars: tensors without axes */
	APR1_FLOATS,  /* list of f32: F32 [n] */
	APR1_WORDS,   /* list of u64: U64 [n] */
	APR1_MATRIX,  /* list of f32, u64 rows, u64 columns: F32 [rows, columns] */
	APR1_CLASSES, /* a tree that classifies, node after node, left before right; */
	APR1_VALUES,  /* a tree of numbers: a tensor for each field of nodes */
	APR1_WORD_LISTS, /* list of lists of u64: NAME and NAME_lengths */
	APR1_COUNTS,  /* map of text to u32: NAME_text, NAME_lengths, NAME_counts */
	APR1_CONTEXTS, /* map of text to such maps: these, NAME_sizes, NAME_next_text, … */
	APR1_ONE,     /* a structure: its fields */
	APR1_MANY     /* list of structures: NAME_count, fields with NAME_0_ before them */
};

struct apr1_field {
	const char *name;
	enum apr1_kind kind;
	bool optional;
	const struct apr1_field *of; /* APR1_ONE, APR1_MANY */
};

struct apr1_layout {
	uint16_t type;     /* model type; 0: only when it is asked for */
	const char *name;  /* as existing software calls it; of versions that lack fields
	                    * with a number behind it */
	const struct apr1_field *fields;
};

/* All of them, in the order in which they are tried; NULL at the end. By name. */
const struct apr1_layout *apr1_layout_row(size_t index);
const struct apr1_layout *apr1_layout_by_name(const char *name);

/* Lengths that a file may demand work for, beyond which it stays opaque. */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define APR1_NODES (1u << 20)  /* of a tree */
#define APR1_ITEMS (1u << 16)  /* structures in a list */
#else
#define APR1_NODES 4096
#define APR1_ITEMS 64
#endif

/* ---- bytes to tensors ---- */

/* A tensor of a payload: p in the payload, or at in what was derived from it. */
struct apr1_part {
	char *name;
	const struct dtype *type;
	unsigned ndim;
	uint64_t dims[2];
	const uint8_t *p; /* NULL: derived */
	uint64_t at, bytes;
};

struct apr1_parts {
	struct apr1_part *list;
	size_t count, cap;
	struct spool derived; /* columns of trees and the like */
};

/* 1: the n bytes are of this layout, and parts has their tensors; 0: they are not, and
 * parts is empty; -1 with e filled (memory, disk). */
int apr1_unwrap(const struct apr1_layout *l, const uint8_t *p, uint64_t n,
                struct apr1_parts *parts, struct err *e);
void apr1_parts_free(struct apr1_parts *parts);

/* ---- tensors to bytes ---- */

/* The tensor of that name: its bytes in one piece, or NULL where there is none. */
struct apr1_found {
	const struct tensor *tensor;
	const uint8_t *p;
};
typedef struct apr1_found (*apr1_finder)(void *ctx, const char *name);

/* Put what the layout makes of the tensors. count: of all tensors there are, each of
 * which must be in it. 1: done; 0: they are not what the layout needs, *why says which
 * (text that stays); -1 with e filled. to may hold a beginning after 0. */
int apr1_wrap(const struct apr1_layout *l, apr1_finder find, void *ctx, size_t count,
              struct spool *to, char why[256], struct err *e);

#endif
