#include "codecs/codec.h"

#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/frames.h"
#include "core/mem.h"

struct lz4_encoder {
	LZ4F_cctx *context;
	LZ4F_preferences_t how;
};

static int
fault(size_t code, struct err *e)
{
	return err_set(e, ERR_MEMORY, NULL, "lz4 cannot compress: %s",
	               LZ4F_getErrorName(code));
}

static void *
encoder(int level)
{
	struct lz4_encoder *x = mem_array(1, sizeof *x);

	(void)level;
	if (!x)
		return NULL;
	/* A checksum in the frame would add nothing: the tensor's CRC is stored beside
	 * it. */
	x->how.frameInfo.blockSizeID = LZ4F_max64KB;
	x->how.frameInfo.blockMode = LZ4F_blockIndependent;
	x->how.autoFlush = 1;
	if (!LZ4F_isError(LZ4F_createCompressionContext(&x->context, LZ4F_VERSION)))
		return x;
	free(x);
	return NULL;
}

static int
begin(void *context, uint64_t bytes, struct buf *out, struct err *e)
{
	struct lz4_encoder *x = context;
	uint8_t *to = buf_room(out, LZ4F_HEADER_SIZE_MAX);
	size_t n;

	if (!to)
		return err_memory(e);
	x->how.frameInfo.contentSize = bytes;
	n = LZ4F_compressBegin(x->context, to, LZ4F_HEADER_SIZE_MAX, &x->how);
	if (LZ4F_isError(n))
		return fault(n, e);
	out->n += n;
	return 0;
}

static int
encode(void *context, const uint8_t *p, size_t n, bool last, struct buf *out,
       struct err *e)
{
	struct lz4_encoder *x = context;
	size_t room = LZ4F_compressBound(n, &x->how), got;
	uint8_t *to = buf_room(out, room);

	if (!to)
		return err_memory(e);
	got = n ? LZ4F_compressUpdate(x->context, to, room, p, n, NULL) : 0;
	if (LZ4F_isError(got))
		return fault(got, e);
	out->n += got;
	if (!last)
		return 0;
	got = LZ4F_compressEnd(x->context, to + got, room - got, NULL);
	if (LZ4F_isError(got))
		return fault(got, e);
	out->n += got;
	return 0;
}

static void
free_encoder(void *context)
{
	struct lz4_encoder *x = context;

	LZ4F_freeCompressionContext(x->context);
	free(x);
}

static void *
decoder(void)
{
	LZ4F_dctx *x;

	return LZ4F_isError(LZ4F_createDecompressionContext(&x, LZ4F_VERSION)) ? NULL : x;
}

static int
restart(void *x)
{
	LZ4F_resetDecompressionContext(x);
	return 0;
}

static int
decode(void *x, const uint8_t **in, size_t *in_n, uint8_t *out, size_t *out_n,
       const char *name, struct err *e)
{
	size_t used = *in_n, left = LZ4F_decompress(x, out, out_n, *in, &used, NULL);
	const char *what = LZ4F_getErrorName(left);

	if (LZ4F_isError(left)) {
		*out_n = 0;
		if (strstr(what, "allocation"))
			return err_memory(e);
		return err_set(e, strstr(what, "hecksum") ? ERR_CHECKSUM : ERR_CORRUPT, name,
		               "its lz4 frame is damaged: %s", what);
	}
	*in += used;
	*in_n -= used;
	return left == 0;
}

static void
free_decoder(void *x)
{
	LZ4F_freeDecompressionContext(x);
}

const struct codec codec_lz4 = {
	.name = "lz4",
	.ratio = LZ4_RATIO,
	.encoder = ONLY_PACKS(encoder),
	.begin = ONLY_PACKS(begin),
	.encode = ONLY_PACKS(encode),
	.encoder_free = ONLY_PACKS(free_encoder),
	.look = lz4_look,
	.decoder = decoder,
	.restart = restart,
	.decode = decode,
	.decoder_free = free_decoder,
};
