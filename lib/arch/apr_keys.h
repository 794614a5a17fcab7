/* apr_keys: hyper-parameters in the metadata of .apr files, beside their names in GGUF and in
 * the config.json of model folders.
 *
 * Source: version 2, sections 3.4 and 10.4, and the members that existing software writes and
 * reads. A file has only one of the spellings of a member: existing software drops all
 * metadata of a file with two.
 */
#ifndef ARCH_APR_KEYS_H
#define ARCH_APR_KEYS_H

#include <stddef.h>

#include "core/err.h"
#include "core/json.h"
#include "model/weights.h"

struct apr_key {
	const char *apr;    /* as we write it, and the first that is read */
	const char *other;  /* another spelling, or NULL */
	const char *config; /* in config.json */
	const char *gguf;   /* behind the architecture and a dot; NULL: GGUF has no such key */
};

/* By index; NULL past the last. */
const struct apr_key *apr_key_row(size_t index);

/* The value of a key of the plan as JSON, a new reference; NULL if such a key does not exist, or
 * if its value is a list of typed items or not JSON. */
json_t *apr_key_value(const struct weights *w, const char *name);

/* The members of config.json that the metadata of an .apr file has, with model_type; an
 * object, possibly empty. A new reference, or NULL with E008. */
json_t *apr_config(const struct weights *w, struct err *e);

#endif
