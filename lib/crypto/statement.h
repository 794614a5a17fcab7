/* statement: a signer's statement about a model: its name, its version, a date and a
 * comment. It is signed together with the content, so that nobody can pass off an older
 * model, whose signature is genuine, as a newer one.
 *
 * Its text is JSON of one exact form, without blanks:
 *
 *     {"name":"…","version":"…","date":"…","comment":"…"}
 *
 * A missing field is an empty string. Text is UTF-8 without control characters. Only quotes
 * and backslashes are escaped, by a backslash, so each statement has exactly one text. A
 * date has the form 2026-11-22T10:00:00Z, in UTC.
 */
#ifndef CRYPTO_STATEMENT_H
#define CRYPTO_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/err.h"

#define STATEMENT_NAME 128    /* maximum bytes, without escapes */
#define STATEMENT_VERSION 64
#define STATEMENT_DATE 20
#define STATEMENT_COMMENT 500
#define STATEMENT_TEXT (47 + STATEMENT_DATE + 2 * \
	(STATEMENT_NAME + STATEMENT_VERSION + STATEMENT_COMMENT))

struct statement {
	char name[STATEMENT_NAME + 1];
	char version[STATEMENT_VERSION + 1];
	char date[STATEMENT_DATE + 1];
	char comment[STATEMENT_COMMENT + 1];
};

/* Check that every field can be signed. 0, or -1 with code and the field as the object. */
int statement_check(const struct statement *s, enum err_code code, struct err *e);

/* Fill a field of size bytes, terminator included. A longer text is a fault with code. */
int statement_set(char *field, size_t size, const char *name, const char *text,
                  enum err_code code, struct err *e);

/* The text, terminated; returns its length. */
size_t statement_text(const struct statement *s, char dst[STATEMENT_TEXT + 1]);

/* Read a text that begins at p and has at most n bytes. Returns its length, or 0 if it does
 * not have this form. */
size_t statement_parse(const char *p, size_t n, struct statement *s);

/* Convert a date of the form above, a day (2026-11-22), or seconds since 1970 into a date of
 * the form above: 0 or -1. Dates compare as strings. */
int statement_date(const char *text, char dst[STATEMENT_DATE + 1]);

#endif
