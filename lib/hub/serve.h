/* serve: a remote model for a process that reads it in place (core/remote.h).
 *
 * The process that serves has the network; the one that reads has a socket to it
 * (core/remote_wire.h). Files that the cache has are opened there; of others only the bytes
 * that are read are fetched (hub/ranges.h), and nothing is written to disk, unless the reader
 * has to map a file. If a pull is given, all of its files are fetched into the cache instead.
 */
#ifndef HUB_SERVE_H
#define HUB_SERVE_H

#include <stdbool.h>

#include "core/err.h"
#include "hub/pull.h"
#include "net/http.h"

struct serve_options {
	struct web_options web;
	const char *source;      /* NULL: the one that the reader asks for */
	const char *token_file;  /* as for hf_open */
	const char *revision;    /* of the hub; NULL: the source's */
	const char *sha256;      /* of the only file, in lower case; NULL: what the source says */
	bool no_cache;           /* do not look into the cache */
	bool offline;            /* make no request */
	struct pull *pull;       /* open, for hub/flow.h: its files go into the cache and are read
	                          * while they arrive; NULL: ranges are read in place */
	void (*note)(const char *text);
};

/* Answers requests at the socket until the reader closes its end. Errors go to the reader; -1
 * only if there is no memory. Threads may still run when it returns: the process is to end
 * then. */
int serve_run(int socket, const struct serve_options *o, struct err *e);

#endif
