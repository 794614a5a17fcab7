#include "crypto/digest.h"

#include <openssl/evp.h>

static void *
start(const EVP_MD *kind)
{
	EVP_MD_CTX *state = EVP_MD_CTX_new();

	if (state && EVP_DigestInit_ex(state, kind, NULL) == 1)
		return state;
	EVP_MD_CTX_free(state);
	return NULL;
}

static void
add(void **state, const void *p, size_t n)
{
	if (!*state || EVP_DigestUpdate(*state, p, n) == 1)
		return;
	EVP_MD_CTX_free(*state);
	*state = NULL;
}

static int
finish(void **state, uint8_t *out, struct err *e)
{
	int ok = *state && EVP_DigestFinal_ex(*state, out, NULL) == 1;

	EVP_MD_CTX_free(*state);
	*state = NULL;
	return ok ? 0 : err_memory(e);
}

void
sha256_start(struct sha256 *h)
{
	h->state = start(EVP_sha256());
}

void
sha256_add(struct sha256 *h, const void *p, size_t n)
{
	add(&h->state, p, n);
}

int
sha256_finish(struct sha256 *h, struct digest *out, struct err *e)
{
	return finish(&h->state, out->b, e);
}

void
sha256_abandon(struct sha256 *h)
{
	EVP_MD_CTX_free(h->state);
	h->state = NULL;
}

void
sha1_start(struct sha1 *h)
{
	h->state = start(EVP_sha1());
}

void
sha1_add(struct sha1 *h, const void *p, size_t n)
{
	add(&h->state, p, n);
}

int
sha1_finish(struct sha1 *h, uint8_t out[SHA1_BYTES], struct err *e)
{
	return finish(&h->state, out, e);
}

void
sha1_abandon(struct sha1 *h)
{
	EVP_MD_CTX_free(h->state);
	h->state = NULL;
}

int
sha256_of(const void *p, size_t n, struct digest *out)
{
	return EVP_Digest(p, n, out->b, NULL, EVP_sha256(), NULL) == 1 ? 0 : -1;
}
