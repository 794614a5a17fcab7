/* fuzz_keys: text that may be a key file of either kind. */
#include "fuzz.h"

#include "crypto/keys.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err public_err = ERR_INIT, secret_err = ERR_INIT;
	uint8_t signature[KEY_SIGNATURE_BYTES];
	char id[KEY_ID_TEXT];
	struct key_public k;
	struct key_secret *s;

	if (key_public_parse(data, size, &k, &public_err) < 0)
		fuzz_refused(&public_err, false);
	else
		must(strspn(key_id_text(id, k.id), "0123456789ABCDEF") == 16);

	s = key_secret_parse(data, size, &secret_err);
	must(!s || public_err.code != ERR_NONE);
	if (!s && secret_err.code == ERR_MEMORY)
		must(strstr(secret_err.fact, "scrypt")); /* more than is allowed */
	else if (!s)
		fuzz_refused(&secret_err, false);
	else if (!key_secret_is_encrypted(s)) {
		/* Whoever wrote it: what it signs, its public half verifies. */
		key_sign(s, data, size, signature);
		must(key_verify(key_secret_public(s), data, size, signature));
	}
	key_secret_free(s);
	return 0;
}
