#include "wire/sstable.h"

#include <inttypes.h>
#include <string.h>

#include "core/crc32.h"
#include "core/crc32c.h"
#include "core/le.h"
#include "core/num.h"
#include "wire/snappy.h"

#define TRAILER 5 /* bytes behind a block */
static const uint8_t magic[8] = { 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb };

static int
fail(const struct sstable *t, const struct sstable_block *b, const char *what)
{
	return err_set(t->err, ERR_CORRUPT, t->name, "has a block at byte %" PRIu64 " %s", b->at, what);
}

/* Reads a varint at *at, which is below end. 0 or -1. */
static int
varint(const uint8_t *p, size_t end, size_t *at, uint64_t *v)
{
	unsigned i;

	*v = 0;
	for (i = 0; i < 10 && *at < end; i++) {
		*v |= (uint64_t)(p[*at] & 0x7f) << 7 * i;
		if (p[(*at)++] < 0x80)
			return 0;
	}
	return -1;
}

/* Reads a handle: a block that lies in [low, high). 0 or -1. */
static int
handle(const uint8_t *p, size_t end, size_t *at, uint64_t low, uint64_t high, uint64_t *offset,
       uint64_t *bytes)
{
	uint64_t stop;

	if (varint(p, end, at, offset) < 0 || varint(p, end, at, bytes) < 0 ||
	    num_add(*offset, *bytes, &stop) < 0 || num_add(stop, TRAILER, &stop) < 0)
		return -1;
	return *offset >= low && stop <= high ? 0 : -1;
}

/* ---- blocks ---- */

static int
decompress(struct sstable *t, struct sstable_block *b, size_t n)
{
	uint64_t bytes;
	uint8_t *to;

	if (snappy_bytes(b->p, n, &bytes) < 0 || bytes > SSTABLE_BLOCK)
		return fail(t, b, "whose compressed content states a size that it cannot have");
	buf_clear(&b->content);
	to = buf_room(&b->content, (size_t)bytes + 1);
	if (!to)
		return err_memory(t->err);
	if (snappy_decode(b->p, n, to, bytes) < 0)
		return fail(t, b, "whose compressed content is damaged");
	b->p = to;
	b->size = (size_t)bytes;
	return 0;
}

/* The offsets of restarts rise from 0. */
static int
check_restarts(struct sstable *t, struct sstable_block *b)
{
	uint64_t count, i, last = 0, at;

	if (b->size < 4)
		return fail(t, b, "that is too short");
	count = le32(b->p + b->size - 4);
	if (count == 0 || count > b->size / 4 - 1)
		return fail(t, b, "with more restarts than it has room for, or none");
	b->entries = b->size - 4 * (size_t)(count + 1);
	for (i = 0; i < count; i++) {
		at = le32(b->p + b->entries + 4 * i);
		if (i == 0 ? at != 0 : at <= last || at >= b->entries)
			return fail(t, b, "whose restarts are not in order");
		last = at;
	}
	return 0;
}

/* Opens a block, and proves its checksum. */
static int
open_block(struct sstable *t, struct sstable_block *b, uint64_t offset, uint64_t bytes)
{
	const uint8_t *p = t->p + offset;
	const size_t n = (size_t)bytes;

	b->p = p;
	b->at = offset;
	b->size = n;
	b->next = b->restart = 0;
	buf_clear(&b->key);
	if (!crc32_same(crc32c_mask(crc32c_add(0, p, n + 1)), le32(p + n + 1)))
		return err_set(t->err, ERR_CHECKSUM, t->name, "has a block at byte %" PRIu64 " whose "
		               "checksum (CRC-32C) is wrong", offset);
	if (p[n] > 1)
		return err_set(t->err, ERR_FORMAT, t->name, "has a block at byte %" PRIu64 " compressed by "
		               "method %u, which is not read", offset, p[n]);
	if (p[n] == 1 && decompress(t, b, n) < 0)
		return -1;
	return check_restarts(t, b);
}

/* True if an entry begins at a restart. Restarts that no entry begins at end the block too early:
 * *wrong. */
static bool
is_restart(struct sstable_block *b, size_t at, bool *wrong)
{
	const size_t restart = b->entries + 4 * b->restart;
	const uint64_t where = restart < b->size - 4 ? le32(b->p + restart) : UINT64_MAX;

	*wrong = where < at;
	if (where != at)
		return false;
	b->restart++;
	return true;
}

/* The next entry of a block: 1, 0 at its end, or -1. */
static int
next_entry(struct sstable *t, struct sstable_block *b)
{
	uint64_t shared, rest, value;
	size_t at = b->next;
	bool restart, wrong;

	if (at == b->entries)
		return b->restart > 0 && b->entries + 4 * b->restart < b->size - 4
		       ? fail(t, b, "with a restart inside an entry") : 0;
	restart = is_restart(b, at, &wrong);
	if (wrong)
		return fail(t, b, "with a restart inside an entry");
	if (varint(b->p, b->entries, &at, &shared) < 0 || varint(b->p, b->entries, &at, &rest) < 0 ||
	    varint(b->p, b->entries, &at, &value) < 0 || rest > b->entries - at ||
	    value > b->entries - at - rest)
		return fail(t, b, "that ends inside an entry");
	if (shared > b->key.n || (restart && shared > 0) || shared + rest > SSTABLE_KEY)
		return fail(t, b, "with a key that shares more than it can, or is too long");
	b->key.n = (size_t)shared;
	buf_put(&b->key, b->p + at, (size_t)rest);
	b->value = b->p + at + rest;
	b->value_bytes = (size_t)value;
	b->next = at + (size_t)(rest + value);
	return buf_ok(&b->key) ? 1 : err_memory(t->err);
}

/* ---- the table ---- */

int
sstable_open(struct sstable *t, const uint8_t *p, uint64_t n, const char *name, struct err *e)
{
	struct sstable_block meta = { 0 };
	uint64_t at[2], bytes[2];
	size_t where = 0;
	int r;

	*t = (struct sstable){ .p = p, .name = name, .err = e };
	if (n < SSTABLE_FOOTER || memcmp(p + n - 8, magic, 8) != 0)
		return err_set(e, ERR_CORRUPT, name, "does not end as a table does: it is cut short or "
		               "damaged");
	t->n = n - SSTABLE_FOOTER;
	p += t->n;
	if (handle(p, 40, &where, 0, t->n, &at[0], &bytes[0]) < 0 ||
	    handle(p, 40, &where, at[0] + bytes[0] + TRAILER, t->n, &at[1], &bytes[1]) < 0)
		return err_set(e, ERR_CORRUPT, name, "has a footer with blocks that lie outside of the "
		               "file, or not in order");
	t->end = at[0];
	r = open_block(t, &meta, at[0], bytes[0]);
	buf_free(&meta.content);
	buf_free(&meta.key);
	return r < 0 ? -1 : open_block(t, &t->index, at[1], bytes[1]);
}

void
sstable_free(struct sstable *t)
{
	struct sstable_block *const blocks[] = { &t->index, &t->data };
	size_t i;

	for (i = 0; i < 2; i++) {
		buf_free(&blocks[i]->content);
		buf_free(&blocks[i]->key);
	}
	buf_free(&t->last);
}

/* Compares the key before with b's: less than 0 if it is less. */
static int
compare(const struct buf *a, const struct buf *b)
{
	const size_t n = a->n < b->n ? a->n : b->n;
	int r = n ? memcmp(a->p, b->p, n) : 0;

	return r ? r : a->n < b->n ? -1 : a->n > b->n;
}

static int
keep_key(struct sstable *t, const struct buf *key)
{
	buf_clear(&t->last);
	buf_put(&t->last, key->p, key->n);
	t->begun = true;
	return buf_ok(&t->last) ? 0 : err_memory(t->err);
}

/* Opens the next data block: 1, 0 after the last one, or -1. */
static int
next_block(struct sstable *t)
{
	uint64_t at, bytes;
	size_t where = 0;
	int r = next_entry(t, &t->index);

	if (r <= 0)
		return r;
	if (handle(t->index.value, t->index.value_bytes, &where, t->low, t->end, &at, &bytes) < 0 ||
	    where != t->index.value_bytes)
		return fail(t, &t->index, "that names a block outside of its place");
	t->low = at + bytes + TRAILER;
	t->opened = true;
	return open_block(t, &t->data, at, bytes) < 0 ? -1 : 1;
}

/* The key of the index entry lies between the block's last key and the next one. */
static int
end_block(struct sstable *t)
{
	t->opened = false;
	if (t->begun && compare(&t->last, &t->index.key) > 0)
		return fail(t, &t->index, "whose keys are not those of the blocks that it names");
	return keep_key(t, &t->index.key);
}

int
sstable_next(struct sstable *t)
{
	bool first = false;
	int r;

	for (;;) {
		if (!t->opened) {
			r = next_block(t);
			if (r <= 0)
				return r;
			first = true;
		}
		r = next_entry(t, &t->data);
		if (r < 0)
			return -1;
		if (r > 0)
			break;
		if (end_block(t) < 0)
			return -1;
	}
	/* The index's key may be equal to the last key of its own block only. */
	if (t->begun && compare(&t->last, &t->data.key) >= 0)
		return fail(t, &t->data, first ? "whose first key does not follow the block before"
		                               : "whose keys are not in order");
	return keep_key(t, &t->data.key) < 0 ? -1 : 1;
}
