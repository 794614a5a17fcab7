#include "crypto/seal/skey.h"

#include <inttypes.h>
#include <string.h>

#include "core/json.h"
#include "core/le.h"

#define X25519 "x25519"
#define ARGON2ID "argon2id"
#define DOMAIN "apr2 seal 2"

/* The text around the digits of the mac and of an outer signature, at the end of the head. */
#define MAC "\"mac\":\""
#define OUTER_KEY "\",\"key\":\""
#define OUTER "\",\"signature\":\""
#define END "\"}"

void
openers_free(struct openers *o)
{
	identities_free(&o->identities);
	secret_free(&o->password);
}

/* ---- wrapping ---- */

static const uint8_t no_nonce[AEAD_NONCE];

/* The keys that a stanza's secret gives; this memory is wiped. */
struct stanza_keys {
	uint8_t wrapping[AEAD_KEY];
	uint8_t commitment[SKEY_COMMITMENT];
};

static int
wrap(struct stanza *t, const struct stanza_keys *k, const uint8_t data[SKEY_DATA],
     struct err *e)
{
	struct aead a = { 0 };
	int r = aead_key(&a, k->wrapping, e);

	memcpy(t->commitment, k->commitment, sizeof t->commitment);
	if (r == 0)
		r = aead_seal(&a, no_nonce, NULL, 0, data, SKEY_DATA, t->wrapped,
		              t->wrapped + SKEY_DATA, e);
	aead_free(&a);
	return r;
}

/* 1 and the data key, 0 if the keys do not belong to the stanza, -1 if memory runs out. */
static int
unwrap(const struct stanza *t, const struct stanza_keys *k, uint8_t data[SKEY_DATA],
       struct err *e)
{
	struct err why = ERR_INIT;
	struct aead a = { 0 };
	int r;

	if (!bytes_equal(t->commitment, k->commitment, sizeof t->commitment))
		return 0;
	r = aead_key(&a, k->wrapping, &why);
	if (r == 0)
		r = aead_open(&a, no_nonce, NULL, 0, t->wrapped, SKEY_DATA, data,
		              t->wrapped + SKEY_DATA, NULL, &why);
	aead_free(&a);
	return why.code == ERR_MEMORY ? err_memory(e) : r == 0;
}

/* The keys of a recipient's stanza. secret is the caller's secret half, other the public
 * half of the other side. */
static int
agreed_keys(const struct skey *s, const uint8_t secret[AGREE_BYTES],
            const uint8_t other[AGREE_BYTES], const uint8_t pair[AGREE_BYTES],
            const uint8_t recipient[AGREE_BYTES], struct stanza_keys *k, struct err *e)
{
	uint8_t shared[AGREE_BYTES], context[2 * AGREE_BYTES];
	int r = agree(secret, other, shared, e);

	memcpy(context, pair, AGREE_BYTES);
	memcpy(context + AGREE_BYTES, recipient, AGREE_BYTES);
	if (r == 0)
		r = hkdf_context(s->salt, SKEY_SALT, shared, sizeof shared, DOMAIN " " X25519,
		                 context, sizeof context, (uint8_t *)k, sizeof *k, e);
	secret_wipe(shared, sizeof shared);
	return r;
}

/* The keys of a password's stanza. */
static int
password_keys(const struct skey *s, const struct stanza *t, const void *password, size_t n,
              struct stanza_keys *k, struct err *e)
{
	uint8_t stretched[AEAD_KEY], context[ARGON2ID_SALT + 16];
	int r = argon2id(password, n, t->salt, t->cost, stretched, sizeof stretched, e);

	memcpy(context, t->salt, ARGON2ID_SALT);
	le64_put(context + ARGON2ID_SALT, t->cost.memory);
	le64_put(context + ARGON2ID_SALT + 8, t->cost.passes);
	if (r == 0)
		r = hkdf_context(s->salt, SKEY_SALT, stretched, sizeof stretched,
		                 DOMAIN " " ARGON2ID, context, sizeof context, (uint8_t *)k,
		                 sizeof *k, e);
	secret_wipe(stretched, sizeof stretched);
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
	struct stanza_keys k;
	int r = -1;

	if (t && agree_public(pair, t->key, e) == 0 &&
	    agreed_keys(s, pair, recipient, t->key, recipient, &k, e) == 0)
		r = wrap(t, &k, data, e);
	secret_wipe(&k, sizeof k);
	return r;
}

int
skey_add_password(struct skey *s, const uint8_t data[SKEY_DATA], const void *password,
                  size_t n, const uint8_t salt[ARGON2ID_SALT], struct argon2id_cost cost,
                  struct err *e)
{
	struct stanza *t = next_stanza(s, e);
	struct stanza_keys k;
	int r = -1;

	if (t) {
		t->password = true;
		t->cost = cost;
		memcpy(t->salt, salt, sizeof t->salt);
		if (password_keys(s, t, password, n, &k, e) == 0)
			r = wrap(t, &k, data, e);
	}
	secret_wipe(&k, sizeof k);
	return r;
}

/* One message for every wrong key, so that it does not reveal what is wrong. */
static int
not_opened(const char *where, struct err *e)
{
	return err_set(e, ERR_DECRYPT, where, "no key that is given opens it");
}

static int
open_by_password(const struct skey *s, const struct secret *password,
                 uint8_t data[SKEY_DATA], const char *where, struct err *e)
{
	const struct stanza *t = &s->stanzas[0];
	struct stanza_keys k;
	int r;

	if (!password->p) {
		err_set(e, ERR_DECRYPT, where, "is sealed with a passphrase, and none is given");
		return err_hint(e, "without -i, apr-decrypt asks for it");
	}
	r = password_keys(s, t, password->p, password->n, &k, e);
	if (r == 0)
		r = unwrap(t, &k, data, e);
	secret_wipe(&k, sizeof k);
	return r < 0 ? -1 : r > 0 ? 0 : not_opened(where, e);
}

/* 1 if this identity opens the stanza, 0 if not, -1 if memory runs out. */
static int
try_identity(const struct skey *s, const struct stanza *t,
             const uint8_t secret[AGREE_BYTES], uint8_t data[SKEY_DATA], struct err *e)
{
	uint8_t recipient[AGREE_BYTES];
	struct err why = ERR_INIT;
	struct stanza_keys k;
	int r = 0;

	if (agree_public(secret, recipient, e) < 0)
		return -1;
	if (agreed_keys(s, secret, t->key, t->key, recipient, &k, &why) == 0)
		r = unwrap(t, &k, data, e);
	secret_wipe(&k, sizeof k);
	return why.code == ERR_MEMORY ? err_memory(e) : r;
}

static int
open_by_identities(const struct skey *s, const struct identities *with,
                   uint8_t data[SKEY_DATA], const char *where, struct err *e)
{
	size_t i, k, n = identities_count(with);
	int r;

	if (n == 0) {
		err_set(e, ERR_DECRYPT, where, "is sealed for identities, and none is given");
		return err_hint(e, "-i FILE names the file of one");
	}
	for (i = 0; i < s->n; i++)
		for (k = 0; k < n; k++) {
			r = try_identity(s, &s->stanzas[i], identities_key(with, k), data, e);
			if (r != 0)
				return r > 0 ? 0 : -1;
		}
	return not_opened(where, e);
}

int
skey_open(const struct skey *s, const struct openers *o, uint8_t data[SKEY_DATA],
          const char *where, struct err *e)
{
	if (s->n == 0)
		return err_set(e, ERR_DECRYPT, where, "is sealed for keys of types that this tool "
		               "does not know");
	if (s->n == 1 && s->stanzas[0].password)
		return open_by_password(s, &o->password, data, where, e);
	return open_by_identities(s, &o->identities, data, where, e);
}

/* ---- mac ---- */

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
skey_digest(const struct skey *s, const struct model *m, const struct components *c,
            struct digest *d, struct err *e)
{
	struct sha256 h;

	sha256_start(&h);
	sha256_add_domain(&h, DOMAIN);
	sha256_add(&h, s->head.b, sizeof s->head.b);
	sha256_add(&h, c->metadata.b, sizeof c->metadata.b);
	sha256_add(&h, c->licence.b, sizeof c->licence.b);
	add_plan(&h, m);
	return sha256_finish(&h, d, e);
}

int
skey_mac(const struct skey *s, const uint8_t data[SKEY_DATA], const struct digest *d,
         uint8_t mac[HMAC_BYTES], struct err *e)
{
	uint8_t key[HMAC_BYTES];
	int r = hkdf_context(s->salt, sizeof s->salt, data, SKEY_DATA, DOMAIN " mac", NULL, 0,
	                     key, sizeof key, e);

	if (r == 0)
		r = hmac_sha256(key, sizeof key, d->b, sizeof d->b, mac, e);
	secret_wipe(key, sizeof key);
	return r;
}

/* The message that an outer signature signs. */
#define SIGNED_DOMAIN DOMAIN " signature"
#define SIGNED (sizeof SIGNED_DOMAIN + 32 + DIGEST_BYTES + HMAC_BYTES)

static void
signed_text(const struct skey *s, const struct digest *d, const struct key_public *k,
            uint8_t text[SIGNED])
{
	uint8_t *p = text;

	memcpy(p, SIGNED_DOMAIN, sizeof SIGNED_DOMAIN);
	p += sizeof SIGNED_DOMAIN;
	memcpy(p, k->key, sizeof k->key);
	p += sizeof k->key;
	memcpy(p, d->b, sizeof d->b);
	memcpy(p + sizeof d->b, s->mac, sizeof s->mac);
}

int
skey_sign(struct skey *s, const struct digest *d, const struct key_secret *k, struct err *e)
{
	const struct key_public *public = key_secret_public(k);
	uint8_t text[SIGNED];

	s->has_outer = true;
	memcpy(s->outer_key, public->id, sizeof s->outer_key);
	signed_text(s, d, public, text);
	key_sign_hashed(k, text, sizeof text, s->outer);
	if (skey_verify(s, d, public))
		return 0;
	return err_set(e, ERR_SIGNATURE, NULL, "the signature that was made does not hold");
}

bool
skey_verify(const struct skey *s, const struct digest *d, const struct key_public *k)
{
	uint8_t text[SIGNED];

	signed_text(s, d, k, text);
	return s->has_outer && memcmp(s->outer_key, k->id, sizeof s->outer_key) == 0 &&
	       key_verify_hashed(k, text, sizeof text, s->outer);
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

static void
put_stanza(struct buf *b, const struct stanza *t)
{
	if (t->password) {
		put_hex(b, "{\"type\":\"" ARGON2ID "\",\"salt\":\"", t->salt, sizeof t->salt, "\"");
		buf_printf(b, ",\"memory\":%" PRIu32 ",\"passes\":%" PRIu32, t->cost.memory,
		           t->cost.passes);
	} else {
		put_hex(b, "{\"type\":\"" X25519 "\",\"key\":\"", t->key, sizeof t->key, "\"");
	}
	put_hex(b, ",\"commitment\":\"", t->commitment, sizeof t->commitment, "\"");
	put_hex(b, ",\"wrapped\":\"", t->wrapped, sizeof t->wrapped, "\"}");
}

/* The part of the head that the mac covers, which ends before the mac's digits. */
static void
put_before_mac(const struct skey *s, struct buf *b)
{
	size_t i;

	put_hex(b, "{\"version\":2,\"salt\":\"", s->salt, sizeof s->salt, "\",\"stanzas\":[");
	for (i = 0; i < s->n; i++) {
		buf_text(b, i ? "," : "");
		put_stanza(b, &s->stanzas[i]);
	}
	buf_text(b, "]," MAC);
}

int
skey_hash_head(struct skey *s, struct err *e)
{
	struct buf b = { 0 };
	int r = -1;

	put_before_mac(s, &b);
	if (buf_ok(&b))
		r = sha256_of(b.p, b.n, &s->head);
	buf_free(&b);
	return r < 0 ? err_memory(e) : 0;
}

/* The mac's digits and everything after them. */
static void
put_end(const struct skey *s, struct buf *b)
{
	put_hex(b, "", s->mac, sizeof s->mac, s->has_outer ? OUTER_KEY : END);
	if (s->has_outer) {
		put_hex(b, "", s->outer_key, sizeof s->outer_key, OUTER);
		put_hex(b, "", s->outer, sizeof s->outer, END);
	}
}

int
skey_write(const struct skey *s, struct buf *b, struct err *e)
{
	put_before_mac(s, b);
	put_end(s, b);
	return buf_ok(b) ? 0 : err_memory(e);
}

/* Read a member of exactly n bytes in hexadecimal digits. */
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
	    json_member_u64(o, "passes", &passes) < 0 || json_object_size(o) != 6)
		return bad(where, e, "stanza for a password");
	if (memory > most.memory || passes > most.passes)
		return err_set(e, ERR_MEMORY, where, "a guess of its passphrase costs %" PRIu64
		               " KiB and %" PRIu64 " passes, more than this tool spends (%" PRIu32
		               ", %" PRIu32 ")", memory, passes, most.memory, most.passes);
	t->cost = (struct argon2id_cost){ (uint32_t)memory, (uint32_t)passes };
	return 0;
}

/* Append the stanza o, if its type is known. */
static int
parse_stanza(const json_t *o, struct skey *s, const char *where, struct err *e)
{
	struct stanza *t = &s->stanzas[s->n];
	const char *type;

	if (json_member_text(o, "type", &type) < 0)
		return bad(where, e, "stanza");
	if (strcmp(type, ARGON2ID) != 0 && strcmp(type, X25519) != 0) {
		s->unknown++;
		return 0;
	}
	if (get_hex(o, "wrapped", t->wrapped, sizeof t->wrapped) < 0 ||
	    get_hex(o, "commitment", t->commitment, sizeof t->commitment) < 0)
		return bad(where, e, "stanza");
	s->n++;
	if (strcmp(type, ARGON2ID) == 0)
		return parse_password(o, t, where, e);
	if (get_hex(o, "key", t->key, sizeof t->key) < 0 || json_object_size(o) != 4)
		return bad(where, e, "stanza for a recipient");
	return 0;
}

static int
parse_stanzas(const json_t *list, struct skey *s, const char *where, struct err *e)
{
	const json_t *v;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) == 0 ||
	    json_array_size(list) > SKEY_STANZAS)
		return bad(where, e, "list of stanzas");
	json_array_foreach(list, i, v)
		if (parse_stanza(v, s, where, e) < 0)
			return -1;
	for (i = 0; i < s->n; i++)
		if (s->stanzas[i].password && json_array_size(list) > 1)
			return err_set(e, ERR_CORRUPT, where,
			               "SKEY: a password stands beside other stanzas");
	return 0;
}

static int
parse_all(const json_t *o, struct skey *s, const char *where, struct err *e)
{
	uint64_t version;

	if (json_member_u64(o, "version", &version) < 0)
		return bad(where, e, "version");
	if (version != 2)
		return err_set(e, ERR_VERSION, where, "SKEY: version %" PRIu64
		               ", this tool reads 2", version);
	if (get_hex(o, "salt", s->salt, sizeof s->salt) < 0)
		return bad(where, e, "salt");
	if (get_hex(o, "mac", s->mac, sizeof s->mac) < 0)
		return bad(where, e, "mac");
	s->has_outer = json_object_get(o, "signature") != NULL;
	if (s->has_outer && (get_hex(o, "key", s->outer_key, sizeof s->outer_key) < 0 ||
	                     get_hex(o, "signature", s->outer, sizeof s->outer) < 0))
		return bad(where, e, "signature");
	if (json_object_size(o) != (s->has_outer ? 6 : 4))
		return bad(where, e, "list of members");
	return parse_stanzas(json_object_get(o, "stanzas"), s, where, e);
}

/* Hash the text up to the mac's digits, which the mac covers. The text after them has only
 * one form, so it is enough to write it again. */
static int
hash_text(const char *text, size_t n, struct skey *s, const char *where, struct err *e)
{
	struct buf end = { 0 };
	int r;

	buf_text(&end, MAC);
	put_end(s, &end);
	if (!buf_ok(&end))
		r = err_memory(e);
	else if (n < end.n || memcmp(text + n - end.n, end.p, end.n) != 0)
		r = err_set(e, ERR_CORRUPT, where, "SKEY: it does not end in its mac");
	else if (sha256_of(text, n - end.n + strlen(MAC), &s->head) < 0)
		r = err_memory(e);
	else
		r = 0;
	buf_free(&end);
	return r;
}

int
skey_parse(const void *head, size_t n, struct skey *s, const char *where, struct err *e)
{
	json_t *o;
	int r;

	*s = (struct skey){ .n = 0 };
	if (n > SKEY_HEAD)
		return err_set(e, ERR_CORRUPT, where, "SKEY: it has %zu bytes, more than %zu", n,
		               SKEY_HEAD);
	o = json_parse(head, n, ERR_CORRUPT, where, e);
	if (!o)
		return -1;
	r = parse_all(o, s, where, e);
	json_decref(o);
	return r < 0 ? -1 : hash_text(head, n, s, where, e);
}
