/* progress: how far, how fast, how long still; on standard error. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *unit; /* what is counted; NULL: bytes */
	bool on, terminal;
	uint64_t total, done;
	double began, shown;
	char said[64];    /* a result so far, or "" */
};

/* Shown if standard error is a terminal, or if asked for. total: bytes, unless the caller
 * sets unit behind it. */
void progress_begin(struct progress *p, bool asked, uint64_t total);
void progress_at(struct progress *p, uint64_t done);
void progress_end(struct progress *p);

#endif
