#include "formats/apr2/apr2_writer.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/crc32.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/late.h"
#include "wire/sparse.h"

/* The first bytes of a tensor, which are held and compressed as a trial. Their result decides
 * whether the tensor is compressed. */
#define TRIAL (1u << 20)

/* Compression must save at least one part in PAYS, or reading costs more than it saves. */
#define PAYS 64

struct apr2_packer {
	struct encoder *encoder; /* NULL: nothing is compressed */
	uint32_t flag;        /* of an entry that the codec has compressed */
	struct late_file file; /* if the output cannot seek */
	enum { PLAIN, TRYING, PACKED, SPARSE } state; /* of the tensor */
	struct sparse_encoder *sparse;
	struct sparse_form form; /* SPARSE: of the tensor */
	struct buf raw;       /* TRYING: the bytes so far */
	struct buf packed;    /* the compressed bytes */
};

/* The index comes before the data but is known after it: if the output cannot seek, the file
 * is completed in a temporary file. */
static int
open_file(struct apr2_sink *s, struct err *e)
{
	struct apr2_packer *x = s->packer;

	if (late_file_open(&x->file, e) < 0)
		return -1;
	x->file.out.crc_on = true;
	s->to = &x->file.out;
	return 0;
}

bool
apr2_packs(const struct apr2_sink *s)
{
	return s->options.codec || model_sparse_count(s->plan) > 0;
}

int
apr2_pack_open(struct apr2_sink *s, struct err *e)
{
	const struct format_options *o = &s->options;
	struct apr2_packer *x = mem_array(1, sizeof *x);

	s->packer = x;
	if (!x)
		return err_memory(e);
	x->file.fd = -1;
	if (o->codec) {
		x->flag = apr2_codec_flag(o->codec);
		x->encoder = encoder_new(o->codec, o->level, e);
	}
	if (o->codec && !x->encoder)
		return -1;
	if (model_sparse_count(s->plan) > 0 && !(x->sparse = sparse_encoder_new(e)))
		return -1;
	return s->out.seekable ? 0 : open_file(s, e);
}

static int
begin_sparse(struct apr2_packer *x, const struct tensor *t, struct err *e)
{
	const struct sparse_layout l = sparse_layout_of(t);

	x->state = SPARSE;
	x->form = l.form;
	sparse_encoder_begin(x->sparse, &l, &x->packed);
	return buf_ok(&x->packed) ? 0 : err_memory(e);
}

int
apr2_pack_begin(struct apr2_sink *s, size_t i, uint64_t bytes, struct err *e)
{
	struct apr2_packer *x = s->packer;
	struct apr2_place *at = &s->places[i];

	if (num_align(s->data_bytes, s->alignment, &at->offset) < 0)
		return apr2_too_large(s, e);
	x->state = PLAIN;
	if (bytes == 0)
		return 0;
	buf_clear(&x->packed);
	if (tensor_form(s->plan->tensors[i]).kind != SPARSE_NONE)
		return begin_sparse(x, s->plan->tensors[i], e);
	if (!x->encoder)
		return 0;
	x->state = TRYING;
	buf_clear(&x->raw);
	return encoder_begin(x->encoder, bytes, &x->packed, e);
}

static int
put_packed(struct apr2_sink *s)
{
	struct apr2_packer *x = s->packer;
	int r = out_put(s->to, x->packed.p, x->packed.n);

	buf_clear(&x->packed);
	return r;
}

/* End the trial: decide whether the tensor is compressed. */
static int
decide(struct apr2_sink *s)
{
	struct apr2_packer *x = s->packer;

	if (x->packed.n < x->raw.n && x->raw.n - x->packed.n >= x->raw.n / PAYS) {
		x->state = PACKED;
		return put_packed(s);
	}
	x->state = PLAIN;
	return out_put(s->to, x->raw.p, x->raw.n);
}

int
apr2_pack_write(struct apr2_sink *s, const uint8_t *p, size_t n, struct err *e)
{
	struct apr2_packer *x = s->packer;

	if (x->state == TRYING) {
		size_t part = TRIAL - x->raw.n < n ? TRIAL - x->raw.n : n;

		buf_put(&x->raw, p, part);
		if (!buf_ok(&x->raw))
			return err_memory(e);
		if (encoder_put(x->encoder, p, part, &x->packed, e) < 0)
			return -1;
		if (x->raw.n == TRIAL && decide(s) < 0)
			return -1;
		p += part;
		n -= part;
	}
	if (x->state == PLAIN)
		return out_put(s->to, p, n);
	while (n > 0) {
		size_t part = n < CODEC_PIECE ? n : CODEC_PIECE;
		int r = x->state == SPARSE ? sparse_encoder_put(x->sparse, p, part, &x->packed, e)
		                           : encoder_put(x->encoder, p, part, &x->packed, e);

		if (r < 0 || put_packed(s) < 0)
			return -1;
		p += part;
		n -= part;
	}
	return 0;
}

int
apr2_pack_end(struct apr2_sink *s, struct apr2_place *at)
{
	struct apr2_packer *x = s->packer;

	if (x->state == TRYING && decide(s) < 0)
		return -1;
	at->flags = x->state == PACKED ? x->flag : x->state == SPARSE ? apr2_sparse_flags(x->form) : 0;
	at->stored = out_tell(s->to) - s->data_at - at->offset;
	s->data_bytes = at->offset + at->stored;
	return 0;
}

/* Note that no tensor was compressed, which is not an error. */
static void
tell_if_none(struct apr2_sink *s)
{
	char text[80];
	size_t i, n = s->plan->tensor_count;

	for (i = 0; i < n && s->places[i].flags == 0; i++)
		;
	if (!s->options.codec || i < n || n == 0 || !s->sink.note || s->is_shard)
		return;
	snprintf(text, sizeof text, "no tensor gets shorter by %s: all are stored as they are",
	         s->options.codec->name);
	s->sink.note(text);
}

int
apr2_pack_index(struct apr2_sink *s, struct err *e)
{
	tell_if_none(s);
	if (apr2_fill_index(s, e) < 0)
		return -1;
	s->index_crc = crc32_add(0, s->index.p, s->index.n);
	apr2_fill_header(s);
	return 0;
}

int
apr2_pack_finish(struct apr2_sink *s, struct err *e)
{
	if (out_patch(s->to, s->index_at, s->index.p, s->index.n) < 0 ||
	    out_patch(s->to, 8, s->header + 8, 4) < 0)
		return -1;
	return s->to == &s->out ? 0 : late_file_copy(&s->packer->file, &s->out, e);
}

void
apr2_pack_close(struct apr2_sink *s)
{
	struct apr2_packer *x = s->packer;

	if (!x)
		return;
	late_file_close(&x->file);
	if (x->encoder)
		encoder_free(x->encoder);
	sparse_encoder_free(x->sparse);
	buf_free(&x->raw);
	buf_free(&x->packed);
	free(x);
	s->packer = NULL;
	s->to = &s->out;
}
