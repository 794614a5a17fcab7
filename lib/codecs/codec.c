#include "codecs/codec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"

static const struct codec *const codecs[] = { &codec_lz4, &codec_zstd };

struct encoder {
	const struct codec *codec;
	void *context;
	uint64_t left;  /* announced bytes still to come */
	size_t fill;
	uint8_t piece[CODEC_PIECE];
};

struct decoder {
	const struct codec *codec;
	void *context;
	uint64_t memory;
	const char *name;
	uint64_t stored, size; /* bytes still to read, bytes still to produce */
	uint64_t announced;
	bool ended;
	uint8_t piece[CODEC_PIECE];
};

const struct codec *
codec_row(unsigned index)
{
	return index < sizeof codecs / sizeof *codecs ? codecs[index] : NULL;
}

static int
parse_level(const struct codec *c, const char *text, int *level, struct err *e)
{
	uint64_t n;

	if (!*text) {
		*level = c->usual;
		return 0;
	}
	if (c->high == 0)
		return err_set(e, ERR_USAGE, NULL, "%s has no levels", c->name);
	if (text_u64(text + 1, (uint64_t)c->low, (uint64_t)c->high, &n) < 0)
		return err_set(e, ERR_USAGE, NULL, "%s has levels from %d to %d, not %.40s",
		               c->name, c->low, c->high, text + 1);
	*level = (int)n;
	return 0;
}

int
codec_parse(const char *text, const struct codec **codec, int *level, struct err *e)
{
	size_t n = strcspn(text, ":");
	unsigned i;

	for (i = 0; (*codec = codec_row(i)); i++)
		if (strlen((*codec)->name) == n && strncmp(text, (*codec)->name, n) == 0)
			return parse_level(*codec, text + n, level, e);
	return err_set(e, ERR_USAGE, NULL, "no compression %.40s; there are lz4 and zstd",
	               text);
}

bool
codec_plausible(const struct codec *c, uint64_t stored, uint64_t size)
{
	uint64_t most;

	return stored <= INT64_MAX && (num_mul(stored, c->ratio, &most) < 0 || size <= most);
}

/* ---- encoding ---- */

struct encoder *
encoder_new(const struct codec *c, int level, struct err *e)
{
	struct encoder *x;

	if (!c->encoder) {
		err_set(e, ERR_USAGE, NULL, "this module does not compress");
		return NULL;
	}
	if ((x = mem_array(1, sizeof *x))) {
		x->codec = c;
		x->context = c->encoder(level);
		if (x->context)
			return x;
	}
	free(x);
	err_memory(e);
	return NULL;
}

/* Encodes a full piece, or the last one. Pieces begin at multiples of their size, and the
 * encoder is flushed after each, so that the output does not depend on how the bytes
 * arrive. */
static int
encode_piece(struct encoder *x, const uint8_t *p, size_t n, struct buf *out,
             struct err *e)
{
	x->left -= n;
	x->fill = 0;
	if (x->codec->encode(x->context, p, n, x->left == 0, out, e) < 0)
		return -1;
	return buf_ok(out) ? 0 : err_memory(e);
}

int
encoder_begin(struct encoder *x, uint64_t bytes, struct buf *out, struct err *e)
{
	x->left = bytes;
	x->fill = 0;
	if (x->codec->begin(x->context, bytes, out, e) < 0)
		return -1;
	if (bytes == 0)
		return encode_piece(x, NULL, 0, out, e);
	return buf_ok(out) ? 0 : err_memory(e);
}

int
encoder_put(struct encoder *x, const uint8_t *p, size_t n, struct buf *out, struct err *e)
{
	while (n > 0) {
		size_t want = (size_t)num_min(x->left, CODEC_PIECE), part;

		if (want == 0)
			return err_set(e, ERR_CORRUPT, NULL, "more comes to be compressed by %s than "
			               "was announced", x->codec->name);
		if (x->fill == 0 && n >= want) {
			if (encode_piece(x, p, want, out, e) < 0)
				return -1;
			p += want;
			n -= want;
			continue;
		}
		part = want - x->fill < n ? want - x->fill : n;
		memcpy(x->piece + x->fill, p, part);
		x->fill += part;
		p += part;
		n -= part;
		if (x->fill == want && encode_piece(x, x->piece, want, out, e) < 0)
			return -1;
	}
	return 0;
}

void
encoder_free(struct encoder *x)
{
	if (x)
		x->codec->encoder_free(x->context);
	free(x);
}

/* ---- decoding ---- */

struct decoder *
decoder_new(const struct codec *c, uint64_t memory, struct err *e)
{
	struct decoder *x = mem_array(1, sizeof *x);

	if (x) {
		x->codec = c;
		x->memory = memory ? memory : CODEC_MEMORY;
		x->context = c->decoder();
		if (x->context)
			return x;
	}
	free(x);
	err_memory(e);
	return NULL;
}

static int
too_wide(const struct decoder *x, uint64_t window, struct err *e)
{
	char needed[32], allowed[32];

	err_set(e, ERR_MEMORY, x->name, "its %s frame needs a window of %s, over the limit "
	        "of %s", x->codec->name, text_size(needed, sizeof needed, window),
	        text_size(allowed, sizeof allowed, x->memory));
	return err_hint(e, "apr-unpack --max-memory raises it");
}

int
decoder_begin(struct decoder *x, uint64_t stored, uint64_t size, const uint8_t *head,
              size_t n, const char *name, struct err *e)
{
	struct codec_frame f = { .sized = false };

	x->name = name;
	x->stored = stored;
	x->size = x->announced = size;
	x->ended = false;
	if (x->codec->look(head, n, &f) < 0)
		return err_set(e, ERR_CORRUPT, name, "the stored bytes are not a %s frame",
		               x->codec->name);
	if (f.dictionary)
		return err_set(e, ERR_FORMAT, name, "its %s frame needs a dictionary",
		               x->codec->name);
	if (f.sized && f.bytes != size)
		return err_set(e, ERR_CORRUPT, name, "its %s frame says that it stands for %" PRIu64
		               " bytes, not %" PRIu64, x->codec->name, f.bytes, size);
	if (f.window > x->memory)
		return too_wide(x, f.window, e);
	return x->codec->restart(x->context) < 0 ? err_memory(e) : 0;
}

/* Checks that both lengths are used up where the frame ends. */
static int
check_end(const struct decoder *x, struct err *e)
{
	if (x->size)
		return err_set(e, ERR_CORRUPT, x->name, "its %s frame holds %" PRIu64
		               " bytes, not %" PRIu64, x->codec->name,
		               x->announced - x->size, x->announced);
	if (x->stored)
		return err_set(e, ERR_CORRUPT, x->name, "%" PRIu64 " bytes are stored after its "
		               "%s frame", x->stored, x->codec->name);
	return 1;
}

int
decoder_step(struct decoder *x, const uint8_t **in, size_t *in_n,
             const uint8_t **out, size_t *out_n, struct err *e)
{
	size_t before = *in_n;
	int r;

	*out = x->piece;
	*out_n = 0;
	if (x->ended)
		return check_end(x, e);
	*out_n = sizeof x->piece;
	r = x->codec->decode(x->context, in, in_n, x->piece, out_n, x->name, e);
	if (r < 0)
		return -1;
	x->stored -= before - *in_n;
	if (*out_n > x->size)
		return err_set(e, ERR_CORRUPT, x->name, "its %s frame holds more than %" PRIu64
		               " bytes", x->codec->name, x->announced);
	x->size -= *out_n;
	x->ended = r == 1;
	/* Return the last bytes before reporting the end. */
	if (x->ended)
		return *out_n ? 0 : check_end(x, e);
	if (*out_n == 0 && x->stored == 0)
		return err_set(e, ERR_CORRUPT, x->name, "its %s frame is cut short",
		               x->codec->name);
	return 0;
}

void
decoder_free(struct decoder *x)
{
	if (x)
		x->codec->decoder_free(x->context);
	free(x);
}
