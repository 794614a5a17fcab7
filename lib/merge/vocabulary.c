#include "merge/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "merge/unite.h"
#include "tokenizer/vocab.h"

/* ---- the tokens of all models, by text ---- */

struct entry {
	const char *text;
	size_t n;
	uint32_t rank, id;        /* of its tokenizer, and there */
};

struct making {
	struct vocabulary *v;
	const struct merge_recipe *r;
	const struct merge_input *inputs;
	struct word_list *of;         /* tokenizers by rank: first the one whose tokens come first */
	size_t *input;            /* of each */
	size_t n;
	bool adds;                /* tokens of the others are added */
	struct entry *entry;
	size_t count;
	struct unite_added *added;
	size_t added_count, added_cap;
	uint8_t *types;           /* of all tokens of the result */
	struct err *e;
};

static int
compare_texts(const struct entry *x, const struct entry *y)
{
	int c = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);

	return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* By text; among equal texts, the lower rank and id first. */
static int
compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = compare_texts(x, y);

	if (c == 0)
		c = (x->rank > y->rank) - (x->rank < y->rank);
	return c ? c : (x->id > y->id) - (x->id < y->id);
}

static int
compare_added(const void *a, const void *b)
{
	const struct unite_added *x = a, *y = b;

	return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
	                          : (x->id > y->id) - (x->id < y->id);
}

static int
list_entries(struct making *m)
{
	size_t i, k, n = 0;

	for (i = 0; i < m->n; i++)
		n += m->of[i].count;
	if (!(m->entry = mem_array(n, sizeof *m->entry)))
		return err_memory(m->e);
	for (i = 0; i < m->n; i++)
		for (k = 0; k < m->of[i].count; k++)
			m->entry[m->count++] = (struct entry){ m->of[i].word[k].text,
				m->of[i].word[k].n, (uint32_t)i, (uint32_t)k };
	qsort(m->entry, m->count, sizeof *m->entry, compare);
	return 0;
}

/* The end of the entries with the text of the one at i. */
static size_t
group_end(const struct making *m, size_t i)
{
	size_t end = i + 1;

	while (end < m->count && compare_texts(&m->entry[i], &m->entry[end]) == 0)
		end++;
	return end;
}

/* ---- tokens that are added ---- */

static int
find_added(struct making *m)
{
	size_t i;

	for (i = 0; m->adds && i < m->count; i = group_end(m, i)) {
		const struct entry *x = &m->entry[i];

		if (x->rank == 0 || x->n == 0 || word_list_is_padding(&m->of[x->rank], x->id))
			continue;
		if (mem_grow(&m->added, &m->added_cap, m->added_count + 1, sizeof *m->added) < 0)
			return err_memory(m->e);
		m->added[m->added_count++] = (struct unite_added){ x->rank, x->id };
	}
	if (m->added_count)
		qsort(m->added, m->added_count, sizeof *m->added, compare_added);
	if (m->added_count >= VOCABULARY_LACKS - m->of->count)
		return err_set(m->e, ERR_INVALID, m->of->file, "the tokens of all models are too many");
	m->v->tokens = (uint32_t)(m->of->count + m->added_count);
	return 0;
}

/* The id in the result of a group's first entry, or VOCABULARY_LACKS. */
static uint32_t
id_of(const struct making *m, const struct entry *x)
{
	const struct unite_added wanted = { x->rank, x->id }, *at;

	if (x->rank == 0)
		return x->id;
	at = m->added_count == 0 ? NULL
		: bsearch(&wanted, m->added, m->added_count, sizeof *m->added, compare_added);
	return at ? (uint32_t)(m->of->count + (size_t)(at - m->added)) : VOCABULARY_LACKS;
}

/* ---- rows ---- */

/* The rows of the token `id`, with the entries [from, end) that have its text. Of equal texts in a
 * model the lowest counts, but in the first tokenizer each has its own. */
static void
map_group(struct making *m, size_t from, size_t end, uint32_t id)
{
	size_t i;

	for (i = from; i < end; i++) {
		const struct entry *x = &m->entry[i];
		uint32_t *to = &m->v->row[m->input[x->rank]][id];

		if (x->rank == 0)
			*to = id;
		else if (*to == VOCABULARY_LACKS)
			*to = x->id;
	}
}

static uint8_t
type_of(const struct making *m, const struct entry *x)
{
	const struct word_list *w = &m->of[x->rank];

	return w->types ? (uint8_t)le32(w->types + 4 * x->id) : TOKEN_NORMAL;
}

/* Of the tokens in a group. */
static uint8_t
type_of_group(const struct making *m, size_t from, size_t end)
{
	uint8_t type = type_of(m, &m->entry[from]), other;
	size_t i;

	for (i = from + 1; (type == TOKEN_NORMAL || type == TOKEN_UNUSED) && i < end; i++) {
		other = type_of(m, &m->entry[i]);
		if (other == TOKEN_CONTROL || other == TOKEN_USER)
			return other;
	}
	return type;
}

static int
map_all(struct making *m)
{
	size_t i, end, k;
	uint32_t id;

	if (!(m->types = mem_array(m->v->tokens, 1)))
		return err_memory(m->e);
	for (i = 0; i < m->count; i = end) {
		end = group_end(m, i);
		id = id_of(m, &m->entry[i]);
		if (id == VOCABULARY_LACKS)
			continue;
		map_group(m, i, end, id);
		m->types[id] = type_of_group(m, i, end);
		for (k = i + 1; k < end && m->entry[k].rank == 0; k++) {
			map_group(m, i, end, m->entry[k].id);
			m->types[m->entry[k].id] = m->types[id];
		}
	}
	return 0;
}

/* Tokens that no model of the merge has. */
static uint32_t
count_nowhere(const struct vocabulary *v, const struct merge_recipe *r)
{
	uint32_t i, n = 0;
	size_t k;

	for (i = 0; i < v->tokens; i++) {
		for (k = 0; k < v->models && (v->row[k][i] == VOCABULARY_LACKS || !merge_recipe_uses(r, k)); k++)
			;
		n += k == v->models;
	}
	return n;
}

/* ---- rules ---- */

/* The lowest id of a text, or VOCABULARY_LACKS. */
static uint32_t
find_text(const struct word_list *w, const char *text)
{
	size_t n = strlen(text), i;

	for (i = 0; i < w->count; i++)
		if (w->word[i].n == n && memcmp(w->word[i].text, text, n) == 0)
			return (uint32_t)i;
	return VOCABULARY_LACKS;
}

static uint32_t
find_result(const struct making *m, const char *text)
{
	size_t n = strlen(text), i;
	uint32_t id = find_text(m->of, text);

	for (i = 0; id == VOCABULARY_LACKS && i < m->added_count; i++) {
		const struct word *w = &m->of[m->added[i].from].word[m->added[i].id];

		if (w->n == n && memcmp(w->text, text, n) == 0)
			id = (uint32_t)(m->of->count + i);
	}
	return id;
}

static const struct word_list *
words_of(const struct making *m, size_t input)
{
	size_t i = 0;

	while (m->input[i] != input)
		i++;
	return &m->of[i];
}

static int
find_rule(struct making *m, const struct merge_token *asked, struct vocabulary_rule *to)
{
	const struct word_list *w;

	*to = (struct vocabulary_rule){ .asked = asked, .token = find_result(m, asked->text) };
	if (to->token == VOCABULARY_LACKS)
		return err_set(m->e, ERR_INVALID, m->of->file, "line %zu of the recipe: %.80s is not a "
		               "token of the result", asked->line, asked->text);
	if (asked->source != MERGE_TOKEN_MODEL)
		return 0;
	w = words_of(m, asked->model);
	to->row = asked->id != MERGE_TOKEN_BY_TEXT ? (uint32_t)asked->id
	                                           : find_text(w, asked->from ? asked->from : asked->text);
	if (to->row >= w->count)
		return err_set(m->e, ERR_INVALID, w->file, "line %zu of the recipe: it lacks the token "
		               "that %.80s takes its row from", asked->line, asked->text);
	return 0;
}

static int
compare_rules(const void *a, const void *b)
{
	const struct vocabulary_rule *x = a, *y = b;

	return (x->token > y->token) - (x->token < y->token);
}

static int
make_rules(struct making *m)
{
	struct vocabulary *v = m->v;

	if (m->r->token_count == 0)
		return 0;
	if (!(v->rules = mem_array(m->r->token_count, sizeof *v->rules)))
		return err_memory(m->e);
	for (; v->rule_count < m->r->token_count; v->rule_count++)
		if (find_rule(m, &m->r->token[v->rule_count], &v->rules[v->rule_count]) < 0)
			return -1;
	qsort(v->rules, v->rule_count, sizeof *v->rules, compare_rules);
	return 0;
}

const struct vocabulary_rule *
vocabulary_rule(const struct vocabulary *v, uint64_t token)
{
	const struct vocabulary_rule wanted = { .token = (uint32_t)token };

	return v->rule_count == 0 ? NULL
		: bsearch(&wanted, v->rules, v->rule_count, sizeof *v->rules, compare_rules);
}

/* ---- the tokenizer of the result ---- */

/* A tokenizer that cannot be opened is not written. */
static int
prove(struct making *m)
{
	struct word_list *own = &m->v->words;
	const struct weights w = { .name = own->file, .plan = &own->keys };
	const struct tokenizer_options how = { .any = true };
	struct err wrong = ERR_INIT;
	struct tokenizer *t = tokenizer_of(&w, &how, &wrong);

	tokenizer_free(t);
	return t ? 0 : err_set(m->e, ERR_INVALID, own->file, "the tokenizer of the result would be damaged: "
	                       "%.100s%s%.200s", wrong.object, *wrong.object ? " " : "", wrong.fact);
}

/* Keep the keys of the first tokenizer, with what is added to them. */
static int
make_tokenizer(struct making *m)
{
	const struct unite u = { m->of, m->n, m->added, m->added_count, m->types };
	struct model keys;
	int r;

	if (!m->v->replaced)
		return 0;
	if (model_copy(&keys, &m->of->keys, m->e) < 0)
		return -1;
	r = m->adds ? unite_keys(&u, &keys, m->e) : 0;
	m->v->words = (struct word_list){ .file = m->of->file, .keys = keys, .origin = m->of->origin };
	m->of->origin = NULL;
	return r < 0 ? -1 : prove(m);
}

/* ---- opening ---- */

static bool
all_same(const struct merge_input *inputs, size_t n, size_t reference)
{
	struct err differs = ERR_INIT;
	size_t i = 0;

	while (i < n && (i == reference ||
	                 merge_input_same_tokens(&inputs[reference], &inputs[i], &differs) == 0))
		i++;
	return i == n;
}

/* Read the tokenizer of an input as the next one. */
static int
open_one(struct making *m, size_t input)
{
	struct word_list *w = &m->of[m->n], *first = &m->of[0];

	m->input[m->n++] = input;
	if ((m->r->tokens == MERGE_TOKENS_BASE ? word_list_texts : word_list_read)(w, &m->inputs[input], m->e) < 0)
		return -1;
	if (strcmp(first->kind, w->kind) == 0)
		return 0;
	return err_set(m->e, ERR_INVALID, w->file, "its tokens are of the kind %s, and those of %s %s",
	               w->kind, first->file, first->kind);
}

static int
open_rows(struct making *m)
{
	struct vocabulary *v = m->v;
	size_t i;

	v->row = mem_array(v->models, sizeof *v->row);
	for (i = 0; v->row && i < v->models; i++) {
		if (!(v->row[i] = mem_array(v->tokens, sizeof **v->row)))
			return err_memory(m->e);
		memset(v->row[i], 0xff, v->tokens * sizeof **v->row); /* VOCABULARY_LACKS */
	}
	return v->row ? 0 : err_memory(m->e);
}

static int
make(struct making *m, size_t lead)
{
	struct vocabulary *v = m->v;
	size_t i;

	m->of = mem_array(v->models, sizeof *m->of);
	m->input = mem_array(v->models, sizeof *m->input);
	if (!m->of || !m->input)
		return err_memory(m->e);
	if (open_one(m, lead) < 0)
		return -1;
	for (i = 0; i < v->models; i++)
		if (i != lead && open_one(m, i) < 0)
			return -1;
	if (list_entries(m) < 0 || find_added(m) < 0 || open_rows(m) < 0 || map_all(m) < 0 ||
	    make_rules(m) < 0)
		return -1;
	v->foreign = lead != v->reference;
	v->replaced = v->foreign || m->added_count > 0;
	v->nowhere = count_nowhere(v, m->r);
	return make_tokenizer(m);
}

int
vocabulary_make(struct vocabulary *v, const struct merge_recipe *r, const struct merge_input *inputs,
                size_t reference, struct err *e)
{
	struct making m = { .v = v, .r = r, .inputs = inputs, .e = e,
		.adds = r->tokens == MERGE_TOKENS_UNION };
	int status;
	size_t i;

	if (r->tokens == MERGE_TOKENS_BASE && r->token_count == 0 &&
	    all_same(inputs, r->model_count, reference))
		return 0;
	v->models = r->model_count;
	v->reference = reference;
	status = make(&m, r->tokens == MERGE_TOKENS_OF ? r->tokens_model : reference);
	for (i = 0; i < m.n; i++)
		word_list_free(&m.of[i]);
	free(m.of);
	free(m.input);
	free(m.entry);
	free(m.added);
	free(m.types);
	return status;
}

void
vocabulary_free(struct vocabulary *v)
{
	size_t i;

	for (i = 0; v->row && i < v->models; i++)
		free(v->row[i]);
	free(v->row);
	free(v->rules);
	word_list_free(&v->words);
	*v = (struct vocabulary){ 0 };
}

/* ---- tables ---- */

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
vocabulary_row(const struct vocabulary *v, size_t model, uint64_t token)
{
	if (token < v->tokens)
		return v->row[model][token];
	return model == v->reference && !v->replaced ? (uint32_t)token : VOCABULARY_LACKS;
}
