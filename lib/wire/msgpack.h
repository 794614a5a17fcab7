/* msgpack: MessagePack, read from memory one token after another.
 *
 *     00-7f, e0-ff   an integer of 0 to 127, of -32 to -1
 *     80-8f de df    a map of n keys and values: n in the low 4 bits, in u16, in u32
 *     90-9f dc dd    an array of n values
 *     a0-bf d9-db    a text of n bytes: n in the low 5 bits, in u8, u16, u32
 *     c0 c2 c3       nil, false, true
 *     c4-c6          n bytes: n in u8, u16, u32
 *     c7-c9 d4-d8    a value of an application: n in u8, u16, u32, or 1, 2, 4, 8, 16; i8 type;
 *                    n bytes
 *     ca cb          f32, f64
 *     cc-cf d0-d3    u8 to u64, i8 to i64
 *
 * Numbers are big-endian; c1 is not used. The members of maps and arrays follow as tokens of their
 * own: the caller counts them and limits their nesting.
 *
 * Nothing is copied or allocated, whatever a length or count says; msgpack-c, which APR version 1
 * uses for its small metadata, allocates the members of an array before it has seen them.
 * Source: the MessagePack specification.
 */
#ifndef WIRE_MSGPACK_H
#define WIRE_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum msgpack_kind {
	MSGPACK_NIL, MSGPACK_BOOL, MSGPACK_INT, MSGPACK_FLOAT, MSGPACK_TEXT, MSGPACK_BYTES,
	MSGPACK_ARRAY, MSGPACK_MAP, MSGPACK_EXT
};

struct msgpack {
	const uint8_t *p;
	uint64_t n, at;
	uint64_t offset;  /* of p in the file, for messages */
	const char *name; /* of the file, for messages */
	struct err *err;  /* NULL: no messages */
};

struct msgpack_token {
	enum msgpack_kind kind;
	uint64_t n;       /* bytes at p, or members; of a map, keys */
	const uint8_t *p; /* of texts, bytes and values of an application */
	int type;         /* of an application */
	uint64_t number;  /* an integer, or a truth value */
	bool negative;    /* number is that of an int64_t */
	double real;
};

/* Begin to read n bytes, which outlive m. */
void msgpack_open(struct msgpack *m, const uint8_t *p, uint64_t n, uint64_t offset,
                  const char *name, struct err *e);

/* Read the next token. 1, 0 at the end of the bytes, or -1 with ERR_CORRUPT. */
int msgpack_next(struct msgpack *m, struct msgpack_token *t);

#endif
