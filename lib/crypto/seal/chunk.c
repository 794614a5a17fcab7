#include "crypto/seal/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"

#define CHUNK ((size_t)MODEL_SEAL_CHUNK)
#define PIECE ((size_t)1 << 18) /* of a chunk is encrypted at once: it fits into the cache */

static void
put_text(struct buf *b, const char *s)
{
	buf_u64(b, strlen(s));
	buf_text(b, s);
}

static void
put_context(struct buf *b, const char *kind, uint64_t number, const char *name,
            const char *type)
{
	put_text(b, kind);
	buf_u64(b, number);
	put_text(b, name);
	put_text(b, type);
}

/* The size of an item, head and body, before sealing. */
static uint64_t
plain_bytes(const struct model *m, enum item_kind kind, size_t index)
{
	struct model open = *m;
	uint64_t head, body;

	open.sealed = 0;
	item_sizes(&open, kind, index, &head, &body);
	return head + body;
}

static void
describe(struct buf *b, const struct model *m, enum item_kind kind, size_t index)
{
	const struct tensor *t = kind == ITEM_TENSOR ? m->tensors[index] : NULL;
	size_t values = 0;
	unsigned d;

	if (t) {
		put_context(b, "tensor", index, tensor_name(t), tensor_type(t)->name);
	} else if (kind == ITEM_BLOB) {
		while (strcmp(m->blobs[values].type, MODEL_VALUE) == 0)
			values++; /* they come first */
		put_context(b, "blob", index - values, m->blobs[index].name,
		            m->blobs[index].type);
	} else {
		put_context(b, kind == ITEM_PROV ? "prov" : "sign", index, "", "");
	}
	buf_u64(b, t ? tensor_ndim(t) : 0);
	for (d = 0; t && d < tensor_ndim(t); d++)
		buf_u64(b, tensor_dims(t)[d]);
	buf_u64(b, plain_bytes(m, kind, index));
}

int
chunk_key(const uint8_t data[SKEY_DATA], const uint8_t salt[SKEY_SALT],
          const struct model *m, enum item_kind kind, size_t index, uint8_t key[AEAD_KEY],
          struct err *e)
{
	struct buf context = { 0 };
	int r;

	describe(&context, m, kind, index);
	if (!buf_ok(&context))
		r = err_memory(e);
	else
		r = hkdf_context(salt, SKEY_SALT, data, SKEY_DATA, "apr2 seal 2 item", context.p,
		                 context.n, key, AEAD_KEY, e);
	buf_free(&context);
	return r;
}

/* ---- chunks ---- */

/* Begin the next chunk. */
static void
cut(struct chunks *c)
{
	c->chunk = (size_t)num_min(c->left, CHUNK);
	c->left -= c->chunk;
	c->have = 0;
}

static void
nonce_of(const struct chunks *c, uint8_t nonce[AEAD_NONCE])
{
	int i;

	memset(nonce, 0, AEAD_NONCE);
	for (i = 0; i < 8; i++)
		nonce[AEAD_NONCE - 2 - i] = (uint8_t)(c->number >> 8 * i);
	nonce[AEAD_NONCE - 1] = c->left == 0;
}

static void
next_chunk(struct chunks *c)
{
	c->ended = c->left == 0;
	c->number++;
	if (!c->ended)
		cut(c);
}

int
chunks_begin(struct chunks *c, const uint8_t key[AEAD_KEY], uint64_t bytes,
             const char *name, struct err *e)
{
	if (!c->room && !(c->room = mem_array(CHUNK + AEAD_TAG, 1)))
		return err_memory(e);
	c->name = name;
	c->left = bytes;
	c->number = 0;
	c->ended = false;
	cut(c);
	return aead_key(&c->aead, key, e);
}

static int
too_long(const struct chunks *c, struct err *e)
{
	return err_set(e, ERR_CORRUPT, c->name, "is longer than was announced");
}

int
chunks_seal(struct chunks *c, const uint8_t **p, size_t *n, const uint8_t **out,
            size_t *out_n, struct err *e)
{
	size_t part = (size_t)num_min(num_min(*n, PIECE), c->chunk - c->have);
	uint8_t nonce[AEAD_NONCE];

	*out = c->room;
	*out_n = 0;
	if (c->ended)
		return *n ? too_long(c, e) : 0;
	if (part == 0 && c->chunk > 0)
		return 0;
	if (c->have == 0) {
		nonce_of(c, nonce);
		if (aead_begin(&c->aead, AEAD_SEAL, nonce, NULL, 0, e) < 0)
			return -1;
	}
	if (aead_add(&c->aead, *p, part, c->room, e) < 0)
		return -1;
	if (part > 0) /* *p may be NULL for no bytes */
		*p += part;
	*n -= part;
	c->have += part;
	*out_n = part;
	if (c->have < c->chunk)
		return 0;
	if (aead_tag(&c->aead, c->room + part, e) < 0)
		return -1;
	*out_n += AEAD_TAG;
	next_chunk(c);
	return 0;
}

int
chunks_open(struct chunks *c, const uint8_t **p, size_t *n, const uint8_t **out,
            size_t *out_n, struct err *e)
{
	uint8_t nonce[AEAD_NONCE];
	size_t part, chunk;

	*out = c->room;
	*out_n = 0;
	while (*n > 0 && *out_n == 0) {
		if (c->ended)
			return too_long(c, e);
		part = (size_t)num_min(*n, c->chunk + AEAD_TAG - c->have);
		memcpy(c->room + c->have, *p, part);
		*p += part;
		*n -= part;
		c->have += part;
		chunk = c->chunk;
		if (c->have < chunk + AEAD_TAG)
			break;
		nonce_of(c, nonce);
		if (aead_open(&c->aead, nonce, NULL, 0, c->room, chunk, c->room, c->room + chunk,
		              c->name, e) < 0)
			return -1;
		*out_n = chunk;
		next_chunk(c);
	}
	return 0;
}

int
chunks_end(const struct chunks *c, struct err *e)
{
	return c->ended ? 0 : err_set(e, ERR_CORRUPT, c->name, "is shorter than was announced");
}

void
chunks_free(struct chunks *c)
{
	aead_free(&c->aead);
	if (c->room)
		secret_wipe(c->room, CHUNK + AEAD_TAG);
	free(c->room);
	*c = (struct chunks){ .room = NULL };
}
