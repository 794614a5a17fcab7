/* The way through the object to its tensors. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "imports/torch/torch.h"

#define DEPTH 64             /* containers in containers */
#define VISITS (1u << 21)    /* values looked at */
#define KEY 256              /* bytes of a key that names a part of a checkpoint */
#define COPIES DENSE_COPIES  /* bytes of all tensors, in sizes of the file */
#define MORE (UINT64_C(1) << 30) /* and bytes more */

/* A chain that is being walked. */
struct level {
	const struct pickle_cell *cell; /* the next member, or key */
	enum { PAIRS, ITEMS, LISTS } form; /* key and value; values; lists of key and value */
	bool attributes;                /* of an object of a class */
	size_t index;                   /* of ITEMS */
	size_t name_bytes;              /* of the name before the member */
};

struct walk {
	struct torch *t;
	struct level levels[DEPTH + 3];
	size_t depth;
	struct buf name;
	uint64_t visits, tensors, values, unnamed;
	bool counts;      /* only count */
	bool top_filter;  /* leave out members of the first level about training */
};

/* ---- what is in a node ---- */

/* True if tensors may be attributes of this call's object. */
static bool
has_attributes(const struct torch *t, pickle_ref r)
{
	int what = pickle_what(&t->pickle, r);

	return what == TORCH_OBJECT || what < PICKLE_OPAQUE;
}

static bool
is_container(const struct torch *t, pickle_ref r)
{
	const struct pickle_node *x = pickle_node(&t->pickle, r);

	return x->kind == PICKLE_DICT || x->kind == PICKLE_LIST || x->kind == PICKLE_TUPLE ||
	       (x->kind == PICKLE_CALL && !torch_is_tensor(t, r) &&
	        pickle_what(&t->pickle, r) != TORCH_ARRAY);
}

static void
enter_chain(struct walk *w, pickle_ref r, unsigned form, bool attributes)
{
	const struct pickle_cell *c = pickle_first(&w->t->pickle, r);

	if (c)
		w->levels[w->depth++] = (struct level){ .cell = c, .form = form,
			.attributes = attributes, .name_bytes = w->name.n };
}

/* The state of an object is a dictionary of attributes, or a pair with one. */
static void
enter_state(struct walk *w, pickle_ref state)
{
	const struct pickle *k = &w->t->pickle;
	pickle_ref pair[2];

	if (pickle_items(k, state, pair, 2) == 2)
		state = pair[0];
	if (state != PICKLE_NOTHING && pickle_node(k, state)->kind == PICKLE_DICT)
		enter_chain(w, state, PAIRS, true);
}

/* Walk through a container next, with the name so far. */
static int
enter(struct walk *w, pickle_ref r)
{
	const struct pickle *k = &w->t->pickle;
	const struct pickle_node *x = pickle_node(k, r);
	pickle_ref first;

	if (w->depth >= DEPTH)
		return err_set(w->t->err, ERR_CORRUPT, w->t->source.name,
		               "nests more than %u objects", DEPTH);
	if (x->kind != PICKLE_CALL) {
		enter_chain(w, r, x->kind == PICKLE_DICT ? PAIRS : ITEMS, false);
		return 0;
	}
	enter_chain(w, r, x->pairs ? PAIRS : ITEMS, false);
	if (pickle_what(k, r) == TORCH_ORDERED_DICT && pickle_items(k, x->args, &first, 1) == 1 &&
	    pickle_node(k, first)->kind == PICKLE_LIST)
		enter_chain(w, first, LISTS, false);
	if (has_attributes(w->t, r))
		enter_state(w, x->state);
	return 0;
}

/* Append a key to the name: false if it is neither text nor a number, or too long. All members
 * may have one long key, so each KiB of it counts as a visit. */
static bool
add_name(struct walk *w, pickle_ref key, size_t index)
{
	const struct pickle *k = &w->t->pickle;
	const uint8_t *p;
	size_t n;

	if (w->name.n)
		buf_text(&w->name, ".");
	if (key == PICKLE_NOTHING) {
		buf_printf(&w->name, "%zu", index);
	} else if (pickle_node(k, key)->kind == PICKLE_INT) {
		buf_printf(&w->name, "%" PRId64, pickle_node(k, key)->u.i);
	} else if (pickle_node(k, key)->kind == PICKLE_TEXT) {
		p = pickle_bytes(k, key, &n);
		if (n > TENSOR_NAME)
			return false;
		w->visits += n / 1024;
		buf_put(&w->name, p, n);
	} else {
		return false;
	}
	return w->name.n <= TENSOR_NAME;
}

/* Containers of torch.nn.Module that are not part of the name. */
static bool
is_transparent(const struct walk *w, const struct level *l, pickle_ref key)
{
	const struct pickle *k = &w->t->pickle;

	return l->attributes && key != PICKLE_NOTHING &&
	       (pickle_is(k, key, "_parameters") || pickle_is(k, key, "_buffers") ||
	        pickle_is(k, key, "_modules"));
}

/* ---- tensors ---- */

const char *
torch_short_name(struct torch *t, const char *name, size_t *n)
{
	const char *prefix = torch_chosen(t, TORCH_PREFIX);
	const size_t skip = prefix ? strlen(prefix) : 0;

	if (t->inside || skip == 0 || skip >= *n || memcmp(name, prefix, skip) != 0)
		return name;
	t->stripped++;
	*n -= skip;
	return name + skip;
}

bool
torch_pass_over(struct torch *t)
{
	if (!t->options.closed || t->err->code != ERR_FORMAT)
		return false;
	*t->err = (struct err)ERR_INIT;
	t->unread++;
	return true;
}

int
torch_take(struct torch *t, struct tensor *x, const struct torch_view *v)
{
	if (mem_grow(&t->views, &t->view_cap, t->view_count + 1, sizeof *t->views) < 0) {
		tensor_free(x);
		return err_memory(t->err);
	}
	t->views[t->view_count++] = *v;
	return model_add_tensor(&t->plan, x, t->err);
}

static int
add_tensor(struct walk *w, pickle_ref r)
{
	struct torch *t = w->t;
	const char *name = buf_string(&w->name);
	size_t n = w->name.n;
	struct torch_view v;
	struct tensor *x;

	if (!name)
		return err_memory(t->err);
	/* A tensor takes more than ten nodes, so it may have ten names. */
	if (t->view_count >= t->pickle.node_count)
		return err_set(t->err, ERR_CORRUPT, t->source.name, "has more names of tensors than "
		               "its pickle has objects: %zu", t->pickle.node_count);
	if (n == 0)
		name = "tensor", n = 6;
	name = torch_short_name(t, name, &n);
	x = torch_is_tensor(t, r) ? torch_tensor(t, r, name, n, &v) : torch_array(t, r, name, n, &v);
	if (!x && torch_pass_over(t))
		return 0;
	return x ? torch_take(t, x, &v) : -1;
}

static int
visit(struct walk *w, pickle_ref r, bool named)
{
	size_t n = 0;

	if (torch_is_tensor(w->t, r) || torch_is_array(w->t, r, &n)) {
		w->visits += n / 1024; /* a shared one is looked at each time */
		w->tensors++;
		w->unnamed += !named;
		return w->counts || !named ? 0 : add_tensor(w, r);
	}
	if (is_container(w->t, r) && named)
		return enter(w, r);
	w->values++;
	return 0;
}

/* True for members of a checkpoint that only training needs. */
static bool
is_training(const struct walk *w, pickle_ref key)
{
	size_t n;
	const uint8_t *p;

	if (key == PICKLE_NOTHING || pickle_node(&w->t->pickle, key)->kind != PICKLE_TEXT)
		return false;
	p = pickle_bytes(&w->t->pickle, key, &n);
	if (n > KEY)
		return false;
	return memmem(p, n, "optim", 5) || memmem(p, n, "scheduler", 9) ||
	       memmem(p, n, "scaler", 6) || memmem(p, n, "rng", 3);
}

/* Take the next member of the innermost chain. */
static int
step(struct walk *w)
{
	const struct pickle *k = &w->t->pickle;
	struct level *l = &w->levels[w->depth - 1];
	const struct pickle_cell *c = l->cell;
	pickle_ref key = PICKLE_NOTHING, value = c->node, pair[2];
	size_t index = l->index++;
	bool named = true, top = w->depth == 1;

	if (++w->visits > VISITS)
		return err_set(w->t->err, ERR_CORRUPT, w->t->source.name,
		               "holds more than %u objects on the way to its tensors", VISITS);
	if (l->form == PAIRS) {
		key = c->node;
		c = pickle_next(k, c);
		value = c->node;
	} else if (l->form == LISTS && pickle_items(k, c->node, pair, 2) == 2) {
		key = pair[0];
		value = pair[1];
	}
	l->cell = pickle_next(k, c);
	w->name.n = l->name_bytes;
	if (!is_transparent(w, l, key))
		named = add_name(w, key, index);
	if (!buf_ok(&w->name))
		return err_memory(w->t->err);
	return top && w->top_filter && is_training(w, key) ? 0 : visit(w, value, named);
}

/* Walk from a node to all tensors below it. */
static int
walk_from(struct walk *w, pickle_ref from)
{
	int r = visit(w, from, true);

	while (r == 0 && w->depth > 0)
		if (w->levels[w->depth - 1].cell)
			r = step(w);
		else
			w->depth--;
	return r;
}

/* ---- where to begin ---- */

/* True if a key is this text, or a number that is written so. */
static bool
is_key(const struct pickle *k, pickle_ref key, const char *text, size_t n)
{
	char number[24];
	const uint8_t *p;
	size_t m;

	if (pickle_node(k, key)->kind == PICKLE_INT) {
		m = (size_t)snprintf(number, sizeof number, "%" PRId64, pickle_node(k, key)->u.i);
		return m == n && memcmp(number, text, n) == 0;
	}
	if (pickle_node(k, key)->kind != PICKLE_TEXT)
		return false;
	p = pickle_bytes(k, key, &m);
	return m == n && memcmp(p, text, n) == 0;
}

/* The value of a key in a dictionary, or PICKLE_NOTHING; *found counts the keys. */
static pickle_ref
member(const struct torch *t, pickle_ref r, const char *key, size_t n, size_t *found)
{
	const struct pickle *k = &t->pickle;
	const struct pickle_node *x = pickle_node(k, r);
	const struct pickle_cell *c, *value;
	pickle_ref result = PICKLE_NOTHING;

	*found = 0;
	if (x->kind == PICKLE_CALL && !x->pairs && has_attributes(t, r) &&
	    x->state != PICKLE_NOTHING) {
		r = x->state;
		x = pickle_node(k, r);
	}
	if (x->kind != PICKLE_DICT && !(x->kind == PICKLE_CALL && x->pairs))
		return result;
	for (c = pickle_first(k, r); c; c = pickle_next(k, value)) {
		value = pickle_next(k, c);
		if (is_key(k, c->node, key, n)) {
			result = value->node;
			++*found;
		}
	}
	return result;
}

/* Follow --key: each step is the longest rest of the path that is a key, up to a ".". */
static pickle_ref
follow_key(const struct torch *t, const char *path)
{
	pickle_ref r = t->pickle.root, next;
	size_t n, found;

	while (*path) {
		next = PICKLE_NOTHING;
		for (n = strlen(path); n > 0; n--) {
			if (path[n] != '\0' && path[n] != '.')
				continue;
			next = member(t, r, path, n, &found);
			if (found > 1)
				err_set(t->err, ERR_CORRUPT, t->source.name, "has the key %.*s twice",
				        (int)n, path);
			if (found > 0)
				break;
		}
		if (next == PICKLE_NOTHING || t->err->code != ERR_NONE) {
			err_set(t->err, ERR_INVALID, t->source.name, "has no key %s", path);
			return PICKLE_NOTHING;
		}
		r = next;
		path += n + (path[n] == '.');
	}
	return r;
}

/* True if a tensor is a direct member of the dictionary. */
static bool
holds_tensors(const struct torch *t, pickle_ref r)
{
	const struct pickle *k = &t->pickle;
	const struct pickle_node *x = pickle_node(k, r);
	const struct pickle_cell *c, *value;

	if (x->kind != PICKLE_DICT && !(x->kind == PICKLE_CALL && x->pairs))
		return false;
	for (c = pickle_first(k, r); c; c = pickle_next(k, value)) {
		value = pickle_next(k, c);
		if (torch_is_tensor(t, value->node))
			return true;
	}
	return false;
}

/* Find the state dictionary in a checkpoint by its usual names. */
static pickle_ref
find_state(const struct torch *t, struct buf *path)
{
	static const char *const usual[] = { "state_dict", "model_state_dict", "model_state",
		"model", "module", "net", "network", "params_ema", "params", "weights" };
	pickle_ref r = t->pickle.root, next;
	size_t i, found, depth;

	for (depth = 0; depth < 4 && !holds_tensors(t, r); depth++) {
		for (i = 0; i < sizeof usual / sizeof *usual; i++) {
			next = member(t, r, usual[i], strlen(usual[i]), &found);
			if (found > 1) {
				err_set(t->err, ERR_CORRUPT, t->source.name, "has the key %s twice", usual[i]);
				return PICKLE_NOTHING;
			}
			if (next != PICKLE_NOTHING && is_container(t, next))
				break;
		}
		if (i == sizeof usual / sizeof *usual)
			break;
		buf_printf(path, "%s%s", path->n ? "." : "", usual[i]);
		r = next;
	}
	return r;
}

/* ---- the plan ---- */

static int
count_all(struct torch *t, uint64_t *tensors)
{
	struct walk w = { .t = t, .counts = true };
	int r = walk_from(&w, t->pickle.root);

	buf_free(&w.name);
	*tensors = w.tensors;
	return r;
}

/* Views can make a small file endless. */
static int
check_total(const struct torch *t)
{
	const uint64_t bytes = model_tensor_bytes(&t->plan), more = t->sparse ? DENSE_MORE : MORE;

	if (bytes <= more || (bytes - more) / COPIES <= t->n)
		return 0;
	return err_set(t->err, ERR_CORRUPT, t->source.name, "has tensors of %" PRIu64
	               " bytes in a file of %" PRIu64, bytes, t->n);
}

static int
tell(struct torch *t, const struct walk *w, const struct buf *path)
{
	struct buf call = { 0 };
	uint64_t all;

	if (t->pickle.call_count && !t->options.closed) {
		pickle_show(&t->pickle, t->pickle.calls[0], &call);
		torch_note(t, "passed over, and not made: calls in the pickle, such as %.200s: %zu",
		           buf_string(&call) ? (const char *)call.p : "", t->pickle.call_count);
		buf_free(&call);
	}
	if (count_all(t, &all) < 0)
		return -1;
	if (path->n)
		torch_note(t, "read: the tensors of %.200s", (const char *)path->p);
	if (all > w->tensors)
		torch_note(t, "left out: tensors outside the model, which --all keeps: %" PRIu64,
		           all - w->tensors);
	if (w->unnamed)
		torch_note(t, "left out: tensors whose key is not text, or too long: %" PRIu64, w->unnamed);
	if (w->values)
		torch_note(t, "left out: values that are not tensors: %" PRIu64, w->values);
	if (t->unread)
		torch_note(t, "left out: tensors that apr-unpack refuses: %" PRIu64, t->unread);
	return 0;
}

int
torch_no_prefix(const char *name, const char *prefix, struct err *e)
{
	return err_set(e, ERR_INVALID, name, "has no tensor whose name begins with %s", prefix);
}

int
torch_check_found(const struct torch *t)
{
	const char *prefix = torch_chosen(t, TORCH_PREFIX);

	if (prefix && *prefix && !t->stripped && !t->part)
		return torch_no_prefix(t->source.name, prefix, t->err);
	if (t->plan.tensor_count > 0 || t->options.closed || t->inside)
		return check_total(t);
	if (t->form == TORCH_PICKLE)
		return err_set(t->err, ERR_FORMAT, t->source.name,
		               "is a Python pickle without tensors of PyTorch, which is not read here");
	return err_set(t->err, ERR_FORMAT, t->source.name, "holds no tensors");
}

/* PaddlePaddle can split large arrays, with this list of their parts. */
static int
check_split(const struct torch *t)
{
	static const char parts[] = "UnpackBigParamInfor@@";
	size_t found = 0;

	if (t->form == TORCH_PICKLE)
		member(t, t->pickle.root, parts, strlen(parts), &found);
	if (found == 0)
		return 0;
	err_set(t->err, ERR_FORMAT, t->source.name, "is a file of PaddlePaddle with arrays in parts, "
	        "which are not read");
	return err_hint(t->err, "paddle.save with protocol=4 writes them whole");
}

int
torch_add_tensors(struct torch *t)
{
	const char *key = torch_chosen(t, TORCH_KEY);
	bool all = t->inside || torch_chosen(t, TORCH_ALL);
	struct walk w = { .t = t, .top_filter = !all };
	struct buf path = { 0 };
	pickle_ref from = t->pickle.root;
	int r = -1;

	if (check_split(t) < 0)
		return -1;
	if (key)
		from = follow_key(t, key);
	else if (!all)
		from = find_state(t, &path);
	if (from != PICKLE_NOTHING && buf_ok(&path))
		r = walk_from(&w, from);
	if (r == 0)
		r = torch_check_found(t);
	if (r == 0)
		r = buf_string(&path) ? tell(t, &w, &path) : err_memory(t->err);
	buf_free(&w.name);
	buf_free(&path);
	return r;
}
