#include "quant/key_value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"

/* The part of text behind "TYPE:", or NULL if it does not begin so. */
static const char *
after(const char *text, const char *type)
{
	size_t n = strlen(type);

	return strncmp(text, type, n) == 0 ? text + n : NULL;
}

static int
put_int(struct key_value *k, const char *text)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v > UINT32_MAX)
		return -1;
	k->type.leaf = VALUE_U32;
	buf_u32(&k->wire, (uint32_t)v);
	return 0;
}

static int
put_float(struct key_value *k, const char *text)
{
	uint32_t bits;
	char *end;
	float v;

	v = strtof(text, &end);
	if (!*text || *end || !isfinite(v))
		return -1;
	memcpy(&bits, &v, sizeof bits);
	k->type.leaf = VALUE_F32;
	buf_u32(&k->wire, bits);
	return 0;
}

static int
put_bool(struct key_value *k, const char *text)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return -1;
	k->type.leaf = VALUE_BOOL;
	buf_u8(&k->wire, *text == 't');
	return 0;
}

static int
put_text(struct key_value *k, const char *text)
{
	if (!text_utf8(text, strlen(text), true))
		return -1;
	k->type.leaf = VALUE_STRING;
	buf_u64(&k->wire, strlen(text));
	buf_text(&k->wire, text);
	return 0;
}

static int
put_value(struct key_value *k, const char *text)
{
	const char *value;

	if ((value = after(text, "int:")))
		return put_int(k, value);
	if ((value = after(text, "float:")))
		return put_float(k, value);
	if ((value = after(text, "bool:")))
		return put_bool(k, value);
	if ((value = after(text, "str:")))
		return put_text(k, value);
	return -1;
}

int
key_values_add(struct key_values *v, const char *text, struct err *e)
{
	const char *equals = strchr(text, '=');
	struct key_value *k;

	if (!equals || equals == text || !text_utf8(text, (size_t)(equals - text), false))
		return err_set(e, ERR_USAGE, text, "is not KEY=TYPE:VALUE");
	if (mem_grow(&v->items, &v->cap, v->n + 1, sizeof *v->items) < 0)
		return err_memory(e);
	k = &v->items[v->n++];
	k->key = mem_text(text, (size_t)(equals - text));
	if (!k->key)
		return err_memory(e);
	if (strcmp(k->key, "general.alignment") == 0) {
		err_set(e, ERR_USAGE, text, "is the container's, not the model's");
		return err_hint(e, "apr-pack --align sets it");
	}
	if (put_value(k, equals + 1) < 0 ||
	    (buf_ok(&k->wire) && !value_is_inline(k->type, k->wire.p, k->wire.n)))
		return err_set(e, ERR_USAGE, text, "gives no int:, float:, bool: or str: that its "
		               "type can hold");
	return buf_ok(&k->wire) ? 0 : err_memory(e);
}

int
key_values_apply(const struct key_values *v, struct model *m, struct err *e)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		if (model_put_meta(m, v->items[i].key, v->items[i].type, v->items[i].wire.p,
		                   v->items[i].wire.n, e) < 0)
			return -1;
	return 0;
}

void
key_values_free(struct key_values *v)
{
	while (v->n > 0) {
		free(v->items[--v->n].key);
		buf_free(&v->items[v->n].wire);
	}
	free(v->items);
	*v = (struct key_values){ 0 };
}
