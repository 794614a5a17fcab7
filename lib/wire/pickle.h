/* pickle: reads a Python pickle as data, without Python.
 *
 * A pickle is a program for a stack machine: it can name any function of any module and call it.
 * This machine has the same stack and memo, but no functions. It builds a graph of nodes; a name
 * becomes a node PICKLE_GLOBAL, a call a node PICKLE_CALL that holds the function and its
 * arguments. Nothing is imported, called or created. The owner of the graph gives a meaning to
 * the few functions that it knows; the rest stays what it is, a note that a call was asked for.
 *
 * Each call of a name that the owner's table lacks is recorded, and so is each name of a
 * function that executes programs, called or not. Unless the owner asks to see them all, the
 * first one ends the reading: the file is refused by that name (ERR_FORMAT).
 *
 * Work and memory are bounded: each opcode takes constant time, except that it reads the bytes
 * of its argument once; nodes are shared, never copied; lists are chains. One budget covers nodes,
 * chains, stack and memo. No function calls itself.
 *
 * Not read, and refused: extension codes (EXT1 to EXT4), which stand for names in a registry
 * of the reader's process, and buffers outside the pickle (protocol 5).
 *
 * Source: the documentation of Python's modules pickle and pickletools, protocols 0 to 5.
 */
#ifndef WIRE_PICKLE_H
#define WIRE_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define PICKLE_MEMORY (44u << 20) /* bytes of nodes, chains, stack and memo */
#else
#define PICKLE_MEMORY (1u << 20)
#endif
#define PICKLE_CALLS 64           /* recorded calls; the others are only counted */

struct pickle;
enum pickle_behind {
	PICKLE_BEHIND_NOTHING,
	PICKLE_BEHIND_BYTES,
	PICKLE_BEHIND_PADDED, /* bytes behind a byte that counts what fills the gap before them */
	PICKLE_BEHIND_PICKLE, /* another pickle, with a memo of its own */
	PICKLE_BEHIND_WRONG   /* the error is set */
};

enum pickle_kind {
	PICKLE_NONE, PICKLE_BOOL, PICKLE_INT,
	PICKLE_LONG,   /* an integer of more than 64 bits: its bytes, little-endian */
	PICKLE_FLOAT,
	PICKLE_TEXT,   /* UTF-8, may contain NUL */
	PICKLE_BYTES,
	PICKLE_TUPLE, PICKLE_LIST, PICKLE_SET, /* chain: the members */
	PICKLE_DICT,   /* chain: key, value, key, value, … */
	PICKLE_GLOBAL, /* module and name, as in the pickle */
	PICKLE_CALL,   /* function(args), then its state; chain: what was appended or set */
	PICKLE_PERSISTENT /* a reference to something outside: id in args */
};

typedef uint32_t pickle_ref; /* the number of a node; PICKLE_NOTHING: none */
#define PICKLE_NOTHING UINT32_MAX

/* What the owner's table says of a name. */
enum {
	PICKLE_UNKNOWN,   /* not in the table */
	PICKLE_EXECUTES,  /* runs programs or code; not allowed even as a mere name */
	PICKLE_OPAQUE,    /* makes a value and does nothing else; the value has no meaning here */
	PICKLE_MEANING    /* from here on: numbers of the owner */
};

struct pickle_name {
	const char *module; /* as Python 3 calls it */
	const char *name;   /* NULL: all names of this module and of modules in it */
	int what;
};

struct pickle_node {
	uint8_t kind;
	bool pairs;        /* CALL: the chain has keys and values, not members */
	bool called;       /* GLOBAL: a call of it is recorded */
	uint8_t what;      /* GLOBAL: from the table */
	uint32_t count;    /* members of the chain: for a DICT, keys and values */
	union {
		int64_t i;     /* BOOL, INT */
		double d;      /* FLOAT */
		struct { uint32_t n, at; } bytes; /* TEXT, BYTES, LONG: use pickle_bytes */
		struct { uint32_t first, last; } chain; /* of cells */
		struct { pickle_ref module, name; } global;
	} u;
	pickle_ref function, args, state; /* CALL; args also of PERSISTENT */
};

struct pickle_cell {
	pickle_ref node;
	uint32_t next;
};

struct pickle {
	/* Set by the owner. */
	const struct pickle_name *names; /* in any order, a row without a name too */
	size_t name_count;
	bool tolerant;     /* record calls of unknown names instead of refusing them */
	bool persistent;   /* the pickle may refer to things outside */
	const char *where; /* for messages; outlives the pickle */
	size_t memory;     /* the budget; 0: PICKLE_MEMORY */
	/* What follows the BUILD of an object, outside of the pickle's opcodes, as joblib writes arrays: with
	 * PICKLE_BEHIND_BYTES, their number. What follows is appended to the object's chain. NULL: nothing. */
	enum pickle_behind (*behind)(struct pickle *k, pickle_ref object, uint64_t *bytes);
	void *owner;

	/* The graph. */
	const uint8_t *p;  /* the pickle; not owned */
	size_t n;
	struct pickle_node *nodes;
	size_t node_count, node_cap;
	struct pickle_cell *cells;
	size_t cell_count, cell_cap;
	struct buf text;   /* bytes that do not stand in the pickle: unescaped strings */
	pickle_ref root;
	size_t end;        /* offset behind the pickle's last opcode */

	pickle_ref calls[PICKLE_CALLS]; /* CALL nodes, or GLOBAL nodes that execute */
	size_t call_count;              /* all of them */

	/* The machine. */
	size_t at;
	pickle_ref *stack, *memo;
	size_t depth, stack_cap, memo_cap;
	size_t memo_count; /* objects in the memo */
	struct pickle_outer { /* while a pickle behind an object is read: the machine around it */
		bool inside;
		pickle_ref object;
		pickle_ref *memo;
		size_t memo_cap, memo_count, depth, mark_count;
	} outer;
	uint32_t *marks;   /* depths */
	size_t mark_count, mark_cap;
	struct err *err;
};

/* Read the pickle at the beginning of n bytes at p, which outlive it. The caller has set the
 * owner's members in an otherwise zeroed structure, and frees it in any case. 0, or -1 with e
 * filled: ERR_FORMAT for a pickle that is refused, ERR_CORRUPT for one that is damaged. If the
 * damage follows a call that would have been refused, the message names the call. */
int pickle_read(struct pickle *k, const uint8_t *p, size_t n, struct err *e);
void pickle_free(struct pickle *k);

static inline const struct pickle_node *
pickle_node(const struct pickle *k, pickle_ref r)
{
	return &k->nodes[r];
}

/* The bytes of a TEXT, BYTES or LONG node; *n is their number. */
const uint8_t *pickle_bytes(const struct pickle *k, pickle_ref r, size_t *n);

/* True if the node is this text. */
bool pickle_is(const struct pickle *k, pickle_ref r, const char *text);

/* The first cell of a chain, and the next; NULL at the end. */
const struct pickle_cell *pickle_first(const struct pickle *k, pickle_ref r);
const struct pickle_cell *pickle_next(const struct pickle *k, const struct pickle_cell *c);

/* Set the first `most` members of a TUPLE or LIST; the others are PICKLE_NOTHING. Returns the
 * number of all members, or 0 if the node is neither. */
size_t pickle_items(const struct pickle *k, pickle_ref r, pickle_ref *items, size_t most);

/* The meaning of the function of a CALL, or of a GLOBAL; PICKLE_UNKNOWN for other nodes. */
int pickle_what(const struct pickle *k, pickle_ref r);

/* The text of a GLOBAL's name; PICKLE_NOTHING for other nodes, a call of it too. */
pickle_ref pickle_name_of(const struct pickle *k, pickle_ref r);

/* Append a node as Python would write it, as far as a message needs it: posix.system('id'). */
void pickle_show(const struct pickle *k, pickle_ref r, struct buf *b);

#endif
