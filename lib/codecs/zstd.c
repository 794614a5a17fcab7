#include "codecs/codec.h"

#include <zstd.h>
#include <zstd_errors.h>

#include "codecs/frames.h"

/* Weights repeat at short distances or not at all. A window above 2 MiB saves nothing
 * measurable, and an encoder of level 19 would take 88 MiB instead of 36. */
#define WINDOW_LOG 21
#define WIDER_FROM 9 /* from this level on the library would use a wider window */

static int
fault(size_t code, struct err *e)
{
	return err_set(e, ERR_MEMORY, NULL, "zstd cannot compress: %s",
	               ZSTD_getErrorName(code));
}

/* One thread, because the bytes differ with more. No checksum: the tensor's CRC is stored
 * beside the frame. */
static void *
encoder(int level)
{
	ZSTD_CCtx *x = ZSTD_createCCtx();

	if (x && !ZSTD_isError(ZSTD_CCtx_setParameter(x, ZSTD_c_compressionLevel, level)) &&
	    (level < WIDER_FROM ||
	     !ZSTD_isError(ZSTD_CCtx_setParameter(x, ZSTD_c_windowLog, WINDOW_LOG))))
		return x;
	ZSTD_freeCCtx(x);
	return NULL;
}

static int
begin(void *x, uint64_t bytes, struct buf *out, struct err *e)
{
	size_t r = ZSTD_CCtx_reset(x, ZSTD_reset_session_only);

	(void)out; /* the head comes with the first piece */
	if (!ZSTD_isError(r))
		r = ZSTD_CCtx_setPledgedSrcSize(x, bytes);
	return ZSTD_isError(r) ? fault(r, e) : 0;
}

static int
encode(void *x, const uint8_t *p, size_t n, bool last, struct buf *out, struct err *e)
{
	ZSTD_inBuffer in = { p, n, 0 };
	ZSTD_EndDirective how = last ? ZSTD_e_end : ZSTD_e_flush;
	size_t left;

	do {
		size_t room = ZSTD_compressBound(n - in.pos) + CODEC_HEAD;
		ZSTD_outBuffer to = { buf_room(out, room), room, 0 };

		if (!to.dst)
			return err_memory(e);
		left = ZSTD_compressStream2(x, &to, &in, how);
		if (ZSTD_isError(left))
			return fault(left, e);
		out->n += to.pos;
	} while (left > 0);
	return 0;
}

static void
free_encoder(void *x)
{
	ZSTD_freeCCtx(x);
}

/* Allows the largest window: look has already checked the frame's memory. */
static void *
decoder(void)
{
	ZSTD_DCtx *x = ZSTD_createDCtx();
	ZSTD_bounds most = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);

	if (x && !ZSTD_isError(most.error))
		ZSTD_DCtx_setParameter(x, ZSTD_d_windowLogMax, most.upperBound);
	return x;
}

static int
restart(void *x)
{
	return ZSTD_isError(ZSTD_DCtx_reset(x, ZSTD_reset_session_only)) ? -1 : 0;
}

static int
decode(void *x, const uint8_t **in, size_t *in_n, uint8_t *out, size_t *out_n,
       const char *name, struct err *e)
{
	ZSTD_inBuffer from = { *in, *in_n, 0 };
	ZSTD_outBuffer to = { out, *out_n, 0 };
	size_t left = ZSTD_decompressStream(x, &to, &from);

	*out_n = 0;
	if (ZSTD_isError(left)) {
		ZSTD_ErrorCode code = ZSTD_getErrorCode(left);

		if (code == ZSTD_error_memory_allocation)
			return err_memory(e);
		return err_set(e, code == ZSTD_error_checksum_wrong ? ERR_CHECKSUM : ERR_CORRUPT,
		               name, "its zstd frame is damaged: %s", ZSTD_getErrorName(left));
	}
	*out_n = to.pos;
	*in += from.pos;
	*in_n -= from.pos;
	return left == 0;
}

static void
free_decoder(void *x)
{
	ZSTD_freeDCtx(x);
}

const struct codec codec_zstd = {
	.name = "zstd",
	.low = 1,
	.high = 19,
	.usual = 3,
	.ratio = ZSTD_RATIO,
	.encoder = ONLY_PACKS(encoder),
	.begin = ONLY_PACKS(begin),
	.encode = ONLY_PACKS(encode),
	.encoder_free = ONLY_PACKS(free_encoder),
	.look = zstd_look,
	.decoder = decoder,
	.restart = restart,
	.decode = decode,
	.decoder_free = free_decoder,
};
