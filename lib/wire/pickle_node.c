/* The graph: nodes, chains, names and calls. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "wire/pickle_machine.h"

#define SHOWN 160 /* bytes of a call in a message */

int
pickle_grow(struct pickle *k, void *p, size_t *cap, size_t need, size_t size)
{
	uint64_t used = k->node_cap * sizeof *k->nodes + k->cell_cap * sizeof *k->cells +
		(k->stack_cap + k->memo_cap) * sizeof *k->stack +
		k->mark_cap * sizeof *k->marks + k->text.cap;
	size_t most = k->memory ? k->memory : PICKLE_MEMORY;

	if (need <= *cap)
		return 0;
	/* mem_grow doubles; it may double past need. */
	if (need > most || used + (2 * need - *cap) * size > most)
		return err_set(k->err, ERR_CORRUPT, k->where,
		               "is a pickle of more than %zu MiB of objects", most >> 20);
	return mem_grow(p, cap, need, size) < 0 ? err_memory(k->err) : 0;
}

pickle_ref
pickle_new(struct pickle *k, enum pickle_kind kind)
{
	struct pickle_node *x;

	if (pickle_grow(k, &k->nodes, &k->node_cap, k->node_count + 1, sizeof *k->nodes) < 0)
		return PICKLE_NOTHING;
	x = &k->nodes[k->node_count];
	*x = (struct pickle_node){ .kind = (uint8_t)kind, .function = PICKLE_NOTHING,
		.args = PICKLE_NOTHING, .state = PICKLE_NOTHING };
	if (kind >= PICKLE_TUPLE && kind <= PICKLE_DICT)
		x->u.chain.first = x->u.chain.last = PICKLE_NOTHING;
	return (pickle_ref)k->node_count++;
}

pickle_ref
pickle_new_int(struct pickle *k, int64_t v)
{
	pickle_ref r = pickle_new(k, PICKLE_INT);

	if (r != PICKLE_NOTHING)
		k->nodes[r].u.i = v;
	return r;
}

/* Bytes inside the pickle are kept by their offset; others are copied. */
pickle_ref
pickle_new_bytes(struct pickle *k, enum pickle_kind kind, const uint8_t *p, size_t n)
{
	bool inside = p >= k->p && p <= k->p + k->n;
	pickle_ref r;
	size_t at;

	if (kind == PICKLE_TEXT && !text_utf8(p, n, true)) {
		pickle_bad(k, k->at, "a string that is not UTF-8");
		return PICKLE_NOTHING;
	}
	at = inside ? (size_t)(p - k->p) : k->n + k->text.n;
	if (!inside)
		buf_put(&k->text, p, n);
	if (!buf_ok(&k->text)) {
		err_memory(k->err);
		return PICKLE_NOTHING;
	}
	r = pickle_new(k, kind);
	if (r == PICKLE_NOTHING)
		return r;
	if (n > UINT32_MAX || at > UINT32_MAX) {
		err_set(k->err, ERR_CORRUPT, k->where, "is a pickle of more than 4 GiB");
		return PICKLE_NOTHING;
	}
	k->nodes[r].u.bytes.n = (uint32_t)n;
	k->nodes[r].u.bytes.at = (uint32_t)at;
	return r;
}

int
pickle_append(struct pickle *k, pickle_ref to, pickle_ref r)
{
	struct pickle_node *x = &k->nodes[to];
	uint32_t c = (uint32_t)k->cell_count;

	if (pickle_grow(k, &k->cells, &k->cell_cap, k->cell_count + 1, sizeof *k->cells) < 0)
		return -1;
	k->cells[k->cell_count++] = (struct pickle_cell){ r, PICKLE_NOTHING };
	if (x->u.chain.last == PICKLE_NOTHING)
		x->u.chain.first = c;
	else
		k->cells[x->u.chain.last].next = c;
	x->u.chain.last = c;
	x->count++;
	return 0;
}

/* ---- reading the graph ---- */

const uint8_t *
pickle_bytes(const struct pickle *k, pickle_ref r, size_t *n)
{
	const struct pickle_node *x = &k->nodes[r];

	*n = x->u.bytes.n;
	return x->u.bytes.at < k->n ? k->p + x->u.bytes.at
	                            : *n ? k->text.p + (x->u.bytes.at - k->n) : (const uint8_t *)"";
}

bool
pickle_is(const struct pickle *k, pickle_ref r, const char *text)
{
	const uint8_t *p;
	size_t n;

	if (r == PICKLE_NOTHING || k->nodes[r].kind != PICKLE_TEXT)
		return false;
	p = pickle_bytes(k, r, &n);
	return n == strlen(text) && memcmp(p, text, n) == 0;
}

const struct pickle_cell *
pickle_first(const struct pickle *k, pickle_ref r)
{
	uint32_t c = k->nodes[r].u.chain.first;

	return k->nodes[r].count ? &k->cells[c] : NULL;
}

const struct pickle_cell *
pickle_next(const struct pickle *k, const struct pickle_cell *c)
{
	return c->next == PICKLE_NOTHING ? NULL : &k->cells[c->next];
}

size_t
pickle_items(const struct pickle *k, pickle_ref r, pickle_ref *items, size_t most)
{
	const struct pickle_cell *c = NULL;
	size_t i;

	for (i = 0; i < most; i++)
		items[i] = PICKLE_NOTHING;
	if (r == PICKLE_NOTHING ||
	    (k->nodes[r].kind != PICKLE_TUPLE && k->nodes[r].kind != PICKLE_LIST))
		return 0;
	for (i = 0, c = pickle_first(k, r); c && i < most; c = pickle_next(k, c))
		items[i++] = c->node;
	return k->nodes[r].count;
}

int
pickle_what(const struct pickle *k, pickle_ref r)
{
	if (r != PICKLE_NOTHING && k->nodes[r].kind == PICKLE_CALL)
		r = k->nodes[r].function;
	return r != PICKLE_NOTHING && k->nodes[r].kind == PICKLE_GLOBAL ? k->nodes[r].what
	                                                                : PICKLE_UNKNOWN;
}

pickle_ref
pickle_name_of(const struct pickle *k, pickle_ref r)
{
	return r != PICKLE_NOTHING && k->nodes[r].kind == PICKLE_GLOBAL ? k->nodes[r].u.global.name
	                                                                : PICKLE_NOTHING;
}

/* ---- names ---- */

/* Python 2 calls some modules by other names, and Python 3 follows them. */
static const struct { const char *old, *module; } renamed[] = {
	{ "__builtin__", "builtins" }, { "copy_reg", "copyreg" }, { "cPickle", "pickle" },
	{ "_pickle", "pickle" }, { "commands", "subprocess" }, { "UserDict", "collections" },
	{ "UserList", "collections" }, { "UserString", "collections" },
	{ "Queue", "queue" }, { "thread", "_thread" }, { "numpy._core.multiarray", "numpy.core.multiarray" },
	{ "numpy._core.numeric", "numpy.core.numeric" },
};

static bool
is_module(const char *module, const uint8_t *p, size_t n, bool or_in_it)
{
	size_t length = strlen(module);

	return n >= length && memcmp(p, module, length) == 0 &&
	       (n == length || (or_in_it && p[length] == '.'));
}

static int
look_up(const struct pickle *k, pickle_ref module, pickle_ref name)
{
	size_t n, i;
	const uint8_t *p = pickle_bytes(k, module, &n);

	for (i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (is_module(renamed[i].old, p, n, false)) {
			p = (const uint8_t *)renamed[i].module;
			n = strlen(renamed[i].module);
			break;
		}
	for (i = 0; i < k->name_count; i++) {
		const struct pickle_name *row = &k->names[i];

		if (is_module(row->module, p, n, !row->name) &&
		    (!row->name || pickle_is(k, name, row->name)))
			return row->what;
	}
	return PICKLE_UNKNOWN;
}

/* ---- calls ---- */

static void
show_text(const struct pickle *k, pickle_ref r, struct buf *b)
{
	char quoted[SHOWN];
	size_t n;
	const uint8_t *p = pickle_bytes(k, r, &n);

	buf_text(b, text_quote(quoted, sizeof quoted, (const char *)p, n));
}

/* A node in an argument, without the nodes inside it. */
static void
show_brief(const struct pickle *k, pickle_ref r, struct buf *b)
{
	const struct pickle_node *x = &k->nodes[r];

	switch ((enum pickle_kind)x->kind) {
	case PICKLE_TEXT:
	case PICKLE_BYTES:
		buf_text(b, x->kind == PICKLE_TEXT ? "'" : "b'");
		show_text(k, r, b);
		buf_text(b, "'");
		break;
	case PICKLE_INT:
		buf_printf(b, "%lld", (long long)x->u.i);
		break;
	case PICKLE_GLOBAL:
		show_text(k, x->u.global.module, b);
		buf_text(b, ".");
		show_text(k, x->u.global.name, b);
		break;
	case PICKLE_NONE:
		buf_text(b, "None");
		break;
	case PICKLE_BOOL:
		buf_text(b, x->u.i ? "True" : "False");
		break;
	default:
		buf_text(b, "...");
	}
}

void
pickle_show(const struct pickle *k, pickle_ref r, struct buf *b)
{
	const struct pickle_node *x = &k->nodes[r];
	pickle_ref items[3];
	size_t i, n;

	if (x->kind != PICKLE_CALL) {
		show_brief(k, r, b);
		return;
	}
	if (k->nodes[x->function].kind == PICKLE_GLOBAL)
		show_brief(k, x->function, b);
	else
		buf_text(b, "the result of a call");
	buf_text(b, "(");
	n = pickle_items(k, x->args, items, 3);
	for (i = 0; i < n && i < 3; i++) {
		buf_text(b, i ? ", " : "");
		show_brief(k, items[i], b);
	}
	buf_text(b, n > 3 ? ", ...)" : ")");
}

int
pickle_record(struct pickle *k, pickle_ref r)
{
	struct buf b = { 0 };

	if (k->nodes[r].kind == PICKLE_CALL)
		k->nodes[k->nodes[r].function].called = true;
	if (k->call_count < PICKLE_CALLS)
		k->calls[k->call_count] = r;
	k->call_count++;
	if (k->tolerant)
		return 0;
	pickle_show(k, r, &b);
	err_set(k->err, ERR_FORMAT, k->where, "is refused: its pickle %s %.300s",
	        k->nodes[r].kind == PICKLE_CALL ? "calls" : "names",
	        buf_string(&b) ? (char *)b.p : "a function");
	buf_free(&b);
	return -1;
}

pickle_ref
pickle_new_global(struct pickle *k, pickle_ref module, pickle_ref name)
{
	pickle_ref r = pickle_new(k, PICKLE_GLOBAL);

	if (r == PICKLE_NOTHING)
		return r;
	k->nodes[r].u.global.module = module;
	k->nodes[r].u.global.name = name;
	k->nodes[r].what = (uint8_t)look_up(k, module, name);
	return r;
}

/* Names that execute are noted when they are called, or else at the end (pickle_read). */
pickle_ref
pickle_new_call(struct pickle *k, pickle_ref function, pickle_ref args)
{
	pickle_ref r = pickle_new(k, PICKLE_CALL);

	if (r == PICKLE_NOTHING)
		return r;
	k->nodes[r].function = function;
	k->nodes[r].args = args;
	k->nodes[r].u.chain.first = k->nodes[r].u.chain.last = PICKLE_NOTHING;
	if (pickle_what(k, r) < PICKLE_OPAQUE && pickle_record(k, r) < 0)
		return PICKLE_NOTHING;
	return r;
}

/* BUILD sets attributes. Of a name, it would change a class or module for the whole process. */
int
pickle_build(struct pickle *k, pickle_ref object, pickle_ref state)
{
	struct pickle_node *x = &k->nodes[object];

	if (x->kind == PICKLE_GLOBAL) {
		pickle_ref r = pickle_new(k, PICKLE_CALL);

		if (r == PICKLE_NOTHING)
			return -1;
		k->nodes[r].function = object;
		k->nodes[r].args = state;
		k->nodes[r].u.chain.first = k->nodes[r].u.chain.last = PICKLE_NOTHING;
		return pickle_record(k, r);
	}
	if (x->kind != PICKLE_CALL)
		return pickle_bad(k, k->at, "an object that has no attributes gets some");
	if (x->state != PICKLE_NOTHING)
		return pickle_bad(k, k->at, "an object gets its attributes twice");
	x->state = state;
	return 0;
}
