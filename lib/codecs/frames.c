#include "codecs/frames.h"

#include "core/le.h"

#define ZSTD_MAGIC 0xfd2fb528u
#define LZ4_MAGIC 0x184d2204u

/* The frame of LZ4 (LZ4 Frame Format 1.6): magic, FLG, BD, content size if FLG says so,
 * dictionary number likewise, header checksum, blocks, end mark. */
#define FLG_DICTIONARY 0x01
#define FLG_SIZED 0x08

/* The head of a frame (RFC 8878, 3.1.1.1): magic, descriptor, window unless the
 * whole content is the window, dictionary number, content size. */
int
zstd_look(const uint8_t *head, size_t n, struct codec_frame *f)
{
	static const unsigned id_bytes[] = { 0, 1, 2, 4 }, size_bytes[] = { 0, 2, 4, 8 };
	unsigned at = 5, id, size;
	bool single;

	if (n < 6 || le32(head) != ZSTD_MAGIC)
		return -1;
	single = head[4] & 0x20;
	id = id_bytes[head[4] & 3];
	size = size_bytes[head[4] >> 6];
	if (single && size == 0)
		size = 1;
	if (n < at + !single + id + size)
		return -1;
	f->dictionary = id > 0;
	if (!single) {
		uint64_t base = (uint64_t)1 << (10 + (head[at] >> 3));

		f->window = base + base / 8 * (head[at] & 7);
		at++;
	}
	at += id;
	f->sized = size > 0;
	if (size == 1)
		f->bytes = head[at];
	else if (size == 2)
		f->bytes = 256 + (uint64_t)le16(head + at);
	else if (size == 4)
		f->bytes = le32(head + at);
	else if (size == 8)
		f->bytes = le64(head + at);
	if (single)
		f->window = f->bytes;
	return 0;
}

/* Frames from other writers may have blocks up to 4 MiB, and blocks that refer to the 64
 * KiB before them. */
int
lz4_look(const uint8_t *head, size_t n, struct codec_frame *f)
{
	unsigned block;

	if (n < 7 || le32(head) != LZ4_MAGIC)
		return -1;
	block = head[5] >> 4 & 7;
	f->dictionary = head[4] & FLG_DICTIONARY;
	f->sized = head[4] & FLG_SIZED;
	if (f->sized && n < 15)
		return -1;
	if (f->sized)
		f->bytes = le64(head + 6);
	f->window = block < 4 ? 0 : (uint64_t)1 << (2 * block + 8);
	return 0;
}
