/* protobuf: the wire format of protocol buffers, read from memory.
 *
 * A message is a sequence of fields. A field is a key and a value:
 *
 *     key      varint: field number << 3 | form
 *     form 0   varint: 7 bits a byte, least significant first, the high bit
 *              set in each byte except the last; at most 10 bytes
 *     form 1   8 bytes, little-endian
 *     form 2   varint n, then n bytes: text, bytes, a nested message, or the
 *              numbers of a packed repeated field one after another
 *     form 5   4 bytes, little-endian
 *
 * The forms 3 and 4 (groups) are obsolete and refused. The wire format does not state
 * whether a field of form 2 holds text, a message or packed numbers: the caller knows this
 * from the field's number, and opens a nested message with protobuf_open. The caller also
 * limits the depth of nesting.
 *
 * A caller that knows the fields of a message describes them in a table (struct
 * protobuf_message): it then gets only these, each in its own form, and those that are not
 * repeated once at most.
 *
 * Nothing is copied or allocated. A length that exceeds the rest of the message is an
 * error, so the work is proportional to the bytes of the message.
 * Source: the encoding chapter of the protocol buffers documentation.
 */
#ifndef WIRE_PROTOBUF_H
#define WIRE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "core/map.h"
#include "core/reader.h"

#define PROTOBUF_NUMBER_MAX 536870911u /* field numbers are 1 to 2^29 - 1 */

enum protobuf_form {
	PROTOBUF_VARINT = 0,
	PROTOBUF_8 = 1,
	PROTOBUF_BYTES = 2,
	PROTOBUF_4 = 5
};

struct protobuf {
	struct reader reader;
	const uint8_t *base;
	uint64_t at;      /* offset of base in the file */
	uint64_t *budget; /* fields that may still be read, in this message and others; NULL:
	                   * any number */
	struct map *map;  /* the map that base lies in, to return pages that were looked at; NULL:
	                   * they stay. As the budget, it is set after protobuf_open. */
	uint64_t seen;    /* rows of the table whose field was read */
	uint64_t unknown; /* fields that are not in the table, so far */
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_form form;
	uint64_t value;   /* the number; for PROTOBUF_BYTES, the number of bytes at p */
	const uint8_t *p; /* for PROTOBUF_BYTES, points into the message; else NULL */
};

/* Begin to read the n bytes at p, which must outlive m and every field. name: the file,
 * for messages. Nothing has to be freed. */
void protobuf_open(struct protobuf *m, const uint8_t *p, size_t n, const char *name,
                   struct err *e);

/* Read the next field. 1, 0 at the end of the message, or -1 with e filled (ERR_CORRUPT);
 * after an error, every call returns -1. */
int protobuf_next(struct protobuf *m, struct protobuf_field *f);

/* Begin to read the message that a field of outer holds. Errors have the offset in the whole
 * file, and both share one budget. */
void protobuf_within(struct protobuf *m, const struct protobuf *outer,
                     const struct protobuf_field *f);

/* The offset in the file of a field's bytes. */
uint64_t protobuf_at(const struct protobuf *m, const struct protobuf_field *f);

/* ---- messages whose fields are known ---- */

struct protobuf_row {
	uint32_t number;
	enum protobuf_form form;
	enum { PROTOBUF_ONCE, PROTOBUF_REPEATED,
	       PROTOBUF_PACKED /* repeated numbers: also many in one field of form 2 */
	} times;
	const char *name;
};

#define PROTOBUF_ROWS 64 /* maximum number of rows */

struct protobuf_message {
	const char *name;
	const struct protobuf_row *rows;
	size_t count;
};

/* Read the next field that the table has. Others are counted and passed over. As
 * protobuf_next; ERR_CORRUPT too if a field has another form, or occurs twice. */
int protobuf_known(struct protobuf *m, const struct protobuf_message *of,
                   struct protobuf_field *f);

/* The numbers of a repeated field, packed or not, in the order of the message. The message is
 * n bytes at p, at this offset of the file. */
struct protobuf_numbers {
	struct protobuf m;
	uint32_t number;
	enum protobuf_form form; /* of one number */
	const uint8_t *p, *end;  /* of the packed field */
};
void protobuf_numbers_open(struct protobuf_numbers *x, const uint8_t *p, size_t n, uint64_t at,
                           uint32_t number, enum protobuf_form form, const char *name,
                           struct err *e);
int protobuf_number(struct protobuf_numbers *x, uint64_t *v);

#endif
