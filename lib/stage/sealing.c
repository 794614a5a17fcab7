#include "stage/sealing.h"

#include "crypto/agree.h"
#include "crypto/kdf.h"

static int
seal_for(struct skey *skey, const struct recipients *to, const uint8_t *data,
         struct err *e)
{
	struct secret pair = { 0 };
	uint8_t public[AGREE_BYTES];
	int r = secret_alloc(&pair, AGREE_BYTES, e);
	size_t i;

	for (i = 0; r == 0 && i < to->n; i++)
		if (agree_new(pair.p, public, e) < 0 ||
		    skey_add_recipient(skey, data, to->key[i], pair.p, e) < 0)
			r = -1;
	secret_free(&pair);
	return r;
}

static int
seal_by_password(struct skey *skey, const struct secret *password, const uint8_t *data,
                 struct err *e)
{
	uint8_t salt[ARGON2ID_SALT];

	if (random_bytes(salt, sizeof salt, e) < 0)
		return -1;
	return skey_add_password(skey, data, password->p, password->n, salt, ARGON2ID_COST, e);
}

int
sealing_make(struct skey *skey, struct secret *data, const struct recipients *to,
             const struct secret *password, struct err *e)
{
	if (secret_alloc(data, SKEY_DATA, e) < 0 ||
	    random_bytes(data->p, SKEY_DATA, e) < 0 ||
	    random_bytes(skey->salt, sizeof skey->salt, e) < 0)
		return -1;
	return password->p ? seal_by_password(skey, password, data->p, e)
	                   : seal_for(skey, to, data->p, e);
}
