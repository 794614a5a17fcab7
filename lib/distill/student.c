#include "distill/student.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "generate/cosines.h"
#include "infer/watch.h"
#include "prune/plan.h"
#include "prune/pruned.h"

#define MEASURED_CONTEXT 512 /* tokens of a part, at most */
#define SHOWN 40             /* bytes of a token in a message */

/* ---- which layers ---- */

void
student_first(uint64_t *kept, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		kept[i] = i;
}

void
student_spread(uint64_t *kept, size_t count, uint64_t n)
{
	size_t i;

	for (i = 0; i < count; i++)
		kept[i] = count > 1 ? (i * (n - 1) + (count - 1) / 2) / (count - 1) : 0;
}

static void
choose(uint64_t *kept, size_t count, double *cosines, uint64_t n)
{
	uint64_t i, best, left;
	size_t to = 0;

	for (i = 0; i < n; i++)
		if (!(cosines[i] >= -1))
			cosines[i] = -1; /* NaN */
	for (left = n; left > count; left--) {
		for (best = 0, i = 1; i < n; i++)
			if (cosines[i] > cosines[best])
				best = i;
		cosines[best] = -2;
	}
	for (i = 0; i < n && to < count; i++)
		if (cosines[i] > -2)
			kept[to++] = i;
}

int
student_change(uint64_t *kept, size_t count, const struct weights *teacher, const struct tokens *text,
               unsigned jobs, struct err *e)
{
	const struct infer_options how = { .most = MEASURED_CONTEXT, .threads = jobs };
	const struct tokens some = { text->id, (size_t)num_min(text->n, STUDENT_MEASURED), 0 };
	struct infer *m = infer_open(teacher, &how, NULL, e);
	struct sequence *s = m ? sequence_open(m, e) : NULL;
	double *cosines = s ? mem_array(infer_blocks(m), sizeof *cosines) : NULL;
	int r = s ? cosines ? cosines_of(s, &some, cosines, e) : err_memory(e) : -1;

	if (r == 0)
		choose(kept, count, cosines, infer_blocks(m));
	free(cosines);
	sequence_close(s);
	infer_close(m);
	return r;
}

static int
list_gone(const struct train_model *teacher, const char *name, const struct student_how *how,
          struct prune *gone, struct err *e)
{
	uint64_t layers = teacher->hyper.layers, i;
	size_t at = 0;

	if (how->count && how->kept[how->count - 1] >= layers)
		return err_set(e, ERR_INVALID, name, "has %" PRIu64 " layers, numbered from "
		               "0: %" PRIu64 " is not one of them", layers, how->kept[how->count - 1]);
	gone->blocks = mem_array((size_t)layers, sizeof *gone->blocks);
	if (!gone->blocks)
		return err_memory(e);
	for (i = 0; i < layers; i++)
		if (at < how->count && how->kept[at] == i)
			at++;
		else
			gone->blocks[gone->n++] = i;
	return 0;
}

int
student_layers(struct train_model *teacher, const char *name, const struct student_how *how,
               unsigned jobs, struct load *load, struct err *e)
{
	struct merge_input in = { .operation = "apr-distill" };
	struct prune gone = { 0 };
	const struct prune_how prune = { .rule = PRUNE_SHAPE, .layers = &gone };
	struct prune_plan plan = { .rows = NULL };
	struct source *source = train_source(teacher, e), *pruned = NULL;
	int r = source ? list_gone(teacher, name, how, &gone, e) : -1;

	if (r == 0)
		r = merge_input_read(&in, source, NULL, NULL, false, jobs, e);
	if (r == 0)
		r = prune_plan_make(&plan, &prune, &in, e);
	if (r == 0 && !(pruned = pruned_source(&plan, jobs, e)))
		r = -1;
	if (r == 0)
		r = load_source(load, pruned, e);
	source_close(pruned);
	prune_plan_free(&plan);
	merge_input_close(&in);
	source_close(source);
	prune_free(&gone);
	return r;
}

/* ---- a new model ---- */

void
student_like(struct train_config *c, const struct train_model *m)
{
	const struct hyper *h = &m->hyper;
	size_t i;

	*c = (struct train_config){ .family = h->arch->name, .layers = h->layers, .width = h->width,
		.heads = h->heads, .kv_heads = h->kv_heads, .ff = h->ff, .head = h->head_k,
		.context = h->context, .tied = true, .rope_base = h->rope.base, .eps = (double)h->eps };
	for (i = 0; i < m->param_count; i++)
		c->tied &= m->params[i].role != ROLE_OUT;
}

enum { LAYERS, HIDDEN, HEADS, KV, FF, HEAD, CONTEXT, SIZES };

static int
config_wrong(const char *word, struct err *e)
{
	err_set(e, ERR_USAGE, NULL, "--new: %.60s is not NAME=NUMBER", word);
	return err_hint(e, "layers, hidden, heads, kv, ff, head, context; tied, untied");
}

/* Sets one size; given: those that were set. */
static int
config_size(struct train_config *c, const char *word, bool given[SIZES], struct err *e)
{
	static const char *const names[SIZES] = { "layers", "hidden", "heads", "kv", "ff", "head",
		"context" };
	uint64_t *const to[SIZES] = { &c->layers, &c->width, &c->heads, &c->kv_heads, &c->ff, &c->head,
		&c->context };
	const char *value = strchr(word, '=');
	size_t i;

	for (i = 0; value && i < SIZES; i++)
		if (strlen(names[i]) == (size_t)(value - word) &&
		    strncmp(names[i], word, (size_t)(value - word)) == 0)
			break;
	if (!value || i == SIZES || text_u64(value + 1, 1, UINT32_MAX, to[i]) < 0)
		return config_wrong(word, e);
	given[i] = true;
	return 0;
}

int
student_config(struct train_config *c, const char *text, struct err *e)
{
	bool given[SIZES] = { false };
	const char *at;
	char word[64];
	size_t n;

	for (at = text; *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), at);
		if (strcmp(word, "tied") == 0 || strcmp(word, "untied") == 0)
			c->tied = *word == 't';
		else if (config_size(c, word, given, e) < 0)
			return -1;
	}
	/* What follows from a number that is given is not the teacher's. */
	if ((given[HIDDEN] || given[HEADS]) && !given[HEAD])
		c->head = 0;
	if (given[HIDDEN] && !given[FF])
		c->ff = 0;
	if (given[HEADS] && !given[KV])
		c->kv_heads = 0;
	return 0;
}

/* ---- the vocabulary ---- */

int
student_same_tokens(const struct tokenizer *teacher, const char *teacher_name,
                    const struct tokenizer *student, const char *student_name, struct err *e)
{
	const uint32_t n = tokenizer_count(teacher), m = tokenizer_count(student);
	uint32_t i;

	for (i = 0; i < n && i < m; i++) {
		struct token_row a, b;

		tokenizer_row(teacher, i, &a);
		tokenizer_row(student, i, &b);
		if (a.n != b.n || memcmp(a.text, b.text, a.n) != 0)
			return err_set(e, ERR_INVALID, student_name, "has another vocabulary than %.100s: token "
			               "%" PRIu32 " is \"%.*s\", not \"%.*s\"", teacher_name, i,
			               (int)num_min(b.n, SHOWN), b.text, (int)num_min(a.n, SHOWN), a.text);
	}
	return n == m ? 0 : err_set(e, ERR_INVALID, student_name, "has another vocabulary than %.100s: %"
	                            PRIu32 " tokens, not %" PRIu32, teacher_name, m, n);
}

/* ---- the recipe ---- */

void
student_record(const struct student_how *how, json_t *recipe)
{
	static const char *const from[] = { "layers", "file", "new" };
	json_t *list = json_array();
	size_t i;

	json_object_set_new(recipe, "from", json_string(from[how->from]));
	for (i = 0; how->from == STUDENT_LAYERS && i < how->count; i++)
		json_array_append_new(list, json_integer((json_int_t)how->kept[i]));
	if (json_array_size(list) > 0)
		json_object_set(recipe, "layers", list);
	json_decref(list);
}
