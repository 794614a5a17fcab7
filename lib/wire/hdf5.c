#include "wire/hdf5.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/num.h"

#define MAGIC_BYTES 8
#define WORK 16            /* times the size of the file */
#define WORK_MIN (1u << 20)
#define BLOCKS 256         /* maximum number of blocks of a header */
#define ADDRESS 8          /* bytes */

int
hdf5_fail(struct hdf5 *h, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(h->err, code, h->where, fmt, ap);
	va_end(ap);
	return -1;
}

/* ---- bytes ---- */

const uint8_t *
hdf5_bytes(struct hdf5 *h, uint64_t at, uint64_t n, const char *what)
{
	if (at > h->n || n > h->n - at) {
		hdf5_fail(h, ERR_CORRUPT, "has %s at offset %" PRIu64 " that ends beyond its end", what,
		          at);
		return NULL;
	}
	if (n > h->work) {
		hdf5_fail(h, ERR_CORRUPT, "refers to the same bytes too often");
		return NULL;
	}
	h->work -= n;
	return h->p + at;
}

const uint8_t *
hdf5_take(struct hdf5 *h, struct hdf5_part *part, uint64_t n)
{
	const uint8_t *p = part->p;

	if (n > part->n) {
		hdf5_fail(h, ERR_CORRUPT, "has a message that is too short");
		return NULL;
	}
	part->p += n;
	part->n -= n;
	return p;
}

uint64_t
hdf5_number(struct hdf5_part *part, unsigned bytes, bool *ok)
{
	uint64_t v = 0;
	unsigned i;

	if (bytes > part->n) {
		*ok = false;
		return 0;
	}
	for (i = 0; i < bytes; i++)
		v |= (uint64_t)part->p[i] << 8 * i;
	part->p += bytes;
	part->n -= bytes;
	return v;
}

/* ---- checksums ---- */

static uint32_t
turn(uint32_t v, unsigned by)
{
	return v << by | v >> (32 - by);
}

/* Jenkins' "lookup3" of n bytes, from 0: the checksum of headers of version 2. Each round mixes
 * 12 bytes into three words. Source: Bob Jenkins, "Hash functions for hash table lookup". */
static uint32_t
lookup3(const uint8_t *p, uint64_t n)
{
	static const uint8_t by[6] = { 4, 6, 8, 16, 19, 4 }, end[7] = { 14, 11, 25, 16, 4, 14, 24 };
	uint32_t w[3];
	uint8_t last[12] = { 0 };
	unsigned i;

	w[0] = w[1] = w[2] = 0xdeadbeef + (uint32_t)n;
	for (; n > 12; p += 12, n -= 12) {
		for (i = 0; i < 3; i++)
			w[i] += le32(p + 4 * i);
		for (i = 0; i < 6; i++) {
			w[i % 3] -= w[(i + 2) % 3];
			w[i % 3] ^= turn(w[(i + 2) % 3], by[i]);
			w[(i + 2) % 3] += w[(i + 1) % 3];
		}
	}
	if (n == 0)
		return w[2];
	memcpy(last, p, (size_t)n);
	for (i = 0; i < 3; i++)
		w[i] += le32(last + 4 * i);
	for (i = 0; i < 7; i++) {
		w[(i + 2) % 3] ^= w[(i + 1) % 3];
		w[(i + 2) % 3] -= turn(w[(i + 1) % 3], end[i]);
	}
	return w[2];
}

/* Check the checksum behind n bytes. */
static int
check_sum(struct hdf5 *h, const uint8_t *p, uint64_t n, const char *what)
{
	if (crc32_same(lookup3(p, n), le32(p + n)))
		return 0;
	return hdf5_fail(h, ERR_CHECKSUM, "has %s at offset %" PRIu64 " with a wrong checksum", what,
	                 (uint64_t)(p - h->p));
}

/* ---- the superblock ---- */

static int
check_numbers(struct hdf5 *h, unsigned offsets, unsigned lengths, uint64_t base, uint64_t end)
{
	if (offsets != ADDRESS || lengths != ADDRESS)
		return hdf5_fail(h, ERR_FORMAT, "has addresses of %u bytes and lengths of %u; %u are read",
		                 offsets, lengths, ADDRESS);
	if (base != 0)
		return hdf5_fail(h, ERR_FORMAT, "has a base address, as files with a block of the user "
		                 "have, which is not read");
	if (end > h->n)
		return hdf5_fail(h, ERR_CORRUPT, "is not whole: it has %" PRIu64 " of %" PRIu64 " bytes",
		                 h->n, end);
	h->n = end;
	h->stored = end;
	return 0;
}

/* Versions 0 and 1: the root group's entry of a symbol table follows. */
static int
old_superblock(struct hdf5 *h, unsigned version)
{
	const uint64_t more = version == 1 ? 4 : 0;
	const uint8_t *p = hdf5_bytes(h, 0, 96 + more, "a superblock");

	if (!p || check_numbers(h, p[13], p[14], le64(p + 24 + more), le64(p + 40 + more)) < 0)
		return -1;
	if (le64(p + 48 + more) != HDF5_NONE)
		return hdf5_fail(h, ERR_FORMAT, "is one of several files that belong together, which are "
		                 "not read");
	h->root = le64(p + 64 + more);
	return 0;
}

/* Versions 2 and 3. */
static int
new_superblock(struct hdf5 *h)
{
	const uint8_t *p = hdf5_bytes(h, 0, 48, "a superblock");

	if (!p || check_numbers(h, p[9], p[10], le64(p + 12), le64(p + 28)) < 0 ||
	    check_sum(h, p, 44, "a superblock") < 0)
		return -1;
	h->root = le64(p + 36);
	return 0;
}

int
hdf5_open(struct hdf5 *h, const uint8_t *p, uint64_t n, const char *where, struct err *e)
{
	*h = (struct hdf5){ .p = p, .n = n, .where = where, .err = e, .unset = HDF5_UNSET };
	if (num_mul(n, WORK, &h->work) < 0 || num_add(h->work, WORK_MIN, &h->work) < 0)
		h->work = UINT64_MAX;
	h->budget = h->work;
	if (n < MAGIC_BYTES + 1 || memcmp(p, HDF5_MAGIC, MAGIC_BYTES) != 0)
		return hdf5_fail(h, ERR_FORMAT, "does not begin as an HDF5 file does");
	if (p[MAGIC_BYTES] > 3)
		return hdf5_fail(h, ERR_VERSION, "has version %u of the superblock; 0 to 3 are read",
		                 p[MAGIC_BYTES]);
	return p[MAGIC_BYTES] < 2 ? old_superblock(h, p[MAGIC_BYTES]) : new_superblock(h);
}

/* ---- messages ---- */

/* The blocks of a header. */
struct header {
	bool new;          /* version 2 */
	bool order;        /* its messages have a creation order */
	unsigned blocks;
	struct hdf5_part list[BLOCKS]; /* their messages */
};

#define MESSAGE_CONTINUED 16

/* Add a block of messages at an address. */
static int
add_block(struct hdf5 *h, struct header *x, uint64_t at, uint64_t n)
{
	const uint8_t *p = hdf5_bytes(h, at, n, "a part of a header");
	const unsigned head = x->new ? 4 : 0;

	if (!p)
		return -1;
	if (x->blocks == BLOCKS)
		return hdf5_fail(h, ERR_CORRUPT, "has a header in more than %d parts", BLOCKS);
	if (x->new && (n < 8 || memcmp(p, "OCHK", 4) != 0))
		return hdf5_fail(h, ERR_CORRUPT, "has no part of a header at offset %" PRIu64, at);
	if (x->new && check_sum(h, p, n - 4, "a part of a header") < 0)
		return -1;
	x->list[x->blocks++] = (struct hdf5_part){ p + head, n - 2 * (uint64_t)head };
	return 0;
}

/* Version 1: a prefix of 12 bytes, filled up to 16. */
static int
old_header(struct hdf5 *h, struct header *x, uint64_t at)
{
	const uint8_t *p = hdf5_bytes(h, at, 16, "a header");

	if (!p)
		return -1;
	if (p[0] != 1)
		return hdf5_fail(h, p[0] ? ERR_VERSION : ERR_CORRUPT, "has no header of version 1 or 2 at "
		                 "offset %" PRIu64, at);
	return add_block(h, x, at + 16, le32(p + 8));
}

static int
new_header(struct hdf5 *h, struct header *x, uint64_t at)
{
	const uint8_t *p = hdf5_bytes(h, at, 6, "a header");
	struct hdf5_part part = { NULL, 8 };
	uint64_t bytes, whole, head;
	bool ok = true;

	if (!p)
		return -1;
	if (p[4] != 2)
		return hdf5_fail(h, ERR_VERSION, "has a header of version %u; 1 and 2 are read", p[4]);
	head = 6 + (p[5] & 0x20 ? 16u : 0u) + (p[5] & 0x10 ? 4u : 0u);
	x->order = p[5] & 4;
	part.p = hdf5_bytes(h, at + head, 1u << (p[5] & 3), "a header");
	if (!part.p)
		return -1;
	bytes = hdf5_number(&part, 1u << (p[5] & 3), &ok);
	head += 1u << (p[5] & 3);
	if (num_add(bytes, head + 4, &whole) < 0)
		whole = UINT64_MAX;
	p = hdf5_bytes(h, at, whole, "a header");
	if (!p || check_sum(h, p, whole - 4, "a header") < 0)
		return -1;
	x->new = true;
	x->list[x->blocks++] = (struct hdf5_part){ p + head, bytes };
	return 0;
}

/* Take the next message of a block: 1, 0 at the end, or -1. */
static int
next_message(struct hdf5 *h, const struct header *x, struct hdf5_part *block, unsigned *type,
             unsigned *flags, struct hdf5_part *m)
{
	const unsigned head = x->new ? 4 + (x->order ? 2u : 0u) : 8;
	const uint8_t *p = block->p;

	if (block->n < head)
		return 0; /* a gap */
	*type = x->new ? p[0] : le16(p);
	m->n = le16(p + (x->new ? 1 : 2));
	*flags = p[x->new ? 3 : 4];
	block->p += head;
	block->n -= head;
	m->p = hdf5_take(h, block, m->n);
	return m->p ? 1 : -1;
}

static int
continue_header(struct hdf5 *h, struct header *x, struct hdf5_part m)
{
	bool ok = true;
	uint64_t at = hdf5_number(&m, 8, &ok), n = hdf5_number(&m, 8, &ok);

	return ok ? add_block(h, x, at, n)
	          : hdf5_fail(h, ERR_CORRUPT, "has a message that is too short");
}

int
hdf5_messages(struct hdf5 *h, uint64_t at, hdf5_message *each, void *ctx)
{
	struct header x = { .blocks = 0 };
	struct hdf5_part block, m;
	unsigned i, type, flags;
	const uint8_t *p = hdf5_bytes(h, at, 4, "a header");
	int r = p ? 0 : -1;

	if (r == 0)
		r = memcmp(p, "OHDR", 4) == 0 ? new_header(h, &x, at) : old_header(h, &x, at);
	for (i = 0; r == 0 && i < x.blocks; i++) {
		block = x.list[i];
		while (r == 0 && (r = next_message(h, &x, &block, &type, &flags, &m)) > 0)
			r = type == MESSAGE_CONTINUED ? continue_header(h, &x, m)
			                              : each(ctx, type, flags, m);
	}
	return r;
}

/* ---- objects ---- */

/* What to do with a message, by its number in the specification. */
static const struct row {
	uint8_t type;
	int8_t part;         /* of struct hdf5_object, or -1 */
	const char *refused; /* an object with this message is refused: "has …" */
} rows[] = {
	{ 1, HDF5_SPACE, NULL }, { 2, HDF5_LINK_INFO, NULL }, { 3, HDF5_TYPE, NULL },
	{ 4, HDF5_OLD_FILL, NULL }, { 5, HDF5_FILL, NULL }, { 6, -1, NULL },
	{ 7, -1, "values in external files, which are never opened" },
	{ 8, HDF5_LAYOUT, NULL }, { 11, HDF5_PIPELINE, NULL }, { 12, -1, NULL },
	{ 17, HDF5_TABLE, NULL },
};

#define MESSAGE_LINK 6
#define FLAG_SHARED 2

struct parsing {
	struct hdf5 *h;
	struct hdf5_object *o;
};

static int
put_part(void *ctx, unsigned type, unsigned flags, struct hdf5_part part)
{
	struct parsing *x = ctx;
	size_t i;

	x->o->links |= type == MESSAGE_LINK;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (rows[i].type != type)
			continue;
		if (rows[i].refused)
			return hdf5_fail(x->h, ERR_FORMAT, "has %s", rows[i].refused);
		if (flags & FLAG_SHARED)
			return hdf5_fail(x->h, ERR_FORMAT, "has a message that is shared between objects, "
			                 "such as a named type, which is not read");
		if (rows[i].part >= 0 && !x->o->parts[rows[i].part].p)
			x->o->parts[rows[i].part] = part;
		else if (rows[i].part >= 0)
			return hdf5_fail(x->h, ERR_CORRUPT, "has a header with two messages of kind %u",
			                 type);
	}
	return 0;
}

int
hdf5_object(struct hdf5 *h, uint64_t at, struct hdf5_object *o)
{
	struct parsing x = { h, o };

	*o = (struct hdf5_object){ .at = at };
	return hdf5_messages(h, at, put_part, &x);
}

bool
hdf5_is_group(const struct hdf5_object *o)
{
	return o->parts[HDF5_TABLE].p || o->parts[HDF5_LINK_INFO].p || o->links;
}

bool
hdf5_is_dataset(const struct hdf5_object *o)
{
	return o->parts[HDF5_LAYOUT].p && o->parts[HDF5_TYPE].p && o->parts[HDF5_SPACE].p;
}
