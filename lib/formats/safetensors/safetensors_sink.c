#include "formats/safetensors/safetensors_writer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base64.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/late.h"

/* ---- refusals and notes ---- */

static int
check_tensor(const struct safetensors_sink *s, const struct tensor *t, uint64_t *at,
             struct err *e)
{
	if (strcmp(tensor_name(t), SAFETENSORS_METADATA) == 0)
		return err_set(e, ERR_INVALID, tensor_name(t),
		               "is a name that safetensors keeps for itself");
	if (safetensors_is_foreign(t) && s->options.plain)
		return err_set(e, ERR_INVALID, tensor_name(t),
		               "safetensors has no type %s, and --plain forbids a carrier: ExportFailed",
		               tensor_type(t)->name);
	if (num_add(*at, tensor_bytes(t), at) < 0)
		return err_set(e, ERR_INVALID, tensor_name(t), "its end does not fit in 64 bits");
	return 0;
}

static int
check_tensors(const struct safetensors_sink *s, struct err *e)
{
	uint64_t end = 0;
	size_t i;

	for (i = 0; i < s->plan->tensor_count; i++)
		if (check_tensor(s, s->plan->tensors[i], &end, e) < 0)
			return -1;
	return 0;
}

/* Check the keys, and that the minimum size of the header is allowed. */
static int
check_keys(struct safetensors_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	uint64_t least = 0, length;
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];

		if (safetensors_is_ours(k->key))
			return err_set(e, ERR_INVALID, k->key,
			               "is a key that safetensors files of ours use for themselves");
		/* For now; safetensors_measure decides. */
		if (k->blob != SIZE_MAX)
			s->blobs[k->blob].plain = safetensors_is_string(k);
	}
	for (i = 0; i < m->blob_count; i++) {
		if (s->options.plain && !s->blobs[i].plain)
			continue;
		if (base64_length(m->blobs[i].bytes, &length) < 0 ||
		    num_add(least, s->blobs[i].plain ? m->blobs[i].bytes : length, &least) < 0)
			return err_memory(e);
	}
	return least > SAFETENSORS_HEADER_MAX ? safetensors_too_long(s, least, e) : 0;
}

/* Note, once for all files of the model, that quantized tensors are stored as bytes. */
static void
say_floats(const struct safetensors_sink *s)
{
	const struct model *m = s->whole;
	bool first = s->plan->tensor_count == 0 ||
	             strcmp(tensor_name(s->plan->tensors[0]), tensor_name(m->tensors[0])) == 0;
	size_t i;

	for (i = 0; s->sink.note && first && i < m->tensor_count; i++)
		if (safetensors_is_foreign(m->tensors[i]) &&
		    tensor_type(m->tensors[i])->quantized) {
			s->sink.note("only these tools read quantized tensors from safetensors; apr-quant "
			             "f32, f16 or bf16 makes floats of them, which other programs load");
			return;
		}
}

/* Note tensors that are not aligned: programs that map the file expect each value at a
 * multiple of its size. */
static void
say_tensors(const struct safetensors_sink *s)
{
	uint64_t foreign = 0, skewed = 0, at = 0;
	size_t i;

	for (i = 0; i < s->plan->tensor_count; i++) {
		const struct tensor *t = s->plan->tensors[i];

		if (safetensors_is_foreign(t))
			foreign++;
		else if (tensor_bytes(t) > 0 && at % tensor_type(t)->bytes)
			skewed++;
		at += tensor_bytes(t);
	}
	sink_tell(&s->sink, "tensors stored as U8, because safetensors does not have their type",
	          foreign);
	say_floats(s);
	if (!s->from_safetensors)
		sink_tell(&s->sink, "tensors that some programs cannot load, because they do not "
		          "begin on a multiple of their values' size", skewed);
}

static void
say_plain(const struct safetensors_sink *s)
{
	const struct model *m = s->plan;
	uint64_t typed = 0, files = 0;
	size_t i;

	for (i = 0; i < m->meta_count; i++)
		typed += !safetensors_is_string(&m->meta[i]);
	for (i = 0; i < m->blob_count; i++)
		files += strcmp(m->blobs[i].type, MODEL_VALUE) != 0;
	sink_tell(&s->sink, "metadata keys left out, because they are not strings", typed);
	sink_tell(&s->sink, "side files left out", files);
	sink_tell(&s->sink, "signatures left out", m->signatures);
}

/* ---- the verbs ---- */

static int
begin(struct sink *sink, const struct model *plan, struct err *e)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;

	s->plan = plan;
	if (!s->whole)
		s->whole = plan;
	s->from_safetensors = model_source_is(plan, format_safetensors.name);
	safetensors_style_get(&s->style, plan);
	s->blobs = mem_array(plan->blob_count, sizeof *s->blobs);
	if (!s->blobs)
		return err_memory(e);
	if (!s->options.plain &&
	    late_refuse(&s->out, plan, "the header of a safetensors file", e) < 0)
		return -1;
	if (check_tensors(s, e) < 0 || check_keys(s, e) < 0)
		return -1;
	say_tensors(s);
	if (s->options.plain)
		say_plain(s);
	return 0;
}

static int
keep(struct safetensors_sink *s, struct kept *k)
{
	s->kept = k;
	container_keep(&s->body, &s->spool, &k->at, &k->bytes);
	return 0;
}

static int
put_blob(struct sink *sink, const struct item *item, struct err *e)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;
	struct kept *k = &s->blobs[item->index];

	(void)e;
	return s->options.plain && !k->plain ? 0 : keep(s, k);
}

static int
put_licence(struct sink *sink, const struct item *item, struct err *e)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;

	(void)item;
	(void)e;
	return s->options.plain ? 0 : keep(s, &s->licence);
}

static int
put_tensor(struct sink *sink, const struct item *item, struct err *e)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;

	(void)item;
	s->body.to = CONTAINER_OUT;
	return safetensors_finish_header(s, e);
}

static int
put_late(struct sink *sink, const struct item *item, struct err *e)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;

	/* If there are no tensors, the header with the room for it is not yet written. */
	if (safetensors_finish_header(s, e) < 0)
		return -1;
	if (s->options.plain)
		return 0;
	s->body.to = CONTAINER_LATE;
	s->late_at = (item->kind == ITEM_PROV ? s->prov_at : s->sign_at)[item->index];
	return late_begin(&s->body.late, item, e);
}

static int
put(struct sink *sink, const struct item *item, struct err *e)
{
	static const struct container_puts puts = { .title = "safetensors", .blob = put_blob,
		.licence = put_licence, .tensor = put_tensor, .late = put_late };

	((struct safetensors_sink *)sink)->body.to = CONTAINER_DROPPED;
	return container_put(sink, &puts, item, e);
}

static int
write_body(struct sink *sink, const uint8_t *p, size_t n, struct err *e)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;

	return container_write(&s->body, &s->out, p, n, e);
}

static int
zeros(struct sink *sink, uint64_t n, struct err *e)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;

	return s->body.to == CONTAINER_OUT ? out_hole(&s->out, n) : sink_write_zeros(sink, n, e);
}

static int
end_kept(struct safetensors_sink *s, struct err *e)
{
	bool plain = s->kept->plain;

	if (safetensors_measure(s, s->kept, e) < 0)
		return -1;
	if (s->options.plain && plain && !s->kept->plain)
		sink_tell(&s->sink, "metadata keys left out, because they are not text", 1);
	return 0;
}

static int
patch(struct safetensors_sink *s, struct err *e)
{
	uint64_t length;

	if (base64_length(s->body.late.n, &length) < 0)
		return err_memory(e);
	return late_put(&s->out, &s->body.late, s->late_at, length, NULL, e);
}

static int
put_end(struct sink *sink, struct err *e)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;

	if (s->body.to == CONTAINER_KEPT)
		return end_kept(s, e);
	return s->body.to == CONTAINER_LATE ? patch(s, e) : 0;
}

static int
end(struct sink *sink, struct err *e)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;

	return safetensors_finish_header(s, e) < 0 ? -1 : out_finish(&s->out);
}

static void
close_sink(struct sink *sink)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;

	out_abandon(&s->out);
	spool_free(&s->spool);
	buf_free(&s->text);
	buf_free(&s->body.late);
	buf_free(&s->piece);
	free(s->gaps);
	free(s->blobs);
	free(s->prov_at);
	free(s->sign_at);
	free(s);
}

struct sink *
safetensors_create_shard(struct out *o, const struct format_options *options,
                         const struct model *whole, struct err *e)
{
	static const struct sink_ops ops = { .begin = begin, .put = put,
		.write = write_body, .put_end = put_end, .end = end, .close = close_sink,
		.zeros = zeros };
	struct safetensors_sink *s = container_new(sizeof *s, &ops, o, e);

	if (!s)
		return NULL;
	s->out = *o;
	s->options = *options;
	s->whole = whole;
	return &s->sink;
}

struct sink *
safetensors_create(struct out *o, const struct format_options *options, struct err *e)
{
	return safetensors_create_shard(o, options, NULL, e);
}

int
safetensors_settle(struct sink *sink, struct err *e)
{
	struct safetensors_sink *s = (struct safetensors_sink *)sink;

	return safetensors_finish_header(s, e) < 0 ? -1 : out_settle(&s->out);
}

void
safetensors_rename(struct sink *sink, const char *path)
{
	((struct safetensors_sink *)sink)->out.path = path;
}
