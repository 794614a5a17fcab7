#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "formats/apr1/apr1_reader.h"
#include "stream/plan.h"

static int
bad(struct apr1_source *s, const char *name)
{
	return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: member %.100s of its metadata, which is "
	                 "one of ours, has a value that is not", name);
}

/* ---- files of other programs: each entry is a key ---- */

static int
add_key(struct apr1_source *s, const struct apr1_entry *x)
{
	struct err *e = s->reader.err;
	struct value_type type;
	struct buf b = { 0 };
	int r = apr1_value(x, &type, &b, s->reader.name, e);

	if (r == 0 && value_is_inline(type, b.p, b.n))
		r = model_add_meta(&s->plan, x->key, x->key_bytes, type, b.p, b.n, e);
	else if (r == 0)
		r = model_add_meta_blob(&s->plan, x->key, x->key_bytes, type, b.n, e);
	buf_free(&b);
	return r;
}

static int
add_text(struct apr1_source *s, const char *key, const char *text)
{
	static const struct value_type string = { 0, VALUE_STRING };
	struct buf b = { 0 };
	int r;

	buf_u64(&b, strlen(text));
	buf_text(&b, text);
	r = buf_ok(&b) ? model_add_meta(&s->plan, key, strlen(key), string, b.p, b.n,
	                                s->reader.err)
	               : err_memory(s->reader.err);
	buf_free(&b);
	return r;
}

static int
read_foreign(struct apr1_source *s)
{
	bool names = s->header.flags & APR1_TRUENO;
	size_t i;

	if (model_init(&s->plan, s->reader.err) < 0)
		return -1;
	for (i = 0; i < s->meta.count; i++) {
		const struct apr1_entry *x = &s->meta.list[i];

		if (x->key_bytes >= strlen(APR1_KEY) &&
		    memcmp(x->key, APR1_KEY, strlen(APR1_KEY)) == 0)
			return apr1_fail(s, ERR_FORMAT, "InvalidFormat: its metadata has a key that "
			                 "begins with " APR1_KEY);
		/* These follow from the tensors. */
		if (names && x->key_bytes == strlen(APR1_NAMES) &&
		    memcmp(x->key, APR1_NAMES, x->key_bytes) == 0)
			continue;
		if (add_key(s, x) < 0)
			return -1;
	}
	return add_text(s, APR1_TYPE_KEY, apr1_type_name(s->header.type));
}

/* ---- files of the apr tools ---- */

const char *const apr1_entries[APR1_ENTRIES] = { "created_at", "aprender_version",
	"model_name", "description" };

const char *
apr1_entry_text(const struct model *m, size_t i, size_t *n)
{
	static const struct {
		const char *other, *none; /* another key to use; the text if there is no key */
	} else_[APR1_ENTRIES] = {
		{ NULL, "" },
		{ NULL, APR1_WRITER },
		{ "general.name", NULL },
		{ "general.description", NULL },
	};
	const char *key = apr1_entries[i], *text = NULL;
	const struct meta *k;

	for (; key && !text; key = key == else_[i].other ? NULL : else_[i].other)
		if ((k = model_find(m, key)) && k->wire)
			text = value_string(k->type, k->wire, k->wire_bytes, n);
	if (text || !else_[i].none)
		return text;
	*n = strlen(else_[i].none);
	return else_[i].none;
}

static size_t
entry_at(const struct apr1_entry *x)
{
	size_t i;

	for (i = 0; i < APR1_ENTRIES; i++)
		if (x->key_bytes == strlen(apr1_entries[i]) &&
		    memcmp(x->key, apr1_entries[i], x->key_bytes) == 0)
			break;
	return i;
}

/* Check that the entries for other programs agree with the plan, because no signature covers
 * them. */
static int
check_entries(struct apr1_source *s)
{
	const struct apr1_entry *x;
	const char *want, *have;
	size_t i, n = 0, m = 0;

	for (i = 0; i < APR1_ENTRIES; i++) {
		want = apr1_entry_text(&s->plan, i, &n);
		x = apr1_map_find(&s->meta, apr1_entries[i]);
		have = x ? apr1_text(x, &m) : NULL;
		if (!want != !x || (x && !have) ||
		    (have && (n != m || (n && memcmp(want, have, n) != 0))))
			return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: entry %s of its metadata is "
			                 "not what follows from its keys", apr1_entries[i]);
	}
	return 0;
}

/* Append the entries that another program has added to the file, as keys. */
static int
add_entries(struct apr1_source *s)
{
	size_t i, ours = 0, blobs = s->plan.blob_count;

	for (i = 0; i < s->meta.count; i++) {
		const struct apr1_entry *x = &s->meta.list[i];
		bool names = x == apr1_map_find(&s->meta, APR1_NAMES) &&
		             s->header.flags & APR1_TRUENO;

		if (entry_at(x) == APR1_ENTRIES && !names &&
		    x != apr1_map_find(&s->meta, APR1_CUSTOM) && add_key(s, x) < 0)
			return -1;
	}
	for (i = 0; i < s->custom.count; i++)
		ours += apr1_is_ours(s->custom.list[i].key, s->custom.list[i].key_bytes);
	if (ours != s->custom.count || blobs != s->plan.blob_count)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: something was added to its "
		                 "metadata that is not one of its keys");
	return 0;
}

/* Check that the header's model type is the one in the model's key, if it has one. */
static int
check_type(struct apr1_source *s)
{
	const struct meta *k = model_find(&s->plan, APR1_TYPE_KEY);
	const char *text = NULL;
	char name[64];
	size_t n = 0;
	int type;

	if (k && k->wire)
		text = value_string(k->type, k->wire, k->wire_bytes, &n);
	snprintf(name, sizeof name, "%.*s", (int)num_min(n, 63), text ? text : "");
	type = apr1_type_number(name);
	if (type >= 0 && type != s->header.type)
		return apr1_fail(s, ERR_CORRUPT, "ModelTypeMismatch: its header has another model "
		                 "type than its key " APR1_TYPE_KEY);
	return 0;
}

/* A member of custom as JSON; NULL with *x NULL if there is none. */
static json_t *
json_of(struct apr1_source *s, const char *name, const struct apr1_entry **x)
{
	const char *text;
	size_t n;

	*x = apr1_map_find(&s->custom, name);
	if (!*x)
		return NULL;
	text = apr1_text(*x, &n);
	if (text)
		return json_parse(text, n, ERR_CORRUPT, name, s->reader.err);
	bad(s, name);
	return NULL;
}

static int
read_own(struct apr1_source *s, json_t *plan)
{
	const struct apr1_entry *x;

	s->own = true;
	s->types = json_of(s, APR1_TENSORS, &x);
	if (x && !s->types)
		return -1;
	if (plan_from_json(&s->plan, plan, false, s->reader.name, s->reader.err) < 0 ||
	    check_entries(s) < 0 || add_entries(s) < 0)
		return -1;
	return check_type(s);
}

/* ---- both ---- */

static int
read_custom(struct apr1_source *s)
{
	const struct apr1_entry *x = apr1_map_find(&s->meta, APR1_CUSTOM);
	struct err ignored = ERR_INIT;

	/* If custom is not a map, it is an ordinary key. */
	if (!x || apr1_map_read(&s->custom, x->raw, x->raw_bytes, false, "", &ignored) == 0)
		return 0;
	apr1_map_free(&s->custom);
	return ignored.code == ERR_MEMORY ? err_memory(s->reader.err) : 0;
}

/* The unchanged metadata of another program's file, so that it can be written again. For a
 * file of the apr tools, the metadata that its own source has, if any. */
static json_t *
kept_metadata(struct apr1_source *s)
{
	json_t *v = json_object_get(json_object_get(s->plan.source, APR1_FROM),
	                            APR1_FROM_METADATA);
	struct buf b = { 0 };

	if (s->own)
		return json_is_string(v) ? json_incref(v) : NULL;
	base64_put(&b, s->p + APR1_HEADER, s->header.meta_bytes);
	v = buf_ok(&b) ? json_stringn(b.n ? (char *)b.p : "", b.n) : NULL;
	buf_free(&b);
	return v;
}

/* Record in source the facts of the container that differ from the writer's defaults, so that
 * a model that only passes through does not change. */
static int
describe_source(struct apr1_source *s)
{
	const struct apr1_header *h = &s->header;
	unsigned flags = h->flags & APR1_FLAGS & ~(APR1_ENCRYPTED | APR1_SIGNED);
	unsigned kept = s->own ? flags & (APR1_STREAMING | APR1_TRUENO) : flags;
	struct {
		const char *name;
		unsigned v, usual;
	} facts[] = { { APR1_FROM_TYPE, h->type, APR1_CUSTOM_TYPE },
		{ APR1_FROM_MINOR, h->minor, 0 }, { APR1_FROM_FLAGS, kept, 0 },
		{ APR1_FROM_SCORE, h->flags & APR1_ENCRYPTED ? 0 : h->mode, 0 },
		{ APR1_FROM_COMPRESSION, h->compression,
		  flags & APR1_TRUENO ? APR1_RAW : APR1_ZSTD } };
	json_t *o = json_object(), *metadata = kept_metadata(s);
	struct err *e = s->reader.err;
	size_t i;
	int r = o && (metadata || s->own) ? 0 : -1;

	for (i = 0; i < sizeof facts / sizeof *facts; i++)
		if (facts[i].v != facts[i].usual)
			r |= json_object_set_new(o, facts[i].name, json_integer(facts[i].v));
	if (metadata)
		r |= json_object_set_new(o, APR1_FROM_METADATA, metadata);
	if (r != 0) {
		json_decref(o);
		return err_memory(e);
	}
	if (json_object_size(o) == 0) {
		json_decref(o);
		json_object_del(s->plan.source, APR1_FROM);
	} else if (model_source_set(&s->plan, APR1_FROM, o, e) < 0) {
		return -1;
	}
	if (s->own)
		return 0;
	if (model_source_set(&s->plan, "format", json_string(format_apr1.name), e) < 0)
		return -1;
	return model_source_set(&s->plan, "version", json_string("1.0"), e);
}

int
apr1_read_metadata(struct apr1_source *s)
{
	const struct apr1_entry *own;
	json_t *plan;
	int r;

	if (apr1_map_read(&s->meta, s->p + APR1_HEADER, s->header.meta_bytes, true,
	                  s->reader.name, s->reader.err) < 0 ||
	    read_custom(s) < 0)
		return -1;
	plan = json_of(s, APR1_STREAM, &own);
	r = own ? (plan ? read_own(s, plan) : -1) : read_foreign(s);
	json_decref(plan);
	return r < 0 ? -1 : describe_source(s);
}

/* ---- members that carry other parts of the model ---- */

/* Find the base64 text of this many bytes; *x NULL if such a member does not exist. */
static int
base64_of(struct apr1_source *s, const char *prefix, const char *name, uint64_t bytes,
          struct apr1_text *t, const struct apr1_entry **x)
{
	struct buf b = { 0 };
	uint64_t length;
	const char *key;

	buf_text(&b, prefix);
	buf_text(&b, name);
	key = buf_string(&b);
	if (!key) {
		buf_free(&b);
		return err_memory(s->reader.err);
	}
	*x = apr1_map_find(&s->custom, key);
	t->p = *x ? apr1_text(*x, &t->n) : NULL;
	if (*x && (!t->p || base64_length(bytes, &length) < 0 || length != t->n ||
	           (t->n && (size_t)(t->p[t->n - 1] == '=') + (t->p[t->n - 2] == '=') !=
	                        (3 - bytes % 3) % 3)))
		bad(s, key);
	buf_free(&b);
	return s->reader.err->code == ERR_NONE ? 0 : -1;
}

/* Find the text of each blob. A long value in another program's file has none: it is converted
 * again from the metadata when it is sent (apr1_source.c). */
static int
find_blobs(struct apr1_source *s)
{
	const struct apr1_entry *x;
	size_t i;

	s->blobs = mem_array(s->plan.blob_count, sizeof *s->blobs);
	if (!s->blobs)
		return err_memory(s->reader.err);
	for (i = 0; s->own && i < s->plan.blob_count; i++) {
		const struct blob *b = &s->plan.blobs[i];

		if (base64_of(s, APR1_BLOB, b->name, b->bytes, &s->blobs[i], &x) < 0)
			return -1;
		if (!x)
			return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: blob %.100s is not there",
			                 b->name);
	}
	return 0;
}

static int
find_licence(struct apr1_source *s)
{
	struct model *m = &s->plan;
	const struct apr1_entry *x = NULL;
	bool block;

	if (!s->own && s->licence)
		m->licence = s->licence_bytes;
	if (!s->own)
		return 0;
	if (m->licence != MODEL_NONE &&
	    base64_of(s, APR1_LICENCE, "", m->licence, &s->licence_text, &x) < 0)
		return -1;
	block = s->licence && !x;
	if (m->licence == MODEL_NONE ? s->licence != NULL
	                             : block ? m->licence != s->licence_bytes : !x || s->licence)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: its licence is not the one that its "
		                 "metadata announces");
	return 0;
}

/* Find records and signatures, whose sizes follow from the plan. */
static int
find_frames(struct apr1_source *s)
{
	const struct model *m = &s->plan;
	uint64_t sign = MODEL_SIGN_HEAD + model_sign_body(m);
	size_t i, n = m->prov_count + (size_t)m->signatures;
	const struct apr1_entry *x;
	char number[24];

	s->provs = mem_array(m->prov_count, sizeof *s->provs);
	s->signs = mem_array((size_t)m->signatures, sizeof *s->signs);
	if (!s->provs || !s->signs)
		return err_memory(s->reader.err);
	for (i = 0; i < n; i++) {
		bool prov = i < m->prov_count;
		size_t k = prov ? i : i - m->prov_count;

		snprintf(number, sizeof number, "%zu", k);
		if (base64_of(s, prov ? APR1_PROV : APR1_SIGN, number, prov ? m->provs[k] : sign,
		              prov ? &s->provs[k] : &s->signs[k], &x) < 0)
			return -1;
		if (!x)
			return bad(s, APR1_STREAM);
	}
	return 0;
}

/* Check that every member of the apr tools in custom was used. */
static int
check_rest(struct apr1_source *s)
{
	const struct model *m = &s->plan;
	uint64_t want = m->blob_count + m->prov_count + m->signatures, have = 0;
	size_t i;

	for (i = 0; i < s->custom.count; i++) {
		const struct apr1_entry *x = &s->custom.list[i];

		have += apr1_is_ours(x->key, x->key_bytes);
	}
	want += apr1_map_find(&s->custom, APR1_STREAM) != NULL;
	want += apr1_map_find(&s->custom, APR1_PAYLOAD) != NULL;
	want += apr1_map_find(&s->custom, APR1_TENSORS) != NULL;
	want += apr1_map_find(&s->custom, APR1_DIGEST) != NULL;
	want += s->licence_text.p != NULL;
	if (s->own && have != want)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: a member of its metadata, which is "
		                 "one of ours, belongs to nothing");
	if (s->payload && s->typed != json_object_size(s->types))
		return bad(s, APR1_TENSORS);
	return 0;
}

int
apr1_find_carriers(struct apr1_source *s)
{
	if (find_licence(s) < 0 || find_blobs(s) < 0)
		return -1;
	/* The sizes follow from the tensors, which an encrypted payload does not have yet. */
	if (s->own && s->payload && find_frames(s) < 0)
		return -1;
	return check_rest(s);
}
