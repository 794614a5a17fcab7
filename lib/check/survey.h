/* survey: everything that a rule may look at in a model, collected in one pass.
 *
 * A flow over the source (model/flow.h) fills it: side files and long values first, then the
 * values of each tensor, which threads read from the file where it can be lent. Rules then
 * judge the survey; they read no file. Each family of rules is a function in the list of
 * judge.c:
 *     int NAME_judge(const struct survey *s, struct findings *f, struct err *e);
 * It returns 0, or -1 only if memory ran out. A rule that the survey has no facts for (unknown
 * architecture, no tokenizer) adds nothing.
 */
#ifndef CHECK_SURVEY_H
#define CHECK_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/match.h"
#include "arch/shape.h"
#include "arch/subject.h"
#include "check/finding.h"
#include "check/trees.h"
#include "core/err.h"
#include "core/json.h"
#include "model/flow.h"
#include "model/oddity.h"
#include "stats/look.h"
#include "stats/tally.h"

struct survey_tensor {
	const struct tensor *t;   /* as the file has it: name, type, shape */
	const char *name;         /* in the form of the subject, for match_find: differs from
	                           * that of t only for .apr files */
	bool known;               /* match is filled: the architecture has a rule for the name */
	struct match match;       /* rule, role (match.rule->role), block, expert, bias */
	bool read;                /* its values were read: its type has a decoder, and the
	                           * reading reached its end */
	struct stats stats;       /* if read */
	struct look *look;        /* further statistics, if read (stats/look.h); else NULL */
};

enum survey_signed {
	SURVEY_UNSIGNED,
	SURVEY_SIGNED,    /* carries a signature, which was not verified */
	SURVEY_VERIFIED   /* by the user's key, before a byte was used */
};

/* The caller sets the first part before survey_flow. */
struct survey {
	const char *path;         /* as the user wrote it */
	const char *format;       /* name of the container: "gguf"; "stream" from a pipe */
	uint64_t file_bytes;      /* UINT64_MAX: from a pipe, or more than one file */
	const json_t *facts;      /* of the container, as apr-header prints them; or NULL */
	unsigned jobs;            /* threads */
	const char *arch;         /* the architecture if the user named it, or NULL */
	int (*at_end)(void *ctx, struct err *e); /* called when all is read, before a sink gets
	                           * the end; -1 withholds it. NULL: nothing is called */
	void *end_ctx;
	int (*watch)(void *ctx, uint64_t bytes, struct err *e); /* of the flow, or NULL */
	void *watch_ctx;

	struct source *source;    /* its plan, and the name for messages */
	struct subject subject;   /* side files, keys, form, arch (NULL: unknown), config. Valid
	                           * if has_subject */
	bool has_subject;
	struct err arch_fault;    /* why form and architecture are not known: a config.json that
	                           * is not JSON, an unknown name; ERR_NONE: they are, or
	                           * nothing names them */
	struct sizes sizes;       /* hyper-parameters by letter; 0: unknown */
	struct survey_tensor *tensors; /* one for each tensor of the plan, in its order */
	size_t count;
	bool classic;             /* a classical model, */
	struct trees trees;       /* and its trees */
	enum survey_signed signature;
	bool complete;            /* the source has ended, and everything in it was proved */
	struct err fault;         /* else what stopped the reading */

	struct tally tally;       /* of the tensor that is being read, */
	struct look look;         /* as well */
	struct weights_blob *taking; /* the side file or value that is being read, or NULL */
	bool reading;             /* the current tensor has a decoder */
	bool keeping;             /* it is a column of a tree */
};

/* Set the hooks of a flow; f->ctx becomes s. With a sink everything passes. The plan hook
 * prepares the survey, so flow_run (or filter_flow) does the rest. 0 or -1. */
int survey_begin(struct survey *s, struct source *source, struct err *e);
void survey_hooks(struct survey *s, struct flow *f);

/* begin, and a flow without a sink. An error of the source is s->fault and not the result: what
 * was read before it can still be judged. -1 only if memory ran out. */
int survey_run(struct survey *s, struct source *source, struct err *e);

/* begin, and only what comes before the tensors: side files, long values, architecture. No value
 * of a tensor is read, and complete stays false. An error of the source is the result. 0 or -1. */
int survey_head(struct survey *s, struct source *source, struct err *e);

void survey_free(struct survey *s);

/* The card of the model (check/card.h), a new reference; without members if its front matter cannot
 * be read. 0, or -1 if memory ran out. */
int survey_card(const struct survey *s, json_t **card, struct err *e);

/* The value of a key of GGUF or a member of config.json as a number: 0, or -1 if it does not
 * exist or is not a number that is whole. */
int survey_key(const struct survey *s, const char *key, uint64_t *v);

#endif
