/* message: sealed messages (crypto/seal/message.h) for JavaScript, as apr-seal and apr-open make and
 * open them.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/private.h"
#include "core/base64.h"
#include "crypto/seal/message.h"

size_t js_seal_room(size_t n);
int js_seal(const uint8_t *to, size_t length, const void *words, size_t n, uint8_t *sealed,
            struct aprml_error *e);
int js_unseal(const uint8_t *keys, size_t length, const uint8_t *sealed, size_t n, uint8_t *words,
              int *asks, struct aprml_error *e);
int js_recipient(const char *text, size_t n, char recipient[RECIPIENT_TEXT]);

/* The size of n sealed bytes. */
size_t
js_seal_room(size_t n)
{
	return MESSAGE_HEAD + n + AEAD_TAG;
}

static int
seal(const struct addressee *to, const void *words, size_t n, struct buf *b, struct err *e)
{
	uint8_t public[AGREE_BYTES];
	struct secret pair = { 0 };
	int r = secret_alloc(&pair, AGREE_BYTES, e);

	if (r == 0)
		r = agree_new(pair.p, public, e);
	if (r == 0)
		r = message_seal(to, NULL, pair.p, words, n, b, e);
	secret_free(&pair);
	return r;
}

/* Seal n bytes for the recipient in a text of this length. sealed has js_seal_room(n) bytes. 0 or -1. */
int
js_seal(const uint8_t *to, size_t length, const void *words, size_t n, uint8_t *sealed,
        struct aprml_error *e)
{
	struct addressee a = { .answers = false };
	struct err err = ERR_INIT;
	struct buf b = { 0 };

	if (addressee_parse(&a, to, length, "the recipient", &err) == 0 &&
	    seal(&a, words, n, &b, &err) == 0)
		memcpy(sealed, b.p, b.n);
	buf_free(&b);
	addressee_free(&a);
	return err.code == ERR_NONE ? 0 : api_fail(&err, e);
}

/* Open a message of n bytes with the identities in a text of this length. words has room for n bytes.
 * *asks: the sender asks for an answer. Returns the number of bytes of its words, or -1. */
int
js_unseal(const uint8_t *keys, size_t length, const uint8_t *sealed, size_t n, uint8_t *words,
          int *asks, struct aprml_error *e)
{
	struct identities with = { .keys = { 0 } };
	struct addressee reply = { .answers = false };
	struct secret text = { 0 };
	struct err err = ERR_INIT;
	bool answer = false;
	int r = -1;

	if (n > MESSAGE_BYTES)
		err_set(&err, ERR_CORRUPT, "the message", "is too long for a message");
	else if (identities_parse(&with, keys, length, "the key", &err) == 0 &&
	         message_open(&with, sealed, n, &text, &answer, &reply, "the message", &err) == 0) {
		memcpy(words, text.p, text.n);
		*asks = answer;
		r = (int)text.n;
	}
	secret_free(&text);
	addressee_free(&reply);
	identities_free(&with);
	return r < 0 ? api_fail(&err, e) : r;
}

/* The recipient that a model publishes as n characters of base64 (inference_pub_key), terminated. 0, or
 * -1 if they are something else. */
int
js_recipient(const char *text, size_t n, char recipient[RECIPIENT_TEXT])
{
	struct base64_reader reader = { 0 };
	struct buf b = { 0 };
	bool is_key = base64_add(&reader, text, n, &b) == 0 && base64_end(&reader) == 0 &&
	              b.n == AGREE_BYTES;

	if (is_key)
		recipient_text(b.p, recipient);
	buf_free(&b);
	return is_key ? 0 : -1;
}
