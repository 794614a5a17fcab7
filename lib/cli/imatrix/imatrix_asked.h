/* imatrix_asked: the options of apr-imatrix. */
#ifndef CLI_IMATRIX_IMATRIX_ASKED_H
#define CLI_IMATRIX_IMATRIX_ASKED_H

#include "cli/tool.h"
#include "generate/importance.h"

#define IMATRIX_MERGED 32 /* matrices that are added, at most */

struct imatrix_asked {
	const char *text, *form, *method;
	struct opt_list merge;
	double percentile;
	uint64_t context, jobs;
	struct importance_options how; /* complete after imatrix_asked_check */
	bool list, json, reproducible;
	struct output_options output;
};

/* Rows of the tool's option table. */
#define OPT_IMATRIX(a) \
	TEXT(0, "text", "FILE", &(a)->text, \
	     "measure with the text of FILE (default: standard input)"), \
	NUMBER(0, "context", "N", &(a)->context, 4, UINT32_MAX, \
	       "cut the text into parts of N tokens (default: 512)"), \
	NUMBER(0, "chunks", "N", &(a)->how.count, 1, UINT32_MAX, "read only N parts"), \
	NUMBER(0, "from-chunk", "N", &(a)->how.first, 0, UINT32_MAX, \
	       "leave out the first N parts"), \
	TEXT(0, "method", "METHOD", &(a)->method, \
	     "mse (mean squares, the default), minmax or percentile (ranges)"), \
	DECIMAL(0, "percentile", "P", &(a)->percentile, 50, 100, \
	        "with percentile: the share in a range, in percent (default: 99.9)"), \
	FLAG(0, "fast", &(a)->how.fast, "round weights to 8 bits, in turns that average out"), \
	FLAG(0, "reproducible", &(a)->reproducible, \
	     "compute in plain C: the same bytes on every CPU"), \
	FLAG(0, "process-output", &(a)->how.output, "measure the output layer too"), \
	LIST(0, "merge", "FILE", &(a)->merge, "add the sums of the matrix FILE"), \
	TEXT('t', "to", "TYPE", &(a)->form, "write gguf (the default), dat or stream"), \
	FLAG('l', "list", &(a)->list, "print the entries of the matrix FILE"), \
	FLAG(0, "json", &(a)->json, "with -l: print one object per line"), \
	OPT_JOBS(&(a)->jobs)

/* 0, or -1 with ERR_USAGE. operand: the model or the matrix, or NULL. */
int imatrix_asked_check(struct imatrix_asked *a, const char *operand, struct err *e);

#endif
