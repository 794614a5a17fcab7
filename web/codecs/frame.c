#include "frame.h"

#include <stdlib.h>

#include "core/mem.h"

/* Of the allocator, if its structures are damaged: without the texts that libc would print. */
void
abort(void)
{
	__builtin_trap();
}

struct frame *
frame_new(unsigned kind)
{
	static const struct codec *const codecs[] = { &codec_lz4, &codec_zstd };
	struct frame *f = mem_array(1, sizeof *f);

	if (!f)
		return NULL;
	f->codec = codecs[kind & 1];
	f->context = f->codec->decoder();
	f->in = f->from;
	f->out = f->to;
	f->fact = f->e.fact;
	if (f->context)
		return f;
	free(f);
	return NULL;
}

int
frame_restart(struct frame *f)
{
	return f->codec->restart(f->context);
}

int
frame_decode(struct frame *f)
{
	const uint8_t *in = f->in;
	size_t in_n = f->in_n, out_n = f->out_n;
	int r;

	f->e.code = ERR_NONE;
	r = f->codec->decode(f->context, &in, &in_n, f->out, &out_n, NULL, &f->e);
	f->in_n -= (uint32_t)in_n;
	f->out_n = (uint32_t)out_n;
	return r < 0 ? -(int)f->e.code : r;
}

void
frame_free(struct frame *f)
{
	f->codec->decoder_free(f->context);
	free(f);
}
