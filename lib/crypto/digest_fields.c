#include "crypto/digest.h"

#include <string.h>

#include "core/le.h"

void
sha256_add_domain(struct sha256 *h, const char *domain)
{
	sha256_add(h, domain, strlen(domain) + 1);
}

void
sha256_add_u64(struct sha256 *h, uint64_t v)
{
	uint8_t p[8];

	le64_put(p, v);
	sha256_add(h, p, sizeof p);
}

void
sha256_add_text(struct sha256 *h, const char *s)
{
	size_t n = strlen(s);

	sha256_add_u64(h, n);
	sha256_add(h, s, n);
}

bool
digest_equal(const struct digest *a, const struct digest *b)
{
	return memcmp(a->b, b->b, sizeof a->b) == 0;
}

char *
digest_text(char dst[DIGEST_TEXT], const struct digest *d)
{
	static const char hex[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < sizeof d->b; i++) {
		dst[2 * i] = hex[d->b[i] >> 4];
		dst[2 * i + 1] = hex[d->b[i] & 15];
	}
	dst[2 * i] = '\0';
	return dst;
}
