#include "crypto/apr1_seal.h"

#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "crypto/aead.h"
#include "crypto/digest.h"
#include "crypto/kdf.h"
#include "crypto/secret.h"
#include "model/vault.h"

#define INFO "apr-v1-encrypt"
#define SALT ARGON2ID_SALT
#define ID 8
#define WRAPPED (AEAD_KEY + AEAD_TAG)
#define STANZA (ID + WRAPPED)
#define COMMITMENT 32
#define PIECE ((size_t)1 << 20)

static const uint8_t zeros[AEAD_NONCE];

/* Everything that must be wiped. */
struct keys {
	uint8_t own[AGREE_BYTES];      /* secret half of the pair made for this file */
	uint8_t agreed[AGREE_BYTES];
	uint8_t wrap[AEAD_KEY];
	uint8_t data[AEAD_KEY];
	uint8_t both[AEAD_KEY + COMMITMENT]; /* the payload's key first */
};

/* ---- keys ---- */

static int
from_password(struct keys *k, const uint8_t *password, size_t n, const uint8_t salt[SALT],
              struct err *e)
{
	return argon2id(password, n, salt, ARGON2ID_COST_APR1, k->both, AEAD_KEY, e);
}

/* After agreement. */
static int
from_recipient(struct keys *k, struct err *e)
{
	return hkdf_sha256(NULL, 0, k->agreed, AGREE_BYTES, INFO, strlen(INFO), k->both,
	                   AEAD_KEY, e);
}

static int
wrapping_key(struct keys *k, const uint8_t *public, const uint8_t *recipient, struct err *e)
{
	static const char info[] = INFO " wrap";
	uint8_t salt[2 * AGREE_BYTES];

	memcpy(salt, public, AGREE_BYTES);
	memcpy(salt + AGREE_BYTES, recipient, AGREE_BYTES);
	return hkdf_sha256(salt, sizeof salt, k->agreed, AGREE_BYTES, info, strlen(info),
	                   k->wrap, AEAD_KEY, e);
}

static int
from_data(struct keys *k, struct err *e)
{
	static const char info[] = INFO " payload";

	return hkdf_sha256(NULL, 0, k->data, AEAD_KEY, info, strlen(info), k->both,
	                   sizeof k->both, e);
}

/* ---- the payload ---- */

/* Pass n bytes at p through the cipher into the spool. */
static int
pass(struct aead *a, const uint8_t *p, size_t n, struct spool *to, struct err *e)
{
	uint8_t *room = mem_array(1, PIECE);
	size_t part;
	int r = room ? 0 : err_memory(e);

	for (; r == 0 && n > 0; n -= part, p += part) {
		part = n < PIECE ? n : PIECE;
		r = aead_add(a, p, part, room, e);
		if (r == 0)
			r = spool_put(to, room, part, e);
	}
	free(room);
	return r;
}

/* ---- sealing ---- */

enum apr1_seal_mode
apr1_sealing_mode(const struct apr1_sealing *s)
{
	return s->password ? APR1_PASSWORD : s->key_count == 1 ? APR1_RECIPIENT : APR1_RECIPIENTS;
}

/* Bytes before the nonce. */
static size_t
front_bytes(const struct apr1_sealing *s)
{
	switch (apr1_sealing_mode(s)) {
	case APR1_PASSWORD:
		return SALT;
	case APR1_RECIPIENT:
		return AGREE_BYTES + ID;
	default:
		return AGREE_BYTES + 2 + s->key_count * STANZA + COMMITMENT;
	}
}

uint64_t
apr1_sealing_extra(const struct apr1_sealing *s)
{
	return front_bytes(s) + AEAD_NONCE + AEAD_TAG;
}

static int
put_stanzas(const struct apr1_sealing *s, struct keys *k, uint8_t *front, struct err *e)
{
	uint8_t *p = front + AGREE_BYTES + 2;
	struct aead a = { 0 };
	size_t i;
	int r = 0;

	le16_put(front + AGREE_BYTES, (uint16_t)s->key_count);
	for (i = 0; r == 0 && i < s->key_count; i++, p += STANZA) {
		const uint8_t *key = s->keys + i * AGREE_BYTES;

		memcpy(p, key, ID);
		r = agree(k->own, key, k->agreed, e);
		if (r == 0)
			r = wrapping_key(k, front, key, e);
		if (r == 0)
			r = aead_key(&a, k->wrap, e);
		if (r == 0)
			r = aead_seal(&a, zeros, NULL, 0, k->data, AEAD_KEY, p + ID,
			              p + ID + AEAD_KEY, e);
	}
	aead_free(&a);
	if (r == 0)
		memcpy(p, k->both + AEAD_KEY, COMMITMENT);
	return r;
}

/* Write the bytes before the nonce, and make the key. */
static int
make_front(const struct apr1_sealing *s, struct keys *k, uint8_t *front, struct err *e)
{
	int (*chance)(void *, size_t, struct err *) = s->chance ? s->chance : random_bytes;

	if (s->password)
		return chance(front, SALT, e) < 0
		           ? -1 : from_password(k, s->password, s->password_bytes, front, e);
	if (chance(k->own, AGREE_BYTES, e) < 0 || agree_public(k->own, front, e) < 0)
		return -1;
	if (s->key_count == 1) {
		memcpy(front + AGREE_BYTES, s->keys, ID);
		return agree(k->own, s->keys, k->agreed, e) < 0 ? -1 : from_recipient(k, e);
	}
	if (chance(k->data, AEAD_KEY, e) < 0 || from_data(k, e) < 0)
		return -1;
	return put_stanzas(s, k, front, e);
}

int
apr1_seal(const struct apr1_sealing *s, const uint8_t *p, size_t n, struct spool *to,
          struct err *e)
{
	int (*chance)(void *, size_t, struct err *) = s->chance ? s->chance : random_bytes;
	bool binds = apr1_sealing_mode(s) == APR1_RECIPIENTS;
	size_t bytes = front_bytes(s);
	uint8_t *front = mem_array(bytes, 1), nonce[AEAD_NONCE], tag[AEAD_TAG];
	struct secret memory = { 0 };
	struct aead a = { 0 };
	int r = -1;

	if (!front)
		err_memory(e);
	else if (s->key_count > UINT16_MAX)
		err_set(e, ERR_USAGE, NULL, "%zu recipients are too many", s->key_count);
	else if (secret_alloc(&memory, sizeof(struct keys), e) == 0 &&
	         make_front(s, (struct keys *)(void *)memory.p, front, e) == 0 &&
	         chance(nonce, sizeof nonce, e) == 0 &&
	         aead_key(&a, ((struct keys *)(void *)memory.p)->both, e) == 0 &&
	         aead_begin(&a, AEAD_SEAL, nonce, binds ? front : NULL, binds ? bytes : 0,
	                    e) == 0 &&
	         spool_put(to, front, bytes, e) == 0 &&
	         spool_put(to, nonce, sizeof nonce, e) == 0 && pass(&a, p, n, to, e) == 0 &&
	         aead_tag(&a, tag, e) == 0)
		r = spool_put(to, tag, sizeof tag, e);
	aead_free(&a);
	secret_free(&memory);
	free(front);
	return r;
}

/* ---- opening ---- */

struct opening {
	const struct apr1_opening *with;
	const uint8_t *p;
	size_t n;
	const char *name;
	struct keys *k;
	size_t front;      /* bytes before the nonce */
	bool binds;
	struct err *e;
};

static int
no(const struct opening *o, const char *why)
{
	return err_set(o->e, ERR_DECRYPT, o->name, "DecryptionFailed: %s", why);
}

static int
wrong_key(const struct opening *o)
{
	return err_set(o->e, ERR_DECRYPT, o->name, VAULT_WRONG_KEY);
}

static int
too_short(const struct opening *o)
{
	return err_set(o->e, ERR_CORRUPT, o->name, "InvalidFormat: its payload is shorter than "
	               "what seals it");
}

/* True if this is the key's id: its first bytes, as existing software writes, or those of
 * its digest. */
static bool
is_for(const uint8_t id[ID], const uint8_t public[AGREE_BYTES])
{
	struct digest d;
	struct sha256 h;
	struct err ignored = ERR_INIT;

	if (memcmp(id, public, ID) == 0)
		return true;
	sha256_start(&h);
	sha256_add(&h, public, AGREE_BYTES);
	return sha256_finish(&h, &d, &ignored) == 0 && memcmp(id, d.b, ID) == 0;
}

static int
open_recipient(struct opening *o)
{
	uint8_t public[AGREE_BYTES];
	size_t i;

	o->front = AGREE_BYTES + ID;
	if (o->n < o->front + AEAD_NONCE + AEAD_TAG)
		return too_short(o);
	/* X25519 ignores the last bit, and nothing else authenticates it. */
	if (o->p[AGREE_BYTES - 1] & 0x80)
		return no(o, "its ephemeral key is none that is made");
	for (i = 0; i < o->with->secret_count; i++) {
		const uint8_t *secret = o->with->secrets + i * AGREE_BYTES;

		if (agree_public(secret, public, o->e) < 0)
			return -1;
		if (!is_for(o->p + AGREE_BYTES, public))
			continue;
		return agree(secret, o->p, o->k->agreed, o->e) < 0 ? -1
		                                                   : from_recipient(o->k, o->e);
	}
	return wrong_key(o);
}

/* Find a stanza that one of the identities opens: 1, 0 if there is none, -1 on a fault. */
static int
try_stanza(struct opening *o, const uint8_t *stanza, const uint8_t *secret,
           const uint8_t *public)
{
	struct err ignored = ERR_INIT;
	struct aead a = { 0 };
	int r;

	if (memcmp(stanza, public, ID) != 0)
		return 0;
	if (agree(secret, o->p, o->k->agreed, o->e) < 0 ||
	    wrapping_key(o->k, o->p, public, o->e) < 0 || aead_key(&a, o->k->wrap, o->e) < 0)
		return -1;
	r = aead_open(&a, zeros, NULL, 0, stanza + ID, AEAD_KEY, o->k->data,
	              stanza + ID + AEAD_KEY, o->name, &ignored);
	aead_free(&a);
	return r == 0;
}

static int
open_recipients(struct opening *o)
{
	const uint8_t *p = o->p + AGREE_BYTES + 2;
	uint8_t public[AGREE_BYTES];
	size_t i, k, count;
	int r = 0;

	if (o->n < AGREE_BYTES + 2)
		return too_short(o);
	count = le16(o->p + AGREE_BYTES);
	o->front = AGREE_BYTES + 2 + count * STANZA + COMMITMENT;
	o->binds = true;
	if (o->n < o->front + AEAD_NONCE + AEAD_TAG)
		return too_short(o);
	for (i = 0; r == 0 && i < o->with->secret_count; i++) {
		const uint8_t *secret = o->with->secrets + i * AGREE_BYTES;

		if (agree_public(secret, public, o->e) < 0)
			return -1;
		for (k = 0; r == 0 && k < count; k++)
			r = try_stanza(o, p + k * STANZA, secret, public);
	}
	if (r <= 0)
		return r < 0 ? -1 : wrong_key(o);
	if (from_data(o->k, o->e) < 0)
		return -1;
	if (!bytes_equal(o->k->both + AEAD_KEY, p + count * STANZA, COMMITMENT))
		return wrong_key(o);
	return 0;
}

static int
find_key(struct opening *o, unsigned mode)
{
	const struct apr1_opening *with = o->with;

	if (mode == APR1_PASSWORD && with->password) {
		o->front = SALT;
		if (o->n < o->front + AEAD_NONCE + AEAD_TAG)
			return too_short(o);
		return from_password(o->k, with->password, with->password_bytes, o->p, o->e);
	}
	if (!with->secret_count)
		return no(o, mode == APR1_PASSWORD ? "it needs a passphrase, or an identity"
		                                   : "it is for recipients, and needs an identity");
	return mode == APR1_RECIPIENTS ? open_recipients(o) : open_recipient(o);
}

int
apr1_unseal(const struct apr1_opening *with, unsigned mode, const uint8_t *p, size_t n,
            struct spool *to, const char *name, struct err *e)
{
	struct opening o = { .with = with, .p = p, .n = n, .name = name, .e = e };
	struct secret memory = { 0 };
	struct err ignored = ERR_INIT;
	struct aead a = { 0 };
	const uint8_t *nonce;
	size_t left;
	int r = -1;

	if (secret_alloc(&memory, sizeof(struct keys), e) < 0)
		return -1;
	o.k = (struct keys *)(void *)memory.p;
	if (find_key(&o, mode) == 0) {
		nonce = p + o.front;
		left = n - o.front - AEAD_NONCE - AEAD_TAG;
		if (aead_key(&a, o.k->both, e) == 0 &&
		    aead_begin(&a, AEAD_OPEN, nonce, o.binds ? p : NULL, o.binds ? o.front : 0,
		               e) == 0 &&
		    pass(&a, nonce + AEAD_NONCE, left, to, e) == 0) {
			r = aead_check(&a, nonce + AEAD_NONCE + left, name, &ignored);
			if (r < 0 && ignored.code == ERR_DECRYPT)
				wrong_key(&o);
			else if (r < 0)
				err_memory(e);
		}
	}
	aead_free(&a);
	secret_free(&memory);
	return r;
}
