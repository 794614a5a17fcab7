/* remote_parts: what the two halves of core/remote.h share: remote_talk.c starts helpers and
 * talks to them, remote.c has the handles.
 */
#ifndef CORE_REMOTE_PARTS_H
#define CORE_REMOTE_PARTS_H

#include "core/remote.h"
#include "core/remote_wire.h"

struct remote {
	const char *name;      /* as the tool calls it */
	int socket;            /* -1: not started */
	pid_t child;           /* 0: not a child of this process */
	bool begun;
	uint32_t file;         /* the model: a number, or REMOTE_FOLDER */
	const uint8_t *window; /* mapped */
	size_t window_bytes;
	struct err why;        /* it could not be started, or does not answer any more */
};

/* The remote model of this path, started and begun. NULL with e filled. The caller holds the
 * mutex that remote.c has. */
struct remote *remote_begun(const char *path, struct err *e);

/* Sends q, with its text if it has one, and receives the answer. *fd: the descriptor that came
 * with it, or -1. 0, or -1 with e filled. */
int remote_ask(struct remote *r, const struct remote_ask *q, struct remote_answer *a, int *fd,
               struct err *e);

/* Ends the helpers and waits for those that this process has started. */
void remote_hang_up(void);

#endif
