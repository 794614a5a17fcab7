/* trusted: the public keys a person has put where apr-verify looks by itself:
 * $XDG_CONFIG_HOME/apr/trusted/NAME.pub, or ~/.config/apr/trusted/NAME.pub where
 * that variable is empty or relative.
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
	char *folder;              /* NULL where there is no home */
	struct trusted_key *item;  /* in order of their file names */
	size_t n, cap;
};

/* All keys there; none (0, no fault) if the folder does not exist. A file that
 * is no public key is a fault that names it: who put it there meant something.
 * trusted_free is called in every case. */
int trusted_load(struct trusted *t, struct err *e);

/* Does the file look like a public key, whatever it is called? For a hint. */
bool trusted_is_key(const char *path);

/* Is it called NAME.pub? What an operand is must follow from the command line alone,
 * never from what is in a file. */
bool trusted_is_named(const char *path);

/* The keys in these files, and none from the folder. */
int trusted_files(struct trusted *t, const char *const *paths, size_t n, struct err *e);
void trusted_free(struct trusted *t);

#endif
