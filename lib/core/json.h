/* json: the one place that knows jansson.
 *
 * Reading is strict: duplicate members, invalid UTF-8, a NUL in a string and
 * text after the value are faults. The library's memory is limited, so that a
 * hostile text cannot grow without bound. Threads may parse at the same time;
 * a value belongs to one thread at a time.
 * Writing is deterministic: members in insertion order, no blanks.
 */
#ifndef CORE_JSON_H
#define CORE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

/* Parse n bytes holding one JSON object. what names it in the fault, which has
 * the given code. Returns a new reference, or NULL with e filled. */
json_t *json_parse(const void *text, size_t n, enum err_code code, const char *what,
                   struct err *e);

/* Any JSON value, not only an object. */
json_t *json_parse_any(const void *text, size_t n, enum err_code code,
                       const char *what, struct err *e);

/* Append the compact text of v. Returns 0, or -1 (memory). */
int json_write(const json_t *v, struct buf *b);

/* The same for a person or a terminal: characters that text_quote escapes are \uXXXX, so
 * that the value stays exact. What is stored or signed goes through json_write. */
int json_show(const json_t *v, struct buf *b);
void json_show_text(struct buf *b, const char *s, size_t n);

/* Append s as a JSON string, quotes included; n bytes of valid UTF-8. */
void json_quote(struct buf *b, const char *s, size_t n);

/* Members of an object: 0 and the value, or -1 where the member is missing or
 * not of that kind (booleans and strings included). Unsigned integers are
 * JSON integers, or decimal strings where they exceed 2^53. */
int json_member_u64(const json_t *o, const char *name, uint64_t *v);
int json_member_text(const json_t *o, const char *name, const char **s);
int json_value_u64(const json_t *v, uint64_t *n);

/* A JSON integer up to 2^53, a decimal string beyond. New reference. */
json_t *json_from_u64(uint64_t v);

#endif
