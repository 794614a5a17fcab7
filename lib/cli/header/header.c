#include "cli/header/header.h"

#include <string.h>

#include "arch/classic.h"
#include "arch/subject.h"
#include "check/trees.h"
#include "cli/config.h"
#include "cli/each.h"
#include "cli/tool.h"
#include "core/text.h"
#include "report/facts.h"
#include "report/filters.h"
#include "report/full.h"
#include "report/lines.h"
#include "report/memory.h"
#include "report/vocab_text.h"

#define PIECE (64u << 10) /* bytes of text that are printed together */

/* Prints the text if it is long enough, or at the end. */
static int
print_piece(struct buf *b, bool last, struct err *e)
{
	return last || b->n >= PIECE || !buf_ok(b) ? tool_print(b, e) : 0;
}

/* ---- facts ---- */

/* Reads the model to its end, which proves all checksums of its container. open: the body of an
 * item is due before the next item. */
static int
prove(struct header *x, bool open, struct err *e)
{
	const json_t *sum = json_object_get(x->container, "checksum");
	const uint8_t *p;
	size_t n = open;

	if (!json_is_true(sum) && !json_is_string(sum))
		return err_set(e, ERR_NO, x->source->name, "has no checksum");
	while (n > 0)
		if (source_read(x->source, &p, &n, e) < 0)
			return -1;
	if (source_finish(x->source, e) < 0)
		return -1;
	return json_object_set_new(x->container, "checksum_verified", json_true()) < 0
	           ? err_memory(e) : 0;
}

static int
print_facts(json_t *o, bool json, struct err *e)
{
	struct buf b = { 0 };
	int r;

	if (json)
		lines_json(&b, json_incref(o));
	else
		facts_put(&b, o);
	r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

/* ---- classical models ---- */

/* Reads the tensors, to find depth, features and classes of trees: these lie in their values. */
static int
read_trees(struct header *x, struct trees *t, struct err *e)
{
	struct item item;
	const uint8_t *p;
	size_t n;
	bool wanted;
	int r;

	while ((r = source_next(x->source, &item, e)) == 1) {
		wanted = false;
		if (item.kind == ITEM_TENSOR &&
		    trees_begin(t, x->source->plan->tensors[item.index], &wanted, e) < 0)
			return -1;
		while ((r = source_read(x->source, &p, &n, e)) == 0 && n > 0)
			if (wanted && trees_add(t, p, n, e) < 0)
				return -1;
		if (r < 0)
			return -1;
	}
	return r < 0 ? -1 : trees_end(t, e);
}

static int
set_count(json_t *o, const char *name, uint64_t n)
{
	return n ? json_object_set_new(o, name, json_from_u64(n)) : 0;
}

/* Adds what a classical model has instead of an architecture. */
static int
add_classic(struct header *x, struct err *e)
{
	struct model *m = x->source->plan;
	const struct classic_words *w = classic_words(m);
	struct trees t = { 0 };
	uint64_t outputs, count, nodes;
	int r = 0;

	if (!w)
		return 0;
	classic_form(m, &t.said);
	t.classes = t.said.centers ? 0 : t.said.classes;
	classic_trees(m, &t.count, &t.nodes);
	classic_sizes(m, &t.features, &outputs);
	count = t.count;
	nodes = t.nodes;
	if (t.count && !x->checksum) {
		t.count = t.nodes = 0;
		r = read_trees(x, &t, e);
	}
	if (t.count == 0) { /* those of models inside are not walked */
		t.count = count;
		t.nodes = nodes;
	}
	if (r == 0 && (json_object_set_new(x->container, "kind", json_string(w->kind)) < 0 ||
	               set_count(x->container, "trees", t.count) < 0 ||
	               set_count(x->container, "nodes", t.nodes) < 0 ||
	               set_count(x->container, "depth", t.depth) < 0 ||
	               set_count(x->container, "features", t.features) < 0 ||
	               set_count(x->container, outputs ? "centers" : "classes",
	                         outputs ? outputs : t.classes) < 0))
		r = err_memory(e);
	trees_free(&t);
	return r;
}

/* Adds the facts of any model to those of the container. */
static int
add_facts(struct header *x, bool open, struct err *e)
{
	int r = facts_add(x->container, x->source->plan, x->verified, e);

	if (r == 0 && !open)
		r = add_classic(x, e);
	if (r == 0 && x->context != CONTEXT_NONE)
		r = memory_add(x->container, x->source, x->context, e);
	return r == 0 && x->checksum ? prove(x, open, e) : r;
}

int
header_container(struct header *x, struct err *e)
{
	if (x->checksum && prove(x, false, e) < 0)
		return -1;
	return print_facts(x->container, x->json, e);
}

/* What the settings say of arrays. */
static struct facts_view
view_of_settings(void)
{
	const char *vocab = config_text("APR_SHOW_VOCAB");
	const char *items = config_text("APR_MAX_TOKENS_DISPLAY");
	struct facts_view view = { .no_vocab = vocab && strcmp(vocab, "false") == 0 };
	uint64_t n;

	if (items && text_u64(items, 1, SIZE_MAX, &n) == 0)
		view.items = (size_t)n;
	return view;
}

int
header_facts(struct header *x, struct err *e)
{
	const struct facts_view view = view_of_settings();
	struct buf b = { 0 };
	json_t *metadata;
	int r;

	if (add_facts(x, false, e) < 0)
		return -1;
	if (x->json) {
		metadata = facts_metadata(x->source->plan, e);
		if (!metadata || json_object_set_new(x->container, "metadata", metadata) < 0)
			return err_memory(e);
	}
	r = print_facts(x->container, x->json, e);
	if (r == 0 && !x->json) {
		facts_put_metadata(&b, x->source->plan, &view);
		r = tool_print(&b, e);
	}
	buf_free(&b);
	return r;
}

/* The types do not depend on the container. */
int
header_types(struct header *x, struct err *e)
{
	json_t *o = json_object();
	int r = memory_types(o, x->source->plan, e);

	if (r == 0)
		r = print_facts(o, x->json, e);
	json_decref(o);
	return r;
}

/* ---- tensors, and everything ---- */

int
header_tensors(struct header *x, struct err *e)
{
	const struct model *m = x->source->plan;
	const struct table table = table_of(m);
	struct buf b = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < m->tensor_count; i++) {
		struct tensor_line line = x->line(x, i);

		if (x->json)
			lines_json_of(&b, tensor_line_json(&line), each_name());
		else
			tensor_line_put(&b, &line, &table);
		r = print_piece(&b, false, e);
	}
	if (r == 0)
		r = print_piece(&b, true, e);
	buf_free(&b);
	return r;
}

/* The facts as an object whose last members are metadata and tensor_list. */
static int
put_object(struct buf *b, struct header *x, const struct weights *w, struct err *e)
{
	size_t i;
	int r;

	b->failed |= json_show(x->container, b) < 0;
	if (!buf_ok(b))
		return err_memory(e);
	b->n -= strlen("}");
	buf_text(b, ",\"metadata\":");
	r = full_json(b, w, tool_print, e);
	buf_text(b, ",\"tensor_list\":[");
	for (i = 0; r == 0 && i < x->source->plan->tensor_count; i++) {
		struct tensor_line line = x->line(x, i);
		json_t *o = tensor_line_json(&line);

		buf_text(b, i ? "," : "");
		b->failed |= !o || json_show(o, b) < 0;
		json_decref(o);
		r = print_piece(b, false, e);
	}
	buf_text(b, "]}\n");
	return r;
}

static int
put_text(struct buf *b, struct header *x, const struct weights *w, struct err *e)
{
	facts_put(b, x->container);
	return full_put(b, w, tool_print, e);
}

/* The values are read before the facts are printed: a file that breaks there has no output. */
int
header_full(struct header *x, struct err *e)
{
	struct subject s = { .plan = NULL };
	struct buf b = { 0 };
	struct item item;
	bool more = false;
	int r = subject_read_blobs(&s, x->source, &item, &more, e);

	if (r == 0)
		r = add_facts(x, more, e);
	if (r == 0)
		r = (x->json ? put_object : put_text)(&b, x, &s.w, e);
	if (r == 0)
		r = print_piece(&b, true, e);
	if (r == 0 && !x->json)
		r = header_tensors(x, e);
	subject_close(&s);
	buf_free(&b);
	return r;
}

/* ---- tokens and filters ---- */

int
header_vocab(const struct tokenizer *t, bool json, struct err *e)
{
	struct buf b = { 0 };
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && i < tokenizer_count(t); i++) {
		vocab_put(&b, t, i, json, each_name());
		r = print_piece(&b, false, e);
	}
	if (r == 0)
		r = print_piece(&b, true, e);
	buf_free(&b);
	return r;
}

int
header_filters(struct header *x, struct err *e)
{
	struct filters f;
	struct buf b = { 0 };
	size_t i;
	int r = filters_read(&f, x->source, e);

	if (r == 0 && !x->json)
		filters_put_head(&b, &f);
	for (i = 0; r == 0 && i < f.bands; i++) {
		filters_put(&b, &f, i, x->json, each_name());
		r = print_piece(&b, false, e);
	}
	if (r == 0)
		r = print_piece(&b, true, e);
	filters_free(&f);
	buf_free(&b);
	return r;
}
