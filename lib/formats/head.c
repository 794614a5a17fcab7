#include "formats/head.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"

int
head_warn(struct source *s, struct reader *r, bool strict, const char *fmt, ...)
{
	char fact[512], text[640];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fact, sizeof fact, fmt, ap);
	va_end(ap);
	if (strict)
		return reader_fail(r, ERR_CORRUPT, "%s", fact);
	snprintf(text, sizeof text, "%.120s: %s", r->name, fact);
	if (s->note)
		s->note(text);
	return 0;
}

int
head_follows(struct reader *r, const char *what, uint64_t end, uint64_t at)
{
	uint64_t up;

	if (at < end)
		return reader_fail(r, ERR_CORRUPT, "the %s begins at byte %" PRIu64
		                   ", but what lies before it ends at %" PRIu64, what, at, end);
	if (num_align(end, 64, &up) < 0 || at > up)
		return reader_fail(r, ERR_CORRUPT, "a hole of %" PRIu64
		                   " bytes lies before the %s", at - end, what);
	return 0;
}

int
head_metadata(struct reader *r, uint64_t n, struct spool *to)
{
	const uint8_t *p;
	size_t got;

	if (n > reader_left(r))
		return reader_fail(r, ERR_CORRUPT, "metadata of %" PRIu64 " bytes exceeds the %"
		                   PRIu64 " bytes left", n, reader_left(r));
	for (; n > 0; n -= got)
		if (!(p = reader_some(r, n, &got)) || spool_put(to, p, got, r->err) < 0)
			return -1;
	return 0;
}

int
head_skip_padding(struct reader *r, uint64_t n, struct oddities *o, const char *object)
{
	const uint64_t at = reader_tell(r);
	const uint8_t *p;

	if (n == 0 || n > 65536)
		return reader_skip(r, n);
	if (!(p = reader_take(r, (size_t)n)))
		return -1;
	oddities_padding(o, object, at, p, (size_t)n);
	return 0;
}

bool
head_last(struct reader *r, uint8_t *to, size_t n)
{
	uint64_t here = reader_tell(r);
	bool on = r->crc_on;
	const uint8_t *p = NULL;

	if (!r->seekable || r->failed || r->end < n)
		return false;
	r->crc_on = false;
	if (reader_seek(r, r->end - n) == 0 && (p = reader_take(r, n)))
		memcpy(to, p, n);
	reader_seek(r, here);
	r->crc_on = on;
	return p != NULL;
}

json_t *
head_flags(uint32_t flags, uint32_t known, const char *(*name)(uint32_t bit))
{
	json_t *list = json_array();
	uint32_t bit;
	char text[16];
	int r = 0;

	for (bit = 1; bit <= known; bit <<= 1)
		if (flags & known & bit)
			r |= json_array_append_new(list, json_string(name(bit)));
	if (flags & ~known) {
		snprintf(text, sizeof text, "0x%" PRIx32, flags & ~known);
		r |= json_array_append_new(list, json_string(text));
	}
	if (r == 0)
		return list;
	json_decref(list);
	return NULL;
}

json_t *
head_crc(uint32_t crc)
{
	char text[16];

	snprintf(text, sizeof text, "0x%08" PRIx32, crc);
	return json_string(text);
}
