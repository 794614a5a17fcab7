/* value: one typed metadata value.
 *
 * The form that counts is the GGUF wire form (GGUF 3: lengths and counts of 64 bits):
 *     u8 i8 bool          1 byte            string   u64 length, bytes
 *     u16 i16             2                 array    u32 item type, u64 count,
 *     u32 i32 f32         4                          the items
 *     u64 i64 f64         8                 json     its source text, unchanged
 * Signatures hash this form, so JSON text (the form inside a stream's plan) is
 * only a way to carry it.
 */
#ifndef MODEL_VALUE_H
#define MODEL_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"

/* GGUF's numbers, and one of the apr tools. */
enum value_kind {
	VALUE_U8, VALUE_I8, VALUE_U16, VALUE_I16, VALUE_U32, VALUE_I32, VALUE_F32,
	VALUE_BOOL, VALUE_STRING, VALUE_ARRAY, VALUE_U64, VALUE_I64, VALUE_F64,
	VALUE_JSON = 100
};

#define VALUE_DEPTH 4             /* arrays nest fewer levels than this */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define VALUE_INLINE_ITEMS 1024   /* longer arrays travel in a blob, as do */
#define VALUE_INLINE_BYTES 65536  /* values of more bytes */
#else
#define VALUE_INLINE_ITEMS 16     /* a fuzzer's inputs are small */
#define VALUE_INLINE_BYTES 256
#endif

/* depth is the number of arrays around a leaf: u32 is {0, VALUE_U32}, array:array:u8 is
 * {2, VALUE_U8}. An array of arrays that is empty or whose members differ in type is
 * "array:array": {1, VALUE_ARRAY}. So each value has exactly one type, which follows from
 * its wire bytes. */
struct value_type {
	uint8_t depth;
	uint8_t leaf;
};

/* Write the text form of a type ("u32", "array:string", "json", …) into dst, and parse it.
 * value_type_parse returns -1 for a type that does not exist. */
#define VALUE_TYPE_TEXT 64
char *value_type_text(struct value_type t, char dst[VALUE_TYPE_TEXT]);
int value_type_parse(const char *text, struct value_type *t);

/* Bytes of a fixed-size leaf (1, 2, 4, 8), or 0 for string, array and json. */
size_t value_leaf_bytes(unsigned leaf);

/* True if JSON text can carry the value exactly: not too long, no array inside
 * an array, valid UTF-8 without NUL, booleans 0 or 1, canonical NaN. */
bool value_is_inline(struct value_type t, const uint8_t *wire, size_t n);

/* The JSON form of an inline value: integers (decimal strings beyond 2^53),
 * floats as strings (9 and 17 digits, "nan", "inf", "-inf"), arrays of these.
 * New reference or NULL (memory). */
json_t *value_to_json(struct value_type t, const uint8_t *wire, size_t n);

/* Append the wire bytes of j to b. 0, or -1 if j does not have that type. */
int value_from_json(struct value_type t, const json_t *j, struct buf *b);

/* Finds the type of an array of arrays, as far as its members agree. Call value_found_add
 * for each array that does not itself hold arrays, with its depth (from 1) and the type of
 * its items. All zero at the beginning. */
struct value_found {
	struct value_type type;
	bool any;
};
void value_found_add(struct value_found *f, unsigned depth, uint32_t item);
struct value_type value_found_type(const struct value_found *f);

/* Checks wire bytes that arrive in pieces (a blob that becomes a GGUF value).
 * value_check_end returns true only if they were exactly one value of the type. */
struct value_check {
	struct { uint32_t item; uint64_t left; } level[VALUE_DEPTH];
	unsigned depth;           /* arrays open at the moment */
	struct value_found found;
	uint8_t token[12];        /* a length or an array head cut in two */
	unsigned have, need;
	uint64_t skip;            /* bytes left of the current run */
	struct value_type type;
	bool failed, begun, done;
};

void value_check_begin(struct value_check *c, struct value_type t);
void value_check_add(struct value_check *c, const uint8_t *p, size_t n);
bool value_check_end(const struct value_check *c);

/* value_u64: the integer in an inline value of any integer type; -1 if there is none or it
 * is negative. value_string: the text of a string value, not terminated, or NULL. */
int value_u64(struct value_type t, const uint8_t *wire, size_t n, uint64_t *v);
const char *value_string(struct value_type t, const uint8_t *wire, size_t n,
                         size_t *length);

#endif
