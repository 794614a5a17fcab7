/* trusted: the public keys in the user's folder of trusted keys, which apr-verify uses by
 * default: $APR_TRUSTED/NAME.pub, which the setting trust.folder sets; without it
 * $XDG_CONFIG_HOME/apr/trusted/NAME.pub, or ~/.config/apr/trusted/NAME.pub if that variable
 * is empty or relative.
 */
#ifndef CRYPTO_TRUSTED_H
#define CRYPTO_TRUSTED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"
#include "crypto/keys.h"

struct trusted_key {
	char *path;
	struct key_public key;
};

struct trusted {
	char *folder;              /* NULL if there is no home */
	struct trusted_key *item;  /* in order of their file names */
	size_t n, cap;
};

/* Load all keys in the folder; none (0, not a fault) if it does not exist. A file that is
 * not a public key is a fault that names it, since the user put it there on purpose. Call
 * trusted_free even on failure. */
int trusted_load(struct trusted *t, struct err *e);

/* True if the file looks like a public key, whatever its name. For hints only. */
bool trusted_is_key(const char *path);

/* True if the name ends in .pub. The meaning of an operand must follow from the command line
 * alone, never from the contents of a file. */
bool trusted_is_named(const char *path);

/* Load the keys in these files, and none from the folder. */
int trusted_files(struct trusted *t, const char *const *paths, size_t n, struct err *e);

/* Add a key that was read elsewhere; name stands for its file. 0 or -1. */
int trusted_add(struct trusted *t, const char *name, const struct key_public *key,
                struct err *e);
void trusted_free(struct trusted *t);

#endif
