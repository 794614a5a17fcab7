/* Models that another process reads: apr-unpack, or apr-verify for one that must be signed. */
#include <string.h>

#include "check/container.h"
#include "cli/check/check.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/tool.h"

#define STREAM "stream" /* the container, for rules */

/* The stream has ended. Its end is withheld if the model fails. */
static int
pass_end(void *ctx, struct err *e)
{
	struct check_run *r = ctx;
	struct buf b = { 0 };
	int status = check_judge(r, &b, e);

	if (status == 0)
		tool_notes(&b);
	buf_free(&b);
	return status < 0 ? -1 : r->o->relaxed ? 0 : check_answer(r, e);
}

void
check_pass(struct check_run *r, struct err *e)
{
	struct out_options where = { .path = NULL };
	struct flow f = { 0 };
	struct sink *sink = NULL;
	struct input in;

	check_subject(r, STREAM, NULL);
	r->survey.file_bytes = UINT64_MAX;
	r->survey.at_end = pass_end;
	r->survey.end_ctx = r;
	if (input_open(&in, r->path, e) == 0 && survey_begin(&r->survey, in.source, e) == 0) {
		where.input = in.held;
		where.from = in.path;
		survey_hooks(&r->survey, &f);
		sink = filter_sink(&where, e);
		if (sink)
			filter_flow(in.source, sink, r->o->progress, &f, e);
	}
	sink_close(sink);
	survey_free(&r->survey);
	input_close(&in, e);
}

/* The report on a model that apr-verify did not pass on. It has printed why, and its status tells
 * a signature that does not hold from a file that is damaged. */
static void
report_unread(struct check_run *r, struct err *e)
{
	struct err why = { .code = ERR_SIGNATURE, .fact = "the signature does not hold" };

	if (e->status == 1)
		container_refused(&why, &r->findings);
	else
		why = (struct err){ .code = ERR_CORRUPT, .fact = "apr-verify cannot read it" };
	check_finish(r, &why, e);
}

void
check_trusted(struct check_run *r, struct err *e)
{
	struct err own = ERR_INIT;
	struct input in;
	bool complete = false;

	check_subject(r, STREAM, NULL);
	r->survey.file_bytes = UINT64_MAX;
	if (input_open(&in, r->path, e) == 0 && survey_run(&r->survey, in.source, e) == 0) {
		complete = r->survey.complete;
		own = r->survey.fault;
		if (complete)
			check_finish(r, NULL, &own);
	}
	survey_free(&r->survey);
	memset(&r->survey, 0, sizeof r->survey);
	input_close(&in, e);
	if (e->code == ERR_CHILD && !complete)
		report_unread(r, e);
	else if (e->code == ERR_NONE)
		*e = own;
}
