/* pickle_machine: the parts of the machine of pickle.h. Included by wire/pickle*.c only.
 *
 * Functions that make a node return PICKLE_NOTHING with the error filled.
 */
#ifndef WIRE_PICKLE_MACHINE_H
#define WIRE_PICKLE_MACHINE_H

#include "wire/pickle.h"

/* ---- opcodes (pickle_ops.c) ---- */

/* The form of an argument: a number of 1 to 8 bytes; bytes after their length; lines. */
enum pickle_form { NOT_AN_OPCODE, PLAIN, ONE, TWO, FOUR, EIGHT, BYTES1, BYTES4, BYTES8, LINE, LINES };

struct pickle_arg {
	uint64_t v;       /* ONE to EIGHT: a number */
	const uint8_t *p; /* BYTES, LINE, LINES: the first bytes */
	size_t n;
	const uint8_t *q; /* LINES: the second line */
	size_t m;
};

struct pickle_op {
	uint8_t form;
	uint8_t with; /* for the function */
	int (*run)(struct pickle *k, const struct pickle_arg *a, unsigned with);
};

extern const struct pickle_op pickle_ops[256];

/* ---- nodes (pickle_node.c, pickle_text.c) ---- */

/* Set the error at the opcode at offset `at`. Always -1. */
int pickle_bad(struct pickle *k, size_t at, const char *what);

/* Grow an array of k to at least `need` items within the budget. 0 or -1. */
int pickle_grow(struct pickle *k, void *p, size_t *cap, size_t need, size_t size);

/* Record a CALL of an unknown name, or a GLOBAL that executes. -1 if this refuses the pickle. */
int pickle_record(struct pickle *k, pickle_ref r);

/* Append node r to the chain of node `to`. 0 or -1. */
int pickle_append(struct pickle *k, pickle_ref to, pickle_ref r);

pickle_ref pickle_new(struct pickle *k, enum pickle_kind kind);
pickle_ref pickle_new_int(struct pickle *k, int64_t v);
pickle_ref pickle_new_bytes(struct pickle *k, enum pickle_kind kind, const uint8_t *p, size_t n);
pickle_ref pickle_new_global(struct pickle *k, pickle_ref module, pickle_ref name);
pickle_ref pickle_new_call(struct pickle *k, pickle_ref function, pickle_ref args);

/* Change a node by BUILD. 0 or -1. */
int pickle_build(struct pickle *k, pickle_ref object, pickle_ref state);

/* Take what follows the BUILD of an object. 0 or -1. */
int pickle_take_behind(struct pickle *k, pickle_ref object);

/* Nodes from the text of opcodes of protocol 0: the line without its end. */
pickle_ref pickle_text_int(struct pickle *k, const uint8_t *p, size_t n, bool is_long);
pickle_ref pickle_text_float(struct pickle *k, const uint8_t *p, size_t n);
pickle_ref pickle_text_string(struct pickle *k, const uint8_t *p, size_t n); /* quoted */
pickle_ref pickle_text_unicode(struct pickle *k, const uint8_t *p, size_t n);

#endif
