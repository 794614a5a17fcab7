/* mutate: changes that keep lengths and checksums right. With the fuzzer's own changes
 * alone, about one input in a million would get past these checks.
 */
#ifndef MUTATE_H
#define MUTATE_H

#include "fuzz.h"

#include "core/le.h"
#include "stream/frame.h"
#include "stream/plan.h"

/* The fuzzer's; not there in a replay, which never asks for it. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

#define MUTATE_MORE 512 /* bytes by which a piece may grow */

/* n bytes of b from at, changed; what lies behind them moves. */
static void
mutate_piece(struct buf *b, size_t at, size_t *n)
{
	uint8_t *piece = malloc(*n + MUTATE_MORE);
	size_t rest = b->n - at - *n, changed;
	struct buf tail = { 0 };

	must(piece);
	memcpy(piece, b->p + at, *n);
	changed = LLVMFuzzerMutate(piece, *n, *n + MUTATE_MORE);
	buf_put(&tail, b->p + at + *n, rest);
	b->n = at;
	buf_put(b, piece, changed);
	buf_put(b, tail.p, tail.n);
	*n = changed;
	buf_free(&tail);
	free(piece);
}

/* ---- frames ---- */

struct piece {
	size_t at, head, body; /* of a frame: its offset, bytes of head and body */
};

/* The frames at the beginning of data. */
__attribute__((unused)) static size_t
mutate_frames(const uint8_t *data, size_t size, struct piece *list, size_t most)
{
	size_t at = 0, n = 0;

	while (n < most && size - at >= FRAME_OVERHEAD) {
		uint64_t head = le32(data + at + 4), body = le64(data + at + 8);

		if (head > size - at - FRAME_OVERHEAD ||
		    body > size - at - FRAME_OVERHEAD - head)
			break;
		list[n++] = (struct piece){ at, (size_t)head, (size_t)body };
		at += FRAME_OVERHEAD + (size_t)(head + body);
	}
	return n;
}

static void
mutate_put_frame(struct buf *b, const char *kind, const void *head, size_t head_bytes,
                 const void *body, size_t n)
{
	frame_build(b, kind, head, head_bytes, n);
	buf_put(b, body, n);
	buf_u32(b, crc32_add(0, body, n));
}

/* A frame of which one part is changed, as a whole again. */
__attribute__((unused)) static void
mutate_frame(struct buf *b, const uint8_t *data, const struct piece *p, unsigned seed)
{
	const uint8_t *head = data + p->at + FRAME_PREFIX;
	struct buf text = { 0 }, body = { 0 };
	char kind[5] = { 0 };
	size_t n;

	memcpy(kind, data + p->at, 4);
	buf_put(&text, head, p->head);
	buf_put(&body, head + p->head + 4, p->body);
	n = seed & 1 ? text.n : body.n;
	mutate_piece(seed & 1 ? &text : &body, 0, &n);
	mutate_put_frame(b, kind, text.p, text.n, body.p, body.n);
	buf_free(&text);
	buf_free(&body);
}

/* Back into the fuzzer's buffer; size where it does not fit. */
__attribute__((unused)) static size_t
mutate_done(struct buf *b, uint8_t *data, size_t size, size_t max)
{
	must(buf_ok(b));
	if (b->n > 0 && b->n <= max) {
		memcpy(data, b->p, b->n);
		size = b->n;
	}
	buf_free(b);
	return size;
}

#endif
