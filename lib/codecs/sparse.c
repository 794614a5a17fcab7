/* The sparse forms as codecs that only decode: each row has the name of its kind. */
#include <stdlib.h>
#include <string.h>

#include "codecs/codec.h"
#include "core/mem.h"
#include "core/num.h"
#include "wire/sparse.h"

struct decoding {
	struct sparse_decoder *x;
	const uint8_t *dense; /* bytes of the decoder that have not been returned */
	size_t n;
	bool ended;
};

static int
look(const uint8_t *head, size_t n, struct codec_frame *f)
{
	struct sparse_layout l;

	if (n < SPARSE_HEAD || !sparse_head_get(head, &l))
		return -1;
	*f = (struct codec_frame){ .sized = true, .bytes = l.bytes };
	return 0;
}

static void
free_decoder(void *context)
{
	struct decoding *d = context;

	if (d)
		sparse_decoder_free(d->x);
	free(d);
}

static void *
decoder(void)
{
	struct decoding *d = mem_array(1, sizeof *d);
	struct err e = ERR_INIT;

	if (!d)
		return NULL;
	d->x = sparse_decoder_new(&e);
	if (d->x)
		return d;
	free(d);
	return NULL;
}

static int
restart(void *context)
{
	struct decoding *d = context;

	d->n = 0;
	d->ended = false;
	sparse_decoder_begin(d->x, NULL);
	return 0;
}

static int
decode(void *context, const uint8_t **in, size_t *in_n, uint8_t *out, size_t *out_n,
       const char *name, struct err *e)
{
	struct decoding *d = context;
	size_t room = *out_n;
	int r;

	*out_n = 0;
	if (d->n == 0 && !d->ended) {
		r = sparse_decoder_step(d->x, in, in_n, &d->dense, &d->n, name, e);
		if (r < 0)
			return -1;
		d->ended = r == 1;
	}
	*out_n = (size_t)num_min(room, d->n);
	memcpy(out, d->dense, *out_n);
	d->dense += *out_n;
	d->n -= *out_n;
	return d->ended && d->n == 0;
}

#define ROW(title) { .name = title, .ratio = SPARSE_RATIO, .look = look, .decoder = decoder, \
	.restart = restart, .decode = decode, .decoder_free = free_decoder }

const struct codec *
codec_sparse(unsigned kind)
{
	static const struct codec rows[] = { ROW("csr"), ROW("bitmap"), ROW("block") };

	return &rows[kind - SPARSE_CSR];
}
