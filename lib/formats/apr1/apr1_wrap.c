#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "formats/apr1/apr1_layout.h"

struct wrapper {
	apr1_finder find;
	void *ctx;
	size_t used;      /* number of tensors used so far */
	struct spool *to;
	bool bad;         /* a tensor does not fit; why has the reason */
	char *why;
	struct err *e;
	char prefix[64];
};

__attribute__((format(printf, 2, 3))) static void
misfit(struct wrapper *w, const char *fmt, ...)
{
	va_list ap;

	if (!w->bad) {
		va_start(ap, fmt);
		vsnprintf(w->why, 256, fmt, ap);
		va_end(ap);
	}
	w->bad = true;
}

static void
put(struct wrapper *w, const uint8_t *p, uint64_t n)
{
	uint64_t part;

	for (; n > 0 && !w->bad; n -= part, p += part) {
		part = num_min(n, 1u << 20);
		if (spool_put(w->to, p, (size_t)part, w->e) < 0)
			w->bad = true;
	}
}

static void
put_u64(struct wrapper *w, uint64_t v)
{
	uint8_t p[8];

	le64_put(p, v);
	put(w, p, sizeof p);
}

static void
put_u32(struct wrapper *w, uint32_t v)
{
	uint8_t p[4];

	le32_put(p, v);
	put(w, p, sizeof p);
}

/* ---- tensors by name ---- */

/* The values of a tensor: their number, and a pointer to them. */
struct values {
	const uint8_t *p;
	uint64_t n;
	const struct tensor *tensor;
};

static struct values
look(struct wrapper *w, const char *name, const char *suffix, const char *type)
{
	char text[128];
	struct apr1_found f;

	snprintf(text, sizeof text, "%s%s%s", w->prefix, name, suffix);
	f = w->find(w->ctx, text);
	if (!f.tensor)
		return (struct values){ 0 };
	if (strcmp(tensor_type(f.tensor)->name, type) != 0) {
		misfit(w, "%.100s is %s, not %s", text, tensor_type(f.tensor)->name, type);
		return (struct values){ 0 };
	}
	w->used++;
	return (struct values){ f.p, tensor_items(f.tensor), f.tensor };
}

static struct values
want(struct wrapper *w, const char *name, const char *suffix, const char *type)
{
	struct values v = look(w, name, suffix, type);

	if (!v.tensor)
		misfit(w, "there is no tensor %s%s%s", w->prefix, name, suffix);
	return v;
}

static uint64_t
word_at(const struct values *v, uint64_t i)
{
	return le64(v->p + 8 * i);
}

/* ---- trees ---- */

struct tree {
	struct values features, thresholds, leaves, samples, left, right;
	uint64_t n;
	bool classes;
};

static bool
is_zero(const uint8_t *p, unsigned n)
{
	while (n > 0)
		if (p[--n])
			return false;
	return true;
}

/* True if no number of the node would be lost: fields that this kind of node lacks must have
 * the values that the reader gives them. */
static bool
node_fits(const struct tree *t, uint64_t i, bool leaf)
{
	unsigned width = t->classes ? 8 : 4;

	if (leaf)
		return is_zero(t->thresholds.p + 4 * i, 4) &&
		       word_at(&t->left, i) == UINT64_MAX &&
		       word_at(&t->right, i) == UINT64_MAX;
	return is_zero(t->leaves.p + width * i, width) && word_at(&t->samples, i) == 0 &&
	       word_at(&t->left, i) == i + 1;
}

/* True if the nodes are in the order in which the tree is written, left before right. A node
 * with children waits until its left subtree has ended. */
static bool
is_tree(struct wrapper *w, const struct tree *t)
{
	uint32_t *waits = mem_array((size_t)t->n, sizeof *waits);
	uint64_t i, waiting = 0, open = 1;
	bool good = waits != NULL;

	if (!waits)
		err_memory(w->e);
	for (i = 0; good && i < t->n; i++) {
		bool leaf = word_at(&t->features, i) == UINT64_MAX;

		good = open > 0 && node_fits(t, i, leaf) &&
		       (leaf || word_at(&t->features, i) <= INT64_MAX);
		if (!leaf) {
			open++;
			waits[waiting++] = (uint32_t)i;
		} else if (--open > 0) {
			good = good && word_at(&t->right, waits[--waiting]) == i + 1;
		}
	}
	free(waits);
	return good && open == 0;
}

static void
put_node(struct wrapper *w, const struct tree *t, uint64_t i)
{
	bool leaf = word_at(&t->features, i) == UINT64_MAX;

	put_u32(w, leaf);
	if (!leaf) {
		put_u64(w, word_at(&t->features, i));
		put(w, t->thresholds.p + 4 * i, 4);
		return;
	}
	if (t->classes)
		put_u64(w, word_at(&t->leaves, i));
	else
		put(w, t->leaves.p + 4 * i, 4);
	put_u64(w, word_at(&t->samples, i));
}

static void
wrap_tree(struct wrapper *w, const char *name, bool classes)
{
	struct tree t = { .classes = classes };
	uint64_t i;

	t.features = want(w, name, "_features", "I64");
	t.thresholds = want(w, name, "_thresholds", "F32");
	t.leaves = classes ? want(w, name, "_classes", "U64")
	                   : want(w, name, "_values", "F32");
	t.samples = want(w, name, "_samples", "U64");
	t.left = want(w, name, "_left_child", "I64");
	t.right = want(w, name, "_right_child", "I64");
	if (w->bad)
		return;
	t.n = t.features.n;
	if (t.n > APR1_NODES || t.thresholds.n != t.n || t.leaves.n != t.n ||
	    t.samples.n != t.n || t.left.n != t.n || t.right.n != t.n || !is_tree(w, &t)) {
		misfit(w, "the tensors %s%s_ are not a tree, node after node", w->prefix, name);
		return;
	}
	for (i = 0; i < t.n && !w->bad; i++)
		put_node(w, &t, i);
}

/* ---- lists and maps ---- */

static void
wrap_lists(struct wrapper *w, const char *name)
{
	struct values all = want(w, name, "", "U64");
	struct values lengths = want(w, name, "_lengths", "U64");
	uint64_t i, at = 0, n;

	if (w->bad)
		return;
	put_u64(w, lengths.n);
	for (i = 0; i < lengths.n && !w->bad; i++) {
		n = word_at(&lengths, i);
		if (n > all.n - at) {
			misfit(w, "%s%s_lengths exceeds %s", w->prefix, name, name);
			return;
		}
		put_u64(w, n);
		put(w, all.p + 8 * at, 8 * n);
		at += n;
	}
	if (at != all.n)
		misfit(w, "%s%s_lengths leaves some of %s", w->prefix, name, name);
}

/* Texts one after another, and the number of bytes used so far. */
struct texts {
	struct values text, lengths;
	uint64_t at, i;
};

static void
next_text(struct wrapper *w, struct texts *t)
{
	uint64_t n;

	if (t->i == t->lengths.n || w->bad) {
		misfit(w, "there are fewer texts than counts");
		return;
	}
	n = word_at(&t->lengths, t->i++);
	if (n > t->text.n - t->at || !text_utf8(t->text.p + t->at, (size_t)n, true)) {
		misfit(w, "lengths of texts contradict the texts");
		return;
	}
	put_u64(w, n);
	put(w, t->text.p + t->at, n);
	t->at += n;
}

static bool
all_texts(struct wrapper *w, const struct texts *t)
{
	if (!w->bad && (t->at != t->text.n || t->i != t->lengths.n))
		misfit(w, "there are more texts than counts");
	return !w->bad;
}

static void
wrap_counts(struct wrapper *w, const char *name)
{
	struct texts t = { .text = want(w, name, "_text", "U8"),
		.lengths = want(w, name, "_lengths", "U64") };
	struct values counts = want(w, name, "_counts", "U32");
	uint64_t i;

	if (w->bad)
		return;
	put_u64(w, counts.n);
	for (i = 0; i < counts.n && !w->bad; i++) {
		next_text(w, &t);
		put(w, counts.p + 4 * i, 4);
	}
	all_texts(w, &t);
}

static void
wrap_contexts(struct wrapper *w, const char *name)
{
	struct texts outer = { .text = want(w, name, "_text", "U8"),
		.lengths = want(w, name, "_lengths", "U64") };
	struct values sizes = want(w, name, "_sizes", "U64");
	struct texts inner = { .text = want(w, name, "_next_text", "U8"),
		.lengths = want(w, name, "_next_lengths", "U64") };
	struct values counts = want(w, name, "_counts", "U32");
	uint64_t i, k, n, at = 0;

	if (w->bad)
		return;
	put_u64(w, sizes.n);
	for (i = 0; i < sizes.n && !w->bad; i++) {
		next_text(w, &outer);
		n = word_at(&sizes, i);
		if (n > counts.n - at) {
			misfit(w, "%s%s_sizes exceeds the counts", w->prefix, name);
			return;
		}
		put_u64(w, n);
		for (k = 0; k < n && !w->bad; k++) {
			next_text(w, &inner);
			put(w, counts.p + 4 * at++, 4);
		}
	}
	if (all_texts(w, &outer) && all_texts(w, &inner) && at != counts.n)
		misfit(w, "%s%s_sizes leaves some of the counts", w->prefix, name);
}

/* ---- fields ---- */

static void wrap_fields(struct wrapper *w, const struct apr1_field *f);

/* True if the field is present, judged by its first tensor. */
static bool
is_there(struct wrapper *w, const struct apr1_field *f)
{
	bool tree = f->kind == APR1_CLASSES || f->kind == APR1_VALUES;
	char text[128];

	snprintf(text, sizeof text, "%s%s%s", w->prefix, f->name, tree ? "_features" : "");
	return w->find(w->ctx, text).tensor != NULL;
}

static void
wrap_scalar(struct wrapper *w, const char *name, const char *type, unsigned width)
{
	struct values v = want(w, name, "", type);

	if (v.tensor && v.n != 1)
		misfit(w, "%s%s has %" PRIu64 " values, not one", w->prefix, name, v.n);
	else if (v.tensor && *type == 'B' && *v.p > 1)
		misfit(w, "%s%s is neither true nor false", w->prefix, name);
	else if (v.tensor)
		put(w, v.p, width);
}

static void
wrap_list(struct wrapper *w, const char *name, const char *type, unsigned width)
{
	struct values v = want(w, name, "", type);

	if (!v.tensor)
		return;
	if (tensor_ndim(v.tensor) != 1) {
		misfit(w, "%s%s is not a list", w->prefix, name);
		return;
	}
	put_u64(w, v.n);
	put(w, v.p, v.n * width);
}

static void
wrap_matrix(struct wrapper *w, const char *name)
{
	struct values v = want(w, name, "", "F32");

	if (!v.tensor)
		return;
	if (tensor_ndim(v.tensor) != 2) {
		misfit(w, "%s%s has %u axes, not two", w->prefix, name, tensor_ndim(v.tensor));
		return;
	}
	put_u64(w, v.n);
	put(w, v.p, v.n * 4);
	put_u64(w, tensor_dims(v.tensor)[0]);
	put_u64(w, tensor_dims(v.tensor)[1]);
}

static void
wrap_many(struct wrapper *w, const struct apr1_field *f)
{
	struct values v = want(w, f->name, "_count", "U64");
	size_t length = strlen(w->prefix);
	uint64_t i, n;

	if (!v.tensor)
		return;
	n = v.n == 1 ? word_at(&v, 0) : APR1_ITEMS + 1;
	if (n > APR1_ITEMS)
		misfit(w, "%s%s_count is not a number up to %u", w->prefix, f->name, APR1_ITEMS);
	else
		put_u64(w, n);
	for (i = 0; i < n && !w->bad; i++) {
		snprintf(w->prefix + length, sizeof w->prefix - length, "%s_%u_", f->name,
		         (unsigned)i);
		wrap_fields(w, f->of);
	}
	w->prefix[length] = 0;
}

static void
wrap_field(struct wrapper *w, const struct apr1_field *f)
{
	size_t length = strlen(w->prefix);
	uint8_t there;

	if (f->optional) {
		there = is_there(w, f);
		put(w, &there, 1);
		if (!there)
			return;
	}
	switch (f->kind) {
	case APR1_F32:
		wrap_scalar(w, f->name, "F32", 4);
		break;
	case APR1_U64:
		wrap_scalar(w, f->name, "U64", 8);
		break;
	case APR1_BOOL:
		wrap_scalar(w, f->name, "BOOL", 1);
		break;
	case APR1_FLOATS:
		wrap_list(w, f->name, "F32", 4);
		break;
	case APR1_WORDS:
		wrap_list(w, f->name, "U64", 8);
		break;
	case APR1_MATRIX:
		wrap_matrix(w, f->name);
		break;
	case APR1_CLASSES:
	case APR1_VALUES:
		wrap_tree(w, f->name, f->kind == APR1_CLASSES);
		break;
	case APR1_WORD_LISTS:
		wrap_lists(w, f->name);
		break;
	case APR1_COUNTS:
		wrap_counts(w, f->name);
		break;
	case APR1_CONTEXTS:
		wrap_contexts(w, f->name);
		break;
	case APR1_ONE:
		snprintf(w->prefix + length, sizeof w->prefix - length, "%s", f->name);
		wrap_fields(w, f->of);
		w->prefix[length] = 0;
		break;
	case APR1_MANY:
		wrap_many(w, f);
		break;
	}
}

static void
wrap_fields(struct wrapper *w, const struct apr1_field *f)
{
	for (; f->name && !w->bad; f++)
		wrap_field(w, f);
}

int
apr1_wrap(const struct apr1_layout *l, apr1_finder find, void *ctx, size_t count,
          struct spool *to, char why[256], struct err *e)
{
	struct wrapper w = { .find = find, .ctx = ctx, .to = to, .why = why, .e = e };

	why[0] = 0;
	wrap_fields(&w, l->fields);
	if (e->code != ERR_NONE)
		return -1;
	if (!w.bad && w.used != count)
		misfit(&w, "there are other tensors besides");
	return w.bad ? 0 : 1;
}
