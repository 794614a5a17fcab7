#include "bare/bare.h"

#include <string.h>

#include "core/le.h"
#include "core/num.h"

#define ALIGN 32
#define ALIGN_KEY "general.alignment"
#define U32 4
#define TEXT 8
#define ARRAY 9

/* A place in the file. After a failure, all reads give 0. */
struct at {
	const uint8_t *p;
	size_t n, i;
	bool failed;
};

static const uint8_t *
take(struct at *a, uint64_t n)
{
	const uint8_t *p = a->p + a->i;

	if (a->failed || n > a->n - a->i) {
		a->failed = true;
		return NULL;
	}
	a->i += (size_t)n;
	return p;
}

static uint32_t
take32(struct at *a)
{
	const uint8_t *p = take(a, 4);

	return p ? le32(p) : 0;
}

static uint64_t
take64(struct at *a)
{
	const uint8_t *p = take(a, 8);

	return p ? le64(p) : 0;
}

static const char *
take_text(struct at *a, size_t *n)
{
	uint64_t bytes = take64(a);
	const uint8_t *p = take(a, bytes);

	*n = p ? (size_t)bytes : 0;
	return (const char *)p;
}

/* The bytes of a plain value, 0 of another type. */
static unsigned
size_of(uint32_t type)
{
	static const uint8_t sizes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

	return type < sizeof sizes ? sizes[type] : 0;
}

static void
skip_array(struct at *a)
{
	uint32_t type = take32(a);
	uint64_t count = take64(a), bytes;
	size_t n;

	if (type == TEXT) {
		while (count-- > 0 && !a->failed)
			take_text(a, &n);
	} else if (size_of(type) && num_mul(count, size_of(type), &bytes) == 0) {
		take(a, bytes);
	} else {
		a->failed = true; /* arrays of arrays too */
	}
}

static void
skip_value(struct at *a, uint32_t type)
{
	size_t n;

	if (type == TEXT)
		take_text(a, &n);
	else if (type == ARRAY)
		skip_array(a);
	else if (size_of(type))
		take(a, size_of(type));
	else
		a->failed = true;
}

static bool
is(const char *text, size_t n, const char *word)
{
	return text && word && n == strlen(word) && memcmp(text, word, n) == 0;
}

/* Walks the keys, up to the one of this name (NULL: none): its type, with a at its value. UINT32_MAX:
 * a is behind all keys. */
static uint32_t
find_key(struct at *a, uint64_t keys, const char *name)
{
	for (; keys > 0 && !a->failed; keys--) {
		size_t n;
		const char *key = take_text(a, &n);
		uint32_t type = take32(a);

		if (is(key, n, name) && !a->failed)
			return type;
		skip_value(a, type);
	}
	return UINT32_MAX;
}

/* ---- tensors ---- */

static int
measure(const struct bare *b, struct bare_tensor *t, uint64_t offset, struct err *e)
{
	uint64_t bytes, at;
	unsigned i;

	for (i = 0, t->items = 1; i < t->dims; i++)
		if (num_mul(t->items, t->dim[i], &t->items) < 0)
			return err_set(e, ERR_CORRUPT, NULL, "a tensor has too many values");
	if (!t->type || !dtype_sized(t->type) || t->type->head || t->type->whole)
		return err_set(e, ERR_FORMAT, NULL, "a tensor has a type of unknown size");
	if (!dtype_fills(t->type, t->dims ? t->dim[0] : 1))
		return err_set(e, ERR_CORRUPT, NULL, "a tensor has rows that do not fill whole blocks");
	if (num_mul(t->items / t->type->items, t->type->bytes, &bytes) < 0 ||
	    num_add(b->data_at, offset, &at) < 0 || at > b->n || bytes > b->n - at)
		return err_set(e, ERR_CORRUPT, NULL, "a tensor lies outside the file");
	t->data = b->p + at;
	t->bytes = (size_t)bytes;
	return 1;
}

/* Reads the entry at a place. b->data_at is 0 while the end of the header is looked for: only its
 * structure matters then. */
static int
entry(const struct bare *b, size_t from, struct bare_tensor *t, struct err *e)
{
	struct at a = { b->p, b->n, from, false };
	uint64_t offset;
	unsigned i;

	t->name = take_text(&a, &t->name_bytes);
	t->dims = take32(&a);
	if (t->dims > BARE_DIMS)
		a.failed = true;
	for (i = 0; i < t->dims && !a.failed; i++)
		t->dim[i] = take64(&a);
	t->type = dtype_by_ggml(take32(&a));
	offset = take64(&a);
	t->next = a.i;
	if (a.failed)
		return err_set(e, ERR_CORRUPT, NULL, "the header is damaged or ends early");
	return b->data_at ? measure(b, t, offset, e) : 1;
}

int
bare_open(struct bare *b, const void *p, size_t n, struct err *e)
{
	struct at a = { p, n, 4, false };
	uint64_t align = ALIGN, i, at;
	struct bare_tensor t;
	uint32_t version;

	*b = (struct bare){ .p = p, .n = n };
	if (n < 8 || memcmp(p, "GGUF", 4) != 0)
		return err_set(e, ERR_FORMAT, NULL, "is not a GGUF file");
	version = take32(&a);
	if (version != 2 && version != 3)
		return err_set(e, ERR_VERSION, NULL, "is not GGUF of version 2 or 3");
	b->tensors = take64(&a);
	b->keys = take64(&a);
	b->keys_at = a.i;
	if (find_key(&a, b->keys, ALIGN_KEY) == U32)
		align = take32(&a);
	a = (struct at){ p, n, b->keys_at, a.failed };
	find_key(&a, b->keys, NULL);
	if (a.failed || !num_power_of_two(align))
		return err_set(e, ERR_CORRUPT, NULL, "the header is damaged or ends early");
	b->tensors_at = a.i;
	for (i = 0, at = a.i; i < b->tensors; i++, at = t.next)
		if (entry(b, (size_t)at, &t, e) < 0)
			return -1;
	if (num_align(at, align, &at) < 0 || (at > n && b->tensors > 0))
		return err_set(e, ERR_CORRUPT, NULL, "ends before its tensors");
	b->data_at = (size_t)num_min(at, n);
	return 0;
}

int
bare_first(const struct bare *b, struct bare_tensor *t, struct err *e)
{
	*t = (struct bare_tensor){ .number = 0 };
	return b->tensors > 0 ? entry(b, b->tensors_at, t, e) : 0;
}

int
bare_next(const struct bare *b, struct bare_tensor *t, struct err *e)
{
	return ++t->number < b->tensors ? entry(b, t->next, t, e) : 0;
}

int
bare_find(const struct bare *b, const char *name, struct bare_tensor *t, struct err *e)
{
	int r;

	for (r = bare_first(b, t, e); r == 1; r = bare_next(b, t, e))
		if (is(t->name, t->name_bytes, name))
			return 0;
	return r < 0 ? -1 : err_set(e, ERR_NO, name, "there is no such tensor");
}

const char *
bare_text(const struct bare *b, const char *key, size_t *n)
{
	struct at a = { b->p, b->n, b->keys_at, false };

	*n = 0;
	return find_key(&a, b->keys, key) == TEXT ? take_text(&a, n) : NULL;
}
