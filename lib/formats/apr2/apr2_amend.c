#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/num.h"
#include "formats/apr2/apr2_reader.h"
#include "stream/plan.h"

#define PIECE (1u << 16)

/* The head that is being written: everything before the data. */
struct amend {
	struct apr2_source *s;
	struct source *edited;
	struct out *o;
	struct apr2_meta meta; /* its text */
	uint64_t frames;       /* bytes of the frames between index and data */
	struct err *e;
};

static int
too_large(const struct amend *a)
{
	return err_set(a->e, ERR_FORMAT, a->s->reader.name, "the size of its header overflows");
}

/* Compute the size of the frames. */
static int
measure_frames(struct amend *a)
{
	const struct model *m = a->edited->plan;
	uint64_t n;
	size_t i;

	for (i = a->meta.span_count; i < m->blob_count; i++) {
		struct buf head = { 0 };
		int r = plan_blob_head(&m->blobs[i], &head);

		if (r == 0)
			r = frame_size(head.n, m->blobs[i].bytes, &n);
		buf_free(&head);
		if (r < 0 || num_add(a->frames, n, &a->frames) < 0)
			return too_large(a);
	}
	if (m->licence == MODEL_NONE)
		return 0;
	return frame_size(2, m->licence, &n) < 0 || num_add(a->frames, n, &a->frames) < 0
	           ? too_large(a) : 0;
}

/* Read a piece of the file, without moving the reader. */
static int
get(struct amend *a, uint64_t at, uint8_t *p, size_t n)
{
	while (n > 0) {
		ssize_t got = pread(a->s->reader.fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? err_errno(a->e, a->s->reader.name, "cannot be read")
			               : err_set(a->e, ERR_CORRUPT, a->s->reader.name,
			                         "became shorter meanwhile");
		p += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

static int
copy(struct amend *a, uint64_t at, uint64_t n)
{
	uint8_t piece[PIECE];
	size_t part;

	for (; n > 0; at += part, n -= part) {
		part = (size_t)num_min(n, sizeof piece);
		if (get(a, at, piece, part) < 0 || out_put(a->o, piece, part) < 0)
			return -1;
	}
	return 0;
}

/* Put the body of the item; with crc, as the body of a frame. */
static int
put_body(struct amend *a, uint32_t *crc)
{
	const uint8_t *p;
	size_t n;

	do {
		if (source_read(a->edited, &p, &n, a->e) < 0)
			return -1;
		if (n > 0 && (crc ? frame_write(a->o, crc, p, n) : out_put(a->o, p, n)) < 0)
			return -1;
	} while (n > 0);
	return 0;
}

/* The next item, which must be a blob or the licence: a frame of unknown kind among them would be
 * lost. */
static int
next(struct amend *a, struct item *item)
{
	int more = source_next(a->edited, item, a->e);

	if (more > 0 && item->kind != ITEM_BLOB && item->kind != ITEM_LICENCE)
		return err_set(a->e, ERR_FORMAT, a->s->reader.name, "has a frame of unknown kind "
		               "before its data: it is not changed in place");
	return more > 0 ? 0 : more < 0 ? -1
	       : err_set(a->e, ERR_CORRUPT, a->s->reader.name, "lacks a value of its plan");
}

/* Put the metadata with the long values in it, and spaces up to `bytes`. */
static int
put_metadata(struct amend *a, uint64_t bytes)
{
	struct item item;
	size_t i, done = 0;

	for (i = 0; i < a->meta.span_count; i++) {
		size_t at = (size_t)a->meta.spans[i].at;

		if (out_put(a->o, a->meta.text.p + done, at - done) < 0 || next(a, &item) < 0 ||
		    put_body(a, NULL) < 0)
			return -1;
		done = at;
	}
	if (out_put(a->o, a->meta.text.p + done, a->meta.text.n - done) < 0)
		return -1;
	return out_fill(a->o, ' ', bytes - a->meta.bytes);
}

static int
put_frame(struct amend *a, size_t blob)
{
	const struct model *m = a->edited->plan;
	bool licence = blob == m->blob_count;
	struct buf head = { 0 };
	struct item item;
	uint32_t crc = 0;
	int r = next(a, &item);

	if (r == 0 && licence)
		buf_text(&head, "{}");
	else if (r == 0 && plan_blob_head(&m->blobs[blob], &head) < 0)
		r = err_memory(a->e);
	if (r == 0)
		r = frame_put(a->o, licence ? "lice" : "blob", head.p, head.n, item.bytes);
	if (r == 0 && (put_body(a, &crc) < 0 || frame_end(a->o, crc) < 0))
		r = -1;
	buf_free(&head);
	return r;
}

static int
put_frames(struct amend *a)
{
	const struct model *m = a->edited->plan;
	size_t i, n = m->blob_count + (m->licence != MODEL_NONE);

	for (i = a->meta.span_count; i < n; i++)
		if (put_frame(a, i) < 0)
			return -1;
	return 0;
}

static int
put_head(struct amend *a)
{
	const struct apr2_header *h = &a->s->header;
	uint8_t p[APR2_HEADER];
	uint64_t other = APR2_HEADER + a->frames + h->index_bytes, bytes;

	if (num_add(other, a->meta.bytes, &bytes) < 0)
		return too_large(a);
	if (bytes > h->data_at)
		return format_no_room(&a->s->source, bytes - h->data_at, a->e);
	bytes = h->data_at - other;
	if (bytes > APR2_METADATA_MAX)
		return too_large(a);
	if (get(a, 0, p, sizeof p) < 0)
		return -1;
	le32_put(p + 12, APR2_HEADER);
	le32_put(p + 16, (uint32_t)bytes);
	le32_put(p + 20, (uint32_t)(APR2_HEADER + bytes));
	if (out_put(a->o, p, sizeof p) < 0 || put_metadata(a, bytes) < 0 ||
	    copy(a, h->index_at, h->index_bytes) < 0)
		return -1;
	return put_frames(a);
}

/* The CRC of the first n bytes of a file. */
static int
crc_of(struct amend *a, int fd, uint64_t n, uint32_t *crc)
{
	uint8_t piece[PIECE];
	uint64_t at = 0;

	for (*crc = 0; at < n;) {
		ssize_t got = pread(fd, piece, (size_t)num_min(n - at, sizeof piece), (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return err_errno(a->e, a->s->reader.name, "cannot be read");
		*crc = crc32_add(*crc, piece, (size_t)got);
		at += (uint64_t)got;
	}
	return 0;
}

/* Choose the reserved field of the index so that the CRC of the head stays, and with it that of
 * the file. */
static int
keep_crc(struct amend *a)
{
	uint64_t end = a->s->header.data_at;
	uint64_t at = end - a->frames - a->s->header.index_bytes + 4;
	uint32_t have, want, field;
	uint8_t p[4];

	if (out_flush(a->o) < 0 || crc_of(a, a->o->fd, end, &have) < 0 ||
	    crc_of(a, a->s->reader.fd, end, &want) < 0 ||
	    get(a, a->s->header.index_at + 4, p, sizeof p) < 0)
		return -1;
	field = le32(p) ^ crc32_patch(have, want, end - at - 4);
	le32_put(p, field);
	return out_patch(a->o, at, p, sizeof p);
}

int
apr2_amend(struct source *source, struct source *edited, const char *operation, struct out *o,
           struct err *e)
{
	struct apr2_source *s = (struct apr2_source *)source;
	struct amend a = { .s = s, .edited = edited, .o = o, .e = e };
	size_t *by_name;
	int r = -1;

	(void)operation;
	if (s->plan.signatures) {
		err_set(e, ERR_FORMAT, source->name, "is signed, and its signature lies after its "
		        "data: it is not changed in place");
		return err_hint(e, "without --in-place the change becomes a stream");
	}
	if (!(by_name = model_tensors_by_name(edited->plan, e)))
		return -1;
	if (apr2_meta_write(&a.meta, edited->plan, edited->plan, by_name, s->alignment, e) == 0 &&
	    measure_frames(&a) == 0 && put_head(&a) == 0)
		r = keep_crc(&a);
	apr2_meta_free(&a.meta);
	free(by_name);
	return r;
}
