#include "check/survey.h"

#include <stdlib.h>
#include <string.h>

#include "check/card.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "stats/values.h"

/* ---- what is known before the tensors ---- */

static int
find_sizes(struct survey *s, struct err *e)
{
	const struct subject *x = &s->subject;
	const char *arch = x->arch ? x->arch->name : NULL;

	if (x->form == ARCH_GGUF && x->arch)
		arch = model_text(s->source->plan, "general.architecture");
	if (x->form == ARCH_GGUF)
		return arch ? sizes_keys(&s->sizes, &x->w, arch, e) : 0;
	return x->config ? sizes_config(&s->sizes, x->config, e) : 0;
}

static void
match_names(struct survey *s)
{
	const struct model *named = s->subject.plan;
	size_t i;

	for (i = 0; i < s->count; i++) {
		struct survey_tensor *t = &s->tensors[i];

		t->name = tensor_name(named->tensors[i]);
		t->known = s->subject.arch && match_find(s->subject.arch, s->subject.form, t->name,
		                                         0, &t->match);
	}
}

/* All side files have come: finds form, architecture and hyper-parameters. That they are not
 * to be found is for rules to judge. */
static int
find_subject(struct survey *s, struct err *e)
{
	struct err *why = &s->arch_fault;

	if (s->has_subject)
		return 0;
	s->has_subject = true;
	if (s->source->plan->sealed)
		return 0;
	if (subject_find(&s->subject, s->arch, why) < 0 && why->code == ERR_MEMORY) {
		*e = *why;
		return -1;
	}
	if (why->code == ERR_NONE && find_sizes(s, why) < 0)
		s->sizes = (struct sizes){ 0 };
	match_names(s);
	classic_form(s->source->plan, &s->trees.said);
	s->classic = s->trees.said.known || model_find(s->source->plan, "apr1.payload");
	return 0;
}

/* ---- hooks ---- */

static const struct dtype *
type_of(const struct survey *s, const struct item *in)
{
	return tensor_type(s->tensors[in->index].t);
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct survey *s = ctx;

	(void)out;
	s->reading = s->keeping = false;
	if (in->kind == ITEM_SKEY || s->source->plan->sealed)
		return 0;
	if (in->kind == ITEM_BLOB) {
		s->taking = &s->subject.w.blobs[in->index];
		return subject_take(&s->subject, in->index, NULL, 0, e);
	}
	if (find_subject(s, e) < 0)
		return -1;
	if (in->kind == ITEM_TENSOR && s->classic &&
	    trees_begin(&s->trees, s->tensors[in->index].t, &s->keeping, e) < 0)
		return -1;
	if (in->kind != ITEM_TENSOR || !values_known(type_of(s, in)))
		return 0;
	s->reading = true;
	s->tally.look = &s->look;
	return tally_begin_rows(&s->tally, type_of(s, in), tensor_items(s->tensors[in->index].t),
	                   look_row(s->tensors[in->index].t), e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct survey *s = ctx;

	(void)sink;
	if (s->taking)
		return n > 0 ? subject_take(&s->subject, in->index, p, n, e) : 0;
	if (s->reading)
		tally_add(&s->tally, p, n);
	return s->keeping ? trees_add(&s->trees, p, n, e) : 0;
}

/* Reads a column of a tree from the file. */
static int
keep_range(struct survey *s, const struct item *in, struct err *e)
{
	uint64_t at = 0, left = tensor_bytes(s->tensors[in->index].t);
	uint8_t piece[4096];
	size_t n;

	for (; left > 0; left -= n, at += n) {
		n = (size_t)num_min(left, sizeof piece);
		if (range_read(in->place, at, piece, n) < 0)
			return range_fail(s->source->name, e);
		if (trees_add(&s->trees, piece, n, e) < 0)
			return -1;
	}
	return 0;
}

static int
placed(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct survey *s = ctx;

	if (sink)
		return 0; /* it needs the bytes as well */
	if (s->keeping && keep_range(s, in, e) < 0)
		return -1;
	return s->reading && tally_range(&s->tally, in->place, s->source->name, e) < 0 ? -1 : 1;
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct survey *s = ctx;
	struct survey_tensor *t;

	(void)sink;
	s->taking = NULL;
	if (!s->reading)
		return 0;
	s->reading = false;
	tally_end(&s->tally);
	t = &s->tensors[in->index];
	t->stats = s->tally.stats;
	t->read = true;
	t->look = look_copy(&s->look, look_entries(s->count), e);
	return t->look ? 0 : -1;
}

static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct survey *s = ctx;

	(void)sink;
	s->complete = true;
	if (trees_end(&s->trees, e) < 0)
		return -1;
	if (find_subject(s, e) < 0)
		return -1;
	return s->at_end ? s->at_end(s->end_ctx, e) : 0;
}

int
survey_begin(struct survey *s, struct source *source, struct err *e)
{
	size_t i;

	s->source = source;
	s->signature = source->verified             ? SURVEY_VERIFIED
	               : source->plan->signatures > 0 ? SURVEY_SIGNED
	                                              : SURVEY_UNSIGNED;
	s->count = source->plan->tensor_count;
	s->tensors = mem_array(s->count, sizeof *s->tensors);
	if (!s->tensors)
		return err_memory(e);
	for (i = 0; i < s->count; i++) {
		s->tensors[i].t = source->plan->tensors[i];
		s->tensors[i].name = tensor_name(s->tensors[i].t);
	}
	return subject_begin(&s->subject, source, e) < 0 || look_open(&s->look, e) < 0 ||
	               tally_open(&s->tally, s->jobs ? s->jobs : 1, false, e) < 0 ? -1 : 0;
}

void
survey_hooks(struct survey *s, struct flow *f)
{
	f->item = item;
	f->data = data;
	f->looks = true;
	f->placed = placed;
	f->takes = true;
	f->item_end = item_end;
	f->finish = finish;
	f->ctx = s;
	if (!s->watch)
		return;
	f->watch = s->watch;
	f->progress_ctx = s->watch_ctx;
}

/* A blob that did not arrive to its end has not been proved. */
static void
forget_partial(struct survey *s)
{
	if (!s->taking)
		return;
	free((void *)(uintptr_t)s->taking->p);
	*s->taking = (struct weights_blob){ 0 };
	s->taking = NULL;
}

int
survey_run(struct survey *s, struct source *source, struct err *e)
{
	struct flow f = { 0 };

	if (survey_begin(s, source, e) < 0)
		return -1;
	survey_hooks(s, &f);
	source->sealed_too = true;
	if (flow_run(source, NULL, &f, &s->fault) == 0)
		return 0;
	s->complete = false;
	forget_partial(s);
	if (s->fault.code == ERR_MEMORY) {
		*e = s->fault;
		return -1;
	}
	return find_subject(s, e);
}

/* Reads the blob that the source is at. */
static int
take_blob(struct survey *s, struct source *source, size_t index, struct err *e)
{
	const uint8_t *p;
	size_t n;
	int r;

	if (subject_take(&s->subject, index, NULL, 0, e) < 0)
		return -1;
	while ((r = source_read(source, &p, &n, e)) == 0 && n > 0)
		if (subject_take(&s->subject, index, p, n, e) < 0)
			return -1;
	return r;
}

int
survey_head(struct survey *s, struct source *source, struct err *e)
{
	struct item item;
	int r = 0;

	if (survey_begin(s, source, e) < 0)
		return -1;
	while (!source->plan->sealed && (r = source_next(source, &item, e)) == 1 &&
	       item.kind == ITEM_BLOB)
		if (take_blob(s, source, item.index, e) < 0)
			return -1;
	return r < 0 ? -1 : find_subject(s, e);
}

void
survey_free(struct survey *s)
{
	size_t i;

	tally_free(&s->tally);
	look_close(&s->look);
	trees_free(&s->trees);
	for (i = 0; s->tensors && i < s->count; i++)
		free(s->tensors[i].look);
	free(s->tensors);
	if (s->source && s->subject.plan)
		subject_close(&s->subject);
	s->tensors = NULL;
	s->count = 0;
}

int
survey_key(const struct survey *s, const char *key, uint64_t *v)
{
	const json_t *j;

	if (model_u64(s->source->plan, key, v) == 0)
		return 0;
	j = s->subject.config ? json_object_get(s->subject.config, key) : NULL;
	return j && json_is_integer(j) ? json_value_u64(j, v) : -1;
}

int
survey_card(const struct survey *s, json_t **card, struct err *e)
{
	struct err front = ERR_INIT;

	*card = card_read(&s->subject.w, &front);
	if (!*card && front.code != ERR_MEMORY)
		*card = json_object();
	return *card ? 0 : err_memory(e);
}
