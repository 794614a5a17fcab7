/* value_text: a typed value as the text that a user reads and writes.
 *
 *     u8 … i64     decimal digits, perhaps after a minus sign
 *     f32 f64      a decimal number, or inf, -inf, nan; printed with the fewest digits that
 *                  give the same value
 *     bool         true or false
 *     string       the text itself; inside an array or in quoted text, a JSON string
 *     array        a JSON array; arrays may nest
 *     json         JSON, whose text stays unchanged
 *
 * Memory grows with one item, not with the array.
 */
#ifndef MODEL_VALUE_TEXT_H
#define MODEL_VALUE_TEXT_H

#include "core/buf.h"
#include "core/err.h"
#include "model/value.h"

/* Appends the wire bytes (model/value.h) of the value that n bytes of text denote. quoted: the
 * text is JSON, in which a string has quotes. where: the key, for messages. Returns 0, or -1
 * with ERR_USAGE if the text is not a value of this type. */
int value_parse(struct value_type t, const char *text, size_t n, bool quoted,
                const char *where, struct buf *wire, struct err *e);

/* Finds the type for JSON text whose type is not known: bool, string, u32 for an integer (or
 * i32, u64, i64, as it needs), f32 for another number; for an array, one type that holds all
 * its items, integers as i32; json for an object. -1 if the text is not JSON, or if it is
 * null, an empty or mixed array or an array of arrays. */
int value_guess(const char *text, size_t n, struct value_type *t);

/* The number of items of an array; 0 for another value. */
uint64_t value_count(struct value_type t, const uint8_t *wire, size_t n);

/* Finds item `index` of an array: its bytes are [*at, *at + *span) of the wire bytes, and *item
 * is its type. -1 if such an item does not exist. */
int value_item(struct value_type t, const uint8_t *wire, size_t n, uint64_t index,
               size_t *at, size_t *span, struct value_type *item);

/* Appends the text of a value as JSON. Control characters and their like become \u escapes;
 * integers beyond 2^53, and numbers that are not finite, become strings, as in apr-stream(5).
 * flush: called with b whenever it holds more than some KiB, to empty it; may be NULL.
 * Returns 0, or -1 with e filled by flush. */
int value_show(struct value_type t, const uint8_t *wire, size_t n, struct buf *b,
               int (*flush)(struct buf *b, struct err *e), struct err *e);

#endif
