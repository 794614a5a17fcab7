/* safetensors_scan: reads the bytes of a header as they arrive, and its strings.
 * safetensors_header.c reads the members.
 */
#ifndef FORMATS_SAFETENSORS_SCAN_H
#define FORMATS_SAFETENSORS_SCAN_H

#include "formats/safetensors/safetensors.h"

/* The header is scanned as it arrives, and only its content is kept: a tree of JSON values
 * would take many times its 100 MB. */
struct scan {
	struct safetensors_header *h;
	struct reader *r;
	const uint8_t *p, *end; /* the bytes that have been read */
	uint64_t left;          /* bytes of the header after them */
	struct buf raw;         /* a string, its escapes resolved */
	struct buf name;        /* of the member that is being read */
	struct buf tensor;      /* name of the tensor */
	struct buf decoded;
	bool has_metadata;
	/* What the style follows from. */
	bool plain, spaced, odd;  /* kinds of separators seen */
	bool wide, escaped;       /* characters that are not ASCII: unescaped; as \u */
};

/* The destination of the text of a string. */
struct scan_text {
	struct buf b;
	size_t most;     /* maximum length; 0: no maximum */
	const char *what; /* name of the string in the error, if it exceeds most */
	size_t keep;     /* if most is 0: longer text goes to the spool */
	bool spooled;
	uint64_t at, bytes;
	bool base64;
	struct base64_reader decoder;
};

/* Report an error at the next byte. Returns -1. */
int scan_fail(struct scan *s, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int scan_no_memory(struct scan *s);
int scan_wanted(struct scan *s, const char *what); /* "WHAT is expected here" */

/* scan_peek returns the next byte, or -1 at the end of the header and after an error.
 * scan_take skips it if it is c. */
int scan_more(struct scan *s);

static inline int
scan_peek(struct scan *s)
{
	return s->p < s->end ? *s->p : scan_more(s);
}

static inline bool
scan_take(struct scan *s, char c)
{
	if (scan_peek(s) != c)
		return false;
	s->p++;
	return true;
}

/* Skip blanks. Those after a separator determine the style; no style has any elsewhere. */
void scan_blanks(struct scan *s, bool separator);

/* Read the rest of a string, after its opening quote: scan_string into t, scan_name into b.
 * For scan_name, more than most bytes are an error, whose message names the string what.
 * 0 or -1. */
int scan_string(struct scan *s, struct scan_text *t);
int scan_name(struct scan *s, struct buf *b, const char *what, size_t most);

#endif
