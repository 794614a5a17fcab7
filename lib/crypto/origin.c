#include "crypto/origin.h"

#include <string.h>

#include "core/text.h"

#define NUMBER_MOST 1048576 /* the maximum of padding, offsets and alignments */

/* ---- forms ---- */

static bool
is_number(const json_t *v)
{
	return json_is_integer(v) && json_integer_value(v) >= 0 &&
	       json_integer_value(v) <= NUMBER_MOST;
}

static bool
is_flag(const json_t *v)
{
	return json_is_boolean(v);
}

/* Letters, digits and a few other characters, at most 32. */
static bool
is_word(const json_t *v)
{
	const char *s = json_string_value(v);
	static const char known[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";

	return s && *s && strlen(s) <= 32 && strspn(s, known) == strlen(s);
}

static bool
is_version(const json_t *v)
{
	return is_number(v) || is_word(v);
}

/* Numbers of tensors; packing proves that each is there once. */
static bool
is_order(const json_t *v)
{
	const json_t *x;
	size_t i;

	if (!json_is_array(v))
		return false;
	json_array_foreach(v, i, x)
		if (!json_is_integer(x) || json_integer_value(x) < 0)
			return false;
	return true;
}

/* dtype, shape, data_offsets in some order. */
static bool
is_members(const json_t *v)
{
	static const char *const names[] = { "dtype", "shape", "data_offsets" };
	unsigned seen = 0;
	const json_t *x;
	size_t i, k;

	if (!json_is_array(v) || json_array_size(v) != 3)
		return false;
	json_array_foreach(v, i, x)
		for (k = 0; k < 3; k++)
			if (json_is_string(x) && strcmp(json_string_value(x), names[k]) == 0)
				seen |= 1u << k;
	return seen == 7;
}

/* A plain name of a file with this suffix. */
static bool
is_name(const json_t *v, const char *end)
{
	static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                            "0123456789.-_";
	const char *s = json_string_value(v);
	size_t n = s ? strlen(s) : 0;

	return n > strlen(end) && n <= 255 && *s != '.' && *s != '-' &&
	       strspn(s, known) == n && strcmp(s + n - strlen(end), end) == 0;
}

static bool
is_file(const json_t *v)
{
	return is_name(v, ".safetensors");
}

/* The flags that make an index of chunks or of tensors in an APR version 1 file. */
static bool
is_apr1_flags(const json_t *v)
{
	return json_is_integer(v) && (json_integer_value(v) & ~0x14) == 0;
}

/* The text of the metadata in such a file: packing uses only the parts that equal the
 * keys. */
static bool
is_base64(const json_t *v)
{
	static const char known[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                            "0123456789+/=";
	const char *s = json_string_value(v);

	return s && strspn(s, known) == strlen(s);
}

static bool
is_compression(const json_t *v)
{
	return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= 3;
}

/* ---- which members ---- */

struct form {
	const char *name;
	bool (*is)(const json_t *v);
	const struct form *of;  /* an object of these, */
	bool list;              /* or a list of such objects */
};

static const struct form apr1[] = {
	{ .name = "flags", .is = is_apr1_flags },
	{ .name = "compression", .is = is_compression },
	{ .name = "metadata", .is = is_base64 },
	{ .name = NULL },
};

#define STYLE \
	{ .name = "metadata_at", .is = is_number }, { .name = "padding", .is = is_number }, \
	{ .name = "members", .is = is_members }, { .name = "spaced", .is = is_flag }, \
	{ .name = "ascii", .is = is_flag }, { .name = "file", .is = is_file }

static const struct form shard[] = {
	STYLE,
	{ .name = "tensors", .is = is_number },
	{ .name = "index_order", .is = is_order },
	{ .name = NULL },
};

static bool
is_index_file(const json_t *v)
{
	return is_name(v, ".safetensors.index.json");
}

static const struct form index_of[] = {
	{ .name = "file", .is = is_index_file },
	{ .name = NULL },
};

static const struct form all[] = {
	{ .name = "format", .is = is_word },
	{ .name = "version", .is = is_version },
	{ .name = "alignment", .is = is_number },
	{ .name = "alignment_at", .is = is_number },
	{ .name = "end_padded", .is = is_flag },
	{ .name = "index_order", .is = is_order },
	{ .name = "apr2_alignment", .is = is_number },
	STYLE,
	{ .name = "shards", .of = shard, .list = true },
	{ .name = "index", .of = index_of },
	{ .name = "apr1", .of = apr1 },
	{ .name = NULL },
};

/* ---- pruning ---- */

static void
tell(struct buf *dropped, const char *where, const char *name)
{
	char text[64];

	buf_printf(dropped, "%s%s%s%s", dropped->n ? ", " : "", where, *where ? "." : "",
	           text_quote(text, sizeof text, name, strlen(name)));
}

static bool prune(json_t *o, const struct form *forms, const char *where,
                  struct buf *dropped);

/* An object, or a list of them; false if it is neither. */
static bool
prune_value(json_t *v, const struct form *f, struct buf *dropped)
{
	json_t *x;
	size_t i;

	if (!f->list)
		return prune(v, f->of, f->name, dropped);
	json_array_foreach(v, i, x)
		if (!prune(x, f->of, f->name, dropped))
			return false;
	return json_is_array(v);
}

static bool
prune(json_t *o, const struct form *forms, const char *where, struct buf *dropped)
{
	const struct form *f;
	const char *name;
	json_t *v;
	void *next;

	if (!json_is_object(o))
		return false;
	json_object_foreach_safe(o, next, name, v) {
		for (f = forms; f->name && strcmp(f->name, name) != 0; f++)
			;
		if (f->name && (f->of ? prune_value(v, f, dropped) : f->is(v)))
			continue;
		tell(dropped, where, name);
		json_object_del(o, name);
	}
	return true;
}

int
origin_prune(struct model *m, struct buf *dropped, struct err *e)
{
	prune(m->source, all, "", dropped);
	return buf_ok(dropped) ? 0 : err_memory(e);
}
