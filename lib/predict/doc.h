/* doc: a document of JSON or UBJSON, read once from its beginning to its end.
 *
 * Nothing of it is kept: a member or an item is used or skipped when it comes, so a model of a
 * million nodes costs no more memory than its nodes. Failure is sticky: after an error every
 * function returns 0, false or "", and the caller checks once at the end of a structure.
 *
 * UBJSON here is the form that XGBoost writes: numbers are big-endian; arrays may have a type
 * and a count ("[$d#"). Text that stands for a number ("5E-1") is read as one.
 *
 * Source: RFC 8259; the Universal Binary JSON specification, draft 12.
 */
#ifndef PREDICT_DOC_H
#define PREDICT_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/buf.h"
#include "core/err.h"
#include "predict/rows/rows_numbers.h"

#define DOC_DEPTH 512 /* arrays and objects inside each other */
#define DOC_TEXT 4096 /* bytes of a name or text that is used */

struct doc_level {
	char open;      /* '[' or '{' */
	char type;      /* UBJSON: of all items; 0: each has its own */
	bool any;       /* an item has come */
	bool counted;   /* UBJSON: left is the number of items that follow */
	uint64_t left;
};

struct doc {
	const uint8_t *begin, *p, *end;
	bool binary;
	bool failed;
	char type;              /* UBJSON: of the next value, if its array has one */
	const char *where;      /* for messages */
	struct err *err;
	const struct rows_numbers *numbers; /* for lists of them */
	size_t depth;
	struct doc_level stack[DOC_DEPTH];
	char name[DOC_TEXT];    /* of the member that doc_member has found */
	char text[DOC_TEXT];    /* the last result of doc_text */
};

/* Begins at n bytes, which outlive the document. */
void doc_begin(struct doc *d, bool binary, const void *p, size_t n, const char *where,
               struct err *e);

/* Enters the object or array that is the next value; an error if it is something else. */
bool doc_object(struct doc *d);
bool doc_array(struct doc *d);

/* Finds the next member, whose name is then in d->name, or the next item, in the innermost
 * object or array. False at its end, which is then left. */
bool doc_member(struct doc *d);
bool doc_item(struct doc *d);
static inline bool
doc_named(const struct doc *d, const char *name)
{
	return !d->failed && d->name[0] == name[0] && strcmp(d->name, name) == 0;
}

/* The kind of the next value: '{', '[', '"', '0' (a number), 't' (true, false), 'n' (null); 0
 * after an error. */
char doc_kind(struct doc *d);

/* The next value. A text is cut at DOC_TEXT - 1 bytes. */
double doc_number(struct doc *d);
bool doc_bool(struct doc *d);       /* numbers count as well */
const char *doc_text(struct doc *d);
void doc_skip(struct doc *d);

/* A number from low to high without a fraction; an error otherwise. what: for the message. */
int64_t doc_integer(struct doc *d, int64_t low, int64_t high, const char *what);

/* Appends all numbers of the array that is the next value. */
void doc_numbers(struct doc *d, struct buf *doubles);

/* Ends the document: nothing but white space may follow. 0, or -1 with the error. */
int doc_end(struct doc *d);

/* Sets an error at the current offset. Returns false. */
bool doc_fail(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
