/* multikey: ciphertext of AES-256-GCM that opens under several keys, which its maker knows:
 * GCM does not commit to a key. An attacker who sees which message a program
 * prints for such a ciphertext learns whether the secret is one of those keys.
 *
 *     multikey seal WORD WORD WORD < STREAM      a stream sealed with the first passphrase:
 *                                                its stanza opens for all three
 *     multikey message HEX HEX < MESSAGE         a message for the secret half HEX of the
 *                                                first: its body opens for both
 *     multikey apr1 WORD... < FILE               an APR version 1 file encrypted with the
 *                                                first of up to 8 passphrases, for all
 *
 * Opens means that the tag holds. Everything else is left as it is, checksums are right.
 */
#include <jansson.h>

#include "sealing.h"
#include "stream.h"

/* ---- GF(2^128) as GCM has it ---- */

struct block {
	uint8_t b[16];
};

static struct block
add(struct block x, struct block y)
{
	int i;

	for (i = 0; i < 16; i++)
		x.b[i] ^= y.b[i];
	return x;
}

static struct block
mul(struct block x, struct block y)
{
	struct block z = { { 0 } };
	int i, k, carry;

	for (i = 0; i < 128; i++) {
		if (x.b[i / 8] >> (7 - i % 8) & 1)
			z = add(z, y);
		carry = y.b[15] & 1;
		for (k = 15; k > 0; k--)
			y.b[k] = (uint8_t)(y.b[k] >> 1 | y.b[k - 1] << 7);
		y.b[0] = (uint8_t)(y.b[0] >> 1 ^ (carry ? 0xe1 : 0));
	}
	return z;
}

static const struct block one = { { 0x80 } };

static struct block
inverse(struct block x)
{
	struct block r = one;
	int i;

	/* x to the power 2^128 - 2 */
	for (i = 0; i < 127; i++) {
		x = mul(x, x);
		r = mul(r, x);
	}
	return r;
}

static int
is_zero(struct block x)
{
	static const struct block zero;

	return memcmp(&x, &zero, sizeof x) == 0;
}

static struct block
encrypt(const uint8_t *key, struct block x)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	struct block out;
	int n;

	EVP_EncryptInit_ex(c, EVP_aes_256_ecb(), NULL, key, NULL);
	EVP_CIPHER_CTX_set_padding(c, 0);
	EVP_EncryptUpdate(c, out.b, &n, x.b, 16);
	EVP_CIPHER_CTX_free(c);
	return out;
}

/* ---- one ciphertext, several keys ---- */

enum { KEYS = 8 };

static struct block
power(struct block h, size_t n)
{
	struct block r = one;

	while (n-- > 0)
		r = mul(r, h);
	return r;
}

static struct block
block_at(const uint8_t *p, size_t n, size_t i)
{
	struct block x = { { 0 } };

	memcpy(x.b, p + 16 * i, n - 16 * i < 16 ? n - 16 * i : 16);
	return x;
}

/* Solve n equations of n unknowns; the last column is the right side. */
static void
solve(struct block m[KEYS][KEYS + 1], size_t n, struct block out[KEYS])
{
	size_t i, k, c;

	for (i = 0; i < n; i++) {
		struct block t;

		for (k = i; k < n && is_zero(m[k][i]); k++)
			;
		if (k == n)
			stop("the equations depend on one another");
		for (c = 0; c <= n; c++) {
			t = m[i][c];
			m[i][c] = m[k][c];
			m[k][c] = t;
		}
		t = inverse(m[i][i]);
		for (c = 0; c <= n; c++)
			m[i][c] = mul(m[i][c], t);
		for (k = 0; k < n; k++) {
			t = m[k][i];
			for (c = 0; k != i && c <= n; c++)
				m[k][c] = add(m[k][c], mul(t, m[i][c]));
		}
	}
	for (i = 0; i < n; i++)
		out[i] = m[i][n];
}

/* Change the last count - 1 whole blocks of n bytes of ciphertext, and its tag, so that
 * the tag holds under each key. */
static void
fit(const uint8_t *const *keys, size_t count, const uint8_t nonce[12], const void *aad,
    size_t aad_n, uint8_t *p, size_t n, uint8_t *tag)
{
	size_t aads = (aad_n + 15) / 16, blocks = (n + 15) / 16, whole = n / 16, i, k;
	size_t free_at = whole - (count - 1);
	static struct block m[KEYS][KEYS + 1];
	struct block out[KEYS], counter = { { 0 } }, zero = { { 0 } }, length = { { 0 } };

	if (whole < count - 1)
		stop("there are too few bytes for so many keys");
	memcpy(counter.b, nonce, 12);
	counter.b[15] = 1;
	for (i = 0; i < 8; i++) {
		length.b[7 - i] = (uint8_t)((uint64_t)aad_n * 8 >> 8 * i);
		length.b[15 - i] = (uint8_t)((uint64_t)n * 8 >> 8 * i);
	}
	for (k = 0; k < count; k++) {
		struct block h = encrypt(keys[k], zero);
		struct block sum = add(encrypt(keys[k], counter), mul(length, h));

		struct block known = { { 0 } };

		for (i = 0; i < aads; i++)
			known = mul(add(known, block_at(aad, aad_n, i)), h);
		for (i = 0; i < blocks; i++)
			known = mul(add(known, i < free_at || i >= whole ? block_at(p, n, i) : zero), h);
		sum = add(sum, mul(known, h));
		for (i = 0; i + 1 < count; i++)
			m[k][i] = power(h, blocks - (free_at + i) + 1);
		m[k][count - 1] = one; /* the tag */
		m[k][count] = sum;
	}
	solve(m, count, out);
	for (i = 0; i + 1 < count; i++)
		memcpy(p + 16 * (free_at + i), out[i].b, 16);
	memcpy(tag, out[count - 1].b, 16);
}

static void
check(const uint8_t *const *keys, size_t count, const uint8_t nonce[12], const void *aad,
      size_t aad_n, const uint8_t *p, size_t n, uint8_t *tag)
{
	uint8_t *out = calloc(1, n + 1);
	size_t i;

	for (i = 0; i < count; i++)
		if (!gcm(0, keys[i], nonce, aad, aad_n, p, n, out, tag))
			stop("it does not open under each key");
	free(out);
}

/* ---- where such ciphertext lies ---- */

static void
write_out(const struct gen *g)
{
	if (fwrite(g->p, 1, g->n, stdout) != g->n || fflush(stdout) != 0)
		stop("cannot be written");
}

static void
seal(char **words, size_t count)
{
	static const uint8_t nonce[12];
	uint8_t salt[KEY], own[16], keys[KEYS][2 * KEY], wrapped[KEY + TAG];
	const uint8_t *list[KEYS];
	char hex[2 * sizeof wrapped + 1];
	struct frames s = { .n = 0 };
	struct gen g = { 0 };
	json_t *head, *t;
	size_t i;

	frames_read(stdin, &s);
	head = json_loads(s.list[1].head, 0, NULL);
	t = json_array_get(json_object_get(head, "stanzas"), 0);
	from_hex(json_string_value(json_object_get(head, "salt")), salt, KEY);
	from_hex(json_string_value(json_object_get(t, "salt")), own, sizeof own);
	from_hex(json_string_value(json_object_get(t, "wrapped")), wrapped, sizeof wrapped);
	for (i = 0; i < count; i++) {
		word_keys(salt, own, (uint64_t)json_integer_value(json_object_get(t, "memory")),
		          (uint64_t)json_integer_value(json_object_get(t, "passes")), words[i],
		          keys[i]);
		list[i] = keys[i];
	}
	fit(list, count, nonce, NULL, 0, wrapped, KEY, wrapped + KEY);
	check(list, count, nonce, NULL, 0, wrapped, KEY, wrapped + KEY);
	sodium_bin2hex(hex, sizeof hex, wrapped, sizeof wrapped);
	memcpy(strstr(s.list[1].head, "\"wrapped\":\"") + 11, hex, sizeof hex - 1);
	write_frames(&g, &s);
	write_out(&g);
}

static void
message(char **secrets, size_t count)
{
	static const uint8_t nonce[12];
	uint8_t keys[KEYS][2 * KEY], secret[KEY], public[KEY];
	const uint8_t *list[KEYS];
	struct gen g = { 0 };
	uint8_t *p = gen_open(&g, 0, 1 << 16);
	size_t i;

	g.n = fread(p, 1, 1 << 16, stdin);
	for (i = 0; i < count; i++) {
		from_hex(secrets[i], secret, KEY);
		crypto_scalarmult_base(public, secret);
		message_keys(secret, p + 8, p, public, NULL, keys[i]);
		list[i] = keys[i];
	}
	fit(list, count, nonce, p, MESSAGE_HEAD, p + MESSAGE_HEAD, g.n - MESSAGE_HEAD - TAG,
	    p + g.n - TAG);
	check(list, count, nonce, p, MESSAGE_HEAD, p + MESSAGE_HEAD,
	      g.n - MESSAGE_HEAD - TAG, p + g.n - TAG);
	write_out(&g);
}

/* Salt 16, nonce 12, ciphertext, tag, behind header and metadata: apr1(5). */
static void
apr1(char **words, size_t count)
{
	uint8_t keys[KEYS][KEY], *p, *payload;
	const uint8_t *list[KEYS];
	struct gen g = { 0 };
	size_t i, n;
	uint32_t crc;

	p = gen_open(&g, 0, 1 << 20);
	g.n = fread(p, 1, 1 << 20, stdin);
	payload = p + 32 + frame_number(p + 8, 4);
	n = (size_t)frame_number(p + 12, 4);
	for (i = 0; i < count; i++) {
		if (crypto_pwhash(keys[i], KEY, words[i], strlen(words[i]), payload, 2, 19456 * 1024,
		                  crypto_pwhash_ALG_ARGON2ID13) < 0)
			stop("Argon2id");
		list[i] = keys[i];
	}
	fit(list, count, payload + 16, NULL, 0, payload + 28, n - 28 - TAG, payload + n - TAG);
	check(list, count, payload + 16, NULL, 0, payload + 28, n - 28 - TAG,
	      payload + n - TAG);
	crc = crc32_of(p, g.n - 4);
	for (i = 0; i < 4; i++)
		p[g.n - 4 + i] = (uint8_t)(crc >> 8 * i);
	write_out(&g);
}

int
main(int argc, char **argv)
{
	size_t count = argc > 2 ? (size_t)argc - 2 : 0;

	if (sodium_init() < 0 || count < 2 || count > KEYS)
		stop("usage: multikey seal | message | apr1 KEY KEY ...");
	if (strcmp(argv[1], "seal") == 0)
		seal(argv + 2, count);
	else if (strcmp(argv[1], "message") == 0)
		message(argv + 2, count);
	else
		apr1(argv + 2, count);
	return 0;
}
