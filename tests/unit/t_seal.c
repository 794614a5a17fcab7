/* Stanzas, identities and chunks: vectors, and that nothing else opens. */
#include <stdint.h>
#include <string.h>

#include "crypto/seal/chunk.h"
#include "crypto/seal/identity.h"
#include "crypto/seal/message.h"
#include "crypto/seal/skey.h"
#include "test.h"

#define IDENTITY "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
#define RECIPIENT "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"

static uint8_t data_key[SKEY_DATA], pair[AGREE_BYTES], salt[ARGON2ID_SALT];

static void
fill(void)
{
	size_t i;

	for (i = 0; i < sizeof data_key; i++)
		data_key[i] = (uint8_t)i;
	memset(pair, 0x43, sizeof pair);
	memset(salt, 0x44, sizeof salt);
}

/* Are n bytes these hexadecimal digits? */
static bool
is_hex(const uint8_t *p, size_t n, const char *digits)
{
	char two[3];
	size_t i;

	for (i = 0; i < n; i++) {
		snprintf(two, sizeof two, "%02x", p[i]);
		if (strncmp(digits + 2 * i, two, 2) != 0)
			return false;
	}
	return strlen(digits) == 2 * n;
}

/* ---- text of keys ---- */

static void
identities(void)
{
	static const char *const bad[] = {
		"", "# nothing\n\n", "age1zvk", RECIPIENT "\n", IDENTITY "X\n",
		"AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEQ\n",
		"AGE-SECRET-KEY-1gfpyysjzgfpyysjzgfpyysjzgfpyysjzgfpyysjzgfpyysjzgfpq4egaex\n",
		"AGE-SECRET-KEX-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX\n",
		"AGE-SECRET-KEY-2GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX\n",
		IDENTITY "\n" "and more\n",
	};
	static const char good[] = "# a comment\r\n\n" IDENTITY "\r\n"
		"age-secret-key-1gfpyysjzgfpyysjzgfpyysjzgfpyysjzgfpyysjzgfpyysjzgfpq4egaex";
	struct err e = ERR_INIT;
	struct identities i = { .keys = { 0 } };
	uint8_t public[AGREE_BYTES], want[AGREE_BYTES];
	char text[RECIPIENT_TEXT];
	size_t n;

	memset(want, 0x42, sizeof want);
	test_ok(identities_parse(&i, (const uint8_t *)good, strlen(good), "f", &e) == 0 &&
	        identities_count(&i) == 2 && memcmp(identities_key(&i, 0), want, 32) == 0 &&
	        memcmp(identities_key(&i, 1), want, 32) == 0,
	        "identities: comments, empty lines, either case, no last line end");
	agree_public(want, public, &e);
	test_ok(strcmp(recipient_text(public, text), RECIPIENT) == 0, "its recipient");
	identities_free(&i);
	for (n = 0; n < sizeof bad / sizeof *bad; n++) {
		struct err why = ERR_INIT;

		test_ok(identities_parse(&i, (const uint8_t *)bad[n], strlen(bad[n]), "f", &why) < 0
		        && why.code == ERR_FORMAT && !strstr(why.fact, "GFP"),
		        "no identities %zu: %s", n, why.fact);
		identities_free(&i);
	}
}

/* One letter wrong, anywhere, is found. */
static void
letters(void)
{
	char text[] = RECIPIENT;
	uint8_t key[BECH32_BYTES];
	size_t i, wrong = 0;
	const char *c;

	for (i = 0; text[i]; i++)
		for (c = "qpzry9x8gf2tvdw0s3jn54khce6mua7l1b"; *c; c++) {
			char was = text[i];

			text[i] = *c;
			wrong += *c != was && bech32_read(text, strlen(text), "age", key) == 0;
			text[i] = was;
		}
	test_ok(wrong == 0 && bech32_read(text, strlen(text), "age", key) == 0,
	        "a recipient with a wrong letter is none");
}

static void
bech32_back(void)
{
	uint8_t in[BECH32_BYTES], out[BECH32_BYTES];
	char text[BECH32_TEXT];
	size_t i, k;
	int good = 1;

	for (i = 0; i < 256; i++) {
		for (k = 0; k < sizeof in; k++)
			in[k] = (uint8_t)(i * 31 + k * 77);
		bech32_write("age", in, text);
		good &= bech32_read(text, strlen(text), "age", out) == 0 &&
		        memcmp(in, out, sizeof in) == 0;
	}
	test_ok(good, "bech32 there and back");
}

/* ---- stanzas ---- */

static void
sealed_for(struct skey *s, bool password)
{
	static struct recipients to;
	struct err e = ERR_INIT;

	*s = (struct skey){ .n = 0 };
	memset(s->salt, 0x45, sizeof s->salt);
	if (password) {
		skey_add_password(s, data_key, "open, sesame", 12, salt, ARGON2ID_COST, &e);
	} else {
		to.n = 0;
		recipients_add(&to, RECIPIENT, &e);
		skey_add_recipient(s, data_key, to.key[0], pair, &e);
	}
	test_ok(e.code == ERR_NONE && s->n == 1, "a stanza");
}

static void
give(struct openers *o, const char *identity, const char *password)
{
	struct err e = ERR_INIT;

	if (identity)
		identities_parse(&o->identities, (const uint8_t *)identity, strlen(identity), "f",
		                 &e);
	if (password && secret_alloc(&o->password, 64, &e) == 0) {
		memcpy(o->password.p, password, strlen(password));
		o->password.n = strlen(password);
	}
}

/* The vectors of apr-stream(5), which tests/gen/unseal.c computes as well. */
static void
vectors(void)
{
	static const char *const want[] = {
		"{\"version\":2,\"salt\":\"454545454545454545454545454545454545454545454545454545454"
		"5454545\",\"stanzas\":[{\"type\":\"x25519\",\"key\":\"cdefd8783a91b446640e2e1f95599db35e"
		"484a0071bd2182b3b60d0812c10c70\",\"commitment\":\"6433e22f6e37540feff49987e8bf6389"
		"e805b1b858b1105d67ee57cfbe9d7364\",\"wrapped\":\"807b178e3a7af3fd84caec4ebcd256bc3"
		"3f350d15a317e6f5033bed14f7cb34c67397204c030fbfcbe3954f32be38a85\"}],\"mac\":\"0000"
		"000000000000000000000000000000000000000000000000000000000000\"}",
		"{\"version\":2,\"salt\":\"454545454545454545454545454545454545454545454545454545454"
		"5454545\",\"stanzas\":[{\"type\":\"argon2id\",\"salt\":\"4444444444444444444444444444444"
		"4\",\"memory\":262144,\"passes\":3,\"commitment\":\"043b82e8123658e3ce112f28d339c7eb38"
		"425cb1bee233b831e4c0fae13e25b8\",\"wrapped\":\"6ec9c6ebf8d6a9296818e02255f79860974"
		"1e9bcbc4061b458ee4e5ce08a0e81f9e4e86cf7870e3082389cc706fb1857\"}],\"mac\":\"000000"
		"0000000000000000000000000000000000000000000000000000000000\"}",
	};
	static struct skey s, again;
	int k;

	for (k = 0; k < 2; k++) {
		struct err e = ERR_INIT, no = ERR_INIT;
		struct openers o = { .password = { 0 } }, other = o;
		uint8_t got[SKEY_DATA], zero[SKEY_DATA] = { 0 };
		struct buf b = { 0 };

		sealed_for(&s, k);
		skey_write(&s, &b, &e);
		test_ok(strcmp(buf_string(&b), want[k]) == 0, "vector %d", k);
		test_ok(skey_hash_head(&s, &e) == 0 && skey_parse(b.p, b.n, &again, "f", &e) == 0 &&
		        memcmp(&again, &s, sizeof s) == 0, "vector %d read again", k);
		give(&o, k ? NULL : IDENTITY, k ? "open, sesame" : NULL);
		test_ok(skey_open(&again, &o, got, "f", &e) == 0 &&
		        memcmp(got, data_key, sizeof got) == 0, "vector %d opened", k);
		again.stanzas[0].commitment[7] ^= 1;
		memset(got, 0, sizeof got);
		test_ok(skey_open(&again, &o, got, "f", &no) < 0 && no.code == ERR_DECRYPT &&
		        memcmp(got, zero, sizeof got) == 0, "vector %d, another commitment", k);
		no = (struct err)ERR_INIT;
		again.stanzas[0].commitment[7] ^= 1;
		again.stanzas[0].wrapped[7] ^= 1;
		test_ok(skey_open(&again, &o, got, "f", &no) < 0 && no.code == ERR_DECRYPT &&
		        memcmp(got, zero, sizeof got) == 0, "vector %d, a bit turned", k);
		no = (struct err)ERR_INIT;
		give(&other, k ? IDENTITY : NULL, k ? NULL : "open, sesame");
		test_ok(skey_open(&s, &other, got, "f", &no) < 0 && no.code == ERR_DECRYPT,
		        "vector %d, with what is not asked for", k);
		openers_free(&o);
		openers_free(&other);
		buf_free(&b);
	}
}

/* The key of a tensor, and info of any length (a name of 100,000 bytes). */
static void
item_keys(void)
{
	static const uint64_t dims[] = { 4, 8 };
	static char name[100001];
	struct err e = ERR_INIT;
	struct model m;
	uint8_t salt_of_seal[SKEY_SALT], key[AEAD_KEY], long_key[AEAD_KEY];
	struct tensor *t;

	memset(salt_of_seal, 0x45, sizeof salt_of_seal);
	memset(name, 'n', sizeof name - 1);
	model_init(&m, &e);
	t = tensor_new("a", 1, dtype_by_name("I8"), 2, dims, TENSOR_OWN_SIZE, "x", &e);
	test_ok(t && model_add_tensor(&m, t, &e) == 0 &&
	        model_add_blob(&m, name, "text", 5, &e) == 0 &&
	        chunk_key(data_key, salt_of_seal, &m, ITEM_TENSOR, 0, key, &e) == 0 &&
	        is_hex(key, sizeof key,
	                    "beba234d0334a610582885b4336ebe5c7b48a73c795ca8e2c2b63278b4d3adb4"),
	        "the key of a tensor");
	test_ok(chunk_key(data_key, salt_of_seal, &m, ITEM_BLOB, 0, long_key, &e) == 0 &&
	        memcmp(key, long_key, sizeof key) != 0, "the key of a side file with a long name");
	model_free(&m);
}

/* ---- messages ---- */

static void
make_answer(struct addressee *to, struct buf *b)
{
	struct err e = ERR_INIT;
	uint8_t secret[AGREE_BYTES];

	memset(secret, 0x42, sizeof secret);
	*to = (struct addressee){ .answers = true };
	test_ok(agree_public(secret, to->key, &e) == 0 &&
	        secret_alloc(&to->secret, AGREE_BYTES, &e) == 0, "an addressee");
	memset(to->secret.p, 0x46, AGREE_BYTES);
	test_ok(message_seal(to, NULL, pair, "Yes.", 4, b, &e) == 0, "an answer");
}

static bool
opens(const struct identities *i, const struct buf *b)
{
	struct addressee reply;
	struct secret words;
	struct err e = ERR_INIT;
	bool asks, r = message_open(i, b->p, b->n, &words, &asks, &reply, "m", &e) == 0;

	r = r && words.n == 4 && memcmp(words.p, "Yes.", 4) == 0 && !asks;
	test_ok(r || (e.code == ERR_DECRYPT && strcmp(e.fact, "no key that is given opens it")
	              == 0), "one message for what does not open");
	secret_free(&words);
	addressee_free(&reply);
	return r;
}

static void
messages(void)
{
	struct identities plain = { .keys = { 0 } }, asker = plain;
	struct addressee to, stranger;
	struct buf b = { 0 }, forged = { 0 };
	struct err e = ERR_INIT;
	char text[400], answer[BECH32_TEXT];

	make_answer(&to, &b);
	test_ok(is_hex(b.p, b.n,
	                    "4150524d02020000cdefd8783a91b446640e2e1f95599db35e484a0071bd2182b3b60d0812c10c"
		                    "700fd36e6f3818d50a3e4cd499df13cce4ea06d4e88c5dff39ee020effb95b98b743ab6df032cb"
		                    "dd42e1c18e3ae03883773cddfe51"),
	        "the vector of apr-seal(1)");
	bech32_write("apr-answer-", to.secret.p, answer);
	snprintf(text, sizeof text, IDENTITY "\n%s\n", answer);
	test_ok(identities_parse(&plain, (const uint8_t *)IDENTITY, strlen(IDENTITY), "f", &e)
	        == 0 && identities_parse(&asker, (uint8_t *)text, strlen(text), "f", &e) == 0,
	        "identities without and with an answer secret");
	test_ok(opens(&asker, &b) && !opens(&plain, &b), "an answer opens with its secret only");
	b.p[b.n - 1] ^= 1;
	test_ok(!opens(&asker, &b), "an answer that was changed");
	stranger = to;
	stranger.answers = false;
	message_seal(&stranger, NULL, pair, "Yes.", 4, &forged, &e);
	test_ok(opens(&plain, &forged) && !opens(&asker, &forged),
	        "who knows only the public half cannot answer");
	identities_free(&plain);
	identities_free(&asker);
	addressee_free(&to);
	buf_free(&b);
	buf_free(&forged);
}

#define HEX64 "4545454545454545454545454545454545454545454545454545454545454545"
#define HEX96 HEX64 "45454545454545454545454545454545"
#define COMMITS "\"commitment\":\"" HEX64 "\","
#define STANZA "{\"type\":\"x25519\",\"key\":\"" HEX64 "\"," COMMITS "\"wrapped\":\"" HEX96 \
	"\"}"
#define WORD(memory, passes) "{\"type\":\"argon2id\",\"salt\":\"454545454545454545454545454545" \
	"45\",\"memory\":" memory ",\"passes\":" passes "," COMMITS "\"wrapped\":\"" HEX96 "\"}"
#define SKEY(stanzas) "{\"version\":2,\"salt\":\"" HEX64 "\",\"stanzas\":[" stanzas \
	"],\"mac\":\"" HEX64 "\"}"

static void
heads(void)
{
	static const struct {
		const char *text;
		enum err_code code;
	} bad[] = {
		{ "", ERR_CORRUPT },
		{ "{}", ERR_CORRUPT },
		{ "{\"version\":1}", ERR_VERSION },
		{ SKEY(""), ERR_CORRUPT },
		{ SKEY("{}"), ERR_CORRUPT },
		{ SKEY("1"), ERR_CORRUPT },
		{ SKEY(WORD("19456", "2") ",{\"type\":\"p256\"}"), ERR_CORRUPT },
		{ SKEY("{\"type\":\"x25519\",\"key\":\"" HEX64 "\",\"wrapped\":\"" HEX96 "\"}"),
		  ERR_CORRUPT },
		{ SKEY(STANZA) " ", ERR_CORRUPT },
		{ "{\"version\":2,\"salt\":\"" HEX64 "\",\"mac\":\"" HEX64 "\",\"stanzas\":[" STANZA
		  "]}", ERR_CORRUPT },
		{ SKEY("{\"type\":\"x25519\",\"key\":\"" HEX64 "\"," COMMITS "}"), ERR_CORRUPT },
		{ SKEY("{\"type\":\"x25519\",\"key\":\"" HEX64 "\"," COMMITS "\"wrapped\":\"" HEX64 "\"}"),
		  ERR_CORRUPT },
		{ SKEY("{\"type\":\"x25519\",\"key\":\"" HEX64 "\"," COMMITS "\"wrapped\":\"" HEX96
		  "\",\"a\":1}"),
		  ERR_CORRUPT },
		{ SKEY("{\"type\":\"x25519\",\"key\":\"" HEX64 "45\"," COMMITS "\"wrapped\":\"" HEX96 "\"}"),
		  ERR_CORRUPT },
		{ SKEY(STANZA "," WORD("19456", "2")), ERR_CORRUPT },
		{ SKEY(WORD("19456", "2") "," WORD("19456", "2")), ERR_CORRUPT },
		{ SKEY(WORD("262145", "2")), ERR_MEMORY },
		{ SKEY(WORD("19456", "17")), ERR_MEMORY },
		{ SKEY(WORD("\"18446744073709551615\"", "2")), ERR_MEMORY },
		{ SKEY(WORD("-1", "2")), ERR_CORRUPT },
		{ "{\"version\":2,\"salt\":\"" HEX64 "\",\"stanzas\":[" STANZA "]}", ERR_CORRUPT },
		{ "{\"version\":2,\"stanzas\":[" STANZA "],\"mac\":\"" HEX64 "\"}", ERR_CORRUPT },
		{ "{\"version\":2,\"salt\":\"" HEX96 "\",\"stanzas\":[" STANZA "],\"mac\":\"" HEX64
		  "\"}", ERR_CORRUPT },
		{ "{\"version\":2,\"salt\":\"" HEX64 "\",\"stanzas\":" STANZA ",\"mac\":\"" HEX64
		  "\"}", ERR_CORRUPT },
	};
	static const char stranger[] = SKEY(STANZA ",{\"type\":\"p256\",\"more\":[1]}");
	static struct skey s;
	struct digest alone;
	struct err e = ERR_INIT;
	size_t i;

	test_ok(skey_parse(SKEY(STANZA), strlen(SKEY(STANZA)), &s, "f", &e) == 0 && s.n == 1,
	        "a head");
	test_ok(skey_parse(SKEY(WORD("262144", "16")), strlen(SKEY(WORD("262144", "16"))), &s,
	                   "f", &e) == 0, "the dearest passphrase that is tried");
	skey_parse(SKEY(STANZA), strlen(SKEY(STANZA)), &s, "f", &e);
	alone = s.head;
	test_ok(skey_parse(stranger, strlen(stranger), &s, "f", &e) == 0 && s.n == 1 &&
	        s.unknown == 1 && !digest_equal(&alone, &s.head),
	        "a stanza of an unknown type is skipped, and covered by the mac");
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err why = ERR_INIT;

		test_ok(skey_parse(bad[i].text, strlen(bad[i].text), &s, "f", &why) < 0 &&
		        why.code == bad[i].code, "no head %zu: %s", i, why.fact);
	}
}

/* A stanza whose public half has small order: nobody agrees on zeros with it. */
static void
zeros(void)
{
	static struct skey s;
	struct err e = ERR_INIT;
	struct openers o = { .password = { 0 } };
	uint8_t got[SKEY_DATA];
	static const uint8_t zero[AGREE_BYTES];

	sealed_for(&s, false);
	memset(s.stanzas[0].key, 0, sizeof s.stanzas[0].key);
	give(&o, IDENTITY, NULL);
	test_ok(skey_open(&s, &o, got, "f", &e) < 0 && e.code == ERR_DECRYPT,
	        "a stanza of small order opens nothing");
	openers_free(&o);
	e = (struct err)ERR_INIT;
	test_ok(skey_add_recipient(&s, data_key, zero, pair, &e) < 0 && e.code == ERR_DECRYPT,
	        "nor is anything sealed for such a recipient");
}

/* ---- chunks ---- */

#define CHUNK ((size_t)MODEL_SEAL_CHUNK)
#define STORED (CHUNK + MODEL_SEAL_TAG)

static const uint8_t body_key[AEAD_KEY] = { 1, 2, 3 };

/* All of n bytes, in pieces of step; what comes out appended to b. */
static int
run(int (*step_fn)(struct chunks *, const uint8_t **, size_t *, const uint8_t **, size_t *,
                   struct err *), uint64_t plain, const uint8_t *p, size_t n, size_t step,
    struct buf *b, struct err *e)
{
	struct chunks c = { .room = NULL };
	const uint8_t *out;
	size_t got, at = 0;
	int r = chunks_begin(&c, body_key, plain, "it", e);

	do {
		size_t part = step < n - at ? step : n - at;
		const uint8_t *in = p + at;

		at += part;
		do {
			if (r == 0)
				r = step_fn(&c, &in, &part, &out, &got, e);
			if (r == 0)
				buf_put(b, out, got);
		} while (r == 0 && (got > 0 || part > 0));
	} while (r == 0 && at < n);
	if (r == 0)
		r = chunks_end(&c, e);
	chunks_free(&c);
	return r;
}

static void
sizes(void)
{
	static const size_t size[] = { 0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK,
		3 * CHUNK + 17 };
	static const size_t step[] = { 1 << 20, 65537, 4000000, 1048592 };
	uint8_t *p = malloc(4 * CHUNK);
	size_t i, k;

	for (i = 0; i < 4 * CHUNK; i++)
		p[i] = (uint8_t)(i * 2654435761u >> 13);
	for (i = 0; i < sizeof size / sizeof *size; i++) {
		struct buf once = { 0 };
		uint64_t want;
		int good = model_sealed_bytes(size[i], &want) == 0;

		for (k = 0; k < 4; k++) {
			struct buf sealed = { 0 }, opened = { 0 };
			struct err e = ERR_INIT;

			good &= run(chunks_seal, size[i], p, size[i], step[k], &sealed, &e) == 0 &&
			        sealed.n == want;
			if (!once.n)
				buf_put(&once, sealed.p, sealed.n);
			good &= once.n == sealed.n && memcmp(once.p, sealed.p, sealed.n) == 0;
			good &= run(chunks_open, size[i], sealed.p, sealed.n, step[3 - k], &opened, &e)
			        == 0 && opened.n == size[i] && (!opened.n ||
			        memcmp(opened.p, p, size[i]) == 0);
			buf_free(&sealed);
			buf_free(&opened);
		}
		test_ok(good, "%zu bytes, sealed and opened in any pieces", size[i]);
		buf_free(&once);
	}
	free(p);
}

/* Refused, and nothing but whole chunks from the beginning has come out. */
static void
refused(const char *what, const uint8_t *plain, size_t size, const uint8_t *p, size_t n)
{
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	int r = run(chunks_open, size, p, n, 100000, &b, &e);

	test_ok(r < 0 && (e.code == ERR_DECRYPT || e.code == ERR_CORRUPT) && b.n < size &&
	        b.n % CHUNK == 0 && (!b.n || memcmp(b.p, plain, b.n) == 0), "%s is refused",
	        what);
	buf_free(&b);
}

static void
tampered(void)
{
	size_t size = 3 * CHUNK, n = 3 * STORED, i;
	uint8_t *plain = calloc(1, size), *x = malloc(n + STORED), *first;
	struct buf sealed = { 0 };
	struct err e = ERR_INIT;

	for (i = 0; i < size; i++)
		plain[i] = (uint8_t)(i >> 12);
	run(chunks_seal, size, plain, size, size, &sealed, &e);
	first = sealed.p;
	for (i = 0; i < n; i += 104729) {
		memcpy(x, first, n);
		x[i] ^= 0x10;
		refused("a bit turned", plain, size, x, n);
	}
	memcpy(x, first, n);
	memcpy(x, first + STORED, STORED);
	memcpy(x + STORED, first, STORED);
	refused("two chunks in each other's place", plain, size, x, n);
	memcpy(x, first, n);
	memcpy(x + STORED, first, STORED);
	refused("a chunk twice", plain, size, x, n);
	memcpy(x, first, n);
	memcpy(x + STORED, first + 2 * STORED, STORED);
	refused("the last chunk in the middle", plain, size, x, n);
	refused("two chunks of three", plain, size, first, 2 * STORED);
	refused("a byte less", plain, size, first, n - 1);
	memcpy(x, first, n);
	memset(x + n, 0, 16);
	refused("16 bytes more", plain, size - 1, x, n + 16);
	/* Told that it is shorter: its last chunk is another one. */
	refused("two chunks, said to be all", plain, 2 * CHUNK, first, 2 * STORED);
	buf_free(&sealed);
	free(plain);
	free(x);
}

static void
overflow(void)
{
	uint64_t n;

	test_ok(model_sealed_bytes(UINT64_MAX - 15, &n) < 0 &&
	        model_sealed_bytes(UINT64_MAX, &n) < 0, "a size that overflows");
}

int
main(void)
{
	fill();
	identities();
	letters();
	bech32_back();
	vectors();
	item_keys();
	messages();
	heads();
	zeros();
	sizes();
	tampered();
	overflow();
	return test_done();
}
