/* ring: keys and passphrases in memory, and the operations on the bytes of a container that need
 * them (model/vault.h).
 */
#ifndef STAGE_RING_H
#define STAGE_RING_H

#include "crypto/keys.h"
#include "crypto/seal/identity.h"
#include "crypto/secret.h"
#include "crypto/trusted.h"
#include "model/vault.h"

/* Initially all zero: no keys. */
struct ring {
	struct vault vault;          /* for struct format_options; ring_writes or ring_reads fills it */
	struct key_secret *key;      /* signs; or NULL */
	struct recipients recipients;
	struct identities identities;
	struct secret password;      /* p NULL: none */
	struct trusted trusted;
	void (*note)(const char *);  /* receives notes for the user; or NULL */
};

/* Let the vault do what the keys allow, while a file is written or read. */
void ring_writes(struct ring *r);
void ring_reads(struct ring *r);
void ring_free(struct ring *r);

#endif
