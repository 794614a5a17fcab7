#include "crypto/kdf.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

/* The library takes parameters that it does not change through non-const pointers, and
 * refuses NULL for empty bytes. */
static OSSL_PARAM
octets(const char *name, const void *p, size_t n)
{
	static char empty;

	return OSSL_PARAM_construct_octet_string(name, n ? (void *)(uintptr_t)p : &empty, n);
}

int
hkdf_sha256(const void *salt, size_t salt_bytes, const void *key, size_t key_bytes,
            const void *info, size_t info_bytes, uint8_t *out, size_t n, struct err *e)
{
	char sha256[] = "SHA256";
	EVP_KDF *kind = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *c = kind ? EVP_KDF_CTX_new(kind) : NULL;
	OSSL_PARAM p[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, sha256, 0),
		octets(OSSL_KDF_PARAM_KEY, key, key_bytes),
		octets(OSSL_KDF_PARAM_SALT, salt, salt_bytes),
		octets(OSSL_KDF_PARAM_INFO, info, info_bytes),
		OSSL_PARAM_construct_end()
	};
	int ok = c && EVP_KDF_derive(c, out, n, p) == 1;

	EVP_KDF_CTX_free(c);
	EVP_KDF_free(kind);
	return ok ? 0 : err_memory(e);
}
