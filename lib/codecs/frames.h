/* frames: what the heads of compressed frames say, read without the libraries.
 */
#ifndef CODECS_FRAMES_H
#define CODECS_FRAMES_H

#include "codecs/codec.h"

/* The best ratio of zstd: a block of 3 bytes of head and one byte that is repeated 128 KiB
 * times. */
#define ZSTD_RATIO 32768
#define LZ4_RATIO 255

/* As look of struct codec: 0, or -1 if the n bytes do not begin a frame. */
int zstd_look(const uint8_t *head, size_t n, struct codec_frame *f);
int lz4_look(const uint8_t *head, size_t n, struct codec_frame *f);

#endif
