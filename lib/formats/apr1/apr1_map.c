#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "formats/apr1/apr1.h"

/* The library that apr1_pack.c uses allocates as many items as an array announces, before it
 * has read one, and gives up at depths beyond DEPTH. So this file first proves that everything
 * announced is present and that there is not too much of it. */
#define DEPTH 30
#define OBJECTS (1u << 20) /* maximum, of about 24 bytes each, in a value's tree */

/* ---- proof ---- */

struct head {
	size_t bytes;   /* of the head and of data after it that is not an object */
	uint64_t items; /* objects inside */
	bool map, bad;
};

/* Read a big-endian length of 1, 2 or 4 bytes. */
static uint64_t
length(const uint8_t *p, size_t n, unsigned width, struct head *h)
{
	uint64_t v = 0;
	unsigned i;

	h->bad = n < 1 + (size_t)width;
	for (i = 0; !h->bad && i < width; i++)
		v = v << 8 | p[1 + i];
	return v;
}

static struct head
look(const uint8_t *p, size_t n)
{
	static const uint8_t fixed[] = { 4, 8, 1, 2, 4, 8, 1, 2, 4, 8 }; /* from 0xca */
	struct head h = { .bytes = 1 };
	uint8_t c = *p;

	if (c >= 0x80 && c <= 0x9f) {
		h.items = c & 15;
		h.map = c < 0x90;
	} else if (c >= 0xa0 && c <= 0xbf) {
		h.bytes += c & 31;
	} else if (c >= 0xc4 && c <= 0xc6) {
		h.bytes += (1u << (c - 0xc4)) + length(p, n, 1u << (c - 0xc4), &h);
	} else if (c == 0xc1 || (c >= 0xc7 && c <= 0xc9) || (c >= 0xd4 && c <= 0xd8)) {
		h.bad = true; /* unused code, and extension types */
	} else if (c >= 0xca && c <= 0xd3) {
		h.bytes += fixed[c - 0xca];
	} else if (c >= 0xd9 && c <= 0xdb) {
		h.bytes += (1u << (c - 0xd9)) + length(p, n, 1u << (c - 0xd9), &h);
	} else if (c >= 0xdc) {
		if (c < 0xe0) {
			unsigned width = c & 1 ? 4 : 2;

			h.bytes += width;
			h.items = length(p, n, width, &h);
			h.map = c >= 0xde;
		}
	}
	if (h.map)
		h.items *= 2;
	h.bad |= h.bytes > n || h.items > n - h.bytes;
	return h;
}

/* Bytes of the value at p; 0 if it is not valid. */
static size_t
span(const uint8_t *p, size_t n, size_t *objects)
{
	uint64_t left[DEPTH + 1] = { 1 };
	unsigned depth = 0;
	size_t at = 0;

	for (;;) {
		struct head h;

		while (left[depth] == 0)
			if (depth-- == 0)
				return at;
		left[depth]--;
		if (at == n || ++*objects > OBJECTS)
			return 0;
		h = look(p + at, n - at);
		if (h.bad || (h.items && ++depth > DEPTH))
			return 0;
		at += h.bytes;
		if (h.items)
			left[depth] = h.items;
	}
}

/* ---- the map ---- */

static int
bad(const char *what, size_t at, struct err *e)
{
	return err_set(e, ERR_FORMAT, what, "InvalidFormat: its metadata is not MessagePack "
	               "that can be read, in the value at byte %zu of it", at);
}

static int
compare(const void *a, const void *b)
{
	const struct apr1_entry *x = *(const struct apr1_entry *const *)a;
	const struct apr1_entry *y = *(const struct apr1_entry *const *)b;
	size_t n = x->key_bytes < y->key_bytes ? x->key_bytes : y->key_bytes;
	int r = n ? memcmp(x->key, y->key, n) : 0;

	return r ? r : (x->key_bytes > y->key_bytes) - (x->key_bytes < y->key_bytes);
}

static int
prove_unique(const struct apr1_map *m, const char *what, struct err *e)
{
	const struct apr1_entry **list = mem_array(m->count, sizeof *list);
	size_t i;
	int r = 0;

	if (!list)
		return err_memory(e);
	for (i = 0; i < m->count; i++)
		list[i] = &m->list[i];
	qsort(list, m->count, sizeof *list, compare);
	for (i = 1; r == 0 && i < m->count; i++)
		if (compare(&list[i - 1], &list[i]) == 0)
			r = err_set(e, ERR_FORMAT, what, "InvalidFormat: metadata key %.*s "
			            "occurs twice", (int)(list[i]->key_bytes < 100
			                                      ? list[i]->key_bytes : 100),
			            list[i]->key);
	free(list);
	return r;
}

/* A pointer to the text of a string value, or NULL. */
static const char *
text_of(const uint8_t *p, size_t n, size_t *bytes)
{
	struct head h = look(p, n);
	uint8_t c = *p;
	size_t head = c >= 0xa0 && c <= 0xbf ? 1 : c >= 0xd9 && c <= 0xdb
	                  ? 1 + ((size_t)1 << (c - 0xd9)) : 0;

	if (!head)
		return NULL;
	*bytes = h.bytes - head;
	return (const char *)p + head;
}

static int
add(struct apr1_map *m, struct apr1_entry x, struct err *e)
{
	if (mem_grow(&m->list, &m->cap, m->count + 1, sizeof x) < 0)
		return err_memory(e);
	m->list[m->count++] = x;
	return 0;
}

/* The fields of existing software's metadata, in their order. */
static const char *const fields[] = { "created_at", "aprender_version", "model_name",
	"description", "training", "hyperparameters", "metrics", "custom", "distillation",
	"distillation_info", "license", "model_card" };
#define FIELDS (sizeof fields / sizeof *fields)

int
apr1_map_read(struct apr1_map *m, const uint8_t *p, size_t n, bool named, const char *what,
              struct err *e)
{
	struct head h = { .bad = true };
	size_t at, objects = 0, bytes;
	uint64_t i;

	*m = (struct apr1_map){ 0 };
	if (n)
		h = look(p, n);
	if (h.bad || span(p, n, &objects) != n)
		return bad(what, 0, e);
	/* A map, or with named an array. An empty map is always accepted. */
	if (!h.map && !(named && (*p >> 4 == 9 || *p == 0xdc || *p == 0xdd)) &&
	    *p != 0x80 && *p != 0xde && *p != 0xdf)
		return err_set(e, ERR_FORMAT, what, "InvalidFormat: its metadata is not a map");
	if (!h.map && h.items > FIELDS)
		return err_set(e, ERR_FORMAT, what, "InvalidFormat: its metadata is an array of %"
		               PRIu64 " values, but only %zu have a name", h.items, FIELDS);
	at = h.bytes;
	for (i = 0; i < h.items / (h.map ? 2 : 1); i++) {
		struct apr1_entry x = { 0 };

		if (h.map) {
			objects = 0;
			bytes = span(p + at, n - at, &objects);
			x.key = text_of(p + at, n - at, &x.key_bytes);
			if (!x.key || !x.key_bytes || !text_utf8(x.key, x.key_bytes, false))
				return err_set(e, ERR_FORMAT, what, "InvalidFormat: a key of its "
				               "metadata is not text, at byte %zu of it", at);
			at += bytes;
		} else {
			x.key = fields[i];
			x.key_bytes = strlen(fields[i]);
		}
		objects = 0;
		x.raw = p + at;
		x.raw_bytes = span(p + at, n - at, &objects);
		at += x.raw_bytes;
		if (add(m, x, e) < 0)
			return -1;
	}
	return prove_unique(m, what, e);
}

int
apr1_list_read(struct apr1_map *m, const struct apr1_entry *x, const char *what,
               struct err *e)
{
	struct head h = look(x->raw, x->raw_bytes);
	size_t at = h.bytes, objects;
	uint64_t i;

	*m = (struct apr1_map){ 0 };
	if (h.map || (*x->raw >> 4 != 9 && *x->raw != 0xdc && *x->raw != 0xdd))
		return err_set(e, ERR_FORMAT, what, "InvalidFormat: metadata key %.*s is not a list",
		               (int)(x->key_bytes < 100 ? x->key_bytes : 100), x->key);
	for (i = 0; i < h.items; i++) {
		struct apr1_entry item = { .key = "", .raw = x->raw + at };

		objects = 0;
		item.raw_bytes = span(item.raw, x->raw_bytes - at, &objects);
		at += item.raw_bytes;
		if (add(m, item, e) < 0)
			return -1;
	}
	return 0;
}

void
apr1_map_free(struct apr1_map *m)
{
	free(m->list);
	*m = (struct apr1_map){ 0 };
}

const struct apr1_entry *
apr1_map_find(const struct apr1_map *m, const char *key)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (m->list[i].key_bytes == strlen(key) &&
		    memcmp(m->list[i].key, key, m->list[i].key_bytes) == 0)
			return &m->list[i];
	return NULL;
}

const char *
apr1_text(const struct apr1_entry *x, size_t *n)
{
	return text_of(x->raw, x->raw_bytes, n);
}
