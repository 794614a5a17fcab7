#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base64.h"
#include "core/mem.h"
#include "formats/apr1/apr1_writer.h"
#include "stream/plan.h"

/* ---- the form of other programs: each key is an entry ---- */

/* Read the wire bytes of a key's value, from the plan or from a blob. */
static int
wire_of(struct apr1_sink *s, const struct meta *k, struct buf *b, struct err *e)
{
	buf_clear(b);
	if (k->blob != SIZE_MAX)
		return apr1_recall(s, &s->blobs[k->blob], b, e);
	buf_put(b, k->wire, k->wire_bytes);
	return buf_ok(b) ? 0 : err_memory(e);
}

static bool
has_key(const struct apr1_entry *x, const char *key)
{
	return x->key_bytes == strlen(key) && memcmp(x->key, key, x->key_bytes) == 0;
}

/* 1 if the entry is read as this key and value, 0 if not, or -1. */
static int
reads_as(struct apr1_sink *s, const struct apr1_entry *x, const struct meta *k,
         const struct buf *wire, struct err *e)
{
	struct err ignored = ERR_INIT;
	struct value_type type;
	struct buf b = { 0 };
	int r = 0;

	(void)s;
	if (has_key(x, k->key) && apr1_value(x, &type, &b, "", &ignored) == 0)
		r = type.depth == k->type.depth && type.leaf == k->type.leaf && b.n == wire->n &&
		    (b.n == 0 || memcmp(b.p, wire->p, b.n) == 0);
	buf_free(&b);
	return ignored.code == ERR_MEMORY ? err_memory(e) : r;
}

/* 1 if these entries, without the names of tensors, are read as the first count keys, 0 if
 * not, or -1. */
static int
reads_as_all(struct apr1_sink *s, const struct apr1_map *m, size_t count, struct err *e)
{
	struct buf wire = { 0 };
	size_t i, k = 0;
	int r = 1;

	for (i = 0; r > 0 && i < m->count; i++) {
		const struct meta *key = k < count ? &s->plan->meta[k] : NULL;

		if (s->aligned && has_key(&m->list[i], APR1_NAMES))
			continue;
		r = key ? wire_of(s, key, &wire, e) : -2;
		if (r == 0)
			r = reads_as(s, &m->list[i], key, &wire, e);
		k++;
	}
	buf_free(&wire);
	return r == -2 ? 0 : r > 0 ? k == count : r;
}

/* 1 if the tensor names in the original metadata are still those of the tensors, 0 if not, or
 * -1. */
static int
names_hold(struct apr1_sink *s, const struct apr1_map *m, struct err *e)
{
	const struct apr1_entry *x = apr1_map_find(m, APR1_NAMES);
	struct apr1_map list = { 0 };
	size_t i, n;
	int r;

	if (!s->aligned)
		return 1;
	if (!x || apr1_list_read(&list, x, "", e) < 0)
		return x ? -1 : 0;
	r = list.count == s->plan->tensor_count;
	for (i = 0; r && i < list.count; i++) {
		const char *name = tensor_name(s->plan->tensors[i]);
		const char *text = apr1_text(&list.list[i], &n);

		r = text && n == strlen(name) && memcmp(text, name, n) == 0 &&
		    apr1_aligned_code(s->plan->tensors[i]) != DTYPE_NONE;
	}
	apr1_map_free(&list);
	return r;
}

/* Decode the original metadata of the source into raw. 1 if it is read as the keys of the
 * plan, 0 if not, or -1. */
static int
try_verbatim(struct apr1_sink *s, struct apr1_map *was, struct buf *raw, size_t count,
             struct err *e)
{
	struct base64_reader decoder = { 0 };
	struct err ignored = ERR_INIT;
	const char *text;
	int r;

	if (!s->from || json_member_text(s->from, APR1_FROM_METADATA, &text) < 0 ||
	    base64_add(&decoder, text, strlen(text), raw) < 0 || base64_end(&decoder) < 0 ||
	    !raw->p || apr1_map_read(was, raw->p, raw->n, true, "", &ignored) < 0)
		return buf_ok(raw) && ignored.code != ERR_MEMORY ? 0 : err_memory(e);
	r = reads_as_all(s, was, count, e);
	return r > 0 ? names_hold(s, was, e) : r;
}

static int
make_entry(struct apr1_sink *s, const struct meta *k, const struct buf *wire, struct err *e)
{
	int r = apr1_put_value(&s->metadata, k->type, wire->p, wire->n);

	return r < 0 ? err_memory(e) : r == 0;
}

/* Write an entry for each key: the bytes of the source if the value is the same, otherwise new
 * ones. 1, or 0 if no form in MessagePack is read back as the same value. */
static int
write_entries(struct apr1_sink *s, const struct apr1_map *was, size_t count, struct err *e)
{
	struct buf wire = { 0 };
	size_t i;
	int r = 1;

	buf_clear(&s->metadata);
	apr1_put_map(&s->metadata, count);
	for (i = 0; r > 0 && i < count; i++) {
		const struct meta *k = &s->plan->meta[i];
		const struct apr1_entry *x = apr1_map_find(was, k->key);

		apr1_put_text(&s->metadata, k->key, strlen(k->key));
		if (wire_of(s, k, &wire, e) < 0)
			r = -1;
		else if (x)
			r = reads_as(s, x, k, &wire, e);
		if (r > 0 && x)
			buf_put(&s->metadata, x->raw, x->raw_bytes);
		else if (r >= 0)
			r = make_entry(s, k, &wire, e);
	}
	buf_free(&wire);
	return buf_ok(&s->metadata) ? r : err_memory(e);
}

/* True if key i from the end of the plan has this name and this text. */
static bool
ends_with(const struct model *m, size_t i, const char *key, const char *text)
{
	const struct meta *k = m->meta_count > i ? &m->meta[m->meta_count - 1 - i] : NULL;
	const char *value;
	size_t n;

	if (!k || strcmp(k->key, key) != 0 || !k->wire)
		return false;
	value = value_string(k->type, k->wire, k->wire_bytes, &n);
	return value && n == strlen(text) && memcmp(value, text, n) == 0;
}

/* True if a file without any additions of the apr tools may be read as this same plan. *count:
 * the number of keys that are then entries. */
static bool
may_be_foreign(const struct apr1_sink *s, size_t *count)
{
	const struct model *m = s->plan;
	size_t i, ours = s->aligned ? 1 : 2;

	if (m->meta_count < ours || (strcmp(s->payload, APR1_RECORDS) == 0) != s->aligned ||
	    s->chunked || !ends_with(m, ours - 1, APR1_TYPE_KEY, apr1_type_name(s->type)) ||
	    (!s->aligned && !ends_with(m, 0, APR1_PAYLOAD_KEY, s->payload)))
		return false;
	if (!s->options.plain && (m->prov_count || m->signatures))
		return false;
	/* A signed file needs the digest of the licence block in its metadata. */
	if (m->licence != MODEL_NONE &&
	    (!s->block.n || (s->options.vault && s->options.vault->signs)))
		return false;
	for (i = 0; i < m->blob_count; i++)
		if (!s->options.plain && strcmp(m->blobs[i].type, MODEL_VALUE) != 0)
			return false;
	*count = m->meta_count - ours;
	for (i = 0; i < *count; i++)
		if (strncmp(m->meta[i].key, APR1_KEY, strlen(APR1_KEY)) == 0 ||
		    strcmp(m->meta[i].key, APR1_NAMES) == 0)
			return false;
	return true;
}

/* 1 if the metadata was written in this form. */
static int
make_foreign(struct apr1_sink *s, struct err *e)
{
	struct apr1_map was = { 0 }, now = { 0 };
	struct err ignored = ERR_INIT;
	struct buf raw = { 0 };
	size_t count;
	int r;

	if (!may_be_foreign(s, &count))
		return 0;
	r = try_verbatim(s, &was, &raw, count, e);
	if (r > 0) {
		buf_put(&s->metadata, raw.p, raw.n);
		r = buf_ok(&s->metadata) ? 1 : err_memory(e);
	} else if (r == 0 && !s->aligned) {
		r = write_entries(s, &was, count, e);
		if (r > 0 && apr1_map_read(&now, s->metadata.p, s->metadata.n, true, "",
		                           &ignored) < 0)
			r = ignored.code == ERR_MEMORY ? err_memory(e) : 0;
		/* If the entries are not read back as the keys, the other form is needed. */
		if (r > 0)
			r = reads_as_all(s, &now, count, e);
	}
	apr1_map_free(&was);
	apr1_map_free(&now);
	buf_free(&raw);
	if (r == 0)
		buf_clear(&s->metadata);
	return r;
}

/* ---- the form of the apr tools ---- */

struct custom {
	struct apr1_sink *s;
	struct buf b;      /* its members */
	size_t n;
};

static void
put_member(struct custom *c, const char *prefix, const char *name, const void *p, size_t n)
{
	struct buf key = { 0 };

	buf_text(&key, prefix);
	buf_text(&key, name);
	apr1_put_text(&c->b, key.n ? (char *)key.p : "", key.n);
	apr1_put_text(&c->b, p, n);
	c->b.failed |= !buf_ok(&key);
	c->n++;
	buf_free(&key);
}

static int
put_json(struct custom *c, const char *name, json_t *v, struct err *e)
{
	struct buf b = { 0 };

	if (!v || json_write(v, &b) < 0)
		b.failed = true;
	else
		put_member(c, name, "", b.p, b.n);
	json_decref(v);
	if (!buf_ok(&b)) {
		buf_free(&b);
		return err_memory(e);
	}
	buf_free(&b);
	return 0;
}

static int
put_kept(struct custom *c, const char *prefix, const char *name, const struct apr1_kept *k,
         struct err *e)
{
	struct buf raw = { 0 }, text = { 0 };
	int r = apr1_recall(c->s, k, &raw, e);

	base64_put(&text, raw.p, raw.n);
	if (r == 0 && buf_ok(&text))
		put_member(c, prefix, name, text.n ? (char *)text.p : "", text.n);
	else if (r == 0)
		r = err_memory(e);
	buf_free(&raw);
	buf_free(&text);
	return r;
}

/* A copy of source in which APR1_FROM has only the metadata: the rest is in the header. */
static json_t *
stripped_source(const struct model *m)
{
	json_t *source = json_deep_copy(m->source), *v;

	v = json_object_get(json_object_get(source, APR1_FROM), APR1_FROM_METADATA);
	json_incref(v);
	json_object_del(source, APR1_FROM);
	if (!v || json_object_set_new(source, APR1_FROM,
	                              json_pack("{s:o}", APR1_FROM_METADATA, v)) == 0)
		return source;
	json_decref(source);
	return NULL;
}

static bool
goes_along(const struct apr1_sink *s, const struct blob *b)
{
	return !s->options.plain || strcmp(b->type, MODEL_VALUE) == 0;
}

static json_t *
stripped_plan(struct apr1_sink *s, struct err *e)
{
	json_t *plan = plan_to_json(s->plan, false, e), *blobs;
	size_t i;
	int r;

	if (!plan)
		return NULL;
	r = json_object_set_new(plan, "source", stripped_source(s->plan));
	if (s->options.plain) {
		json_object_del(plan, "provenance");
		r |= json_object_set_new(plan, "signatures", json_integer(0));
		blobs = json_object_get(plan, "blobs");
		for (i = s->plan->blob_count; i-- > 0;)
			if (!goes_along(s, &s->plan->blobs[i]))
				json_array_remove(blobs, i);
	}
	if (r == 0)
		return plan;
	json_decref(plan);
	return NULL;
}

/* {"NAME":[dtype,[dims]],…} of the tensors that the tensor index has as u8. */
static json_t *
foreign_types(const struct apr1_sink *s)
{
	json_t *o = json_object(), *dims;
	size_t i;
	unsigned d;
	int r = 0;

	for (i = 0; o && i < s->plan->tensor_count; i++) {
		const struct tensor *t = s->plan->tensors[i];

		if (apr1_aligned_code(t) != DTYPE_NONE)
			continue;
		dims = json_array();
		for (d = 0; d < tensor_ndim(t); d++)
			r |= json_array_append_new(dims, json_from_u64(tensor_dims(t)[d]));
		r |= json_object_set_new(o, tensor_name(t),
		                         json_pack("[s,o]", tensor_type(t)->name, dims));
	}
	if (r == 0)
		return o;
	json_decref(o);
	return NULL;
}

static int
put_digest(struct custom *c, struct err *e)
{
	struct vault *v = c->s->options.vault;
	uint8_t digest[VAULT_DIGEST];
	char text[2 * VAULT_DIGEST + 1];
	size_t i;

	if (!c->s->block.n || !v || !v->digest)
		return 0;
	if (v->digest(v, c->s->block.p, c->s->block.n, digest, e) < 0)
		return -1;
	for (i = 0; i < VAULT_DIGEST; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	put_member(c, APR1_DIGEST, "", text, 2 * VAULT_DIGEST);
	return 0;
}

static int
put_frames(struct custom *c, const char *prefix, const struct apr1_kept *list, size_t n,
           struct err *e)
{
	char number[24];
	size_t i;

	for (i = 0; i < n && !c->s->options.plain; i++) {
		snprintf(number, sizeof number, "%zu", i);
		if (put_kept(c, prefix, number, &list[i], e) < 0)
			return -1;
	}
	return 0;
}

static int
put_members(struct custom *c, struct err *e)
{
	struct apr1_sink *s = c->s;
	const struct model *m = s->plan;
	size_t i;
	json_t *types;

	if (put_json(c, APR1_STREAM, stripped_plan(s, e), e) < 0)
		return -1;
	if (!s->aligned)
		put_member(c, APR1_PAYLOAD, "", s->payload, strlen(s->payload));
	types = s->aligned ? foreign_types(s) : NULL;
	if (s->aligned && json_object_size(types) == 0 && types)
		json_decref(types);
	else if (s->aligned && put_json(c, APR1_TENSORS, types, e) < 0)
		return -1;
	if (put_digest(c, e) < 0)
		return -1;
	for (i = 0; i < m->blob_count; i++)
		if (goes_along(s, &m->blobs[i]) &&
		    put_kept(c, APR1_BLOB, m->blobs[i].name, &s->blobs[i], e) < 0)
			return -1;
	if (m->licence != MODEL_NONE && !s->block.n &&
	    put_kept(c, APR1_LICENCE, "", &s->licence, e) < 0)
		return -1;
	if (put_frames(c, APR1_PROV, s->provs, m->prov_count, e) < 0)
		return -1;
	return put_frames(c, APR1_SIGN, s->signs, (size_t)m->signatures, e);
}

static void
put_entry(struct buf *b, const char *key, const char *text, size_t n)
{
	apr1_put_text(b, key, strlen(key));
	apr1_put_text(b, text, n);
}

/* Write the entries that existing software requires, optional entries, and the map custom. */
static int
write_own(struct apr1_sink *s, struct custom *c, struct err *e)
{
	struct buf *b = &s->metadata;
	const char *text[APR1_ENTRIES];
	size_t i, n[APR1_ENTRIES], entries = 1 + s->aligned;

	for (i = 0; i < APR1_ENTRIES; i++)
		entries += (text[i] = apr1_entry_text(s->plan, i, &n[i])) != NULL;
	apr1_put_map(b, entries);
	for (i = 0; i < APR1_ENTRIES; i++)
		if (text[i])
			put_entry(b, apr1_entries[i], text[i], n[i]);
	apr1_put_text(b, APR1_CUSTOM, strlen(APR1_CUSTOM));
	apr1_put_map(b, c->n);
	buf_put(b, c->b.p, c->b.n);
	if (s->aligned) {
		apr1_put_text(b, APR1_NAMES, strlen(APR1_NAMES));
		apr1_put_array(b, s->plan->tensor_count);
		for (i = 0; i < s->plan->tensor_count; i++)
			apr1_put_text(b, tensor_name(s->plan->tensors[i]),
			              strlen(tensor_name(s->plan->tensors[i])));
	}
	return buf_ok(b) && buf_ok(&c->b) ? 0 : err_memory(e);
}

static int
make_own(struct apr1_sink *s, struct err *e)
{
	struct custom c = { .s = s };
	int r = put_members(&c, e);

	s->own = true;
	if (r == 0)
		r = write_own(s, &c, e);
	buf_free(&c.b);
	return r;
}

int
apr1_make_metadata(struct apr1_sink *s, struct err *e)
{
	int r = 0;

	if (s->plan->licence != MODEL_NONE) {
		if (apr1_recall(s, &s->licence, &s->block, e) < 0)
			return -1;
		if (!apr1_is_licence(s->block.p, s->block.n))
			buf_clear(&s->block);
	}
	r = make_foreign(s, e);
	if (r < 0 || (r == 0 && make_own(s, e) < 0))
		return -1;
	if (s->metadata.n > APR1_METADATA_MAX) {
		err_set(e, ERR_INVALID, s->out.name, "its metadata exceeds %u MiB",
		        APR1_METADATA_MAX >> 20);
		return err_hint(e, "side files and long values lie there: --plain leaves side files "
		                "out, -t apr2 holds them");
	}
	return 0;
}
