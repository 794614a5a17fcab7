#include "crypto/seal/message.h"

#include <string.h>

#include "crypto/kdf.h"

#define PUBLIC 8 /* offset of the pair's public half */

static const char magic[4] = { 'A', 'P', 'R', 'M' };
static const uint8_t no_nonce[AEAD_NONCE];

/* other: the half whose secret is not ours. */
static int
message_key(const uint8_t secret[AGREE_BYTES], const uint8_t other[AGREE_BYTES],
            const uint8_t pair[AGREE_BYTES], const uint8_t recipient[AGREE_BYTES],
            struct aead *a, struct err *e)
{
	uint8_t shared[AGREE_BYTES], salt[2 * AGREE_BYTES], key[AEAD_KEY];
	int r = agree(secret, other, shared, e);

	memcpy(salt, pair, AGREE_BYTES);
	memcpy(salt + AGREE_BYTES, recipient, AGREE_BYTES);
	if (r == 0)
		r = hkdf_sha256(salt, sizeof salt, shared, sizeof shared, MESSAGE_PROTOCOL,
		                strlen(MESSAGE_PROTOCOL), key, sizeof key, e);
	if (r == 0)
		r = aead_key(a, key, e);
	secret_wipe(shared, sizeof shared);
	secret_wipe(key, sizeof key);
	return r;
}

int
message_seal(const uint8_t recipient[AGREE_BYTES], const uint8_t *reply,
             const uint8_t pair[AGREE_BYTES], const void *words, size_t n, struct buf *b,
             struct err *e)
{
	uint8_t head[MESSAGE_HEAD] = { 0 }, *out;
	size_t inner = reply ? AGREE_BYTES : 0;
	struct aead a = { 0 };
	int r = -1;

	if (n > MESSAGE_WORDS)
		return err_set(e, ERR_USAGE, NULL, "a message has at most %zu bytes",
		               MESSAGE_WORDS);
	memcpy(head, magic, sizeof magic);
	head[4] = 1;
	head[5] = reply != NULL;
	if (agree_public(pair, head + PUBLIC, e) < 0)
		return -1;
	buf_put(b, head, sizeof head);
	out = buf_room(b, inner + n + AEAD_TAG);
	if (!out)
		return err_memory(e);
	if (message_key(pair, recipient, head + PUBLIC, recipient, &a, e) == 0 &&
	    aead_begin(&a, AEAD_SEAL, no_nonce, head, sizeof head, e) == 0 &&
	    aead_add(&a, reply, inner, out, e) == 0 &&
	    aead_add(&a, words, n, out + inner, e) == 0)
		r = aead_tag(&a, out + inner + n, e);
	aead_free(&a);
	if (r == 0)
		b->n += inner + n + AEAD_TAG;
	return r;
}

/* Its form, before any key is tried. */
static int
check_head(const uint8_t *p, size_t n, const char *where, struct err *e)
{
	if (n < sizeof magic || memcmp(p, magic, sizeof magic) != 0)
		return err_set(e, ERR_FORMAT, where, "is no sealed message");
	if (n < MESSAGE_HEAD + AEAD_TAG)
		return err_set(e, ERR_CORRUPT, where, "is cut short");
	if (p[4] != 1)
		return err_set(e, ERR_VERSION, where, "is a message of version %u, this tool reads "
		               "1", p[4]);
	if (p[5] > 1 || p[6] || p[7])
		return err_set(e, ERR_CORRUPT, where, "has fields that no message has");
	if (p[5] && n < MESSAGE_HEAD + AGREE_BYTES + AEAD_TAG)
		return err_set(e, ERR_CORRUPT, where, "is cut short");
	return 0;
}

/* With one identity: 1, 0 if it is not for this one, -1. */
static int
try_one(const uint8_t secret[AGREE_BYTES], const uint8_t *p, size_t n, uint8_t *out,
        struct err *e)
{
	uint8_t recipient[AGREE_BYTES];
	size_t inner = n - MESSAGE_HEAD - AEAD_TAG;
	struct aead a = { 0 };
	struct err why = ERR_INIT;
	int r;

	if (agree_public(secret, recipient, e) < 0)
		return -1;
	r = message_key(secret, p + PUBLIC, p + PUBLIC, recipient, &a, &why);
	if (r == 0)
		r = aead_open(&a, no_nonce, p, MESSAGE_HEAD, p + MESSAGE_HEAD, inner, out,
		              p + n - AEAD_TAG, NULL, &why);
	aead_free(&a);
	if (why.code == ERR_MEMORY)
		return err_memory(e);
	return r == 0;
}

int
message_open(const struct identities *i, const uint8_t *p, size_t n,
             struct secret *words, bool *has_reply, uint8_t reply[AGREE_BYTES],
             const char *where, struct err *e)
{
	size_t k, count = identities_count(i), inner;
	int r = 0;

	*words = (struct secret){ .p = NULL };
	if (check_head(p, n, where, e) < 0)
		return -1;
	inner = n - MESSAGE_HEAD - AEAD_TAG;
	if (secret_alloc(words, inner ? inner : 1, e) < 0)
		return -1;
	for (k = 0; r == 0 && k < count; k++)
		r = try_one(identities_key(i, k), p, n, words->p, e);
	if (r < 0)
		return -1;
	if (r == 0)
		return err_set(e, ERR_DECRYPT, where, "no identity given opens it");
	*has_reply = p[5];
	if (*has_reply) {
		inner -= AGREE_BYTES;
		memcpy(reply, words->p, AGREE_BYTES);
		memmove(words->p, words->p + AGREE_BYTES, inner);
	}
	words->n = inner;
	return 0;
}
