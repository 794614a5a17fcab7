#include "crypto/agree.h"

#include <sodium.h>

#include "crypto/kdf.h"

int
agree_public(const uint8_t secret[AGREE_BYTES], uint8_t public[AGREE_BYTES],
             struct err *e)
{
	if (sodium_init() < 0 || crypto_scalarmult_base(public, secret) < 0)
		return err_memory(e);
	return 0;
}

int
agree_new(uint8_t secret[AGREE_BYTES], uint8_t public[AGREE_BYTES], struct err *e)
{
	if (random_bytes(secret, AGREE_BYTES, e) < 0)
		return -1;
	return agree_public(secret, public, e);
}

int
agree(const uint8_t secret[AGREE_BYTES], const uint8_t public[AGREE_BYTES],
      uint8_t out[AGREE_BYTES], struct err *e)
{
	if (sodium_init() < 0)
		return err_memory(e);
	/* The library refuses points of small order, and a result of zeros. */
	if (crypto_scalarmult(out, secret, public) == 0 && !sodium_is_zero(out, AGREE_BYTES))
		return 0;
	sodium_memzero(out, AGREE_BYTES);
	return err_set(e, ERR_DECRYPT, NULL, "a public key with which nothing can be agreed");
}
