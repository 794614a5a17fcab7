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

#define OPT_DIFF(a) \
	FLAG(0, "metadata", &(a)->diff.metadata, \
	     "compare only metadata and files, and read no tensor"), \
	FLAG(0, "tensors", &(a)->diff.tensors, "compare only tensors"), \
	LIST(0, "only", "REGEX", &(a)->only, "compare only tensors whose name matches"), \
	LIST(0, "except", "REGEX", &(a)->except, \
	     "do not compare tensors whose name matches"), \
	TEXT(0, "tolerance", "X", &(a)->tolerance, \
	     "values match if they differ by at most X (default: 1e-6)"), \
	TEXT(0, "max-drift", "X", &(a)->drift, \
	     "fail only if the relative RMSE of a tensor is above X"), \
	TEXT(0, "max-delta", "X", &(a)->delta, "fail only if a value differs by more than X"), \
	TEXT(0, "max-l2", "X", &(a)->l2, \
	     "fail only if the L2 distance of a tensor is above X"), \
	TEXT(0, "min-cosine", "X", &(a)->cosine, \
	     "fail only if the cosine of a tensor is below X")

/* Read the numbers and the patterns. 0, or -1 with ERR_USAGE; diff_asked_free in any case. */
int diff_asked_read(struct diff_asked *a, struct err *e);
void diff_asked_free(struct diff_asked *a);

/* Refuse one pipe as both models: each would get a part of it. */
int diff_asked_pipes(const char *const path[2], struct err *e);

/* Print the report: a summary, and what differs, or all tensors. 0 or -1. */
int diff_asked_print(const struct diff *d, bool json, bool all, struct err *e);

/* The models differ: ERR_NO with the reason; only the exit status if quiet. Returns -1. */
int diff_asked_answer(const struct diff *d, const char *const path[2], bool quiet,
                      struct err *e);

#endif
