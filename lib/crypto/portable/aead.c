/* AES-256-GCM by BearSSL: bits of several blocks side by side in words, and carry-less products by
 * integer multiplications. No branch and no address depends on a secret. */
#include "crypto/aead.h"

#include <stdlib.h>
#include <string.h>

#include <bearssl.h>

#include "crypto/secret.h"

#define MOST (((uint64_t)1 << 36) - 32) /* bytes of a message: SP 800-38D, section 5.2.1.1 */

struct state {
	br_aes_ct64_ctr_keys keys;
	br_gcm_context gcm;
	enum aead_way way;
	uint64_t bytes;
};

int
aead_key(struct aead *a, const uint8_t key[AEAD_KEY], struct err *e)
{
	struct state *s = a->state ? a->state : malloc(sizeof *s);

	if (!s)
		return err_memory(e);
	br_aes_ct64_ctr_init(&s->keys, key, AEAD_KEY);
	br_gcm_init(&s->gcm, &s->keys.vtable, br_ghash_ctmul64);
	a->state = s;
	return 0;
}

int
aead_begin(struct aead *a, enum aead_way way, const uint8_t nonce[AEAD_NONCE],
           const void *aad, size_t aad_bytes, struct err *e)
{
	struct state *s = a->state;

	(void)e;
	br_gcm_reset(&s->gcm, nonce, AEAD_NONCE);
	if (aad_bytes > 0)
		br_gcm_aad_inject(&s->gcm, aad, aad_bytes);
	br_gcm_flip(&s->gcm);
	s->way = way;
	s->bytes = 0;
	return 0;
}

int
aead_add(struct aead *a, const uint8_t *in, size_t n, uint8_t *out, struct err *e)
{
	struct state *s = a->state;

	if (n > MOST - s->bytes)
		return err_memory(e);
	if (n == 0)
		return 0;
	s->bytes += n;
	if (in != out)
		memmove(out, in, n);
	br_gcm_run(&s->gcm, s->way == AEAD_SEAL, out, n);
	return 0;
}

int
aead_tag(struct aead *a, uint8_t tag[AEAD_TAG], struct err *e)
{
	struct state *s = a->state;

	(void)e;
	br_gcm_get_tag(&s->gcm, tag);
	return 0;
}

int
aead_check(struct aead *a, const uint8_t tag[AEAD_TAG], const char *what, struct err *e)
{
	struct state *s = a->state;

	/* It compares all bytes, whichever differ. */
	if (br_gcm_check_tag(&s->gcm, tag) != 1)
		return err_set(e, ERR_DECRYPT, what, "cannot be opened: its tag does not hold");
	return 0;
}

void
aead_free(struct aead *a)
{
	if (a->state)
		secret_wipe(a->state, sizeof(struct state));
	free(a->state);
	a->state = NULL;
}
