#include "cli/canary_verdict.h"

#include <string.h>

#include "cli/prompt.h"

size_t
canary_longest(const struct canary *c)
{
	size_t i, longest = 0;

	for (i = 0; i < c->n; i++)
		longest = c->prompts[i].ids.n > longest ? c->prompts[i].ids.n : longest;
	return longest;
}

/* Whether the tokenizer gives other ids for the text of a prompt. */
static bool
tokens_differ(struct tokenizer *t, const struct canary_prompt *p, struct err *e)
{
	struct tokens ids = { 0 };
	struct buf text = { .p = (uint8_t *)p->text, .n = p->text ? strlen(p->text) : 0 };
	bool differ = false;

	if (p->text && t && prompt_encode(t, &text, &ids, e) == 0)
		differ = ids.n != p->prompt || memcmp(ids.id, p->ids.id, ids.n * sizeof *ids.id) != 0;
	tokens_free(&ids);
	return differ;
}

int
canary_verdict(const struct canary *c, struct sequence *s, struct tokenizer *t,
               const struct canary_limits *l, bool all, struct buf *text, struct buf *json,
               struct canary_total *total, struct err *e)
{
	const struct infer *m = sequence_model(s);
	struct canary_result result;
	size_t i;

	if (infer_vocabulary(m) != c->vocabulary)
		return err_set(e, ERR_INVALID, infer_name(m), "has a vocabulary of %zu tokens, and "
		               "the canary is of one of %zu", infer_vocabulary(m),
		               (size_t)c->vocabulary);
	for (i = 0; e->code == ERR_NONE && i < c->n; i++) {
		if (canary_check(c, &c->prompts[i], s, t, &result, e) == 0)
			result.other_tokens = tokens_differ(t, &c->prompts[i], e);
		if (e->code == ERR_NONE) {
			canary_add_result(total, &result, l);
			if (text && (all || canary_breaches(&result, l)))
				canary_put_result(text, c, i + 1, &result, l, t, false);
			if (json)
				canary_put_result(json, c, i + 1, &result, l, t, true);
		}
		canary_result_free(&result);
	}
	return e->code == ERR_NONE ? 0 : -1;
}
