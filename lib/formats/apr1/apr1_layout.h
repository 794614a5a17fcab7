/* apr1_layout: the payloads that existing software writes for each model type: bincode 1.3
 * in its default form. Numbers have fixed widths and are little-endian. A list is its u64
 * count and its items, text is a list of bytes, an optional field has a byte 0 or 1 before
 * it, a variant is a u32, and a structure is its fields, with nothing between them.
 *
 * A payload matches a layout only if the layout consumes it to the last byte and all
 * conditions of the layout hold. The tensors give the same bytes again, so a layout is
 * never a guess about the bytes, only about their names.
 */
#ifndef FORMATS_APR1_LAYOUT_H
#define FORMATS_APR1_LAYOUT_H

#include "formats/apr1/apr1.h"

enum apr1_kind {
	APR1_F32, APR1_U64, APR1_BOOL, /* scalars: tensors without axes */
	APR1_FLOATS,  /* list of f32: F32 [n] */
	APR1_WORDS,   /* list of u64: U64 [n] */
	APR1_MATRIX,  /* list of f32, u64 rows, u64 columns: F32 [rows, columns] */
	APR1_CLASSES, /* a classification tree, node after node, left before right; */
	APR1_VALUES,  /* a regression tree: for both, a tensor for each field of nodes */
	APR1_WORD_LISTS, /* list of lists of u64: NAME and NAME_lengths */
	APR1_COUNTS,  /* map of text to u32: NAME_text, NAME_lengths, NAME_counts */
	APR1_CONTEXTS, /* map of text to such maps: as before, NAME_sizes, NAME_next_text, … */
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
	uint16_t type;     /* model type; 0: only on request */
	const char *name;  /* as in existing software; a number follows for versions that
	                    * lack fields */
	const struct apr1_field *fields;
};

/* The layouts by index, in the order in which they are tried, NULL at the end; and by
 * name. */
const struct apr1_layout *apr1_layout_row(size_t index);
const struct apr1_layout *apr1_layout_by_name(const char *name);

/* Maximum lengths, which bound the work. A payload that exceeds one stays opaque. */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define APR1_NODES (1u << 20)  /* of a tree */
#define APR1_ITEMS (1u << 16)  /* structures in a list */
#else
#define APR1_NODES 4096
#define APR1_ITEMS 64
#endif

/* ---- bytes to tensors ---- */

/* A tensor of a payload: at p in the payload, or at offset at in derived. */
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

/* 1 if the n bytes match this layout; parts then has their tensors. 0 if not; parts is then
 * empty. -1 with e filled (memory, disk). */
int apr1_unwrap(const struct apr1_layout *l, const uint8_t *p, uint64_t n,
                struct apr1_parts *parts, struct err *e);
void apr1_parts_free(struct apr1_parts *parts);

/* ---- tensors to bytes ---- */

/* A tensor found by name, and its contiguous bytes; tensor is NULL if there is none. */
struct apr1_found {
	const struct tensor *tensor;
	const uint8_t *p;
};
typedef struct apr1_found (*apr1_finder)(void *ctx, const char *name);

/* Write the payload that the layout makes of the tensors. count: the number of all tensors of
 * the model; the layout must use each of them. 1: done; 0: the tensors do not fit the layout,
 * why has the reason, and to may hold part of a payload; -1 with e filled. */
int apr1_wrap(const struct apr1_layout *l, apr1_finder find, void *ctx, size_t count,
              struct spool *to, char why[256], struct err *e);

#endif
