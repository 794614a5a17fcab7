/* json: JSON by jansson, which only this room includes.
 *
 * Parsing is strict: duplicate members, invalid UTF-8, a NUL in a string, and text after
 * the value are errors. The memory of all values together is limited, so hostile text
 * cannot exhaust it. Several threads may parse at the same time; a value belongs to one
 * thread at a time. Output is deterministic: members in the order of insertion, no white
 * space.
 */
#ifndef CORE_JSON_H
#define CORE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

/* Parses n bytes that hold one JSON object. An error has the given code and names the text
 * as `what`. Returns a new reference, or NULL with e filled. */
json_t *json_parse(const void *text, size_t n, enum err_code code, const char *what,
                   struct err *e);

/* The same for a file of another program: integers beyond 64 bits become real numbers. Model
 * folders write 10^30 for "no limit". */
json_t *json_parse_wide(const void *text, size_t n, enum err_code code, const char *what,
                        struct err *e);

/* json_parse for any JSON value. */
json_t *json_parse_any(const void *text, size_t n, enum err_code code,
                       const char *what, struct err *e);

/* Appends the compact text of v. Returns 0, or -1 (no memory). */
int json_write(const json_t *v, struct buf *b);

/* The same with members on lines of their own, indented by two spaces, and numbers with the
 * fewest digits that give the same value ("1e-06", "0.6"), as Python's json writes them. */
int json_pretty(const json_t *v, struct buf *b);

/* Appends a real number in that form. */
void json_put_real(struct buf *b, double v);

/* As json_write, for people and terminals: the characters that text_quote escapes become \uXXXX,
 * so the value stays exact. Use json_write for what is stored or signed. */
int json_show(const json_t *v, struct buf *b);
void json_show_text(struct buf *b, const char *s, size_t n);

/* Appends n bytes of valid UTF-8 as a JSON string, with its quotes. */
void json_quote(struct buf *b, const char *s, size_t n);

/* The value of a member. Returns 0, or -1 if the member is missing or has another type.
 * Unsigned integers are JSON integers up to 2^53 and decimal strings beyond. */
int json_member_u64(const json_t *o, const char *name, uint64_t *v);
int json_member_text(const json_t *o, const char *name, const char **s);
int json_value_u64(const json_t *v, uint64_t *n);

/* The inverse of json_value_u64. Returns a new reference. */
json_t *json_from_u64(uint64_t v);

#endif
