#include "formats/apr1/apr1_writer.h"

#include "core/num.h"

unsigned
apr1_from(const struct apr1_sink *s, const char *name, unsigned usual)
{
	uint64_t v;

	return s->from && json_member_u64(s->from, name, &v) == 0 && v <= UINT16_MAX
	           ? (unsigned)v : usual;
}

int
apr1_recall(struct apr1_sink *s, const struct apr1_kept *k, struct buf *b, struct err *e)
{
	uint8_t *to = buf_room(b, (size_t)k->bytes);

	if (!to)
		return err_memory(e);
	b->n += (size_t)k->bytes;
	return spool_get(&s->kept, k->at, to, (size_t)k->bytes, e);
}

int
apr1_too_large(const struct apr1_sink *s, struct err *e)
{
	err_set(e, ERR_INVALID, s->out.name, "the model exceeds 4 GiB, which is what APR "
	        "version 1 has numbers for");
	return err_hint(e, "-t apr2 holds it");
}

int
apr1_spool(struct spool *to, const uint8_t *p, uint64_t n, struct err *e)
{
	uint64_t part;

	for (; n > 0; n -= part, p += part) {
		part = num_min(n, 1u << 20);
		if (spool_put(to, p, (size_t)part, e) < 0)
			return -1;
	}
	return 0;
}
