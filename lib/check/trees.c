#include "check/trees_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"

enum { FEATURES, THRESHOLDS, CLASSES, VALUES, LEFT, RIGHT, WIDTH, COLUMNS = TREES_FORM };

static const struct {
	const char *name, *type;
} columns[COLUMNS] = {
	[FEATURES] = { "node_features", "I64" }, [THRESHOLDS] = { "node_thresholds", "F32" },
	[CLASSES] = { "node_classes", "U64" }, [VALUES] = { "node_values", "F32" },
	[LEFT] = { "node_left_child", "I64" }, [RIGHT] = { "node_right_child", "I64" },
	[WIDTH] = { "n_features", "U64" },
};

/* ---- the tree that has arrived ---- */

static size_t
items(const struct trees *t, unsigned column)
{
	return t->columns[column].n / (column == THRESHOLDS || column == VALUES ? 4 : 8);
}

static int64_t
whole(const struct trees *t, unsigned column, size_t i)
{
	return (int64_t)le64(t->columns[column].p + i * 8);
}

static float
threshold(const struct trees *t, size_t i)
{
	union { uint32_t u; float f; } v = { .u = le32(t->columns[THRESHOLDS].p + i * 4) };

	return v.f;
}

static void
fault(struct trees *t, enum trees_fault kind, uint64_t node, int64_t number, int64_t of)
{
	trees_fault(t, (struct trees_found){ .kind = kind, .node = node, .number = number, .of = of });
}

void
trees_fault(struct trees *t, struct trees_found found)
{
	struct trees_found *x = &t->found[t->found_count];

	if (t->found_count == TREES_FAULTS)
		return;
	t->found_count++;
	*x = found;
	x->tree = t->tree;
	memcpy(x->prefix, t->prefix, sizeof x->prefix);
}

int
trees_walk_begin(struct trees_walk *w, struct trees *t, size_t n, struct err *e)
{
	*w = (struct trees_walk){ .t = t, .n = n };
	w->order = mem_array(n, sizeof *w->order);
	w->depth = mem_array(n, sizeof *w->depth);
	w->seen = mem_array(n, sizeof *w->seen);
	return w->order && w->depth && w->seen ? 0 : err_memory(e);
}

void
trees_walk_free(struct trees_walk *w)
{
	free(w->order);
	free(w->depth);
	free(w->seen);
}

void
trees_reach(struct trees_walk *w, size_t node, int64_t child, uint32_t depth)
{
	if (child < 0 || (uint64_t)child >= w->n) {
		fault(w->t, TREES_CHILD, node, child, (int64_t)w->n);
	} else if (w->seen[child]) {
		fault(w->t, TREES_TWICE, (uint64_t)child, (int64_t)node, 0);
	} else {
		w->seen[child] = true;
		w->depth[w->count] = depth;
		w->order[w->count++] = (uint32_t)child;
		w->t->depth = depth > w->t->depth ? depth : w->t->depth;
	}
}

static void
see_leaf(struct trees *t, size_t i)
{
	uint64_t class = t->has[CLASSES] ? (uint64_t)whole(t, CLASSES, i) : 0;

	if (t->has[CLASSES] && class < UINT32_MAX && class >= t->classes)
		t->classes = class + 1;
}

static void
see_split(struct trees_walk *w, size_t i, uint32_t depth)
{
	struct trees *t = w->t;
	int64_t feature = whole(t, FEATURES, i);
	int64_t width = t->has[WIDTH] && items(t, WIDTH) == 1 ? whole(t, WIDTH, 0) : INT64_MAX;

	if (feature >= width)
		fault(t, TREES_FEATURE, i, feature, width);
	else if ((uint64_t)feature >= t->features && feature < UINT32_MAX)
		t->features = (uint64_t)feature + 1;
	if (isnan(threshold(t, i)))
		fault(t, TREES_THRESHOLD, i, 0, 0);
	trees_reach(w, i, whole(t, LEFT, i), depth + 1);
	trees_reach(w, i, whole(t, RIGHT, i), depth + 1);
}

static void
see_nodes(struct trees_walk *w)
{
	size_t i;

	w->seen[0] = true;
	w->count = 1;
	for (i = 0; i < w->count; i++)
		if (whole(w->t, FEATURES, w->order[i]) < 0)
			see_leaf(w->t, w->order[i]);
		else
			see_split(w, w->order[i], w->depth[i]);
	if (w->count < w->n)
		fault(w->t, TREES_UNREACHED, 0, (int64_t)(w->n - w->count), (int64_t)w->n);
}

static bool
is_whole(const struct trees *t)
{
	return t->has[FEATURES] && t->has[THRESHOLDS] && t->has[LEFT] && t->has[RIGHT] &&
	       (t->has[CLASSES] || t->has[VALUES]);
}

static int
see_tree(struct trees *t, struct err *e)
{
	size_t n = items(t, FEATURES);
	struct trees_walk w;
	unsigned k;
	int r;

	t->count++;
	t->nodes += n;
	for (k = 0; k < WIDTH; k++)
		if (t->has[k] && items(t, k) != n) {
			fault(t, TREES_LENGTHS, 0, (int64_t)items(t, k), (int64_t)n);
			return 0;
		}
	if (t->has[WIDTH] && items(t, WIDTH) == 1 && whole(t, WIDTH, 0) < UINT32_MAX &&
	    whole(t, WIDTH, 0) > (int64_t)t->features)
		t->features = (uint64_t)whole(t, WIDTH, 0);
	r = trees_walk_begin(&w, t, n, e);
	if (r == 0 && n > 0)
		see_nodes(&w);
	trees_walk_free(&w);
	return r;
}

/* ---- columns as they arrive ---- */

/* The column that a tensor is, by the end of its name and its type; COLUMNS: none. */
static unsigned
column_of(const struct tensor *tensor, size_t *prefix)
{
	const char *name = tensor_name(tensor);
	size_t n = strlen(name), k;
	unsigned i;

	for (i = 0; i < COLUMNS; i++) {
		k = strlen(columns[i].name);
		if (n >= k && n - k < sizeof ((struct trees *)0)->prefix &&
		    strcmp(name + n - k, columns[i].name) == 0 &&
		    (n == k || name[n - k - 1] == '_') &&
		    strcmp(tensor_type(tensor)->name, columns[i].type) == 0 &&
		    tensor_bytes(tensor) <= TREES_BYTES) {
			*prefix = n - k;
			return i;
		}
	}
	return COLUMNS;
}

void
trees_clear(struct trees *t, unsigned from, unsigned to)
{
	unsigned i;

	for (i = from; i < to; i++) {
		buf_clear(&t->columns[i]);
		t->has[i] = false;
	}
}

static int
end_tree(struct trees *t, struct err *e)
{
	int r = is_whole(t) ? see_tree(t, e) : 0;

	trees_clear(t, 0, COLUMNS);
	return r;
}

int
trees_end(struct trees *t, struct err *e)
{
	return end_tree(t, e) < 0 ? -1 : trees_form_end(t, e);
}

/* A column of a tree, whose name has n bytes before it. */
static int
begin_column(struct trees *t, const struct tensor *tensor, size_t n, struct err *e)
{
	if ((strlen(t->prefix) != n || memcmp(t->prefix, tensor_name(tensor), n) != 0) &&
	    end_tree(t, e) < 0)
		return -1;
	memcpy(t->prefix, tensor_name(tensor), n);
	t->prefix[n] = 0;
	return 0;
}

int
trees_begin(struct trees *t, const struct tensor *tensor, bool *wanted, struct err *e)
{
	size_t n = 0;
	unsigned column = column_of(tensor, &n);

	if (column < COLUMNS && begin_column(t, tensor, n, e) < 0)
		return -1;
	t->column = column < COLUMNS ? column : trees_form_column(tensor);
	*wanted = t->column < TREES_COLUMNS;
	if (*wanted) {
		t->has[t->column] = true;
		buf_clear(&t->columns[t->column]);
	}
	return 0;
}

int
trees_add(struct trees *t, const uint8_t *p, size_t n, struct err *e)
{
	buf_put(&t->columns[t->column], p, n);
	return buf_ok(&t->columns[t->column]) ? 0 : err_memory(e);
}

void
trees_free(struct trees *t)
{
	unsigned i;

	for (i = 0; i < TREES_COLUMNS; i++)
		buf_free(&t->columns[i]);
	*t = (struct trees){ 0 };
}
