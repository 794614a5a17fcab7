#include "core/pattern.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/buf.h"
#include "core/pattern_syntax.h"
#include "core/text.h"

/* Limits of pattern_match: the first and the last limit of steps for one name; the steps
 * of all names together beyond the first limit; the memory for one name, in KiB. */
#define MATCH_FIRST 4096
#define MATCH_LIMIT 1000000
#define MATCH_ALL (16 * MATCH_LIMIT)
#define MATCH_KIB (64u << 10)

/* Limits of pattern_find: the library's own count, whose steps the work budget bounds
 * too. */
#define FIND_LIMIT 100000000
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define FIND_KIB (256u << 10)
#else
#define FIND_KIB (4u << 10)
#endif

/* In the WebAssembly module, PCRE2_UTF is always given, and options that this file does not use are left out of
 * the library (web/module.mk). */

/* Compiles n bytes; matches record that many groups. Lines end with a newline, whatever the library's default is. */
static int
compile(struct pattern *p, const char *text, size_t n, uint32_t options, uint32_t groups,
        int *code, PCRE2_SIZE *at, struct err *e)
{
	pcre2_compile_context *c = pcre2_compile_context_create(NULL);

	if (!c)
		return err_memory(e);
	pcre2_set_newline(c, PCRE2_NEWLINE_LF);
	p->code = pcre2_compile((PCRE2_SPTR)text, n,
	                        PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | options, code, at, c);
	pcre2_compile_context_free(c);
	if (!p->code)
		return -1;
	p->data = pcre2_match_context_create(NULL);
	p->found = pcre2_match_data_create(groups, NULL);
	return p->data && p->found ? 0 : err_memory(e);
}

int
pattern_open(struct pattern *p, const char *text, struct err *e)
{
	PCRE2_UCHAR said[128];
	PCRE2_SIZE at;
	int code;

	*p = (struct pattern){ .text = text };
	if (compile(p, text, strlen(text), 0, PATTERN_GROUPS, &code, &at, e) < 0) {
		if (e->code != ERR_NONE)
			return -1;
		pcre2_get_error_message(code, said, sizeof said);
		return err_set(e, ERR_USAGE, text, "is not a pattern at character %zu: %s",
		               (size_t)at, (char *)said);
	}
	pcre2_set_heap_limit(p->data, MATCH_KIB);
	return 0;
}

/* The library does not report how many steps it took. So the limit is raised while it is
 * reached, and each limit that was reached counts as spent. */
int
pattern_match(struct pattern *p, const char *s, struct err *e)
{
	uint32_t limit = MATCH_FIRST;
	int r;

	do {
		pcre2_set_match_limit(p->data, limit);
		pcre2_set_depth_limit(p->data, limit);
		r = pcre2_match(p->code, (PCRE2_SPTR)s, strlen(s), 0, 0, p->found, p->data);
		if (r >= 0) {
			p->matches++;
			return 1;
		}
		if (r == PCRE2_ERROR_NOMATCH)
			return 0;
		p->spent += limit;
		limit *= 4;
	} while ((r == PCRE2_ERROR_MATCHLIMIT || r == PCRE2_ERROR_DEPTHLIMIT) &&
	         limit <= MATCH_LIMIT * 2 && p->spent < MATCH_ALL);
	return err_set(e, ERR_USAGE, p->text, "takes too long to match");
}

int
pattern_group(const struct pattern *p, unsigned group, size_t *from, size_t *to)
{
	const PCRE2_SIZE *range = pcre2_get_ovector_pointer(p->found);

	*from = *to = 0;
	if (group >= pcre2_get_ovector_count(p->found) || range[2 * group] == PCRE2_UNSET)
		return 0;
	/* A look-ahead may set the start of a match behind its end. */
	*to = range[2 * group + 1];
	*from = range[2 * group] < *to ? range[2 * group] : *to;
	return 1;
}

unsigned
pattern_groups(const struct pattern *p)
{
	uint32_t n = 0;

	pcre2_pattern_info(p->code, PCRE2_INFO_CAPTURECOUNT, &n);
	return n;
}

/* ---- patterns of files ---- */

/* The data of a callout. */
struct search {
	struct work *work;
	size_t mark;
};

static int
count(pcre2_callout_block *c, void *ctx)
{
	struct search *s = ctx;
	size_t at = c->current_position;
	uint64_t steps = 1;

	if (c->callout_number == PATTERN_RUN)
		steps += at > s->mark ? at - s->mark : s->mark - at;
	s->mark = at;
	return work_take(s->work, steps) < 0 ? PCRE2_ERROR_CALLOUT : 0;
}

int
pattern_open_text(struct pattern *p, const char *text, enum err_code code,
                  struct err *e)
{
	PCRE2_UCHAR said[128];
	struct buf b = { 0 };
	PCRE2_SIZE at;
	int fault, r;

	*p = (struct pattern){ .text = text };
	r = pattern_translate(text, code, &b, &p->width, e);
	if (r == 0) {
		r = compile(p, (char *)b.p, b.n, PCRE2_UCP | PCRE2_MULTILINE, 1, &fault, &at, e);
		if (r < 0 && e->code == ERR_NONE) {
			pcre2_get_error_message(fault, said, sizeof said);
			err_set(e, code, text, "is not a pattern: %s", (char *)said);
		}
	}
	buf_free(&b);
	if (r < 0)
		return -1;
	pcre2_set_heap_limit(p->data, FIND_KIB);
	pcre2_set_match_limit(p->data, FIND_LIMIT);
	pcre2_set_depth_limit(p->data, FIND_LIMIT);
	/* Without the JIT compiler the matches are the same, but slower to find. */
	pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
	return 0;
}

/* Repeats a match that does not fit on the JIT stack, with memory that is freed
 * afterwards. */
static int
match_large(struct pattern *p, const char *s, size_t n, size_t at)
{
	int r = pcre2_match(p->code, (PCRE2_SPTR)s, n, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
	                    p->found, p->data);
	PCRE2_SIZE range[2];

	memcpy(range, pcre2_get_ovector_pointer(p->found), sizeof range);
	pcre2_match_data_free(p->found);
	p->found = pcre2_match_data_create(1, NULL);
	if (!p->found)
		return PCRE2_ERROR_NOMEMORY;
	memcpy(pcre2_get_ovector_pointer(p->found), range, sizeof range);
	return r;
}

int
pattern_find(struct pattern *p, const char *s, size_t n, size_t *at, size_t *from,
             size_t *to, struct work *work, struct err *e)
{
	struct search search = { work, *at };
	const PCRE2_SIZE *range;
	size_t length;
	uint32_t c;
	int r;

	if (*at > n)
		return 0;
	if (!p->found || work_take(work, 1) < 0)
		return err_set(e, ERR_MEMORY, p->text, "takes too long to match");
	pcre2_set_callout(p->data, count, &search);
	r = pcre2_match(p->code, (PCRE2_SPTR)s, n, *at, PCRE2_NO_UTF_CHECK, p->found, p->data);
	if (r == PCRE2_ERROR_JIT_STACKLIMIT)
		r = match_large(p, s, n, *at);
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	if (r == PCRE2_ERROR_HEAPLIMIT || r == PCRE2_ERROR_NOMEMORY)
		return err_set(e, ERR_MEMORY, p->text, "takes too much memory to match");
	if (r < 0)
		return err_set(e, ERR_MEMORY, p->text, "takes too long to match");
	range = pcre2_get_ovector_pointer(p->found);
	if (range[0] < *at || range[1] < range[0] || range[1] > n)
		return err_set(e, ERR_CORRUPT, p->text, "matches what is not in the text");
	*from = range[0];
	*to = range[1];
	length = *to == *from && *to < n ? text_character(s + *to, n - *to, &c) : 0;
	*at = *to > *from ? *to : *to + (length ? length : 1);
	p->matches++;
	return 1;
}

void
pattern_close(struct pattern *p)
{
	pcre2_code_free(p->code);
	pcre2_match_context_free(p->data);
	pcre2_match_data_free(p->found);
	*p = (struct pattern){ 0 };
}
