#include "merge/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "tokenizer/tokenizer.h"

static struct tokenizer *
open_one(const struct merge_input *in, struct err *e)
{
	const struct tokenizer_options how = { .list = true, .any = true };
	struct err unreadable = ERR_INIT;
	struct tokenizer *t = tokenizer_of(&in->subject.w, &how, &unreadable);

	if (!t)
		err_set(e, ERR_INVALID, in->name, "its tokens cannot be read: %s", unreadable.fact);
	return t;
}

struct word {
	const char *text;
	size_t n;
	uint32_t id;
};

/* By text; among equal texts, the lower id first. */
static int
compare(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	int c = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);

	if (c == 0)
		c = (x->n > y->n) - (x->n < y->n);
	return c ? c : (x->id > y->id) - (x->id < y->id);
}

/* All tokens, sorted by text: a new array, or NULL with e filled. */
static struct word *
sorted(const struct tokenizer *t, struct err *e)
{
	uint32_t n = tokenizer_count(t), i;
	struct word *words = mem_array(n, sizeof *words);
	struct token_row row;

	if (!words)
		err_memory(e);
	for (i = 0; words && i < n; i++) {
		tokenizer_row(t, i, &row);
		words[i] = (struct word){ row.text, row.n, i };
	}
	if (words)
		qsort(words, n, sizeof *words, compare);
	return words;
}

/* The lowest id with a text, or VOCABULARY_LACKS. */
static uint32_t
find(const struct word *words, uint32_t n, const struct token_row *row)
{
	const struct word wanted = { row->text, row->n, 0 };
	uint32_t low = 0, high = n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (compare(&words[mid], &wanted) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && words[low].n == row->n && memcmp(words[low].text, row->text, row->n) == 0
		? words[low].id : VOCABULARY_LACKS;
}

static int
map_tokens(struct vocabulary *v, size_t model, const struct tokenizer *own,
           const struct tokenizer *other, struct err *e)
{
	struct word *words = own == other ? NULL : sorted(other, e);
	struct token_row row;
	uint32_t i;

	v->row[model] = mem_array(v->tokens, sizeof *v->row[model]);
	if (!v->row[model])
		err_memory(e);
	for (i = 0; e->code == ERR_NONE && i < v->tokens; i++) {
		tokenizer_row(own, i, &row);
		v->row[model][i] = words ? find(words, tokenizer_count(other), &row) : i;
	}
	free(words);
	return e->code == ERR_NONE ? 0 : -1;
}

/* As GGUF names it; a list of tokens alone does not state it. */
static const char *
kind_of(const struct merge_input *in, const struct tokenizer *t)
{
	const char *name = model_text(in->subject.w.plan, "tokenizer.ggml.model");

	return name ? name : tokenizer_kind(t);
}

static int
map_model(struct vocabulary *v, const struct merge_input *inputs, size_t model, size_t reference,
          const struct tokenizer *own, struct err *e)
{
	struct tokenizer *other = NULL;
	int r;

	if (model == reference)
		return map_tokens(v, model, own, own, e);
	if (!(other = open_one(&inputs[model], e)))
		return -1;
	if (strcmp(kind_of(&inputs[reference], own), kind_of(&inputs[model], other)) != 0)
		r = err_set(e, ERR_INVALID, inputs[model].name, "its tokens are of the kind %s, and "
		            "those of %s %s", kind_of(&inputs[model], other),
		            inputs[reference].name, kind_of(&inputs[reference], own));
	else
		r = map_tokens(v, model, own, other, e);
	tokenizer_free(other);
	return r;
}

int
vocabulary_make(struct vocabulary *v, const struct merge_input *inputs, size_t n,
                size_t reference, struct err *e)
{
	struct tokenizer *own;
	bool same = true;
	size_t i;
	int r = 0;

	for (i = 0; same && i < n; i++) {
		struct err differs = ERR_INIT;

		same = i == reference ||
		       merge_input_same_tokens(&inputs[reference], &inputs[i], &differs) == 0;
	}
	if (same)
		return 0;
	if (!(own = open_one(&inputs[reference], e)))
		return -1;
	v->tokens = tokenizer_count(own);
	v->models = n;
	v->row = mem_array(n, sizeof *v->row);
	if (!v->row)
		r = err_memory(e);
	for (i = 0; r == 0 && i < n; i++)
		r = map_model(v, inputs, i, reference, own, e);
	tokenizer_free(own);
	return r;
}

void
vocabulary_free(struct vocabulary *v)
{
	size_t i;

	for (i = 0; v->row && i < v->models; i++)
		free(v->row[i]);
	free(v->row);
	*v = (struct vocabulary){ 0 };
}

bool
vocabulary_is_table(const struct merge_input *in, size_t tensor)
{
	static const char *const names[] = { "token_embd.weight", "output.weight",
		"model.embed_tokens.weight", "lm_head.weight" };
	enum role role = merge_input_role(in, tensor);
	const char *name = tensor_name(merge_input_plan(in)->tensors[tensor]);
	size_t i;

	if (role != ROLES)
		return role == ROLE_EMBED || role == ROLE_OUT;
	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

uint32_t
vocabulary_row(const struct vocabulary *v, size_t model, size_t reference, uint64_t token)
{
	if (token < v->tokens)
		return v->row[model][token];
	return model == reference ? (uint32_t)token : VOCABULARY_LACKS;
}
