/* pattern: PCRE2 regular expressions, unanchored, with limits on what a match
 * may cost, so that no pattern can hang a pipe. One thread uses a pattern. */
#ifndef CORE_PATTERN_H
#define CORE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct pattern {
	const char *text;  /* as given; not owned */
	void *code, *data; /* PCRE2's */
	void *found;       /* PCRE2's: where the last match lies; of pattern_open_text */
	uint64_t matches;  /* so far: a pattern that matched nothing is an error */
};

/* Compile text (UTF-8). ERR_USAGE if it is no pattern. */
int pattern_open(struct pattern *p, const char *text, struct err *e);

/* Does it match somewhere in s? 1, 0, or -1 where the limits were exceeded. */
int pattern_match(struct pattern *p, const char *s, struct err *e);

/* For cutting text: as pattern_open, but \d, \w and \b mean the characters of
 * Unicode, and \s those of its White_Space (to PCRE2 U+180E is one, which it was until
 * Unicode 6.3). The pattern may come from a file: a wrong one is a fault of the given
 * code. text must outlive p. */
int pattern_open_text(struct pattern *p, const char *text, enum err_code code,
                      struct err *e);

/* The first match in s[0, n) that begins at or after at: 1 and [*from, *to), 0, or -1
 * where the limits were exceeded, which grow with n. s is valid UTF-8, and at the
 * beginning of a character. */
int pattern_find(struct pattern *p, const char *s, size_t n, size_t at, size_t *from,
                 size_t *to, struct err *e);

void pattern_close(struct pattern *p);

#endif
