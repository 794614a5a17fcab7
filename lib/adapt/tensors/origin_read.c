#include "adapt/tensors/origin_read.h"

#include <string.h>

#include "adapt/tensors/origin.h"
#include "core/base64.h"

json_t *
origin_read(const struct subject *s, struct err *e)
{
	struct value_type type;
	const uint8_t *p;
	const char *text;
	size_t n, length;

	p = weights_value(&s->w, ORIGIN_KEY, &type, &n);
	if (!p)
		return NULL;
	text = value_string(type, p, n, &length);
	if (!text) {
		err_set(e, ERR_CORRUPT, s->w.name, "key %s is not a string", ORIGIN_KEY);
		return NULL;
	}
	return json_parse(text, length, ERR_CORRUPT, ORIGIN_KEY, e);
}

const char *
origin_lookup(const json_t *origin, const char *member, const char *name,
              const char *template)
{
	const json_t *o = json_object_get(origin, member);
	const char *found = json_string_value(json_object_get(o, name));

	return found ? found : json_string_value(json_object_get(o, template));
}

uint8_t *
origin_bytes(const char *text, size_t *n, struct err *e)
{
	struct base64_reader r = { 0 };
	struct buf b = { 0 };

	if (base64_add(&r, text, strlen(text), &b) < 0 || base64_end(&r) < 0 || !buf_string(&b)) {
		buf_free(&b);
		err_set(e, ERR_CORRUPT, ORIGIN_KEY, "holds bytes that are not base64");
		return NULL;
	}
	*n = b.n;
	return b.p;
}
