#include "formats/late.h"

#include "core/base64.h"
#include "core/crc32.h"

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
