#include "adapt/tensors/origin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/tensors/origin_read.h"
#include "adapt/tokens/tokens.h"
#include "core/base64.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"

#define BUFFER ((uint64_t)64 << 10)  /* maximum bytes of a tensor in the record, */
#define BUFFERS ((uint64_t)4 << 20)  /* of all of them, */
#define CONFIG ((size_t)64 << 10)    /* and of config.json */
#define TOKENIZER ((size_t)4 << 20)  /* and of the tokenizer's part */

struct recorder {
	struct adapt *a;
	json_t *o;      /* the record */
	uint64_t room;  /* bytes that may still be added */
	uint64_t lost;  /* tensors that are not in the record */
	uint64_t inexact; /* targets whose values could not be proved to come back */
	struct err *e;
};

static int
set(struct recorder *r, json_t *o, const char *name, json_t *v)
{
	return json_object_set_new(o, name, v) < 0 ? err_memory(r->e) : 0;
}

static json_t *
member(struct recorder *r, const char *name)
{
	json_t *o = json_object_get(r->o, name);

	if (!o && set(r, r->o, name, o = json_object()) < 0)
		return NULL;
	return o;
}

/* All bytes of a source, as base64. NULL with e filled. */
static json_t *
bytes_of(struct recorder *r, size_t source, uint64_t first, uint64_t n)
{
	uint8_t *p = mem_array((size_t)n, 1);
	struct buf text = { 0 };
	json_t *v = NULL;

	if (!p)
		err_memory(r->e);
	else if (store_read(&r->a->store, source, first, p, (size_t)n, r->e) == 0) {
		base64_put(&text, p, (size_t)n);
		v = buf_string(&text) ? json_string(buf_string(&text)) : NULL;
		if (!v)
			err_memory(r->e);
	}
	free(p);
	buf_free(&text);
	return v;
}

/* The first n values of a source in F32, the type that GGUF has for them. */
static json_t *
f32_of(struct recorder *r, size_t source, const struct dtype *type, uint64_t n)
{
	size_t bytes = dtype_span(type, (size_t)n);
	uint8_t *p = mem_array(bytes, 1), *out = mem_array((size_t)n, 4);
	float *x = mem_array((size_t)n, sizeof *x);
	struct buf text = { 0 };
	json_t *v = NULL;
	uint64_t i;

	if (!p || !out || !x) {
		err_memory(r->e);
	} else if (store_read(&r->a->store, source, 0, p, bytes, r->e) == 0) {
		kernel_decode(type, NULL, p, x, (size_t)n);
		for (i = 0; i < n; i++) {
			uint32_t bits;

			memcpy(&bits, &x[i], sizeof bits);
			le32_put(out + 4 * i, bits);
		}
		base64_put(&text, out, (size_t)n * 4);
		v = buf_string(&text) ? json_string(buf_string(&text)) : NULL;
		if (!v)
			err_memory(r->e);
	}
	free(p);
	free(out);
	free(x);
	buf_free(&text);
	return v;
}

static bool
fits(struct recorder *r, uint64_t n)
{
	if (!r->a->o.places || n > BUFFER || n > r->room)
		return false;
	r->room -= n;
	return true;
}

/* ---- names and types ---- */

/* The name that a tensor of a folder gets on the way back without the record, and its
 * template. False if it is not made from a rule. */
static bool
predict(const struct adapt *a, size_t source, char name[MATCH_NAME], char template[MATCH_NAME],
        char own[MATCH_NAME])
{
	const struct tensor *t = tensors_source(&a->t, &a->s, source);
	const struct arch_rule *rule;
	struct match m;
	size_t i, n;

	if (!match_find(a->s.arch, ARCH_FOLDER, tensor_name(t), 0, &m) ||
	    m.rule->flags & RULE_UNUSED)
		return false;
	rule = m.rule;
	/* a rule for the same tensor with another name: the first one that writes */
	for (i = 0; (rule = arch_rule(a->s.arch, i)) && rule != m.rule; i++)
		if (rule->role == m.rule->role && !(rule->flags & (RULE_PACKED | RULE_GREEK)) &&
		    !(rule->flags & RULE_AS_BIAS) == !(m.rule->flags & RULE_AS_BIAS) &&
		    shape_stacks(rule_shape(rule)) == shape_stacks(rule_shape(m.rule)))
			break;
	match_name(rule, ARCH_FOLDER, m.bias, m.block, m.expert, name);
	match_template(rule, ARCH_FOLDER, m.bias, template);
	match_template(m.rule, ARCH_FOLDER, m.bias, own);
	/* the source's name as a template: the prefix may be missing, or there in addition */
	n = strlen(a->s.arch->prefix ? a->s.arch->prefix : "");
	if (n && m.other && strncmp(own, a->s.arch->prefix, n) == 0 &&
	    strncmp(tensor_name(t), a->s.arch->prefix, n) != 0)
		memmove(own, own + n, strlen(own + n) + 1);
	else if (n && strncmp(own, a->s.arch->prefix, n) != 0 &&
	         strncmp(tensor_name(t), a->s.arch->prefix, n) == 0 &&
	         strlen(own) + n < MATCH_NAME) {
		memmove(own + n, own, strlen(own) + 1);
		memcpy(own, a->s.arch->prefix, n);
	}
	return true;
}

/* Whether a tensor of the folder is one of GGUF by itself, not as a part of a packed weight. */
static bool
is_used(const struct adapt *a, size_t source)
{
	return a->store.at[source].users > 0 &&
	       !(a->t.packed.consumed && a->t.packed.consumed[source]);
}

/* The type of the record where it names none: that of the first matrix. */
static const char *
main_type(const struct adapt *a)
{
	size_t i;

	for (i = 0; i < a->s.plan->tensor_count; i++)
		if (tensor_ndim(a->s.plan->tensors[i]) > 1 && is_used(a, i))
			return tensor_type(a->s.plan->tensors[i])->name;
	return "F32";
}

/* Record a name and a type for the template, or for the one tensor if the template has
 * others. */
static int
add_name(struct recorder *r, size_t source, const char *type)
{
	const struct tensor *t = tensors_source(&r->a->t, &r->a->s, source);
	char name[MATCH_NAME], template[MATCH_NAME], own[MATCH_NAME];
	const char *is = tensor_type(t)->name, *said;
	json_t *o;

	if (!predict(r->a, source, name, template, own))
		return 0;
	said = origin_lookup(r->o, "names", name, template);
	if (strcmp(said ? said : template, own) != 0 &&
	    (!(o = member(r, "names")) ||
	     set(r, o, said ? name : template, json_string(own)) < 0))
		return -1;
	said = origin_lookup(r->o, "types", name, template);
	if (strcmp(said ? said : type, is) == 0)
		return 0;
	o = member(r, "types");
	return o ? set(r, o, said ? name : template, json_string(is)) : -1;
}

/* A second pass: tensors before the first that set a template may differ from it. */
static int
add_exceptions(struct recorder *r, size_t source)
{
	const struct tensor *t = tensors_source(&r->a->t, &r->a->s, source);
	char name[MATCH_NAME], template[MATCH_NAME], own[MATCH_NAME];
	const char *is = tensor_type(t)->name, *said;

	if (!predict(r->a, source, name, template, own))
		return 0;
	said = origin_lookup(r->o, "names", name, template);
	if (said && strcmp(said, own) != 0 &&
	    set(r, json_object_get(r->o, "names"), name, json_string(own)) < 0)
		return -1;
	said = origin_lookup(r->o, "types", name, template);
	if (said && strcmp(said, is) != 0)
		return set(r, json_object_get(r->o, "types"), name, json_string(is));
	return 0;
}

static int
add_names(struct recorder *r)
{
	const char *type = main_type(r->a);
	size_t i, n = r->a->t.sources;

	if (set(r, r->o, "dtype", json_string(type)) < 0)
		return -1;
	for (i = 0; i < n; i++)
		if (is_used(r->a, i) && add_name(r, i, type) < 0)
			return -1;
	for (i = 0; i < n; i++)
		if (is_used(r->a, i) && add_exceptions(r, i) < 0)
			return -1;
	return 0;
}

/* ---- tensors that GGUF does not have ---- */

static int
add_dropped(struct recorder *r, size_t source)
{
	const struct tensor *t = r->a->s.plan->tensors[source];
	json_t *dims = json_array(), *list = json_object_get(r->o, "dropped"), *row, *bytes;
	unsigned i;

	for (i = 0; dims && i < tensor_ndim(t); i++)
		json_array_append_new(dims, json_from_u64(tensor_dims(t)[i]));
	bytes = dims ? bytes_of(r, source, 0, tensor_bytes(t)) : NULL;
	if (!bytes) {
		json_decref(dims);
		return r->e->code != ERR_NONE ? -1 : err_memory(r->e);
	}
	if (!list && set(r, r->o, "dropped", list = json_array()) < 0)
		return -1;
	row = json_pack("[s,s,o,o]", tensor_name(t), tensor_type(t)->name, dims, bytes);
	return json_array_append_new(list, row) < 0 ? err_memory(r->e) : 0;
}

static int
add_buffers(struct recorder *r)
{
	const struct adapt *a = r->a;
	size_t i;

	for (i = 0; i < a->t.sources; i++) {
		const struct tensor *t = a->s.plan->tensors[i];

		if (a->store.at[i].users > 0 || i == a->t.tied)
			continue;
		if (a->t.packed.consumed && a->t.packed.consumed[i])
			continue;
		if (!fits(r, tensor_bytes(t)) || !dtype_sized(tensor_type(t)) ||
		    tensor_type(t)->items != 1)
			r->lost++;
		else if (add_dropped(r, i) < 0)
			return -1;
	}
	return 0;
}

/* Rows of position embeddings that GGUF does not have. */
static int
add_rows(struct recorder *r)
{
	const struct adapt *a = r->a;
	size_t i;

	for (i = 0; i < a->t.count; i++) {
		const struct tensors_row *row = &a->t.rows[i];
		const struct move_piece *p = row->move.pieces;
		json_t *v;

		if (row->made || row->move.n != 1 || p->base == 0 || p->n != 1 ||
		    p->source >= a->t.sources ||
		    p->base + p->count[0] != tensor_items(a->s.plan->tensors[p->source]))
			continue;
		if (!fits(r, p->base * 4)) {
			r->inexact++;
			continue;
		}
		v = f32_of(r, p->source, row->from, p->base);
		if (!v || set(r, r->o, "rows", v) < 0)
			return -1;
	}
	return 0;
}

/* ---- values that the change back misses ---- */

/* Whether the change of a row and the change back give the same bytes. -1 on an error. */
static int
comes_back(struct recorder *r, const struct tensors_row *row, size_t source)
{
	const struct tensor *t = r->a->s.plan->tensors[source];
	struct values v = { .jobs = 1, .in = { .read = store_read, .ctx = &r->a->store } };
	struct tensors_row back = { .t = (struct tensor *)(uintptr_t)t, .from = tensor_type(row->t),
		.move = row->move,
		.math = row->math == MATH_PLUS_ONE ? MATH_MINUS_ONE : MATH_LOG_NEG };
	struct values w = { .jobs = 1 };
	uint8_t *was = mem_array((size_t)tensor_bytes(t), 1);
	uint8_t *out = mem_array((size_t)tensor_bytes(t), 1);
	const uint8_t *p;
	size_t n;
	int same = was && out ? 0 : err_memory(r->e);

	if (same == 0 && store_read(&r->a->store, source, 0, was, (size_t)tensor_bytes(t), r->e) == 0 &&
	    values_begin(&v, row, r->e) == 0 && values_begin(&w, &back, r->e) == 0 &&
	    values_next(&v, &p, &n, r->e) == 0 &&
	    values_convert(&w, p, tensor_items(t), out, r->e) == 0)
		same = memcmp(was, out, (size_t)tensor_bytes(t)) == 0;
	else
		same = -1;
	values_free(&v);
	values_free(&w);
	free(was);
	free(out);
	return same;
}

static int
add_values(struct recorder *r)
{
	const struct adapt *a = r->a;
	char name[MATCH_NAME], template[MATCH_NAME], own[MATCH_NAME];
	size_t i;

	for (i = 0; i < a->t.count; i++) {
		const struct tensors_row *row = &a->t.rows[i];
		const struct tensor *t;
		size_t source;
		int same;

		if (row->math == MATH_NONE)
			continue;
		source = row->move.pieces[0].source;
		if (source >= a->t.sources || !a->o.places ||
		    tensor_items(row->t) > MOVE_VALUES) {
			r->inexact++;
			continue;
		}
		t = a->s.plan->tensors[source];
		same = comes_back(r, row, source);
		if (same < 0)
			return -1;
		if (same)
			continue;
		if (!fits(r, tensor_bytes(t)) || !predict(a, source, name, template, own)) {
			r->inexact++;
			continue;
		}
		if (!member(r, "values") ||
		    set(r, json_object_get(r->o, "values"), tensor_name(t),
		        bytes_of(r, source, 0, tensor_bytes(t))) < 0)
			return -1;
	}
	return 0;
}

/* ---- the whole ---- */

static int
add_metadata(struct recorder *r)
{
	struct model *m = r->a->s.w.plan;
	json_t *o = json_object();
	bool other = m->meta_count != 1;
	size_t i;

	for (i = 0; o && i < m->meta_count; i++) {
		const char *text = meta_text(&m->meta[i]);

		if (text)
			json_object_set_new(o, m->meta[i].key, json_string(text));
		other = other || !text || strcmp(m->meta[i].key, "format") != 0 ||
		        strcmp(text, "pt") != 0;
	}
	if (other)
		return set(r, r->o, "metadata", o);
	json_decref(o);
	return 0;
}

static int
add_config(struct recorder *r)
{
	size_t n = 0;

	if (!weights_file(&r->a->s.w, "config.json", &n) || n > CONFIG)
		return 0;
	return set(r, r->o, "config", json_incref(r->a->s.config));
}

static int
add_tokenizer(struct recorder *r)
{
	json_t *o = r->a->tokenizer;
	struct buf b = { 0 };
	int status = 0;

	if (o && json_write(o, &b) == 0 && b.n <= TOKENIZER)
		status = set(r, r->o, "tokenizer", json_incref(o));
	buf_free(&b);
	return status;
}

/* Note a number of tensors. Those that only a pipe keeps out of the record are worth a hint. */
static void
note(const struct recorder *r, const char *what, uint64_t n)
{
	char text[400];

	if (n == 0 || !r->a->source.note)
		return;
	snprintf(text, sizeof text, "tensors %s: %" PRIu64 "%s", what, n, r->a->o.places ? ""
	         : "; without a pipe, apr-adapt gguf FOLDER can record them");
	r->a->source.note(text);
}

int
origin_write(struct adapt *a, struct buf *b, struct err *e)
{
	struct recorder r = { .a = a, .o = json_object(), .room = BUFFERS, .e = e };
	int status = -1;

	if (!r.o)
		return err_memory(e);
	if (add_config(&r) == 0 && add_tokenizer(&r) == 0 && add_metadata(&r) == 0 && add_names(&r) == 0 &&
	    (a->t.tied == SIZE_MAX || set(&r, r.o, "tied", json_true()) == 0) &&
	    add_buffers(&r) == 0 && add_rows(&r) == 0 && add_values(&r) == 0)
		status = json_write(r.o, b) < 0 ? err_memory(e) : 0;
	if (status == 0) {
		note(&r, "that GGUF does not have, and that the way back to a folder will not restore",
		     r.lost);
		note(&r, "whose values the way back to a folder may round", r.inexact);
	}
	json_decref(r.o);
	return status;
}
