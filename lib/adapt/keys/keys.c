#include "adapt/keys/keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapt/keys/keys_list.h"
#include "arch/expr.h"
#include "arch/keys.h"
#include "core/num.h"
#include "core/text.h"

#define FILE_NAME "config.json"
#define BLOCKS 1024 /* the most blocks of a list: longer values do not travel in the plan */

struct put {
	struct expr_scope scope; /* first: find gets this structure */
	const struct subject *s;
	const struct arch_class *class;
	json_t *rope; /* rope_parameters, with what other members say about them */
	uint32_t file_type;
	struct model *out;
	struct err *e;
};

/* ---- values of members ---- */

/* A member that the class fills in; NULL if it does not. */
static json_t *
class_default(const struct put *p, const char *name)
{
	struct err ignored = ERR_INIT;
	struct keys_list l = { .text = p->class->defaults };

	while (keys_list_next(&l))
		if (strcmp(l.name, name) == 0)
			return expr_value(&p->scope, l.value, &ignored);
	return NULL;
}

static json_t *
find(const struct expr_scope *scope, const char *name)
{
	const struct put *p = (const struct put *)(const void *)scope;
	json_t *v = name[0] == '@' ? json_object_get(p->rope, name + 1)
	                           : json_object_get(p->s->config, name);

	if (v && !json_is_null(v))
		return json_incref(v);
	return name[0] == '@' ? NULL : class_default(p, name);
}

/* Members of rope_parameters, or of rope_scaling, as a new reference. Newer configurations
 * have one object for blocks with full attention and one for those with a window. */
static json_t *
rope_members(const json_t *config, struct err *e)
{
	static const char *const names[] = { "rope_parameters", "rope_scaling" };
	json_t *o = NULL, *r;
	size_t i;

	for (i = 0; i < 2 && (!o || json_is_null(o)); i++)
		o = json_object_get(config, names[i]);
	if (o && !json_is_null(o) && !json_is_object(o)) {
		err_set(e, ERR_CORRUPT, FILE_NAME, "%s is not an object", names[i - 1]);
		return NULL;
	}
	if (json_is_object(json_object_get(o, "full_attention"))) {
		r = json_copy(json_object_get(o, "full_attention"));
		json_object_set(r, "local_theta", json_object_get(json_object_get(o,
		                "sliding_attention"), "rope_theta"));
	} else {
		r = json_is_object(o) ? json_copy(o) : json_object();
	}
	if (!r)
		err_memory(e);
	return r;
}

/* Fill p->rope: rope_type has had two names, and other members stand in config.json too. */
static int
read_rope(struct put *p)
{
	const struct arch_moved *m;
	json_t *v;

	p->rope = rope_members(p->s->config, p->e);
	if (!p->rope)
		return -1;
	if (!json_object_get(p->rope, "rope_type"))
		json_object_set(p->rope, "rope_type", json_object_get(p->rope, "type"));
	for (m = arch_moved; m->name; m++)
		if (!json_object_get(p->rope, m->name) &&
		    (v = expr_value(&p->scope, m->members, p->e)))
			json_object_set_new(p->rope, m->name, v);
	v = json_object_get(p->rope, "rope_type");
	if (v && !json_is_null(v) && !json_is_string(v))
		return err_set(p->e, ERR_CORRUPT, FILE_NAME, "rope_type is not a string");
	return p->e->code == ERR_NONE ? 0 : -1;
}

static int
begin(struct put *p, const struct subject *s, struct model *out, struct err *e)
{
	*p = (struct put){ .scope = { find, FILE_NAME }, .s = s, .out = out, .e = e };
	if (!s->config)
		return err_set(e, ERR_CORRUPT, s->w.name, "has no " FILE_NAME);
	p->class = s->arch && s->arch->folder ? arch_class(s->arch->folder) : NULL;
	if (!p->class)
		return err_set(e, ERR_FORMAT, s->w.name,
		               "the hyper-parameters of its architecture are not known");
	return read_rope(p);
}

/* ---- values of keys ---- */

static int
wrong(const struct put *p, const char *name, const char *what)
{
	return err_set(p->e, ERR_CORRUPT, FILE_NAME, "%s %s", name[0] == '@' ? name + 1 : name,
	               what);
}

/* The member that gives a row its value, for messages. */
static const char *
member(const struct put *p, const struct arch_key *row, char name[EXPR_NAME])
{
	const char *text = row->value + (row->value[0] == '!');

	while (text) {
		if (expr_alternative(&text, name)) {
			json_t *v = find(&p->scope, name);

			json_decref(v);
			if (v)
				return name;
		}
	}
	return expr_name(row->value + (row->value[0] == '!'), name);
}

static int
put_wire(struct put *p, const struct arch_key *row, struct value_type type, struct buf *b)
{
	const char *arch = strncmp(row->key, "general.", 8) == 0 ? NULL : p->s->arch->name;
	char key[256];
	int r = -1;

	snprintf(key, sizeof key, "%s%s%s", arch ? arch : "", arch ? "." : "", row->key);
	if (!buf_ok(b))
		err_memory(p->e);
	else if (!value_is_inline(type, b->p, b->n))
		err_set(p->e, ERR_FORMAT, FILE_NAME, "the value of %s is too long", key);
	else
		r = model_set_meta(p->out, key, type, b->p, b->n, p->e);
	buf_free(b);
	return r;
}

/* A count: an integer, or a real number that is one, below 2^31. */
static bool
is_count(const json_t *v, uint32_t *n)
{
	double d = json_number_value(v);

	if (!json_is_number(v) || !(d >= 0) || d > INT32_MAX || d != floor(d))
		return false;
	*n = (uint32_t)d;
	return true;
}

static int
put_u32(struct put *p, const struct arch_key *row, const json_t *v)
{
	struct buf b = { 0 };
	char name[EXPR_NAME];
	uint32_t n;

	if (!is_count(v, &n) || (n == 0 && row->value[0] == '!' && row->type == KEY_EACH))
		return wrong(p, member(p, row, name), "has an invalid value");
	buf_u32(&b, n);
	return put_wire(p, row, (struct value_type){ 0, VALUE_U32 }, &b);
}

/* The number of blocks, if a value of each may travel in the plan, or 0. */
static uint32_t
blocks(const struct put *p)
{
	static const char names[] = "num_hidden_layers | n_layers | n_layer | num_layers";
	struct err ignored = ERR_INIT;
	json_t *v = expr_value(&p->scope, names, &ignored);
	uint32_t n = 0;

	if (!is_count(v, &n) || n > BLOCKS)
		n = 0;
	json_decref(v);
	return n;
}

static int
put_each(struct put *p, const struct arch_key *row, const json_t *v)
{
	struct buf b = { 0 };
	char name[EXPR_NAME];
	size_t i, n = json_array_size(v);
	uint32_t count;

	if (!json_is_array(v))
		return put_u32(p, row, v);
	buf_u32(&b, VALUE_I32);
	buf_u64(&b, n);
	for (i = 0; i < n && n == blocks(p) && is_count(json_array_get(v, i), &count); i++)
		buf_u32(&b, count);
	if (i == n && n > 0)
		return put_wire(p, row, (struct value_type){ 1, VALUE_I32 }, &b);
	buf_free(&b);
	return wrong(p, member(p, row, name), "is not a list of a number for each block");
}

static int
put_f32(struct put *p, const struct arch_key *row, const json_t *v)
{
	float f = (float)json_number_value(v);
	struct buf b = { 0 };
	char name[EXPR_NAME];
	uint32_t bits;

	if (!json_is_number(v) || !isfinite(f))
		return wrong(p, member(p, row, name), "has an invalid value");
	memcpy(&bits, &f, sizeof bits);
	buf_u32(&b, bits);
	return put_wire(p, row, (struct value_type){ 0, VALUE_F32 }, &b);
}

static int
put_bool(struct put *p, const struct arch_key *row, const json_t *v)
{
	struct buf b = { 0 };
	char name[EXPR_NAME];

	if (!json_is_boolean(v))
		return wrong(p, member(p, row, name), "is neither true nor false");
	buf_u8(&b, json_is_true(v));
	return put_wire(p, row, (struct value_type){ 0, VALUE_BOOL }, &b);
}

static int
put_text(struct put *p, const struct arch_key *row, const json_t *v)
{
	struct buf b = { 0 };
	char name[EXPR_NAME];

	if (!json_is_string(v))
		return wrong(p, member(p, row, name), "is not a string");
	buf_u64(&b, json_string_length(v));
	buf_put(&b, json_string_value(v), json_string_length(v));
	return put_wire(p, row, (struct value_type){ 0, VALUE_STRING }, &b);
}

static int
put_gating(struct put *p, const struct arch_key *row, const json_t *v)
{
	unsigned n = keys_gating(json_string_value(v));
	struct buf b = { 0 };
	char name[EXPR_NAME];

	if (n == 0)
		return wrong(p, member(p, row, name), "is an unknown function");
	buf_u32(&b, n);
	return put_wire(p, row, (struct value_type){ 0, VALUE_U32 }, &b);
}

/* A bool for each block: whether it has a window. v is layer_types, or the period of blocks
 * without one. */
static int
put_blocks(struct put *p, const struct arch_key *row, const json_t *v)
{
	struct buf b = { 0 };
	uint32_t n = blocks(p), period = 0, i;

	if (n == 0 || (json_is_array(v) ? json_array_size(v) != n
	                                : !is_count(v, &period) || !period))
		return wrong(p, "layer_types", "does not have one member for each block");
	buf_u32(&b, VALUE_BOOL);
	buf_u64(&b, n);
	for (i = 0; i < n; i++) {
		const char *type = json_string_value(json_array_get(v, i));

		buf_u8(&b, period ? (i + 1) % period != 0
		                  : type && strcmp(type, "sliding_attention") == 0);
	}
	return put_wire(p, row, (struct value_type){ 1, VALUE_BOOL }, &b);
}

/* The labels of a classifier. Two whose names are made up mean that there is none. */
static int
put_labels(struct put *p, const struct arch_key *row, const json_t *v)
{
	size_t i, n = json_object_size(v);
	struct buf b = { 0 };
	char number[24];
	const char *text;

	buf_u32(&b, VALUE_STRING);
	buf_u64(&b, n);
	for (i = 0; i < n && n <= BLOCKS; i++) {
		snprintf(number, sizeof number, "%zu", i);
		if (json_member_text(v, number, &text) < 0)
			break;
		if (n == 2 && i == 0 && strcmp(text, "LABEL_0") == 0) {
			buf_free(&b);
			return 0;
		}
		buf_u64(&b, strlen(text));
		buf_text(&b, text);
	}
	if (n > 0 && i == n)
		return put_wire(p, row, (struct value_type){ 1, VALUE_STRING }, &b);
	buf_free(&b);
	return wrong(p, "id2label", "is not a text for each number from 0");
}

/* ---- rows ---- */

static int
put_number(struct put *p, const struct arch_key *row, uint32_t n)
{
	struct buf b = { 0 };

	buf_u32(&b, n);
	return put_wire(p, row, (struct value_type){ 0, VALUE_U32 }, &b);
}

static int
put_pooling(struct put *p, const struct arch_key *row)
{
	int type = keys_pooling(p->s, p->e);

	return type <= 0 ? type : put_number(p, row, (uint32_t)type);
}

static int
put_value(struct put *p, const struct arch_key *row, const json_t *v)
{
	switch (row->type) {
	case KEY_U32: return put_u32(p, row, v);
	case KEY_F32: return put_f32(p, row, v);
	case KEY_BOOL: return put_bool(p, row, v);
	case KEY_TEXT: return put_text(p, row, v);
	case KEY_EACH: return put_each(p, row, v);
	case KEY_BLOCKS: return put_blocks(p, row, v);
	case KEY_GATING: return put_gating(p, row, v);
	default: return put_labels(p, row, v);
	}
}

static int
put_row(struct put *p, const struct arch_key *row)
{
	bool need = row->value && row->value[0] == '!';
	const char *type = json_string_value(json_object_get(p->rope, "rope_type"));
	char name[EXPR_NAME];
	json_t *v;
	int r;

	if ((row->scaling && !keys_listed(row->scaling, type)) ||
	    (row->when && !expr_holds(&p->scope, row->when)))
		return 0;
	if (row->type == KEY_FILE)
		return put_number(p, row, p->file_type);
	if (row->type == KEY_POOLING)
		return put_pooling(p, row);
	v = expr_value(&p->scope, row->value + need, p->e);
	if (!v && p->e->code != ERR_NONE)
		return -1;
	if (!v)
		return need ? wrong(p, expr_name(row->value + need, name), "is missing") : 0;
	r = put_value(p, row, v);
	json_decref(v);
	return r;
}

/* ---- notes ---- */

static void
note(const struct subject *s, const char *name, const char *what)
{
	char text[384], quoted[128];

	if (!s->note)
		return;
	text_quote(quoted, sizeof quoted, name, strlen(name));
	snprintf(text, sizeof text, FILE_NAME ": %s %s", quoted, what);
	s->note(text);
}

/* Whether a list says that other blocks than every 4th have no rotary positions. */
static bool
skips_others(const json_t *list)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		if ((json_integer_value(json_array_get(list, i)) == 0) != ((i + 1) % 4 == 0))
			return true;
	return false;
}

/* The number of an expression of members; 0 without one. */
static double
number_of(const struct put *p, const char *expression)
{
	struct err ignored = ERR_INIT;
	json_t *v = expr_value(&p->scope, expression, &ignored);
	double d = json_number_value(v);

	json_decref(v);
	return d;
}

/* Gemma divides scores by the root of a number that readers of GGUF derive. */
static void
tell_scale(const struct put *p)
{
	const struct arch *a = p->s->arch;
	double own = number_of(p, "query_pre_attn_scalar"), blocks, derived;
	char text[160];
	bool wide;

	if (!(a->flags & ARCH_WIDE_HEADS) || own == 0)
		return;
	blocks = number_of(p, "num_hidden_layers");
	wide = blocks > 0 && blocks <= UINT32_MAX && arch_scales_wide(a, (uint64_t)blocks);
	derived = number_of(p, wide ? "hidden_size / num_attention_heads" : "head_dim");
	if (own == derived)
		return;
	snprintf(text, sizeof text, "%.9g has no key in GGUF, whose readers use %.9g: the GGUF "
	         "file answers differently from the folder", own, derived);
	note(p->s, "query_pre_attn_scalar", text);
}

/* Report what the keys cannot say. */
static void
tell_lost(struct put *p)
{
	const char *type = json_string_value(json_object_get(p->rope, "rope_type"));
	const char *text = p->class->lost;
	char one[EXPR_NAME * 2], name[EXPR_NAME];

	while (text && *text) {
		size_t n = strcspn(text, ";");

		snprintf(one, sizeof one, "%.*s", (int)n, text);
		if (expr_holds(&p->scope, one))
			note(p->s, expr_name(one, name), "has no key in GGUF");
		text += n + strspn(text + n, "; ");
	}
	if (skips_others(json_object_get(p->s->config, "no_rope_layers")))
		note(p->s, "no_rope_layers", "has no key in GGUF, whose readers skip every 4th block");
	tell_scale(p);
	if (type && !keys_listed("default linear yarn longrope su mrope", type) &&
	    strcasecmp(type, "llama3") != 0)
		note(p->s, type, "is a type of rope scaling without keys in GGUF");
}

int
keys_put(const struct subject *s, uint32_t file_type, struct model *out, struct err *e)
{
	const struct arch_key *const *list, *row;
	struct put p;
	int r = begin(&p, s, out, e);

	p.file_type = file_type;
	for (list = r == 0 ? p.class->keys : NULL; r == 0 && *list; list++)
		for (row = *list; r == 0 && row->key; row++)
			r = put_row(&p, row);
	if (r == 0)
		tell_lost(&p);
	json_decref(p.rope);
	return r;
}

/* ---- the attention factor ---- */

/* Both values of each pair are multiplied by it in contexts that are `scale` times the
 * original. 0: the type has none. */
static double
attention_factor(const char *type, double scale, double original)
{
	bool yarn = strcasecmp(type, "yarn") == 0;

	if (!yarn && strcasecmp(type, "su") != 0 && strcasecmp(type, "longrope") != 0)
		return 0;
	if (scale <= 1)
		return 1;
	return yarn ? 0.1 * log(scale) + 1 : sqrt(1 + log(scale) / log(original));
}

static int
put_factor(struct put *p)
{
	static const struct arch_key context = { "", KEY_U32,
		"!max_position_embeddings | n_positions", NULL, NULL };
	static const struct arch_key factor = { "rope.scaling.attn_factor", KEY_F32,
		"rope_scaling", NULL, NULL };
	const char *type = json_string_value(json_object_get(p->rope, "rope_type"));
	json_t *v = expr_value(&p->scope, context.value + 1, p->e);
	uint32_t n = 0, original = 0;
	double f;
	bool counts = is_count(v, &n) &&
	              is_count(json_object_get(p->rope, "original_max_position_embeddings"),
	                       &original) && original > 1;
	int r;

	json_decref(v);
	if (!counts)
		return wrong(p, "original_max_position_embeddings", "has an invalid value");
	f = attention_factor(type ? type : "", (double)n / original, original);
	if (f == 0)
		return wrong(p, "rope_scaling", "has factors and an unknown type");
	v = json_real(f);
	r = v ? put_f32(p, &factor, v) : err_memory(p->e);
	json_decref(v);
	return r;
}

int
keys_put_first(const struct subject *s, struct model *out, struct err *e)
{
	struct put p;
	int r = begin(&p, s, out, e);

	if (r == 0 && strcmp(s->arch->name, "phi3") == 0 &&
	    json_array_size(json_object_get(p.rope, "long_factor")) > 0)
		r = put_factor(&p);
	json_decref(p.rope);
	return r;
}
