/* flatbuffers: reads FlatBuffers, tables whose places are offsets in one buffer.
 *
 * Nothing is proved in advance. Each function checks the bytes that it uses, so it accepts any
 * buffer: an offset may lead anywhere, back as well, and two offsets to the same place. A caller
 * that follows a fixed depth of tables cannot run in a circle; what it reads repeatedly is
 * bounded by a budget of work in proportion to the buffer.
 *
 * Failure is sticky: after the first fault, all tables are empty, all vectors have no members,
 * and numbers have their defaults. Check once, at the end.
 *
 * Source: FlatBuffers' documentation, "FlatBuffer Internals". Numbers are little-endian and need
 * not be aligned here.
 */
#ifndef WIRE_FLATBUFFERS_H
#define WIRE_FLATBUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flat {
	const uint8_t *p;
	uint64_t n;        /* bytes; offsets beyond 2^31 do not exist */
	uint64_t work;     /* bytes that may still be read */
	const char *fault; /* what is wrong, or NULL */
	uint64_t at;       /* where */
};

/* A table; all zero: absent, so all of its fields have their defaults. */
struct flat_table {
	uint64_t at, vtable;
	uint32_t bytes, vtable_bytes;
};

/* count members from p on, at the offset at of the buffer. */
struct flat_vector {
	const uint8_t *p;
	uint64_t at, count;
};

/* Start to read a buffer with the root table and, at byte 4, this identifier. */
struct flat_table flat_root(struct flat *f, const uint8_t *p, uint64_t n, const char id[4]);

/* True if the table has the field. Fields are numbered from 0 in the order of the schema; a union
 * takes two numbers, its type and its value. */
bool flat_has(struct flat *f, const struct flat_table *t, unsigned field);

/* A number of 1, 2, 4 or 8 bytes, without its sign. */
uint64_t flat_number(struct flat *f, const struct flat_table *t, unsigned field, unsigned bytes,
                     uint64_t absent);

/* A table; a vector of numbers with this many bytes each, or of tables (bytes 4); a text, which
 * is not terminated for the caller. */
struct flat_table flat_inner(struct flat *f, const struct flat_table *t, unsigned field);
struct flat_vector flat_list(struct flat *f, const struct flat_table *t, unsigned field,
                             unsigned bytes);
const char *flat_text(struct flat *f, const struct flat_table *t, unsigned field, size_t *n);

/* Member i of a vector of tables, which exists. */
struct flat_table flat_member(struct flat *f, const struct flat_vector *v, uint64_t i);

#endif
