#include "stage/ring.h"

#include <string.h>

#include "crypto/apr1_seal.h"
#include "crypto/digest.h"

static int
digest(struct vault *v, const uint8_t *m, size_t n, uint8_t out[VAULT_DIGEST],
       struct err *e)
{
	struct sha256 h;
	struct digest d;

	(void)v;
	sha256_start(&h);
	sha256_add(&h, m, n);
	if (sha256_finish(&h, &d, e) < 0)
		return -1;
	memcpy(out, d.b, VAULT_DIGEST);
	return 0;
}

/* ---- writing ---- */

static struct apr1_sealing
sealing(const struct ring *v)
{
	return (struct apr1_sealing){ .password = v->password.p,
		.password_bytes = v->password.n, .keys = v->recipients.key[0],
		.key_count = v->recipients.n };
}

static int
sign(struct vault *vault, const uint8_t *m, size_t n, uint8_t signature[VAULT_SIGNATURE],
     uint8_t key[VAULT_KEY], struct err *e)
{
	struct ring *v = (struct ring *)vault;
	const struct key_public *public = key_secret_public(v->key);

	key_sign(v->key, m, n, signature);
	memcpy(key, public->key, VAULT_KEY);
	if (key_verify(public, m, n, signature))
		return 0;
	return err_set(e, ERR_SIGNATURE, NULL, "the new signature does not hold");
}

static int
seal(struct vault *vault, const uint8_t *m, size_t n, struct spool *to, struct err *e)
{
	struct apr1_sealing s = sealing((struct ring *)vault);

	return apr1_seal(&s, m, n, to, e);
}

void
ring_writes(struct ring *v)
{
	const struct apr1_sealing s = sealing(v);

	v->vault.digest = digest;
	v->vault.signs = v->key != NULL;
	v->vault.sign = sign;
	v->vault.seals = v->recipients.n || v->password.p;
	v->vault.seal = seal;
	if (v->vault.seals) {
		v->vault.mode = (uint8_t)apr1_sealing_mode(&s);
		v->vault.extra = apr1_sealing_extra(&s);
	}
}

/* ---- reading ---- */

static int
check(struct vault *vault, const uint8_t *m, size_t n,
      const uint8_t signature[VAULT_SIGNATURE], const uint8_t key[VAULT_KEY],
      const char *name, struct err *e)
{
	struct ring *v = (struct ring *)vault;
	struct key_public public = { .id = { 0 } };
	size_t i;

	memcpy(public.key, key, VAULT_KEY);
	for (i = 0; i < v->trusted.n; i++)
		if (memcmp(v->trusted.item[i].key.key, key, VAULT_KEY) == 0)
			break;
	if (v->trusted.n && i == v->trusted.n)
		return err_set(e, ERR_SIGNATURE, name, "SignatureInvalid: it is signed by a key "
		               "other than the trusted one");
	if (!key_verify(&public, m, n, signature))
		return err_set(e, ERR_SIGNATURE, name, "SignatureInvalid: its signature does not "
		               "hold");
	if (!v->trusted.n && v->note)
		v->note("its signature holds, but its key is in the same file: name the signer with "
		        "--trusted-key");
	return 0;
}

static int
open_sealed(struct vault *vault, uint8_t mode, const uint8_t *m, size_t n, struct spool *to,
            const char *name, struct err *e)
{
	struct ring *v = (struct ring *)vault;
	struct apr1_opening o = { .password = v->password.p, .password_bytes = v->password.n,
		.secret_count = identities_count(&v->identities) };

	if (o.secret_count)
		o.secrets = identities_key(&v->identities, 0);
	if (!o.password && !o.secret_count) {
		err_set(e, ERR_DECRYPT, name, "DecryptionFailed: its payload is encrypted");
		return err_hint(e, "decrypt it with --identity or a passphrase");
	}
	return apr1_unseal(&o, mode, m, n, to, name, e);
}

void
ring_reads(struct ring *v)
{
	v->vault.digest = digest;
	v->vault.check = check;
	v->vault.open = open_sealed;
	v->vault.trusts = v->trusted.n > 0;
}

void
ring_free(struct ring *v)
{
	key_secret_free(v->key);
	v->key = NULL;
	identities_free(&v->identities);
	secret_free(&v->password);
	trusted_free(&v->trusted);
}
