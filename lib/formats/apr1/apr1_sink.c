#include "formats/apr1/apr1_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/lz4_block.h"
#include "core/mem.h"
#include "core/num.h"

/* ---- decisions and refusals before the first item ---- */

/* Choose the model type: --model-type, the model's key, that of the source file, or CUSTOM. */
static int
choose_type(struct apr1_sink *s, struct err *e)
{
	const struct meta *k = model_find(s->plan, APR1_TYPE_KEY);
	const char *asked = format_chosen(&s->options, &apr1_options[APR1_TYPE]), *text = NULL;
	int type = asked ? apr1_type_number(asked) : -1, own = -1;
	char name[64] = "";
	size_t n;

	if (asked && type < 0)
		return apr1_type_unknown(asked, e);
	if (k && k->wire)
		text = value_string(k->type, k->wire, k->wire_bytes, &n);
	if (text) {
		snprintf(name, sizeof name, "%.*s", (int)num_min(n, 63), text);
		own = apr1_type_number(name);
	}
	if (asked && own >= 0 && own != type)
		return err_set(e, ERR_INVALID, s->out.name, "ModelTypeMismatch: the model is %s by "
		               "its key " APR1_TYPE_KEY ", not %.60s", apr1_type_name((uint16_t)own),
		               asked);
	if (type < 0)
		type = own >= 0 ? own : (int)apr1_from(s, APR1_FROM_TYPE, APR1_CUSTOM_TYPE);
	s->type = apr1_type_name((uint16_t)type) ? (uint16_t)type : APR1_CUSTOM_TYPE;
	return 0;
}

static int
choose_compression(struct apr1_sink *s, struct err *e)
{
	const struct format_options *o = &s->options;
	unsigned from = apr1_from(s, APR1_FROM_FLAGS, 0);
	bool aligned = format_chosen(o, &apr1_options[APR1_NATIVE]);
	bool chunked = format_chosen(o, &apr1_options[APR1_CHUNKED]);

	s->aligned = aligned || (from & APR1_TRUENO && !o->codec && !chunked);
	s->chunked = chunked || (from & APR1_STREAMING && !o->codec && !s->aligned);
	if (s->aligned && from & APR1_TRUENO && from & APR1_STREAMING)
		s->chunked = true;
	if (s->aligned && o->codec)
		return err_set(e, ERR_USAGE, s->out.name, "TRUENO_NATIVE and compression exclude "
		               "each other");
	if (o->align && (o->align != APR1_ALIGN || !s->aligned))
		return err_set(e, ERR_USAGE, s->out.name, "apr1 aligns tensors to 64 bytes with "
		               "--trueno-native, and else not at all");
	s->compression = APR1_RAW;
	if (o->codec == &codec_lz4)
		s->compression = APR1_LZ4;
	else if (o->codec && o->level == APR1_ZSTD_MAX_LEVEL)
		s->compression = APR1_ZSTD_MAX;
	else if (o->codec && o->level != APR1_ZSTD_LEVEL)
		return err_set(e, ERR_USAGE, s->out.name, "apr1 has zstd at the levels 3 and 19, "
		               "not %d", o->level);
	else if (o->codec)
		s->compression = APR1_ZSTD;
	else if (!o->raw && !s->aligned)
		s->compression = (uint8_t)(apr1_from(s, APR1_FROM_COMPRESSION, APR1_ZSTD) & 3);
	return 0;
}

/* Check that the minimum size of the uncompressed payload fits into the header. */
static int
check_size(struct apr1_sink *s, struct err *e)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < s->plan->tensor_count; i++)
		if (num_add(bytes, tensor_bytes(s->plan->tensors[i]), &bytes) < 0 ||
		    num_add(bytes, strlen(tensor_name(s->plan->tensors[i])), &bytes) < 0)
			return apr1_too_large(s, e);
	if (bytes > UINT32_MAX)
		return apr1_too_large(s, e);
	if (s->compression == APR1_LZ4 && !s->chunked && bytes > LZ4_BLOCK_MOST)
		return err_set(e, ERR_INVALID, s->out.name, "a block of lz4 holds no more than 2 GiB: "
		               "-z zstd, or --streaming");
	return 0;
}

static int
check_blobs(struct apr1_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	uint64_t bytes = 0, files = 0;
	size_t i;

	for (i = 0; i < m->blob_count; i++) {
		bool file = strcmp(m->blobs[i].type, MODEL_VALUE) != 0;

		files += file;
		if ((!file || !s->options.plain) && num_add(bytes, m->blobs[i].bytes, &bytes) < 0)
			return apr1_too_large(s, e);
	}
	if (m->licence != MODEL_NONE && m->licence > APR1_LICENCE_MAX)
		return err_set(e, ERR_INVALID, s->out.name, "its licence exceeds 1 MiB");
	if (bytes > APR1_METADATA_MAX) {
		err_set(e, ERR_INVALID, s->out.name, "its metadata would exceed %u MiB",
		        APR1_METADATA_MAX >> 20);
		return err_hint(e, "side files and long values lie there: --plain leaves side files "
		                "out, -t apr2 holds them");
	}
	if (s->options.plain) {
		sink_tell(&s->sink, "side files left out", files);
		sink_tell(&s->sink, "signatures left out", m->signatures);
		sink_tell(&s->sink, "records left out", m->prov_count);
	}
	return 0;
}

/* Only the payload is encrypted. Side files, and signatures with a digest of each tensor,
 * would be readable in the metadata, so they are left out, as with --plain. The parts of the
 * payload stay in memory. */
static void
hide(struct apr1_sink *s)
{
	s->options.plain = true;
	s->data.secret = s->kept.secret = s->made.secret = s->packed.secret = true;
}

/* ---- the verbs ---- */

static int
begin(struct sink *sink, const struct model *plan, struct err *e)
{
	struct apr1_sink *s = (struct apr1_sink *)sink;
	size_t i;

	s->plan = plan;
	if (s->options.vault && s->options.vault->seals)
		hide(s);
	s->from = json_object_get(plan->source, APR1_FROM);
	s->tensors = mem_array(plan->tensor_count, sizeof *s->tensors);
	s->blobs = mem_array(plan->blob_count, sizeof *s->blobs);
	s->provs = mem_array(plan->prov_count, sizeof *s->provs);
	s->signs = mem_array((size_t)plan->signatures, sizeof *s->signs);
	if (!s->tensors || !s->blobs || !s->provs || !s->signs)
		return err_memory(e);
	for (i = 0; i < plan->tensor_count; i++)
		s->quantized |= tensor_type(plan->tensors[i])->quantized;
	if (choose_type(s, e) < 0 || choose_compression(s, e) < 0 || check_size(s, e) < 0 ||
	    check_blobs(s, e) < 0 || (s->aligned && apr1_place_aligned(s, e) < 0))
		return -1;
	s->by_name = model_tensors_by_name(plan, e);
	return s->by_name ? 0 : -1;
}

static int
keep(struct apr1_sink *s, struct apr1_kept *k)
{
	container_keep(&s->body, &s->kept, &k->at, &k->bytes);
	return 0;
}

static int
put_blob(struct sink *sink, const struct item *item, struct err *e)
{
	struct apr1_sink *s = (struct apr1_sink *)sink;
	bool is_value = strcmp(s->plan->blobs[item->index].type, MODEL_VALUE) == 0;

	(void)e;
	return s->options.plain && !is_value ? 0 : keep(s, &s->blobs[item->index]);
}

static int
put_licence(struct sink *sink, const struct item *item, struct err *e)
{
	struct apr1_sink *s = (struct apr1_sink *)sink;

	(void)item;
	(void)e;
	return keep(s, &s->licence);
}

static int
put_tensor(struct sink *sink, const struct item *item, struct err *e)
{
	struct apr1_sink *s = (struct apr1_sink *)sink;
	struct apr1_kept *k = &s->tensors[item->index];

	(void)e;
	s->tensor++;
	container_keep(&s->body, &s->data, &k->at, &k->bytes);
	return 0;
}

/* Keep the head and body of a record or signature. */
static int
put_late(struct sink *sink, const struct item *item, struct err *e)
{
	struct apr1_sink *s = (struct apr1_sink *)sink;
	bool is_prov = item->kind == ITEM_PROV;

	*(is_prov ? &s->prov : &s->sign) += 1;
	if (s->options.plain)
		return 0;
	keep(s, &(is_prov ? s->provs : s->signs)[item->index]);
	return container_write(&s->body, &s->out, (const uint8_t *)item->head,
	                       item->head_bytes, e);
}

static int
put(struct sink *sink, const struct item *item, struct err *e)
{
	static const struct container_puts puts = { .title = "apr1", .blob = put_blob,
		.licence = put_licence, .tensor = put_tensor, .late = put_late };

	((struct apr1_sink *)sink)->body.to = CONTAINER_DROPPED;
	return container_put(sink, &puts, item, e);
}

static int
write_body(struct sink *sink, const uint8_t *p, size_t n, struct err *e)
{
	struct apr1_sink *s = (struct apr1_sink *)sink;

	return container_write(&s->body, &s->out, p, n, e);
}

static int
put_end(struct sink *sink, struct err *e)
{
	(void)sink;
	(void)e;
	return 0;
}

static int
end(struct sink *sink, struct err *e)
{
	struct apr1_sink *s = (struct apr1_sink *)sink;

	if (s->prov != s->plan->prov_count || s->sign != s->plan->signatures ||
	    s->tensor != s->plan->tensor_count)
		return err_set(e, ERR_CORRUPT, s->out.name, "what comes contradicts the plan: "
		               "something is missing");
	if (spool_view(&s->data, &s->p, e) < 0 || apr1_make_payload(s, e) < 0 ||
	    apr1_make_metadata(s, e) < 0)
		return -1;
	return apr1_write_file(s, e);
}

static void
close_sink(struct sink *sink)
{
	struct apr1_sink *s = (struct apr1_sink *)sink;

	out_abandon(&s->out);
	spool_free(&s->data);
	spool_free(&s->kept);
	spool_free(&s->made);
	spool_free(&s->packed);
	spool_free(&s->sealed);
	buf_free(&s->metadata);
	buf_free(&s->block);
	free(s->tensors);
	free(s->blobs);
	free(s->provs);
	free(s->signs);
	free(s->by_name);
	free(s);
}

struct sink *
apr1_create(struct out *o, const struct format_options *options, struct err *e)
{
	static const struct sink_ops ops = { .begin = begin, .put = put,
		.write = write_body, .put_end = put_end, .end = end, .close = close_sink };
	struct apr1_sink *s = container_new(sizeof *s, &ops, o, e);

	if (!s)
		return NULL;
	s->out = *o;
	s->out.crc_on = true;
	s->options = *options;
	return &s->sink;
}
