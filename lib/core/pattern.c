#include "core/pattern.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MATCH_LIMIT 1000000
#define DEPTH_LIMIT 10000

int
pattern_open(struct pattern *p, const char *text, struct err *e)
{
	pcre2_match_context *limits;
	PCRE2_UCHAR said[128];
	PCRE2_SIZE at;
	int code;

	*p = (struct pattern){ .text = text };
	p->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &code,
	                        &at, NULL);
	if (!p->code) {
		pcre2_get_error_message(code, said, sizeof said);
		return err_set(e, ERR_USAGE, text, "is no pattern at character %zu: %s",
		               (size_t)at, (char *)said);
	}
	limits = pcre2_match_context_create(NULL);
	p->data = limits;
	if (!limits)
		return err_memory(e);
	pcre2_set_match_limit(limits, MATCH_LIMIT);
	pcre2_set_depth_limit(limits, DEPTH_LIMIT);
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

void
pattern_close(struct pattern *p)
{
	pcre2_code_free(p->code);
	pcre2_match_context_free(p->data);
	*p = (struct pattern){ 0 };
}
