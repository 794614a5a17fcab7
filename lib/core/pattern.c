#include "core/pattern.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/buf.h"

#define MATCH_LIMIT 1000000
#define DEPTH_LIMIT 10000

/* Of pattern_find: steps of a match for each byte of text, and as many in any case;
 * memory likewise, in KiB. A greedy run and its way back are two steps a byte. */
#define STEPS_PER_BYTE 32
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define STEPS_LEAST 200000
#define HEAP_KIB (256u << 10)
#else
#define STEPS_LEAST 2000
#define HEAP_KIB (4u << 10)
#endif

static int
compile(struct pattern *p, const char *text, size_t n, uint32_t options,
        enum err_code fault, struct err *e)
{
	PCRE2_UCHAR said[128];
	PCRE2_SIZE at;
	int code;

	p->code = pcre2_compile((PCRE2_SPTR)text, n, PCRE2_UTF | options, &code, &at, NULL);
	if (!p->code) {
		pcre2_get_error_message(code, said, sizeof said);
		return err_set(e, fault, p->text, "is no pattern at character %zu: %s",
		               (size_t)at, (char *)said);
	}
	p->data = pcre2_match_context_create(NULL);
	return p->data ? 0 : err_memory(e);
}

int
pattern_open(struct pattern *p, const char *text, struct err *e)
{
	*p = (struct pattern){ .text = text };
	if (compile(p, text, PCRE2_ZERO_TERMINATED, 0, ERR_USAGE, e) < 0)
		return -1;
	pcre2_set_match_limit(p->data, MATCH_LIMIT);
	pcre2_set_depth_limit(p->data, DEPTH_LIMIT);
	return 0;
}

int
pattern_match(struct pattern *p, const char *s, struct err *e)
{
	pcre2_match_data *m = pcre2_match_data_create(1, NULL);
	int r;

	if (!m)
		return err_memory(e);
	r = pcre2_match(p->code, (PCRE2_SPTR)s, strlen(s), 0, 0, m, p->data);
	pcre2_match_data_free(m);
	if (r >= 0) {
		p->matches++;
		return 1;
	}
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	return err_set(e, ERR_USAGE, p->text, "takes too long to match");
}

/* \s and \S by the property that they stand for. */
static void
spell_spaces(const char *text, struct buf *b)
{
	for (; *text; text++) {
		if (text[0] == '\\' && (text[1] == 's' || text[1] == 'S')) {
			buf_text(b, *++text == 's' ? "\\p{White_Space}" : "\\P{White_Space}");
			continue;
		}
		buf_put(b, text, 1);
		if (text[0] == '\\' && text[1])
			buf_put(b, ++text, 1);
	}
}

int
pattern_open_text(struct pattern *p, const char *text, enum err_code code,
                  struct err *e)
{
	struct buf b = { 0 };
	int r = -1;

	*p = (struct pattern){ .text = text };
	spell_spaces(text, &b);
	if (!buf_string(&b))
		err_memory(e);
	else
		r = compile(p, (char *)b.p, b.n, PCRE2_UCP, code, e);
	buf_free(&b);
	if (r < 0)
		return -1;
	p->found = pcre2_match_data_create(1, NULL);
	if (!p->found)
		return err_memory(e);
	pcre2_set_heap_limit(p->data, HEAP_KIB);
	/* Where there is no such compiler the same matches are found, only later. */
	pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
	return 0;
}

int
pattern_find(struct pattern *p, const char *s, size_t n, size_t at, size_t *from,
             size_t *to, struct err *e)
{
	size_t steps = n < UINT32_MAX / STEPS_PER_BYTE - STEPS_LEAST
	                   ? n * STEPS_PER_BYTE + STEPS_LEAST : UINT32_MAX;
	PCRE2_SIZE *range;
	int r;

	pcre2_set_match_limit(p->data, (uint32_t)steps);
	pcre2_set_depth_limit(p->data, (uint32_t)steps);
	r = pcre2_match(p->code, (PCRE2_SPTR)s, n, at, PCRE2_NO_UTF_CHECK, p->found, p->data);
	if (r == PCRE2_ERROR_JIT_STACKLIMIT)
		r = pcre2_match(p->code, (PCRE2_SPTR)s, n, at,
		                PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, p->found, p->data);
	if (r >= 0) {
		range = pcre2_get_ovector_pointer(p->found);
		*from = range[0];
		*to = range[1] < range[0] ? range[0] : range[1]; /* \K can turn it around */
		p->matches++;
		return 1;
	}
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	return err_set(e, ERR_MEMORY, p->text, "takes too long to match");
}

void
pattern_close(struct pattern *p)
{
	pcre2_code_free(p->code);
	pcre2_match_context_free(p->data);
	pcre2_match_data_free(p->found);
	*p = (struct pattern){ 0 };
}
