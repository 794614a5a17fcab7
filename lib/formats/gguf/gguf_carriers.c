#include "formats/gguf/gguf_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"

static int
bad_carrier(struct gguf *g)
{
	return reader_fail(&g->reader, ERR_CORRUPT, "a key of ours with a value that is not");
}

static bool
is_bytes(const struct incoming *v)
{
	return v->type.depth == 1 && v->type.leaf == VALUE_U8;
}

/* The place of the payload of a byte array or a string, without its head. */
static int
payload(struct gguf *g, struct incoming *v, size_t head, struct place *place)
{
	if (gguf_spill(g, v) < 0)
		return -1;
	*place = v->place;
	place->at += head;
	place->bytes -= head;
	return 0;
}

static int
carried_blob(struct gguf *g, const char *name, struct incoming *v)
{
	struct carried *c;

	if (mem_grow(&g->carried, &g->carried_cap, g->carried_count + 1,
	             sizeof *g->carried) < 0)
		return err_memory(g->reader.err);
	c = &g->carried[g->carried_count++];
	if (!(c->name = mem_text(name, strlen(name))))
		return err_memory(g->reader.err);
	return payload(g, v, GGUF_ARRAY_HEAD, &c->place);
}

/* Take apr.type.NAME, which must follow apr.blob.NAME. */
static int
carried_type(struct gguf *g, const char *name, struct incoming *v)
{
	struct carried *c = g->carried_count ? &g->carried[g->carried_count - 1] : NULL;
	size_t n;
	const char *type = value_string(v->type, v->b.p, v->b.n, &n);

	if (!c || c->type || strcmp(c->name, name) != 0 || v->spilled || !type ||
	    !text_utf8(type, n, false))
		return bad_carrier(g);
	c->type = mem_text(type, n);
	return c->type ? 0 : err_memory(g->reader.err);
}

/* Append n bytes of a value to b, from byte at of the value on. If the value lies in the
 * file, this moves the reader to the end of these bytes. */
static int
recall_part(struct gguf *g, const struct incoming *v, uint64_t at, uint64_t n,
            struct buf *b)
{
	struct err *e = g->reader.err;

	if (!v->spilled) {
		buf_put(b, v->b.p + at, (size_t)n);
		return buf_ok(b) ? 0 : err_memory(e);
	}
	if (v->place.spooled) {
		if (!buf_room(b, n))
			return err_memory(e);
		b->n = n;
		return spool_get(&g->spool, v->place.at + at, b->p, n, e);
	}
	return reader_seek(&g->reader, v->place.at + at) < 0 ? -1
	                                                     : reader_append(&g->reader, b, n);
}

/* Append the value without its head to b. */
static int
recall(struct gguf *g, const struct incoming *v, size_t head, struct buf *b)
{
	uint64_t here = reader_tell(&g->reader);
	uint64_t bytes = (v->spilled ? v->place.bytes : v->b.n) - head;

	if (recall_part(g, v, head, bytes, b) < 0)
		return -1;
	return v->spilled && !v->place.spooled ? reader_seek(&g->reader, here) : 0;
}

/* Take a prov or sign frame. Frames are numbered from 0 and held in memory: they are small,
 * and their size follows from the plan. A prov frame consists of its head, a sign frame begins
 * with one; both heads are JSON. */
static int
carried_frame(struct gguf *g, const char *number, struct incoming *v,
              struct buf **list, size_t *count, size_t *cap, size_t head)
{
	bool is_prov = list == &g->provs;
	size_t text = is_prov ? MODEL_PROV_HEAD : MODEL_SIGN_HEAD;
	struct err *e = g->reader.err;
	struct buf *b;
	json_t *json;
	uint64_t n;

	if (text_u64(number, *count, *count, &n) < 0 ||
	    *count >= (is_prov ? MODEL_PROVS : MODEL_SIGNS) ||
	    (is_prov && (v->spilled ? v->place.bytes : v->b.n) - head > text))
		return bad_carrier(g);
	if (mem_grow(list, cap, *count + 1, sizeof **list) < 0)
		return err_memory(e);
	b = &(*list)[(*count)++];
	if (recall(g, v, head, b) < 0)
		return -1;
	json = json_parse(b->p, b->n < text ? b->n : text, ERR_CORRUPT, g->reader.name, e);
	json_decref(json);
	return json ? 0 : -1;
}

static struct retype *
add_retype(struct gguf *g, const char *name)
{
	struct retype *t;

	if (mem_grow(&g->retypes, &g->retype_cap, g->retype_count + 1,
	             sizeof *g->retypes) < 0)
		return NULL;
	t = &g->retypes[g->retype_count++];
	t->name = mem_text(name, strlen(name));
	return t->name ? t : NULL;
}

static int
carried_dtype(struct gguf *g, const char *name, struct incoming *v)
{
	struct retype *t;
	size_t n;

	if (v->spilled || !value_string(v->type, v->b.p, v->b.n, &n))
		return bad_carrier(g);
	/* Wire bytes are not terminated. */
	if (!(t = add_retype(g, name)) || !buf_string(&v->b))
		return err_memory(g->reader.err);
	t->dtype = dtype_by_name((char *)v->b.p + 8);
	return t->dtype && dtype_sized(t->dtype) ? 0 : bad_carrier(g);
}

static int
carried_scale(struct gguf *g, const char *name, const struct incoming *v)
{
	struct retype *t;

	if (v->type.depth || v->type.leaf != VALUE_F32)
		return bad_carrier(g);
	if (!gguf_scale_is_finite(v->b.p))
		return reader_fail(&g->reader, ERR_CORRUPT, "a scale that is not finite");
	if (!(t = add_retype(g, name)))
		return err_memory(g->reader.err);
	t->is_scaled = true;
	t->dtype = dtype_by_name(GGUF_SCALED);
	memcpy(t->head, v->b.p, 4);
	return 0;
}

/* Take apr.zero.NAME, which must follow apr.scale.NAME. */
static int
carried_zero(struct gguf *g, const char *name, const struct incoming *v)
{
	struct retype *t = g->retype_count ? &g->retypes[g->retype_count - 1] : NULL;

	if (!t || !t->is_scaled || t->is_complete || strcmp(t->name, name) != 0 ||
	    v->type.depth || v->type.leaf != VALUE_I32)
		return bad_carrier(g);
	memcpy(t->head + 4, v->b.p, 4);
	t->is_complete = true;
	return 0;
}

/* Take apr.shape.NAME, which must follow apr.dtype.NAME. */
static int
carried_shape(struct gguf *g, const char *name, struct incoming *v)
{
	struct retype *t = g->retype_count ? &g->retypes[g->retype_count - 1] : NULL;
	uint64_t count;
	size_t i;

	if (!t || t->is_scaled || t->is_complete || strcmp(t->name, name) != 0 || v->spilled ||
	    v->type.depth != 1 || v->type.leaf != VALUE_U64)
		return bad_carrier(g);
	count = le64(v->b.p + 4);
	if (count > TENSOR_DIMS)
		return bad_carrier(g);
	for (i = 0; i < count; i++)
		t->dims[i] = le64(v->b.p + GGUF_ARRAY_HEAD + 8 * i);
	t->ndim = (unsigned)count;
	t->is_complete = true;
	return 0;
}

static int
carried_json(struct gguf *g, const char *name, struct incoming *v)
{
	struct place place;
	struct value_type json = { 0, VALUE_JSON };
	struct err *e = g->reader.err;

	if (v->type.depth || v->type.leaf != VALUE_STRING || !*name)
		return bad_carrier(g);
	if (!v->spilled && value_is_inline(json, v->b.p + 8, v->b.n - 8))
		return model_add_meta(&g->plan, name, strlen(name), json, v->b.p + 8,
		                      v->b.n - 8, e);
	if (payload(g, v, 8, &place) < 0 || gguf_add_place(g, place) < 0)
		return -1;
	return model_add_meta_blob(&g->plan, name, strlen(name), json, place.bytes, e);
}

/* Take apr.reserve. All its bytes must be zero, so that nothing can hide in it. A single byte
 * fills room that is too small for an array. */
static int
carried_reserve(struct gguf *g, const struct incoming *v)
{
	uint64_t bytes = v->spilled ? v->place.bytes : v->b.n, at = GGUF_ARRAY_HEAD;
	uint64_t here = reader_tell(&g->reader);
	struct buf piece = { 0 };
	uint8_t any = 0;
	size_t i;
	int r = 0;

	if (g->has_reserve || (!is_bytes(v) && (v->type.depth || v->type.leaf != VALUE_U8)))
		return bad_carrier(g);
	g->has_reserve = true;
	if (!v->type.depth)
		return v->b.p[0] ? bad_carrier(g) : 0;
	g->reserve = bytes - GGUF_ARRAY_HEAD;
	for (; r == 0 && !any && at < bytes; at += piece.n) {
		uint64_t n = num_min(bytes - at, VALUE_INLINE_BYTES);

		buf_clear(&piece);
		r = recall_part(g, v, at, n, &piece);
		for (i = 0; i < piece.n; i++)
			any |= piece.p[i];
	}
	buf_free(&piece);
	if (r < 0 || (v->spilled && !v->place.spooled && reader_seek(&g->reader, here) < 0))
		return -1;
	return any ? bad_carrier(g) : 0;
}

/* Take apr.order: one number for each tensor of the file. */
static int
carried_order(struct gguf *g, struct incoming *v)
{
	struct buf b = { 0 };
	size_t i;
	int r = 0;

	if (v->type.depth != 1 || v->type.leaf != VALUE_U64 || g->order || !g->is_shard)
		return bad_carrier(g);
	if (recall(g, v, GGUF_ARRAY_HEAD, &b) == 0 && !(g->order = json_array()))
		err_memory(g->reader.err);
	for (i = 0; g->order && r == 0 && i < b.n; i += 8)
		if (json_array_append_new(g->order, json_from_u64(le64(b.p + i))) < 0)
			r = err_memory(g->reader.err);
	buf_free(&b);
	return g->order ? r : -1;
}

static const char *
after(const char *key, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(key, prefix, n) == 0 ? key + n : NULL;
}

int
gguf_take_carrier(struct gguf *g, const char *key, struct incoming *v)
{
	const char *name;
	int r;

	if ((name = after(key, GGUF_BLOB)) && *name)
		r = is_bytes(v) ? carried_blob(g, name, v) : bad_carrier(g);
	else if ((name = after(key, GGUF_TYPE)) && *name)
		r = carried_type(g, name, v);
	else if (strcmp(key, GGUF_LICENCE) == 0)
		r = is_bytes(v) && g->plan.licence == MODEL_NONE
		        ? payload(g, v, GGUF_ARRAY_HEAD, &g->licence) : bad_carrier(g);
	else if ((name = after(key, GGUF_PROV)))
		r = v->type.depth == 0 && v->type.leaf == VALUE_STRING
		        ? carried_frame(g, name, v, &g->provs, &g->prov_count,
		                        &g->prov_cap, 8)
		        : bad_carrier(g);
	else if ((name = after(key, GGUF_SIGN)))
		r = is_bytes(v) ? carried_frame(g, name, v, &g->signs, &g->sign_count,
		                                &g->sign_cap, GGUF_ARRAY_HEAD)
		                : bad_carrier(g);
	else if ((name = after(key, GGUF_DTYPE)) && *name)
		r = carried_dtype(g, name, v);
	else if ((name = after(key, GGUF_SHAPE)) && *name)
		r = carried_shape(g, name, v);
	else if ((name = after(key, GGUF_SCALE)) && *name)
		r = carried_scale(g, name, v);
	else if ((name = after(key, GGUF_ZERO)) && *name)
		r = carried_zero(g, name, v);
	else if ((name = after(key, GGUF_JSON)))
		r = carried_json(g, name, v);
	else if (strcmp(key, GGUF_RESERVE) == 0)
		r = carried_reserve(g, v);
	else if (strcmp(key, GGUF_ORDER) == 0)
		r = carried_order(g, v);
	else if ((name = after(key, GGUF_KEPT)))
		r = g->is_shard && gguf_is_split_key(name) ? gguf_keep_value(g, name, v)
		                                           : bad_carrier(g);
	else
		return 0;
	if (r == 0 && strcmp(key, GGUF_LICENCE) == 0)
		g->plan.licence = g->licence.bytes;
	return r < 0 ? -1 : 1;
}

static int
by_name(const void *a, const void *b)
{
	const struct retype *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static const char *
first_key(const struct retype *t)
{
	return t->is_scaled ? GGUF_SCALE : GGUF_DTYPE;
}

int
gguf_sort_retypes(struct gguf *g)
{
	size_t i;
	const struct retype *t;

	if (g->retype_count == 0)
		return 0;
	qsort(g->retypes, g->retype_count, sizeof *g->retypes, by_name);
	for (i = 1; i < g->retype_count; i++) {
		t = &g->retypes[i];
		if (strcmp(t[-1].name, t->name) != 0)
			continue;
		if (t[-1].is_scaled != t->is_scaled)
			return err_set(g->reader.err, ERR_CORRUPT, t->name, "has both "
			               GGUF_DTYPE " and " GGUF_SCALE " keys");
		return err_set(g->reader.err, ERR_CORRUPT, g->reader.name,
		               "metadata key %s%.100s occurs twice", first_key(t), t->name);
	}
	return 0;
}

int
gguf_restore(struct gguf *g, char *name, uint64_t bytes, const struct dtype **type,
             unsigned *ndim, uint64_t *dims, const struct retype **scaled)
{
	struct retype key = { .name = name }, *t = NULL;

	if (g->retype_count)
		t = bsearch(&key, g->retypes, g->retype_count, sizeof key, by_name);
	if (!t)
		return 0;
	if (strcmp((*type)->name, "I8") != 0 || !t->is_complete || t->used ||
	    (t->is_scaled && bytes == 0))
		return err_set(g->reader.err, ERR_CORRUPT, name,
		               "contradicts its %s and %s keys", first_key(t),
		               t->is_scaled ? GGUF_ZERO : GGUF_SHAPE);
	t->used = true;
	*type = t->dtype;
	if (t->is_scaled) {
		*scaled = t;
		return 0;
	}
	*ndim = t->ndim;
	memcpy(dims, t->dims, sizeof t->dims);
	return 0;
}

int
gguf_add_carried(struct gguf *g)
{
	struct err *e = g->reader.err;
	size_t i;

	for (i = 0; i < g->carried_count; i++) {
		struct carried *c = &g->carried[i];

		if (!c->type)
			return err_set(e, ERR_CORRUPT, g->reader.name,
			               GGUF_BLOB " without its " GGUF_TYPE " key");
		if (gguf_add_place(g, c->place) < 0 ||
		    model_add_blob(&g->plan, c->name, c->type, c->place.bytes, e) < 0)
			return -1;
	}
	for (i = 0; i < g->prov_count; i++)
		if (model_add_prov(&g->plan, g->provs[i].n, e) < 0)
			return -1;
	g->plan.signatures = g->sign_count;
	for (i = 0; i < g->retype_count; i++)
		if (!g->retypes[i].used)
			return err_set(e, ERR_CORRUPT, g->reader.name,
			               "metadata key %s%.100s names no tensor",
			               first_key(&g->retypes[i]), g->retypes[i].name);
	return 0;
}

int
gguf_prove_signs(struct gguf *g, const struct model *whole)
{
	uint64_t bytes = MODEL_SIGN_HEAD + model_sign_body(whole);
	size_t i;

	for (i = 0; i < g->sign_count; i++)
		if (g->signs[i].n != bytes)
			return err_set(g->reader.err, ERR_CORRUPT, g->reader.name,
			               GGUF_SIGN "%zu has %zu bytes, but this model's signatures "
			               "have %" PRIu64, i, g->signs[i].n, bytes);
	return 0;
}
