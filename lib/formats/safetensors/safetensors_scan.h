/* safetensors_scan: the bytes of a header as they come, and strings among them. Which
 * members there are is the matter of safetensors_header.c.
 */
#ifndef FORMATS_SAFETENSORS_SCAN_H
#define FORMATS_SAFETENSORS_SCAN_H

#include "formats/safetensors/safetensors.h"

/* The header is scanned as it arrives, and only what it says is kept: as a tree
 * of JSON values it would take many times its 100 MB. */
struct scan {
	struct safetensors_header *h;
	struct reader *r;
	const uint8_t *p, *end; /* of the bytes at hand */
	uint64_t left;          /* of the header, behind them */
	struct buf raw;         /* a string, its escapes resolved */
	struct buf name;        /* of the member that is being read */
	struct buf tensor;      /* name of the tensor */
	struct buf decoded;
	bool has_metadata;
	/* What tells the style. */
	bool plain, spaced, odd;  /* kinds of separators seen */
	bool wide, escaped;       /* characters beyond ASCII: as they are; as \u */
};

/* Where the text of a string goes. */
struct scan_text {
	struct buf b;
	size_t most;     /* a longer one is a fault, */
	const char *what; /* named so; or most is 0 and what exceeds */
	size_t keep;     /* bytes moves to the spool */
	bool spooled;
	uint64_t at, bytes;
	bool base64;
	struct base64_reader decoder;
};

/* A fault at the next byte. Always -1. */
int scan_fail(struct scan *s, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int scan_no_memory(struct scan *s);
int scan_wanted(struct scan *s, const char *what); /* "WHAT is expected here" */

/* The next byte, or -1 at the end of the header and after a fault; it, if it is c. */
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

/* Blanks after a separator make the style; elsewhere no style has any. */
void scan_blanks(struct scan *s, bool separator);

/* The rest of a string whose opening quote was taken: into t, or (a short one: a longer
 * one than most is a fault that calls it what) into b. 0 or -1. */
int scan_string(struct scan *s, struct scan_text *t);
int scan_name(struct scan *s, struct buf *b, const char *what, size_t most);

#endif
