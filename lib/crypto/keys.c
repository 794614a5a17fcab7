#include "crypto/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "core/le.h"
#include "core/out.h"
#include "core/text.h"
#include "crypto/kdf.h"
#include "crypto/secret.h"

/* The public file, decoded. */
enum { PUB_ALG = 0, PUB_ID = 2, PUB_KEY = 10, PUB_BYTES = 42 };

/* The secret file, decoded. */
enum {
	SEC_ALG = 0, SEC_KDF = 2, SEC_SUM = 4, SEC_SALT = 6, SEC_OPS = 38,
	SEC_MEM = 46, SEC_BOX = 54, SEC_BYTES = 158
};

/* The last part of the secret file, which may be encrypted. */
enum { BOX_ID = 0, BOX_KEY = 8, BOX_SUM = 72, BOX_BYTES = 104 };

enum { SALT_BYTES = 32, SEED_BYTES = 32, PAIR_BYTES = 64, SUM_BYTES = 32 };

_Static_assert((int)BOX_BYTES == SEC_BYTES - SEC_BOX, "box");
_Static_assert((int)SALT_BYTES == crypto_pwhash_scryptsalsa208sha256_SALTBYTES, "salt");
_Static_assert((int)SEED_BYTES == crypto_sign_SEEDBYTES, "seed");
_Static_assert((int)PAIR_BYTES == crypto_sign_SECRETKEYBYTES, "pair");
_Static_assert(KEY_PUBLIC_BYTES == crypto_sign_PUBLICKEYBYTES, "public key");
_Static_assert(KEY_SIGNATURE_BYTES == crypto_sign_BYTES, "signature");

static const char comment[] = "untrusted comment: ";

struct key_secret {
	struct key_public public; /* valid once the box is decrypted */
	bool encrypted;
	struct key_cost cost;
	uint8_t salt[SALT_BYTES];
	uint8_t sealed[BOX_BYTES]; /* as the file has it */
	uint8_t box[BOX_BYTES];    /* decrypted */
};

static struct key_secret *
allocate(struct err *e)
{
	struct key_secret *k = NULL;

	if (sodium_init() >= 0)
		k = sodium_malloc(sizeof *k);
	if (!k) {
		err_memory(e);
		return NULL;
	}
	sodium_memzero(k, sizeof *k);
	return k;
}

void
key_secret_free(struct key_secret *k)
{
	if (k)
		sodium_free(k);
}

/* Find the base64 of the second line: *line and its length. */
static int
find_line(const char *text, size_t n, const char **line, size_t *line_bytes,
          struct err *e)
{
	const char *end = text + n, *start, *stop;

	if (n > KEY_FILE_BYTES || n < sizeof comment - 1 ||
	    memcmp(text, comment, sizeof comment - 1) != 0)
		return err_set(e, ERR_FORMAT, NULL, "is not a minisign key file");
	start = memchr(text, '\n', n);
	if (!start)
		return err_set(e, ERR_CORRUPT, NULL, "the key's second line is missing");
	start++;
	stop = memchr(start, '\n', (size_t)(end - start));
	if (!stop)
		stop = end;
	*line = start;
	*line_bytes = (size_t)(stop - start);
	if (*line_bytes > 0 && start[*line_bytes - 1] == '\r')
		--*line_bytes;
	for (; stop < end; stop++)
		if (*stop != '\n' && *stop != '\r')
			return err_set(e, ERR_CORRUPT, NULL,
			               "has text after the key's second line");
	return 0;
}

/* Decode the second line into exactly want bytes. The other kind of key has a message of
 * its own, because users confuse the two. */
static int
decode(const uint8_t *text, size_t n, uint8_t *out, size_t want, struct err *e)
{
	uint8_t *bytes;
	const char *line = NULL;
	size_t line_bytes = 0, got = 0;
	int bad;

	if (find_line((const char *)text, n, &line, &line_bytes, e) < 0)
		return -1;
	bytes = sodium_malloc(KEY_FILE_BYTES);
	if (!bytes)
		return err_memory(e);
	bad = sodium_base642bin(bytes, KEY_FILE_BYTES, line, line_bytes, NULL, &got, NULL,
	                        sodium_base64_VARIANT_ORIGINAL);
	if (bad == 0 && got == want)
		memcpy(out, bytes, want);
	sodium_free(bytes);
	if (bad != 0)
		return err_set(e, ERR_CORRUPT, NULL, "the key's second line is not base64");
	if (got == SEC_BYTES && want == PUB_BYTES)
		return err_set(e, ERR_FORMAT, NULL,
		               "is a secret key where a public one is needed");
	if (got == PUB_BYTES && want == SEC_BYTES)
		return err_set(e, ERR_FORMAT, NULL,
		               "is a public key where a secret one is needed");
	if (got != want)
		return err_set(e, ERR_CORRUPT, NULL, "the key has %zu bytes, not %zu", got,
		               want);
	return 0;
}

int
key_public_parse(const uint8_t *text, size_t n, struct key_public *k, struct err *e)
{
	uint8_t p[PUB_BYTES];

	if (sodium_init() < 0)
		return err_memory(e);
	if (decode(text, n, p, sizeof p, e) < 0)
		return -1;
	if (memcmp(p + PUB_ALG, "Ed", 2) != 0)
		return err_set(e, ERR_FORMAT, NULL, "is not an Ed25519 key");
	memcpy(k->id, p + PUB_ID, sizeof k->id);
	memcpy(k->key, p + PUB_KEY, sizeof k->key);
	return 0;
}

static void
checksum(const uint8_t box[BOX_BYTES], uint8_t sum[SUM_BYTES])
{
	crypto_generichash_state h;

	crypto_generichash_init(&h, NULL, 0, SUM_BYTES);
	crypto_generichash_update(&h, (const uint8_t *)"Ed", 2);
	crypto_generichash_update(&h, box + BOX_ID, BOX_SUM - BOX_ID);
	crypto_generichash_final(&h, sum, SUM_BYTES);
	sodium_memzero(&h, sizeof h);
}

static bool
checksum_holds(const uint8_t box[BOX_BYTES])
{
	uint8_t sum[SUM_BYTES];

	checksum(box, sum);
	return sodium_memcmp(sum, box + BOX_SUM, sizeof sum) == 0;
}

/* Take the public half out of the open box. It must belong to the seed: signing with a
 * different public half reveals the seed. */
static int
adopt(struct key_secret *k, struct err *e)
{
	uint8_t *pair = sodium_malloc(PAIR_BYTES);
	bool same;

	if (!pair)
		return err_memory(e);
	crypto_sign_seed_keypair(k->public.key, pair, k->box + BOX_KEY);
	same = sodium_memcmp(pair, k->box + BOX_KEY, PAIR_BYTES) == 0;
	sodium_free(pair);
	if (!same)
		return err_set(e, ERR_CORRUPT, NULL,
		               "the secret key's public half belongs to another key");
	memcpy(k->public.id, k->box + BOX_ID, KEY_ID_BYTES);
	return 0;
}

static int
check_cost(struct key_cost c, struct err *e)
{
	if (c.operations > KEY_COST_FULL.operations || c.memory > KEY_COST_FULL.memory)
		return err_set(e, ERR_MEMORY, NULL, "the key asks for more scrypt (%" PRIu64
		               " operations, %" PRIu64 " bytes) than is allowed",
		               c.operations, c.memory);
	if (c.operations < KEY_COST_LEAST.operations || c.memory < KEY_COST_LEAST.memory)
		return err_set(e, ERR_CORRUPT, NULL, "the key's scrypt limits (%" PRIu64
		               " operations, %" PRIu64 " bytes) are too low",
		               c.operations, c.memory);
	return 0;
}

static int
read_fields(struct key_secret *k, const uint8_t *p, struct err *e)
{
	if (memcmp(p + SEC_ALG, "Ed", 2) != 0)
		return err_set(e, ERR_FORMAT, NULL, "is not an Ed25519 key");
	if (memcmp(p + SEC_SUM, "B2", 2) != 0)
		return err_set(e, ERR_FORMAT, NULL, "the key's checksum is of an unknown kind");
	memcpy(k->salt, p + SEC_SALT, sizeof k->salt);
	memcpy(k->box, p + SEC_BOX, sizeof k->box);
	k->cost = (struct key_cost){ le64(p + SEC_OPS), le64(p + SEC_MEM) };
	if (memcmp(p + SEC_KDF, "Sc", 2) == 0) {
		k->encrypted = true;
		memcpy(k->sealed, k->box, sizeof k->sealed);
		return check_cost(k->cost, e);
	}
	if (!sodium_is_zero(p + SEC_KDF, 2))
		return err_set(e, ERR_FORMAT, NULL, "the key is encrypted in an unknown way");
	if (!sodium_is_zero(k->box + BOX_SUM, SUM_BYTES) && !checksum_holds(k->box))
		return err_set(e, ERR_CHECKSUM, NULL, "the secret key's checksum differs");
	return adopt(k, e);
}

struct key_secret *
key_secret_parse(const uint8_t *text, size_t n, struct err *e)
{
	struct key_secret *k = allocate(e);
	uint8_t *p = k ? sodium_malloc(SEC_BYTES) : NULL;

	if (k && !p)
		err_memory(e);
	if (!p || decode(text, n, p, SEC_BYTES, e) < 0 || read_fields(k, p, e) < 0) {
		key_secret_free(k);
		k = NULL;
	}
	if (p)
		sodium_free(p);
	return k;
}

static void
name_fault(struct err *e, const char *path)
{
	if (e->code != ERR_NONE && !e->object[0])
		text_quote(e->object, sizeof e->object, path, strlen(path));
}

/* Reads the file of a key. One that is too long may be the model: operands change places easily. */
static int
read_file(struct secret *s, const char *path, struct err *e)
{
	if (secret_file(s, path, KEY_FILE_BYTES, e) == 0)
		return 0;
	return e->code == ERR_FORMAT ? err_hint(e, "a key is expected here; its file is shorter") : -1;
}

int
key_public_read(const char *path, struct key_public *k, struct err *e)
{
	struct secret s;
	int r = read_file(&s, path, e);

	if (r == 0)
		r = key_public_parse(s.p, s.n, k, e);
	secret_free(&s);
	if (r < 0)
		name_fault(e, path);
	return r;
}

struct key_secret *
key_secret_read(const char *path, struct err *e)
{
	struct key_secret *k = NULL;
	struct secret s;

	if (read_file(&s, path, e) == 0)
		k = key_secret_parse(s.p, s.n, e);
	secret_free(&s);
	if (!k)
		name_fault(e, path);
	return k;
}

bool
key_secret_is_encrypted(const struct key_secret *k)
{
	return k->encrypted;
}

/* XOR a box with scrypt's bytes: this encrypts and decrypts. */
static int
mix(uint8_t box[BOX_BYTES], const uint8_t *passphrase, size_t n,
    const uint8_t salt[SALT_BYTES], struct key_cost cost, struct err *e)
{
	uint8_t *stream = sodium_malloc(BOX_BYTES);
	size_t i;

	if (!stream)
		return err_memory(e);
	if (crypto_pwhash_scryptsalsa208sha256(stream, BOX_BYTES, (const char *)passphrase,
	                                       n, salt, cost.operations,
	                                       (size_t)cost.memory) != 0) {
		sodium_free(stream);
		return err_set(e, ERR_MEMORY, NULL,
		               "scrypt cannot have the %" PRIu64 " bytes the key asks for",
		               cost.memory);
	}
	for (i = 0; i < BOX_BYTES; i++)
		box[i] ^= stream[i];
	sodium_free(stream);
	return 0;
}

int
key_secret_unlock(struct key_secret *k, const uint8_t *passphrase, size_t n,
                  struct err *e)
{
	if (!k->encrypted)
		return 0;
	memcpy(k->box, k->sealed, sizeof k->box);
	if (mix(k->box, passphrase, n, k->salt, k->cost, e) < 0)
		return -1;
	if (!checksum_holds(k->box))
		return err_set(e, ERR_DECRYPT, NULL, "wrong passphrase, or a damaged key");
	if (adopt(k, e) < 0)
		return -1;
	k->encrypted = false;
	return 0;
}

struct key_secret *
key_secret_new(struct err *e)
{
	struct key_secret *k = allocate(e);

	if (!k)
		return NULL;
	if (random_bytes(k->public.id, sizeof k->public.id, e) < 0 ||
	    random_bytes(k->sealed, SEED_BYTES, e) < 0) {
		key_secret_free(k);
		return NULL;
	}
	crypto_sign_seed_keypair(k->public.key, k->box + BOX_KEY, k->sealed);
	sodium_memzero(k->sealed, SEED_BYTES);
	memcpy(k->box + BOX_ID, k->public.id, KEY_ID_BYTES);
	checksum(k->box, k->box + BOX_SUM);
	return k;
}

const struct key_public *
key_secret_public(const struct key_secret *k)
{
	return &k->public;
}

/* Put text into a new file with this mode (0: the default), which has no name yet. The
 * output's window is wiped, because it is in ordinary memory. */
static int
stage_text(struct out *o, const char *path, mode_t mode, const char *text, size_t n,
           bool force, struct err *e)
{
	struct out_options options = { .path = path, .force = force, .input = -1,
		.mode = mode };
	int r;

	if (strcmp(path, "-") == 0)
		return err_set(e, ERR_USAGE, path, "a key is written to a file");
	r = out_open(o, &options, e);
	if (r == 0 && !o->path)
		r = err_set(e, ERR_USAGE, path, "is not a regular file");
	if (r == 0)
		r = out_put(o, text, n);
	if (r == 0)
		r = out_flush(o);
	if (o->window)
		sodium_memzero(o->window, n);
	return r == 0 ? out_settle(o) : r;
}

/* The comment, and n bytes in base64: the length. Every key fits into KEY_FILE_BYTES. */
static size_t
put_key(char text[KEY_FILE_BYTES], const char *what, const uint8_t *p, size_t n)
{
	size_t used = (size_t)snprintf(text, KEY_FILE_BYTES, "%s%s\n", comment, what);

	sodium_bin2base64(text + used, KEY_FILE_BYTES - used, p, n,
	                  sodium_base64_VARIANT_ORIGINAL);
	used += strlen(text + used);
	text[used++] = '\n';
	return used;
}

size_t
key_public_put(const struct key_public *k, char text[KEY_FILE_BYTES])
{
	uint8_t p[PUB_BYTES];
	char what[64], id[KEY_ID_TEXT];

	memcpy(p + PUB_ALG, "Ed", 2);
	memcpy(p + PUB_ID, k->id, sizeof k->id);
	memcpy(p + PUB_KEY, k->key, sizeof k->key);
	snprintf(what, sizeof what, "public key %s", key_id_text(id, k->id));
	return put_key(text, what, p, sizeof p);
}

/* Fill the fields of a secret file. */
static int
fill_secret(uint8_t p[SEC_BYTES], const struct key_secret *k, const uint8_t *passphrase,
            size_t n, struct key_cost cost, struct err *e)
{
	sodium_memzero(p, SEC_BYTES);
	memcpy(p + SEC_ALG, "Ed", 2);
	memcpy(p + SEC_SUM, "B2", 2);
	memcpy(p + SEC_BOX, k->box, BOX_BYTES);
	checksum(k->box, p + SEC_BOX + BOX_SUM);
	if (!passphrase)
		return 0;
	memcpy(p + SEC_KDF, "Sc", 2);
	if (random_bytes(p + SEC_SALT, SALT_BYTES, e) < 0)
		return -1;
	le64_put(p + SEC_OPS, cost.operations);
	le64_put(p + SEC_MEM, cost.memory);
	return mix(p + SEC_BOX, passphrase, n, p + SEC_SALT, cost, e);
}

int
key_secret_put(const struct key_secret *k, const uint8_t *passphrase, size_t n,
               struct key_cost cost, char text[KEY_FILE_BYTES], size_t *used, struct err *e)
{
	uint8_t *p;
	int r;

	if (passphrase && check_cost(cost, e) < 0)
		return -1;
	p = sodium_malloc(SEC_BYTES);
	if (!p)
		return err_memory(e);
	r = fill_secret(p, k, passphrase, n, cost, e);
	if (r == 0)
		*used = put_key(text, passphrase ? "encrypted secret key"
		                                 : "secret key, not encrypted", p, SEC_BYTES);
	sodium_free(p);
	return r;
}

static int
stage_public(struct out *o, const struct key_public *k, const char *path, bool force,
             struct err *e)
{
	char text[KEY_FILE_BYTES];

	if (sodium_init() < 0)
		return err_memory(e);
	return stage_text(o, path, 0, text, key_public_put(k, text), force, e);
}

static int
stage_secret(struct out *o, const struct key_secret *k, const char *path,
             const uint8_t *passphrase, size_t n, struct key_cost cost, bool force,
             struct err *e)
{
	char *text = sodium_malloc(KEY_FILE_BYTES);
	size_t used;
	int r;

	if (!text)
		return err_memory(e);
	r = key_secret_put(k, passphrase, n, cost, text, &used, e);
	if (r == 0)
		r = stage_text(o, path, 0600, text, used, force, e);
	sodium_free(text);
	return r;
}

int
key_public_write(const struct key_public *k, const char *path, bool force, struct err *e)
{
	struct out o = { .fd = -1 };
	int r = stage_public(&o, k, path, force, e);

	if (r == 0)
		r = out_finish(&o);
	out_abandon(&o);
	return r;
}

int
key_secret_write(const struct key_secret *k, const char *path,
                 const uint8_t *passphrase, size_t n, struct key_cost cost,
                 bool force, struct err *e)
{
	struct out o = { .fd = -1 };
	int r = stage_secret(&o, k, path, passphrase, n, cost, force, e);

	if (r == 0)
		r = out_finish(&o);
	out_abandon(&o);
	return r;
}

int
key_pair_write(const struct key_secret *k, const char *path, const char *public_path,
               const uint8_t *passphrase, size_t n, struct key_cost cost, bool force,
               struct err *e)
{
	struct out secret = { .fd = -1 }, public = { .fd = -1 };
	int r = stage_secret(&secret, k, path, passphrase, n, cost, force, e);

	if (r == 0)
		r = stage_public(&public, key_secret_public(k), public_path, force, e);
	if (r == 0)
		r = out_finish(&secret);
	if (r == 0 && (r = out_finish(&public)) < 0)
		err_hint(e, "%.160s holds both; minisign -R makes the other anew", path);
	out_abandon(&secret);
	out_abandon(&public);
	return r;
}

char *
key_id_text(char dst[KEY_ID_TEXT], const uint8_t id[KEY_ID_BYTES])
{
	snprintf(dst, KEY_ID_TEXT, "%016" PRIX64, le64(id));
	return dst;
}

void
key_sign(const struct key_secret *k, const void *message, size_t n,
         uint8_t signature[KEY_SIGNATURE_BYTES])
{
	crypto_sign_detached(signature, NULL, message, n, k->box + BOX_KEY);
}

bool
key_verify(const struct key_public *k, const void *message, size_t n,
           const uint8_t signature[KEY_SIGNATURE_BYTES])
{
	return crypto_sign_verify_detached(signature, message, n, k->key) == 0;
}

void
key_sign_hashed(const struct key_secret *k, const void *message, size_t n,
                uint8_t signature[KEY_SIGNATURE_BYTES])
{
	crypto_sign_ed25519ph_state h;

	crypto_sign_ed25519ph_init(&h);
	crypto_sign_ed25519ph_update(&h, message, n);
	crypto_sign_ed25519ph_final_create(&h, signature, NULL, k->box + BOX_KEY);
}

bool
key_verify_hashed(const struct key_public *k, const void *message, size_t n,
                  const uint8_t signature[KEY_SIGNATURE_BYTES])
{
	crypto_sign_ed25519ph_state h;

	crypto_sign_ed25519ph_init(&h);
	crypto_sign_ed25519ph_update(&h, message, n);
	return crypto_sign_ed25519ph_final_verify(&h, signature, k->key) == 0;
}

char *
key_public_text(char dst[KEY_TEXT], const struct key_public *k)
{
	uint8_t p[PUB_BYTES] = "Ed";

	memcpy(p + PUB_ID, k->id, sizeof k->id);
	memcpy(p + PUB_KEY, k->key, sizeof k->key);
	return sodium_bin2base64(dst, KEY_TEXT, p, sizeof p, sodium_base64_VARIANT_ORIGINAL);
}

char *
key_fingerprint(char dst[KEY_FINGERPRINT], const struct key_public *k)
{
	uint8_t h[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(h, k->key, sizeof k->key);
	return sodium_bin2hex(dst, KEY_FINGERPRINT, h, sizeof h);
}
