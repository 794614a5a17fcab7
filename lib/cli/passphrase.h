/* passphrase: reads a passphrase from a file, a descriptor, an environment variable, or
 * the terminal; never from the command line, which others can see, or from standard
 * input, which is the model.
 */
#ifndef CLI_PASSPHRASE_H
#define CLI_PASSPHRASE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/tool.h"
#include "core/err.h"
#include "crypto/keys.h"
#include "crypto/secret.h"

#define PASSPHRASE_BYTES 1023 /* maximum; minisign reads no more */

/* At most one is set; none means the terminal. */
struct passphrase_options {
	const char *file; /* its first line */
	const char *env;  /* name of a variable */
	uint64_t fd;      /* one line is read from it; 0: not given */
};
#define OPT_PASSPHRASE(o) \
	TEXT(0, "passphrase-file", "FILE", &(o)->file, \
	     "read the passphrase from the first line of FILE"), \
	NUMBER(0, "passphrase-fd", "N", &(o)->fd, 3, INT32_MAX, \
	     "read the passphrase from descriptor N, one line"), \
	TEXT(0, "passphrase-env", "NAME", &(o)->env, \
	     "take the passphrase from the environment variable NAME")

/* Whether a source other than the terminal is set. */
bool passphrase_given(const struct passphrase_options *o);

/* Reads a passphrase into s, which is allocated here and freed by the caller in either
 * case. what: the object that it protects, named in the prompt. create: for a new key;
 * the user must enter it twice, and it must not be empty. A variable is wiped and unset,
 * so that no child inherits it. ERR_USAGE: more than one source, an unset variable, or no
 * terminal. */
int passphrase_get(const struct passphrase_options *o, const char *what, bool create,
                   struct secret *s, struct err *e);

/* Reads a secret key file, and decrypts it with a passphrase if it is encrypted. The
 * caller frees the key. NULL with e filled. */
struct key_secret *passphrase_key(const char *path, const struct passphrase_options *o,
                                  struct err *e);

#endif
