#include "crypto/aead.h"

#include "crypto/secret.h"

int
aead_seal(struct aead *a, const uint8_t nonce[AEAD_NONCE], const void *aad,
          size_t aad_bytes, const uint8_t *in, size_t n, uint8_t *out,
          uint8_t tag[AEAD_TAG], struct err *e)
{
	if (aead_begin(a, AEAD_SEAL, nonce, aad, aad_bytes, e) < 0 ||
	    aead_add(a, in, n, out, e) < 0)
		return -1;
	return aead_tag(a, tag, e);
}

int
aead_open(struct aead *a, const uint8_t nonce[AEAD_NONCE], const void *aad,
          size_t aad_bytes, const uint8_t *in, size_t n, uint8_t *out,
          const uint8_t tag[AEAD_TAG], const char *what, struct err *e)
{
	if (aead_begin(a, AEAD_OPEN, nonce, aad, aad_bytes, e) == 0 &&
	    aead_add(a, in, n, out, e) == 0 && aead_check(a, tag, what, e) == 0)
		return 0;
	if (n > 0)
		secret_wipe(out, n);
	return -1;
}
