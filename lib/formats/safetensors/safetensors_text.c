#include "formats/safetensors/safetensors_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "stream/plan.h"

#define PIECE (3u << 14) /* bytes read from the spool at once: whole groups of base64 */

/* True if the key can be a member of __metadata__ unchanged. */
static bool
is_plain(const struct safetensors_sink *s, const struct meta *k)
{
	return safetensors_is_string(k) && (k->blob == SIZE_MAX || s->blobs[k->blob].plain);
}

/* ---- JSON ---- */

static void
quote_unit(struct buf *b, uint32_t unit)
{
	buf_printf(b, "\\u%04x", unit);
}

/* The code point at p and its length. The bytes are valid UTF-8. */
static uint32_t
character(const uint8_t *p, size_t *length)
{
	uint32_t c;
	size_t i;

	*length = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
	c = *length == 1 ? *p : *p & (0x7fu >> *length);
	for (i = 1; i < *length; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* Append n bytes of UTF-8 as they appear in a JSON string. The spelling is that of serde_json
 * and Python's json, which differ only in ascii; jansson would write \u001F in capitals. */
static void
quote(struct buf *b, const void *text, size_t n, bool ascii)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const uint8_t *p = text, *end = p + n, *run = p;
	size_t length;

	while (p < end) {
		uint32_t c = character(p, &length);
		const char *at = c && c < 0x80 ? strchr(from, (int)c) : NULL;

		if (!at && c >= 0x20 && !(ascii && c >= 0x7f)) {
			p += length;
			continue;
		}
		buf_put(b, run, (size_t)(p - run));
		run = p += length;
		if (at) {
			buf_u8(b, '\\');
			buf_u8(b, (uint8_t)to[at - from]);
		} else if (c < 0x10000) {
			quote_unit(b, c);
		} else {
			quote_unit(b, 0xd800 + ((c - 0x10000) >> 10));
			quote_unit(b, 0xdc00 + ((c - 0x10000) & 0x3ff));
		}
	}
	buf_put(b, run, (size_t)(p - run));
}

static void
put_separator(struct safetensors_sink *s)
{
	if (!s->first)
		buf_text(&s->text, s->style.spaced ? ", " : ",");
	s->first = false;
}

static void
put_string(struct safetensors_sink *s, const void *text, size_t n)
{
	buf_u8(&s->text, '"');
	quote(&s->text, text, n, s->style.ascii);
	buf_u8(&s->text, '"');
}

/* Append a member's name, which consists of a prefix and a name. */
static void
put_name(struct safetensors_sink *s, const char *prefix, const char *name)
{
	put_separator(s);
	s->members++;
	buf_u8(&s->text, '"');
	quote(&s->text, prefix, strlen(prefix), s->style.ascii);
	quote(&s->text, name, strlen(name), s->style.ascii);
	buf_text(&s->text, s->style.spaced ? "\": " : "\":");
}

static void
put_numbers(struct safetensors_sink *s, const uint64_t *list, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		buf_printf(&s->text, "%s%" PRIu64,
		           i == 0 ? "[" : s->style.spaced ? ", " : ",", list[i]);
	buf_text(&s->text, n ? "]" : "[]");
}

static int
put_gap(struct safetensors_sink *s, const struct kept *kept, uint64_t length,
        uint64_t *place, struct err *e)
{
	if (mem_grow(&s->gaps, &s->gap_cap, s->gap_count + 1, sizeof *s->gaps) < 0)
		return err_memory(e);
	buf_u8(&s->text, '"');
	s->gaps[s->gap_count++] = (struct gap){ s->text.n, kept, length, place };
	buf_u8(&s->text, '"');
	return 0;
}

/* ---- kept values and files ---- */

/* Encode a piece of k, *n bytes from byte done on, into s->piece, in the form that the header
 * will have. 1 if k should be plain but is not text. */
static int
encode(struct safetensors_sink *s, const struct kept *k, uint64_t done, size_t *n,
       struct err *e)
{
	uint8_t raw[PIECE];

	*n = (size_t)num_min(k->bytes - done, sizeof raw);
	buf_clear(&s->piece);
	if (spool_get(&s->spool, k->at + done, raw, *n, e) < 0)
		return -1;
	if (!k->plain) {
		base64_put(&s->piece, raw, *n);
	} else {
		if (*n < k->bytes - done)
			*n = safetensors_whole(raw, *n);
		if (!text_utf8(raw, *n, false))
			return 1;
		quote(&s->piece, raw, *n, s->style.ascii);
	}
	return buf_ok(&s->piece) ? 0 : err_memory(e);
}

/* The wire form of a string begins with its length: only the text after it is used, unless
 * JSON cannot hold the text. */
int
safetensors_measure(struct safetensors_sink *s, struct kept *k, struct err *e)
{
	struct kept text = { .at = k->at + 8, .bytes = k->bytes - 8, .plain = true };
	uint64_t done;
	size_t n;
	int r = k->plain && k->bytes >= 8 ? 0 : 1;

	for (done = 0; r == 0 && done < text.bytes; done += n)
		if ((r = encode(s, &text, done, &n, e)) == 0)
			text.length += s->piece.n;
	if (r < 0)
		return -1;
	if (r == 0) {
		*k = text;
		return 0;
	}
	k->plain = false;
	return base64_length(k->bytes, &k->length) < 0 ? err_memory(e) : 0;
}

static int
put_kept(struct safetensors_sink *s, const struct kept *k, struct err *e)
{
	uint64_t done;
	size_t n;

	for (done = 0; done < k->bytes; done += n)
		if (encode(s, k, done, &n, e) != 0 ||
		    out_put(&s->out, s->piece.p, s->piece.n) < 0)
			return -1;
	return 0;
}

/* ---- __metadata__ ---- */

static int
put_json(struct safetensors_sink *s, const char *prefix, const char *name,
         const json_t *v, struct err *e)
{
	struct buf b = { 0 };
	int r = v ? json_write(v, &b) : -1;

	if (r == 0) {
		put_name(s, prefix, name);
		put_string(s, b.p, b.n);
	}
	buf_free(&b);
	return r < 0 ? err_memory(e) : 0;
}

static int
put_strings(struct safetensors_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];
		const struct kept *kept = k->blob == SIZE_MAX ? NULL : &s->blobs[k->blob];

		if (!is_plain(s, k))
			continue;
		put_name(s, k->key, "");
		if (!kept)
			put_string(s, k->wire + 8, k->wire_bytes - 8);
		else if (put_gap(s, kept, kept->length, NULL, e) < 0)
			return -1;
	}
	return 0;
}

static bool
all_plain(const struct safetensors_sink *s)
{
	size_t i;

	for (i = 0; i < s->plan->meta_count; i++)
		if (!is_plain(s, &s->plan->meta[i]))
			return false;
	return true;
}

/* Put the typed list. Values that are members already are not repeated. */
static int
put_list(struct safetensors_sink *s, struct err *e)
{
	json_t *plan, *rows;
	size_t i;
	int r = 0;

	if (all_plain(s))
		return 0;
	plan = plan_to_json(s->plan, false, e);
	rows = json_object_get(plan, "metadata");
	for (i = 0; i < s->plan->meta_count; i++)
		if (is_plain(s, &s->plan->meta[i]))
			r |= json_array_remove(json_array_get(rows, i), 2);
	r = r < 0 ? err_memory(e) : put_json(s, SAFETENSORS_LIST, "", rows, e);
	json_decref(plan);
	return r;
}

static int
put_source(struct safetensors_sink *s, struct err *e)
{
	if (s->from_safetensors || json_object_size(s->plan->source) == 0)
		return 0;
	return put_json(s, SAFETENSORS_SOURCE, "", s->plan->source, e);
}

static int
put_types(struct safetensors_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	json_t *shape;
	unsigned d;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < m->tensor_count; i++) {
		const struct tensor *t = m->tensors[i];

		if (!safetensors_is_foreign(t))
			continue;
		put_name(s, SAFETENSORS_DTYPE, tensor_name(t));
		put_string(s, tensor_type(t)->name, strlen(tensor_type(t)->name));
		shape = json_array();
		for (d = 0; d < tensor_ndim(t); d++)
			r |= json_array_append_new(shape, json_from_u64(tensor_dims(t)[d]));
		r = r < 0 ? err_memory(e)
		          : put_json(s, SAFETENSORS_SHAPE, tensor_name(t), shape, e);
		json_decref(shape);
	}
	return r;
}

/* Put long values, then side files with their list. */
static int
put_blobs(struct safetensors_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	json_t *list = json_array();
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < m->blob_count; i++) {
		const struct blob *b = &m->blobs[i];

		if (s->blobs[i].plain)
			continue;
		put_name(s, SAFETENSORS_BLOB, b->name);
		r = put_gap(s, &s->blobs[i], s->blobs[i].length, NULL, e);
		if (r == 0 && strcmp(b->type, MODEL_VALUE) != 0 &&
		    json_array_append_new(list, json_pack("[s,s]", b->name, b->type)) < 0)
			r = err_memory(e);
	}
	if (r == 0 && json_array_size(list))
		r = put_json(s, SAFETENSORS_BLOBS, "", list, e);
	json_decref(list);
	return r;
}

/* Put room for a frame of n bytes that comes last. */
static int
put_room(struct safetensors_sink *s, const char *prefix, size_t number, uint64_t n,
         uint64_t *place, struct err *e)
{
	char text[24];
	uint64_t length;

	snprintf(text, sizeof text, "%zu", number);
	put_name(s, prefix, text);
	return base64_length(n, &length) < 0 ? err_memory(e)
	                                     : put_gap(s, NULL, length, place, e);
}

static int
put_rooms(struct safetensors_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	s->prov_at = mem_array(m->prov_count, sizeof *s->prov_at);
	s->sign_at = mem_array((size_t)m->signatures, sizeof *s->sign_at);
	if (!s->prov_at || !s->sign_at)
		return err_memory(e);
	for (i = 0; i < m->prov_count; i++)
		if (put_room(s, SAFETENSORS_PROV, i, m->provs[i], &s->prov_at[i], e) < 0)
			return -1;
	for (i = 0; i < m->signatures; i++)
		if (put_room(s, SAFETENSORS_SIGN, i,
		             MODEL_SIGN_HEAD + model_sign_body(s->whole), &s->sign_at[i],
		             e) < 0)
			return -1;
	return 0;
}

static int
put_carriers(struct safetensors_sink *s, struct err *e)
{
	if (s->options.plain)
		return 0;
	if (put_list(s, e) < 0 || put_source(s, e) < 0 || put_types(s, e) < 0 ||
	    put_blobs(s, e) < 0)
		return -1;
	if (s->plan->licence != MODEL_NONE) {
		put_name(s, SAFETENSORS_LICENCE, "");
		if (put_gap(s, &s->licence, s->licence.length, NULL, e) < 0)
			return -1;
	}
	return put_rooms(s, e);
}

/* Put __metadata__ if it has members, or if the source had it without any. */
static int
put_metadata(struct safetensors_sink *s, struct err *e)
{
	struct buf *b = &s->text;
	size_t before = b->n, empty;
	bool first = s->first;

	put_name(s, SAFETENSORS_METADATA, "");
	buf_u8(b, '{');
	empty = b->n;
	s->first = true;
	s->members = 0;
	if (put_strings(s, e) < 0 || put_carriers(s, e) < 0)
		return -1;
	if (s->members > SAFETENSORS_KEYS_MAX)
		return err_set(e, ERR_INVALID, s->out.name, "%zu keys, at most %u are read from "
		               "a safetensors file", s->members, SAFETENSORS_KEYS_MAX);
	s->first = false;
	if (b->n == empty && s->style.metadata_at == MODEL_NONE) {
		b->n = before;
		s->first = first;
	} else {
		buf_u8(b, '}');
	}
	return 0;
}

/* ---- tensors ---- */

static void
put_entry(struct safetensors_sink *s, const struct tensor *t, uint64_t offset)
{
	uint64_t bytes = tensor_bytes(t), place[2] = { offset, offset + bytes };
	const char *type = safetensors_is_foreign(t) ? "U8" : safetensors_type(tensor_type(t));
	unsigned i;

	put_name(s, tensor_name(t), "");
	buf_u8(&s->text, '{');
	s->first = true;
	for (i = 0; i < SAFETENSORS_MEMBERS; i++) {
		unsigned member = s->style.members[i];

		put_name(s, safetensors_members[member], "");
		if (member == 0)
			put_string(s, type, strlen(type));
		else if (member == 2)
			put_numbers(s, place, 2);
		else if (safetensors_is_foreign(t))
			put_numbers(s, &bytes, 1);
		else
			put_numbers(s, tensor_dims(t), tensor_ndim(t));
	}
	s->first = false;
	buf_u8(&s->text, '}');
}

static int
put_members(struct safetensors_sink *s, const size_t *order, const uint64_t *offsets,
            struct err *e)
{
	const struct model *m = s->plan;
	uint64_t at = s->style.metadata_at == MODEL_NONE ? 0 : s->style.metadata_at;
	size_t i;

	at = num_min(at, m->tensor_count);
	buf_u8(&s->text, '{');
	s->first = true;
	for (i = 0; i <= m->tensor_count; i++) {
		if (i == at && put_metadata(s, e) < 0)
			return -1;
		if (i < m->tensor_count)
			put_entry(s, m->tensors[order[i]], offsets[order[i]]);
	}
	buf_u8(&s->text, '}');
	return buf_ok(&s->text) ? 0 : err_memory(e);
}

/* Build the header's text, without the content of its gaps. */
static int
build_header(struct safetensors_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	json_t *list = s->from_safetensors ? json_object_get(m->source, "index_order") : NULL;
	size_t i, *order = model_order(list, m->tensor_count, e);
	uint64_t at = 0, *offsets = mem_array(m->tensor_count, sizeof *offsets);
	int r = -1;

	if (order && offsets) {
		for (i = 0; i < m->tensor_count; i++) {
			offsets[i] = at;
			at += tensor_bytes(m->tensors[i]); /* proved by begin */
		}
		r = put_members(s, order, offsets, e);
	} else {
		err_memory(e);
	}
	free(order);
	free(offsets);
	return r;
}

/* ---- the file ---- */

int
safetensors_too_long(struct safetensors_sink *s, uint64_t bytes, struct err *e)
{
	err_set(e, ERR_INVALID, s->out.name, "its header would have %" PRIu64
	        " bytes, safetensors allows %u", bytes, SAFETENSORS_HEADER_MAX);
	return err_hint(e, "side files and long values lie there: --plain leaves them out, "
	                "-t apr2 holds them");
}

/* The number of spaces after the header, which has this many bytes without them. */
static uint64_t
padding(const struct safetensors_sink *s, uint64_t bytes)
{
	unsigned align = s->options.align ? s->options.align : 8;

	if (!s->options.align && !s->options.reserves && s->style.padding != MODEL_NONE)
		return s->style.padding;
	bytes += 8 + s->options.reserve;
	return s->options.reserve + (align - bytes % align) % align;
}

static int
put_zero_text(struct safetensors_sink *s, uint64_t n)
{
	static const char zeros[] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
	size_t part;

	for (; n > 0; n -= part) {
		part = (size_t)num_min(n, sizeof zeros - 1);
		if (out_put(&s->out, zeros, part) < 0)
			return -1;
	}
	return 0;
}

static int
write_text(struct safetensors_sink *s, struct err *e)
{
	size_t i, done = 0;

	for (i = 0; i < s->gap_count; i++) {
		const struct gap *g = &s->gaps[i];

		if (out_put(&s->out, s->text.p + done, g->at - done) < 0)
			return -1;
		done = g->at;
		if (g->place)
			*g->place = out_tell(&s->out);
		if ((g->kept ? put_kept(s, g->kept, e) : put_zero_text(s, g->length)) < 0)
			return -1;
	}
	return out_put(&s->out, s->text.p + done, s->text.n - done);
}

int
safetensors_finish_header(struct safetensors_sink *s, struct err *e)
{
	uint64_t bytes, spaces, all;
	uint8_t length[8];
	size_t i;

	if (s->header_done)
		return 0;
	s->header_done = true;
	if (build_header(s, e) < 0)
		return -1;
	bytes = s->text.n;
	for (i = 0; i < s->gap_count; i++)
		if (num_add(bytes, s->gaps[i].length, &bytes) < 0)
			return err_memory(e);
	if (s->fixed && bytes > s->fixed)
		return format_no_room(s->amended, bytes - s->fixed, e);
	spaces = s->fixed ? s->fixed - bytes : padding(s, bytes);
	if (num_add(bytes, spaces, &bytes) < 0 || bytes > SAFETENSORS_HEADER_MAX)
		return safetensors_too_long(s, bytes, e);
	if (num_add(model_tensor_bytes(s->plan), 8 + bytes, &all) < 0)
		return err_set(e, ERR_INVALID, s->out.name, "its size does not fit in 64 bits");
	le64_put(length, bytes);
	if ((!s->fixed && out_reserve(&s->out, model_space(s->plan, all)) < 0) ||
	    out_put(&s->out, length, sizeof length) < 0 ||
	    write_text(s, e) < 0 || out_fill(&s->out, ' ', spaces) < 0)
		return -1;
	buf_free(&s->text);
	spool_free(&s->spool);
	return 0;
}
