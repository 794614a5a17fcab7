/* broker: a helper process outside the sandbox (core/sandbox.h) that opens and names files
 * for a process inside it.
 *
 * The helper is a child, forked before the process reads untrusted bytes and before it
 * holds secrets. It keeps only its end of a socket open, and serves the requests below for
 * paths that were declared in advance: files of an output (core/place.h), an unnamed spool
 * (core/spool.h), and regular files beside the input (core/dir.h). It ignores all signals
 * except SIGKILL. When the process ends, for whatever reason, the helper removes the files
 * without a final name and exits.
 */
#ifndef CORE_BROKER_H
#define CORE_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum broker_request {
	BROKER_SPECIAL, BROKER_CREATE, BROKER_NAME, BROKER_VACANT, BROKER_STAGE,
	BROKER_NAME_STAGED, BROKER_BECOME, BROKER_MOVE, BROKER_DROP, /* as place_... */
	BROKER_SPOOL, /* create a spool file */
	BROKER_OPEN   /* open name, in the folder of an input */
};

struct broker_ask {
	enum broker_request what;
	uint32_t place; /* number of a declared place */
	uint32_t flag;  /* sync, or permissions */
	uint64_t file;  /* number of a file in it; or the number of a folder on */
	uint64_t device; /* this device (BROKER_OPEN) */
	char name[257]; /* at most 255 bytes and a NUL; else ENAMETOOLONG */
};

/* Before broker_start: allow BROKER_SPOOL, and BROKER_OPEN in this folder. The last of more than
 * BROKER_FOLDERS is not served. */
#define BROKER_FOLDERS 16
void broker_may_spool(void);
void broker_may_open(int folder, const char *name);

/* After it: also in folders below, by names that dir_name_is_inside allows. */
void broker_may_open_below(void);

/* Starts the helper if a declaration needs it. If that fails, each request fails. A second
 * call does nothing. */
void broker_start(void);

/* Whether a helper runs; whether this process is the helper. */
bool broker_runs(void);
bool broker_serves(void);

/* The socket to the helper, or -1. */
int broker_socket(void);

/* Sends a request. Returns a descriptor or 0, or -1 with errno. *file is set if the request
 * has that result. */
int broker_ask(const struct broker_ask *q, uint64_t *file);

/* Tells the helper to end and waits for it. Async-signal-safe. */
void broker_end(void);

/* In another child of this process: forget the helper, which is the parent's. */
void broker_leave(void);

#endif
