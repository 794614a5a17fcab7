#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base64.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/apr64/apr64_writer.h"
#include "formats/ties.h"
#include "stream/plan.h"

#define PIECE (3u << 14) /* bytes read from the spool at once: whole groups of base64 */

/* ---- pieces ---- */

static int
put_json(struct apr64_sink *s, const char *name, const json_t *v, struct err *e)
{
	apr64_put_name(s, "", name);
	if (!v || json_write(v, &s->b) < 0)
		return err_memory(e);
	return apr64_flush(s, e);
}

/* Put kept bytes, unchanged or as base64. */
static int
put_kept(struct apr64_sink *s, const struct apr64_kept *k, bool base64, struct err *e)
{
	uint8_t raw[PIECE];
	uint64_t done;
	size_t n;

	for (done = 0; done < k->bytes; done += n) {
		n = (size_t)num_min(k->bytes - done, sizeof raw);
		if (spool_get(&s->kept, k->at + done, raw, n, e) < 0)
			return -1;
		if (base64)
			base64_put(&s->b, raw, n);
		else
			buf_put(&s->b, raw, n);
		if (apr64_flush(s, e) < 0)
			return -1;
	}
	return 0;
}

static int
put_base64(struct apr64_sink *s, const char *prefix, const char *name,
           const struct apr64_kept *k, struct err *e)
{
	apr64_put_name(s, prefix, name);
	buf_text(&s->b, "\"");
	if (put_kept(s, k, true, e) < 0)
		return -1;
	buf_text(&s->b, "\"");
	return apr64_flush(s, e);
}

/* ---- members ---- */

/* 1 if a key can be a member: its value is valid JSON, and no other member has its name or an
 * alias of it. */
static int
can_be_member(struct apr64_sink *s, size_t i, struct err *e)
{
	const struct meta *k = &s->plan->meta[i];
	const char *canonical;
	int alias = apr64_alias(k->key, &canonical), is;
	struct apr64_kept text;

	if (k->type.leaf != VALUE_JSON || k->type.depth || apr64_is_ours(k->key) ||
	    (alias >= 0 && s->aliases & 1u << alias))
		return 0;
	if (k->blob != SIZE_MAX) {
		text = s->blobs[k->blob];
	} else {
		text = (struct apr64_kept){ s->kept.bytes, k->wire_bytes };
		if (spool_put(&s->kept, k->wire, k->wire_bytes, e) < 0)
			return -1;
	}
	is = members_is_value(&s->kept, text.at, text.bytes, &apr64_rules, e);
	if (alias >= 0 && is > 0)
		s->aliases |= 1u << alias;
	return is;
}

int
apr64_choose_members(struct apr64_sink *s, struct err *e)
{
	size_t i;
	int is;

	s->member = mem_array(s->plan->meta_count, sizeof *s->member);
	if (!s->member)
		return err_memory(e);
	for (i = 0; i < s->plan->meta_count; i++) {
		if ((is = can_be_member(s, i, e)) < 0)
			return -1;
		s->member[i] = is;
	}
	return 0;
}

static int
put_members(struct apr64_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];

		if (!s->member[i])
			continue;
		s->vocabulary |= strcmp(k->key, "tokenizer.vocabulary") == 0;
		apr64_put_name(s, "", k->key);
		if (k->blob == SIZE_MAX)
			buf_put(&s->b, k->wire, k->wire_bytes);
		else if (put_kept(s, &s->blobs[k->blob], false, e) < 0)
			return -1;
		if (apr64_flush(s, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- the plan ---- */

/* True if a reader would find the same plan without apr_stream. */
static bool
is_plain(const struct apr64_sink *s)
{
	const struct model *m = s->plan;
	const char *version = model_source_text(m, "version");
	size_t i, members = 2;

	if (m->licence != MODEL_NONE || m->prov_count || m->signatures ||
	    json_object_size(m->extra) || ties_exist(m) || !s->from_apr64 || !version ||
	    strcmp(version, "2.0") != 0)
		return false;
	for (i = 0; i < m->meta_count; i++)
		if (!s->member[i])
			return false;
	for (i = 0; i < m->blob_count; i++)
		if (strcmp(m->blobs[i].type, MODEL_VALUE) != 0)
			return false;
	for (i = 0; i < m->tensor_count; i++)
		if (apr64_is_foreign(m->tensors[i]))
			return false;
	members += json_object_get(m->source, APR64_FLAGS_MEMBER) != NULL;
	members += json_object_get(m->source, APR64_BLOCKS_MEMBER) != NULL;
	return json_object_size(m->source) == members;
}

/* The plan for apr_stream. It leaves out keys that are members, and their blobs. */
static json_t *
own_plan(const struct apr64_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	json_t *plan = plan_to_json(m, false, e), *rows, *all, *blobs;
	size_t i, k;
	int r;

	if (!plan)
		return NULL;
	rows = json_object_get(plan, "metadata");
	all = json_object_get(plan, "blobs");
	blobs = json_array();
	for (i = 0, r = blobs ? 0 : -1; i < m->meta_count; i++)
		if (s->member[i])
			r |= json_array_remove(json_array_get(rows, i), 2);
	for (i = 0, k = 0; i < m->blob_count; i++) {
		while (k < m->meta_count && m->meta[k].blob != i)
			k++;
		if (k == m->meta_count || !s->member[k])
			r |= json_array_append(blobs, json_array_get(all, i));
	}
	r |= json_object_set_new(plan, "blobs", blobs);
	/* The plan of a stream may have a member with this name. */
	json_object_del(plan, TIES_MEMBER);
	if (r == 0 && ties_exist(m))
		r = json_object_set_new(plan, TIES_MEMBER, ties_list(m, s->by_name));
	if (r == 0)
		return plan;
	json_decref(plan);
	err_memory(e);
	return NULL;
}

static json_t *
own_types(const struct model *m)
{
	json_t *all = json_object(), *dims;
	size_t i;
	unsigned d;
	int r = all ? 0 : -1;

	for (i = 0; r == 0 && i < m->tensor_count; i++) {
		const struct tensor *t = m->tensors[i];

		if (!apr64_is_foreign(t))
			continue;
		dims = json_array();
		for (d = 0; d < tensor_ndim(t); d++)
			r |= json_array_append_new(dims, json_from_u64(tensor_dims(t)[d]));
		r |= json_object_set_new(all, tensor_name(t),
		                         json_pack("[s,o]", tensor_type(t)->name, dims));
	}
	if (r == 0)
		return all;
	json_decref(all);
	return NULL;
}

static int
put_blobs(struct apr64_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	size_t i, k = 0;

	for (i = 0; i < m->blob_count; i++) {
		while (k < m->meta_count && m->meta[k].blob != i)
			k++;
		if (k < m->meta_count && s->member[k])
			continue;
		if (put_base64(s, APR64_BLOB, m->blobs[i].name, &s->blobs[i], e) < 0)
			return -1;
	}
	return m->licence == MODEL_NONE ? 0 : put_base64(s, APR64_LICENCE, "", &s->licence, e);
}

/* Put room for a frame of n bytes that comes last. */
static int
put_room(struct apr64_sink *s, const char *prefix, size_t number, uint64_t n,
         struct err *e)
{
	struct apr64_room *room = &s->rooms[s->room_count++];
	uint64_t done, part;
	char text[24];

	snprintf(text, sizeof text, "%zu", number);
	apr64_put_name(s, prefix, text);
	buf_text(&s->b, "\"");
	if (base64_length(n, &room->length) < 0 || apr64_flush(s, e) < 0)
		return err_memory(e);
	room->at = s->text.bytes;
	for (done = 0; done < room->length; done += part) {
		part = num_min(room->length - done, 4);
		buf_put(&s->b, "AAAA", (size_t)part);
		if (s->b.n >= PIECE && apr64_flush(s, e) < 0)
			return -1;
	}
	buf_text(&s->b, "\"");
	return apr64_flush(s, e);
}

static int
put_rooms(struct apr64_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	s->rooms = mem_array(m->prov_count + (size_t)m->signatures, sizeof *s->rooms);
	if (!s->rooms)
		return err_memory(e);
	for (i = 0; i < m->prov_count; i++)
		if (put_room(s, APR64_PROV, i, m->provs[i], e) < 0)
			return -1;
	for (i = 0; i < m->signatures; i++)
		if (put_room(s, APR64_SIGN, i, MODEL_SIGN_HEAD + model_sign_body(m), e) < 0)
			return -1;
	return 0;
}

static int
put_carriers(struct apr64_sink *s, struct err *e)
{
	json_t *plan = own_plan(s, e), *types = own_types(s->plan);
	int r = plan ? put_json(s, APR64_OWN, plan, e) : -1;

	if (r == 0 && (!types || json_object_size(types)))
		r = put_json(s, APR64_TENSORS, types, e);
	json_decref(plan);
	json_decref(types);
	if (r < 0 || put_blobs(s, e) < 0)
		return -1;
	return put_rooms(s, e);
}

int
apr64_make_text(struct apr64_sink *s, struct err *e)
{
	bool plain;

	if (apr64_choose_members(s, e) < 0)
		return -1;
	plain = is_plain(s);
	buf_text(&s->b, "{");
	if (!plain && apr64_put_derived(s, e) < 0)
		return -1;
	if (put_members(s, e) < 0 ||
	    (!plain && !s->options.plain && put_carriers(s, e) < 0))
		return -1;
	buf_text(&s->b, "}");
	return apr64_flush(s, e);
}
