#include "formats/late.h"

#include <errno.h>
#include <unistd.h>

#include "core/base64.h"
#include "core/crc32.h"
#include "core/spool.h"

#define PIECE (1u << 18)

int
late_refuse(const struct out *o, const struct model *m, const char *where, struct err *e)
{
	if (o->seekable || (!m->signatures && !m->prov_count))
		return 0;
	err_set(e, ERR_USAGE, o->name, "a signature is written last into %s, which this "
	        "output does not allow", where);
	return err_hint(e, "-o FILE, or --plain to leave the signature out");
}

int
late_begin(struct buf *b, const struct item *item, struct err *e)
{
	buf_clear(b);
	return late_add(b, (const uint8_t *)item->head, item->head_bytes, e);
}

int
late_add(struct buf *b, const uint8_t *p, size_t n, struct err *e)
{
	buf_put(b, p, n);
	return buf_ok(b) ? 0 : err_memory(e);
}

int
late_put(struct out *o, const struct buf *b, uint64_t at, uint64_t length, uint32_t *crc,
         struct err *e)
{
	struct buf text = { 0 };
	int r = -1;

	base64_put(&text, b->p, b->n);
	if (!buf_ok(&text))
		err_memory(e);
	else if (text.n != length)
		err_set(e, ERR_CORRUPT, o->name,
		        "what comes contradicts the plan: a record or signature");
	else
		r = out_patch(o, at, text.p, text.n);
	if (r == 0 && crc)
		*crc = crc32_add(0, text.p, text.n);
	buf_free(&text);
	return r;
}

int
late_file_open(struct late_file *f, struct err *e)
{
	f->fd = spool_file(e);
	return f->fd < 0 ? -1 : out_fd(&f->out, f->fd, "spool file", e);
}

int
late_file_copy(struct late_file *f, struct out *to, struct err *e)
{
	uint64_t at = 0, bytes = out_tell(&f->out);
	struct buf piece = { 0 };
	int r = out_flush(&f->out);

	if (r == 0 && !buf_room(&piece, PIECE))
		r = err_memory(e);
	while (r == 0 && at < bytes) {
		ssize_t got = pread(f->fd, piece.p, PIECE, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			r = err_errno(e, f->out.name, "cannot be read");
		else
			r = out_put(to, piece.p, (size_t)got);
		at += got > 0 ? (uint64_t)got : 0;
	}
	buf_free(&piece);
	return r;
}

void
late_file_close(struct late_file *f)
{
	if (f->fd < 0)
		return;
	out_abandon(&f->out);
	close(f->fd);
	f->fd = -1;
}
