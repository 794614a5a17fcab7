/* codec: bytes into fewer bytes and back, as they come, in bounded memory.
 *
 * Each codec's format is one frame that says how many bytes it stands for. What
 * an encoder makes depends on the bytes, the level and the version of the
 * library alone: not on the pieces in which they come, nor on what it encoded
 * before. Neither side holds more than a window of them.
 */
#ifndef CODECS_CODEC_H
#define CODECS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define CODEC_PIECE (1u << 17)       /* bytes that are encoded, or decoded, at once */
#define CODEC_HEAD 18                /* bytes that tell all that a frame asks for */
#define CODEC_MEMORY (32u << 20)     /* the window that a frame may ask for, usually */

/* What the head of a frame says. */
struct codec_frame {
	bool sized;          /* it says how many bytes it stands for: */
	uint64_t bytes;
	uint64_t window;     /* bytes that its decoder keeps */
	bool dictionary;     /* it needs more than itself */
};

struct codec {
	const char *name;
	int low, high, usual; /* levels; all 0: it has none */
	uint64_t ratio;       /* a stored byte never stands for more bytes than this */

	/* Private. Contexts are NULL where there is no memory. encode: n bytes (up
	 * to CODEC_PIECE), all of what begin announced in order; what comes of them
	 * is appended to out, and with last the end of the frame. decode: moves on
	 * by what it used, and says how much it made; 1 at the end of the frame.
	 * Both return -1 with e filled. */
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

/* lz4, zstd; NULL at the end. */
const struct codec *codec_row(unsigned index);

/* "lz4", "zstd", "zstd:19". ERR_USAGE for anything else. */
int codec_parse(const char *text, const struct codec **codec, int *level, struct err *e);

/* True if size bytes can be stored as stored ones (of which a file has no more
 * than 2^63) at all: what is stored need not be read to refuse it. */
bool codec_plausible(const struct codec *c, uint64_t stored, uint64_t size);

/* NULL with e filled (memory). */
struct encoder *encoder_new(const struct codec *c, int level, struct err *e);

/* Begin a frame of so many bytes, whether the one before was ended or not. Then
 * put them; what is ready is appended to out, and with the last of them the
 * end of the frame. After every CODEC_PIECE of them nothing is held back.
 * 0, or -1 with e filled. */
int encoder_begin(struct encoder *x, uint64_t bytes, struct buf *out, struct err *e);
int encoder_put(struct encoder *x, const uint8_t *p, size_t n, struct buf *out,
                struct err *e);
void encoder_free(struct encoder *x);

/* A decoder that refuses (ERR_MEMORY) frames with a window of more than memory
 * bytes (0: CODEC_MEMORY). NULL with e filled. */
struct decoder *decoder_new(const struct codec *c, uint64_t memory, struct err *e);

/* Begin a frame that is stored bytes long and stands for size bytes, exactly.
 * head: its first bytes, CODEC_HEAD or all of them. name: of what it holds, for
 * faults; must outlive it. ERR_CORRUPT, ERR_FORMAT, ERR_MEMORY. */
int decoder_begin(struct decoder *x, uint64_t stored, uint64_t size, const uint8_t *head,
                  size_t n, const char *name, struct err *e);

/* Decode on from *in, which is moved on. *out_n bytes at *out, which are the
 * decoder's until the next call; 0 of them where more input is needed. Returns 1
 * once the frame has ended and is proved to be neither longer nor shorter, in
 * both lengths, than was announced. Only then is it what it claims to be. 0
 * before, and -1 with e filled: ERR_CORRUPT, or ERR_CHECKSUM where the frame has
 * checksums of its own. */
int decoder_step(struct decoder *x, const uint8_t **in, size_t *in_n,
                 const uint8_t **out, size_t *out_n, struct err *e);
void decoder_free(struct decoder *x);

#endif
