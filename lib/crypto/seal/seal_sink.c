#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "crypto/seal/held.h"
#include "crypto/seal/seal.h"
#include "crypto/witness.h"

struct seal_sink {
	struct sink sink;
	struct sink *inner;
	struct skey skey;
	const struct key_secret *signer;
	struct secret data;
	struct model plan;      /* for the inner sink */
	struct witness witness; /* of the unsealed items */
	struct held held;
	bool begun, released;   /* begun: the witness; released: the inner sink has the plan */
	struct chunks chunks;
	struct item item;       /* the current one */
	bool seals, skip;       /* the current item is sealed; is dropped */
	bool dropped;
};

/* Hold, or send, bytes of the inner item. */
static int
emit(struct seal_sink *s, const uint8_t *p, size_t n, struct err *e)
{
	return s->released ? sink_write(s->inner, p, n, e) : held_write(&s->held, p, n, e);
}

static int
begin(struct sink *sink, const struct model *plan, struct err *e)
{
	struct seal_sink *s = (struct seal_sink *)sink;
	struct buf head = { 0 };
	int r = skey_write(&s->skey, &head, e);

	if (r == 0)
		r = model_copy(&s->plan, plan, e);
	s->plan.sealed = head.n;
	buf_free(&head);
	s->begun = r == 0;
	return r < 0 ? -1 : witness_begin(&s->witness, &s->plan, 1, e);
}

static int
put_skey(struct seal_sink *s, struct err *e)
{
	struct item item = { .kind = ITEM_SKEY };
	struct buf head = { 0 };
	int r = skey_write(&s->skey, &head, e);

	item.head = (const char *)head.p;
	item.head_bytes = head.n;
	if (r == 0)
		r = sink_put(s->inner, &item, e);
	if (r == 0)
		r = sink_put_end(s->inner, e);
	buf_free(&head);
	return r;
}

static int
put_held(struct seal_sink *s, struct err *e)
{
	struct item item;
	const uint8_t *p;
	size_t n;

	while (held_next(&s->held, &item) > 0) {
		if (sink_put(s->inner, &item, e) < 0)
			return -1;
		do {
			if (held_read(&s->held, &p, &n, e) < 0 ||
			    (n > 0 && sink_write(s->inner, p, n, e) < 0))
				return -1;
		} while (n > 0);
		if (sink_put_end(s->inner, e) < 0)
			return -1;
	}
	held_free(&s->held);
	return 0;
}

/* All unsealed items have come: send the items that are held. */
static int
release(struct seal_sink *s, struct err *e)
{
	struct digest d;

	if (s->released)
		return 0;
	if (witness_finish(&s->witness, e) < 0 || skey_hash_head(&s->skey, e) < 0 ||
	    skey_digest(&s->skey, &s->plan, &s->witness.content.components, &d, e) < 0 ||
	    skey_mac(&s->skey, s->data.p, &d, s->skey.mac, e) < 0)
		return -1;
	if (s->signer && skey_sign(&s->skey, &d, s->signer, e) < 0)
		return -1;
	s->released = true;
	if (sink_begin(s->inner, &s->plan, e) < 0 || put_skey(s, e) < 0)
		return -1;
	return put_held(s, e);
}

/* Seal plain bytes of an item. */
static int
seal(struct seal_sink *s, const uint8_t *p, size_t n, struct err *e)
{
	const uint8_t *out;
	size_t got;

	do {
		if (chunks_seal(&s->chunks, &p, &n, &out, &got, e) < 0 ||
		    (got > 0 && emit(s, out, got, e) < 0))
			return -1;
	} while (got > 0);
	return 0;
}

static int
begin_chunks(struct seal_sink *s, uint64_t plain, struct err *e)
{
	const char *name = s->item.kind == ITEM_TENSOR
	                       ? tensor_name(s->plan.tensors[s->item.index])
	                   : s->item.kind == ITEM_BLOB ? s->plan.blobs[s->item.index].name
	                                               : NULL;
	uint8_t key[AEAD_KEY];
	int r = chunk_key(s->data.p, s->skey.salt, &s->plan, s->item.kind, s->item.index, key,
	                  e);

	if (r == 0)
		r = chunks_begin(&s->chunks, key, plain, name, e);
	secret_wipe(key, sizeof key);
	return r;
}

/* The item for the inner sink. */
static int
put_sealed(struct seal_sink *s, struct err *e)
{
	struct item out = s->item;
	uint64_t head;

	item_sizes(&s->plan, out.kind, out.index, &head, &out.bytes);
	out.head = NULL;
	out.head_bytes = 0;
	if (begin_chunks(s, s->item.head_bytes + s->item.bytes, e) < 0)
		return -1;
	if ((s->released ? sink_put(s->inner, &out, e) : held_put(&s->held, &out, e)) < 0)
		return -1;
	return s->item.head_bytes
	           ? seal(s, (const uint8_t *)s->item.head, s->item.head_bytes, e) : 0;
}

static int
put(struct sink *sink, const struct item *item, struct err *e)
{
	struct seal_sink *s = (struct seal_sink *)sink;

	s->item = *item;
	if (item->kind != ITEM_PROV && item->kind != ITEM_SIGN)
		s->item.head_bytes = 0;
	s->skip = item->kind == ITEM_OTHER;
	if (s->skip && !s->dropped && s->sink.note)
		s->sink.note("a frame of unknown kind cannot be sealed: left out");
	s->dropped |= s->skip;
	if (s->skip)
		return 0;
	if (item->kind != ITEM_BLOB && item->kind != ITEM_LICENCE && release(s, e) < 0)
		return -1;
	s->seals = item_is_sealed(&s->plan, item->kind, item->index);
	if (s->seals)
		return put_sealed(s, e);
	if (witness_item(&s->witness, item, e) < 0)
		return -1;
	return held_put(&s->held, item, e);
}

static int
write_body(struct sink *sink, const uint8_t *p, size_t n, struct err *e)
{
	struct seal_sink *s = (struct seal_sink *)sink;

	if (s->skip)
		return 0;
	if (s->seals)
		return seal(s, p, n, e);
	return witness_data(&s->witness, &s->item, p, n, e) < 0 ? -1 : emit(s, p, n, e);
}

static int
put_end(struct sink *sink, struct err *e)
{
	struct seal_sink *s = (struct seal_sink *)sink;

	if (s->skip)
		return 0;
	/* An empty body has given no chunk yet. */
	if (s->seals && (seal(s, NULL, 0, e) < 0 || chunks_end(&s->chunks, e) < 0))
		return -1;
	if (!s->seals)
		return witness_item_end(&s->witness, &s->item, e);
	return s->released ? sink_put_end(s->inner, e) : 0;
}

static int
end(struct sink *sink, struct err *e)
{
	struct seal_sink *s = (struct seal_sink *)sink;

	return release(s, e) < 0 ? -1 : sink_end(s->inner, e);
}

static void
close_sink(struct sink *sink)
{
	struct seal_sink *s = (struct seal_sink *)sink;

	secret_free(&s->data);
	chunks_free(&s->chunks);
	held_free(&s->held);
	if (s->begun)
		witness_free(&s->witness);
	model_free(&s->plan);
	free(s);
}

struct sink *
seal_sink(struct sink *inner, const struct skey *skey, const uint8_t data[SKEY_DATA],
          const struct key_secret *signer, struct err *e)
{
	static const struct sink_ops ops = { .begin = begin, .put = put,
		.write = write_body, .put_end = put_end, .end = end, .close = close_sink };
	struct seal_sink *s = mem_array(1, sizeof *s);

	if (!s) {
		err_memory(e);
		return NULL;
	}
	s->sink.ops = &ops;
	s->inner = inner;
	s->skey = *skey;
	s->skey.has_outer = signer != NULL;
	s->signer = signer;
	if (secret_alloc(&s->data, SKEY_DATA, e) < 0) {
		close_sink(&s->sink);
		return NULL;
	}
	memcpy(s->data.p, data, SKEY_DATA);
	s->data.n = SKEY_DATA;
	return &s->sink;
}
