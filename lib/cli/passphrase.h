/* passphrase: where one comes from: a file, a descriptor, a named variable, or
 * the terminal; never the command line, which others can see, and never standard
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

#define PASSPHRASE_BYTES 1023 /* at most: the longest that minisign reads whole */

/* At most one is given; none means the terminal. */
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

/* Is a source named, or would the terminal be asked? */
bool passphrase_given(const struct passphrase_options *o);

/* Get one into s, which is allocated here and to be freed in every case. what
 * names its object to the person asked. create: it is for a new key, so it is
 * asked for twice and may not be empty.
 * A variable is wiped and unset, so that no child inherits it. More than one
 * source, an unset variable, or no terminal where one is needed is ERR_USAGE. */
int passphrase_get(const struct passphrase_options *o, const char *what, bool create,
                   struct secret *s, struct err *e);

/* A secret key file, unlocked with a passphrase if it is encrypted. To be freed;
 * NULL with e filled. */
struct key_secret *passphrase_key(const char *path, const struct passphrase_options *o,
                                  struct err *e);

#endif
