#include "crypto/kdf.h"

#include <inttypes.h>

#include <sodium.h>

#include "core/buf.h"
#include "crypto/derivation.h"
#include "crypto/digest.h"

int
hkdf_context(const uint8_t *salt, size_t salt_bytes, const uint8_t *key, size_t key_bytes,
             const char *domain, const void *context, size_t context_bytes, uint8_t *out,
             size_t n, struct err *e)
{
	struct buf info = { 0 };
	struct digest d;
	int r = sha256_of(context, context_bytes, &d) < 0 ? err_memory(e) : 0;

	buf_text(&info, domain);
	buf_put(&info, "", 1);
	buf_put(&info, d.b, sizeof d.b);
	if (r == 0 && !buf_ok(&info))
		r = err_memory(e);
	if (r == 0)
		r = hkdf_sha256(salt, salt_bytes, key, key_bytes, info.p, info.n, out, n, e);
	buf_free(&info);
	return r;
}

int
hmac_sha256(const void *key, size_t key_bytes, const void *p, size_t n,
            uint8_t out[HMAC_BYTES], struct err *e)
{
	crypto_auth_hmacsha256_state s;

	if (sodium_init() < 0)
		return err_memory(e);
	crypto_auth_hmacsha256_init(&s, key, key_bytes);
	crypto_auth_hmacsha256_update(&s, p, n);
	crypto_auth_hmacsha256_final(&s, out);
	sodium_memzero(&s, sizeof s);
	return 0;
}

int
argon2id(const void *password, size_t password_bytes, const uint8_t salt[ARGON2ID_SALT],
         struct argon2id_cost cost, uint8_t *out, size_t n, struct err *e)
{
	const struct argon2id_cost most = ARGON2ID_MOST;
	const uint64_t allowed = derivation_allows();

	if (cost.memory < 8 || cost.passes < 1)
		return err_set(e, ERR_CORRUPT, NULL, "Argon2id cannot have %u KiB and %u passes",
		               cost.memory, cost.passes);
	if (cost.memory > most.memory || cost.passes > most.passes)
		return err_set(e, ERR_MEMORY, NULL, "a guess of its passphrase costs %u KiB and %u "
		               "passes, more than this tool spends (%u KiB, %u)",
		               cost.memory, cost.passes, most.memory, most.passes);
	if (allowed > 0 && (uint64_t)cost.memory * 1024 > allowed)
		return err_set(e, ERR_MEMORY, NULL, "its passphrase needs %u KiB of memory, and the "
		               "limit is %" PRIu64 " bytes", cost.memory, allowed);
	if (sodium_init() < 0 ||
	    crypto_pwhash(out, n, password, password_bytes, salt, cost.passes,
	                  (size_t)cost.memory * 1024, crypto_pwhash_ALG_ARGON2ID13) < 0)
		return err_memory(e);
	return 0;
}

static struct random_source source;

void
random_from(const struct random_source *from)
{
	source = *from;
}

int
random_bytes(void *p, size_t n, struct err *e)
{
	if (source.fill)
		return source.fill(source.ctx, p, n) == 0
		           ? 0 : err_set(e, ERR_IO, NULL, "there are no random bytes");
	if (sodium_init() < 0)
		return err_memory(e);
	randombytes_buf(p, n);
	return 0;
}

int
bytes_equal(const void *a, const void *b, size_t n)
{
	return sodium_memcmp(a, b, n) == 0;
}
