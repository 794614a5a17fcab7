/* Links of groups: in a B-tree with a heap of names, or in messages. */
#include "wire/hdf5.h"

#include <inttypes.h>
#include <string.h>

#include "core/le.h"

#define LEVELS 16     /* maximum height of a B-tree */
#define TREE_HEAD 24
#define LEAF_HEAD 8
#define ENTRY 40      /* bytes of a link in a leaf */
#define SOFT 2        /* the cache type of a soft link */

/* A walk through the links of one group. */
struct walk {
	struct hdf5 *h;
	struct hdf5_part names; /* the heap's */
	const char *wanted;     /* only this link; NULL: all */
	size_t wanted_bytes;
	bool found;
	uint64_t at;            /* of the link that was found */
	hdf5_each *each;        /* unless `wanted` is set */
	void *ctx;
};

static int
refuse_link(struct hdf5 *h, const char *kind, const char *name, size_t n)
{
	return hdf5_fail(h, ERR_FORMAT, "has %s, %.*s, which is not followed", kind,
	                 n > 100 ? 100 : (int)n, name);
}

/* Negative if a is before b, in the order of bytes. */
static int
compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	int r = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

	return r != 0 ? r : a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}

/* Use a link. kind: NULL for one to an object of this file. */
static int
use(struct walk *w, const char *name, size_t n, uint64_t at, const char *kind)
{
	if (w->wanted && compare(w->wanted, w->wanted_bytes, name, n) != 0)
		return 0;
	if (kind)
		return refuse_link(w->h, kind, name, n);
	if (!w->wanted)
		return w->each(w->ctx, name, n, at);
	w->found = true;
	w->at = at;
	return 1;
}

/* ---- a B-tree ---- */

/* The name at an offset of the heap. */
static const char *
name_at(struct walk *w, uint64_t at, size_t *n)
{
	const char *name = at < w->names.n ? (const char *)w->names.p + at : NULL;
	const char *end = name ? memchr(name, 0, (size_t)(w->names.n - at)) : NULL;

	if (!end) {
		hdf5_fail(w->h, ERR_CORRUPT, "has a name outside its heap");
		return NULL;
	}
	*n = (size_t)(end - name);
	return hdf5_bytes(w->h, (uint64_t)(w->names.p - w->h->p) + at, *n, "a name") ? name : NULL;
}

static int
walk_leaf(struct walk *w, uint64_t at)
{
	const uint8_t *p = hdf5_bytes(w->h, at, LEAF_HEAD, "a leaf of links");
	const char *name;
	unsigned i, count;
	size_t n;
	int r = 0;

	if (!p)
		return -1;
	if (memcmp(p, "SNOD\1", 5) != 0)
		return hdf5_fail(w->h, ERR_CORRUPT, "has no leaf of links at offset %" PRIu64, at);
	count = le16(p + 6);
	p = hdf5_bytes(w->h, at, LEAF_HEAD + (uint64_t)count * ENTRY, "a leaf of links");
	for (i = 0, p = p ? p + LEAF_HEAD : NULL; p && r == 0 && i < count; i++, p += ENTRY) {
		name = name_at(w, le64(p), &n);
		r = name ? use(w, name, n, le64(p + 8), le32(p + 16) == SOFT ? "a soft link" : NULL) : -1;
	}
	return p ? r : -1;
}

/* True if a link with the wanted name can be below entry i of a node: its name is behind key i, and
 * not behind key i + 1. -1: the error is filled. */
static int
may_hold(struct walk *w, const uint8_t *entry)
{
	const char *name;
	size_t n;

	if (!w->wanted)
		return 1;
	name = name_at(w, le64(entry + 16), &n);
	return !name ? -1 : compare(w->wanted, w->wanted_bytes, name, n) <= 0;
}

static int
walk_tree(struct walk *w, uint64_t at, unsigned above)
{
	const uint8_t *p = hdf5_bytes(w->h, at, TREE_HEAD, "a B-tree");
	unsigned i, count, level;
	int r = 0, may;

	if (!p)
		return -1;
	level = p[5];
	if (memcmp(p, "TREE\0", 5) != 0 || level >= above || (above < LEVELS && level + 1 != above))
		return hdf5_fail(w->h, ERR_CORRUPT, "has no B-tree of links of the right level at offset %"
		                 PRIu64, at);
	count = le16(p + 6);
	p = hdf5_bytes(w->h, at, TREE_HEAD + (uint64_t)count * 16 + 8, "a B-tree");
	for (i = 0, p = p ? p + TREE_HEAD : NULL; p && r == 0 && i < count; i++, p += 16) {
		may = may_hold(w, p);
		if (may < 0)
			return -1;
		if (may)
			r = level ? walk_tree(w, le64(p + 8), level) : walk_leaf(w, le64(p + 8));
		if (may && w->wanted)
			return r;
	}
	return p ? r : -1;
}

static int
walk_table(struct walk *w, struct hdf5_part table)
{
	bool ok = true;
	const uint64_t tree = hdf5_number(&table, 8, &ok), heap = hdf5_number(&table, 8, &ok);
	const uint8_t *p;

	if (!ok)
		return hdf5_fail(w->h, ERR_CORRUPT, "has a message that is too short");
	p = hdf5_bytes(w->h, heap, 32, "a heap of names");
	if (!p)
		return -1;
	if (memcmp(p, "HEAP\0", 5) != 0)
		return hdf5_fail(w->h, ERR_CORRUPT, "has no heap of names at offset %" PRIu64, heap);
	w->names.n = le64(p + 8);
	if (le64(p + 24) > w->h->n || w->names.n > w->h->n - le64(p + 24))
		return hdf5_fail(w->h, ERR_CORRUPT, "has a heap of names that ends beyond its end");
	w->names.p = w->h->p + le64(p + 24);
	return walk_tree(w, tree, LEVELS);
}

/* ---- messages ---- */

#define MESSAGE_LINK 6

static int
use_message(void *ctx, unsigned type, unsigned flags, struct hdf5_part m)
{
	struct walk *w = ctx;
	bool ok = true;
	unsigned kind = 0, bits;
	const char *name;
	uint64_t n, at;

	(void)flags;
	if (type != MESSAGE_LINK)
		return 0;
	if (hdf5_number(&m, 1, &ok) != 1)
		return hdf5_fail(w->h, ERR_VERSION, "has a link that is not of version 1");
	bits = (unsigned)hdf5_number(&m, 1, &ok);
	if (bits & 8)
		kind = (unsigned)hdf5_number(&m, 1, &ok);
	hdf5_number(&m, bits & 4 ? 8 : 0, &ok);  /* the order of creation */
	hdf5_number(&m, bits & 16 ? 1 : 0, &ok); /* the character set */
	n = hdf5_number(&m, 1u << (bits & 3), &ok);
	name = ok ? (const char *)hdf5_take(w->h, &m, n) : NULL;
	if (!ok || !name)
		return hdf5_fail(w->h, ERR_CORRUPT, "has a message that is too short");
	if (kind != 0)
		return use(w, name, (size_t)n, 0, kind == 1 ? "a soft link" : kind == 64 ?
		           "a link to another file" : "a link of an unknown kind");
	at = hdf5_number(&m, 8, &ok);
	return ok ? use(w, name, (size_t)n, at, NULL)
	          : hdf5_fail(w->h, ERR_CORRUPT, "has a message that is too short");
}

static int
check_info(struct hdf5 *h, struct hdf5_part m)
{
	bool ok = true;
	unsigned bits;
	uint64_t at;

	hdf5_number(&m, 1, &ok);
	bits = (unsigned)hdf5_number(&m, 1, &ok);
	hdf5_number(&m, bits & 1 ? 8 : 0, &ok);
	at = hdf5_number(&m, 8, &ok);
	if (!ok)
		return hdf5_fail(h, ERR_CORRUPT, "has a message that is too short");
	return at == HDF5_NONE ? 0 : hdf5_fail(h, ERR_FORMAT, "keeps links in a fractal heap, as "
	                                       "neither Keras nor h5py does unless told to; this is "
	                                       "not read");
}

/* ---- groups ---- */

static int
walk_group(struct walk *w, const struct hdf5_object *group)
{
	const struct hdf5_part *info = &group->parts[HDF5_LINK_INFO];

	if (group->parts[HDF5_TABLE].p)
		return walk_table(w, group->parts[HDF5_TABLE]);
	if (info->p && check_info(w->h, *info) < 0)
		return -1;
	return hdf5_messages(w->h, group->at, use_message, w);
}

int
hdf5_links(struct hdf5 *h, const struct hdf5_object *group, hdf5_each *each, void *ctx)
{
	struct walk w = { .h = h, .each = each, .ctx = ctx };

	return walk_group(&w, group);
}

int
hdf5_find(struct hdf5 *h, const struct hdf5_object *group, const char *path, size_t n,
          struct hdf5_object *found)
{
	struct walk w;
	const char *slash;

	*found = *group;
	for (; n > 0; path += w.wanted_bytes, n -= w.wanted_bytes) {
		if (*path == '/') {
			w.wanted_bytes = 1;
			continue;
		}
		slash = memchr(path, '/', n);
		w = (struct walk){ .h = h, .wanted = path,
			.wanted_bytes = slash ? (size_t)(slash - path) : n };
		if (!hdf5_is_group(found))
			return 0;
		if (walk_group(&w, found) < 0)
			return -1;
		if (!w.found)
			return 0;
		if (hdf5_object(h, w.at, found) < 0)
			return -1;
	}
	return 1;
}
