/* frame: what aprml-codecs.wasm exports: decoders of compressed frames, which the other modules reach through
 * their host (core/wasm/host.h), so that only models with compressed tensors bring the code. The module has
 * memory of its own and imports nothing.
 */
#ifndef WEB_CODECS_FRAME_H
#define WEB_CODECS_FRAME_H

#include "codecs/codec.h"

struct frame {
	/* For JavaScript, in this order: numbers of bytes to decode and of room, and then of what was used
	 * and made; where both are; and the fact of an error. */
	uint32_t in_n, out_n;
	uint8_t *in, *out;
	const char *fact;

	const struct codec *codec;
	void *context;
	struct err e;
	uint8_t from[CODEC_PIECE], to[CODEC_PIECE];
};

/* kind: 0 LZ4, 1 zstd. NULL: no memory. */
struct frame *frame_new(unsigned kind);
int frame_restart(struct frame *f);

/* Returns 1 at the end of the frame, 0 before, or -ERR_... */
int frame_decode(struct frame *f);
void frame_free(struct frame *f);

#endif
