#include "formats/apr2/apr2_meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "formats/ties.h"
#include "stream/plan.h"

/* The first three are required. */
const char *const apr2_derived[APR2_DERIVED] = { "apr_version", "model_type",
	"architecture", "source_format", "quantization" };

void
apr2_meta_free(struct apr2_meta *meta)
{
	size_t i;

	buf_free(&meta->text);
	spool_free(&meta->kept);
	free(meta->spans);
	json_decref(meta->empty);
	json_decref(meta->types);
	for (i = 0; i < APR2_DERIVED; i++)
		buf_free(&meta->derived[i]);
	*meta = (struct apr2_meta){ 0 };
}

int
apr2_add_span(struct apr2_meta *meta, size_t blob, uint64_t at, uint64_t n, struct err *e)
{
	if (mem_grow(&meta->spans, &meta->span_cap, meta->span_count + 1,
	             sizeof *meta->spans) < 0)
		return err_memory(e);
	meta->spans[meta->span_count++] = (struct apr2_span){ blob, at, n };
	return 0;
}

/* 1 if JSON text can be a member's value unchanged: a reader cuts exactly these bytes out of
 * the object again. 0 if not, -1 if out of memory. */
static int
is_json(const uint8_t *text, size_t n, struct err *e)
{
	struct spool copy = { 0 };
	int is = spool_put(&copy, text, n, e) < 0 ? -1
	         : members_is_value(&copy, 0, n, &apr2_rules, e);

	spool_free(&copy);
	return is;
}

/* Choose the keys that become members of their own: those of type json. A long value arrives
 * as a blob. Blobs come in their order and the metadata comes first in the file, so long
 * values become members only up to the first blob of another type. */
static bool *
choose_members(const struct model *m, struct err *e)
{
	bool *member = mem_array(m->meta_count, sizeof *member), leading = true;
	size_t i;
	int is;

	if (!member) {
		err_memory(e);
		return NULL;
	}
	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];
		bool json = k->type.leaf == VALUE_JSON && k->type.depth == 0 &&
		            strcmp(k->key, APR2_OWN) != 0;

		if (k->blob != SIZE_MAX) {
			member[i] = leading = leading && json;
			continue;
		}
		is = json ? is_json(k->wire, k->wire_bytes, e) : 0;
		if (is < 0) {
			free(member);
			return NULL;
		}
		member[i] = is;
	}
	return member;
}

static bool
has_member(const struct model *m, const bool *member, const char *name)
{
	size_t i;

	for (i = 0; i < m->meta_count; i++)
		if (member[i] && strcmp(m->meta[i].key, name) == 0)
			return true;
	return false;
}

/* The plan for apr_stream. It leaves out keys that are members, and their blobs. */
static json_t *
own_member(const struct model *m, const bool *member, const size_t *by_name,
           struct err *e)
{
	json_t *plan = plan_to_json(m, false, e), *source, *rows, *all, *blobs;
	size_t i, spans = 0;
	int r;

	if (!plan)
		return NULL;
	source = json_deep_copy(m->source);
	if (source)
		json_object_del(source, APR2_ALIGNMENT_MEMBER);
	r = json_object_set_new(plan, "source", source);
	rows = json_object_get(plan, "metadata");
	for (i = 0; i < m->meta_count; i++) {
		if (!member[i])
			continue;
		r |= json_array_remove(json_array_get(rows, i), 2);
		spans += m->meta[i].blob != SIZE_MAX;
	}
	/* The blobs that are members come first. */
	all = json_object_get(plan, "blobs");
	blobs = json_array();
	for (i = spans; i < m->blob_count; i++)
		r |= json_array_append(blobs, json_array_get(all, i));
	r |= json_object_set_new(plan, "blobs", blobs);
	/* The plan of a stream may have a member with this name. */
	json_object_del(plan, TIES_MEMBER);
	json_object_del(plan, APR2_TYPES);
	if (r == 0 && ties_exist(m))
		r = json_object_set_new(plan, TIES_MEMBER, ties_list(m, by_name));
	if (r == 0 && apr2_types_needed(m))
		r = json_object_set_new(plan, APR2_TYPES, apr2_types_list(m, by_name));
	if (r == 0)
		return plan;
	json_decref(plan);
	err_memory(e);
	return NULL;
}

/* True if a reader would find the same plan without apr_stream, as in a file that was written
 * from the specification alone. */
static bool
is_plain(const struct model *m, const bool *member, unsigned align)
{
	const char *version = model_source_text(m, "version");
	size_t i;

	if (m->licence != MODEL_NONE || m->sealed || m->prov_count || m->signatures ||
	    json_object_size(m->extra) || ties_exist(m) ||
	    apr2_types_needed(m))
		return false;
	for (i = 0; i < APR2_REQUIRED; i++)
		if (!has_member(m, member, apr2_derived[i]))
			return false;
	for (i = 0; i < m->meta_count; i++)
		if (!member[i])
			return false;
	for (i = 0; i < m->blob_count; i++)
		if (strcmp(m->blobs[i].type, MODEL_VALUE) != 0)
			return false;
	i = json_object_get(m->source, APR2_ALIGNMENT_MEMBER) ? 4 : 3; /* not written */
	return json_object_size(m->source) == i && version && !strcmp(version, "2.0") &&
	       model_source_is(m, format_apr2.name) &&
	       json_integer_value(json_object_get(m->source, "alignment")) == align;
}

static void
put_name(struct buf *b, const char *name)
{
	buf_text(b, b->n > 0 && b->p[b->n - 1] != '{' ? "," : "");
	json_quote(b, name, strlen(name));
	buf_text(b, ":");
}

static void
put_text(struct buf *b, const char *name, const char *s, size_t n)
{
	put_name(b, name);
	json_quote(b, s, n);
}

static const char *
architecture(const struct model *m, size_t *n)
{
	const char *s = model_architecture(m, n);

	if (s)
		return s;
	*n = strlen("unknown");
	return "unknown";
}

/* Put one hyper-parameter, unless a JSON number or string cannot hold it. */
static void
put_parameter(struct buf *b, const char *name, const struct meta *k)
{
	json_t *v = value_to_json(k->type, k->wire, k->wire_bytes);
	const char *s = json_string_value(v);
	bool real = k->type.leaf == VALUE_F32 || k->type.leaf == VALUE_F64;

	if (real && s && (s[*s == '-'] >= '0' && s[*s == '-'] <= '9')) {
		put_name(b, name);
		buf_text(b, s);
	} else if (v && !real) {
		put_name(b, name);
		if (json_write(v, b) < 0)
			b->failed = true;
	} else if (!v) {
		b->failed = true;
	}
	json_decref(v);
}

/* Put the hyper-parameters of a folder's config.json. */
static void
put_config(struct buf *b, const json_t *config)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)config, name, v) {
		if (strcmp(name, "model_type") == 0 || strcmp(name, "name") == 0 ||
		    json_is_object(v) || json_is_array(v))
			continue;
		put_name(b, name);
		if (json_write(v, b) < 0)
			b->failed = true;
	}
}

/* Put the hyper-parameters from keys that begin with the architecture's name. */
static void
put_parameters(struct buf *b, const struct model *m, const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];

		if (strncmp(k->key, name, n) != 0 || k->key[n] != '.' ||
		    strcmp(k->key + n + 1, "name") == 0 || k->type.depth ||
		    k->type.leaf == VALUE_JSON || k->blob != SIZE_MAX)
			continue;
		put_parameter(b, k->key + n + 1, k);
	}
}

static void
put_architecture(struct buf *b, const struct model *m)
{
	const json_t *config = model_config(m);
	size_t n;
	const char *name = architecture(m, &n);

	put_name(b, "architecture");
	buf_text(b, "{");
	put_text(b, "name", name, n);
	if (config)
		put_config(b, config);
	else
		put_parameters(b, m, name, n);
	buf_text(b, "}");
}

/* Bits per value of the tensors in blocks alone. */
static double
block_bits(const struct model *m)
{
	double values = 0, bytes = 0;
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		const struct dtype *type = tensor_type(m->tensors[i]);

		if (!type->quantized || !dtype_sized(type))
			continue;
		values += (double)tensor_items(m->tensors[i]);
		bytes += (double)tensor_bytes(m->tensors[i]);
	}
	return values > 0 ? 8 * bytes / values : 0;
}

/* The type of blocks that most values have, or NULL. */
static const struct dtype *
most_values(const struct model *m)
{
	const struct dtype *type, *most = NULL;
	double values, top = 0;
	unsigned row;
	size_t i;

	for (row = 0; (type = dtype_row(row)); row++) {
		for (values = 0, i = 0; type->quantized && i < m->tensor_count; i++)
			if (tensor_type(m->tensors[i]) == type)
				values += (double)tensor_items(m->tensors[i]);
		if (values > top) {
			most = type;
			top = values;
		}
	}
	return most;
}

void
apr2_put_quantization(struct buf *b, const struct model *m, bool blocks_alone)
{
	const struct dtype *most = most_values(m);
	char bits[32];
	size_t n;

	if (!most)
		return;
	n = (size_t)snprintf(bits, sizeof bits, "%.3f",
	                     blocks_alone ? block_bits(m) : model_bits_per_weight(m));
	while (bits[n - 1] == '0')
		bits[--n] = '\0';
	if (bits[n - 1] == '.')
		bits[--n] = '\0';
	put_name(b, "quantization");
	buf_text(b, "{");
	put_text(b, "method", most->name, strlen(most->name));
	put_name(b, "bits_per_weight");
	buf_text(b, bits);
	buf_text(b, "}");
}

void
apr2_put_derived(struct buf *b, const struct model *m, const bool taken[APR2_DERIVED])
{
	const char *s, *format = model_source_text(m, "format");
	size_t n;

	s = architecture(m, &n);
	if (!taken[0])
		put_text(b, apr2_derived[0], "2.0.0", 5);
	if (!taken[1])
		put_text(b, apr2_derived[1], s, n);
	if (!taken[2])
		put_architecture(b, m);
	if (!taken[3]) {
		format = format ? format : "unknown";
		put_text(b, apr2_derived[3], format, strlen(format));
	}
	if (!taken[4])
		apr2_put_quantization(b, m, false);
}

static int
put_members(struct apr2_meta *meta, const struct model *m, const bool *member,
            struct err *e)
{
	struct buf *b = &meta->text;
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];

		if (!member[i])
			continue;
		put_name(b, k->key);
		if (k->blob == SIZE_MAX)
			buf_put(b, k->wire, k->wire_bytes);
		else if (apr2_add_span(meta, k->blob, b->n, m->blobs[k->blob].bytes, e) < 0)
			return -1;
	}
	return 0;
}

static int
put_all(struct apr2_meta *meta, const struct model *m, const struct model *whole,
        const bool *member, const size_t *by_name, unsigned align, struct err *e)
{
	struct buf *b = &meta->text;
	bool plain = is_plain(m, member, align), taken[APR2_DERIVED];
	size_t i;

	for (i = 0; i < APR2_DERIVED; i++)
		taken[i] = has_member(m, member, apr2_derived[i]);
	buf_text(b, "{");
	if (!plain)
		apr2_put_derived(b, whole, taken);
	if (put_members(meta, m, member, e) < 0)
		return -1;
	if (!plain) {
		json_t *own = own_member(m, member, by_name, e);

		if (!own)
			return -1;
		put_name(b, APR2_OWN);
		if (json_write(own, b) < 0)
			b->failed = true;
		json_decref(own);
	}
	buf_text(b, "}");
	return buf_ok(b) ? 0 : err_memory(e);
}

int
apr2_meta_write(struct apr2_meta *meta, const struct model *m, const struct model *whole,
                const size_t *by_name, unsigned align, struct err *e)
{
	bool *member = choose_members(m, e);
	size_t i;
	int r;

	*meta = (struct apr2_meta){ 0 };
	if (!member)
		return -1;
	r = put_all(meta, m, whole, member, by_name, align, e);
	free(member);
	meta->bytes = meta->text.n;
	for (i = 0; r == 0 && i < meta->span_count; i++)
		if (num_add(meta->bytes, meta->spans[i].n, &meta->bytes) < 0)
			r = err_set(e, ERR_FORMAT, m->blobs[meta->spans[i].blob].name,
			            "the size of the metadata overflows");
	if (r < 0)
		apr2_meta_free(meta);
	return r;
}
