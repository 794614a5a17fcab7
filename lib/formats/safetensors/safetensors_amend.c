#include "formats/safetensors/safetensors_reader.h"
#include "formats/safetensors/safetensors_writer.h"

/* Pass on the values, side files and licence of the edited model, which come before its
 * tensors. */
static int
put_blobs(struct sink *to, struct source *edited, struct err *e)
{
	const struct model *m = edited->plan;
	size_t left = m->blob_count + (m->licence != MODEL_NONE), n;
	struct item item;
	const uint8_t *p;
	int more;

	for (; left > 0; left--) {
		if ((more = source_next(edited, &item, e)) <= 0)
			return more < 0 ? -1 : err_set(e, ERR_CORRUPT, edited->name,
			                               "lacks a value that its plan announces");
		if (sink_put(to, &item, e) < 0)
			return -1;
		do {
			if (source_read(edited, &p, &n, e) < 0 ||
			    (n > 0 && sink_write(to, p, n, e) < 0))
				return -1;
		} while (n > 0);
		if (sink_put_end(to, e) < 0)
			return -1;
	}
	return 0;
}

/* Put a record or a signature: head bytes of b, and the rest as the body. */
static int
put_frame(struct sink *to, enum item_kind kind, size_t index, const struct buf *b, size_t head,
          struct err *e)
{
	struct item item = { .kind = kind, .index = index, .head = (char *)b->p,
		.head_bytes = head, .bytes = b->n - head };

	if (sink_put(to, &item, e) < 0 ||
	    (b->n > head && sink_write(to, b->p + head, b->n - head, e) < 0))
		return -1;
	return sink_put_end(to, e);
}

static int
put_all(struct sink *to, const struct safetensors *s, struct source *edited,
        const struct buf *record, struct err *e)
{
	size_t i;

	if (put_blobs(to, edited, e) < 0 ||
	    safetensors_finish_header((struct safetensors_sink *)to, e) < 0)
		return -1;
	for (i = 0; i < s->prov_count; i++)
		if (put_frame(to, ITEM_PROV, i, &s->provs[i], s->provs[i].n, e) < 0)
			return -1;
	return record->n ? put_frame(to, ITEM_PROV, i, record, record->n, e) : 0;
}

/* Make the plan without signatures, and with their record. */
static int
end_signatures(struct model *m, const struct safetensors *s, const char *operation,
               struct buf *record, struct err *e)
{
	if (s->sign_count == 0)
		return 0;
	m->signatures = 0;
	return flow_record(record, operation, false, (char *)s->signs[0].p, MODEL_SIGN_HEAD, e) < 0
	           ? -1 : model_add_prov(m, record->n, e);
}

int
safetensors_amend(struct source *source, struct source *edited, const char *operation,
                  struct out *o, struct err *e)
{
	static const struct format_options none;
	struct safetensors *s = (struct safetensors *)source;
	struct safetensors_sink *to;
	struct model plan = { 0 };
	struct buf record = { 0 };
	struct out own;
	int r = -1;

	if (out_fd(&own, o->fd, o->name, e) < 0)
		return -1;
	to = (struct safetensors_sink *)safetensors_create(&own, &none, e);
	if (to && model_copy(&plan, edited->plan, e) == 0) {
		to->fixed = s->header.bytes;
		to->amended = source;
		if (end_signatures(&plan, s, operation, &record, e) == 0 &&
		    sink_begin(&to->sink, &plan, e) == 0 &&
		    put_all(&to->sink, s, edited, &record, e) == 0)
			r = out_flush(&to->out);
	}
	if (to)
		sink_close(&to->sink);
	model_free(&plan);
	buf_free(&record);
	return r;
}
