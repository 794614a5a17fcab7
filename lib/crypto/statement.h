/* statement: what a signer says of what is signed: its name, its version, a date and a
 * comment. It is signed with the content, so that an older model, which has a genuine
 * signature, is not mistaken for a newer one.
 *
 * Its text is JSON of one exact form, without blanks:
 *
 *     {"name":"…","version":"…","date":"…","comment":"…"}
 *
 * What is not said is an empty string. Text is UTF-8 without control characters; a quote
 * and a backslash have a backslash before them, and nothing else has. So two texts that
 * differ say different things. A date is 2026-11-22T10:00:00Z, in UTC.
 */
#ifndef CRYPTO_STATEMENT_H
#define CRYPTO_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/err.h"

#define STATEMENT_NAME 128    /* bytes of each, at most, without escapes */
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

/* Can it be signed? 0, or -1 with code and the field as the object. */
int statement_check(const struct statement *s, enum err_code code, struct err *e);

/* Fill a field of size bytes (its terminator included). code where it is too long. */
int statement_set(char *field, size_t size, const char *name, const char *text,
                  enum err_code code, struct err *e);

/* The text, terminated; returns its length. */
size_t statement_text(const struct statement *s, char dst[STATEMENT_TEXT + 1]);

/* Read a text that begins at p and has at most n bytes: its length, or 0 where it is
 * none of this form. */
size_t statement_parse(const char *p, size_t n, struct statement *s);

/* Is it a date of the form above? A day of the form 2026-11-22, or a number of seconds
 * since 1970, is turned into one: 0 or -1. Dates compare as strings. */
bool statement_is_date(const char *text);
int statement_date(const char *text, char dst[STATEMENT_DATE + 1]);

#endif
