/* confine: what apr-pull and apr-push may still do once they talk to servers (core/netbox.h). */
#ifndef CLI_CONFINE_H
#define CLI_CONFINE_H

#include <stdbool.h>

#include "core/err.h"

/* The files that a tool uses, besides those that it has declared. */
struct confine {
	const char *target;     /* folder of -o, which exists, or NULL */
	const char *policy, *token_file; /* or NULL */
	bool fills_cache;       /* the caches may be written, and are created */
	bool reads_cache;
};

/* Enters. 0, or -1 if a cache cannot be created. */
int confine(const struct confine *c, struct err *e);

#endif
