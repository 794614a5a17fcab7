#include "crypto/seal/skey.h"

#include <inttypes.h>
#include <string.h>

#include "core/json.h"
#include "crypto/digest.h"

#define X25519 "x25519"
#define ARGON2ID "argon2id"

void
openers_free(struct openers *o)
{
	identities_free(&o->identities);
	secret_free(&o->password);
}

/* ---- wrapping ---- */

static const uint8_t no_nonce[AEAD_NONCE];

static int
wrap(struct stanza *t, const uint8_t key[AEAD_KEY], const uint8_t data[SKEY_DATA],
     struct err *e)
{
	struct aead a = { 0 };
	int r = aead_key(&a, key, e);

	if (r == 0)
		r = aead_seal(&a, no_nonce, NULL, 0, data, SKEY_DATA, t->wrapped,
		              t->wrapped + SKEY_DATA, e);
	aead_free(&a);
	return r;
}

static int
unwrap(const struct stanza *t, const uint8_t key[AEAD_KEY], uint8_t data[SKEY_DATA],
       struct err *e)
{
	struct aead a = { 0 };
	int r = aead_key(&a, key, e);

	if (r == 0)
		r = aead_open(&a, no_nonce, NULL, 0, t->wrapped, SKEY_DATA, data,
		              t->wrapped + SKEY_DATA, NULL, e);
	aead_free(&a);
	return r;
}

/* The key that wraps for a recipient: ours is the half that we know the secret of. */
static int
agreed_key(const uint8_t secret[AGREE_BYTES], const uint8_t other[AGREE_BYTES],
           const uint8_t pair[AGREE_BYTES], const uint8_t recipient[AGREE_BYTES],
           uint8_t key[AEAD_KEY], struct err *e)
{
	static const char info[] = "apr2 x25519";
	uint8_t shared[AGREE_BYTES], salt[2 * AGREE_BYTES];
	int r = agree(secret, other, shared, e);

	memcpy(salt, pair, AGREE_BYTES);
	memcpy(salt + AGREE_BYTES, recipient, AGREE_BYTES);
	if (r == 0)
		r = hkdf_sha256(salt, sizeof salt, shared, sizeof shared, info, strlen(info), key,
		                AEAD_KEY, e);
	secret_wipe(shared, sizeof shared);
	return r;
}

static struct stanza *
next_stanza(struct skey *s, struct err *e)
{
	if (s->n == SKEY_STANZAS) {
		err_set(e, ERR_USAGE, NULL, "there are more than %d recipients", SKEY_STANZAS);
		return NULL;
	}
	s->stanzas[s->n] = (struct stanza){ .password = false };
	return &s->stanzas[s->n++];
}

int
skey_add_recipient(struct skey *s, const uint8_t data[SKEY_DATA],
                   const uint8_t recipient[AGREE_BYTES], const uint8_t pair[AGREE_BYTES],
                   struct err *e)
{
	struct stanza *t = next_stanza(s, e);
	uint8_t key[AEAD_KEY];
	int r = -1;

	if (t && agree_public(pair, t->key, e) == 0 &&
	    agreed_key(pair, recipient, t->key, recipient, key, e) == 0)
		r = wrap(t, key, data, e);
	secret_wipe(key, sizeof key);
	return r;
}

int
skey_add_password(struct skey *s, const uint8_t data[SKEY_DATA], const void *password,
                  size_t n, const uint8_t salt[ARGON2ID_SALT], struct argon2id_cost cost,
                  struct err *e)
{
	struct stanza *t = next_stanza(s, e);
	uint8_t key[AEAD_KEY];
	int r = -1;

	if (t) {
		t->password = true;
		t->cost = cost;
		memcpy(t->salt, salt, sizeof t->salt);
		if (argon2id(password, n, salt, cost, key, sizeof key, e) == 0)
			r = wrap(t, key, data, e);
	}
	secret_wipe(key, sizeof key);
	return r;
}

static int
open_by_password(const struct stanza *t, const struct secret *password,
                 uint8_t data[SKEY_DATA], const char *where, struct err *e)
{
	uint8_t key[AEAD_KEY];
	struct err why = ERR_INIT;
	int r;

	if (!password->p) {
		err_set(e, ERR_DECRYPT, where, "is sealed with a passphrase, and none is given");
		return err_hint(e, "without -i, apr-decrypt asks for it");
	}
	r = argon2id(password->p, password->n, t->salt, t->cost, key, sizeof key, e);
	if (r == 0 && unwrap(t, key, data, &why) < 0)
		r = err_set(e, ERR_DECRYPT, where, "the passphrase does not open it");
	secret_wipe(key, sizeof key);
	return r;
}

/* 1 if this identity opens the stanza, 0 if not, -1 without memory. */
static int
try_identity(const struct stanza *t, const uint8_t secret[AGREE_BYTES],
             uint8_t data[SKEY_DATA], struct err *e)
{
	uint8_t key[AEAD_KEY], recipient[AGREE_BYTES];
	struct err why = ERR_INIT;
	int r = -1;

	if (agree_public(secret, recipient, e) < 0)
		return -1;
	if (agreed_key(secret, t->key, t->key, recipient, key, &why) == 0)
		r = unwrap(t, key, data, &why);
	secret_wipe(key, sizeof key);
	if (why.code == ERR_MEMORY)
		return err_memory(e);
	return r == 0;
}

int
skey_open(const struct skey *s, const struct openers *o, uint8_t data[SKEY_DATA],
          const char *where, struct err *e)
{
	size_t i, k, n = identities_count(&o->identities);
	int r;

	if (s->n == 1 && s->stanzas[0].password)
		return open_by_password(&s->stanzas[0], &o->password, data, where, e);
	for (i = 0; i < s->n; i++)
		for (k = 0; k < n; k++) {
			r = try_identity(&s->stanzas[i], identities_key(&o->identities, k), data, e);
			if (r != 0)
				return r > 0 ? 0 : -1;
		}
	if (n == 0) {
		err_set(e, ERR_DECRYPT, where, "is sealed for identities, and none is given");
		return err_hint(e, "-i FILE names the file of one");
	}
	return err_set(e, ERR_DECRYPT, where, "is sealed for %zu recipient%s, and no identity "
	               "given is one of them", s->n, s->n == 1 ? "" : "s");
}

/* ---- mac ---- */

static void
add_stanzas(struct sha256 *h, const struct skey *s)
{
	size_t i;

	sha256_add_u64(h, s->n);
	for (i = 0; i < s->n; i++) {
		const struct stanza *t = &s->stanzas[i];

		sha256_add_text(h, t->password ? ARGON2ID : X25519);
		if (t->password) {
			sha256_add(h, t->salt, sizeof t->salt);
			sha256_add_u64(h, t->cost.memory);
			sha256_add_u64(h, t->cost.passes);
		} else {
			sha256_add(h, t->key, sizeof t->key);
		}
		sha256_add(h, t->wrapped, sizeof t->wrapped);
	}
}

static void
add_plan(struct sha256 *h, const struct model *m)
{
	size_t i, side = 0;
	unsigned d;

	for (i = 0; i < m->blob_count; i++)
		side += strcmp(m->blobs[i].type, MODEL_VALUE) != 0;
	sha256_add_u64(h, side);
	for (i = m->blob_count - side; i < m->blob_count; i++) {
		sha256_add_text(h, m->blobs[i].name);
		sha256_add_text(h, m->blobs[i].type);
		sha256_add_u64(h, m->blobs[i].bytes);
	}
	sha256_add_u64(h, m->tensor_count);
	for (i = 0; i < m->tensor_count; i++) {
		const struct tensor *t = m->tensors[i];

		sha256_add_text(h, tensor_name(t));
		sha256_add_text(h, tensor_type(t)->name);
		sha256_add_u64(h, tensor_ndim(t));
		for (d = 0; d < tensor_ndim(t); d++)
			sha256_add_u64(h, tensor_dims(t)[d]);
		sha256_add_u64(h, tensor_bytes(t));
	}
	sha256_add_u64(h, m->prov_count);
	for (i = 0; i < m->prov_count; i++)
		sha256_add_u64(h, m->provs[i]);
	sha256_add_u64(h, m->signatures);
}

int
skey_mac(const struct skey *s, const uint8_t data[SKEY_DATA], const struct model *m,
         const struct components *c, uint8_t mac[HMAC_BYTES], struct err *e)
{
	static const char info[] = "apr2 mac";
	uint8_t key[HMAC_BYTES];
	struct sha256 h;
	struct digest d;
	int r;

	sha256_start(&h);
	sha256_add_domain(&h, "apr2 seal 1");
	sha256_add(&h, s->salt, sizeof s->salt);
	add_stanzas(&h, s);
	sha256_add(&h, c->metadata.b, sizeof c->metadata.b);
	sha256_add(&h, c->licence.b, sizeof c->licence.b);
	add_plan(&h, m);
	r = sha256_finish(&h, &d, e);
	if (r == 0)
		r = hkdf_sha256(s->salt, sizeof s->salt, data, SKEY_DATA, info, strlen(info), key,
		                sizeof key, e);
	if (r == 0)
		r = hmac_sha256(key, sizeof key, d.b, sizeof d.b, mac, e);
	secret_wipe(key, sizeof key);
	return r;
}

/* ---- text ---- */

static void
put_hex(struct buf *b, const char *before, const uint8_t *p, size_t n, const char *after)
{
	size_t i;

	buf_text(b, before);
	for (i = 0; i < n; i++)
		buf_printf(b, "%02x", p[i]);
	buf_text(b, after);
}

int
skey_write(const struct skey *s, struct buf *b, struct err *e)
{
	size_t i;

	put_hex(b, "{\"version\":1,\"salt\":\"", s->salt, sizeof s->salt, "\",\"stanzas\":[");
	for (i = 0; i < s->n; i++) {
		const struct stanza *t = &s->stanzas[i];

		buf_text(b, i ? "," : "");
		if (t->password) {
			put_hex(b, "{\"type\":\"" ARGON2ID "\",\"salt\":\"", t->salt, sizeof t->salt,
			        "\"");
			buf_printf(b, ",\"memory\":%" PRIu32 ",\"passes\":%" PRIu32, t->cost.memory,
			           t->cost.passes);
		} else {
			put_hex(b, "{\"type\":\"" X25519 "\",\"key\":\"", t->key, sizeof t->key, "\"");
		}
		put_hex(b, ",\"wrapped\":\"", t->wrapped, sizeof t->wrapped, "\"}");
	}
	put_hex(b, "],\"mac\":\"", s->mac, sizeof s->mac, "\"}");
	return buf_ok(b) ? 0 : err_memory(e);
}

/* A member that is exactly n bytes in hexadecimal digits. */
static int
get_hex(const json_t *o, const char *name, uint8_t *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const char *text, *high, *low;
	size_t i;

	if (json_member_text(o, name, &text) < 0 || strlen(text) != 2 * n)
		return -1;
	for (i = 0; i < n; i++) {
		high = strchr(digits, text[2 * i]);
		low = strchr(digits, text[2 * i + 1]);
		if (!high || !low)
			return -1;
		p[i] = (uint8_t)((high - digits) << 4 | (low - digits));
	}
	return 0;
}

static int
bad(const char *where, struct err *e, const char *what)
{
	return err_set(e, ERR_CORRUPT, where, "SKEY: it has no good %s", what);
}

static int
parse_password(const json_t *o, struct stanza *t, const char *where, struct err *e)
{
	const struct argon2id_cost most = ARGON2ID_MOST;
	uint64_t memory, passes;

	t->password = true;
	if (get_hex(o, "salt", t->salt, sizeof t->salt) < 0 ||
	    json_member_u64(o, "memory", &memory) < 0 ||
	    json_member_u64(o, "passes", &passes) < 0 || json_object_size(o) != 5)
		return bad(where, e, "stanza for a password");
	if (memory > most.memory || passes > most.passes)
		return err_set(e, ERR_MEMORY, where, "a guess of its passphrase costs %" PRIu64
		               " KiB and %" PRIu64 " passes, more than this tool spends (%" PRIu32
		               ", %" PRIu32 ")", memory, passes, most.memory, most.passes);
	t->cost = (struct argon2id_cost){ (uint32_t)memory, (uint32_t)passes };
	return 0;
}

static int
parse_stanza(const json_t *o, struct stanza *t, const char *where, struct err *e)
{
	const char *type;

	if (json_member_text(o, "type", &type) < 0 ||
	    get_hex(o, "wrapped", t->wrapped, sizeof t->wrapped) < 0)
		return bad(where, e, "stanza");
	if (strcmp(type, ARGON2ID) == 0)
		return parse_password(o, t, where, e);
	if (strcmp(type, X25519) != 0)
		return err_set(e, ERR_FORMAT, where, "SKEY: a stanza of the unknown kind %.40s",
		               type);
	if (get_hex(o, "key", t->key, sizeof t->key) < 0 || json_object_size(o) != 3)
		return bad(where, e, "stanza for a recipient");
	return 0;
}

static int
parse_all(const json_t *o, struct skey *s, const char *where, struct err *e)
{
	const json_t *list = json_object_get(o, "stanzas"), *v;
	uint64_t version;
	size_t i;

	if (json_member_u64(o, "version", &version) < 0)
		return bad(where, e, "version");
	if (version != 1)
		return err_set(e, ERR_VERSION, where, "SKEY: version %" PRIu64
		               ", this tool reads 1", version);
	if (get_hex(o, "salt", s->salt, sizeof s->salt) < 0)
		return bad(where, e, "salt");
	if (get_hex(o, "mac", s->mac, sizeof s->mac) < 0)
		return bad(where, e, "mac");
	if (!json_is_array(list) || json_array_size(list) == 0 ||
	    json_array_size(list) > SKEY_STANZAS || json_object_size(o) != 4)
		return bad(where, e, "list of stanzas");
	json_array_foreach(list, i, v)
		if (parse_stanza(v, &s->stanzas[s->n++], where, e) < 0)
			return -1;
	for (i = 0; i < s->n; i++)
		if (s->stanzas[i].password && s->n > 1)
			return err_set(e, ERR_CORRUPT, where,
			               "SKEY: a password does not stand beside other stanzas");
	return 0;
}

int
skey_parse(const void *head, size_t n, struct skey *s, const char *where, struct err *e)
{
	json_t *o = json_parse(head, n, ERR_CORRUPT, where, e);
	int r;

	*s = (struct skey){ .n = 0 };
	if (!o)
		return -1;
	r = parse_all(o, s, where, e);
	json_decref(o);
	return r;
}
