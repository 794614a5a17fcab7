#include "crypto/aead.h"

#include <openssl/evp.h>

/* The library takes sizes as int. */
#define PIECE ((size_t)1 << 30)

int
aead_key(struct aead *a, const uint8_t key[AEAD_KEY], struct err *e)
{
	if (!a->state)
		a->state = EVP_CIPHER_CTX_new();
	if (!a->state ||
	    EVP_CipherInit_ex(a->state, EVP_aes_256_gcm(), NULL, key, NULL, 1) != 1)
		return err_memory(e);
	return 0;
}

int
aead_begin(struct aead *a, enum aead_way way, const uint8_t nonce[AEAD_NONCE],
           const void *aad, size_t aad_bytes, struct err *e)
{
	const uint8_t *p = aad;
	int done;

	if (EVP_CipherInit_ex(a->state, NULL, NULL, NULL, nonce, way == AEAD_SEAL) != 1)
		return err_memory(e);
	while (aad_bytes > 0) {
		size_t n = aad_bytes < PIECE ? aad_bytes : PIECE;

		if (EVP_CipherUpdate(a->state, NULL, &done, p, (int)n) != 1)
			return err_memory(e);
		p += n;
		aad_bytes -= n;
	}
	return 0;
}

int
aead_add(struct aead *a, const uint8_t *in, size_t n, uint8_t *out, struct err *e)
{
	int done;

	while (n > 0) {
		size_t part = n < PIECE ? n : PIECE;

		if (EVP_CipherUpdate(a->state, out, &done, in, (int)part) != 1)
			return err_memory(e);
		in += part;
		out += part;
		n -= part;
	}
	return 0;
}

int
aead_tag(struct aead *a, uint8_t tag[AEAD_TAG], struct err *e)
{
	uint8_t none[AEAD_TAG];
	int done;

	if (EVP_CipherFinal_ex(a->state, none, &done) != 1 ||
	    EVP_CIPHER_CTX_ctrl(a->state, EVP_CTRL_AEAD_GET_TAG, AEAD_TAG, tag) != 1)
		return err_memory(e);
	return 0;
}

int
aead_check(struct aead *a, const uint8_t tag[AEAD_TAG], const char *what, struct err *e)
{
	uint8_t want[AEAD_TAG], none[AEAD_TAG];
	int done, i;

	for (i = 0; i < AEAD_TAG; i++)
		want[i] = tag[i]; /* the library's parameter is not const */
	if (EVP_CIPHER_CTX_ctrl(a->state, EVP_CTRL_AEAD_SET_TAG, AEAD_TAG, want) != 1)
		return err_memory(e);
	if (EVP_CipherFinal_ex(a->state, none, &done) != 1)
		return err_set(e, ERR_DECRYPT, what, "cannot be opened: its tag does not hold");
	return 0;
}

void
aead_free(struct aead *a)
{
	EVP_CIPHER_CTX_free(a->state);
	a->state = NULL;
}
