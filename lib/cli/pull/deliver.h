/* deliver: where the files of a pull go, if not only into the cache, and the line that shows how
 * far a download is. */
#ifndef CLI_PULL_DELIVER_H
#define CLI_PULL_DELIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cli/progress.h"
#include "core/err.h"
#include "hub/pull.h"

/* The folder that -o names or lies in: its path, and the last part of -o unless -o is the folder
 * itself. */
struct target {
	char folder[CACHE_PATH];
	char name[256];   /* "": -o is a folder */
	bool is_folder;   /* -o exists as a folder, or ends in "/" */
};
int target_of(struct target *t, const char *path, struct err *e);

/* Copies the files of a finished pull: one to -o FILE ("-": standard output), or into the folder;
 * several into the folder, which is created. */
int deliver(const struct pull *p, const struct target *t, const char *path, bool force,
            struct err *e);

/* A thread that shows progress until ticker_end. */
struct ticker {
	struct progress progress;
	const struct pull *pull;
	pthread_t thread;
	atomic_bool end;
	bool runs;
};
void ticker_begin(struct ticker *t, const struct pull *p, bool asked);
void ticker_end(struct ticker *t);

#endif
