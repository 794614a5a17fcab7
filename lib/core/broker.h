/* broker: a helper outside the sandbox, which opens and names files for a process that
 * may not (core/sandbox.h).
 *
 * It is a child, forked before anything is read that others have written and before
 * there are secrets. It holds nothing open but its end of a socket, and does what these
 * requests say, for the paths that were declared before: files of an output
 * (core/place.h), a spool without a name (core/spool.h), and a regular file beside the
 * input (core/dir.h). It heeds no signal but SIGKILL; when the process ends, however, it
 * removes what has no final name, and ends too.
 */
#ifndef CORE_BROKER_H
#define CORE_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum broker_request {
	BROKER_SPECIAL, BROKER_CREATE, BROKER_NAME, BROKER_VACANT, BROKER_STAGE,
	BROKER_NAME_STAGED, BROKER_BECOME, BROKER_MOVE, BROKER_DROP, /* as place_... */
	BROKER_SPOOL, /* a spool file */
	BROKER_OPEN   /* name, beside the input */
};

struct broker_ask {
	enum broker_request what;
	uint32_t place, flag; /* flag: sync, or permissions */
	uint64_t file;
	char name[257]; /* 255 bytes and a NUL at most; else ENAMETOOLONG */
};

/* Which requests for files that are no output it will serve. */
void broker_may_spool(void);
void broker_may_open(int folder, const char *name);

/* Start it, if anything was declared that needs it. A failure is told by each request.
 * The second time nothing happens. */
void broker_start(void);

/* Requests go to it. And: this process is it. */
bool broker_runs(void);
bool broker_serves(void);

/* The socket, or -1. */
int broker_socket(void);

/* Ask. Returns a descriptor or 0, or -1 with errno; *file as the request has it. */
int broker_ask(const struct broker_ask *q, uint64_t *file);

/* Let it end, and wait for that. From a handler of signals too. */
void broker_end(void);

/* In another child: it is the parent's. */
void broker_leave(void);

#endif
