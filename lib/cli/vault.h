/* vault: turns the command line into the keys (model/vault.h) of containers whose
 * signature and encryption cover their own bytes (APR version 1).
 */
#ifndef CLI_VAULT_H
#define CLI_VAULT_H

#include "cli/passphrase.h"
#include "cli/tool.h"
#include "stage/ring.h"

struct vault_options {
	const char *sign_key, *sign_passphrase; /* writing */
	struct opt_list recipients;
	const char *trusted_key;                /* reading */
	struct opt_list identities;
	struct passphrase_options passphrase;   /* both */
};
#define OPT_VAULT_WRITE(o) \
	TEXT(0, "sign-key", "KEY", &(o)->sign_key, \
	     "apr1: sign the file with the secret key in KEY"), \
	TEXT(0, "sign-passphrase-file", "FILE", &(o)->sign_passphrase, \
	     "apr1: read the passphrase of that key from the first line of FILE"), \
	LIST('r', "recipient", "KEY", &(o)->recipients, \
	     "apr1: encrypt to this age public key; may be repeated"), \
	OPT_PASSPHRASE(&(o)->passphrase)
#define OPT_VAULT_READ(o) \
	TEXT(0, "trusted-key", "KEY.pub", &(o)->trusted_key, \
	     "APR version 1: require a signature by this key"), \
	LIST('i', "identity", "FILE", &(o)->identities, \
	     "APR version 1: decrypt with the identity in FILE"), \
	OPT_PASSPHRASE(&(o)->passphrase)

/* Whether any option is given. */
bool vault_asked(const struct vault_options *o);

/* Read keys and ask for passphrases; call them before the sandbox is entered. Return 0 or
 * -1. Call ring_free in every case. */
int vault_to_write(struct ring *v, const struct vault_options *o, struct err *e);
int vault_to_read(struct ring *v, const struct vault_options *o, struct err *e);

#endif
