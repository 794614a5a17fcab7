/* The names of tensors in the plan, and the key that keeps what the file says of them.
 *
 *     onnx::MatMul_123, used by the node /encoder/fc1/MatMul   encoder.fc1.weight
 *     /encoder/conv1/weight                                    encoder.conv1.weight
 *     any other name                                           unchanged
 *
 * If two tensors would get one name, a name that is unchanged stays, that of the outer graph
 * first, and others get "~2", "~3" and so on, in the order of the file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "imports/onnx/onnx.h"

#define ANONYMOUS "onnx::"

/* ---- one name ---- */

static bool
begins(struct onnx_text t, const char *with)
{
	return t.n > strlen(with) && memcmp(t.p, with, strlen(with)) == 0;
}

/* The path of a node's name: "/encoder/fc1" of "/encoder/fc1/MatMul_1". False if the last part
 * is not the operator, or nothing is in front of it. */
static bool
node_path(const struct onnx_use *use, struct onnx_text *path)
{
	const char *slash = use->node.n ? memrchr(use->node.p, '/', use->node.n) : NULL;
	struct onnx_text last;

	if (!slash || slash == use->node.p)
		return false;
	last.p = slash + 1;
	last.n = (size_t)(use->node.p + use->node.n - last.p);
	*path = (struct onnx_text){ use->node.p, (size_t)(slash - use->node.p) };
	return last.n >= use->op.n && memcmp(last.p, use->op.p, use->op.n) == 0 &&
	       (last.n == use->op.n || last.p[use->op.n] == '_') &&
	       text_utf8(path->p, path->n, false);
}

/* Append a path with dots in place of slashes. */
static void
put_path(struct buf *b, struct onnx_text t)
{
	size_t i = *t.p == '/';

	for (; i < t.n; i++)
		buf_u8(b, t.p[i] == '/' ? '.' : (uint8_t)t.p[i]);
}

/* The name that a tensor should have. */
static int
choose(struct onnx *x, struct onnx_tensor *t)
{
	struct onnx_text path;
	struct buf b = { 0 };

	if (begins(t->name, ANONYMOUS) && t->use.role && t->use.role->suffix &&
	    node_path(&t->use, &path)) {
		put_path(&b, path);
		buf_printf(&b, ".%s", t->use.role->suffix);
	} else if (begins(t->name, "/")) {
		put_path(&b, t->name);
	} else {
		buf_put(&b, t->name.p, t->name.n);
	}
	buf_text(&b, t->part);
	x->name_bytes += b.n;
	t->as = (char *)buf_string(&b);
	if (!t->as)
		buf_free(&b);
	return t->as ? 0 : err_memory(x->err);
}

/* ---- two of one name ---- */

static bool
is_renamed(const struct onnx_tensor *t)
{
	return t->name.n != strlen(t->as) || memcmp(t->name.p, t->as, t->name.n) != 0;
}

/* By name; unchanged names first, then outer graphs, then by the order in the file. */
static int
by_chosen(const void *a, const void *b, void *list)
{
	const struct onnx_tensor *t = list;
	const size_t i = *(const size_t *)a, j = *(const size_t *)b;
	int r = strcmp(t[i].as, t[j].as);

	if (r == 0 && is_renamed(&t[i]) != is_renamed(&t[j]))
		r = is_renamed(&t[i]) ? 1 : -1;
	if (r == 0 && t[i].graph != t[j].graph)
		r = t[i].graph < t[j].graph ? -1 : 1;
	return r ? r : i < j ? -1 : i > j;
}

/* True if a chosen name is this one; the list is sorted. */
static bool
is_chosen(char *const *names, size_t n, const char *name)
{
	size_t low = 0, high = n, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (strcmp(names[middle], name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && strcmp(names[low], name) == 0;
}

/* The next free name with a suffix; *k is the number that was used last. */
static int
suffix(struct onnx *x, struct onnx_tensor *t, char *const *names, unsigned *k)
{
	struct buf b = { 0 };

	do {
		buf_clear(&b);
		buf_printf(&b, "%s~%u", t->as, ++*k);
		if (!buf_string(&b)) {
			buf_free(&b);
			return err_memory(x->err);
		}
	} while (is_chosen(names, x->tensor_count, (char *)b.p));
	x->name_bytes += b.n;
	t->as = (char *)b.p;
	return 0;
}

/* names: the chosen names, sorted as order. They stay until all suffixes are found. */
static int
tell_apart(struct onnx *x, const size_t *order, char **names)
{
	unsigned k = 1;
	size_t i;
	int r = 0;

	for (i = 0; i < x->tensor_count; i++)
		names[i] = x->tensors[order[i]].as;
	for (i = 1; r == 0 && i < x->tensor_count; i++) {
		if (strcmp(names[i - 1], names[i]) != 0)
			k = 1;
		else
			r = suffix(x, &x->tensors[order[i]], names, &k);
	}
	for (i = 0; i < x->tensor_count; i++)
		if (x->tensors[order[i]].as != names[i])
			free(names[i]);
	return r;
}

/* ---- the key ---- */

static void
put_text(struct buf *b, const char *name, const char *text, size_t n)
{
	buf_printf(b, "%s\"%s\":", b->n && b->p[b->n - 1] != '{' ? "," : "", name);
	json_quote(b, text, n);
}

static void
put_number(struct buf *b, const char *name, int64_t v)
{
	if (v != ONNX_MISSING)
		buf_printf(b, "%s\"%s\":%" PRId64, b->n && b->p[b->n - 1] != '{' ? "," : "", name, v);
}

static void
put_tensor(const struct onnx *x, const struct onnx_tensor *t, struct buf *b)
{
	const struct onnx_use *use = &t->use;

	if (is_renamed(t))
		put_text(b, "name", t->name.p, t->name.n);
	if (t->view.type->decode)
		put_text(b, "type", t->view.type->name, strlen(t->view.type->name));
	if (onnx_turned(use) && t->ndim >= 2)
		buf_printf(b, "%s\"turned\":true", b->n && b->p[b->n - 1] != '{' ? "," : "");
	if (use->scale != SIZE_MAX)
		put_text(b, "scale", x->tensors[use->scale].as, strlen(x->tensors[use->scale].as));
	if (use->zero_point != SIZE_MAX)
		put_text(b, "zero_point", x->tensors[use->zero_point].as,
		         strlen(x->tensors[use->zero_point].as));
	if (use->scale == SIZE_MAX && use->zero_point == SIZE_MAX)
		return;
	put_number(b, "axis", use->ints[ONNX_AXIS]);
	put_number(b, "bits", use->ints[ONNX_BITS]);
	put_number(b, "block_size", use->ints[ONNX_BLOCK]);
}

/* The JSON text {"NAME":{"name":ORIGINAL,…},…}, of the tensors that have something to say. */
static int
put_key(struct onnx *x)
{
	static const struct value_type json = { 0, VALUE_JSON };
	static const char key[] = ONNX_TENSORS_KEY;
	struct buf *b = &x->relations, one = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < x->tensor_count; i++) {
		buf_clear(&one);
		buf_text(&one, "{");
		put_tensor(x, &x->tensors[i], &one);
		if (one.n == 1)
			continue;
		buf_text(b, b->n ? "," : "{");
		json_quote(b, x->tensors[i].as, strlen(x->tensors[i].as));
		buf_text(b, ":");
		buf_put(b, one.p, one.n);
		buf_text(b, "}");
		if (b->n > 2 * ONNX_NAMES)
			r = err_set(x->err, ERR_CORRUPT, x->source.name, "has names of more than %u bytes",
			            2 * ONNX_NAMES);
	}
	if (b->n)
		buf_text(b, "}");
	if (r == 0 && (!buf_ok(b) || !buf_ok(&one)))
		r = err_memory(x->err);
	if (r < 0)
		;
	else if (b->n > VALUE_INLINE_BYTES)
		r = model_add_meta_blob(&x->plan, key, strlen(key), json, b->n, x->err);
	else if (b->n)
		r = model_add_meta(&x->plan, key, strlen(key), json, b->p, b->n, x->err);
	buf_free(&one);
	return r;
}

int
onnx_name_tensors(struct onnx *x)
{
	size_t *order = mem_array(x->tensor_count, sizeof *order), i;
	char **names = mem_array(x->tensor_count, sizeof *names);
	int r = order && names ? 0 : err_memory(x->err);

	for (i = 0; r == 0 && i < x->tensor_count; i++) {
		order[i] = i;
		r = choose(x, &x->tensors[i]);
		if (r == 0 && x->name_bytes > 2 * ONNX_NAMES)
			r = err_set(x->err, ERR_CORRUPT, x->source.name, "has names of more than %u bytes",
			            2 * ONNX_NAMES);
	}
	if (r == 0 && x->tensor_count > 0) {
		qsort_r(order, x->tensor_count, sizeof *order, by_chosen, x->tensors);
		r = tell_apart(x, order, names);
	}
	free(order);
	free(names);
	return r < 0 ? -1 : put_key(x);
}
