#include "crypto/seal/message.h"

#include <string.h>

#include "crypto/kdf.h"

#define VERSION 2
#define ASKS 1
#define ANSWERS 2
#define PUBLIC 8      /* offset of the pair's public half */
#define COMMITMENT 40 /* of the commitment */
#define COMMITMENT_BYTES 32

static const char magic[4] = { 'A', 'P', 'R', 'M' };
static const uint8_t no_nonce[AEAD_NONCE];

struct message_keys {
	uint8_t key[AEAD_KEY];
	uint8_t commitment[COMMITMENT_BYTES];
};

/* secret is the caller's secret half, other the public half of the other side. head is that
 * of the message, except its commitment. answer is the answer secret, or NULL. */
static int
message_keys(const uint8_t secret[AGREE_BYTES], const uint8_t other[AGREE_BYTES],
             const uint8_t *head, const uint8_t recipient[AGREE_BYTES],
             const uint8_t *answer, struct message_keys *k, struct err *e)
{
	uint8_t both[2 * AGREE_BYTES], context[COMMITMENT + AGREE_BYTES];
	int r = agree(secret, other, both, e);

	if (answer)
		memcpy(both + AGREE_BYTES, answer, AGREE_BYTES);
	memcpy(context, head, COMMITMENT);
	memcpy(context + COMMITMENT, recipient, AGREE_BYTES);
	if (r == 0)
		r = hkdf_context(NULL, 0, both, answer ? sizeof both : AGREE_BYTES, "apr message 2",
		                 context, sizeof context, (uint8_t *)k, sizeof *k, e);
	secret_wipe(both, sizeof both);
	return r;
}

/* ---- sealing ---- */

static int
seal_body(const struct message_keys *k, const uint8_t *head, const struct addressee *reply,
          const void *words, size_t n, uint8_t *out, struct err *e)
{
	size_t inner = reply ? MESSAGE_REPLY : 0;
	struct aead a = { 0 };
	int r = aead_key(&a, k->key, e);

	if (r == 0)
		r = aead_begin(&a, AEAD_SEAL, no_nonce, head, MESSAGE_HEAD, e);
	if (r == 0 && reply)
		r = aead_add(&a, reply->key, AGREE_BYTES, out, e);
	if (r == 0 && reply)
		r = aead_add(&a, reply->secret.p, AGREE_BYTES, out + AGREE_BYTES, e);
	if (r == 0)
		r = aead_add(&a, words, n, out + inner, e);
	if (r == 0)
		r = aead_tag(&a, out + inner + n, e);
	aead_free(&a);
	return r;
}

int
message_seal(const struct addressee *to, const struct addressee *reply,
             const uint8_t pair[AGREE_BYTES], const void *words, size_t n, struct buf *b,
             struct err *e)
{
	size_t bytes = (reply ? MESSAGE_REPLY : 0) + n + AEAD_TAG;
	uint8_t head[MESSAGE_HEAD] = { 0 }, *out;
	struct message_keys k;
	int r;

	if (n > MESSAGE_WORDS)
		return err_set(e, ERR_USAGE, NULL, "a message has at most %zu bytes",
		               MESSAGE_WORDS);
	memcpy(head, magic, sizeof magic);
	head[4] = VERSION;
	head[5] = (uint8_t)((reply ? ASKS : 0) | (to->answers ? ANSWERS : 0));
	r = agree_public(pair, head + PUBLIC, e);
	if (r == 0)
		r = message_keys(pair, to->key, head, to->key, to->answers ? to->secret.p : NULL, &k,
		                 e);
	if (r == 0) {
		memcpy(head + COMMITMENT, k.commitment, COMMITMENT_BYTES);
		buf_put(b, head, sizeof head);
		out = buf_room(b, bytes);
		r = out ? seal_body(&k, head, reply, words, n, out, e) : err_memory(e);
	}
	secret_wipe(&k, sizeof k);
	if (r == 0)
		b->n += bytes;
	return r;
}

/* ---- opening ---- */

/* Check the form, before any key is tried. */
static int
check_head(const uint8_t *p, size_t n, const char *where, struct err *e)
{
	if (n < sizeof magic || memcmp(p, magic, sizeof magic) != 0)
		return err_set(e, ERR_FORMAT, where, "is not a sealed message");
	if (n > sizeof magic && p[4] != VERSION)
		return err_set(e, ERR_VERSION, where, "is a message of version %u, this tool reads "
		               "%u", p[4], VERSION);
	if (n < MESSAGE_HEAD + AEAD_TAG)
		return err_set(e, ERR_CORRUPT, where, "is cut short");
	if (p[5] > (ASKS | ANSWERS) || p[6] || p[7])
		return err_set(e, ERR_CORRUPT, where, "has fields that no message has");
	if (p[5] & ASKS && n < MESSAGE_HEAD + MESSAGE_REPLY + AEAD_TAG)
		return err_set(e, ERR_CORRUPT, where, "is cut short");
	return 0;
}

static int
open_body(const struct message_keys *k, const uint8_t *p, size_t n, uint8_t *out,
          struct err *e)
{
	struct aead a = { 0 };
	int r = 0;

	if (bytes_equal(p + COMMITMENT, k->commitment, COMMITMENT_BYTES)) {
		if (aead_key(&a, k->key, e) == 0 &&
		    aead_open(&a, no_nonce, p, MESSAGE_HEAD, p + MESSAGE_HEAD,
		              n - MESSAGE_HEAD - AEAD_TAG, out, p + n - AEAD_TAG, NULL, e) == 0)
			r = 1;
		aead_free(&a);
	}
	return r;
}

/* Try one identity: 1 if it opens the message, 0 if not, -1 if memory runs out. */
static int
try_one(const uint8_t *secret, const uint8_t *answer, const uint8_t *p, size_t n,
        uint8_t *out, struct err *e)
{
	uint8_t recipient[AGREE_BYTES];
	struct err why = ERR_INIT;
	struct message_keys k;
	int r = 0;

	/* Anyone can encrypt to the public half: only the secret makes it an answer. */
	if (!answer != !(p[5] & ANSWERS))
		return 0;
	if (agree_public(secret, recipient, e) < 0)
		return -1;
	if (message_keys(secret, p + PUBLIC, p, recipient, answer, &k, &why) == 0)
		r = open_body(&k, p, n, out, &why);
	secret_wipe(&k, sizeof k);
	return why.code == ERR_MEMORY ? err_memory(e) : r;
}

/* Move the key and the secret for an answer out of the front of the words. */
static int
take_reply(struct secret *words, struct addressee *reply, struct err *e)
{
	if (secret_alloc(&reply->secret, AGREE_BYTES, e) < 0)
		return -1;
	reply->answers = true;
	memcpy(reply->key, words->p, AGREE_BYTES);
	memcpy(reply->secret.p, words->p + AGREE_BYTES, AGREE_BYTES);
	words->n -= MESSAGE_REPLY;
	memmove(words->p, words->p + MESSAGE_REPLY, words->n);
	return 0;
}

int
message_open(const struct identities *i, const uint8_t *p, size_t n,
             struct secret *words, bool *asks, struct addressee *reply,
             const char *where, struct err *e)
{
	size_t k, count = identities_count(i), inner;
	int r = 0;

	*words = (struct secret){ .p = NULL };
	*reply = (struct addressee){ .answers = false };
	if (check_head(p, n, where, e) < 0)
		return -1;
	inner = n - MESSAGE_HEAD - AEAD_TAG;
	if (secret_alloc(words, inner ? inner : 1, e) < 0)
		return -1;
	for (k = 0; r == 0 && k < count; k++)
		r = try_one(identities_key(i, k), identities_answer(i, k), p, n, words->p, e);
	if (r < 0)
		return -1;
	if (r == 0)
		return err_set(e, ERR_DECRYPT, where, "no key that is given opens it");
	words->n = inner;
	*asks = p[5] & ASKS;
	return *asks ? take_reply(words, reply, e) : 0;
}
