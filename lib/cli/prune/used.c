#include "cli/prune/used.h"

#include "core/mem.h"
#include "core/text.h"
#include "tokenizer/tokenizer.h"

static int
mark(struct prune_asked *a, struct tokenizer *t, unsigned flags, struct err *e)
{
	struct tokens list = { 0 };
	int r = tokenizer_encode(t, a->text.p, a->text.n, flags, &list, e);
	size_t i;

	for (i = 0; r == 0 && i < list.n; i++)
		a->used[list.id[i]] = true;
	tokens_free(&list);
	return r;
}

int
used_tokens(struct prune_asked *a, struct merge_input *in, struct prune_how *how, struct err *e)
{
	struct tokenizer *t;
	int r;

	if (a->text.n == 0 || !text_utf8(a->text.p, a->text.n, true))
		return err_set(e, ERR_INVALID, a->vocab_path, a->text.n ? "is not a text in UTF-8" : "is empty");
	if (!(t = tokenizer_of(&in->subject.w, NULL, e)))
		return -1;
	how->used_count = tokenizer_count(t);
	how->used = a->used = mem_array(how->used_count, sizeof *a->used);
	r = !a->used ? err_memory(e)
		: mark(a, t, 0, e) < 0 || mark(a, t, TOKENIZER_SPECIAL, e) < 0 ? -1 : 0;
	buf_u8(&a->text, '\n');
	if (r == 0)
		r = !buf_ok(&a->text) ? err_memory(e) : mark(a, t, 0, e);
	tokenizer_free(t);
	return r;
}
