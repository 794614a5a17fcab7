/* The frames of a stream, or of a part of a container, that may be broken. */
#include <inttypes.h>
#include <string.h>

#include "core/le.h"
#include "model/outline.h"
#include "stream/frame.h"

#define FRAMES (1u << 20) /* that are followed */

static bool
is_kind(const uint8_t *p)
{
	size_t i;

	for (i = 0; i < 4; i++)
		if (!((p[i] >= 'A' && p[i] <= 'Z') || (p[i] >= 'a' && p[i] <= 'z')))
			return false;
	return true;
}

/* Adds the frame at the reader's place, and skips it. */
static int
walk_frame(struct reader *r, struct outline *o, const uint8_t *p)
{
	uint64_t at = reader_tell(r), head = le32(p + 4), body = le64(p + 8), all;
	char kind[5] = { 0 };

	memcpy(kind, p, 4);
	if (frame_size(head, body, &all) < 0 || all > reader_left(r)) {
		outline_add(o, at, reader_left(r), "frame %s, which ends after the file", kind);
		return outline_stop(o, r, "frame %s has a head of %" PRIu64 " and a body of %" PRIu64
		                    " bytes, more than the file", kind, head, body);
	}
	outline_add(o, at, all, "frame %s: head %" PRIu64 ", body %" PRIu64 " bytes", kind, head,
	            body);
	return reader_skip(r, all);
}

void
frames_outline(struct reader *r, struct outline *o, uint64_t end)
{
	size_t n;
	const uint8_t *p;

	while (reader_tell(r) < end && o->parts_more < FRAMES) {
		p = reader_peek(r, FRAME_PREFIX, &n);
		if (!p || n < FRAME_PREFIX || !is_kind(p) || walk_frame(r, o, p) < 0)
			return;
	}
}
