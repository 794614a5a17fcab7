/* codec: streaming compression in bounded memory.
 *
 * Each codec's format is one frame that states its decompressed size. The output of an
 * encoder depends only on the bytes, the level and the version of the library, not on how
 * the bytes are split or on earlier frames. Encoder and decoder hold one window at most.
 */
#ifndef CODECS_CODEC_H
#define CODECS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/only.h"

#define CODEC_PIECE (1u << 17)       /* bytes that are encoded or decoded at once */
#define CODEC_HEAD 24                /* first bytes that describe a frame */
#define CODEC_MEMORY (32u << 20)     /* default maximum of a frame's window */

/* The contents of a frame's head. */
struct codec_frame {
	bool sized;          /* it states the decompressed size, */
	uint64_t bytes;      /* which is this */
	uint64_t window;     /* bytes that a decoder must keep */
	bool dictionary;     /* it needs a dictionary */
};

struct codec {
	const char *name;
	int low, high, usual; /* levels: lowest, highest, default; all 0: none */
	uint64_t ratio;       /* maximum of decompressed bytes per stored byte */

	/* Private. A context is NULL if memory runs out. encode compresses the next n
	 * bytes (up to CODEC_PIECE) of those that begin announced and appends the result to
	 * out, with `last` also the end of the frame. decode advances *in by the bytes it
	 * used and sets *out_n to the bytes it made; it returns 1 at the end of the frame.
	 * Both return -1 with e filled on failure. */
	void *(*encoder)(int level);
	int (*begin)(void *x, uint64_t bytes, struct buf *out, struct err *e);
	int (*encode)(void *x, const uint8_t *p, size_t n, bool last, struct buf *out,
	              struct err *e);
	void (*encoder_free)(void *x);
	int (*look)(const uint8_t *head, size_t n, struct codec_frame *f);
	void *(*decoder)(void);
	int (*restart)(void *x);
	int (*decode)(void *x, const uint8_t **in, size_t *in_n, uint8_t *out, size_t *out_n,
	              const char *name, struct err *e);
	void (*decoder_free)(void *x);
};

extern const struct codec codec_lz4, codec_zstd;

/* A tensor without its zeros (wire/sparse.h): these rows only decode. kind: enum sparse_kind, not
 * SPARSE_NONE. */
const struct codec *codec_sparse(unsigned kind);

/* The codecs lz4 and zstd by number; NULL after the last. */
const struct codec *codec_row(unsigned index);

/* Parses "lz4", "zstd" or "zstd:19". ERR_USAGE for anything else. */
int codec_parse(const char *text, const struct codec **codec, int *level, struct err *e);

/* Whether `stored` bytes (fewer than 2^63) can decompress to `size` bytes at all, so that
 * impossible sizes are refused before anything is read. */
bool codec_plausible(const struct codec *c, uint64_t stored, uint64_t size);

/* NULL with e filled (no memory). */
struct encoder *encoder_new(const struct codec *c, int level, struct err *e);

/* encoder_begin begins a frame for `bytes` bytes, even if the one before was not ended.
 * encoder_put compresses them and appends what is ready to out; the last bytes also end
 * the frame. After each full CODEC_PIECE nothing is held back. Return 0, or -1 with e
 * filled. */
int encoder_begin(struct encoder *x, uint64_t bytes, struct buf *out, struct err *e);
int encoder_put(struct encoder *x, const uint8_t *p, size_t n, struct buf *out,
                struct err *e);
void encoder_free(struct encoder *x);

/* A decoder that refuses frames with a window of more than `memory` bytes (0:
 * CODEC_MEMORY) with ERR_MEMORY. NULL with e filled. */
struct decoder *decoder_new(const struct codec *c, uint64_t memory, struct err *e);

/* Begins a frame that has exactly `stored` bytes and decompresses to exactly `size` bytes.
 * head: its first CODEC_HEAD bytes, or all if there are fewer. name: of the contents, for
 * messages; must outlive the decoder. ERR_CORRUPT, ERR_FORMAT, ERR_MEMORY. */
int decoder_begin(struct decoder *x, uint64_t stored, uint64_t size, const uint8_t *head,
                  size_t n, const char *name, struct err *e);

/* Decodes from *in and advances it. Sets *out to *out_n bytes, which the decoder owns and
 * the next call overwrites; *out_n is 0 if more input is needed. Returns 1 when the frame
 * has ended and both lengths are exactly as announced; do not trust the bytes before that.
 * Returns 0 until then, and -1 with e filled: ERR_CORRUPT, or ERR_CHECKSUM if the frame's
 * own checksum is wrong. */
int decoder_step(struct decoder *x, const uint8_t **in, size_t *in_n,
                 const uint8_t **out, size_t *out_n, struct err *e);
void decoder_free(struct decoder *x);

#endif
