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
 * Nothing is copied or allocated. A length that exceeds the rest of the message is an
 * error, so the work is proportional to the bytes of the message.
 * Source: the encoding chapter of the protocol buffers documentation.
 */
#ifndef WIRE_PROTOBUF_H
#define WIRE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

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

#endif
