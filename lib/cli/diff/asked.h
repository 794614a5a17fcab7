/* asked: what the command line of apr-diff asks for, and its answer. */
#ifndef CLI_DIFF_ASKED_H
#define CLI_DIFF_ASKED_H

#include "cli/tool.h"
#include "diff/diff.h"

struct diff_asked {
	struct opt_list only, except;
	const char *tolerance, *drift, *delta, *l2, *cosine; /* numbers, or NULL */
	uint64_t jobs;
	struct diff_options diff; /* filled by diff_asked_read; metadata and tensors by the
	                           * options */
};

/* Read the numbers and the patterns. 0, or -1 with ERR_USAGE; diff_asked_free in any case. */
int diff_asked_read(struct diff_asked *a, struct err *e);
void diff_asked_free(struct diff_asked *a);

/* Refuse one pipe as both models: each would get a part of it. */
int diff_asked_pipes(const char *const path[2], struct err *e);

/* The models differ: ERR_NO with the reason; only the exit status if quiet. Returns -1. */
int diff_asked_answer(const struct diff *d, const char *const path[2], bool quiet,
                      struct err *e);

#endif
