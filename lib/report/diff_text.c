#include "report/diff_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/score.h"
#include "core/text.h"
#include "model/value_text.h"
#include "report/stats_text.h"
#include "report/table.h"

#define VALUE 60 /* bytes of a value that are shown */

/* ---- words ---- */

const char *
diff_word(const struct diff *d)
{
	return d->identical && !d->different ? "IDENTICAL"
	                                     : score_word((unsigned)diff_similarity(d));
}

static bool
is_marked(const struct diff *d, const struct diff_tensor *t)
{
	if (diff_is_limited(&d->o.limits))
		return t->what & DIFF_OVER;
	return t->drift && (t->drift->odd > 0 || !(t->drift->rmse <= DIFF_MARK));
}

const struct diff_fact *
diff_vocabulary(const struct diff *d)
{
	const char *name;
	size_t i;

	for (i = 0; i < d->fact_count; i++) {
		name = diff_fact_name(d, &d->facts[i]);
		if (d->facts[i].list && d->facts[i].list->known &&
		    (d->facts[i].where == DIFF_FILE || strcmp(name, "tokenizer.ggml.tokens") == 0))
			return &d->facts[i];
	}
	return NULL;
}

const char *
diff_fact_name(const struct diff *d, const struct diff_fact *f)
{
	size_t side = f->a == DIFF_NONE, i = side ? f->b : f->a;
	const struct model *m = d->side[side].plan;

	return f->where == DIFF_LICENCE ? "licence" :
	       f->where == DIFF_KEY     ? m->meta[i].key : m->blobs[i].name;
}

/* ---- the summary ---- */

/* Percent, rounded down, so that nothing but identity shows as 100. */
static void
put_percent(struct buf *b, double percent)
{
	double down = floor(percent * 100) / 100;

	buf_printf(b, down == floor(down) ? "%.0f%%" : "%.2f%%", down);
}

static void
put_count(struct buf *b, const char **between, size_t n, const char *what)
{
	if (n == 0)
		return;
	buf_printf(b, "%s%zu %s", *between, n, what);
	*between = ", ";
}

static void
put_tensors(struct buf *b, const struct diff *d)
{
	const struct diff_counts *c = &d->counts;
	const char *between = ": ";

	buf_printf(b, ", %zu of %zu tensors differ", d->tensor_count - c->same, d->tensor_count);
	put_count(b, &between, c->changed, "changed");
	put_count(b, &between, c->added, "added");
	put_count(b, &between, c->removed, "removed");
	put_count(b, &between, c->renamed, "renamed");
	put_count(b, &between, c->retyped, "retyped");
	put_count(b, &between, c->reshaped, "reshaped");
}

static void
put_facts(struct buf *b, const struct diff *d)
{
	const struct diff_counts *c = &d->counts;
	const struct diff_fact *vocabulary = diff_vocabulary(d);
	const char *between = "";

	if (c->keys_added || c->keys_removed || c->keys_changed) {
		buf_text(b, "Metadata Changes: ");
		put_count(b, &between, c->keys_changed, "changed");
		put_count(b, &between, c->keys_added, "added");
		put_count(b, &between, c->keys_removed, "removed");
		buf_text(b, "\n");
	}
	if (vocabulary)
		buf_printf(b, "Vocab Changes: Added %" PRIu64 " tokens, Removed %" PRIu64 " tokens\n",
		           vocabulary->list->added, vocabulary->list->removed);
	if (c->files)
		buf_printf(b, "File Changes: %zu\n", c->files);
}

void
diff_put_summary(struct buf *b, const struct diff *d)
{
	if (d->o.metadata) {
		buf_text(b, d->different ? "Metadata differs\n" : "Metadata is the same\n");
		put_facts(b, d);
		return;
	}
	buf_text(b, "Similarity: ");
	put_percent(b, diff_similarity(d));
	buf_printf(b, " (%s)", diff_word(d));
	put_tensors(b, d);
	buf_text(b, "\n");
	if (d->counts.changed > 0)
		buf_printf(b, "Weight Changes: Max delta %.6g, L2 distance %.6g\n", d->most, d->l2);
	put_facts(b, d);
	if (diff_is_limited(&d->o.limits))
		buf_printf(b, "Limits: %zu of %zu tensors exceed them\n", d->counts.over,
		           d->tensor_count);
}

/* ---- tensors ---- */

static void
put_name(struct buf *b, const char *name)
{
	struct buf text = { 0 };

	buf_text(b, table_name(&text, 0, name));
	b->failed |= !buf_ok(&text);
	buf_free(&text);
}

static void
put_type(struct buf *b, const struct tensor *t)
{
	char shape[TENSOR_SHAPE_TEXT];

	buf_printf(b, "%s %s", tensor_type(t)->name, tensor_shape_text(t, shape));
}

/* What is different but the values: "RENAMED from x", "RETYPED F16 -> Q8_0". */
static void
put_kinds(struct buf *b, const struct diff *d, const struct diff_tensor *t)
{
	char from[TENSOR_SHAPE_TEXT], to[TENSOR_SHAPE_TEXT];
	const struct tensor *x = d->side[0].plan->tensors[t->a];
	const struct tensor *y = d->side[1].plan->tensors[t->b];

	if (t->what & DIFF_RENAMED) {
		buf_text(b, "RENAMED to ");
		put_name(b, diff_name_of(d, 1, t->b));
		buf_text(b, ", ");
	}
	if (t->what & DIFF_RETYPED)
		buf_printf(b, "RETYPED %s -> %s, ", tensor_type(x)->name, tensor_type(y)->name);
	if (t->what & DIFF_RESHAPED)
		buf_printf(b, "RESHAPED %s -> %s, ", tensor_shape_text(x, from),
		           tensor_shape_text(y, to));
}

static void
put_verdict(struct buf *b, const struct diff *d, const struct diff_tensor *t)
{
	const struct drift *x = t->drift;

	if (t->what & DIFF_UNKNOWN)
		buf_text(b, "DRIFT (the bytes differ, and cannot be decoded)");
	else if (!x && !t->match)
		buf_text(b, "DRIFT (another number of values)");
	else if (!x || (x->equal == x->count && t->match))
		buf_text(b, "MATCH (identical)");
	else if (t->match)
		buf_printf(b, "MATCH (delta < %g)", d->o.tolerance);
	else
		buf_printf(b, "DRIFT (delta = %.6g)", x->most);
	buf_text(b, is_marked(d, t) ? " !!!\n" : "\n");
}

static void
put_figures(struct buf *b, const struct diff *d, const struct diff_tensor *t)
{
	const struct tensor *y = d->side[1].plan->tensors[t->b];
	const struct drift *x = t->drift;
	char place[STATS_PLACE_TEXT];

	buf_printf(b, "    mean delta %.6g, L2 %.6g, relative RMSE %.6g, cosine %.6g, KL %.6g\n"
	           "    equal ", x->mean, x->l2, x->rmse, x->cosine, x->kl);
	put_percent(b, 100.0 * (double)x->equal / (double)x->count);
	buf_printf(b, ", max delta at %s", stats_place_text(y, x->most_at, place));
	if (tensor_ndim(y) > 1)
		buf_printf(b, ", worst row %" PRIu64 " (L2 %.6g)", x->worst_row, x->worst);
	if (x->odd)
		buf_printf(b, ", %" PRIu64 " not finite in one of them", x->odd);
	buf_text(b, "\n");
}

void
diff_put_tensor(struct buf *b, const struct diff *d, size_t i, bool all)
{
	const struct diff_tensor *t = &d->tensors[i];
	size_t side = t->a == DIFF_NONE;

	if (t->what == 0 && !all)
		return;
	put_name(b, diff_name_of(d, side, side ? t->b : t->a));
	buf_text(b, ": ");
	if (t->what & (DIFF_ADDED | DIFF_REMOVED)) {
		buf_text(b, t->what & DIFF_ADDED ? "ADDED (" : "REMOVED (");
		put_type(b, d->side[side].plan->tensors[side ? t->b : t->a]);
		buf_text(b, t->what & DIFF_OVER ? ") !!!\n" : ")\n");
		return;
	}
	put_kinds(b, d, t);
	if (d->o.metadata) {
		b->n -= 2;
		buf_text(b, "\n");
		return;
	}
	put_verdict(b, d, t);
	if (t->drift && t->drift->equal < t->drift->count)
		put_figures(b, d, t);
}

/* ---- keys and files ---- */

/* The start of a value as JSON; of one in a blob, only its type and size. */
static void
put_value(struct buf *b, const struct model *m, const struct meta *k)
{
	char type[VALUE_TYPE_TEXT], cut[4 * VALUE + 8];
	struct buf text = { 0 };
	struct err ignored = ERR_INIT;
	size_t n;

	if (!k->wire) {
		buf_printf(b, "%s of %" PRIu64 " bytes", value_type_text(k->type, type),
		           m->blobs[k->blob].bytes);
		return;
	}
	value_show(k->type, k->wire, k->wire_bytes, &text, NULL, &ignored);
	n = text.n;
	if (n > VALUE)
		for (n = VALUE; n > 0 && (text.p[n] & 0xc0) == 0x80; n--)
			;
	text_quote(cut, sizeof cut, (const char *)text.p, n);
	buf_printf(b, "%.*s%s", (int)n, text.p ? (const char *)text.p : "",
	           n < text.n ? "..." : "");
	b->failed |= !buf_ok(&text);
	buf_free(&text);
}

static void
put_texts(struct buf *b, const char *sign, const struct diff_text *t, uint64_t count)
{
	char text[4 * DIFF_TEXT + 8];
	uint64_t i, n = count < DIFF_TEXTS ? count : DIFF_TEXTS;

	if (count == 0)
		return;
	buf_printf(b, "    %s %" PRIu64 ":", sign, count);
	for (i = 0; i < n; i++)
		buf_printf(b, "%s \"%s%s\"", i ? "," : "",
		           text_quote(text, sizeof text, t[i].text, t[i].n), t[i].cut ? "..." : "");
	buf_text(b, n < count ? ", ...\n" : "\n");
}

/* A list may be NULL, or not known. */
static void
put_list(struct buf *b, const struct diff_list *list, const char *same)
{
	if (!list || !list->known)
		return;
	put_texts(b, "removed", list->first[0], list->removed);
	put_texts(b, "added", list->first[1], list->added);
	if (list->added == 0 && list->removed == 0)
		buf_printf(b, "    %s\n", same);
}

static void
put_key(struct buf *b, const struct diff *d, const struct diff_fact *f)
{
	const struct model *x = d->side[0].plan, *y = d->side[1].plan;
	char from[VALUE_TYPE_TEXT], to[VALUE_TYPE_TEXT];

	if (f->what & DIFF_RETYPED)
		buf_printf(b, "RETYPED %s -> %s, ", value_type_text(x->meta[f->a].type, from),
		           value_type_text(y->meta[f->b].type, to));
	if (f->a != DIFF_NONE)
		put_value(b, x, &x->meta[f->a]);
	if (f->a != DIFF_NONE && f->b != DIFF_NONE)
		buf_text(b, " -> ");
	if (f->b != DIFF_NONE)
		put_value(b, y, &y->meta[f->b]);
	buf_text(b, "\n");
	put_list(b, f->list, "the same texts in another order");
}

static void
put_size(struct buf *b, const struct diff *d, const struct diff_fact *f, size_t side)
{
	const struct model *m = d->side[side].plan;
	size_t i = side ? f->b : f->a;

	if (i != DIFF_NONE)
		buf_printf(b, "%" PRIu64 " bytes",
		           f->where == DIFF_LICENCE ? m->licence : m->blobs[i].bytes);
}

void
diff_put_fact(struct buf *b, const struct diff *d, size_t i)
{
	static const char *const kinds[] = { "key ", "file ", "" };
	const struct diff_fact *f = &d->facts[i];

	buf_text(b, kinds[f->where]);
	put_name(b, diff_fact_name(d, f));
	buf_text(b, f->what & DIFF_ADDED ? ": ADDED " :
	            f->what & DIFF_REMOVED ? ": REMOVED " :
	            f->what & DIFF_CHANGED ? ": CHANGED " : ": ");
	if (f->where == DIFF_KEY) {
		put_key(b, d, f);
		return;
	}
	put_size(b, d, f, 0);
	buf_text(b, f->a != DIFF_NONE && f->b != DIFF_NONE ? " -> " : "");
	put_size(b, d, f, 1);
	buf_text(b, "\n");
	put_list(b, f->list, "the same tokens");
}
