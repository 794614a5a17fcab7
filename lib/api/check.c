/* The report of the 100 points. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/job.h"
#include "check/container.h"
#include "core/mem.h"
#include "stage/checking.h"

struct aprml_report {
	struct findings findings;
	struct score score;
	struct buf json;
};

void
aprml_report_close(struct aprml_report *r)
{
	if (!r)
		return;
	findings_free(&r->findings);
	buf_free(&r->json);
	free(r);
}

static int
choose(const struct aprml_check_options *o, bool chosen[POINTS + 1], struct err *e)
{
	bool only[POINTS + 1] = { false }, out[POINTS + 1] = { false };
	unsigned n;

	if ((o->only && points_pick(o->only, only, e) < 0) ||
	    (o->except && points_pick(o->except, out, e) < 0))
		return -1;
	for (n = 1; n <= POINTS; n++)
		chosen[n] = (!o->only || only[n]) && !out[n];
	return 0;
}

/* The bytes of the file, UINT64_MAX if there is not one. */
static uint64_t
file_bytes(const struct aprml *m)
{
	struct stat st;

	if (m->from.memory)
		return m->from.memory_bytes;
	if (m->from.ranges.read)
		return m->from.ranges.size;
	return m->held >= 0 && fstat(m->held, &st) == 0 && S_ISREG(st.st_mode)
	           ? (uint64_t)st.st_size : UINT64_MAX;
}

/* Read the model to its end, and judge it. An error of the reading is a part of the report. The source
 * fills the error of its model, or that of the survey. */
static int
judge(struct check_run *run, struct api_job *j, struct aprml *m, struct buf *json, struct err *e)
{
	struct survey *s = &run->survey;
	const struct format_reads *reads = m->format->reads;
	json_t *facts = reads->describe ? reads->describe(m->source, &m->err) : NULL;
	struct flow f = { 0 };
	int r = 0;

	s->file_bytes = file_bytes(m);
	check_subject(run, m->format->name, facts);
	api_job_hooks(j, &f, m->source->plan);
	s->watch = f.watch;
	s->watch_ctx = f.progress_ctx;
	if (m->err.code == ERR_NONE)
		r = survey_run(s, m->source, &m->err);
	run->refused = m->err.code != ERR_NONE ? &m->err : s->complete ? NULL : &s->fault;
	if (r < 0 || (run->refused && (run->refused->code == ERR_MEMORY || j->stopped)))
		r = -1;
	else if (m->err.code == ERR_NONE || container_refused(&m->err, &run->findings))
		r = check_judge(run, json, e);
	if (r < 0 && e->code == ERR_NONE && run->refused)
		*e = *run->refused;
	survey_free(s);
	json_decref(facts);
	return e->code == ERR_NONE ? r : -1;
}

static struct aprml_report *
report(struct api_job *j, struct aprml *m, const struct aprml_check_options *options,
       struct err *e)
{
	struct check_options o = { .only = options->only, .except = options->except,
		.arch = options->arch, .json = true, .jobs = api_job_threads(j) };
	struct check_run run = { .o = &o, .path = api_name(m) };
	struct aprml_report *r = mem_array(1, sizeof *r);

	if (!r)
		err_memory(e);
	if (r && choose(options, run.chosen, e) == 0 && judge(&run, j, m, &r->json, e) == 0) {
		r->findings = run.findings;
		r->score = run.score;
		if (buf_ok(&r->json))
			return r;
		err_memory(e);
	} else {
		findings_free(&run.findings);
	}
	aprml_report_close(r);
	return NULL;
}

struct aprml_report *
aprml_check(struct aprml *m, const struct aprml_check_options *options,
            const struct aprml_work *work, struct aprml_error *e)
{
	struct aprml_check_options o = { .bytes = sizeof o };
	struct aprml *again = NULL, *from;
	struct aprml_report *r = NULL;
	struct aprml_work how;
	struct api_job j;
	struct err err = ERR_INIT;

	if (api_need(m, "model", e) < 0)
		return NULL;
	if (api_options(&o, sizeof o, options, sizeof o, "aprml_check_options", &err) == 0 &&
	    api_work(&how, work, &err) == 0 && source_check_open(m->source, &err) == 0) {
		api_level();
		api_job_begin(&j, &how, NULL);
		from = api_fresh_for(m, FORMAT_ALL, &again, &err);
		if (from)
			r = report(&j, from, &o, &err);
		api_fresh_end(from, again);
		api_job_end(&j, &err);
	}
	if (!r)
		api_fail(&err, e);
	return r;
}

unsigned
aprml_report_score(const struct aprml_report *r)
{
	return r->score.percent;
}

const char *
aprml_report_word(const struct aprml_report *r)
{
	return r->score.word;
}

static enum finding_level
level_of(enum aprml_level level)
{
	return level == APRML_ERROR ? FINDING_ERROR
	       : level == APRML_WARNING ? FINDING_WARN : FINDING_INFO;
}

size_t
aprml_report_count(const struct aprml_report *r, enum aprml_level level)
{
	return r->findings.levels[level_of(level)];
}

int
aprml_report_finding(const struct aprml_report *r, size_t i, struct aprml_finding *f)
{
	const struct finding *from;
	struct aprml_finding known;

	if (i >= r->findings.count)
		return -1;
	from = &r->findings.of[i];
	known = (struct aprml_finding){
		.bytes = sizeof known,
		.level = from->level == FINDING_ERROR ? APRML_ERROR
		         : from->level == FINDING_WARN ? APRML_WARNING : APRML_INFO,
		.id = from->rule->id, .object = from->object, .fact = from->fact, .fix = from->fix,
	};
	return api_fill(f, &known, sizeof known, sizeof known);
}

const char *
aprml_report_json(const struct aprml_report *r, size_t *n)
{
	*n = r->json.n;
	return (const char *)r->json.p;
}
