/* progress: amount, speed and time left, on standard error. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *unit; /* what is counted; NULL: bytes */
	bool on, terminal;
	uint64_t total, done;
	double began, shown;
	char said[96];    /* a result so far, or "" */
};

/* asked: shows progress even if standard error is not a terminal. total: in bytes, unless
 * the caller then sets unit. */
void progress_begin(struct progress *p, bool asked, uint64_t total);
void progress_at(struct progress *p, uint64_t done);
void progress_end(struct progress *p);

#endif
