#include "generate/parts.h"

int
parts_begin(struct parts *p, size_t context, const struct tokenizer *tokenizer,
            const struct tokens *text, struct err *e)
{
	*p = (struct parts){ .text = text->id, .context = context, .first = context / 2,
		.bos = tokenizer_adds_bos(tokenizer) ? tokenizer_role(tokenizer, TOKENIZER_BOS)
		                                     : TOKEN_NONE };
	if (context < 4)
		return err_set(e, ERR_INVALID, NULL, "a context of %zu is too small", context);
	p->count = text->n / context;
	if (p->count >= 2)
		return 0;
	err_set(e, ERR_INVALID, NULL, "the text has %zu tokens, fewer than twice the context "
	        "of %zu", text->n, context);
	return err_hint(e, "give a longer text, or a smaller context");
}

const uint32_t *
parts_tokens(const struct parts *p, uint64_t i)
{
	return p->text + i * p->context;
}

int
parts_head(const struct parts *p, uint64_t i, struct sequence *s, struct err *e)
{
	size_t at = p->bos != TOKEN_NONE;

	if (at && sequence_eval(s, 0, &p->bos, 1, SEQUENCE_NONE, NULL, NULL, e) < 0)
		return -1;
	if (p->first <= at)
		return 0;
	return sequence_eval(s, at, parts_tokens(p, i) + at, p->first - at, SEQUENCE_NONE, NULL,
	                     NULL, e);
}
