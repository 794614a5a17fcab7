/* sealing: a random data key, and who can open what is sealed by it. */
#ifndef STAGE_SEALING_H
#define STAGE_SEALING_H

#include "crypto/seal/identity.h"
#include "crypto/seal/skey.h"
#include "crypto/secret.h"

/* Fill skey and data for seal_sink (crypto/seal/seal.h), both all zero before: random bytes, and a
 * stanza for the password, or if its p is NULL, for each recipient. 0 or -1; the caller frees data
 * either way. */
int sealing_make(struct skey *skey, struct secret *data, const struct recipients *to,
                 const struct secret *password, struct err *e);

#endif
