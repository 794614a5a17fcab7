/* HKDF by BearSSL. */
#include "crypto/kdf.h"

#include <bearssl.h>

#include "crypto/secret.h"

#define MOST (255 * HMAC_BYTES) /* RFC 5869, section 2.3 */

int
hkdf_sha256(const void *salt, size_t salt_bytes, const void *key, size_t key_bytes,
            const void *info, size_t info_bytes, uint8_t *out, size_t n, struct err *e)
{
	br_hkdf_context c;

	if (n > MOST)
		return err_memory(e);
	br_hkdf_init(&c, &br_sha256_vtable, salt_bytes ? salt : "", salt_bytes);
	br_hkdf_inject(&c, key_bytes ? key : "", key_bytes);
	br_hkdf_flip(&c);
	br_hkdf_produce(&c, info_bytes ? info : "", info_bytes, out, n);
	secret_wipe(&c, sizeof c);
	return 0;
}
