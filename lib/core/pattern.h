/* pattern: regular expressions (PCRE2), unanchored, with limits on the cost of a match, so
 * that no pattern can hang a pipe. Only one thread may use a pattern.
 *
 * Patterns from users (pattern_open) have PCRE2's whole syntax and are matched against
 * tensor names, which may be hostile. Patterns from files (pattern_open_text) may be
 * hostile themselves: they are limited to a subset of the syntax (core/pattern_syntax.h),
 * and their work on a text is counted (core/work.h).
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
	uint64_t matches;  /* matches so far; callers report a pattern that had none */
	uint64_t spent;    /* steps taken by pattern_match */
	uint32_t width;    /* set by pattern_open_text; see pattern_translate */
};

/* Compiles text (UTF-8). ERR_USAGE if it is not a pattern. */
int pattern_open(struct pattern *p, const char *text, struct err *e);

/* Whether p matches anywhere in s: 1, 0, or -1 if a limit is exceeded. The limits are one
 * million steps for a name and 16 million for all names, not counting the first 4096 steps
 * of each name. */
int pattern_match(struct pattern *p, const char *s, struct err *e);

/* The text of group 0 to 9 in the last match of pattern_match, [*from, *to); group 0 is the
 * whole match. 1; or 0 if the group took no part in it, and then both are 0. */
#define PATTERN_GROUPS 10
int pattern_group(const struct pattern *p, unsigned group, size_t *from, size_t *to);

/* The number of groups that the pattern has, without group 0. */
unsigned pattern_groups(const struct pattern *p);

/* Compiles a pattern from a file, for splitting text. \d, \w and \b follow Unicode, \s is
 * its White_Space. ERR_FORMAT if the syntax is valid but unsupported, an error of the given
 * code if it is invalid. text must outlive p. */
int pattern_open_text(struct pattern *p, const char *text, enum err_code code,
                      struct err *e);

/* Finds the first match in s[0, n) that begins at *at or later. Returns 1 with
 * *at <= *from <= *to <= n; 0 if there is none; -1 with ERR_MEMORY if the work budget is
 * used up. Moves *at to where the next search begins, by at least one character. s must be
 * valid UTF-8 and *at the start of a character or beyond n. */
int pattern_find(struct pattern *p, const char *s, size_t n, size_t *at, size_t *from,
                 size_t *to, struct work *work, struct err *e);

void pattern_close(struct pattern *p);

#endif
