/* codecs: zstd and LZ4 of the modules that do not compress. The decoders are those of aprml-codecs.wasm, which
 * the host loads when the first compressed bytes are read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/frames.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/wasm/host.h"

struct outside {
	int kind;
	int number; /* the host's, or 0: not asked for yet */
};

static void *
decoder(int kind)
{
	struct outside *x = mem_array(1, sizeof *x);

	if (x)
		x->kind = kind;
	return x;
}

static void *
lz4_decoder(void)
{
	return decoder(0);
}

static void *
zstd_decoder(void)
{
	return decoder(1);
}

static int
restart(void *context)
{
	struct outside *x = context;

	return x->number ? host_restart(x->number) : 0;
}

static int
ask(struct outside *x, const char *name, struct err *e)
{
	int r = x->number > 0 ? x->number : host_decoder(x->kind);

	x->number = r > 0 ? r : 0;
	if (r == -ENOMEM)
		return err_memory(e);
	return r > 0 ? 0 : err_set(e, ERR_IO, name, "aprml-codecs.wasm, which decompresses, cannot be loaded");
}

static int
decode(void *context, const uint8_t **in, size_t *in_n, uint8_t *out, size_t *out_n, const char *name,
       struct err *e)
{
	struct outside *x = context;
	struct host_piece piece;
	size_t room = *out_n;
	int r;

	*out_n = 0;
	if (ask(x, name, e) < 0)
		return -1;
	do {
		piece = (struct host_piece){ .in = *in, .out = out, .in_n = *in_n, .out_n = room };
		r = host_decode(x->number, &piece);
		if (r < -ERR_CHILD || piece.in_n > *in_n || piece.out_n > room)
			return err_set(e, ERR_CORRUPT, name, "aprml-codecs.wasm failed");
		if (r == -ERR_MEMORY)
			return err_memory(e);
		if (r < 0)
			return err_set(e, (enum err_code)-r, name, "%.*s", (int)sizeof piece.fact, piece.fact);
		*in += piece.in_n;
		*in_n -= piece.in_n;
	} while (r == 0 && piece.out_n == 0 && piece.in_n > 0 && *in_n > 0);
	*out_n = piece.out_n;
	return r == 1;
}

static void
free_decoder(void *context)
{
	struct outside *x = context;

	if (x && x->number)
		host_decoder_free(x->number);
	free(x);
}

const struct codec codec_lz4 = {
	.name = "lz4",
	.ratio = LZ4_RATIO,
	.look = lz4_look,
	.decoder = lz4_decoder,
	.restart = restart,
	.decode = decode,
	.decoder_free = free_decoder,
};

const struct codec codec_zstd = {
	.name = "zstd",
	.low = 1,
	.high = 19,
	.usual = 3,
	.ratio = ZSTD_RATIO,
	.look = zstd_look,
	.decoder = zstd_decoder,
	.restart = restart,
	.decode = decode,
	.decoder_free = free_decoder,
};
