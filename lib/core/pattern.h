/* pattern: regular expressions, not anchored, with limits on what a match may cost, so
 * that no pattern can hang a pipe. PCRE2 matches them. One thread uses a pattern.
 *
 * Those of a person (pattern_open) are what PCRE2 takes, and meet names of tensors, which
 * may be hostile. Those of a file (pattern_open_text) may be hostile themselves: they are
 * limited to a part of the syntax (core/pattern_syntax.h), and what they do with a text is
 * counted (core/work.h).
 */
#ifndef CORE_PATTERN_H
#define CORE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/work.h"

struct pattern {
	const char *text;  /* as given; not owned */
	void *code, *data, *found; /* PCRE2's */
	uint64_t matches;  /* so far: a pattern that matched nothing is an error */
	uint64_t spent;    /* of pattern_match: steps */
	uint32_t width;    /* of pattern_open_text: as pattern_translate gives it */
};

/* Compile text (UTF-8). ERR_USAGE if it is not a pattern. */
int pattern_open(struct pattern *p, const char *text, struct err *e);

/* Does it match somewhere in s? 1, 0, or -1 where the limits were exceeded: a million
 * steps for one name, or 16 millions for all, those up to 4096 of each not counted. */
int pattern_match(struct pattern *p, const char *s, struct err *e);

/* A pattern of a file, for cutting text. \d, \w and \b mean the characters of Unicode,
 * and \s those of its White_Space. ERR_FORMAT where it is not among those that are read,
 * a fault of the given code where it is wrong. text must outlive p. */
int pattern_open_text(struct pattern *p, const char *text, enum err_code code,
                      struct err *e);

/* The first match in s[0, n) that begins at or behind *at: 1 and *at <= *from <= *to <= n,
 * 0, or -1: ERR_MEMORY where the work that is left does not do. *at goes on to where the
 * next search begins, at least one character on. s is valid UTF-8, and *at the beginning
 * of a character or beyond n. */
int pattern_find(struct pattern *p, const char *s, size_t n, size_t *at, size_t *from,
                 size_t *to, struct work *work, struct err *e);

void pattern_close(struct pattern *p);

#endif
