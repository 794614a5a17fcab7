#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "crypto/seal/held.h"
#include "crypto/seal/seal.h"
#include "crypto/witness.h"

struct seal_source {
	struct source source;
	struct source *inner;
	struct skey skey;
	struct secret data;
	struct model plan;      /* without its seal */
	struct held held;
	struct item waiting;    /* the first item after those that are held */
	bool waits, ended;      /* there is one; inner is at its end */
	bool from_held;         /* the current item is a held one */
	bool opens;             /* the current item is sealed */
	struct chunks chunks;
	const uint8_t *in;      /* bytes of its body that are not opened yet */
	size_t in_bytes;
	struct buf whole;       /* opened head and body of a prov or sign */
	size_t whole_at;
	bool is_whole;
};

/* ---- before the first item ---- */

static int
read_skey(struct source *inner, struct skey *s, struct err *e)
{
	const char *name = inner->name;
	struct item item;
	const uint8_t *p;
	size_t n;
	int r;

	if (!inner->plan->sealed)
		return err_set(e, ERR_FORMAT, name, "is not sealed");
	r = source_next(inner, &item, e);
	if (r < 0)
		return -1;
	if (r == 0 || item.kind != ITEM_SKEY)
		return err_set(e, ERR_CORRUPT, name, "SKEY is not its first frame");
	return skey_parse(item.head, item.head_bytes, s, name, e) < 0
	           ? -1 : source_read(inner, &p, &n, e);
}

/* Hold one item. The witness sees it if it is not sealed. */
static int
hold(struct seal_source *s, struct witness *w, const struct item *item, struct err *e)
{
	bool open = !item_is_sealed(s->inner->plan, item->kind, item->index);
	const uint8_t *p;
	size_t n;

	if (held_put(&s->held, item, e) < 0 || (open && witness_item(w, item, e) < 0))
		return -1;
	for (;;) {
		if (source_read(s->inner, &p, &n, e) < 0)
			return -1;
		if (n == 0)
			break;
		if (held_write(&s->held, p, n, e) < 0 ||
		    (open && witness_data(w, item, p, n, e) < 0))
			return -1;
	}
	return open ? witness_item_end(w, item, e) : 0;
}

/* The next item of a known kind: 1, 0 at the end, or -1. */
static int
next_known(struct seal_source *s, struct item *item, struct err *e)
{
	const uint8_t *p;
	size_t n;
	int r;

	while ((r = source_next(s->inner, item, e)) > 0 && item->kind == ITEM_OTHER) {
		if (s->source.note)
			s->source.note("a frame of unknown kind is bound by no seal: left out");
		do {
			if (source_read(s->inner, &p, &n, e) < 0)
				return -1;
		} while (n > 0);
	}
	return r;
}

static int
hold_all(struct seal_source *s, struct witness *w, struct err *e)
{
	int r;

	while ((r = next_known(s, &s->waiting, e)) > 0) {
		if (s->waiting.kind != ITEM_BLOB && s->waiting.kind != ITEM_LICENCE)
			break;
		if (hold(s, w, &s->waiting, e) < 0)
			return -1;
	}
	s->waits = r > 0;
	s->ended = r == 0;
	return r < 0 ? -1 : witness_finish(w, e);
}

static int
check_mac(struct seal_source *s, const struct witness *w, struct err *e)
{
	uint8_t mac[HMAC_BYTES];
	struct digest d;

	if (skey_digest(&s->skey, &s->plan, &w->content.components, &d, e) < 0 ||
	    skey_mac(&s->skey, s->data.p, &d, mac, e) < 0)
		return -1;
	if (bytes_equal(mac, s->skey.mac, sizeof mac))
		return 0;
	return err_set(e, ERR_DECRYPT, s->inner->name, "its seal does not hold: metadata, "
	               "licence, the list of tensors or who can open it were changed");
}

static int
prepare(struct seal_source *s, const struct openers *o, struct err *e)
{
	struct witness w;
	int r;

	if (secret_alloc(&s->data, SKEY_DATA, e) < 0 ||
	    read_skey(s->inner, &s->skey, e) < 0 ||
	    skey_open(&s->skey, o, s->data.p, s->inner->name, e) < 0 ||
	    model_copy(&s->plan, s->inner->plan, e) < 0)
		return -1;
	s->data.n = SKEY_DATA;
	s->plan.sealed = 0;
	json_object_clear(s->plan.extra);
	r = witness_begin(&w, &s->plan, 1, e);
	if (r == 0)
		r = hold_all(s, &w, e);
	if (r == 0)
		r = check_mac(s, &w, e);
	witness_free(&w);
	return r;
}

static int
skip_body(struct seal_source *s, struct err *e)
{
	const uint8_t *p;
	size_t n;

	do {
		if (source_read(s->inner, &p, &n, e) < 0)
			return -1;
	} while (n > 0);
	return 0;
}

int
seal_peek(struct source *inner, struct skey *skey, struct digest *d, struct err *e)
{
	struct seal_source s = { .inner = inner };
	struct witness w;
	int r;

	if (read_skey(inner, skey, e) < 0)
		return -1;
	r = witness_begin(&w, inner->plan, 1, e);
	if (r == 0)
		r = hold_all(&s, &w, e);
	if (r == 0)
		r = skey_digest(skey, inner->plan, &w.content.components, d, e);
	if (r == 0 && s.waits)
		r = skip_body(&s, e);
	witness_free(&w);
	held_free(&s.held);
	return r < 0 ? -1 : !s.ended;
}

/* ---- items ---- */

static int
begin_chunks(struct seal_source *s, const struct item *item, uint64_t plain,
             struct err *e)
{
	static const char *const name[] = { [ITEM_PROV] = "prov", [ITEM_SIGN] = "sign" };
	uint8_t key[AEAD_KEY];
	int r = chunk_key(s->data.p, s->skey.salt, &s->plan, item->kind, item->index, key, e);

	if (r == 0)
		r = chunks_begin(&s->chunks, key, plain,
		                 item->kind == ITEM_TENSOR
		                     ? tensor_name(s->plan.tensors[item->index])
		                 : item->kind == ITEM_BLOB ? s->plan.blobs[item->index].name
		                                           : name[item->kind], e);
	secret_wipe(key, sizeof key);
	return r;
}

static int
read_inner(struct seal_source *s, const uint8_t **p, size_t *n, struct err *e)
{
	return s->from_held ? held_read(&s->held, p, n, e) : source_read(s->inner, p, n, e);
}

/* Some opened bytes of the body; none at its authenticated end. */
static int
read_opened(struct seal_source *s, const uint8_t **p, size_t *n, struct err *e)
{
	for (;;) {
		if (chunks_open(&s->chunks, &s->in, &s->in_bytes, p, n, e) < 0)
			return -1;
		if (*n > 0)
			return 0;
		if (read_inner(s, &s->in, &s->in_bytes, e) < 0)
			return -1;
		if (s->in_bytes == 0)
			return chunks_end(&s->chunks, e);
	}
}

/* The head comes before the body: open both now, as they are small. */
static int
open_whole(struct seal_source *s, struct item *item, uint64_t head, struct err *e)
{
	const uint8_t *p;
	size_t n;

	buf_clear(&s->whole);
	for (;;) {
		if (read_opened(s, &p, &n, e) < 0)
			return -1;
		if (n == 0)
			break;
		buf_put(&s->whole, p, n);
		if (!buf_ok(&s->whole))
			return err_memory(e);
	}
	s->is_whole = true;
	s->whole_at = (size_t)head;
	item->head = (const char *)s->whole.p;
	item->head_bytes = (size_t)head;
	return 0;
}

static int
next_inner(struct seal_source *s, struct item *item, struct err *e)
{
	bool wanted;
	int r;

	s->from_held = held_next(&s->held, item) > 0;
	if (s->from_held)
		return 1;
	for (;;) {
		r = s->waits;
		if (s->ended)
			return 0;
		if (s->waits)
			*item = s->waiting;
		else
			r = next_known(s, item, e);
		s->waits = false;
		wanted = r <= 0 || item->kind != ITEM_TENSOR || !s->source.wanted ||
		         s->source.wanted[item->index];
		if (wanted)
			return r;
		if (skip_body(s, e) < 0)
			return -1;
	}
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct seal_source *s = (struct seal_source *)source;
	uint64_t head, body;
	int r = next_inner(s, item, e);

	if (r <= 0)
		return r;
	s->is_whole = false;
	s->in_bytes = 0;
	s->opens = item_is_sealed(s->inner->plan, item->kind, item->index);
	if (!s->opens)
		return 1;
	item_sizes(&s->plan, item->kind, item->index, &head, &body);
	if (begin_chunks(s, item, head + body, e) < 0)
		return -1;
	item->bytes = body;
	if (item->kind != ITEM_PROV && item->kind != ITEM_SIGN)
		return 1;
	return open_whole(s, item, head, e) < 0 ? -1 : 1;
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct seal_source *s = (struct seal_source *)source;

	if (s->is_whole) {
		*p = s->whole.p + s->whole_at;
		*n = s->whole.n - s->whole_at;
		s->whole_at = s->whole.n;
		return 0;
	}
	return s->opens ? read_opened(s, p, n, e) : read_inner(s, p, n, e);
}

static void
close_source(struct source *source)
{
	struct seal_source *s = (struct seal_source *)source;

	secret_free(&s->data);
	chunks_free(&s->chunks);
	held_free(&s->held);
	buf_free(&s->whole);
	model_free(&s->plan);
	free(s);
}

struct source *
seal_source(struct source *inner, const struct openers *o, void (*note)(const char *),
            struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_body,
		.close = close_source };
	struct seal_source *s = mem_array(1, sizeof *s);

	if (!s) {
		err_memory(e);
		return NULL;
	}
	s->source = (struct source){ .plan = &s->plan, .ops = &ops, .name = inner->name,
		.note = note };
	s->inner = inner;
	if (prepare(s, o, e) == 0)
		return &s->source;
	close_source(&s->source);
	return NULL;
}
