/* SHA-256 and SHA-1 by BearSSL, which is plain C in constant time. */
#include "crypto/digest.h"

#include <stdlib.h>

#include <bearssl.h>

void
sha256_start(struct sha256 *h)
{
	h->state = malloc(sizeof(br_sha256_context));
	if (h->state)
		br_sha256_init(h->state);
}

void
sha256_add(struct sha256 *h, const void *p, size_t n)
{
	if (h->state && n > 0)
		br_sha256_update(h->state, p, n);
}

int
sha256_finish(struct sha256 *h, struct digest *out, struct err *e)
{
	if (!h->state)
		return err_memory(e);
	br_sha256_out(h->state, out->b);
	sha256_abandon(h);
	return 0;
}

void
sha256_abandon(struct sha256 *h)
{
	free(h->state);
	h->state = NULL;
}

void
sha1_start(struct sha1 *h)
{
	h->state = malloc(sizeof(br_sha1_context));
	if (h->state)
		br_sha1_init(h->state);
}

void
sha1_add(struct sha1 *h, const void *p, size_t n)
{
	if (h->state && n > 0)
		br_sha1_update(h->state, p, n);
}

int
sha1_finish(struct sha1 *h, uint8_t out[SHA1_BYTES], struct err *e)
{
	if (!h->state)
		return err_memory(e);
	br_sha1_out(h->state, out);
	sha1_abandon(h);
	return 0;
}

void
sha1_abandon(struct sha1 *h)
{
	free(h->state);
	h->state = NULL;
}

int
sha256_of(const void *p, size_t n, struct digest *out)
{
	br_sha256_context h;

	br_sha256_init(&h);
	if (n > 0)
		br_sha256_update(&h, p, n);
	br_sha256_out(&h, out->b);
	return 0;
}
