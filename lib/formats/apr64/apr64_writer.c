#include "formats/apr64/apr64_writer.h"

#include <string.h>

int
apr64_flush(struct apr64_sink *s, struct err *e)
{
	int r;

	if (!buf_ok(&s->b))
		return err_memory(e);
	r = spool_put(&s->text, s->b.p, s->b.n, e);
	buf_clear(&s->b);
	return r;
}

void
apr64_put_name(struct apr64_sink *s, const char *prefix, const char *name)
{
	struct buf b = { 0 };

	buf_text(&b, prefix);
	buf_text(&b, name);
	/* The first byte of the text is the object's brace. */
	if (s->text.bytes + s->b.n > 1)
		buf_text(&s->b, ",");
	if (buf_ok(&b))
		json_quote(&s->b, b.n ? (char *)b.p : "", b.n);
	else
		s->b.failed = true;
	buf_text(&s->b, ":");
	buf_free(&b);
}

bool
apr64_has_member(const struct apr64_sink *s, const char *name)
{
	const char *canonical;
	size_t i;

	for (i = 0; i < s->plan->meta_count; i++) {
		if (!s->member[i])
			continue;
		apr64_alias(s->plan->meta[i].key, &canonical);
		if (strcmp(canonical, name) == 0)
			return true;
	}
	return false;
}
